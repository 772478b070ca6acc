"""Server-sent events, as far as chat completions use them: the data of each line (HTML standard, 9.2)."""

from __future__ import annotations

DONE = b"[DONE]"


class DataLines:
    """Cuts a stream of bytes into the data of its lines.

    Cut by hand at line feeds: JSON may hold signs that `splitlines` takes for ends of lines.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self.waiting = 0
        """Bytes of the line that has not ended yet."""

    def feed(self, piece: bytes) -> list[bytes]:
        """The data of the lines that this piece completes; comments (keep-alives) and other fields have none."""
        if b"\n" not in piece:
            self._rest.append(piece)
            self.waiting += len(piece)
            return []
        if self._rest:
            piece = b"".join([*self._rest, piece])
        *lines, last = piece.split(b"\n")
        self._rest, self.waiting = [last] if last else [], len(last)
        return [data for line in lines if line.startswith(b"data:") and (data := line[5:].strip())]

    def end(self) -> list[bytes]:
        """The data of a last line without an end."""
        return self.feed(b"\n")

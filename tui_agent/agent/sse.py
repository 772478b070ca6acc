"""Server-sent events, as far as chat completions use them: the data of each line (HTML standard, 9.2)."""

from __future__ import annotations

import asyncio

DONE = b"[DONE]"
_LONGEST = 0.004
"""Seconds that a burst may keep the event loop to itself: a quarter of a frame."""


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


class Pace:
    """Lets the event loop's others in while a burst is worked off: what has come already is read without a pause.

    Args:
        loop: the event loop that is shared.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._until = loop.time() + _LONGEST

    def is_due(self) -> bool:
        """Whether it has gone on for long enough."""
        return self._loop.time() > self._until

    async def let_others(self) -> None:
        """Everybody else who waits for the event loop goes first."""
        await asyncio.sleep(0)
        self._until = self._loop.time() + _LONGEST

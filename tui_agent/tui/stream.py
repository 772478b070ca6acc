"""A text that grows piece by piece, without copying it for every piece."""

from __future__ import annotations


class Stream:
    """A text of pieces: `append` costs O(1), `text` joins what came since it was last asked."""

    __slots__ = ("_length", "_pieces")

    def __init__(self, text: str = "") -> None:
        self._pieces = [text] if text else []
        self._length = len(text)

    def append(self, piece: str) -> None:
        """Add a piece at the end."""
        if piece:
            self._pieces.append(piece)
            self._length += len(piece)

    @property
    def text(self) -> str:
        """The whole text."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.text == other.text

    def __repr__(self) -> str:
        return f"Stream({self.text!r})"

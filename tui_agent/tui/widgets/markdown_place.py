"""Where the blocks of a document stand at a width, as far as that is known yet.

A block that has not been laid out at this width stands there with a guess of its height; what is seen is
laid out first, the rest a few milliseconds at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

from textual.geometry import Offset
from textual.selection import Selection

from tui_agent.tui.widgets.markdown_document import Document
from tui_agent.tui.widgets.markdown_inline import Link
from tui_agent.tui.widgets.markdown_layout import Line

_NO_LINE = Line()


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of the text, and the number of its block."""

    level: int
    title: str
    block: int


class Placement:
    """The lines of a document, one below the other, `width` cells wide."""

    def __init__(self, document: Document, width: int = 0) -> None:
        self.document = document
        self.width = width
        self._heights: list[int] = []
        self._tops = [0]
        self._ready = 0  # blocks before this one are laid out
        self._headings: list[Heading] = []
        self._searched = 0  # finished blocks that were searched for headings

    @property
    def height(self) -> int:
        """Lines of the whole text, partly guessed while `unfinished`."""
        return self._tops[-1]

    @property
    def unfinished(self) -> bool:
        """Whether there are blocks that were not laid out yet."""
        self._skip_ready()
        return self._ready < len(self._heights)

    def resize(self, width: int) -> None:
        """Stand at another width; the heights are guesses from now on."""
        if self.width and self._heights:
            scale = self.width / max(1, width)
            self._heights = [max(1, round(height * scale)) for height in self._heights]
        self.width = width
        self._ready = 0
        self._stack(0)

    def again(self) -> None:
        """Some blocks are to be laid out again; what they say, and so their height, is the same."""
        self._ready = 0

    def renew(self, first: int) -> None:
        """The document's blocks changed, from number `first` on."""
        del self._heights[first:]
        for block in self.document.blocks[first:]:
            self._heights.append(2 + len(block.source) // max(8, self.width))
        self._ready = min(self._ready, first)
        self._stack(first)

    def _stack(self, first: int) -> bool:
        """Put the blocks from number `first` on below each other; returns whether there are any."""
        del self._tops[first + 1 :]
        top = self._tops[-1]
        for height in self._heights[first:]:
            top += height
            self._tops.append(top)
        return first < len(self._heights)

    def _skip_ready(self) -> None:
        blocks = self.document.blocks
        while self._ready < len(self._heights) and blocks[self._ready].width == self.width:
            self._ready += 1

    def lay_out(self, top: int, bottom: int) -> bool:
        """Lay out what stands between two lines; returns whether anything moved."""
        index = self.block_at(top)
        first = len(self._heights)
        y = self._tops[min(index, first)]
        while index < len(self._heights) and y < bottom:
            if self._lay_out_block(index):
                first = min(first, index)
            y += self._heights[index]
            index += 1
        return self._stack(first)

    def lay_out_end(self, lines: int) -> None:
        """Lay out as many blocks from the end as it takes to fill so many lines."""
        index = first = len(self._heights)
        while index and lines > 0:
            index -= 1
            if self._lay_out_block(index):
                first = index
            lines -= self._heights[index]
        self._stack(first)

    def lay_out_more(self, seconds: float) -> bool:
        """Lay out blocks from the beginning for about so long; returns whether anything moved."""
        deadline = perf_counter() + seconds
        first = len(self._heights)
        while self.unfinished:
            if self._lay_out_block(self._ready):
                first = min(first, self._ready)
            if perf_counter() > deadline:
                break
        return self._stack(first)

    def _lay_out_block(self, index: int) -> bool:
        """Lay out one block; returns whether it is not as high as it was thought to be."""
        height = len(self.document.lines(index, self.width))
        guessed, self._heights[index] = self._heights[index], height
        return height != guessed

    def block_at(self, y: int) -> int:
        """The number of the block that line `y` belongs to; the number of blocks for a line below all."""
        return bisect_right(self._tops, max(0, y)) - 1

    def top(self, index: int) -> int:
        """The first line of a block; the line below all for a number past the last one."""
        return self._tops[min(index, len(self._heights))]

    def height_of(self, index: int) -> int:
        """The lines of a block; 0 for a number past the last one."""
        return self._heights[index] if index < len(self._heights) else 0

    def line(self, y: int) -> tuple[int, Line]:
        """The block that line `y` belongs to, and the line; blank where nothing is laid out."""
        index = self.block_at(y)
        if y < 0 or index >= len(self._heights) or self.document.blocks[index].width != self.width:
            return index, _NO_LINE
        lines = self.document.lines(index, self.width)
        row = y - self._tops[index]
        return index, lines[row] if row < len(lines) else _NO_LINE

    def lines(self, top: int, bottom: int) -> Iterator[tuple[int, Line]]:
        """`line` of each from `top` to before `bottom`, in order."""
        for y in range(max(0, top), min(bottom, self.height)):
            yield self.line(y)

    def lines_from(self, index: int) -> list[Line]:
        """The lines of the blocks from number `index` on, as far as these are laid out."""
        found: list[Line] = []
        for number in range(index, len(self._heights)):
            if self.document.blocks[number].width != self.width:
                break
            found += self.document.lines(number, self.width)
        return found

    def links(self, index: int) -> list[Link]:
        """The links of a laid out block, in the order in which they stand in it."""
        if index >= len(self._heights) or self.document.blocks[index].width != self.width:
            return []
        lines = self.document.lines(index, self.width)
        return list(dict.fromkeys(run.link for line in lines for run in line.runs if run.link is not None))

    def headings(self, *, whole: bool) -> list[Heading]:
        """The headings of the text, as far as they are written.

        Args:
            whole: the text is; else a heading on its last line may still grow, and is not told yet.
        """
        document = self.document
        self._searched = min(self._searched, document.finished)
        found = [*self._headings, *self._find_headings(self._searched, document.finished)]
        self._headings, self._searched = found, document.finished
        end = len(document.blocks)
        if not whole and end and not document.blocks[-1].source.endswith("\n"):
            end -= 1
        return [*found, *self._find_headings(document.finished, end)]

    def _find_headings(self, first: int, end: int) -> Iterator[Heading]:
        for index in range(first, end):
            heading = self.document.heading(index)
            if heading is not None and heading[1].strip():
                yield Heading(heading[0], heading[1].strip(), index)

    def text(self, selection: Selection) -> str:
        """What was selected: lines that were only broken to fit are joined again, and bars left out."""
        start = selection.start or Offset(0, 0)
        end = selection.end or Offset(0, self.height)
        self.lay_out(start.y, end.y + 1)
        found: list[str] = []
        for y in range(start.y, min(end.y + 1, self.height)):
            _, line = self.line(y)
            first, last = start.x if y == start.y else 0, end.x if y == end.y and selection.end else None
            text = _copied(line, first, last)
            if y > start.y:
                found.append(line.join)
            found.append(text if line.join == "" else text.rstrip())
        return "".join(found)


def _copied(line: Line, start: int, end: int | None) -> str:
    at = 0
    parts: list[str] = []
    for run in line.runs:
        if not run.decor:
            parts.append(run.text[max(0, start - at) : None if end is None else max(0, end - at)])
        at += len(run.text)
    return "".join(parts)

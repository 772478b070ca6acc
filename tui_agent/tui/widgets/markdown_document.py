"""A Markdown text that grows: finished blocks are kept, only the open end is read again.

What a text looks like in the end does not depend on the pieces in which it came. Three things take care
of that: a block is finished only by whole lines that come after it; a link definition that comes late
is looked up by the finished blocks that wait for it; and finishing the text is no more than a new look
at its open end.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_agent.safe_text import visible
from tui_agent.tui.widgets.markdown_layout import CodeLayout, Line, layout
from tui_agent.tui.widgets.markdown_parse import Kind, Node, Part, Reader, kind_of, labels, split
from tui_agent.tui.widgets.markdown_tail import calm

if TYPE_CHECKING:
    from markdown_it.token import Token

_OPENS_FENCE = re.compile(r"(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))\n")


class Block:
    """One top-level block: its source, what was read in it, and its lines at one width."""

    __slots__ = ("_lines", "_node", "_tokens", "above", "kind", "source", "width")

    def __init__(self, source: str, tokens: Sequence[Token], above: Kind | None) -> None:
        self.source = source
        self.above = above
        self.kind: Kind = kind_of(tokens[0]) if tokens else "code"
        self.width = -1
        self._tokens: Sequence[Token] | None = tokens
        self._node: Node | None = None
        self._lines: list[Line] = []

    def tokens(self) -> Sequence[Token]:
        """The parser's tokens; they are not kept once they are read."""
        return self._tokens if self._tokens is not None else split(self.source)[0][0].tokens

    def node(self, reader: Reader) -> Node:
        """What stands in the block."""
        if self._node is None:
            self._node, self._tokens = reader.node(self.tokens()), None
        return self._node

    def lines(self, width: int, reader: Reader) -> list[Line]:
        """The block's lines at a width, laid out when they are first asked for."""
        if self.width != width:
            self._lines, self.width = layout(self.node(reader), width, self.above), width
        return self._lines

    def read_again(self) -> None:
        """Forget what was read: the block's links may lead somewhere now."""
        self._tokens, self._node, self.width = self.tokens(), None, -1

    def forget(self) -> None:
        """Read the source again when it is next laid out."""
        self._tokens, self._node, self.width = None, None, -1


class OpenFence(Block):
    """A fence that is still being written, the longest block there may be: only what is new is laid out."""

    __slots__ = ("_closing", "_info", "_layout", "_mark", "_start")

    def __init__(self, opening: re.Match[str], above: Kind | None) -> None:
        super().__init__("", (), above)
        mark = opening[1] or opening[3]
        self._start = opening.end()
        self._info = visible(opening[2] or opening[4] or "")
        self._mark = mark
        self._closing = re.compile(f"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        self._layout: CodeLayout | None = None

    def closed(self, source: str, start: int, end: int) -> bool:
        """Whether one of the whole lines in `source[start:end]` closes the fence."""
        return self._closing.search(source, max(start, self._start), end) is not None

    def grow(self, source: str) -> None:
        """Take the open end as it is now; it only grows."""
        self.source, self.width = source, -1

    def lines(self, width: int, reader: Reader) -> list[Line]:
        """The fence's lines at a width."""
        if self._layout is None or self._layout.width != width:
            self._layout = CodeLayout(width, self._info, self.above)
        if self.width != width:
            code = self.source[self._start :]
            begun = code[code.rfind("\n") + 1 :]
            if begun and not begun.strip(f" {self._mark[0]}"):
                code = code[: -len(begun)]  # most likely the line that will close the fence
            self._lines, self.width = self._layout.lines(code), width
        return self._lines


class Document:
    """A Markdown text as blocks, in the order of the text.

    Attributes:
        blocks: the finished blocks, then those of the open end.
        finished: how many blocks will not change by what is appended, late link definitions excepted.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.finished = 0
        self._pieces: list[str] = []
        self._open = ""
        self._return = False  # the text so far ends with a CR, which may be half of a line's end
        self._seen = 0  # how much of the open end was searched for finished blocks
        self._references: dict[str, Any] = {}
        self._targets: dict[str, str] = {}
        self._reader = Reader(self._references, self._targets)
        self._waiting: dict[str, list[Block]] = {}
        self._borrowers: list[Block] = []  # finished blocks that have links by definitions in the open end
        self._fence: OpenFence | None = None

    @property
    def text(self) -> str:
        """The whole text, as it came."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def lines(self, index: int, width: int) -> list[Line]:
        """The lines of one block at a width."""
        return self.blocks[index].lines(width, self._reader)

    def heading(self, index: int) -> tuple[int, str] | None:
        """The level and the text of a block that is a heading; None of any other."""
        block = self.blocks[index]
        if block.kind != "heading":
            return None
        node = block.node(self._reader)
        return node.level, node.inline.text.replace("\n", " ") if node.inline else ""

    def append(self, text: str) -> None:
        """Add text at the end; `update` reads it."""
        if not text:
            return
        self._pieces.append(text)
        if self._return:
            text = "\r" + text
        self._return = text.endswith("\r")
        self._open += text.removesuffix("\r").replace("\r\n", "\n").replace("\r", "\n")

    def link(self, targets: Mapping[str, str]) -> bool:
        """Have code that names something lead there; returns whether any block is to be laid out again.

        Args:
            targets: addresses by code span.
        """
        if dict(targets) == self._targets:
            return False
        self._targets = dict(targets)
        self._reader.aim(self._targets)
        concerned = [block for block in self.blocks if "`" in block.source]
        for block in concerned:
            block.forget()
        return bool(concerned)

    def update(self, *, streaming: bool) -> int:
        """Read what was appended.

        Args:
            streaming: more is to come, so half-written marks at the end are better not shown yet.

        Returns:
            The number of the first block that is not what it was.
        """
        self._reader.forget()
        open_from = self.finished
        again = self._take_back()
        again += self._finish()
        again += self._read_open_end(streaming)
        return min([open_from, *map(self.blocks.index, again)])

    def _finish(self) -> list[Block]:
        """Move what is finished out of the open end; returns the earlier blocks that were given links by it."""
        end = self._open.rfind("\n") + 1
        if end <= self._seen or self._in_fence(end):
            return []
        source = self._open[:end]
        parts, found = split(source)
        starts = _line_starts(source)
        cut = _cut(parts, source, starts)
        self._seen = end - starts[cut]
        if cut == 0:
            return []
        del self.blocks[self.finished :]
        ends = [min(part.line, cut) for part in parts[1:]]
        for part, end in zip(parts, ends, strict=False):  # the last one is open, so it has no end
            self.blocks.append(Block(source[starts[part.line] : starts[end]], part.tokens, self._above()))
        first, self.finished = self.finished, len(self.blocks)
        self._open = self._open[starts[cut] :]
        return self._define({label: value for label, value in found.items() if value["map"][0] < cut}, first)

    def _define(self, found: dict[str, Any], first: int) -> list[Block]:
        """Take over link definitions, of each label the first, and note what the blocks from `first` on wait for."""
        again: list[Block] = []
        for label, value in found.items():
            if label not in self._references:
                self._references[label] = value
                self._reader = Reader(self._references, self._targets)  # what it remembers may be links now
                again += self._waiting.pop(label, [])
        for block in again:
            block.read_again()
        for block in self.blocks[first:]:
            for label in set(labels(block.tokens())) - self._references.keys():
                self._waiting.setdefault(label, []).append(block)
        return again

    def _in_fence(self, end: int) -> bool:
        """Whether the open end, up to `end`, is one fence that no line has closed yet."""
        if self._fence is None:
            opening = _OPENS_FENCE.match(self._open, 0, end)
            if opening is None:
                return False
            self._fence = OpenFence(opening, self.blocks[self.finished - 1].kind if self.finished else None)
        if self._fence.closed(self._open, self._seen, end):
            self._fence = None
            return False
        self._seen = end
        return True

    def _read_open_end(self, streaming: bool) -> list[Block]:
        """Read what is not finished; returns the earlier blocks that a whole text's last definitions give links to."""
        del self.blocks[self.finished :]
        if self._fence is not None and streaming:
            self._fence.grow(self._open)
            self.blocks.append(self._fence)
            return []
        source = calm(self._open) if streaming else self._open
        # nothing yet: the grammar, which is not needed for that, is imported when there is time
        parts, found = split(source) if source else ([], {})
        reader = Reader(ChainMap(self._references, dict(found)), self._targets) if found else self._reader
        starts = _line_starts(source)
        ends = [*(starts[part.line] for part in parts[1:]), len(source)]
        for part, end in zip(parts, ends, strict=False):  # no parts, but an end
            block = Block(source[starts[part.line] : end], part.tokens, self._above())
            block.node(reader)
            self.blocks.append(block)
        if not streaming and found:
            self._borrowers = [block for label in found for block in self._waiting.get(label, [])]
            if self._borrowers:
                self._reader = reader
        for block in self._borrowers:
            block.read_again()
        return self._borrowers

    def _take_back(self) -> list[Block]:
        """The text was not whole after all: its last definitions may still change."""
        again, self._borrowers = self._borrowers, []
        for block in again:
            block.read_again()
            self._reader = Reader(self._references, self._targets)
        return again

    def _above(self) -> Kind | None:
        return self.blocks[-1].kind if self.blocks else None


def _line_starts(source: str) -> list[int]:
    """Where each line begins, and at last where the text ends."""
    starts = [0]
    while (end := source.find("\n", starts[-1])) >= 0:
        starts.append(end + 1)
    if starts[-1] < len(source):
        starts.append(len(source))
    return starts


def _cut(parts: Sequence[Part], source: str, starts: Sequence[int]) -> int:
    """The line before which nothing changes any more: where the last block begins.

    A link definition right above it, without a blank line between, is still open: what looks like a block
    now may turn out to be its title.
    """
    if not parts:
        return 0 if source.strip() else len(starts) - 1
    line = parts[-1].line
    above = (parts[-2].tokens[0].map or [0, 0])[1] if len(parts) > 1 else 0
    while line > above and source[starts[line - 1] : starts[line]].strip():
        line -= 1
    return line

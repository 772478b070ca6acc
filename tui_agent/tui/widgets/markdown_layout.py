"""Blocks of Markdown as lines of runs at a given width: what stands where, in which styles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from tui_agent.safe_text import visible
from tui_agent.tui.widgets.markdown_code import (
    MAX_CODE,
    TAB,
    CodeLine,
    chunk_end,
    highlight,
    highlight_line,
    language_of,
)
from tui_agent.tui.widgets.markdown_inline import Piece, Run, Styles, combine, slice_runs
from tui_agent.tui.widgets.markdown_parse import Kind, Node
from tui_agent.tui.widgets.markdown_table import table_lines

BULLETS = ("•", "◦", "▪")
LEAST_TEXT = 10
"""Cells that are left to the text, however deep it is nested."""

_FENCE: Styles = ("fence",)
_BAR = Run("│ ", ("fence", "fence-bar"), decor=True)
_BAR_ON = Run("┊ ", ("fence", "fence-bar"), decor=True)


class Line(NamedTuple):
    """One line on the screen: its runs, and how its text joins to that of the line above when copied.

    `fill` names the styles in which the rest of the line is drawn.
    """

    runs: tuple[Run, ...] = ()
    join: str = "\n"
    fill: Styles = ()

    @property
    def text(self) -> str:
        """Everything that is seen on the line."""
        return "".join(run.text for run in self.runs)


@dataclass(slots=True)
class _Margin:
    """What stands left of a container's lines: `first` on its first line only, `rest` on the others."""

    first: tuple[Run, ...] | None
    rest: tuple[Run, ...]
    cells: int


class _Page:
    """Lines in the making, inside of containers that put something to their left."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[Line] = []
        self._margins: list[_Margin] = []

    @property
    def room(self) -> int:
        """Cells that a line has for its text."""
        return max(1, self.width - sum(margin.cells for margin in self._margins))

    def enter(self, first: Run | None, rest: Run) -> None:
        """Begin a container; where the text would become too narrow its margin is left out, but for its mark."""
        cells = max(cell_len(rest.text), cell_len(first.text) if first else 0)
        if self.room - cells < min(LEAST_TEXT, self.width - 2):
            rest, cells = rest._replace(text=""), 0
        self._margins.append(_Margin((first,) if first else None, (rest,) if rest.text else (), cells))

    def leave(self) -> None:
        """End the innermost container; one that had no line gets one, so that its mark is seen."""
        if self._margins[-1].first is not None:
            self.add(())
        self._margins.pop()

    def add(self, runs: Iterable[Run], join: str = "\n", fill: Styles = ()) -> None:
        """Add one line."""
        left: list[Run] = []
        for margin in self._margins:
            left += margin.rest if margin.first is None else margin.first
            margin.first = None
        self.lines.append(Line((*left, *runs), join, fill))

    def gap(self) -> None:
        """Add a blank line."""
        left = [run for margin in self._margins for run in margin.rest if run.text.strip()]
        self.lines.append(Line(tuple(left)))

    def text(self, pieces: Iterable[Piece], outer: Styles) -> None:
        """Add wrapped text, its runs in the styles of what is around it as well."""
        for runs, join in pieces:
            self.add(_styled(runs, outer), join)


def _styled(runs: Sequence[Run], outer: Styles) -> Sequence[Run]:
    return [run._replace(styles=combine(outer, run.styles)) for run in runs] if outer else runs


def layout(node: Node, width: int, above: Kind | None) -> list[Line]:
    """The lines of a top-level block.

    Args:
        node: the block.
        width: cells a line may take.
        above: what the block above it is, None at the top; it decides on the blank line between them.
    """
    page = _Page(width)
    if _gap_between(above, node):
        page.gap()
    _block(page, node, (), 0)
    return page.lines


def _gap_between(above: Kind | None, node: Node) -> bool:
    return above is not None and (above != "heading" or node.kind == "heading")


def _block(page: _Page, node: Node, outer: Styles, depth: int) -> None:
    match node.kind:
        case "heading":
            _heading(page, node, outer)
        case "paragraph" if node.inline is not None:
            page.text(node.inline.wrapped(page.room), outer)
        case "quote":
            page.enter(None, Run("▌ ", combine(outer, ("quote-bar",)), decor=True))
            _blocks(page, node.children, combine(outer, ("quote",)), depth, spaced=True)
            page.leave()
        case "bullets" | "numbers":
            _list(page, node, outer, depth)
        case "code":
            code = CodeLayout(page.room, node.info, None)
            for line in code.lines(node.text, whole=True):
                page.add(line.runs, line.join, line.fill)
        case "literal":
            for source in node.text.split("\n"):
                for index, part in enumerate(chop_cells(source, page.room) or [""]):
                    page.add((Run(part, outer),), "" if index else "\n")
        case "rule":
            page.add((Run("─" * page.room, combine(outer, ("rule",)), decor=True),))
        case "table":
            for runs, join in table_lines(node, page.room, outer):
                page.add(runs, join)
        case _:
            _blocks(page, node.children, outer, depth, spaced=True)


def _blocks(page: _Page, nodes: Sequence[Node], outer: Styles, depth: int, *, spaced: bool) -> None:
    above: Kind | None = None
    for node in nodes:
        if spaced and _gap_between(above, node):
            page.gap()
        _block(page, node, outer, depth)
        above = node.kind


def _heading(page: _Page, node: Node, outer: Styles) -> None:
    name = f"h{node.level}"
    pieces = node.inline.wrapped(page.room) if node.inline is not None else []
    page.text(pieces, combine(outer, (name,)))
    if node.level <= 2:
        sign = "━" if node.level == 1 else "─"
        page.add((Run(sign * page.room, combine(outer, (f"{name}-line",)), decor=True),))


def _list(page: _Page, node: Node, outer: Styles, depth: int) -> None:
    numbers = [f"{node.level + index}." for index in range(len(node.children))] if node.kind == "numbers" else []
    cells = max(map(len, numbers), default=1) + 1
    bullet = BULLETS[depth % len(BULLETS)]
    for index, item in enumerate(node.children):
        if index and node.loose:
            page.gap()
        mark = f"{numbers[index]:>{cells - 1}} " if numbers else f"{bullet} "
        style = "bullet"
        if item.task is not None:
            mark = (mark if numbers else "") + ("[✓] " if item.task else "[ ] ")
            style = "task-done" if item.task else "task"
        page.enter(Run(mark, combine(outer, (style,))), Run(" " * len(mark), outer, decor=True))
        _blocks(page, item.children, outer, depth + (node.kind == "bullets"), spaced=node.loose)
        page.leave()


class CodeLayout:
    """The lines of a piece of code, which may grow: those of finished chunks are laid out once.

    Args:
        width: cells a line may take.
        info: what the fence says of itself.
        above: what stands above it, see `layout`.
    """

    def __init__(self, width: int, info: str, above: Kind | None) -> None:
        self.width = width
        self._language = language_of(info)
        self._room = max(1, width - 2)
        self._start = 0  # where in the code the first unfinished chunk begins
        self._done: list[Line] = []
        if above is not None and above != "heading":
            self._done.append(Line())
        if self._language and cell_len(self._language) <= self._room:
            label = Run(self._language, ("fence", "fence-label"), decor=True)
            self._done.append(Line((_BAR, label), fill=_FENCE))

    def lines(self, code: str, *, whole: bool = False) -> list[Line]:
        """The lines of the code.

        Args:
            code: all of it; what was given before is its beginning.
            whole: nothing comes after it, so its last chunk is finished as well.
        """
        sources = code.removesuffix("\n")[self._start :].split("\n")
        shown = [visible(source).expandtabs(TAB) for source in sources]
        at = 0
        while (end := chunk_end(shown, at)) is not None:
            self._done += self._finished(shown[at:end])
            self._start += sum(map(len, sources[at:end])) + end - at
            at = end
        rest = shown[at:]
        if whole:
            return [*self._done, *self._finished(rest)]
        return [*self._done, *(line for source in rest for line in self._wrapped(highlight_line(source, self._known)))]

    @property
    def _known(self) -> str:
        return self._language if self._start < MAX_CODE else ""

    def _finished(self, lines: Sequence[str]) -> list[Line]:
        code = highlight("\n".join(lines), self._known)
        return [line for source in code for line in self._wrapped(source)]

    def _wrapped(self, code: CodeLine) -> list[Line]:
        """One line of code, cut where it is too long."""
        runs = [Run(text, ("fence", style) if style else _FENCE) for text, style in code]
        text = "".join(run.text for run in runs)
        if cell_len(text) <= self._room:
            return [Line((_BAR, *runs), fill=_FENCE)]
        lines: list[Line] = []
        start = 0
        for part in _parts(text, self._room):
            cut = tuple(slice_runs(runs, start, start + len(part)))
            lines.append(Line((_BAR_ON, *cut), "", _FENCE) if start else Line((_BAR, *cut), fill=_FENCE))
            start += len(part)
        return lines


def _parts(text: str, room: int) -> Iterator[str]:
    """A line of code in parts that fit, each ending behind a space where there is one near its end."""
    while cell_len(text) > room:
        part = next(part for part in chop_cells(text[: room + 1], room) if part)
        space = part.rfind(" ", len(part) * 2 // 3) + 1
        part = part[:space] if space and part[:space].strip() else part
        yield part
        text = text[len(part) :]
    yield text

"""Lines of runs as strips for the screen; those that were drawn before are kept."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.tui.widgets.markdown_inline import Link, combine
from tui_agent.tui.widgets.markdown_place import Placement
from tui_agent.tui.widgets.markdown_style import Palette
from tui_agent.tui.widgets.markdown_wrap import break_lines

KEPT = 500
"""Strips that are kept: a few screens."""


class Painter:
    """Draws the lines of a placement in the colours of a widget.

    Args:
        widget: see `Palette`.
    """

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._palette = Palette(widget)
        self._strips: dict[int, Strip] = {}
        self._placeholder: tuple[object, list[Strip]] = (None, [])

    def forget(self, first: int = 0, last: int | None = None) -> None:
        """The lines from `first` to before `last` changed; all of them by default."""
        if first == 0:
            self._strips.clear()
        for y in range(first, last if last is not None and self._strips else first):
            self._strips.pop(y, None)

    def new_colours(self) -> None:
        """The theme changed."""
        self._palette.forget()
        self._placeholder = (None, [])
        self.forget()

    def strip(self, placement: Placement, y: int, width: int, active: Link | None) -> Strip:
        """Line `y` as a strip of `width` cells, the runs of the active link marked."""
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != width:
            if len(self._strips) >= KEPT:
                self._strips.clear()
            strip = self._strips[y] = self._selected(self._drawn(placement, y, active), placement, y, width)
        return strip

    def placeholder(self, text: str, y: int, size: Size) -> Strip:
        """Line `y` of a text in the middle of an otherwise empty page."""
        if self._placeholder[0] != (text, size):
            self._placeholder = ((text, size), list(self._placed(text, size)))
        return self._placeholder[1][y]

    def _placed(self, text: str, size: Size) -> Iterator[Strip]:
        lines = break_lines(text, max(1, size.width - 2))
        first = max(0, size.height - len(lines)) // 2
        style = self._palette.style(("placeholder",))
        blank = Strip([Segment(" " * size.width, style)], size.width)
        for row in range(-first, max(1, size.height) - first):
            shown = text[lines[row].start : lines[row].end] if 0 <= row < len(lines) else ""
            left = (size.width - cell_len(shown)) // 2
            right = size.width - left - cell_len(shown)
            parts = [Segment(" " * left, style), Segment(shown, style), Segment(" " * right, style)]
            yield Strip(parts, size.width) if shown else blank

    def _drawn(self, placement: Placement, y: int, active: Link | None) -> Strip:
        _, line = placement.line(y)
        style = self._palette.style
        segments: list[Segment] = []
        cells = 0
        for run in line.runs:
            names = run.styles
            if active is not None and run.link is active:
                names = combine(names, ("link-active",))
            segments.append(Segment(run.text, style(names)))
            cells += cell_len(run.text)
        if cells < placement.width:
            segments.append(Segment(" " * (placement.width - cells), style(line.fill)))
            cells = placement.width
        return Strip(segments, cells)

    def _selected(self, strip: Strip, placement: Placement, y: int, width: int) -> Strip:
        strip = strip.adjust_cell_length(width, self._palette.style(()))
        selection = self._widget.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return strip
        text = placement.line(y)[1].text
        start, end = span
        first, last = cell_len(text[:start]), cell_len(text if end == -1 else text[:end])
        if first >= last:
            return strip
        style = self._widget.screen.get_component_rich_style("screen--selection")
        chosen = [Segment(part, (was or Style()) + style) for part, was, _ in strip.crop(first, last)]
        return Strip.join([strip.crop(0, first), Strip(chosen, last - first), strip.crop(last)])

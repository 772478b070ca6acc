"""The breakers: state by word, shape and colour, failures of threshold, countdown to the probe."""

from __future__ import annotations

import math
from itertools import zip_longest
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip

from tui_agent.i18n import mark, say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.state import Area, BreakerRow, DashboardState
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.words import Sign, padded

SIGNS = {
    "closed": Sign("○", "$text-success"),
    "open": Sign("●", "$text-error"),
    "half_open": Sign("◐", "$text-warning"),
}
ISOLATED = Sign("■", "$text-error")
LONGEST_NAME = 14
"""Cells for a name; `list_directory` fills them."""


def state_words(row: BreakerRow, now: float) -> str:
    """A breaker's state in words: `CLOSED`, `OPEN 23 s`, `HALF-OPEN`, `OPEN ISOLATED`."""
    if row.isolated:
        return say("OPEN ISOLATED")
    if row.state == "open":
        left = row.seconds_left(now)
        return say("OPEN") if left is None else say("OPEN {seconds} s", seconds=math.ceil(left))
    return say("CLOSED") if row.state == "closed" else say("HALF-OPEN")


class BreakersPane(Pane, can_focus=True):
    """One row a breaker; the keys that act on one act on the row that the cursor is on."""

    ALLOW_SELECT = False
    TITLE = mark("Breakers")
    AREAS: ClassVar[tuple[Area, ...]] = ("breakers",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("home", "move(-1000)", "first", show=False),
        Binding("end", "move(1000)", "last", show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="breakers")
        self._rows: list[BreakerRow] = []
        self._cursor = 0
        self._top = 0
        self._now = 0.0
        self._drawn: list[Content] = []

    @property
    def chosen(self) -> str | None:
        """The breaker that a key means: the chosen row's here; from elsewhere the first that is not closed, if any."""
        if self.has_focus and self._rows:
            return self._rows[self._cursor].name
        return next((row.name for row in self._rows if row.state != "closed"), None)

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the breakers as they stand at `now` (run seconds)."""
        self._rows, self._now = list(state.breakers.values()), now
        self._redraw()

    def tick(self, now: float) -> float | None:
        """Count down; answers the seconds until the next change, None while nothing counts."""
        self._now = now
        self._redraw()
        left = [seconds for row in self._rows if (seconds := row.seconds_left(now))]
        return min((seconds - (math.ceil(seconds) - 1) for seconds in left), default=None)

    def action_move(self, rows: int) -> None:
        """Move the cursor by `rows`."""
        if self._rows:
            self._cursor = min(max(self._cursor + rows, 0), len(self._rows) - 1)
            self._redraw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Begin with the breaker that asks for attention; without the focus no row is chosen."""
        super().watch_has_focus(has_focus)
        if has_focus:
            self._cursor = next((i for i, row in enumerate(self._rows) if row.state != "closed"), self._cursor)
        self._redraw()

    def on_resize(self) -> None:
        """Another number of rows fits."""
        self._redraw()

    def on_click(self, event: events.Click) -> None:
        """Choose the row under the mouse."""
        offset = event.get_content_offset(self)
        if offset is not None and self._top + offset.y < len(self._rows):
            self._cursor = self._top + offset.y
            self._redraw()

    def _redraw(self) -> None:
        height, width = self.content_size.height, self.content_size.width
        self._top = min(max(self._top, self._cursor - height + 1), self._cursor, max(len(self._rows) - height, 0))
        shown = self._rows[self._top : self._top + height]
        before, self._drawn = self._drawn, [self._row(row, at, width) for at, row in enumerate(shown, self._top)]
        for y, (old, new) in enumerate(zip_longest(before, self._drawn, fillvalue=Content())):
            if old.plain != new.plain or old.spans != new.spans:
                self.refresh(Region(0, y, width, 1))  # a countdown is one line of the screen, once a second

    def notify_style_update(self) -> None:
        """Colours may be other ones now."""
        super().notify_style_update()
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One of the rows that fit."""
        style, width = self.visual_style, self.content_size.width
        if y >= len(self._drawn):
            return Strip.blank(width, style.rich_style)
        line = self._drawn[y]
        return Strip(line.render_segments(style), line.cell_length).adjust_cell_length(width, style.rich_style)

    def _row(self, row: BreakerRow, index: int, width: int) -> Content:
        sign = ISOLATED if row.isolated else SIGNS[row.state]
        words = state_words(row, self._now)
        count = f"{row.failures}/{row.threshold}"
        count_width = max(3, *(len(f"{other.failures}/{other.threshold}") for other in self._rows))
        isolated = max(cell_width(say("OPEN ISOLATED")), cell_width(say("HALF-OPEN")))
        counting = max(cell_width(say("OPEN {seconds} s", seconds=300)), cell_width(say("HALF-OPEN")))
        # The columns are the same in all rows, but for words that are longer than their column.
        roomy = width >= 2 + LONGEST_NAME + 2 + isolated + 2 + count_width
        gap, state_width = ("  ", isolated) if roomy else (" ", counting)
        if width < 2 + LONGEST_NAME + counting + count_width:
            state_width = max(cell_width(state_words(other, self._now)) for other in self._rows)
        state_width = max(state_width, cell_width(words))
        name_width = max(3, min(LONGEST_NAME, width - 2 - 2 * len(gap) - state_width - count_width))
        name = one_line(row.name, name_width)
        calm = row.state == "closed"
        here = index == self._cursor and self.has_focus
        line = Content.assemble(
            (sign.shape, sign.style),
            "›" if here else " ",
            (name + " " * (name_width - cell_width(name)), "" if calm else "bold"),
            gap,
            (padded(words, state_width), sign.style if calm else f"bold {sign.style}"),
            gap,
            (count.rjust(count_width), "$foreground-muted" if row.calm else "$text-warning"),
        )
        if width - line.cell_length >= row.threshold + 2 and row.threshold <= 10:
            pips = ("▰" * row.failures).ljust(row.threshold, "▱")
            line = Content.assemble(line, "  ", (pips, "$foreground-disabled" if row.calm else sign.style))
        if here:
            line = line.pad_right(max(0, width - line.cell_length)).stylize_before("on $block-cursor-background")
        return line

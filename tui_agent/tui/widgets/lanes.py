"""The tool calls as lanes on a common time axis: what ran side by side, waited, was tried again, or cost nothing."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.strip import Strip

from tui_agent.i18n import mark, say
from tui_agent.tui.lane_picture import Columns, axis_line, lane_line, span_of
from tui_agent.tui.state import Area, Call, DashboardState
from tui_agent.tui.widgets.lines import LinesView
from tui_agent.tui.widgets.pane import Pane

AXIS_LINES = 1
SOON = 10.0
"""Seconds below which a countdown is shown in tenths."""


class LanesView(LinesView, can_focus=True):
    """The lanes, virtualised: only the visible ones are drawn, and the time axis spans just these."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "LanesView { height: 1fr; overflow: hidden auto; scrollbar-size-vertical: 1; }"

    def __init__(self) -> None:
        super().__init__(id="lanes-view")
        self._lanes: list[Call] = []
        self._now = 0.0
        self._over = False
        self._follow = True
        self._lines: list[Strip] | None = None

    def show(self, lanes: list[Call], now: float, *, over: bool = False) -> None:
        """Draw these calls as they stand at `now` (run seconds), keeping to the newest unless scrolled away.

        Once the run is `over`, none at all is told as all there were.
        """
        self._over = over
        self._lanes = lanes
        self._fit()
        self.go(now)

    def go(self, now: float) -> None:
        """Draw the same calls at another time."""
        self._now = now
        self._lines = None
        self.refresh()

    def on_resize(self) -> None:
        """Keep the end in sight where it was."""
        self._lines = None
        self._fit()

    def _fit(self) -> None:
        region, height = self.scrollable_content_region, len(self._lanes) + AXIS_LINES
        if self.show_vertical_scrollbar and height > region.height:
            self.resize_lines(region.width, height)
        elif (size := Size(region.width, height)) != self.virtual_size:
            self.virtual_size = size
        if self._follow and round(self.scroll_y) != self.max_scroll_y:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True, immediate=True)
        elif self.show_vertical_scrollbar:
            self.move_bar(round(self.scroll_y), height)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the newest lane only while the end is in sight."""
        self._lines = None
        super().watch_scroll_y(old_value, new_value)
        self._follow = round(new_value) >= self.max_scroll_y

    def notify_style_update(self) -> None:
        """Colours may be other ones now."""
        super().notify_style_update()
        self._lines = None

    def render_line(self, y: int) -> Strip:
        """The axis, then the lanes from the scroll offset on."""
        if self._lines is None:
            self._lines = self._draw()
        if y < len(self._lines):
            return self._lines[y]
        return Strip.blank(self.size.width, self.visual_style.rich_style)

    def _draw(self) -> list[Strip]:
        width, height = self.scrollable_content_region.width, self.size.height
        top = self.scroll_offset.y
        lanes = self._lanes[top : top + max(height - AXIS_LINES, 0)]
        if not lanes:
            none = say("No tool was called.") if self._over else say("No tool has been called yet.")
            return [self._strip(Content.styled(none, "$foreground-muted"), width)]
        columns, span = Columns.fitting(width), span_of(lanes, self._now)
        lines = [axis_line(columns, span)]
        for index, call in enumerate(lanes):
            first = index == 0 or lanes[index - 1].turn != call.turn
            lines.append(lane_line(call, columns, span, self._now, first_of_turn=first))
        return [self._strip(line, width) for line in lines]

    def _strip(self, line: Content, width: int) -> Strip:
        style = self.visual_style
        strip = Strip(line.render_segments(style), line.cell_length)
        return strip.adjust_cell_length(width, style.rich_style)


class LanesPane(Pane):
    """The pane around the lanes."""

    TITLE = mark("Tool calls")
    AREAS: ClassVar[tuple[Area, ...]] = ("calls",)
    REST: ClassVar[float] = 0.125

    def __init__(self) -> None:
        super().__init__(id="lanes")
        self._state = DashboardState()
        self.view = LanesView()

    def compose(self) -> ComposeResult:
        """The lanes."""
        yield self.view

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the calls as they stand at `now` (run seconds)."""
        self._state = state
        self.view.show(state.lanes, now, over=state.run.outcome not in ("idle", "running"))

    def tick(self, now: float) -> float | None:
        """Let bars grow and count down; answers the seconds until the next change, None while no call is under way."""
        under_way = self._state.under_way()
        if not under_way:
            return None
        self.view.go(now)
        waits = [wait.until - now for call in under_way if (wait := call.waiting(now)) and wait.until is not None]
        return 0.1 if waits and min(waits) < SOON else 0.25

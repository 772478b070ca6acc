"""The main screen: where the panes stand, which of them is current, and which can be seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from tui_agent.request import RunRequest
from tui_agent.tui.refresher import Drawn
from tui_agent.tui.stage import Tab
from tui_agent.tui.state import Area, DashboardState
from tui_agent.tui.widgets.breakers import BreakersPane
from tui_agent.tui.widgets.explanation import ExplanationPanel
from tui_agent.tui.widgets.footer import KeyBar
from tui_agent.tui.widgets.header import RunHeader
from tui_agent.tui.widgets.lanes import LanesPane
from tui_agent.tui.widgets.message import MessageLine
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.widgets.prompt import AskInput, Prompt
from tui_agent.tui.widgets.rate_limit import RateLimitPane
from tui_agent.tui.widgets.replay_bar import ReplayBar
from tui_agent.tui.widgets.report import ReportPane
from tui_agent.tui.widgets.run_tabs import RunTabs
from tui_agent.tui.widgets.tabs import PaneTabs
from tui_agent.tui.widgets.trace import TracePane

if TYPE_CHECKING:
    from tui_agent.tui.replay import Player

TRACE, BREAKERS = 0, 2
CURRENT = "-current"
WIDTHS = [(0, "-narrow"), (100, "-wide"), (128, "-roomy")]
"""Below 100 columns one pane is shown at a time; below 128 the small ones do without margins."""
HEIGHTS = [(0, "-tiny"), (10, "-short"), (30, "-tall")]
"""With fewer rows, frames and the keys' line give way to the panes."""


class Alarm:
    """The part of the tabs that follows the breakers.

    Args:
        show: told whether any of them asks for attention.
    """

    AREAS: ClassVar[tuple[Area, ...]] = ("breakers",)
    REST: ClassVar[float] = 0.0

    def __init__(self, show: Callable[[bool], None]) -> None:
        self._show = show

    def update_from(self, state: DashboardState, now: float) -> None:
        """Look at all of them."""
        self._show(any(row.state != "closed" for row in state.breakers.values()))

    def tick(self, now: float) -> float | None:
        """No breaker changes by time alone."""
        return None


class DashboardScreen(Screen[None]):
    """Five panes as a grid; below 100 columns, or zoomed, one of them under a line of tabs.

    Args:
        epoch: the time as rate limits are told, in epoch seconds.
        context_limit: tokens that the model's context holds, where known.
        changed: called when other panes can be seen than before.
    """

    class Ready(Message):
        """Every pane is mounted and can be drawn."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # the report's border tells it whatever pane has the focus
        Binding("v", "app.evidence", show=False),
    ]
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""

    def __init__(self, epoch: Callable[[], float], context_limit: int | None, changed: Callable[[], None]) -> None:
        super().__init__()
        self.header = RunHeader(context_limit)
        self.trace, self.report, self.breakers = TracePane(), ReportPane(), BreakersPane()
        self.panes: tuple[Pane, ...] = (self.trace, LanesPane(), self.breakers, RateLimitPane(epoch), self.report)
        self.message, self.prompt, self._keys = MessageLine(), Prompt(), KeyBar()
        self.explanation, self._replay_bar = ExplanationPanel(), ReplayBar()
        self._run_tabs = RunTabs()
        self._alarm = Alarm(self.show_alarm)
        self._tabs = PaneTabs([pane.TITLE for pane in self.panes])
        self._changed = changed
        self._current = TRACE
        self._marked: Pane | None = None
        self._alarms: frozenset[int] = frozenset()
        self._stands = False

    @property
    def is_current(self) -> bool:
        """Whether it can be seen. Not before it stands: a first picture in four pieces takes four times as long."""
        return self._stands and super().is_current

    def stand(self) -> None:
        """All panes know what to show: draw them."""
        self._keys.redraw()
        self._stands = True
        # laid out and drawn now, not with the next tick of the timer
        self.post_message(events.Resize(self.app.size, self.app.size))

    def refresh(
        self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> DashboardScreen:
        """Ask to be drawn again; before it stands that would only draw the first picture twice."""
        super().refresh(*regions, repaint=repaint and self._stands, layout=layout, recompose=recompose)
        return self

    def on_screen_resume(self, event: events.ScreenResume) -> None:
        """Shown, or shown again; the first time all styles have just been applied."""
        event.refresh_styles = event.refresh_styles and self._stands

    def compose(self) -> ComposeResult:
        """The header, the panes, the input, the keys."""
        # before the panes get their styles, which would else all be applied again
        columns, rows = self.app.size
        sizes = {_step(WIDTHS, columns), _step(HEIGHTS, rows)}
        self.update_classes({name: name in sizes for _, name in (*WIDTHS, *HEIGHTS)}, update=False)
        trace, lanes, breakers, rate_limit, report = self.panes
        trace.add_class(CURRENT, update=False)
        self._marked = trace
        yield self.header
        yield self._run_tabs
        yield self._tabs
        with Horizontal(id="body"):
            with Vertical(id="left", classes=CURRENT):
                yield trace
                yield lanes
            with Vertical(id="right"):
                yield report
                with Horizontal(id="gauges"):
                    yield breakers
                    yield rate_limit
        yield self.explanation
        yield self._replay_bar
        yield self.message
        yield self.prompt
        yield self._keys

    def on_mount(self) -> None:
        """All panes are there now."""
        self._mark()
        self.post_message(self.Ready())

    @property
    def single(self) -> bool:
        """Whether one pane has the screen for itself."""
        return self.has_class("-narrow") or self.has_class("-zoom")

    def visible_parts(self) -> Sequence[Drawn]:
        """What can be seen of the state at the moment."""
        panes = (self.panes[self._current],) if self.single else self.panes
        explanation = (self.explanation,) if self.explanation.display else ()
        return (self.header, self._alarm, *panes, *explanation)

    def show_replay(self, player: Player | None) -> None:
        """Say where a replay stands, or that there is none."""
        self.header.show_replay(player is not None)
        self.set_class(player is not None, "-replay")
        self._replay_bar.show(player)

    def show_runs(self, tabs: Sequence[Tab]) -> bool:
        """Offer these runs to choose from; answers whether there has come to be a choice, or is none any more."""
        self.set_class(bool(tabs), "-several")
        return self._run_tabs.show(tabs)

    def toggle_explanation(self) -> None:
        """Explain each event, or no more."""
        self.explanation.display = not self.explanation.display
        self._changed()

    def show_alarm(self, is_on: bool) -> None:
        """Say on the tabs whether the breakers ask for attention."""
        self._alarms = frozenset({BREAKERS}) if is_on else frozenset()
        self._tabs.show(self._current, self._alarms)

    def focus_pane(self, index: int | None = None) -> None:
        """Give the focus to a pane, counted from 0; to the one that had it last where none is named."""
        if index is not None and index != self._current:
            self._current = index
            self._mark()
        pane = self.panes[self._current]
        # a pane shown only now cannot take the focus before the next refresh
        self.call_after_refresh(self._focus_in, pane)

    def _focus_in(self, pane: Pane) -> None:
        target = self._target(pane)
        if target is not None:
            target.focus()

    def _target(self, pane: Pane) -> Widget | None:
        return pane if pane.can_focus else next((w for w in pane.query("*") if w.focusable), None)

    def focus_first(self, asking: bool) -> None:
        """Give the first focus: to the input where there is a question to ask, else to the trace."""
        self.set_focus(self.prompt.field if asking else self._target(self.trace))

    def focus_input(self) -> None:
        """Give the focus to the input, at once: what is typed behind the key is its own."""
        self.set_focus(self.prompt.field)

    def search_trace(self) -> None:
        """Open the trace's search bar; it has the focus at once."""
        if self._current != TRACE:
            self._current = TRACE
            self._mark()
        self.trace.action_search()

    def leave_input(self) -> None:
        """A run begins: whoever asked for it in the input watches the trace now."""
        if isinstance(self.focused, AskInput):
            self.focus_pane(TRACE)

    def correct(self, request: RunRequest) -> None:
        """Put what could not be understood back into the input."""
        self.prompt.field.restore(request.repo)
        self.focus_input()

    def toggle_zoom(self) -> bool:
        """Give the current pane the whole screen, or take it back; False where it has it by narrowness."""
        if self.has_class("-narrow") and not self.has_class("-zoom"):
            return False
        self.toggle_class("-zoom")
        self._mark()
        return True

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The pane with the focus is the current one."""
        for index, pane in enumerate(self.panes):
            if pane in event.widget.ancestors_with_self and index != self._current:
                self._current = index
                self._mark()

    def on_ask_input_left(self) -> None:
        """The focus goes back to the pane that had it."""
        self.focus_pane()

    def on_pane_tabs_chosen(self, event: PaneTabs.Chosen) -> None:
        """A tab was clicked."""
        self.focus_pane(event.index)

    def on_resize(self) -> None:
        """Other panes may be seen now."""
        self.call_after_refresh(self._mark)

    def _mark(self) -> None:
        """Tell the style sheet which pane is shown where there is room for one alone."""
        current = self.panes[self._current]
        self._tabs.show(self._current, self._alarms)
        if self._marked is not current and (self.single or self._marked is None):
            self._marked = current
            for box in (*self.panes, *self.query("#left, #right, #gauges")):
                box.set_class(box in current.ancestors_with_self, CURRENT)
        self._changed()


def _step(steps: Sequence[tuple[int, str]], size: int) -> str:
    """The class of the highest step that a size reaches."""
    return max(step for step in steps if size >= step[0])[1]

"""The trace: every turn with its reasoning, thought and calls, each folded to a line and opened to its whole text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label

from tui_agent.i18n import count, mark, say
from tui_agent.safe_text import visible
from tui_agent.tui.state import Area, DashboardState
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.widgets.trace_search import Hit
from tui_agent.tui.widgets.trace_tree import Node
from tui_agent.tui.widgets.trace_view import TraceView

HELP: Final[tuple[tuple[str, str], ...]] = (
    ("↑ ↓ pgup pgdn", mark("move; home and end go to both ends")),
    ("enter, space", mark("open or fold; ← and → too, and go out or in")),
    ("* -", mark("open everything, fold everything")),
    ("f, end", mark("follow the end again")),
    ("n N", mark("next, previous hit of the last search")),
    ("c", mark("copy the selected entry whole")),
)
"""The trace's own keys, for the help."""


class SearchInput(Input):
    """The words to look for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", mark("Close")),
        Binding("enter,down", "jump(False)", mark("Next hit")),
        Binding("up", "jump(True)", mark("Previous hit")),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder=say("search the trace"), compact=True, select_on_focus=True)
        self.cursor_blink = False

    def action_leave(self) -> None:
        """Close the bar."""
        self.trace.close_search()

    def action_jump(self, backwards: bool) -> None:
        """Go to another hit."""
        self.trace.jump(backwards=backwards)

    @property
    def trace(self) -> TracePane:
        """The pane that this is part of."""
        return next(above for above in self.ancestors if isinstance(above, TracePane))


class TracePane(Pane):
    """The trace with a search bar that opens below it."""

    TITLE = mark("Trace")
    AREAS: ClassVar[tuple[Area, ...]] = ("trace", "notices", "run")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", mark("Search"), key_display="/"),
        Binding("n", "next_hit", mark("Next hit"), show=False),
        Binding("N", "previous_hit", mark("Previous hit"), show=False),
        Binding("c", "copy", mark("Copy"), show=False),
    ]
    DEFAULT_CSS = """
    TracePane {
        layout: vertical;
        & > #trace-search {
            height: 1;
            display: none;
            background: $panel;
        }
        &.-searching > #trace-search { display: block; }
        #trace-search Input { width: 1fr; background: $panel; }
        #trace-search Label { width: auto; padding: 0 1; color: $text-muted; }
    }
    """

    def __init__(self, *, id: str | None = "trace", classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.view = TraceView()
        self._input = SearchInput()
        self._last_query = ""
        self._last_hit: Hit | None = None
        self._told = self._subtitle = ""  # in the bar, and at the border

    def compose(self) -> ComposeResult:
        """The rows, and the bar below them."""
        yield self.view
        with Horizontal(id="trace-search"):
            yield Label("/", markup=False)
            yield self._input
            yield Label("", id="trace-hits", markup=False)

    def on_mount(self) -> None:
        """Say at the border how the rows and the search stand."""
        super().on_mount()
        self.watch(self.view, "told", self._say, init=False)
        self.watch(self.view, "following", self._say, init=False)
        self.watch(self.view, "live", self._say, init=False)

    def focus(self, scroll_visible: bool = True) -> TracePane:
        """Give the focus to the rows."""
        self.view.focus(scroll_visible)
        return self

    # -- from the app -----------------------------------------------------------------------

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw what changed.

        Args:
            state: what is known.
            now: run seconds.
        """
        self.view.update_from(state, now)

    def tick(self, now: float) -> float | None:
        """Count down what waits; seconds until a number changes again, None where nothing counts."""
        return self.view.tick(now)

    def search(self, query: str) -> int:
        """Look for words, without regard to case, in the whole text of everything, also of what is folded.

        Args:
            query: the words; empty for none.

        Returns:
            How many hits there are; of a very long trace those of its beginning, the rest is counted
            meanwhile and shown.
        """
        self._last_query = query or self._last_query
        return self.view.find(query)

    def clear_search(self) -> None:
        """Take the search and its marks away."""
        self.view.find("")

    def copy_text(self) -> str:
        """The whole text of the selected node and of everything below it; empty where nothing is selected."""
        node = self.view.selected
        return "" if node is None else "\n".join(_lines(node, 0))

    # -- keys -------------------------------------------------------------------------------

    def action_search(self) -> None:
        """Open the search bar; what is typed from now on, in the same burst too, goes there."""
        self.add_class("-searching")
        self.screen.set_focus(self._input)
        self._say()
        if self._input.value and not self.view.search.query:
            self.search(self._input.value)

    def close_search(self) -> None:
        """Close the search bar; `n` goes on with its query."""
        had_focus = self._input.has_focus
        self._last_hit = self.view.search.hit
        self.remove_class("-searching")
        self.clear_search()
        if had_focus:
            self.view.focus()

    def jump(self, *, backwards: bool = False) -> None:
        """Go to the next or previous hit; say why where there is none."""
        if not self.view.search.query:
            if not self._last_query:
                self.notify(say("Nothing was searched for yet: press / first."), markup=False)
                return
            self.search(self._last_query)
            self.view.search.resume(self._last_hit)
        if not self.view.jump(backwards=backwards):
            self.notify(
                say("“{last_query}” is nowhere in the trace.", last_query=visible(self._last_query)), markup=False
            )

    def action_next_hit(self) -> None:
        """Go to the next hit."""
        self.jump()

    def action_previous_hit(self) -> None:
        """Go to the hit before."""
        self.jump(backwards=True)

    def action_copy(self) -> None:
        """Copy the selected node's whole text."""
        text = self.copy_text()
        if not text:
            self.notify(say("There is nothing to copy yet."), markup=False)
            return
        self.app.copy_to_clipboard(text)
        self.notify(count("Copied {number:,} character.", "Copied {number:,} characters.", len(text)), markup=False)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.has_class("-searching"):
            self.search(event.value)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Someone works here: show the cursor."""
        self.view.show_cursor(True)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Hide the cursor when they go elsewhere."""
        self.view.show_cursor(self.has_focus_within)

    def _say(self) -> None:
        view = self.view
        searching = self.has_class("-searching")
        if searching and view.told != self._told:
            # laid out anew only where it has another width
            self.query_one("#trace-hits", Label).update(view.told, layout=cell_len(view.told) != cell_len(self._told))
            self._told = view.told
        parts = [view.told] if view.told and not searching else []
        if view.live and not view.following:
            parts.append(say("f follows the end"))
        subtitle = " · ".join(parts)
        if subtitle != self._subtitle:
            self._subtitle = self.border_subtitle = subtitle


def _lines(node: Node, depth: int) -> Iterator[str]:
    """A node and what is below it as plain text, safe to paste."""
    indent = "  " * depth
    if node.source is None or depth or node.children:
        yield indent + visible(" ".join(part for part in (node.mark, node.line) if part), keep="")
        inner = indent + "  "
    else:
        inner = ""
    if node.source is not None:
        for line in visible(node.text()).split("\n"):
            yield inner + line
    for child in node.children:
        yield from _lines(child, depth + 1)

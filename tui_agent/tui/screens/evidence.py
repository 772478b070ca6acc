"""The evidence: every claim of the report that can be checked, what was not observed first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_agent.i18n import mark, say, told
from tui_agent.safe_text import one_line
from tui_agent.tui.state import GroundingState
from tui_agent.tui.widgets.markdown_inline import openable

KINDS = {
    "path": mark("path"),
    "lines": mark("lines"),
    "version": mark("version"),
    "number": mark("number"),
    "date": mark("date"),
    "name": mark("name"),
    "sha": mark("sha"),
    "licence": mark("licence"),
    "code": mark("code"),
}
"""What a claim is, in a word."""
MOST_SHOWN = 2_000
"""Claims that are listed."""


class EvidenceScreen(ModalScreen[int | None]):
    """A list of claims; closing it tells where in the report the chosen one stands, in characters.

    Enter opens a claim's address where it has one, else it goes to its place in the report.

    Args:
        grounding: the claims.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,v,q", "dismiss(None)", mark("close")),
        Binding("g", "place", mark("its place in the report")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]
    DEFAULT_CSS = """
    EvidenceScreen {
        & > #dialog { width: 100; height: 90%; padding: 0 1; }
        & OptionList { height: 1fr; border: none; background: transparent; padding: 0; scrollbar-size-vertical: 1; }
        & OptionList:focus { border: none; background-tint: $foreground 0%; }
    }
    """

    def __init__(self, grounding: GroundingState) -> None:
        super().__init__(classes="dialog")
        self._items = [*grounding.unsupported, *grounding.supported][:MOST_SHOWN]
        self._missing = len(grounding.unsupported)
        self._total = len(grounding.unsupported) + len(grounding.supported)

    def compose(self) -> ComposeResult:
        """The list."""
        with Vertical(id="dialog") as box:
            box.border_title = Content(
                say(
                    "Evidence: {observed:,} of {total:,} claims observed",
                    observed=self._total - self._missing,
                    total=self._total,
                )
            )
            box.border_subtitle = Content(say("enter opens the source, or its place · g place · esc closes"))
            yield OptionList(
                *(Option(row(item, bad=index < self._missing)) for index, item in enumerate(self._items)), markup=False
            )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open where the claim was seen, or go to it."""
        event.stop()
        url = self._items[event.option_index].get("url")
        if isinstance(url, str) and openable(url):
            self.app.open_url(url)
        else:
            self._go(event.option_index)

    def action_place(self) -> None:
        """Go to the claim in the report."""
        index = self.query_one(OptionList).highlighted
        if index is not None:
            self._go(index)

    def _go(self, index: int) -> None:
        start = self._items[index].get("start")
        self.dismiss(start if isinstance(start, int) and not isinstance(start, bool) else None)


def row(item: dict[str, Any], *, bad: bool) -> Content:
    """A claim in two lines: itself and what it is; where it was seen, or why it is not supported."""
    sign, style = ("✗", "$text-warning") if bad else ("✓", "$text-success")
    where = item.get("reason" if bad else "source") or (say("not observed") if bad else say("observed"))
    parts: Sequence[tuple[str, str]] = (
        (f"{sign} ", style),
        (one_line(str(item.get("claim", "")), 60), "bold"),
        (f"  {say(KINDS.get(str(item.get('kind')), ''))}", "$foreground-muted"),
        (f"\n  {one_line(told(str(where)), 90)}", style if bad else "$foreground-muted"),
    )
    return Content.assemble(*parts, *((" ↗",) if isinstance(item.get("url"), str) else ()))

"""The recorded runs: searched as one types, opened, exported, deleted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.i18n import count, mark, say, told
from tui_agent.runs.store import RecordError, RunStore, RunSummary
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.screens.dialog import AskScreen
from tui_agent.tui.screens.save import save_screen
from tui_agent.tui.widgets.footer import KeyBar
from tui_agent.tui.words import RUN_SIGNS, Sign, padded, short_count

SIGNS: Final[dict[str, Sign]] = {
    **{str(word): sign for word, sign in RUN_SIGNS.items()},
    mark("interrupted"): Sign("◌", "$text-warning"),
}
NOTHING = mark("No run is recorded yet. esc goes back; name a repository there, and its run is kept here.")
NOTHING_LIKE_IT = mark("No run has all of these words. esc in the field shows them all again.")
WIDE = 64
"""Cells from which on tokens are told as well."""

Export = Callable[[RunSummary, Path, bool], str | None]
"""Writes a run's report into a file, over one that is there where the flag says so; None, or what went wrong."""


class SearchRuns(Input):
    """Words to look for; the arrow keys go on to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", mark("all runs")),
        Binding("enter,down", "leave(False)", mark("to the list")),
    ]

    def __init__(self) -> None:
        super().__init__(placeholder=say("search: repository, question, outcome …"), id="history-search", compact=True)
        self.cursor_blink = False

    def action_leave(self, clear: bool) -> None:
        """Go to the list, with all runs again where that was wanted."""
        if clear:
            self.value = ""
        self.screen.query_one(OptionList).focus()


class RunList(OptionList):
    """The list; its key stands in the line of keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", mark("open"))]


class HistoryScreen(ModalScreen[RunSummary | None]):
    """A list with a search field over it; closes with the run that is to be opened, or None.

    Args:
        store: the records.
        export: writes a run's report; called in a thread of its own.
        suffixes: what a file's name may end in.
        suggest: the name that is offered for a repository's report.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", mark("back"), key_display="esc"),
        Binding("slash", "search", mark("search"), key_display="/"),
        Binding("d", "delete", mark("delete")),
        Binding("s", "export", mark("save report")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(
        self, store: RunStore, export: Export, suffixes: tuple[str, ...], suggest: Callable[[str], str]
    ) -> None:
        super().__init__(id="history")
        self._store = store
        self._export = export
        self._suffixes = suffixes
        self._suggest = suggest
        self._runs: list[RunSummary] | None = None
        self._shown: list[RunSummary] = []
        self._keys = KeyBar()

    def compose(self) -> ComposeResult:
        """The field, the list or why there is none, a line for what is to be said, the keys."""
        with Vertical(id="history-box") as box:
            box.border_title = Content(say("Recorded runs"))
            yield SearchRuns()
            yield Static(say("Reading …"), id="history-none", markup=False)
            yield RunList(id="history-list", markup=False)
            yield Static(id="history-said", markup=False)
        yield self._keys

    def on_mount(self) -> None:
        """Read the records while the screen stands already."""
        self._list.focus()
        self._keys.redraw()
        self.run_worker(self._read(), group="history", exclusive=True)

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    @property
    def chosen(self) -> RunSummary | None:
        """The run under the cursor."""
        place = self._list.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    async def _read(self) -> None:
        try:
            self._runs = await asyncio.to_thread(self._store.list)
        except RecordError as error:
            self._runs = []
            self._say(str(error))
        else:
            if unread := self._store.unreadable:
                self._say(
                    count(
                        "{number} file in {folder} could not be read.",
                        "{number} files in {folder} could not be read.",
                        unread,
                        folder=self._store.folder,
                    )
                )
        self._fill()

    # -- what stands there ------------------------------------------------------------------

    def _fill(self) -> None:
        """The runs that have all the words, with the cursor where it was."""
        if self._runs is None:
            return
        words = self.query_one(SearchRuns).value.casefold().split()
        place = self._list.highlighted or 0
        self._shown = [run for run in self._runs if _has(run, words)]
        width = self._list.scrollable_content_region.width or self.size.width - 6
        self._list.clear_options()
        self._list.add_options(Option(_row(run, width)) for run in self._shown)
        self._list.highlighted = min(place, len(self._shown) - 1) if self._shown else None
        self._list.display = bool(self._shown)
        none = self.query_one("#history-none", Static)
        none.display = not self._shown
        none.update(Content(say(NOTHING_LIKE_IT if self._runs else NOTHING)))
        number = (
            say("{shown} of {runs}", shown=len(self._shown), runs=len(self._runs)) if words else str(len(self._runs))
        )
        self.query_one("#history-box").border_subtitle = Content(number)

    def _say(self, text: str) -> None:
        self.query_one("#history-said", Static).update(Content(one_line(told(text), 300)))

    @on(Input.Changed, "#history-search")
    def _typed(self) -> None:
        self._fill()

    def on_resize(self, event: events.Resize) -> None:
        """Rows are as wide as the screen."""
        self.call_after_refresh(self._fill)

    # -- keys -------------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        """Close with the run under the cursor."""
        if self.chosen is not None:
            self.dismiss(self.chosen)

    def action_search(self) -> None:
        """Go to the field."""
        self.query_one(SearchRuns).focus()

    def action_delete(self) -> None:
        """Ask, then delete the run under the cursor."""
        run = self.chosen
        if run is None:
            self._say(say("Nothing to delete."))
            return

        def answered(is_meant: bool | None) -> None:
            if is_meant:
                self.run_worker(self._delete(run), group="history", exclusive=True)

        self.app.push_screen(
            SureScreen(say("Delete the run of {repo}, {when}?", repo=run.repo, when=_when(run.began))), answered
        )

    async def _delete(self, run: RunSummary) -> None:
        try:
            await asyncio.to_thread(self._store.delete, run)
        except RecordError as error:
            self._say(str(error))
            return
        self._say(say("Deleted."))
        await self._read()

    def action_export(self) -> None:
        """Ask for a file and write the report of the run under the cursor there."""
        run = self.chosen
        if run is None:
            self._say(say("Nothing to save."))
            return

        def saved(name: str | None) -> None:
            if name is not None:
                self._say(say("Saved as {name}.", name=name))

        ask: AskScreen = save_screen(
            self._suggest(run.repo), self._suffixes, lambda path, force: self._export(run, path, force)
        )
        self.app.push_screen(ask, saved)


class SureScreen(ModalScreen[bool]):
    """Asks whether something that cannot be taken back is meant.

    Args:
        question: what would be done; a text from outside may stand in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", mark("yes")),
        Binding("n,escape", "dismiss(False)", mark("no")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(self, question: str) -> None:
        super().__init__(classes="dialog")
        self._question = question

    def compose(self) -> ComposeResult:
        """The question and its keys."""
        with Vertical(id="dialog") as box:
            box.border_subtitle = Content(say("y yes · n no"))
            yield Static(Content(one_line(self._question, 200)))


def _has(run: RunSummary, words: list[str]) -> bool:
    text = " ".join((run.repo, run.question, run.outcome, run.commit or "", run.ref or "", run.model, run.run_id))
    text = text.casefold()
    return all(word in text for word in words)


def _when(epoch: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(epoch))
    except (OverflowError, ValueError, OSError):  # a record says what it likes
        return say("some time")


def _row(run: RunSummary, width: int) -> Content:
    """Two lines: outcome, repository and commit, tokens and time; then the question."""
    sign = SIGNS[run.outcome]
    tokens = f"{say('{tokens} tokens', tokens=short_count(run.tokens))}  " if run.tokens and width >= WIDE else ""
    right = f"{tokens}{_when(run.began)}"
    at = f"@{run.commit[:7]}" if run.commit else ""
    word = f"{sign.shape} {padded(say(run.outcome), 11)}  " if width >= WIDE else f"{sign.shape} "
    name = one_line(run.repo + at, max(4, width - cell_width(word) - cell_width(right) - 2))
    gap = max(1, width - cell_width(word) - cell_width(name) - cell_width(right))
    mark = "↳ " if run.follows else "  "
    return Content.assemble(
        (word, f"bold {sign.style}"),
        (name, "bold"),
        " " * gap,
        (right, "$foreground-muted"),
        "\n",
        (mark + one_line(run.question, max(4, width - 2)), "$foreground-muted"),
    )

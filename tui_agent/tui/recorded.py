"""The way from the records on disk to the dashboard: the list over it, a run read beside it, its report saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from textual.app import App

from tui_agent.i18n import say, told
from tui_agent.report.export import RENDERERS, ExportError, TargetExistsError, suggest_name, write
from tui_agent.runs.store import RecordError, RunStore, RunSummary
from tui_agent.tui.replaying import Opened, opened
from tui_agent.tui.saving import document_of
from tui_agent.tui.screens.history import HistoryScreen


class Recorded:
    """Opens the list of recorded runs, and a run from it.

    Args:
        app: where the list is shown.
        store: the records.
        threshold: failures that open a breaker, until an event says so.
        show: takes a run that was opened.
        explain: says a sentence.
    """

    def __init__(
        self,
        app: App[int],
        store: RunStore,
        threshold: int,
        show: Callable[[Opened], None],
        explain: Callable[[str], None],
    ) -> None:
        self._app = app
        self._store = store
        self._threshold = threshold
        self._show = show
        self._explain = explain

    def open_list(self) -> None:
        """Show the list; what is chosen there is opened."""

        def chosen(run: RunSummary | None) -> None:
            if run is not None:
                work: Coroutine[Any, Any, None] = self._open(run)
                self._app.run_worker(work, group="history", exclusive=True)

        self._app.push_screen(HistoryScreen(self._store, self._export, tuple(RENDERERS), suggest_name), chosen)

    async def _open(self, run: RunSummary) -> None:
        try:
            read = await asyncio.to_thread(self._read, run)
        except RecordError as error:
            self._explain(str(error))
            return
        self._show(read)

    def _read(self, run: RunSummary) -> Opened:
        """A run with those that it goes on with, standing at its end."""
        read = opened([self._store.load(one) for one in self._store.chain(run)], self._threshold)
        read.player.end()
        return read

    def _export(self, run: RunSummary, path: Path, force: bool) -> str | None:
        try:
            player = self._read(run).player
            if not player.state.report.text:
                return say("There is no report in this run.")
            write(path, document_of(player.state, player.epoch), force=force)
        except TargetExistsError as error:
            return say("{error} Enter again replaces it.", error=told(str(error)))
        except (ExportError, RecordError) as error:
            return str(error)
        return None

"""`-o FILE`: the report of a run, written the moment the run has one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tui_agent.events import Emit, Event, Grounding, Notice, RunFinished, RunStarted, Snapshot
from tui_agent.report.export import ExportError, ReportDocument, write
from tui_agent.request import RunRequest


class OutputFile:
    """Writes each report that passes by to one file, before anybody else hears that the run has finished.

    A file that was there is replaced only where that was agreed; a report of its own gives way to the next one.

    Args:
        path: checked by `export.check_target` before the run.
        force: whether a file that is there may be replaced.
        now: the time in epoch seconds.

    Attributes:
        trouble: why the last report could not be written; one sentence, or None.
    """

    def __init__(self, path: Path, *, force: bool = False, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._force = force
        self._now = now
        self._runs: dict[str | None, tuple[RunStarted, Snapshot | None]] = {}
        self._grounding: dict[str | None, Grounding] = {}
        self.trouble: str | None = None

    def before(self, emit: Emit, request: RunRequest) -> Emit:
        """An `emit` that writes the file, then passes the event on; trouble is passed on as a notice.

        Args:
            emit: is handed every event.
            request: what is run; of several repositories, only the report that compares them is written.
        """
        # Their own runs come first.
        compared = 1 + len(request.others) if request.others else 0

        def watch(event: Event) -> None:
            nonlocal compared
            match event:
                case RunStarted() if compared:
                    compared -= 1
                case RunStarted():
                    self._runs[event.run_id] = event, None
                case Snapshot() if event.run_id in self._runs:
                    self._runs[event.run_id] = self._runs[event.run_id][0], event
                case Grounding() if event.run_id in self._runs:
                    self._grounding[event.run_id] = event
                case RunFinished(outcome="completed" | "partial") if event.run_id in self._runs:
                    self._write(event)
                    if self.trouble:
                        emit(Notice(at=event.at, run_id=event.run_id, level="error", text=self.trouble))
            emit(event)

        return watch

    def _write(self, finished: RunFinished) -> None:
        document = ReportDocument.of(
            *self._runs[finished.run_id], finished, self._now(), self._grounding.get(finished.run_id)
        )
        try:
            write(self._path, document, force=self._force)
            self._force, self.trouble = True, None
        except ExportError as error:
            self.trouble = f"The report was not saved: {error}"

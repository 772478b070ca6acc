"""One run without a dashboard: `--print` and `--json`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from tui_agent.cli_signals import INTERRUPTED, Interrupts
from tui_agent.cli_streams import complain, quiet_logs, reconfigure, silence, write
from tui_agent.events import Emit, Event, RunFinished
from tui_agent.frontends.json_lines import JsonLines
from tui_agent.frontends.printer import Printer, Printers
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest
from tui_agent.safe_text import visible

if TYPE_CHECKING:
    from tui_agent.cli_output import OutputFile

EXIT_CODES = {"completed": 0, "partial": 0, "failed": 1, "cancelled": INTERRUPTED}


class RunsSession(Protocol):
    """What one run needs of a session."""

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One run, from `run_started` to `run_finished`; it prepares what it needs."""

    async def aclose(self) -> None:
        """Close the clients."""


class Stop:
    """Cancels a run, once: a second cancellation would break into its last words."""

    def __init__(self) -> None:
        self._task: asyncio.Task[RunFinished] | None = None
        self._asked = False

    def watch(self, task: asyncio.Task[RunFinished]) -> None:
        """The run to cancel."""
        self._task = task

    def __call__(self) -> None:
        """Cancel it."""
        if not self._asked and self._task is not None:
            self._asked = True
            self._task.cancel()


class Ending:
    """How a run ended, and the sentence and the exit code that go with it.

    Args:
        redact: takes secrets out of the sentence.
        output: the file that was asked for.
    """

    def __init__(self, redact: Redactor, output: OutputFile | None) -> None:
        self._redact = redact
        self._output = output
        self.finished: RunFinished | None = None
        self.interrupted = False

    def watch(self, emit: Emit, request: RunRequest) -> Emit:
        """An `emit` that remembers the last event of a request and passes everything on."""

        def watched(event: Event) -> None:
            if isinstance(event, RunFinished):
                self.finished = event
            emit(event)

        return watched if self._output is None else self._output.before(watched, request)

    @property
    def code(self) -> int:
        """The run's own exit code."""
        if self.finished is not None:
            return EXIT_CODES[self.finished.outcome]
        return INTERRUPTED if self.interrupted else 1

    def say(self) -> int:
        """Say on stderr what did not go well; the exit code."""
        if self.code == INTERRUPTED:
            complain("interrupted.")
        elif self.finished is None:
            complain("the run ended without a result.")
        elif self.finished.outcome == "failed":
            complain(self.finished.error or "the run failed.", self._redact)
        elif self._output is not None and self._output.trouble:
            complain(self._output.trouble, self._redact)
            return 1
        return self.code

    def say_lost(self, what: str, trouble: OSError) -> int:
        """Say that stdout took something no more; a reader that went away hears nothing."""
        silence(sys.stdout)
        if isinstance(trouble, BrokenPipeError):
            return self.code
        complain(f"the {what} could not be written to stdout: {trouble.strerror or trouble}.", self._redact)
        return 1


async def run_printed(session: RunsSession, request: RunRequest, redact: Redactor, output: OutputFile | None) -> int:
    """Trace on stderr, report on stdout; the exit code.

    Raises:
        UsageError: what was asked cannot be understood.
    """
    printer = (Printers if request.others else Printer)(sys.stderr, redact)
    ending = Ending(redact, output)

    def finish() -> int:
        if not printer.heard:
            silence(sys.stderr)
        if ending.finished is not None and ending.finished.outcome in ("completed", "partial"):
            text = redact(visible(ending.finished.report.rstrip())) + "\n"
            if (trouble := write(sys.stdout, text)) is not None:
                return ending.say_lost("report", trouble)
        return ending.say()

    reconfigure(sys.stdout)
    return await _run(session, request, printer, Stop(), ending, finish)


async def run_json(session: RunsSession, request: RunRequest, redact: Redactor, output: OutputFile | None) -> int:
    """One event per line on stdout; the exit code. A reader that goes away ends the run quietly.

    Raises:
        UsageError: what was asked cannot be understood.
    """
    stop = Stop()
    lines = JsonLines(sys.stdout, redact, stop)
    ending = Ending(redact, output)

    def finish() -> int:
        return ending.say() if lines.trouble is None else ending.say_lost("events", lines.trouble)

    reconfigure(sys.stdout, "utf-8")
    return await _run(session, request, lines, stop, ending, finish)


async def _run(
    session: RunsSession, request: RunRequest, emit: Emit, stop: Stop, ending: Ending, finish: Callable[[], int]
) -> int:
    """One run under signals; `finish` has the last word before the session closes."""
    quiet_logs()
    try:
        with Interrupts(stop) as interrupts:
            task = asyncio.create_task(session.run(request, ending.watch(emit, request)))
            stop.watch(task)
            await asyncio.wait({task})
            ending.interrupted = interrupts.received
            if not task.cancelled():
                task.result()
            return finish()
    finally:
        await session.aclose()

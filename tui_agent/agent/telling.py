"""What a run tells: its events, from the first to the last, without the secrets that somebody has repeated in them."""

from __future__ import annotations

import asyncio
import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

from tui_agent.agent.reasons import own_fault
from tui_agent.events import (
    Emit,
    Event,
    Outcome,
    ReasoningDelta,
    ReportDelta,
    RunFinished,
    RunStarted,
    Snapshot,
    ToolFinished,
    TurnStarted,
    stamp,
)
from tui_agent.github.snapshot import RepositorySnapshot
from tui_agent.redact import Redactor
from tui_agent.resilience.clock import Clock


def without_secrets(event: Event, redact: Redactor) -> Event:
    """The event, whoever repeats a key or a token in it.

    Not a call's arguments and result, and not what streams: the model's client and the toolbox have seen to it.
    """
    if isinstance(event, ReportDelta | ReasoningDelta):
        return event
    changes: dict[str, Any] = {}
    for name in type(event).__slots__:
        value = getattr(event, name)
        if isinstance(value, str):
            clean: Any = redact(value)
        elif isinstance(value, list):
            clean = redact.deep(value)
        else:
            continue
        if clean is not value:
            changes[name] = clean
    return replace(event, **changes) if changes else event


def as_event(snapshot: RepositorySnapshot) -> Snapshot:
    """The event that tells of a snapshot."""
    return Snapshot(
        repo=snapshot.full_name,
        ref=snapshot.ref,
        commit=snapshot.commit,
        files=snapshot.files,
        truncated=snapshot.truncated,
    )


@dataclass
class Ended:
    """How it came out.

    Args:
        outcome, report, error: as in `run_finished`.
    """

    outcome: Outcome
    report: str = ""
    error: str | None = None


@dataclass(kw_only=True)
class Undertaking(ABC):
    """What the program does by itself over runs that have ended, told like a run.

    Args:
        clock: all of its time.
        sink: takes the stamped events.
        redact: takes secrets out of what is told.
        run_id: names it.
    """

    clock: Clock
    sink: Emit
    redact: Redactor
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _turns: int = 0
    _calls: int = 0
    _began: float = 0.0

    def emit(self, event: Event) -> None:
        """Stamp an event as this run's and hand it on."""
        if isinstance(event, TurnStarted):
            self._turns = event.turn
        elif isinstance(event, ToolFinished):
            self._calls += 1
        self.sink(stamp(without_secrets(event, self.redact), self.clock.monotonic() - self._began, self.run_id))

    async def execute(self) -> RunFinished:
        """The whole of it, from `run_started` to `run_finished`, also when it is cancelled.

        Raises:
            asyncio.CancelledError: it was cancelled; the last event has been emitted.
        """
        self._began = self.clock.monotonic()
        self.emit(self.started())
        try:
            ended = await self.main()
        except asyncio.CancelledError:
            self._finish(Ended("cancelled", self.streamed.strip(), "The run was cancelled."))
            raise
        except Exception as error:
            ended = Ended("failed", error=own_fault(error))
        return self._finish(ended)

    @property
    def streamed(self) -> str:
        """What of the report has streamed so far."""
        return ""

    @property
    def requests(self) -> int:
        """Requests sent to GitHub so far."""
        return 0

    @abstractmethod
    def started(self) -> RunStarted:
        """The first event."""

    @abstractmethod
    async def main(self) -> Ended:
        """What is done."""

    def _finish(self, ended: Ended) -> RunFinished:
        finished = RunFinished(
            outcome=ended.outcome,
            report=self.redact(ended.report),
            error=None if ended.error is None else self.redact(ended.error),
            turns=self._turns,
            tool_calls=self._calls,
            requests=self.requests,
            elapsed=self.clock.monotonic() - self._began,
        )
        self.emit(finished)
        return finished

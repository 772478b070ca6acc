"""One request's life as phases on the run's time axis: attempts, waits, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tui_agent.events import CacheState, JsonObject, ToolOutcome

PhaseKind = Literal["attempt", "retry", "limit"]
CallOutcome = ToolOutcome | Literal["cancelled"]


@dataclass(slots=True)
class Phase:
    """A stretch of a call's life, in run seconds.

    `end` is None while it goes on; `until` is when a wait is due to end. A failed attempt carries
    `reason` and `status`; a wait for a limit carries the limit's kind as `reason`.
    """

    kind: PhaseKind
    start: float
    end: float | None = None
    until: float | None = None
    attempt: int = 1
    of: int | None = None
    failed: bool = False
    reason: str = ""
    status: int | None = None


@dataclass(slots=True)
class Call:
    """A tool call, or (with `call_id` None) a request of the model or for the snapshot that met trouble.

    `outcome`, `result`, `cache` and `finished_at` are None until the call has ended.
    """

    tool: str
    turn: int
    started_at: float
    call_id: str | None = None
    arguments: JsonObject = field(default_factory=dict)
    finished_at: float | None = None
    elapsed: float | None = None
    outcome: CallOutcome | None = None
    result: JsonObject | None = None
    attempts: int = 0
    cache: CacheState | None = None
    phases: list[Phase] = field(default_factory=list)
    revision: int = 0

    def __post_init__(self) -> None:
        if not self.phases:
            self.phases.append(Phase("attempt", self.started_at))

    @property
    def running(self) -> bool:
        """Whether the call has not ended yet."""
        return self.finished_at is None

    def waiting(self, now: float) -> Phase | None:
        """The wait that the call is in at `now` (run seconds), if any."""
        last = self.phases[-1]
        if self.finished_at is not None or last.end is not None or last.until is None or last.until <= now:
            return None
        return last

    def phases_at(self, now: float) -> list[Phase]:
        """The phases as they stand at `now`: a wait that is over by then has given way to the next attempt."""
        last = self.phases[-1]
        if last.end is None and last.until is not None and last.until <= now:
            ended = Phase(last.kind, last.start, last.until, last.until, last.attempt, last.of, reason=last.reason)
            return [*self.phases[:-1], ended, Phase("attempt", last.until, attempt=last.attempt)]
        return self.phases

    def fail(self, at: float, attempt: int, reason: str, status: int | None) -> None:
        """The attempt under way failed."""
        phase = self._attempting(at)
        phase.end, phase.failed, phase.attempt, phase.reason, phase.status = at, True, attempt, reason, status
        self.attempts = max(self.attempts, attempt)
        self.revision += 1

    def wait(
        self, at: float, kind: PhaseKind, seconds: float, *, attempt: int | None = None, of: int | None = None,
        reason: str = "",
    ) -> None:  # fmt: skip
        """The call begins to wait for a retry or for a limit, for `seconds`."""
        coming = attempt if attempt is not None else self._last_attempt()
        last = self.phases[-1]
        if last.kind == "attempt" and last.end is None and last.start >= at:
            self.phases.pop()  # no time passed in it: the wait was there before anything was sent
        else:
            self._close(at)
        self.phases.append(Phase(kind, at, until=at + max(0.0, seconds), attempt=coming, of=of, reason=reason))
        self.revision += 1

    def finish(self, at: float, outcome: CallOutcome) -> None:
        """The call has ended."""
        last = self.phases[-1]
        waited = last.end is None and last.until is not None and last.until < at
        # A call that fell back when its wait was over was not tried again.
        if waited and (outcome == "ok" or self.attempts > sum(phase.failed for phase in self.phases)):
            self._attempting(at)
        self._close(at)
        self.finished_at, self.outcome = at, outcome
        self.revision += 1

    def _last_attempt(self) -> int:
        last = self.phases[-1]
        return last.attempt + last.failed

    def _attempting(self, at: float) -> Phase:
        """The attempt under way at `at`; no event tells its beginning, the end of what was before does."""
        last = self.phases[-1]
        if last.kind == "attempt" and last.end is None:
            return last
        self._close(at)
        phase = Phase("attempt", at if last.end is None else last.end, attempt=self._last_attempt())
        self.phases.append(phase)
        return phase

    def _close(self, at: float) -> None:
        last = self.phases[-1]
        if last.end is None:
            last.end = at if last.until is None else min(at, last.until)

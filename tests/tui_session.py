"""A session for the dashboard's tests that behaves like one: runs that emit when told to, breakers that answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

from tui_agent import events as ev
from tui_agent.request import RunRequest, UsageError
from tui_agent.settings import Settings


class HandClock:
    """A clock that a test moves."""

    def __init__(self, monotonic: float = 1000.0, epoch: float = 1_800_000_000.0) -> None:
        self._start = monotonic
        self._now = monotonic
        self._epoch = epoch

    def monotonic(self) -> float:
        return self._now

    def time(self) -> float:
        return self._epoch + self._now - self._start

    async def sleep(self, seconds: float) -> None:
        self.pass_(seconds)

    def pass_(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds


@dataclass
class ScriptedSession:
    """Runs whose events a test emits one by one; what the dashboard asked for is kept in `asked`."""

    clock: HandClock = field(default_factory=HandClock)
    settings: Settings = field(default_factory=Settings)
    refuse: str | None = None
    crash: Exception | None = None
    asked: list[object] = field(default_factory=list)
    requests: list[RunRequest] = field(default_factory=list)
    closed: bool = False
    prepared: bool = False
    breakers: dict[str, str] = field(default_factory=dict)
    patient: bool = True
    _listener: ev.Emit | None = None
    _emit: ev.Emit | None = None
    _began: float = 0.0
    _runs: int = 0
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def run_id(self) -> str:
        return f"run-{self._runs}"

    @property
    def running(self) -> bool:
        return self._emit is not None

    async def prepare(self) -> None:
        self.prepared = True

    async def run(self, request: RunRequest, emit: ev.Emit) -> ev.RunFinished:
        self.requests.append(request)
        if self.refuse is not None:
            raise UsageError(self.refuse)
        self._runs += 1
        self._emit, self._began = emit, self.clock.monotonic()
        self._over.clear()
        name = request.repo
        self.tell(
            ev.RunStarted(
                repo=name if "/" in name else f"local/{name}",
                source="github",
                ref=request.ref,
                question=request.question or "Full analysis",
                engine="llm",
                model="deepseek-flash",
                follows=request.follows,
            )
        )
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            if not self.patient:
                raise
            self.finish("cancelled")
            raise
        finally:
            self._emit = None
        if self.crash is not None:
            raise self.crash
        return finished("completed")

    def tell(self, event: ev.Event) -> None:
        """The run under way emits an event now."""
        assert self._emit is not None, "no run is going on"
        self._emit(ev.stamp(event, self.clock.monotonic() - self._began, self.run_id))

    def finish(self, outcome: ev.Outcome, report: str = "", error: str | None = None) -> None:
        """The run under way emits its last event and ends."""
        self.tell(finished(outcome, report, error, self.clock.monotonic() - self._began))
        self._over.set()

    def die(self, error: Exception) -> None:
        """The run under way raises instead of ending well."""
        self.crash = error
        self._over.set()

    def listen(self, emit: ev.Emit) -> None:
        self._listener = emit

    def between(self, event: ev.Event) -> None:
        """Something changes that belongs to no run."""
        assert self._listener is not None
        self._listener(event)

    def reset_breaker(self, name: str | None = None) -> None:
        self.asked.append(("reset", name))
        for one in [name] if name is not None else list(self.breakers):
            self._change(one, "closed", 0)

    def isolate_breaker(self, name: str) -> None:
        self.asked.append(("isolate", name))
        self._change(name, "open", 0)

    def release_breaker(self, name: str) -> None:
        self.asked.append(("release", name))
        self._change(name, "closed", 0)

    def open_breaker(self, name: str, retry_in: float = 30.0) -> None:
        """Failures open a breaker during the run."""
        self.breakers[name] = "open"
        self.tell(breaker(name, "open", failures=5, retry_in=retry_in))

    def _change(self, name: str, state: ev.BreakerState, failures: int) -> None:
        self.breakers[name] = state
        event = breaker(name, state, failures=failures, cause="user")
        if self.running:
            self.tell(event)
        else:
            self.between(event)

    def inject(self, spec: str) -> None:
        if ":" not in spec:
            raise UsageError(f'"{spec}" is no fault: write NAME:FAULT.')
        self.asked.append(("inject", spec))

    async def aclose(self) -> None:
        self.closed = True


def finished(outcome: ev.Outcome, report: str = "", error: str | None = None, elapsed: float = 1.0) -> ev.RunFinished:
    """A run's last event."""
    return ev.RunFinished(
        outcome=outcome, report=report, error=error, turns=1, tool_calls=2, requests=3, elapsed=elapsed
    )


def breaker(
    name: str,
    state: ev.BreakerState,
    *,
    failures: int = 0,
    retry_in: float | None = None,
    cause: ev.BreakerCause = "failures",
) -> ev.BreakerChanged:
    """A breaker's change of state."""
    return ev.BreakerChanged(name=name, state=state, failures=failures, threshold=5, retry_in=retry_in, cause=cause)


def started(call_id: str = "c1", tool: str = "read_file", turn: int = 1, **arguments: object) -> ev.ToolStarted:
    """A tool call begins."""
    return ev.ToolStarted(turn=turn, call_id=call_id, tool=tool, arguments=dict(arguments))


def ended(
    call_id: str = "c1",
    tool: str = "read_file",
    outcome: ev.ToolOutcome = "ok",
    *,
    turn: int = 1,
    attempts: int = 1,
    cache: ev.CacheState = "miss",
    elapsed: float = 0.5,
) -> ev.ToolFinished:
    """A tool call ends."""
    return ev.ToolFinished(
        turn=turn,
        call_id=call_id,
        tool=tool,
        arguments={},
        outcome=outcome,
        result={"ok": outcome == "ok"},
        attempts=attempts,
        cache=cache,
        elapsed=elapsed,
    )


def quota(remaining: int, used: int, reset: int = 1_800_003_600, limit: int = 5000) -> ev.Quota:
    """What a reply said of the limit."""
    return ev.Quota(resource="core", limit=limit, remaining=remaining, used=used, reset=reset)


def stamped(*events: tuple[float, ev.Event], run_id: str = "r") -> list[ev.Event]:
    """Events of one run with their times: copies, so that one event may stand in several runs."""
    return [replace(event, at=at, run_id=run_id) for at, event in events]

"""Everything that happens in a run, as frozen dataclasses, to and from JSON.

The loop emits these and nothing else; the dashboard, the printer, JSON lines, records and replay
only read them. `at` (seconds since the run began, monotonic) and `run_id` are stamped by the
run that emits; an event between runs (a breaker reset by hand) has `run_id=None`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

JsonObject = dict[str, Any]
Outcome = Literal["completed", "partial", "failed", "cancelled"]
ToolOutcome = Literal["ok", "error", "fallback"]
CacheState = Literal["miss", "hit", "revalidated", "memory"]
BreakerState = Literal["closed", "open", "half_open"]
BreakerCause = Literal["failures", "probe", "user"]
LimitKind = Literal["primary", "secondary"]
Level = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Event:
    """What every event carries."""

    type: ClassVar[str] = ""
    at: float = 0.0
    run_id: str | None = None

    # Once for all events: written out for each, these would take half the time that importing them takes.

    def __repr__(self) -> str:
        own = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self))
        return f"{type(self).__name__}({own})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, f.name) == getattr(other, f.name) for f in dataclasses.fields(self))

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, f.name) for f in dataclasses.fields(self)))


Emit = Callable[[Event], None]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RunStarted(Event):
    """The first event of a run, before its first request.

    `follows` is the run whose conversation it goes on with, `previous` the last recorded run of the same repository.
    """

    type: ClassVar[str] = "run_started"
    repo: str
    source: Literal["github", "local"]
    ref: str | None
    question: str
    engine: Literal["llm", "survey"]
    model: str
    follows: str | None = None
    previous: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Snapshot(Event):
    """The one state of the code that this run sees."""

    type: ClassVar[str] = "snapshot"
    repo: str
    ref: str
    commit: str | None
    files: int
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class TurnStarted(Event):
    """The model is asked for the next step. `turn` counts from 1."""

    type: ClassVar[str] = "turn_started"
    turn: int
    max_turns: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ReasoningDelta(Event):
    """A piece of the model's reasoning as it streams."""

    type: ClassVar[str] = "reasoning_delta"
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Reasoning(Event):
    """The whole reasoning of a turn."""

    type: ClassVar[str] = "reasoning"
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ReportDelta(Event):
    """A piece of content as it streams; a following `Thought` takes the turn's pieces over to the trace."""

    type: ClassVar[str] = "report_delta"
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Thought(Event):
    """What the model said beside its tool calls."""

    type: ClassVar[str] = "thought"
    turn: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class TurnRestarted(Event):
    """The stream broke: this turn's deltas are void."""

    type: ClassVar[str] = "turn_restarted"
    turn: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ToolStarted(Event):
    """A tool call begins."""

    type: ClassVar[str] = "tool_started"
    turn: int
    call_id: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class AttemptFailed(Event):
    """One network attempt failed; `attempt` counts from 1."""

    type: ClassVar[str] = "attempt_failed"
    call_id: str | None
    name: str
    attempt: int
    reason: str
    status: int | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RetryScheduled(Event):
    """Attempt number `attempt` of `of` will start in `delay` seconds."""

    type: ClassVar[str] = "retry_scheduled"
    call_id: str | None
    name: str
    attempt: int
    of: int
    delay: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RateLimitWait(Event):
    """A call waits `seconds` for a limit that ends at `until` (epoch seconds)."""

    type: ClassVar[str] = "rate_limit_wait"
    call_id: str | None
    name: str
    kind: LimitKind
    seconds: float
    until: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class BreakerChanged(Event):
    """A breaker changed its state; `retry_in` is the seconds until a probe is admitted."""

    type: ClassVar[str] = "breaker_changed"
    name: str
    state: BreakerState
    failures: int
    threshold: int
    retry_in: float | None
    cause: BreakerCause


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Quota(Event):
    """What a reply said of a rate limit; `reset` in epoch seconds."""

    type: ClassVar[str] = "quota"
    resource: str
    limit: int
    remaining: int
    used: int
    reset: int


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ToolFinished(Event):
    """A tool call ended; `result` is the very object given to the model, `elapsed` in seconds."""

    type: ClassVar[str] = "tool_finished"
    turn: int
    call_id: str
    tool: str
    arguments: JsonObject
    outcome: ToolOutcome
    result: JsonObject
    attempts: int
    cache: CacheState
    elapsed: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Usage(Event):
    """The tokens of one turn; `context_tokens` is what the history now holds.

    `cost` is an estimate in `currency`; both are None where the model's price is not known.
    """

    type: ClassVar[str] = "usage"
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    reasoning_tokens: int
    context_tokens: int
    cost: float | None
    currency: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Notice(Event):
    """One sentence for the person who watches."""

    type: ClassVar[str] = "notice"
    level: Level
    text: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Grounding(Event):
    """Claims of the report, checked against what was observed: lists of `{claim, source}`."""

    type: ClassVar[str] = "grounding"
    supported: list[JsonObject] = field(default_factory=list)
    unsupported: list[JsonObject] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class RunFinished(Event):
    """The last event of a run. `requests` counts what was sent to GitHub, `elapsed` is in seconds."""

    type: ClassVar[str] = "run_finished"
    outcome: Outcome
    report: str
    error: str | None
    turns: int
    tool_calls: int
    requests: int
    elapsed: float


EVENT_TYPES: Mapping[str, type[Event]] = {
    cls.type: cls
    for cls in (
        RunStarted,
        Snapshot,
        TurnStarted,
        ReasoningDelta,
        Reasoning,
        ReportDelta,
        Thought,
        TurnRestarted,
        ToolStarted,
        AttemptFailed,
        RetryScheduled,
        RateLimitWait,
        BreakerChanged,
        Quota,
        ToolFinished,
        Usage,
        Notice,
        Grounding,
        RunFinished,
    )
}
_FIELDS = {cls: tuple(f.name for f in dataclasses.fields(cls)) for cls in EVENT_TYPES.values()}


def stamp(event: Event, at: float, run_id: str | None) -> Event:
    """Give an event its place in a run, and hand it back.

    Args:
        event: an event that no one has seen yet, so that it may still be changed; a copy would cost as much as the rest
            of the way from the socket.
        at: seconds since the run began.
        run_id: the run, or None between runs.
    """
    object.__setattr__(event, "at", at)
    object.__setattr__(event, "run_id", run_id)
    return event


def to_json(event: Event) -> JsonObject:
    """The event as a JSON object: `type`, `at`, `run_id`, then its own fields."""
    own = {name: getattr(event, name) for name in _FIELDS[type(event)]}
    return {"type": event.type, **own}


def from_json(data: Mapping[str, Any]) -> Event | None:
    """The event that a JSON object describes; None for a type that this version does not know.

    Fields it does not know are ignored.

    Raises:
        ValueError: where a known type lacks one of its fields.
    """
    cls = EVENT_TYPES.get(data.get("type", ""))
    if cls is None:
        return None
    try:
        return cls(**{name: data[name] for name in _FIELDS[cls] if name in data})
    except TypeError as error:
        raise ValueError(f"not a whole {cls.type} event: {error}") from error

"""The trace as plain lines: one event, one line, nothing redrawn, so that a log and a screen reader can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from tui_agent import events
from tui_agent.events import Event
from tui_agent.redact import Redactor
from tui_agent.safe_json import dumps
from tui_agent.safe_text import one_line

# Terminal cells of a line's free text: enough to follow, short enough to listen to.
LONG = 300
SHORT = 120
# Arguments that say no more than which repository is meant.
_PLACE = ("owner", "repo")
# What a listing tells its entries by.
_KINDS = ("dirs", "files", "symlinks", "submodules")


class Printer:
    """Writes a line for each event that a person would want to know of.

    Args:
        stream: where the lines go; None for nowhere.
        redact: takes secrets out of them.
        lead: what every line begins with.

    Attributes:
        heard: False once nobody reads the stream any more; it is left alone from then on.
    """

    def __init__(self, stream: TextIO | None, redact: Redactor, lead: str = "") -> None:
        self._stream = stream
        self._redact = redact
        self._lead = lead
        self.heard = True
        self._repo = ""
        self._writing = False
        self._calls: dict[str, str] = {}
        self._quota: events.Quota | None = None

    def __call__(self, event: Event) -> None:
        """Write one event, where it has a line."""
        for line in self.lines(event):
            self.say(line)

    def say(self, line: str) -> None:
        """Write one line of one's own; it is made safe and free of secrets here."""
        if self._stream is None or not self.heard:
            return
        try:
            self._stream.write(self._lead + self._redact(one_line(line)) + "\n")
            self._stream.flush()
        except (OSError, ValueError):
            # The trace is for whoever listens; without a listener the run goes on.
            self.heard = False

    def lines(self, event: Event) -> list[str]:
        """The lines of one event; most have one, deltas none."""
        match event:
            case events.RunStarted():
                return self._started(event)
            case events.Snapshot():
                commit = f"commit {one_line(event.commit, SHORT)}" if event.commit else "no commit"
                cut = ", listing cut short by the server" if event.truncated else ""
                return [f"snapshot: {one_line(event.ref, SHORT)}, {commit}, {_many(event.files, 'file')}{cut}"]
            case events.TurnStarted():
                self._writing = False
                if event.turn > event.max_turns:
                    return ["the turns are used up: the report is asked for, without tools"]
                return [f"turn {event.turn} of {event.max_turns}"]
            case events.ReportDelta() if not self._writing:
                self._writing = True
                return [f"turn {event.turn}: the model is writing"]
            case events.Reasoning():
                return _text("reasoning", event.text)
            case events.Thought():
                return _text("thought", event.text)
            case events.TurnRestarted():
                self._writing = False
                return [f"turn {event.turn} starts again: {one_line(event.reason, LONG)}"]
            case events.ToolStarted():
                self._calls[event.call_id] = self._label(event.tool, event.arguments)
                return [f"call: {self._calls[event.call_id]}"]
            case events.ToolFinished():
                return [self._finished_call(event)]
            case events.AttemptFailed():
                status = f"status {event.status}, " if event.status is not None else ""
                reason = one_line(event.reason, LONG)
                return [f"attempt {event.attempt} failed: {self._who(event)}: {status}{reason}"]
            case events.RetryScheduled():
                return [f"attempt {event.attempt} of {event.of} in {event.delay:.1f} s: {self._who(event)}"]
            case events.RateLimitWait():
                return [f"waiting {event.seconds:.0f} s for a {event.kind} rate limit: {self._who(event)}"]
            case events.BreakerChanged():
                return [_breaker(event)]
            case events.Quota():
                self._quota = event
                return []
            case events.Usage():
                return _usage(event)
            case events.Notice():
                word = "note" if event.level == "info" else event.level
                return [f"{word}: {one_line(event.text, 2 * LONG)}"]
            case events.Grounding():
                return _grounding(event)
            case events.RunFinished():
                return self._finished_run(event)
            case _:
                return []

    def _started(self, event: events.RunStarted) -> list[str]:
        self._repo = event.repo.lower()
        place = "GitHub" if event.source == "github" else "this machine"
        ref = f", ref {one_line(event.ref, SHORT)}" if event.ref else ""
        who = "the built-in survey, no LLM" if event.engine == "survey" else one_line(event.model, SHORT)
        first = f"analysing {one_line(event.repo, SHORT)} on {place}{ref}, with {who}"
        return [first, *_text("question", event.question)]

    def _label(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """A call in one line, without the repository that the whole run is about."""
        place = "/".join(str(arguments.get(key, "")) for key in _PLACE).lower()
        shown = [
            f"{one_line(str(key), 40)}={one_line(value if isinstance(value, str) else dumps(value), SHORT)}"
            for key, value in arguments.items()
            if key not in _PLACE or place != self._repo
        ]
        return one_line(" ".join([one_line(tool, SHORT), *shown]), LONG)

    def _who(self, event: events.AttemptFailed | events.RetryScheduled | events.RateLimitWait) -> str:
        """The call that an event belongs to."""
        return self._calls.get(event.call_id or "", one_line(event.name, SHORT))

    def _finished_call(self, event: events.ToolFinished) -> str:
        label = self._calls.pop(event.call_id, None) or self._label(event.tool, event.arguments)
        how = {"hit": ", from the cache", "revalidated": ", cache confirmed", "memory": ", from memory"}.get(
            event.cache, ""
        )
        tries = f", {event.attempts} attempts" if event.attempts > 1 else ""
        says = _result(event.result)
        return f"{event.outcome}: {label}{f': {says}' if says else ''} ({event.elapsed:.1f} s{tries}{how})"

    def _finished_run(self, event: events.RunFinished) -> list[str]:
        lines = []
        if self._quota is not None:
            left = f"{self._quota.remaining:,} of {self._quota.limit:,}"
            lines.append(f"rate limit: {left} requests left ({one_line(self._quota.resource, SHORT)})")
        took = (
            f"{_many(event.turns, 'turn')}, {_many(event.tool_calls, 'tool call')}, "
            f"{_many(event.requests, 'request')} to GitHub, {event.elapsed:.1f} s"
        )
        # Why a run failed is the program's last sentence, not the trace's.
        why = f": {one_line(event.error, LONG)}" if event.error and event.outcome == "partial" else ""
        return [*lines, f"{event.outcome} ({took}){why}"]


class Printers:
    """The lines of several runs that go on side by side, each with its repository before it.

    Args:
        stream: where the lines go; None for nowhere.
        redact: takes secrets out of them.
    """

    def __init__(self, stream: TextIO | None, redact: Redactor) -> None:
        self._stream = stream
        self._redact = redact
        self._runs: dict[str | None, Printer] = {None: Printer(stream, redact)}

    @property
    def heard(self) -> bool:
        """False once nobody reads the stream any more."""
        return all(printer.heard for printer in self._runs.values())

    def __call__(self, event: Event) -> None:
        """Write one event, where it has a line."""
        if isinstance(event, events.RunStarted):
            lead = f"{self._redact(one_line(event.repo, SHORT))} | "
            self._runs[event.run_id] = Printer(self._stream, self._redact, lead)
        self._runs.get(event.run_id, self._runs[None])(event)


def _many(count: int, noun: str) -> str:
    """A number with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _text(name: str, text: str) -> list[str]:
    """A named text, where there is one."""
    return [f"{name}: {shown}"] if (shown := one_line(text, LONG)) else []


def _breaker(event: events.BreakerChanged) -> str:
    name = one_line(event.name, SHORT)
    if event.cause == "user":
        return f"breaker {name} set by hand: {event.state.replace('_', '-')}"
    if event.state == "open":
        wait = f", next try in {event.retry_in:.0f} s" if event.retry_in is not None else ""
        return f"breaker {name} open: {event.failures} of {event.threshold} failures{wait}"
    if event.state == "half_open":
        return f"breaker {name} half-open: one request tries whether the service is back"
    return f"breaker {name} closed: the service is back"


def _usage(event: events.Usage) -> list[str]:
    if not event.prompt_tokens and not event.completion_tokens:
        return []
    cached = f" ({event.cached_tokens:,} cached)" if event.cached_tokens else ""
    thinking = f" ({event.reasoning_tokens:,} reasoning)" if event.reasoning_tokens else ""
    currency = one_line(event.currency or "", 10)
    cost = f", about {event.cost:.4f} {currency}".rstrip() if event.cost is not None else ""
    return [f"tokens: {event.prompt_tokens:,} in{cached}, {event.completion_tokens:,} out{thinking}{cost}"]


def _grounding(event: events.Grounding) -> list[str]:
    lines = [f"claims: {len(event.supported)} supported by what was read, {len(event.unsupported)} not"]
    return lines + [f"not supported: {one_line(str(item.get('claim', '')), LONG)}" for item in event.unsupported]


def _result(result: Mapping[str, Any]) -> str:
    """What an observation holds, in a few words."""
    if result.get("ok") is not True:
        return one_line(str(result.get("error", "")), LONG)
    if result.get("repeated"):
        return "answered before"
    counts = []
    found = "commit" if "commits" in result else "file"
    listed = [len(result[kind]) for kind in _KINDS if isinstance(result.get(kind), Mapping | list)]
    told = {"total_entries": sum(listed), **result} if listed and "total" not in result else result
    for key, noun in (("total_entries", "entry"), ("total", found), ("lines", "line"), ("characters", "character")):
        if isinstance(count := told.get(key), int):
            counts.append(_many(count, noun).replace("entrys", "entries"))
    if not counts and isinstance(commits := result.get("commits"), list):
        counts.append(_many(len(commits), "commit"))
    if result.get("truncated") is True:
        counts.append("cut")
    if not counts:
        counts.append(one_line(str(result.get("description") or result.get("full_name") or ""), SHORT))
    return ", ".join(counts)

"""The trace as plain lines: one event, one line, nothing redrawn, so that a log and a screen reader can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO

from tui_agent import events
from tui_agent.events import Event
from tui_agent.i18n import count, say, told
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
                commit = (
                    say("commit {commit}", commit=one_line(event.commit, SHORT)) if event.commit else say("no commit")
                )
                cut = say(", listing cut short by the server") if event.truncated else ""
                ref, files = one_line(event.ref, SHORT), _files(event.files)
                return [say("snapshot: {ref}, {commit}, {files}{cut}", ref=ref, commit=commit, files=files, cut=cut)]
            case events.TurnStarted():
                self._writing = False
                if event.turn > event.max_turns:
                    return [say("the turns are used up: the report is asked for, without tools")]
                return [say("turn {turn} of {most}", turn=event.turn, most=event.max_turns)]
            case events.ReportDelta() if not self._writing:
                self._writing = True
                return [say("turn {turn}: the model is writing", turn=event.turn)]
            case events.Reasoning():
                return _text(say("reasoning"), event.text)
            case events.Thought():
                return _text(say("thought"), event.text)
            case events.TurnRestarted():
                self._writing = False
                return [say("turn {turn} starts again: {reason}", turn=event.turn, reason=one_line(event.reason, LONG))]
            case events.ToolStarted():
                self._calls[event.call_id] = self._label(event.tool, event.arguments)
                return [say("call: {call}", call=self._calls[event.call_id])]
            case events.ToolFinished():
                return [self._finished_call(event)]
            case events.AttemptFailed():
                status = say("status {status}, ", status=event.status) if event.status is not None else ""
                reason = status + one_line(told(event.reason), LONG)
                return [
                    say(
                        "attempt {attempt} failed: {call}: {reason}",
                        attempt=event.attempt,
                        call=self._who(event),
                        reason=reason,
                    )
                ]
            case events.RetryScheduled():
                return [
                    say(
                        "attempt {attempt} of {of} in {delay:.1f} s: {call}",
                        attempt=event.attempt,
                        of=event.of,
                        delay=event.delay,
                        call=self._who(event),
                    )
                ]
            case events.RateLimitWait():
                call = self._who(event)
                return [
                    say("waiting {seconds:.0f} s for a primary rate limit: {call}", seconds=event.seconds, call=call)
                    if event.kind == "primary"
                    else say(
                        "waiting {seconds:.0f} s for a secondary rate limit: {call}", seconds=event.seconds, call=call
                    )
                ]
            case events.BreakerChanged():
                return [_breaker(event)]
            case events.Quota():
                self._quota = event
                return []
            case events.Usage():
                return _usage(event)
            case events.Notice():
                word = say("note") if event.level == "info" else say(event.level)
                return [f"{word}: {one_line(told(event.text), 2 * LONG)}"]
            case events.Grounding():
                return _grounding(event)
            case events.RunFinished():
                return self._finished_run(event)
            case _:
                return []

    def _started(self, event: events.RunStarted) -> list[str]:
        self._repo = event.repo.lower()
        place = "GitHub" if event.source == "github" else say("this machine")
        ref = say(", ref {ref}", ref=one_line(event.ref, SHORT)) if event.ref else ""
        who = say("the built-in survey, no LLM") if event.engine == "survey" else one_line(event.model, SHORT)
        first = say(
            "analysing {repo} on {place}{ref}, with {who}",
            repo=one_line(event.repo, SHORT),
            place=place,
            ref=ref,
            who=who,
        )
        return [first, *_text(say("question"), event.question)]

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
        how = {
            "hit": say(", from the cache"),
            "revalidated": say(", cache confirmed"),
            "memory": say(", from memory"),
        }.get(event.cache, "")
        tries = ""
        if event.attempts > 1:
            tries = ", " + count("{number} attempt", "{number} attempts", event.attempts)
        says = _result(event.result)
        return f"{say(event.outcome)}: {label}{f': {says}' if says else ''} ({event.elapsed:.1f} s{tries}{how})"

    def _finished_run(self, event: events.RunFinished) -> list[str]:
        lines = []
        if self._quota is not None:
            left = say("{place} of {hits}", place=f"{self._quota.remaining:,}", hits=f"{self._quota.limit:,}")
            resource = one_line(self._quota.resource, SHORT)
            lines.append(say("rate limit: {left} requests left ({resource})", left=left, resource=resource))
        took = ", ".join(
            (
                count("{number:,} turn", "{number:,} turns", event.turns),
                count("{number:,} tool call", "{number:,} tool calls", event.tool_calls),
                count("{number:,} request to GitHub", "{number:,} requests to GitHub", event.requests),
                f"{event.elapsed:.1f} s",
            )
        )
        # Why a run failed is the program's last sentence, not the trace's.
        why = f": {one_line(told(event.error), LONG)}" if event.error and event.outcome == "partial" else ""
        return [*lines, f"{say(event.outcome)} ({took}){why}"]


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


def _text(name: str, text: str) -> list[str]:
    """A named text, where there is one."""
    return [f"{name}: {shown}"] if (shown := one_line(text, LONG)) else []


def _breaker(event: events.BreakerChanged) -> str:
    name = one_line(event.name, SHORT)
    if event.cause == "user":
        if event.state == "open":
            return say("breaker {name} set by hand: open", name=name)
        return say("breaker {name} set by hand: closed", name=name)
    if event.state == "open":
        wait = "" if event.retry_in is None else say(", next try in {seconds:.0f} s", seconds=event.retry_in)
        return say(
            "breaker {name} open: {failures} of {threshold} failures{wait}",
            name=name,
            failures=event.failures,
            threshold=event.threshold,
            wait=wait,
        )
    if event.state == "half_open":
        return say("breaker {name} half-open: one request tries whether the service is back", name=name)
    return say("breaker {name} closed: the service is back", name=name)


def _usage(event: events.Usage) -> list[str]:
    if not event.prompt_tokens and not event.completion_tokens:
        return []
    cached = say(" ({number:,} cached)", number=event.cached_tokens) if event.cached_tokens else ""
    thinking = say(" ({number:,} reasoning)", number=event.reasoning_tokens) if event.reasoning_tokens else ""
    currency = one_line(event.currency or "", 10)
    cost = ""
    if event.cost is not None:
        cost = say(", about {cost:.4f} {currency}", cost=event.cost, currency=currency).rstrip()
    return [
        say(
            "tokens: {sent:,} in{cached}, {received:,} out{thinking}{cost}",
            sent=event.prompt_tokens,
            cached=cached,
            received=event.completion_tokens,
            thinking=thinking,
            cost=cost,
        )
    ]


def _grounding(event: events.Grounding) -> list[str]:
    good, bad = len(event.supported), len(event.unsupported)
    return [
        say("claims: {good} supported by what was read, {bad} not", good=good, bad=bad),
        *(
            say("not supported: {claim}", claim=one_line(str(item.get("claim", "")), LONG))
            for item in event.unsupported
        ),
    ]


def _commits(number: int) -> str:
    return count("{number:,} commit", "{number:,} commits", number)


def _files(number: int) -> str:
    return count("{number:,} file", "{number:,} files", number)


def _entries(number: int) -> str:
    return count("{number:,} entry", "{number:,} entries", number)


def _lines(number: int) -> str:
    return count("{number:,} line", "{number:,} lines", number)


def _characters(number: int) -> str:
    return count("{number:,} character", "{number:,} characters", number)


def _result(result: Mapping[str, Any]) -> str:
    """What an observation holds, in a few words."""
    if result.get("ok") is not True:
        return one_line(str(result.get("error", "")), LONG)
    if result.get("repeated"):
        return say("answered before")
    counts = []
    found = _commits if "commits" in result else _files
    listed = [len(result[kind]) for kind in _KINDS if isinstance(result.get(kind), Mapping | list)]
    known = {"total_entries": sum(listed), **result} if listed and "total" not in result else result
    for key, counted in (("total_entries", _entries), ("total", found), ("lines", _lines), ("characters", _characters)):
        if isinstance(number := known.get(key), int):
            counts.append(counted(number))
    if not counts and isinstance(commits := result.get("commits"), list):
        counts.append(_commits(len(commits)))
    if result.get("truncated") is True:
        counts.append(say("cut"))
    if not counts:
        counts.append(one_line(str(result.get("description") or result.get("full_name") or ""), SHORT))
    return ", ".join(counts)

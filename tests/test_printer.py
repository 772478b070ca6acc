"""The printer and JSON lines: what a run looks like where no dashboard is."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest

from tui_agent import events as ev
from tui_agent.events import EVENT_TYPES, Event, from_json
from tui_agent.frontends.json_lines import JsonLines
from tui_agent.frontends.printer import Printer
from tui_agent.redact import Redactor

NO_SECRETS = Redactor([])
STARTED = ev.RunStarted(
    repo="pallets/flask", source="github", ref=None, question="What?", engine="llm", model="deepseek-flash"
)


def printed(*events: Event, redact: Redactor = NO_SECRETS) -> list[str]:
    """The lines that events give."""
    stream = io.StringIO()
    printer = Printer(stream, redact)
    for event in events:
        printer(event)
    return stream.getvalue().splitlines()


def call(call_id: str = "c1", tool: str = "read_file", **arguments: Any) -> ev.ToolStarted:
    return ev.ToolStarted(
        turn=1, call_id=call_id, tool=tool, arguments={"owner": "pallets", "repo": "flask", **arguments}
    )


def answer(started: ev.ToolStarted, result: dict[str, Any], **changes: Any) -> ev.ToolFinished:
    fields: dict[str, Any] = {"outcome": "ok", "attempts": 1, "cache": "miss", "elapsed": 0.25} | changes
    return ev.ToolFinished(
        turn=1, call_id=started.call_id, tool=started.tool, arguments=started.arguments, result=result, **fields
    )


def finished(**changes: Any) -> ev.RunFinished:
    fields: dict[str, Any] = {
        "outcome": "completed",
        "report": "# R",
        "error": None,
        "turns": 3,
        "tool_calls": 1,
        "requests": 0,
        "elapsed": 2.5,
    }
    return ev.RunFinished(**(fields | changes))


# One of each type, as nasty as it may come.
NASTY = "a\x1b[2J\r\nb\u202e\u200b" + "x" * 5000
EVERY = {
    "run_started": ev.RunStarted(repo=NASTY, source="local", ref=NASTY, question=NASTY, engine="survey", model=NASTY),
    "snapshot": ev.Snapshot(repo=NASTY, ref=NASTY, commit=None, files=1, truncated=True),
    "turn_started": ev.TurnStarted(turn=1, max_turns=15),
    "reasoning_delta": ev.ReasoningDelta(turn=1, text=NASTY),
    "reasoning": ev.Reasoning(turn=1, text=NASTY),
    "report_delta": ev.ReportDelta(turn=1, text=NASTY),
    "thought": ev.Thought(turn=1, text=NASTY),
    "turn_restarted": ev.TurnRestarted(turn=1, reason=NASTY),
    "tool_started": ev.ToolStarted(turn=1, call_id="1", tool=NASTY, arguments={NASTY: [NASTY], "n": 1}),
    "attempt_failed": ev.AttemptFailed(call_id="1", name=NASTY, attempt=1, reason=NASTY, status=503),
    "retry_scheduled": ev.RetryScheduled(call_id="?", name=NASTY, attempt=2, of=4, delay=0.5),
    "rate_limit_wait": ev.RateLimitWait(call_id=None, name=NASTY, kind="primary", seconds=9.5, until=1.0),
    "breaker_changed": ev.BreakerChanged(
        name=NASTY, state="open", failures=5, threshold=5, retry_in=None, cause="failures"
    ),
    "quota": ev.Quota(resource=NASTY, limit=60, remaining=1, used=59, reset=1),
    "tool_finished": ev.ToolFinished(
        turn=1,
        call_id="1",
        tool=NASTY,
        arguments={},
        outcome="error",
        result={"ok": False, "error": NASTY},
        attempts=1,
        cache="miss",
        elapsed=1.0,
    ),
    "usage": ev.Usage(
        prompt_tokens=1, completion_tokens=2, cached_tokens=0, reasoning_tokens=0, context_tokens=3, cost=None
    ),
    "notice": ev.Notice(level="warning", text=NASTY),
    "grounding": ev.Grounding(supported=[], unsupported=[{"claim": NASTY, "source": None}]),
    "run_finished": finished(outcome="partial", error=NASTY, report=NASTY),
}


def test_every_type_of_event_is_tried() -> None:
    assert set(EVERY) == set(EVENT_TYPES)


# --- the trace as lines ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", list(EVERY))
def test_a_line_is_one_line_of_sensible_length_and_safe_on_a_terminal(kind: str) -> None:
    for line in printed(EVERY[kind]):
        assert line.isprintable()
        assert "\x1b" not in line and "\u202e" not in line
        assert len(line) < 1000


def test_a_run_reads_like_a_story() -> None:
    read = call(path="README.md")
    lines = printed(
        STARTED,
        ev.Snapshot(repo="pallets/flask", ref="main", commit="a" * 40, files=221, truncated=False),
        ev.TurnStarted(turn=1, max_turns=15),
        ev.ReasoningDelta(turn=1, text="I "),
        ev.Reasoning(turn=1, text="I should\n\nread."),
        ev.Thought(turn=1, text="Reading the README."),
        read,
        ev.AttemptFailed(call_id="c1", name="read_file", attempt=1, reason="Bad Gateway", status=502),
        ev.RetryScheduled(call_id="c1", name="read_file", attempt=2, of=4, delay=0.61),
        answer(read, {"ok": True, "lines": 80, "characters": 2400, "truncated": False}, attempts=2, elapsed=1.04),
        ev.TurnStarted(turn=2, max_turns=15),
        ev.ReportDelta(turn=2, text="# Fl"),
        ev.ReportDelta(turn=2, text="ask"),
        ev.Quota(resource="core", limit=5000, remaining=4812, used=188, reset=1),
        finished(requests=12),
    )
    assert lines == [
        "analysing pallets/flask on GitHub, with deepseek-flash",
        "question: What?",
        f"snapshot: main, commit {'a' * 40}, 221 files",
        "turn 1 of 15",
        "reasoning: I should read.",
        "thought: Reading the README.",
        "call: read_file path=README.md",
        "attempt 1 failed: read_file path=README.md: status 502, Bad Gateway",
        "attempt 2 of 4 in 0.6 s: read_file path=README.md",
        "ok: read_file path=README.md: 80 lines, 2,400 characters (1.0 s, 2 attempts)",
        "turn 2 of 15",
        "turn 2: the model is writing",
        "rate limit: 4,812 of 5,000 requests left (core)",
        "completed (3 turns, 1 tool call, 12 requests to GitHub, 2.5 s)",
    ]


def test_nothing_is_redrawn_and_no_colour_is_used() -> None:
    stream = io.StringIO()
    printer = Printer(stream, NO_SECRETS)
    for event in EVERY.values():
        printer(event)
    text = stream.getvalue()
    assert "\r" not in text and "\x1b" not in text and "\b" not in text


def test_parallel_calls_can_be_told_apart() -> None:
    one, two = call("1", path="a.py"), call("2", path="b.py", start_line=3)
    lines = printed(STARTED, one, two, answer(two, {"ok": True}), answer(one, {"ok": True}))[2:]
    assert lines == [
        "call: read_file path=a.py",
        "call: read_file path=b.py start_line=3",
        "ok: read_file path=b.py start_line=3 (0.2 s)",
        "ok: read_file path=a.py (0.2 s)",
    ]


def test_a_call_about_another_repository_names_it() -> None:
    other = ev.ToolStarted(turn=1, call_id="1", tool="get_repo_info", arguments={"owner": "evil", "repo": "x"})
    assert printed(STARTED, other)[-1] == "call: get_repo_info owner=evil repo=x"


@pytest.mark.parametrize(
    ("result", "changes", "line"),
    [
        ({"ok": False, "error": "There is no x."}, {"outcome": "error"}, "error: t: There is no x. (0.2 s)"),
        ({"ok": False, "error": "Gone.", "fallback": True}, {"outcome": "fallback"}, "fallback: t: Gone. (0.2 s)"),
        ({"ok": True, "dirs": {"a": 3}}, {"cache": "hit"}, "ok: t: 1 entry (0.2 s, from the cache)"),
        ({"ok": True, "dirs": {"a": 3}, "files": {"b": 1}, "symlinks": ["c"]}, {}, "ok: t: 3 entries (0.2 s)"),
        ({"ok": True, "total_entries": 900, "files": {"b": 1}}, {}, "ok: t: 900 entries (0.2 s)"),
        ({"ok": True, "total": 7, "files": {}}, {"cache": "memory"}, "ok: t: 7 files (0.2 s, from memory)"),
        ({"ok": True, "commits": [[]], "total": 1}, {}, "ok: t: 1 commit (0.2 s)"),
        ({"ok": True, "commits": [[], []]}, {"cache": "revalidated"}, "ok: t: 2 commits (0.2 s, cache confirmed)"),
        ({"ok": True, "repeated": "Before."}, {"cache": "memory"}, "ok: t: answered before (0.2 s, from memory)"),
        ({"ok": True, "full_name": "a/b", "description": "A lib."}, {}, "ok: t: A lib. (0.2 s)"),
        (
            {"ok": True, "lines": 9, "characters": 9000, "truncated": True},
            {},
            "ok: t: 9 lines, 9,000 characters, cut (0.2 s)",
        ),
        ({}, {}, "ok: t (0.2 s)"),
    ],
)
def test_an_observation_is_said_in_a_few_words(result: dict[str, Any], changes: dict[str, Any], line: str) -> None:
    started = ev.ToolStarted(turn=1, call_id="1", tool="t", arguments={})
    assert printed(answer(started, result, **changes)) == [line]


def breaker(state: ev.BreakerState, cause: ev.BreakerCause, retry_in: float | None = None) -> ev.BreakerChanged:
    return ev.BreakerChanged(name="llm", state=state, failures=5, threshold=5, retry_in=retry_in, cause=cause)


def test_a_breaker_is_said_by_word() -> None:
    assert printed(
        breaker("open", "failures", 30.0),
        breaker("half_open", "probe"),
        breaker("closed", "probe"),
        breaker("open", "user"),
    ) == [
        "breaker llm open: 5 of 5 failures, next try in 30 s",
        "breaker llm half-open: one request tries whether the service is back",
        "breaker llm closed: the service is back",
        "breaker llm set by hand: open",
    ]


def test_waiting_for_a_limit_says_how_long() -> None:
    wait = ev.RateLimitWait(call_id=None, name="snapshot", kind="secondary", seconds=60.4, until=1.0)
    assert printed(wait) == ["waiting 60 s for a secondary rate limit: snapshot"]


def test_tokens_are_said_where_there_were_any() -> None:
    usage = ev.Usage(
        prompt_tokens=12_300,
        completion_tokens=500,
        cached_tokens=8000,
        reasoning_tokens=300,
        context_tokens=12_800,
        cost=0.0123,
        currency="CNY",
    )
    assert printed(usage) == ["tokens: 12,300 in (8,000 cached), 500 out (300 reasoning), about 0.0123 CNY"]
    none = ev.Usage(
        prompt_tokens=0, completion_tokens=0, cached_tokens=0, reasoning_tokens=0, context_tokens=0, cost=None
    )
    assert printed(none) == []


def test_claims_without_a_source_are_named() -> None:
    claims = ev.Grounding(supported=[{"claim": "a"}, {"claim": "b"}], unsupported=[{"claim": "c is d", "source": "x"}])
    assert printed(claims) == ["claims: 2 supported by what was read, 1 not", "not supported: c is d"]


def test_a_partial_run_says_why_and_a_failed_one_leaves_that_to_the_last_sentence() -> None:
    assert printed(finished(outcome="partial", error="Turns ran out."))[-1].endswith(": Turns ran out.")
    assert "gone" not in printed(finished(outcome="failed", error="gone"))[-1]


def test_the_trace_holds_no_secret() -> None:
    lines = printed(
        ev.Notice(level="error", text="bad key sk-hunter2-long"),
        call(path="sk-hunter2-long"),
        redact=Redactor(["sk-hunter2-long"]),
    )
    assert "hunter2" not in "".join(lines)


class Gone(io.StringIO):
    """A stream whose reader has gone."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_a_trace_that_nobody_reads_stops_without_a_word() -> None:
    printer = Printer(Gone(), NO_SECRETS)
    printer(STARTED)
    assert not printer.heard
    printer(STARTED)
    Printer(None, NO_SECRETS)(STARTED)


# --- JSON lines ------------------------------------------------------------------------------------------------------


def as_lines(*events: Event, redact: Redactor = NO_SECRETS) -> str:
    stream = io.StringIO()
    lines = JsonLines(stream, redact, lambda: None)
    for event in events:
        lines(event)
    return stream.getvalue()


@pytest.mark.parametrize("kind", list(EVERY))
def test_each_event_is_one_line_that_gives_the_event_back(kind: str) -> None:
    text = as_lines(EVERY[kind])
    assert text.count("\n") == 1 and text.endswith("\n")
    data = json.loads(text)
    assert next(iter(data)) == "type" and data["type"] == kind
    assert {"at", "run_id"} <= set(data)
    assert from_json(data) == EVERY[kind]


def test_lines_are_plain_utf8_without_control_characters() -> None:
    text = as_lines(ev.Notice(level="info", text="火腿 \x1b[0m \x9b \u2028 \udcff"))
    assert "火腿" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\ud800-\udfff]", text)
    assert json.loads(text.encode())["text"] == "火腿 \x1b[0m \x9b \u2028 \ufffd"


def test_numbers_that_json_does_not_know_are_null() -> None:
    event = ev.RateLimitWait(call_id=None, name="llm", kind="primary", seconds=float("inf"), until=float("nan"))
    data = json.loads(as_lines(event), parse_constant=lambda name: pytest.fail(name))
    assert (data["seconds"], data["until"]) == (None, None)


def test_lines_hold_no_secret() -> None:
    assert "hunter2" not in as_lines(ev.Notice(level="info", text="sk-hunter2"), redact=Redactor(["sk-hunter2"]))


def test_each_line_is_flushed_as_it_happens() -> None:
    class Counting(io.StringIO):
        flushed = 0

        def flush(self) -> None:
            self.flushed += 1

    stream = Counting()
    lines = JsonLines(stream, NO_SECRETS, lambda: None)
    lines(STARTED)
    lines(STARTED)
    assert stream.flushed == 2


def test_a_reader_that_goes_away_is_noticed_once() -> None:
    noticed: list[str] = []
    lines = JsonLines(Gone(), NO_SECRETS, lambda: noticed.append("closed"))
    lines(STARTED)
    lines(STARTED)
    assert noticed == ["closed"]
    assert isinstance(lines.trouble, BrokenPipeError)

"""What each event is, told with its own numbers: for whoever learns how an agent works by watching one.

One function an event type, in the order of `events.py`; what the text quotes is as it came, so that whoever shows it
makes it safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tui_agent import events as ev
from tui_agent.safe_json import dumps

QUOTED = 80
"""Characters of a text from outside that an explanation quotes."""


class Explanation(NamedTuple):
    """A title of a few words, and two or three sentences."""

    title: str
    text: str


def explain(event: ev.Event) -> Explanation:
    """What an event is and what it means here."""
    return EXPLANATIONS[type(event)](event)


def _run_started(event: ev.RunStarted) -> Explanation:
    who = "the built-in rules (no key is set)" if event.engine == "survey" else event.model
    return Explanation(
        "The run starts",
        f"The question about {event.repo} goes to {who}. From here on two things alternate: the model says what it "
        "wants to know, the program looks it up and hands back what it saw.",
    )


def _snapshot(event: ev.Snapshot) -> Explanation:
    what = f"commit {event.commit[:7]}" if event.commit else "the files as they are (there is no commit)"
    cut = " The service cut the list short: folders are walked when asked for." if event.truncated else ""
    return Explanation(
        "Snapshot",
        f"{event.ref} was resolved once, to {what}, and the whole tree came in one request: {event.files:,} files. "
        f"Everything in this run is read from that one state; listing folders costs nothing more.{cut}",
    )


def _turn_started(event: ev.TurnStarted) -> Explanation:
    return Explanation(
        f"Turn {event.turn} of {event.max_turns}",
        "The model gets everything so far (question, its own words, every observation) and is asked for the next "
        f"step: call tools, or write the report. After turn {event.max_turns} it is written from what is known.",
    )


def _reasoning_delta(event: ev.ReasoningDelta) -> Explanation:
    return Explanation(
        "Reasoning, a piece",
        f"{len(event.text):,} characters of the model's thinking arrive while it is still at it: the answer streams, "
        "so that one can watch instead of waiting.",
    )


def _reasoning(event: ev.Reasoning) -> Explanation:
    return Explanation(
        "Reasoning",
        f"What the model thought in turn {event.turn}, whole: {len(event.text):,} characters. It plans here; "
        "nothing has been looked up by it.",
    )


def _report_delta(event: ev.ReportDelta) -> Explanation:
    return Explanation(
        "Text, a piece",
        f"{len(event.text):,} characters of the answer. If tool calls follow in this turn it was a thought; "
        "if none do, this is the report.",
    )


def _thought(event: ev.Thought) -> Explanation:
    return Explanation(
        "Thought",
        "What the model says beside its tool calls: why it does what it does next. A thought changes nothing; "
        "the action that follows does.",
    )


def _turn_restarted(event: ev.TurnRestarted) -> Explanation:
    return Explanation(
        "Turn restarted",
        f"The model's answer broke off ({_quote(event.reason)}). What had streamed of turn {event.turn} is void, "
        "and the same turn is asked for again: half an answer is never acted on.",
    )


def _tool_started(event: ev.ToolStarted) -> Explanation:
    return Explanation(
        f"Action: {event.tool}",
        f"The model calls a tool, with {_quote(dumps(event.arguments))}. The program checks the arguments and does it; "
        "calls of one turn run side by side.",
    )


def _attempt_failed(event: ev.AttemptFailed) -> Explanation:
    return Explanation(
        f"Attempt {event.attempt} failed",
        f"A request of {event.name} failed: {_quote(event.reason)}. That is trouble of the service, not of the "
        "question: it counts towards the breaker of that name, and is tried again where retries are left.",
    )


def _retry_scheduled(event: ev.RetryScheduled) -> Explanation:
    return Explanation(
        f"Retry with backoff, in {event.delay:.1f} s",
        f"Attempt {event.attempt} of {event.of} of {event.name} waits {event.delay:.1f} s. Each wait is twice the one "
        "before, up to a bound, and a random part is added, so that many callers do not come back in one moment.",
    )


def _rate_limit_wait(event: ev.RateLimitWait) -> Explanation:
    kind = "the hour's requests are spent" if event.kind == "primary" else "it asks to go slower for a while"
    return Explanation(
        f"Waiting {event.seconds:.0f} s for the rate limit",
        f"The service answers {event.name} no more for now: {kind}. That is no failure: it spends no retry and counts "
        "for no breaker. All calls wait at the same gate.",
    )


def _breaker_changed(event: ev.BreakerChanged) -> Explanation:
    name, hand = event.name, event.cause == "user"
    if event.state == "half_open":
        return Explanation(
            f"Half-open: {name}",
            "The pause is over, and one request is let through as a probe; every other call falls back meanwhile. "
            "If it succeeds the breaker closes, else it opens for another pause.",
        )
    if event.state == "closed":
        why = "It was reset by hand" if hand else "The probe succeeded"
        return Explanation(f"Breaker closed: {name}", f"{why}: requests go out as usual, and failures count from 0.")
    if hand:
        return Explanation(
            f"Breaker held open: {name}",
            "By hand: every call falls back at once, without a request, until it is let go.",
        )
    why = "The probe failed" if event.cause == "probe" else f"{event.failures} failures in a row, of {event.threshold}"
    pause = "" if event.retry_in is None else f" for {event.retry_in:.0f} s; then one probe is let through"
    return Explanation(
        f"Breaker opened: {name}",
        f"{why}. A service that is down is left alone: calls fall back at once, without a request{pause}.",
    )


def _quota(event: ev.Quota) -> Explanation:
    return Explanation(
        f"Rate limit: {event.remaining:,} left",
        f"The reply told how the limit “{event.resource}” stands: {event.used:,} of {event.limit:,} requests used. "
        "Nothing is sent while it is known that none is left.",
    )


def _tool_finished(event: ev.ToolFinished) -> Explanation:
    sent = {
        "memory": "answered from this run's memory, nothing was sent",
        "hit": "answered from the cache, nothing was sent",
        "revalidated": "the service said that the cached reply still holds",
        "miss": "1 request" if event.attempts == 1 else f"{event.attempts} requests",
    }[event.cache]
    if event.outcome == "ok":
        what = "The model sees exactly this, and decides on it in the next turn."
    elif event.outcome == "error":
        what = (
            "The request itself was wrong; the model is told why and can do better. It is never tried again as it is."
        )
    else:
        what = "The service could not be had, so the model is told just that, and goes on without: a fallback."
    title = "Fallback" if event.outcome == "fallback" else "Observation"
    return Explanation(f"{title}: {event.tool}", f"{event.elapsed:.2f} s, {sent}. {what}")


def _usage(event: ev.Usage) -> Explanation:
    cached = f", {event.cached_tokens:,} of them cheaper, from the provider's cache" if event.cached_tokens else ""
    cost = f" About {event.cost:.4f} {event.currency or ''}".rstrip() + "." if event.cost is not None else ""
    return Explanation(
        "Tokens of this turn",
        f"{event.prompt_tokens:,} in{cached}; {event.completion_tokens:,} out. The history now holds "
        f"{event.context_tokens:,}: it is sent again in each turn and only grows at its end.{cost}",
    )


def _notice(event: ev.Notice) -> Explanation:
    return Explanation("A word to you", "Said to the person who watches; the model is not told.")


def _grounding(event: ev.Grounding) -> Explanation:
    found, missing = len(event.supported), len(event.unsupported)
    return Explanation(
        f"Evidence: {found} of {found + missing} claims",
        f"Paths, versions, numbers and names of the report were looked for in what this run observed: {found} were "
        f"found, {missing} were not. What was not found need not be wrong, but nothing here shows it.",
    )


def _run_finished(event: ev.RunFinished) -> Explanation:
    how = {
        "completed": "The model had no more questions and wrote the report.",
        "partial": "A report was written, from less than was wanted.",
        "failed": "No report could be made.",
        "cancelled": "It was stopped by hand; what had been seen stays.",
    }[event.outcome]
    return Explanation(
        f"The run ends: {event.outcome}",
        f"{how} {event.turns} turns, {event.tool_calls} tool calls, {event.requests} requests, {event.elapsed:.1f} s.",
    )


def _quote(text: str) -> str:
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 1]}…"


EXPLANATIONS: Mapping[type[ev.Event], Callable[[Any], Explanation]] = {
    ev.RunStarted: _run_started,
    ev.Snapshot: _snapshot,
    ev.TurnStarted: _turn_started,
    ev.ReasoningDelta: _reasoning_delta,
    ev.Reasoning: _reasoning,
    ev.ReportDelta: _report_delta,
    ev.Thought: _thought,
    ev.TurnRestarted: _turn_restarted,
    ev.ToolStarted: _tool_started,
    ev.AttemptFailed: _attempt_failed,
    ev.RetryScheduled: _retry_scheduled,
    ev.RateLimitWait: _rate_limit_wait,
    ev.BreakerChanged: _breaker_changed,
    ev.Quota: _quota,
    ev.ToolFinished: _tool_finished,
    ev.Usage: _usage,
    ev.Notice: _notice,
    ev.Grounding: _grounding,
    ev.RunFinished: _run_finished,
}

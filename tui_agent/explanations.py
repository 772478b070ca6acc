"""What each event is, told with its own numbers: for whoever learns how an agent works by watching one.

One function an event type, in the order of `events.py`; what the text quotes is as it came, so that whoever shows it
makes it safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tui_agent import events as ev
from tui_agent.i18n import count, say
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
    who = say("the built-in rules (no key is set)") if event.engine == "survey" else event.model
    return Explanation(
        say("The run starts"),
        say(
            "The question about {repo} goes to {who}. From here on two things alternate: the model says what "
            "it wants to know, the program looks it up and hands back what it saw.",
            repo=event.repo,
            who=who,
        ),
    )


def _snapshot(event: ev.Snapshot) -> Explanation:
    what = (
        say("commit {commit}", commit=event.commit[:7])
        if event.commit
        else say("the files as they are (there is no commit)")
    )
    cut = say(" The service cut the list short: folders are walked when asked for.") if event.truncated else ""
    return Explanation(
        say("Snapshot"),
        say(
            "{ref} was resolved once, to {what}, and the whole tree came in one request: {files:,} files. "
            "Everything in this run is read from that one state; listing folders costs nothing more.{cut}",
            ref=event.ref,
            what=what,
            files=event.files,
            cut=cut,
        ),
    )


def _turn_started(event: ev.TurnStarted) -> Explanation:
    return Explanation(
        say("Turn {turn} of {max_turns}", turn=event.turn, max_turns=event.max_turns),
        say(
            "The model gets everything so far (question, its own words, every observation) and is asked for "
            "the next step: call tools, or write the report. After turn {max_turns} it is written from what "
            "is known.",
            max_turns=event.max_turns,
        ),
    )


def _reasoning_delta(event: ev.ReasoningDelta) -> Explanation:
    return Explanation(
        say("Reasoning, a piece"),
        say(
            "{number:,} characters of the model's thinking arrive while it is still at it: the answer streams, "
            "so that one can watch instead of waiting.",
            number=len(event.text),
        ),
    )


def _reasoning(event: ev.Reasoning) -> Explanation:
    return Explanation(
        say("Reasoning"),
        say(
            "What the model thought in turn {turn}, whole: {number:,} characters. It plans here; nothing has "
            "been looked up by it.",
            turn=event.turn,
            number=len(event.text),
        ),
    )


def _report_delta(event: ev.ReportDelta) -> Explanation:
    return Explanation(
        say("Text, a piece"),
        say(
            "{number:,} characters of the answer. If tool calls follow in this turn it was a thought; if none "
            "do, this is the report.",
            number=len(event.text),
        ),
    )


def _thought(event: ev.Thought) -> Explanation:
    return Explanation(
        say("Thought"),
        say(
            "What the model says beside its tool calls: why it does what it does next. A thought changes nothing; "
            "the action that follows does."
        ),
    )


def _turn_restarted(event: ev.TurnRestarted) -> Explanation:
    return Explanation(
        say("Turn restarted"),
        say(
            "The model's answer broke off ({reason}). What had streamed of turn {turn} is void, and the same "
            "turn is asked for again: half an answer is never acted on.",
            reason=_quote(event.reason),
            turn=event.turn,
        ),
    )


def _tool_started(event: ev.ToolStarted) -> Explanation:
    return Explanation(
        say("Action: {tool}", tool=event.tool),
        say(
            "The model calls a tool, with {arguments}. The program checks the arguments and does it; calls of "
            "one turn run side by side.",
            arguments=_quote(dumps(event.arguments)),
        ),
    )


def _attempt_failed(event: ev.AttemptFailed) -> Explanation:
    return Explanation(
        say("Attempt {attempt} failed", attempt=event.attempt),
        say(
            "A request of {name} failed: {reason}. That is trouble of the service, not of the question: it "
            "counts towards the breaker of that name, and is tried again where retries are left.",
            name=event.name,
            reason=_quote(event.reason),
        ),
    )


def _retry_scheduled(event: ev.RetryScheduled) -> Explanation:
    return Explanation(
        say("Retry with backoff, in {delay:.1f} s", delay=event.delay),
        say(
            "Attempt {attempt} of {of} of {name} waits {delay:.1f} s. Each wait is twice the one before, up "
            "to a bound, and a random part is added, so that many callers do not come back in one moment.",
            attempt=event.attempt,
            of=event.of,
            name=event.name,
            delay=event.delay,
        ),
    )


def _rate_limit_wait(event: ev.RateLimitWait) -> Explanation:
    kind = say("the hour's requests are spent") if event.kind == "primary" else say("it asks to go slower for a while")
    return Explanation(
        say("Waiting {seconds:.0f} s for the rate limit", seconds=event.seconds),
        say(
            "The service answers {name} no more for now: {kind}. That is no failure: it spends no retry and "
            "counts for no breaker. All calls wait at the same gate.",
            name=event.name,
            kind=kind,
        ),
    )


def _breaker_changed(event: ev.BreakerChanged) -> Explanation:
    name, hand = event.name, event.cause == "user"
    if event.state == "half_open":
        return Explanation(
            say("Half-open: {name}", name=name),
            say(
                "The pause is over, and one request is let through as a probe; every other call falls back meanwhile. "
                "If it succeeds the breaker closes, else it opens for another pause."
            ),
        )
    if event.state == "closed":
        why = say("It was reset by hand") if hand else say("The probe succeeded")
        return Explanation(
            say("Breaker closed: {name}", name=name),
            say("{why}: requests go out as usual, and failures count from 0.", why=why),
        )
    if hand:
        return Explanation(
            say("Breaker held open: {name}", name=name),
            say("By hand: every call falls back at once, without a request, until it is let go."),
        )
    why = (
        say("The probe failed")
        if event.cause == "probe"
        else say("{failures} failures in a row, of {threshold}", failures=event.failures, threshold=event.threshold)
    )
    pause = (
        ""
        if event.retry_in is None
        else say(" for {seconds:.0f} s; then one probe is let through", seconds=event.retry_in)
    )
    return Explanation(
        say("Breaker opened: {name}", name=name),
        say(
            "{why}. A service that is down is left alone: calls fall back at once, without a request{pause}.",
            why=why,
            pause=pause,
        ),
    )


def _quota(event: ev.Quota) -> Explanation:
    return Explanation(
        say("Rate limit: {remaining:,} left", remaining=event.remaining),
        say(
            "The reply told how the limit “{resource}” stands: {used:,} of {limit:,} requests used. Nothing "
            "is sent while it is known that none is left.",
            resource=event.resource,
            used=event.used,
            limit=event.limit,
        ),
    )


def _tool_finished(event: ev.ToolFinished) -> Explanation:
    sent = {
        "memory": say("answered from this run's memory, nothing was sent"),
        "hit": say("answered from the cache, nothing was sent"),
        "revalidated": say("the service said that the cached reply still holds"),
        "miss": count("{number} request", "{number} requests", event.attempts),
    }[event.cache]
    if event.outcome == "ok":
        what = say("The model sees exactly this, and decides on it in the next turn.")
    elif event.outcome == "error":
        what = say(
            "The request itself was wrong; the model is told why and can do better. It is never tried again as it is."
        )
    else:
        what = say("The service could not be had, so the model is told just that, and goes on without: a fallback.")
    title = say("Fallback") if event.outcome == "fallback" else say("Observation")
    return Explanation(
        f"{title}: {event.tool}", say("{elapsed:.2f} s, {sent}. {what}", elapsed=event.elapsed, sent=sent, what=what)
    )


def _usage(event: ev.Usage) -> Explanation:
    cached = (
        say(", {cached_tokens:,} of them cheaper, from the provider's cache", cached_tokens=event.cached_tokens)
        if event.cached_tokens
        else ""
    )
    cost = (
        say(" About {cost:.4f} {currency}", cost=event.cost, currency=event.currency or "").rstrip() + "."
        if event.cost is not None
        else ""
    )
    return Explanation(
        say("Tokens of this turn"),
        say(
            "{prompt_tokens:,} in{cached}; {completion_tokens:,} out. The history now holds "
            "{context_tokens:,}: it is sent again in each turn and only grows at its end.{cost}",
            prompt_tokens=event.prompt_tokens,
            cached=cached,
            completion_tokens=event.completion_tokens,
            context_tokens=event.context_tokens,
            cost=cost,
        ),
    )


def _notice(event: ev.Notice) -> Explanation:
    return Explanation(say("A word to you"), say("Said to the person who watches; the model is not told."))


def _grounding(event: ev.Grounding) -> Explanation:
    found, missing = len(event.supported), len(event.unsupported)
    return Explanation(
        say("Evidence: {found} of {total} claims", found=found, total=found + missing),
        say(
            "Paths, versions, numbers and names of the report were looked for in what this run observed: "
            "{found} were found, {missing} were not. What was not found need not be wrong, but nothing here "
            "shows it.",
            found=found,
            missing=missing,
        ),
    )


def _run_finished(event: ev.RunFinished) -> Explanation:
    how = {
        "completed": say("The model had no more questions and wrote the report."),
        "partial": say("A report was written, from less than was wanted."),
        "failed": say("No report could be made."),
        "cancelled": say("It was stopped by hand; what had been seen stays."),
    }[event.outcome]
    return Explanation(
        say("The run ends: {outcome}", outcome=say(event.outcome)),
        say(
            "{how} {turns}, {tool_calls}, {requests}, {elapsed:.1f} s.",
            how=how,
            turns=count("{number:,} turn", "{number:,} turns", event.turns),
            tool_calls=count("{number:,} tool call", "{number:,} tool calls", event.tool_calls),
            requests=count("{number} request", "{number} requests", event.requests),
            elapsed=event.elapsed,
        ),
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

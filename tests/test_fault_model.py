"""Every fault of the model's side, before and after something was observed and at the report, over real sockets.

Time is virtual: the two time-outs, backoff and limits have the lengths that they have in earnest.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from tests.fault_bench import CALLS, FINAL, REPORT, Bench
from tests.servers import faults
from tests.servers.http import Answer
from tests.servers.inside import Heard, nothing_left_behind
from tests.servers.turns import (
    Turn,
    chunk,
    cut,
    cut_by_reset,
    done,
    error_in_stream,
    failure,
    finish,
    keep_alive,
    pause,
    say,
    stall,
    think,
)

RETRIES = 2
Outcome = Literal["trouble", "no", "wait", "far"]
WRONG = [think("Hm, wrong."), say("# Wrong, and void\n\n", by=5)]


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Args:
        turn: makes what the server sends.
        outcome: trouble of the service, a refusal, a limit that is waited for, or one that is too far away.
        says: what the user is told, in part.
        status: of the failed attempt, where one came.
        voids: whether something had streamed that is void now.
        attempts: requests until a limit that never ends is given up.
    """

    turn: Callable[[], Turn]
    outcome: Outcome
    says: str
    status: int | None = None
    voids: bool = False
    attempts: int = 5


def trouble(turn: Callable[[], Turn], says: str, status: int | None = None, *, voids: bool = False) -> Fault:
    return Fault(turn, "trouble", says, status, voids)


def no(status: int, says: str, **how: Any) -> Fault:
    return Fault(lambda: failure(status, "the server's words", **how), "no", says)


def ends(ending: Any) -> Callable[[], Turn]:
    return lambda: Answer(200, {"content-type": "text/event-stream"}, b"data: {}\n\n", ending=ending)


def raw(*pieces: bytes | float) -> Answer:
    """A stream of bytes and of seconds in which nothing comes; then silence."""

    async def stream() -> AsyncIterator[bytes]:
        for piece in pieces:
            if isinstance(piece, bytes):
                yield piece
            else:
                await asyncio.sleep(piece)
        await asyncio.Event().wait()

    return Answer(200, {"content-type": "text/event-stream"}, stream)


QUEUE = [piece for _ in range(13) for piece in (keep_alive(), pause(50.0))]
FAULTS = {
    "500": trouble(lambda: failure(500, "Down"), "Down", 500),
    "502, a proxy's page": trouble(lambda: faults.html(502), "502 Bad Gateway", 502),
    "503": trouble(lambda: failure(503, "Overloaded", retry_after="1"), "Overloaded", 503),
    "500, with a body without end": trouble(
        lambda: dataclasses.replace(faults.huge(2**40), status=500), "HTTP 500", 500
    ),
    "503, with a body that unpacks without end": trouble(
        lambda: dataclasses.replace(faults.bomb(), status=503), "HTTP 503", 503
    ),
    "529": trouble(lambda: failure(529, "Overloaded"), "Overloaded", 529),
    "408": trouble(lambda: failure(408, "Too slow"), "Too slow", 408),
    "dropped": trouble(ends("drop"), "no connection to the model's server"),
    "reset": trouble(ends("reset"), "no connection to the model's server"),
    "silence": trouble(raw, "did not begin to answer for 120 s"),
    "no reply at all": trouble(ends("hold"), "did not begin to answer for 120 s"),
    "keep-alives alone": trouble(lambda: raw(*[keep_alive(), 50.0] * 13), "did not begin to answer for 600 s"),
    "cut": trouble(lambda: [*WRONG, cut()], "the stream broke", voids=True),
    "cut by a reset": trouble(lambda: [*WRONG, cut_by_reset()], "the stream broke", voids=True),
    "silence in the middle": trouble(lambda: [*WRONG, stall()], "sent nothing for 120 s", voids=True),
    "keep-alives in the middle": trouble(
        lambda: [*WRONG, *(piece for _ in range(9) for piece in (keep_alive(), pause(30.0))), stall()],
        "sent nothing for 120 s",
        voids=True,
    ),
    "an end without an end": trouble(
        lambda: Answer(200, {"content-type": "text/event-stream"}, b'data: {"choices": []}\n\n'),
        "ended before the model had finished",
    ),
    "an error in the stream": trouble(
        lambda: [*WRONG, error_in_stream("Engine died", "server_error")], "Engine died", voids=True
    ),
    "an error with a status": trouble(lambda: [*WRONG, error_in_stream("Engine died", 503)], "died", 503, voids=True),
    "no resources left": trouble(
        lambda: [*WRONG, finish("insufficient_system_resource"), done()], "want of resources", voids=True
    ),
    "HTML": trouble(faults.html_page, "ended before the model had finished"),
    "nothing": trouble(lambda: Answer(200, {"content-type": "text/event-stream"}), "ended before the model"),
    "no JSON": trouble(lambda: [*WRONG, b"data: <html>\n\n"], "no JSON", voids=True),
    "JSON of another shape": trouble(lambda: Answer(200, {}, b'["x"]'), "not the form of a chat completion"),
    "a reply without a choice": trouble(lambda: Answer(200, {}, b'{"id": 7}'), "not the form of a chat completion"),
    "a body that is no JSON": trouble(lambda: Answer(200, {}, b"<html>"), "no JSON"),
    "gzip that is none": trouble(
        lambda: Answer(200, {"content-encoding": "gzip", "content-type": "text/event-stream"}, b"no gzip"),
        "the stream broke",
    ),
    "400": no(400, "did not accept the request"),
    "401": no(401, "API_KEY"),
    "402": no(402, "top it up"),
    "403": no(403, "refused access"),
    "404": no(404, "REPO_AGENT_MODEL"),
    "413": no(413, "too large"),
    "422": no(422, "parameter"),
    "451": no(451, "refused the request"),
    "a context overflow": Fault(
        lambda: failure(400, "the server's words: maximum context length is 8192 tokens"),
        "no",
        "REPO_AGENT_CONTEXT_TOKENS",
    ),
    "a quota that is spent": no(429, "refused the request", code="insufficient_quota"),
    "a refusal in the stream": Fault(
        lambda: [*WRONG, error_in_stream("the server's words", 400)], "no", "did not accept", voids=True
    ),
    "a redirect to another host": Fault(
        lambda: faults.redirect("https://thief.example/v1/chat/completions", 307), "no", "REPO_AGENT_BASE_URL"
    ),
    "429": Fault(lambda: failure(429, "Slow down", retry_after="7"), "wait", "rate limit"),
    "429 without a time": Fault(lambda: failure(429, "Slow down"), "wait", "rate limit"),
    "429 in the stream": Fault(lambda: [*WRONG, error_in_stream("Slow down", 429)], "wait", "rate limit", voids=True),
    "429, a proxy's page": Fault(lambda: faults.html(429), "wait", "rate limit"),
    "429, an hour": Fault(lambda: failure(429, "Slow down", retry_after="3600"), "far", "rate limit ends in 60 min"),
}


@dataclass(frozen=True)
class Place:
    """Where in a run the fault stands: the turns before it, those after it, and what the run is bound to."""

    before: tuple[Turn, ...]
    after: tuple[Turn, ...]
    settings: dict[str, Any]


PLACES = {
    "at the first turn": Place((), (CALLS, FINAL), {}),
    "after an observation": Place((CALLS,), (FINAL,), {}),
    "at the report": Place((CALLS,), (FINAL,), {"max_turns": 1}),
}


def streamed_report(heard: Heard) -> str:
    """What a reader has before him at the end: the last turn's text, all that was void left out."""
    text, turn = "", 0
    for event in heard.events:
        if event["type"] in ("turn_restarted", "thought"):
            text = ""
        elif event["type"] == "report_delta":
            text = text + event["text"] if event["turn"] == turn else event["text"]
            turn = event["turn"]
    return text


async def once(fault: Fault, place: Place, bench: Bench) -> None:
    heard, _, model = await bench.run(
        [*place.before, fault.turn(), *place.after], lambda _: None, max_retries=RETRIES, **place.settings
    )
    assert model.errors == []
    assert model.turns == len(place.before) + 1 + len(place.after)
    assert heard.finished["outcome"] == ("partial" if place.settings else "completed"), heard.finished
    assert streamed_report(heard) == REPORT and heard.finished["report"].startswith(REPORT)
    assert "Wrong" not in heard.finished["report"] and all("Wrong" not in str(body) for body in model.bodies)
    turn = len(place.before) + 1
    failed, waited = heard.of("attempt_failed"), heard.of("rate_limit_wait")
    assert [event["turn"] for event in heard.of("turn_restarted")] == [turn] * fault.voids
    if fault.outcome == "trouble":
        assert [(e["name"], e["attempt"], e["status"], e["call_id"]) for e in failed] == [
            ("llm", 1, fault.status, None)
        ]
        assert fault.says in failed[0]["reason"]
        assert [(e["attempt"], e["of"]) for e in heard.of("retry_scheduled")] == [(2, RETRIES + 1)] and waited == []
    else:
        assert failed == [] and heard.of("retry_scheduled") == []
        assert [(event["name"], event["kind"], event["call_id"]) for event in waited] == [("llm", "secondary", None)]
    assert heard.of("breaker_changed") == []


async def always(fault: Fault, place: Place, bench: Bench) -> None:
    requests = {"trouble": RETRIES + 1, "no": 1, "far": 1, "wait": fault.attempts}[fault.outcome]
    heard, _, model = await bench.run(
        [*place.before, *(fault.turn() for _ in range(requests))],
        lambda _: None,
        max_retries=RETRIES,
        **place.settings,
    )
    assert model.errors == [] and len(model.requests) == len(place.before) + requests
    finished = heard.finished
    assert fault.says in finished["error"] and finished["error"].count("\n") == 0
    if place.before:
        assert finished["outcome"] == "partial"
        assert "**This report is partial:**" in finished["report"] and fault.says in finished["report"]
        assert "team/tool" in finished["report"] and "Wrong" not in finished["report"]
    else:
        assert (finished["outcome"], finished["report"]) == ("failed", "")
        assert "before anything had been observed" in finished["error"]
    if fault.outcome == "no":
        assert "the server's words" in finished["error"] or "redirect" in finished["error"].lower()
    assert len(heard.of("attempt_failed")) == (requests if fault.outcome == "trouble" else 0)
    assert heard.of("breaker_changed") == []
    assert finished["elapsed"] <= (RETRIES + 1) * 600 + 100


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_model_ends_as_it_should_wherever_it_comes(name: str) -> None:
    fault = FAULTS[name]
    async with nothing_left_behind():
        bench = Bench()
        if fault.outcome in ("trouble", "wait"):
            await asyncio.gather(*(once(fault, place, bench) for place in PLACES.values()))
        await asyncio.gather(*(always(fault, place, bench) for place in PLACES.values()))


async def test_what_stands_in_a_queue_and_then_comes_is_no_fault() -> None:
    async with nothing_left_behind():
        heard, _, model = await Bench().run([[*QUEUE[:20], *FINAL]], lambda _: None)
    assert heard.finished["outcome"] == "completed" and model.turns == 1
    assert heard.finished["elapsed"] >= 500 and heard.of("attempt_failed") == []


async def test_a_model_that_thinks_for_long_between_its_words_is_no_fault() -> None:
    slow = [piece for text in ("# A", " slow", " report") for piece in (chunk({"content": text}), pause(100.0))]
    async with nothing_left_behind():
        heard, _, _ = await Bench().run([slow], lambda _: None)
    assert heard.finished["report"].startswith("# A slow report") and heard.of("attempt_failed") == []


async def test_five_failures_open_the_models_breaker_and_nothing_more_is_sent() -> None:
    async with nothing_left_behind():
        heard, _, model = await Bench().run(
            [CALLS, *(failure(500, "Down") for _ in range(5))], lambda _: None, max_retries=9
        )
    assert heard.finished["outcome"] == "partial" and len(model.requests) == 6
    [opened] = heard.of("breaker_changed")
    assert (opened["name"], opened["state"], opened["failures"], opened["retry_in"]) == ("llm", "open", 5, 30.0)

"""Rate limits of every kind × every tool and the snapshot, over real sockets, in virtual time."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.fault_bench import BY_NAME, CALLS, FINAL, TOOLS, Bench, TimedServer
from tests.servers import faults
from tests.servers.expect import observations
from tests.servers.faults import Change, Step, refuse
from tests.servers.http import Answer
from tests.servers.inside import nothing_left_behind


@dataclass(frozen=True)
class Limit:
    """A refusal that asks to wait.

    Args:
        step: makes the refusal.
        kind: what it is.
        seconds: of the first wait, at least.
        slack: seconds that the first wait may be longer (a reset is told in whole seconds, and waited past by one).
        attempts: requests that a call sends before it gives up, where the refusal never ends.
    """

    step: Callable[[], Step]
    kind: str
    seconds: float
    slack: float
    attempts: int


def http_date(seconds: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + seconds))


NEAR = {
    "primary, 403": Limit(lambda: faults.primary_limit(30), "primary", 29, 3, 5),
    "primary, 429": Limit(lambda: faults.primary_limit(30, status=429), "primary", 29, 3, 5),
    "secondary, 403": Limit(lambda: faults.secondary_limit("7"), "secondary", 7, 0, 5),
    "secondary, 429": Limit(lambda: faults.secondary_limit("7", status=429), "secondary", 7, 0, 5),
    "secondary, an HTTP date": Limit(lambda: faults.secondary_limit(http_date(9)), "secondary", 7, 3, 5),
    "secondary, without a time": Limit(lambda: faults.secondary_limit(None), "secondary", 60, 0, 2),
    "secondary, a time that is none": Limit(lambda: faults.secondary_limit("soon"), "secondary", 60, 0, 2),
    "a 429 without a word": Limit(lambda: Answer(429), "secondary", 60, 0, 2),
    "a 403 with Retry-After": Limit(lambda: refuse(403, "Slow down.", retry_after="3"), "secondary", 3, 0, 5),
    "a page of a proxy with 429": Limit(lambda: faults.html(429), "secondary", 60, 0, 2),
}
FAR = {
    "primary, an hour": (lambda: faults.primary_limit(3600), "The primary rate limit ends in 60 min"),
    "primary, a year, 429": (lambda: faults.primary_limit(3e7, status=429), "The primary rate limit ends in 833"),
    "secondary, two hours": (lambda: faults.secondary_limit("7200"), "The secondary rate limit ends in 2.0 h"),
    "a date far away": (lambda: faults.secondary_limit("Fri, 31 Dec 9999 23:59:59 GMT"), "rate limit ends in 8784.0 h"),
}


def nothing_counted(heard: object) -> None:
    for kind in ("attempt_failed", "retry_scheduled", "breaker_changed"):
        assert heard.of(kind) == []  # type: ignore[attr-defined]


async def once_at_a_tool(bench: Bench, limit: Limit, tool: str) -> None:
    heard, github, _ = await bench.run(
        [[BY_NAME[tool]], FINAL], lambda github: github.on(github.route_of(tool), limit.step())
    )
    finished = heard.calls[tool]
    assert (finished["outcome"], finished["attempts"]) == ("ok", 2)
    first, second = github.times_of(tool)
    assert limit.seconds <= second - first <= limit.seconds + limit.slack + 0.1
    (wait,) = heard.of("rate_limit_wait")
    assert (wait["name"], wait["kind"], wait["call_id"]) == (tool, limit.kind, finished["call_id"])
    assert limit.seconds <= wait["seconds"] <= limit.seconds + limit.slack
    nothing_counted(heard)


async def always_at_a_tool(bench: Bench, limit: Limit, tool: str) -> None:
    heard, github, model = await bench.run(
        [[BY_NAME[tool]], FINAL], lambda github: github.on(github.route_of(tool), always=limit.step())
    )
    finished = heard.calls[tool]
    assert (finished["outcome"], finished["attempts"]) == ("fallback", limit.attempts)
    assert len(github.times_of(tool)) == limit.attempts
    assert heard.finished["elapsed"] <= 90 + 1
    (told,) = observations(model.bodies[1])
    assert told["fallback"] is True and f"The {limit.kind} rate limit ends in" in told["error"]
    nothing_counted(heard)


async def at_the_snapshot(bench: Bench, limit: Limit, step: str, *, always: bool) -> None:
    def prepare(github: TimedServer) -> None:
        github.on(step, *([] if always else [limit.step()]), always=limit.step() if always else None)

    heard, github, model = await bench.run([FINAL], prepare)
    before = 1 if step == "commit" else 2
    if always:
        assert heard.finished["outcome"] == "failed" and model.requests == []
        assert len(github.requests) == before - 1 + limit.attempts
        assert "rate limit ends in" in heard.finished["error"]
    else:
        assert heard.finished["outcome"] == "completed" and len(github.requests) == 3
        (wait,) = heard.of("rate_limit_wait")
        assert (wait["name"], wait["kind"], wait["call_id"]) == ("snapshot", limit.kind, None)
    nothing_counted(heard)


@pytest.mark.parametrize("name", NEAR)
async def test_a_limit_is_waited_for_by_every_tool_and_by_the_snapshot_and_counts_nowhere(name: str) -> None:
    async with nothing_left_behind():
        bench = Bench()
        await asyncio.gather(
            *(once_at_a_tool(bench, NEAR[name], tool) for tool in TOOLS),
            *(at_the_snapshot(bench, NEAR[name], step, always=False) for step in ("commit", "tree")),
        )


@pytest.mark.parametrize("name", NEAR)
async def test_a_limit_that_never_ends_is_given_up_within_the_time_that_a_call_may_wait(name: str) -> None:
    async with nothing_left_behind():
        bench = Bench()
        await asyncio.gather(
            *(always_at_a_tool(bench, NEAR[name], tool) for tool in TOOLS),
            *(at_the_snapshot(bench, NEAR[name], step, always=True) for step in ("commit", "tree")),
        )


@pytest.mark.parametrize("name", FAR)
async def test_a_limit_that_is_too_far_away_is_told_at_once_with_its_end(name: str) -> None:
    step, says = FAR[name]

    async def at_a_tool(bench: Bench, tool: str) -> None:
        other = next(one for one in TOOLS if one != tool)
        heard, github, model = await bench.run(
            [[BY_NAME[tool]], [BY_NAME[other]], FINAL], lambda github: github.on(github.route_of(tool), always=step())
        )
        assert (heard.calls[tool]["outcome"], heard.calls[tool]["attempts"]) == ("fallback", 1)
        # The gate is one for all: what is known is not asked again.
        assert (heard.calls[other]["outcome"], heard.calls[other]["attempts"]) == ("fallback", 0)
        assert github.times_of(other) == []
        for body in model.bodies[1:]:
            (told,) = observations(body)
            assert says in told["error"] and "UTC" in told["error"]
        assert heard.of("rate_limit_wait") == []
        assert heard.finished["elapsed"] < 1 and heard.finished["outcome"] == "completed"
        nothing_counted(heard)

    async def at_the_commit(bench: Bench) -> None:
        heard, github, model = await bench.run([FINAL], lambda github: github.on("commit", always=step()))
        assert (heard.finished["outcome"], len(github.requests), model.requests) == ("failed", 1, [])
        assert says in heard.finished["error"]
        assert heard.finished["elapsed"] < 1

    async with nothing_left_behind():
        bench = Bench()
        await asyncio.gather(*(at_a_tool(bench, tool) for tool in TOOLS), at_the_commit(bench))


async def test_after_a_refusal_nothing_of_any_tool_is_sent_before_the_limit_ends() -> None:
    async with nothing_left_behind():
        heard, github, _ = await Bench().run(
            [[BY_NAME["read_file"]], CALLS, FINAL],
            lambda github: [github.on(github.route_of(tool), faults.primary_limit(40)) for tool in TOOLS],
        )
    assert heard.finished["outcome"] == "completed"
    # The first turn's refusal holds up the call itself; the second turn's three others meet their own, side by side.
    start = github.arrivals[2]
    assert all(at - start < 1 or at - start >= 39 for at in github.arrivals[2:])
    for tool in TOOLS:
        assert len(github.times_of(tool)) == 2
    nothing_counted(heard)


async def test_parallel_calls_that_are_all_refused_wait_once_and_each_says_so() -> None:
    async with nothing_left_behind():
        heard, github, _ = await Bench().run(
            [CALLS, FINAL],
            lambda github: [github.on(github.route_of(tool), faults.secondary_limit("20")) for tool in TOOLS],
        )
    assert {event["outcome"] for event in heard.of("tool_finished")} == {"ok"}
    assert {event["attempts"] for event in heard.of("tool_finished")} == {2}
    assert sorted(wait["name"] for wait in heard.of("rate_limit_wait")) == sorted(TOOLS)
    assert heard.finished["elapsed"] < 22, "the refusals of one moment do not add up"
    assert len(github.requests) == 2 + 2 * len(TOOLS)
    nothing_counted(heard)


def spent(reset_in: float) -> Change:
    """The plain reply, which says that it was the last of the hour."""
    headers = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-used": "60"}
    reset = {"x-ratelimit-reset": str(int(time.time() + reset_in))}
    return lambda answer: dataclasses.replace(answer, headers={**answer.headers, **headers, **reset})


async def test_a_good_reply_that_was_the_last_holds_up_what_comes_after_it() -> None:
    async with nothing_left_behind():
        heard, github, _ = await Bench().run([CALLS, FINAL], lambda github: github.on("tree", spent(50)))
    assert {event["outcome"] for event in heard.of("tool_finished")} == {"ok"}
    assert {event["attempts"] for event in heard.of("tool_finished")} == {1}
    assert all(at >= 49 for at in github.arrivals[2:]), "nothing is sent while the limit is known to be spent"
    assert sorted(wait["name"] for wait in heard.of("rate_limit_wait")) == sorted(TOOLS)
    nothing_counted(heard)


async def test_a_call_may_wait_as_long_as_the_setting_says() -> None:
    for setting, outcome in ((29.0, "fallback"), (32.0, "ok")):
        heard, _, _ = await Bench().run(
            [[BY_NAME["get_commits"]], FINAL],
            lambda github: github.on("get_commits", faults.secondary_limit("30")),
            max_rate_wait=setting,
        )
        assert heard.calls["get_commits"]["outcome"] == outcome
        assert heard.finished["elapsed"] < 1 if outcome == "fallback" else heard.finished["elapsed"] >= 30

"""A service that is gone for good: told within the time that the settings imply, with what had been observed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fault_bench import CALLS, FINAL, REPORT, TOOLS, Bench, Quick, TimedServer
from tests.servers import faults
from tests.servers.expect import FILES, WHO, check_events, observations, read
from tests.servers.github import GitHubServer
from tests.servers.http import Answer, Deaf, Unreachable
from tests.servers.inside import Heard, assert_quiet, nothing_left_behind, run_inside, settings_for
from tests.servers.model import ModelServer
from tests.servers.program import environment, run
from tests.servers.turns import Turn, call, failure, pause, say, stall
from tui_agent.request import RunRequest
from tui_agent.session import Session

RETRIES, TIMEOUT, BASE, LONGEST = 2, 15.0, 0.5, 8.0
TIMES = {"max_retries": RETRIES, "request_timeout": TIMEOUT, "base_delay": BASE, "max_delay": LONGEST}
JITTER = 1.3


def longest(timeout: float) -> float:
    """Seconds that one request may take in all, by the settings."""
    return (RETRIES + 1) * timeout + JITTER * sum(min(BASE * 2**n, LONGEST) for n in range(RETRIES))


async def closed_port() -> str:
    """A URL where nobody listens."""
    async with GitHubServer({}) as server:
        return server.url


# -- from the start -------------------------------------------------------------------------------


async def test_nobody_listens() -> None:
    url = await closed_port()
    async with nothing_left_behind(), ModelServer() as model:
        heard = await run_inside(url, model, clock=Quick(), **TIMES)
    check_events(heard.events)
    assert (heard.finished["outcome"], heard.finished["requests"]) == ("failed", RETRIES + 1)
    assert heard.finished["elapsed"] <= longest(0.1)
    assert "GitHub could not be read: connection failed" in heard.finished["error"]
    assert "try again" in heard.finished["error"].lower()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses")
async def test_connecting_takes_for_ever() -> None:
    with Unreachable() as github:
        async with nothing_left_behind(), ModelServer() as model:
            heard = await run_inside(github.url, model, clock=Quick(), **TIMES)
    assert heard.finished["outcome"] == "failed" and "no whole answer within 15 s" in heard.finished["error"]
    assert (RETRIES + 1) * TIMEOUT <= heard.finished["elapsed"] <= longest(TIMEOUT)


async def test_a_silent_service_takes_no_longer_than_its_time_outs_say() -> None:
    async with nothing_left_behind():
        heard, github, _ = await Bench().run([], lambda github: github.on("commit", always=faults.hold()), **TIMES)
    assert heard.finished["outcome"] == "failed" and len(github.requests) == RETRIES + 1
    assert (RETRIES + 1) * TIMEOUT <= heard.finished["elapsed"] <= longest(TIMEOUT)


async def test_a_breaker_that_is_open_ends_the_next_run_at_once() -> None:
    clock = Quick()
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer() as model:
        github.on("commit", always=faults.refuse(502))
        session = Session(settings_for(github, model, max_retries=9, breaker_threshold=3), clock=clock)
        heard, again = Heard(), Heard()
        await session.run(RunRequest(repo="team/tool", no_cache=True), heard)
        await session.run(RunRequest(repo="team/tool", no_cache=True), again)
        await session.aclose()
        await assert_quiet(github, model)
    assert (len(github.requests), heard.finished["requests"], again.finished["requests"]) == (3, 3, 0)
    assert again.finished["outcome"] == "failed" and again.finished["elapsed"] < 0.1
    assert "The breaker of snapshot is open after 3 failures in a row" in again.finished["error"]


async def test_a_model_where_nobody_listens_fails_before_anything_was_observed() -> None:
    url = await closed_port()
    async with nothing_left_behind(), GitHubServer(FILES) as github:
        heard = await run_inside(github, url, clock=Quick(), **TIMES)
    assert heard.finished["outcome"] == "failed" and heard.finished["elapsed"] <= longest(0.1)
    assert "no connection to the model's server" in heard.finished["error"]
    assert "before anything had been observed" in heard.finished["error"]
    todo = "`repo-agent-tui doctor` looks at the endpoint; --engine survey needs no model."
    assert heard.finished["error"].endswith(todo), "what to do"


async def test_a_model_that_never_reads_what_it_is_sent_is_given_up() -> None:
    """The request is larger than what the system takes in advance: sending it takes for ever."""
    request = RunRequest(repo="team/tool", question="why? " * 2_000_000, no_cache=True)
    with Deaf() as model:
        async with nothing_left_behind(), GitHubServer(FILES) as github:
            heard = await run_inside(github, model.url, clock=Quick(), request=request, **TIMES)
    assert heard.finished["outcome"] == "failed"
    assert "did not begin to answer for 120 s" in heard.finished["error"]
    assert heard.finished["elapsed"] <= longest(120.0)


# -- in the middle --------------------------------------------------------------------------------


def vanishing(*servers: Callable[[], Any], then: Turn) -> Callable[[dict[str, Any]], Turn]:
    """A turn before which services vanish."""

    def turn(_: dict[str, Any]) -> Turn:
        for server in servers:
            asyncio.get_running_loop().create_task(server().vanish())
        return [pause(0.1), *then] if not isinstance(then, Answer) else then

    return turn


async def test_github_goes_after_the_snapshot_and_the_run_goes_on() -> None:
    clock = Quick()
    script = (vanishing(lambda: github, then=CALLS), FINAL)
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer(*script) as model:
        heard = await run_inside(github, model, clock=clock, **TIMES)
        told = observations(model.bodies[1])
    check_events(heard.events)
    assert heard.finished["outcome"] == "completed" and heard.finished["report"].startswith(REPORT)
    assert [(event["outcome"], event["attempts"]) for event in heard.of("tool_finished")] == [
        ("fallback", RETRIES + 1)
    ] * len(TOOLS)
    assert all(answer["fallback"] is True and "connection failed" in answer["error"] for answer in told)
    assert heard.finished["elapsed"] <= longest(0.1) + 1


async def test_both_go_after_an_observation_and_what_is_known_is_reported() -> None:
    """Not even the root can be listed any more: its tree was cut, and it would have to be asked for."""
    clock = Quick()
    script = ([call("get_repo_info", WHO)], vanishing(lambda: github, lambda: model, then=[stall()]))
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer(*script) as model:
        heard = await run_inside(github, model, clock=clock, **TIMES)
    check_events(heard.events)
    assert heard.finished["outcome"] == "partial" and "the model was lost" in heard.finished["error"]
    assert "team/tool" in heard.finished["report"] and "Files" in heard.finished["report"]
    assert heard.finished["elapsed"] <= longest(0.1) + 1


async def test_a_run_without_a_service_ends_within_its_turns() -> None:
    """The model asks again and again for what cannot be had: breakers open, nothing more is sent, turns run out."""
    number = iter(range(10**6))

    def turn(body: dict[str, Any]) -> Turn:
        return [read(f"src/{next(number)}.py")] if body.get("tools") else [say(REPORT)]

    clock = Quick()
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer(by_function=turn) as model:
        github.on(".*/git/trees/.*", faults.plain(), always=faults.hold())
        heard = await run_inside(github, model, clock=clock, max_turns=6, **TIMES)
        await assert_quiet(github, model)
    check_events(heard.events)
    assert heard.finished["outcome"] == "partial" and heard.finished["turns"] == 6
    # The third call's second attempt is the fifth failure in a row.
    assert [event["attempts"] for event in heard.of("tool_finished")] == [3, 2, 0, 0, 0, 0]
    assert len(github.requests) == 2 + 5
    assert heard.finished["elapsed"] <= 2 * longest(TIMEOUT)


# -- exit codes -----------------------------------------------------------------------------------

QUICK = {
    "REPO_AGENT_MAX_RETRIES": "1",
    "REPO_AGENT_REQUEST_TIMEOUT": "0.4",
    "REPO_AGENT_LLM_TIMEOUT": "0.4",
    "REPO_AGENT_MAX_RATE_WAIT": "0",
}
LOST = {
    "github is silent": ("snapshot", faults.hold(), [], 1, "could not be read: no whole answer within 0.4 s"),
    "the limit is an hour away": ("snapshot", faults.primary_limit(3600), [], 1, "Set GITHUB_TOKEN for"),
    "the token is refused": ("snapshot", faults.refuse(401, "Bad credentials"), [], 1, "GITHUB_TOKEN"),
    "the model is silent": (None, None, [[stall()]] * 2, 1, "before anything had been observed"),
    "the model's limit is an hour away": (None, None, [failure(429, "Slow", retry_after="3600")], 1, "ends in 60 min"),
    "the model goes after an observation": (None, None, [[read("README.md")], [stall()], [stall()]], 0, ""),
    "the balance is spent at the report": (None, None, [[read("README.md")], failure(402, "No money")], 0, ""),
}


@pytest.mark.parametrize("name", LOST)
async def test_the_exit_code_says_whether_there_is_a_report(tmp_path: Path, name: str) -> None:
    route, step, script, code, sentence = LOST[name]
    async with GitHubServer(FILES) as github, ModelServer(*script) as model:  # type: ignore[misc]
        if route is not None:
            github.on(route, always=step)
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model, **QUICK), cwd=tmp_path)
    check_events(done.events)
    assert done.code == code, done.err
    assert done.finished["elapsed"] < 2 * (0.4 + 0.1) + 1.5
    assert "Traceback" not in done.err and done.err.count("\n") == (1 if code else 0)
    assert sentence in done.err
    if code == 0:
        assert done.finished["outcome"] == "partial" and "README.md" in done.finished["report"]

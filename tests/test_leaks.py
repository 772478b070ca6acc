"""Whenever a run is cancelled, and however many have gone before: nothing is left, and the history is valid."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fault_bench import CALLS, FILES, FINAL, Quick, TimedServer
from tests.repos import make_repo
from tests.servers import faults
from tests.servers.expect import check_events
from tests.servers.github import GitHubServer
from tests.servers.http import until
from tests.servers.inside import Heard, assert_quiet, nothing_left_behind, open_handles, settings_for
from tests.servers.model import ModelServer
from tests.servers.turns import cut, failure, pause, say, stall, think
from tests.sizes import DEEP
from tui_agent.agent.loop import Loop
from tui_agent.events import Event
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings

EVENTFUL = [
    [think("Hm.", by=2), say("I look.", by=3), *CALLS],
    failure(429, retry_after="1"),
    [say("# Wro"), cut()],
    failure(503),
    FINAL,
]
REQUEST = RunRequest(repo="team/tool", no_cache=True)


def troubled(github: TimedServer) -> None:
    """Something of every kind, so that a run is in every state at some time."""
    github.on("commit", faults.refuse(502))
    github.on("tree", faults.secondary_limit("1"))
    github.on("get_repo_info", faults.drop(), faults.html(503))
    github.on("read_file", faults.primary_limit(2))
    github.on("get_commits", faults.slow(3))
    github.on(github.route_of("list_directory"), faults.cut(5))


async def run_cancelled_at(number: int, *, twice: bool, cached: bool) -> tuple[Heard, list[dict[str, Any]]]:
    """A run that is cancelled when its event of that number comes; its events and its history."""
    loops: list[Loop] = []
    clock = Quick()
    async with TimedServer(clock) as github, ModelServer(*EVENTFUL) as model:
        troubled(github)
        session = Session(settings_for(github, model), clock=clock)
        task: asyncio.Task[Any] | None = None

        def hear(event: Event) -> None:
            if len(heard.events) == number and task is not None:
                task.cancel()
            if event.type == "turn_started" and not loops:
                loops.append(session._running[0]._loop)  # type: ignore[arg-type]

        heard = Heard(on_event=hear)
        task = asyncio.create_task(session.run(replace(REQUEST, no_cache=not cached), heard))
        try:
            if twice:
                await until(lambda: len(heard.events) >= number or task.done(), seconds=600)
                task.cancel()
            await task
        except asyncio.CancelledError:
            pass
        await session.aclose()
        await assert_quiet(github, model)
    return heard, loops[0].conversation.messages if loops else []


def assert_valid(history: list[dict[str, Any]]) -> None:
    """What any server would take: each call has its answer, in its place, and no message is empty."""
    assert ModelServer()._wrong_history(history) is None


@pytest.mark.parametrize("cached", [False, True])
async def test_a_run_may_be_cancelled_at_any_of_its_events(cached: bool) -> None:
    whole, _ = await run_cancelled_at(10**9, twice=False, cached=cached)
    assert whole.finished["outcome"] == "completed"
    seen = {event["type"] for event in whole.events}
    assert {"attempt_failed", "retry_scheduled", "rate_limit_wait", "turn_restarted", "tool_finished"} <= seen
    for number in range(1, len(whole.events), 3 if cached or not DEEP else 1):
        async with nothing_left_behind():
            heard, history = await run_cancelled_at(number, twice=number % 3 == 0, cached=cached)
        check_events(heard.events)
        assert heard.finished["outcome"] == "cancelled" or number >= len(heard.events) - 1, number
        assert_valid(history)


@pytest.mark.parametrize("moment", [0.0, 0.2, 0.9, 1.2, 2.6, 4.0, 7.0, 9.5])
async def test_a_run_may_be_cancelled_while_nothing_happens(moment: float) -> None:
    """Between events: in a wait, a backoff, a silent request, a silent stream."""
    clock, script = Quick(), ([pause(3.0), *CALLS], [say("# Half"), stall()])
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer(*script) as model:
        troubled(github)
        heard, session = Heard(), Session(settings_for(github, model), clock=clock)
        task = asyncio.create_task(session.run(REQUEST, heard))
        await asyncio.sleep(moment)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.aclose()
        await assert_quiet(github, model)
    check_events(heard.events)
    assert heard.finished["outcome"] == "cancelled"


async def test_a_session_that_is_closed_in_the_middle_of_a_run_ends_it_and_leaves_nothing() -> None:
    async with nothing_left_behind(), GitHubServer(FILES) as github, ModelServer([say("# Half"), stall()]) as model:
        heard, session = Heard(), Session(settings_for(github, model, max_retries=0))
        task = asyncio.create_task(session.run(REQUEST, heard))
        await until(lambda: heard.of("report_delta"))
        await session.aclose()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await assert_quiet(github, model)
    assert heard.finished["outcome"] in ("failed", "cancelled")


async def test_many_runs_of_one_session_leave_no_more_than_one() -> None:
    async with GitHubServer(FILES, limit=5000) as github, ModelServer(by_function=lambda _: FINAL) as model:
        session = Session(settings_for(github, model))
        await session.run(REQUEST, lambda _: None)
        before, tasks = len(open_handles()), len(asyncio.all_tasks())
        for _ in range(10):
            await session.run(REQUEST, lambda _: None)
        assert len(open_handles()) <= before and len(asyncio.all_tasks()) <= tasks
        await session.aclose()


async def test_many_runs_on_local_repositories_leave_nothing_open(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", [("First", FILES)])
    session = Session(Settings())
    await session.run(RunRequest(repo=str(path)), lambda _: None)
    before = open_handles()
    for _ in range(5):
        await session.run(RunRequest(repo=str(path)), lambda _: None)
    assert len(open_handles()) <= len(before), {k: v for k, v in open_handles().items() if k not in before}
    await session.aclose()


async def test_calls_side_by_side_are_all_ended_by_a_cancel() -> None:
    clock = Quick()
    async with nothing_left_behind(), TimedServer(clock) as github, ModelServer(CALLS, FINAL) as model:
        for tool in ("get_repo_info", "list_directory", "read_file", "get_commits"):
            github.on(github.route_of(tool), always=faults.hold())
        heard, session = Heard(), Session(settings_for(github, model), clock=clock)
        task = asyncio.create_task(session.run(REQUEST, heard))
        await until(lambda: len(github.requests) == 6, seconds=10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.aclose()
        await assert_quiet(github, model)
        assert [exchange.client_left for exchange in github.exchanges[2:]] == [True] * 4
    check_events(heard.events)
    ended = heard.of("tool_finished")
    assert len(ended) == 4
    assert all(e["outcome"] == "error" and e["result"]["cancelled"] is True and e["attempts"] == 1 for e in ended)

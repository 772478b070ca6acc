"""Breakers over real sockets: parallel calls, probes, and the user's hand in the middle of a run; in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.fakes import VirtualClock
from tests.fault_bench import FINAL, Quick
from tests.servers import faults
from tests.servers.expect import WHO, check_events, read
from tests.servers.files import FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import until
from tests.servers.inside import Heard, assert_quiet, nothing_left_behind, settings_for
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, pause, stall
from tui_agent.events import Event
from tui_agent.request import RunRequest
from tui_agent.session import Session

NAMES = [f"src/f{n}.py" for n in range(16)]
REQUEST = RunRequest(repo="team/tool", no_cache=True)


def reads(*numbers: int) -> list[Any]:
    return [read(NAMES[n]) for n in numbers]


class Desk:
    """A session with both servers, whose breaker of `read_file` is looked at."""

    def __init__(self, clock: VirtualClock, github: GitHubServer, model: ModelServer, **changes: Any) -> None:
        self.github, self.model = github, model
        self.between: list[Event] = []
        self.session = Session(
            settings_for(github, model, **{"max_retries": 0, "breaker_threshold": 3, "breaker_reset": 30.0, **changes}),
            clock=clock,
        )
        self.session.listen(self.between.append)

    async def run(self, on_event: Callable[[Event], object] | None = None) -> Heard:
        heard = Heard(on_event=on_event)
        await self.session.run(REQUEST, heard)
        check_events(heard.events)
        return heard

    @property
    def asked(self) -> int:
        return len(self.github.asked("read_file"))


class desk:  # noqa: N801 - read as a function
    """Both servers and a session; nothing is left of them."""

    def __init__(self, *script: Turn, **changes: Any) -> None:
        self.script, self.changes = script, changes

    async def __aenter__(self) -> Desk:
        self.clean = nothing_left_behind()
        await self.clean.__aenter__()
        self.github = await GitHubServer(FilesTransport(dict.fromkeys(NAMES, "") | {n: n for n in NAMES})).__aenter__()
        self.model = await ModelServer(*self.script).__aenter__()
        self.desk = Desk(Quick(), self.github, self.model, **self.changes)
        return self.desk

    async def __aexit__(self, kind: Any, error: Any, trace: Any) -> None:
        await self.desk.session.aclose()
        if kind is None:
            await assert_quiet(self.github, self.model)
        await self.model.__aexit__()
        await self.github.__aexit__()
        await self.clean.__aexit__(kind, error, trace)


def states(events: Sequence[Any]) -> list[tuple[str, str]]:
    return [(e["state"], e["cause"]) for e in events if e["name"] == "read_file"]


def outcomes(heard: Heard) -> list[tuple[str, int]]:
    return [(event["outcome"], event["attempts"]) for event in heard.of("tool_finished")]


async def test_parallel_failures_open_a_breaker_once_and_what_waits_behind_it_is_not_sent() -> None:
    async with desk(reads(*range(16)), FINAL) as one:
        one.github.on("read_file", always=faults.refuse(500))
        heard = await one.run()
        # Eight are under way together, two more follow the first two failures; the rest find the breaker open.
        assert one.asked == 10
        assert states(heard.of("breaker_changed")) == [("open", "failures")]
        assert sorted(outcomes(heard)) == [("fallback", 0)] * 6 + [("fallback", 1)] * 10
        assert heard.finished["outcome"] == "completed"


async def test_of_many_calls_one_is_the_probe_and_its_answer_closes() -> None:
    async with desk(reads(0, 1, 2), [pause(31.0), *reads(3, 4, 5, 6, 7)], reads(8, 9), FINAL) as one:
        one.github.on("read_file", *[faults.refuse(500)] * 3, faults.slow(2.0))
        heard = await one.run()
        assert states(heard.of("breaker_changed")) == [
            ("open", "failures"),
            ("half_open", "probe"),
            ("closed", "probe"),
        ]
        assert one.asked == 3 + 1 + 2
        second = [(e["outcome"], e["attempts"]) for e in heard.of("tool_finished") if e["turn"] == 2]
        assert sorted(second) == [("fallback", 0)] * 4 + [("ok", 1)]
        assert [(e["outcome"], e["attempts"]) for e in heard.of("tool_finished") if e["turn"] == 3] == [("ok", 1)] * 2


@pytest.mark.parametrize(
    ("step", "after"),
    [
        (faults.refuse(500), [("half_open", "probe"), ("open", "probe")]),
        (faults.hold(), [("half_open", "probe"), ("open", "probe")]),
        (faults.refuse(404), [("half_open", "probe"), ("closed", "probe")]),
        (faults.secondary_limit("5"), [("half_open", "probe"), ("closed", "probe")]),
    ],
)
async def test_a_probe_is_judged_by_whether_the_service_lives(step: Any, after: list[tuple[str, str]]) -> None:
    async with desk(reads(0, 1, 2), [pause(31.0), *reads(3)], FINAL) as one:
        one.github.on("read_file", *[faults.refuse(500)] * 3, step)
        heard = await one.run()
        assert states(heard.of("breaker_changed")) == [("open", "failures"), *after]


async def test_a_probe_that_is_cancelled_gives_its_place_to_the_next() -> None:
    async with desk(reads(0, 1, 2), [pause(31.0), *reads(3)], [*reads(4)], FINAL) as one:
        one.github.on("read_file", *[faults.refuse(500)] * 3, faults.hold())
        probing = asyncio.Event()
        heard = Heard(on_event=lambda event: getattr(event, "state", "") == "half_open" and probing.set())
        task = asyncio.create_task(one.session.run(REQUEST, heard))
        await probing.wait()
        await until(lambda: one.asked == 4)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        again = await one.run()
        assert states(heard.of("breaker_changed"))[1:] == [("half_open", "probe"), ("open", "probe")]
        assert states(again.of("breaker_changed")) == [("half_open", "probe"), ("closed", "probe")]
        assert outcomes(again) == [("ok", 1)]


async def test_reset_by_hand_in_the_middle_of_a_run_lets_the_next_call_through() -> None:
    async with desk(reads(0, 1, 2), reads(3), FINAL) as one:
        one.github.on("read_file", *[faults.refuse(500)] * 3)

        def hand(event: Event) -> None:
            if getattr(event, "state", "") == "open":
                one.session.reset_breaker("read_file")

        heard = await one.run(hand)
        assert states(heard.of("breaker_changed")) == [("open", "failures"), ("closed", "user")]
        assert outcomes(heard)[-1] == ("ok", 1) and one.between == []


async def test_held_open_by_hand_a_retry_under_way_is_not_sent_and_release_lets_it_through_again() -> None:
    async with desk(reads(0), reads(1), reads(2), FINAL, max_retries=5) as one:
        one.github.on("read_file", faults.refuse(500))

        def hand(event: Event) -> None:
            if event.type == "retry_scheduled":
                one.session.isolate_breaker("read_file")
            if event.type == "turn_started" and getattr(event, "turn", 0) == 3:
                one.session.release_breaker("read_file")

        heard = await one.run(hand)
        assert outcomes(heard) == [("fallback", 1), ("fallback", 0), ("ok", 1)]
        assert states(heard.of("breaker_changed")) == [("open", "user"), ("closed", "user")]
        errors = [event["result"].get("error", "") for event in heard.of("tool_finished")]
        assert all("held open by the user" in error for error in errors[:2])
        assert one.asked == 2


async def test_between_runs_a_hand_is_told_without_a_run_and_holds_in_the_next() -> None:
    async with desk(reads(0), FINAL, reads(1), FINAL) as one:
        one.session.isolate_breaker("read_file")
        heard = await one.run()
        one.session.reset_breaker()
        again = await one.run()
        assert [(e.run_id, e.state, e.cause) for e in one.between] == [  # type: ignore[attr-defined]
            (None, "open", "user"),
            (None, "closed", "user"),
        ]
        assert (outcomes(heard), outcomes(again)) == ([("fallback", 0)], [("ok", 1)])
        assert heard.of("breaker_changed") == again.of("breaker_changed") == []


async def test_the_models_breaker_has_the_same_hands() -> None:
    async with desk(reads(0), [stall()]) as one:

        def hand(event: Event) -> None:
            if event.type == "tool_finished":
                one.session.isolate_breaker("llm")

        heard = await one.run(hand)
        assert len(one.model.requests) == 1
        assert heard.finished["outcome"] == "partial" and "held open by the user" in heard.finished["error"]
        one.session.reset_breaker("llm")


async def test_4xx_limits_and_cancellations_count_nowhere() -> None:
    script = [reads(0), reads(1), [call("get_commits", WHO)], reads(2), reads(3), reads(4), FINAL]
    async with desk(*script) as one:
        one.github.on(
            "read_file",
            faults.refuse(500),
            faults.refuse(404),
            faults.refuse(500),
            faults.secondary_limit("3"),
            faults.plain(),
            faults.refuse(500),
        )
        heard = await one.run()
        # 500, 404, 500, limit and success: the success alone begins the count anew.
        assert outcomes(heard) == [
            ("fallback", 1),
            ("error", 1),
            ("ok", 1),
            ("fallback", 1),
            ("ok", 2),
            ("fallback", 1),
        ]
        assert heard.of("breaker_changed") == []

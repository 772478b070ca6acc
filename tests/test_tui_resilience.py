"""The layers of protection as they are seen: a real session on loopback under the dashboard, time moved by hand."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.servers import faults
from tests.servers.expect import WHO, read
from tests.servers.github import GitHubServer
from tests.servers.http import Gate
from tests.servers.inside import settings_for
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, done, failure, finish, pause, say
from tests.tui_desk import Desk
from tests.tui_session import HandClock
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.tui.app import DashboardApp

FILES = {f"f{n}.py": f"x = {n}\n" for n in range(9)}
FINAL: Turn = [say("# Report")]
SILENT: list[Any] = [finish("stop"), done()]
"""The end of a turn that does not tell its tokens."""


class SteppedClock(HandClock):
    """A clock that a test moves; who sleeps wakes when its time has come."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            return
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.monotonic() + seconds, woken))
        await woken

    @property
    def sleeping(self) -> int:
        """How many wait."""
        return sum(not woken.done() for _, woken in self._sleepers)

    def pass_(self, seconds: float) -> None:
        super().pass_(seconds)
        for due, woken in self._sleepers:
            if due <= self.monotonic() + 1e-9 and not woken.done():
                woken.set_result(None)


class ClockedSession(Session):
    """A session that tells its clock, for the desk."""

    clock: SteppedClock


class Board(Desk):
    """A dashboard on a real session."""

    github: GitHubServer
    model: ModelServer

    async def sees(self, *words: str) -> None:
        """Wait until all of it stands on the screen."""
        await self.until(lambda: all(re.search(word, self.screen) for word in words))

    async def later(self, seconds: float) -> None:
        """Let time pass, and everything that follows be drawn."""
        self.clock.pass_(seconds)
        await self.pilot.pause(0.02)
        self.app._refresher.tick()
        await self.settle()


@asynccontextmanager
async def board(
    *script: Any, prepare: Callable[[GitHubServer], object] = lambda _: None, **changes: Any
) -> AsyncIterator[Board]:
    clock = SteppedClock()
    async with GitHubServer(FILES, limit=5000) as github, ModelServer(*script) as model:
        prepare(github)
        limits = {"breaker_threshold": 2, "breaker_reset": 30.0, "base_delay": 2.0, "max_delay": 8.0, "max_retries": 3}
        session = ClockedSession(settings_for(github, model, **{**limits, **changes}), clock=clock)
        session.clock = clock
        app = DashboardApp(session, RunRequest(repo="team/tool", no_cache=True), clock=clock, threshold=2)
        async with app.run_test(size=(130, 36), notifications=True) as pilot:
            desk = Board(app, session, pilot)  # type: ignore[arg-type]
            desk.github, desk.model = github, model
            yield desk
            await pilot.press("q")


def row(desk: Desk, name: str = "read_file") -> str:
    """The breaker's row on the screen."""
    return next(line for line in desk.screen.splitlines() if re.search(rf"{name}\s+(CLOSED|OPEN|HALF)", line))


async def test_failures_retries_and_the_open_breaker_are_seen_and_count_down() -> None:
    gate = Gate()
    async with board(
        [read("f0.py")],
        [pause(gate), *FINAL],
        prepare=lambda hub: hub.on("read_file", always=faults.refuse(503, "Down")),
    ) as desk:
        await desk.until(lambda: desk.clock.sleeping == 1)
        await desk.settle()
        assert re.search(r"CLOSED\s+1/2", row(desk))
        assert re.search(r"retry 2 of 4, in [23] s", desk.screen)
        await desk.later(2.7)
        await desk.sees(r"read_file\s+OPEN 30 s\s+2/2")
        assert "fallback" in desk.screen
        for seconds, shown in ((1, 29), (6, 23), (22, 1)):
            await desk.later(seconds)
            assert f"OPEN {shown} s" in row(desk)
        assert len(desk.github.asked("read_file")) == 2
        gate.open()
        await desk.sees("completed")
        # The breaker belongs to the process: it counts on when the run is over.
        await desk.later(0.5)
        assert "OPEN 1 s" in row(desk)


async def test_a_probe_is_seen_while_it_is_under_way_and_its_answer_closes() -> None:
    turn, reply = Gate(), Gate()
    async with board(
        [read("f0.py"), read("f1.py")],
        [pause(turn), read("f2.py"), read("f3.py")],
        FINAL,
        prepare=lambda hub: hub.on("read_file", *[faults.refuse(503)] * 2, faults.gated(reply)),
        max_retries=0,
    ) as desk:
        await desk.sees("OPEN 30 s")
        await desk.later(30)
        assert "HALF-OPEN" not in row(desk), "no timer opens it by half, a probe does"
        turn.open()
        await desk.sees("HALF-OPEN")
        assert len(desk.github.asked("read_file")) == 3
        # Whoever comes meanwhile falls back at once.
        assert "fallback" in desk.screen
        reply.open()
        await desk.sees(r"read_file\s+CLOSED", "completed")
        assert len(desk.github.asked("read_file")) == 3


async def test_capital_b_closes_in_the_middle_of_a_run_and_the_next_call_goes_through() -> None:
    turn = Gate()
    async with board(
        [read("f0.py"), read("f1.py")],
        [pause(turn), read("f2.py")],
        FINAL,
        prepare=lambda hub: hub.on("read_file", *[faults.refuse(503)] * 2),
        max_retries=0,
    ) as desk:
        await desk.sees("OPEN 30 s")
        await desk.press("B")
        assert re.search(r"CLOSED\s+0/2", row(desk))
        turn.open()
        await desk.sees("completed")
        assert len(desk.github.asked("read_file")) == 3
        assert [call.outcome for call in desk.app.state.lanes] == ["fallback", "fallback", "ok"]


async def test_i_holds_open_in_the_middle_of_a_run_and_lets_go_again() -> None:
    first, second = Gate(), Gate()
    async with board([pause(first), read("f0.py")], [pause(second), read("f1.py")], FINAL) as desk:
        await desk.sees("turn 1/15")
        await desk.press("3")
        await desk.until(lambda: desk.focused == "Breakers")
        names = list(desk.app.state.breakers)
        await desk.press("home", *["down"] * names.index("read_file"), "i")
        assert "OPEN ISOLATED" in row(desk)
        first.open()
        await desk.sees("fallback")
        assert desk.github.asked("read_file") == []
        await desk.press("i")
        assert re.search(r"CLOSED", row(desk))
        second.open()
        await desk.sees("completed")
        assert len(desk.github.asked("read_file")) == 1


@pytest.mark.parametrize("kind", ["primary", "secondary"])
async def test_a_wait_for_a_limit_is_seen_and_counts_down(kind: str) -> None:
    def limit(hub: GitHubServer) -> None:
        step = faults.secondary_limit("20")
        if kind == "primary":
            reset = 1_800_000_000 + 19
            headers = {"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-used": "60"}
            step = faults.refuse(403, "API rate limit exceeded", **{k.replace("-", "_"): v for k, v in headers.items()})
            step.headers["x-ratelimit-reset"] = str(reset)
        hub.on("get_commits", step)

    async with board([call("get_commits", WHO)], FINAL, prepare=limit) as desk:
        await desk.sees("◷ limit, 20 s left", "rate limit, 20 s left")
        for seconds, left in ((1, 19), (14, 5), (4, 1)):
            await desk.later(seconds)
            assert f"◷ limit, {left} s left" in desk.screen and f"rate limit, {left} s left" in desk.screen
        assert len(desk.github.asked("get_commits")) == 1
        await desk.later(1.5)
        await desk.sees("completed")
        assert "◷ limit" not in desk.screen
        assert len(desk.github.asked("get_commits")) == 2
        assert desk.app.state.breakers["get_commits"].failures == 0


async def test_a_limit_of_the_model_is_seen_too() -> None:
    async with board(failure(429, "Slow down", retry_after="12"), FINAL) as desk:
        await desk.sees("limit, 12 s left")
        await desk.later(7)
        assert "limit, 5 s left" in desk.screen
        await desk.later(6)
        await desk.sees("completed")


async def test_a_limit_too_far_away_is_told_at_once() -> None:
    async with board(prepare=lambda hub: hub.on("snapshot", always=faults.secondary_limit("7200"))) as desk:
        await desk.sees("failed", r"rate limit ends in 2\.0 h")


async def test_the_models_failures_open_its_breaker_on_the_screen() -> None:
    async with board(
        [read("f0.py")], failure(500, "Down"), failure(500, "Down"), max_retries=0, base_delay=0.0
    ) as desk:
        await desk.sees("partial", "Down")
        await desk.settle()
        assert re.search(r"CLOSED\s+1/2", row(desk, "llm"))
        await desk.press("r")
        await desk.sees(r"llm\s+OPEN 30 s\s+2/2", "failed")


async def test_a_model_that_tells_no_usage_has_recovered_all_the_same_once_its_turn_is_there() -> None:
    for turn in ([read("f0.py"), *SILENT], [say("# R"), *SILENT]):
        async with board(failure(500, "Down"), turn, FINAL, base_delay=0.0) as desk:
            await desk.sees("completed")
            await desk.settle()
            assert re.search(r"CLOSED\s+0/2", row(desk, "llm"))


async def test_calls_that_were_cancelled_say_so_and_a_reason_is_told() -> None:
    async with board([read("f0.py")], FINAL, prepare=lambda hub: hub.on("read_file", always=faults.hold())) as desk:
        await desk.until(lambda: len(desk.github.asked("read_file")) == 1)
        await desk.press("escape")
        await desk.until(lambda: desk.app.state.run.outcome == "cancelled")
        [lane] = desk.app.state.lanes
        assert lane.outcome == "cancelled" and lane.result is not None and lane.result["cancelled"] is True
        await desk.settle()
        assert "cancelled" in desk.screen


async def test_a_fault_injected_by_hand_is_met_by_the_next_call() -> None:
    turn = Gate()
    async with board([pause(turn), read("f0.py")], FINAL, base_delay=0.0) as desk:
        await desk.sees("turn 1/15")
        await desk.press("x")
        await desk.type("read_file:503x1")
        await desk.press("enter")
        turn.open()
        await desk.sees("completed")
        assert [(phase.status, phase.failed) for phase in desk.app.state.lanes[0].phases][:1] == [(503, True)]
        assert len(desk.github.asked("read_file")) == 1

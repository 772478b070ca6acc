"""How little is drawn: parts rest between drawings, lines stay the strips they were, nothing is laid out anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.tui_desk import Desk, dashboard
from tests.tui_session import breaker, ended, quota, started
from tui_agent import events as ev
from tui_agent.tui.refresher import INTERVAL, Refresher
from tui_agent.tui.state import DashboardState

# -- the refresher -------------------------------------------------------------------------------


class Timer:
    """A one-shot timer that the test lets go off."""

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        self.due, self.call, self.stopped = due, call, False

    def stop(self) -> None:
        self.stopped = True


class Part:
    """A part of the screen that counts how often it was drawn."""

    AREAS = ("quota",)

    def __init__(self, rest: float, step: float | None = None) -> None:
        self.REST = rest
        self.step = step
        self.drawn: list[float] = []
        self.ticked: list[float] = []

    def update_from(self, state: DashboardState, now: float) -> None:
        self.drawn.append(now)

    def tick(self, now: float) -> float | None:
        self.ticked.append(now)
        return self.step


class Screen:
    """A refresher with a clock of its own and timers that go off as it moves."""

    def __init__(self, *parts: Part) -> None:
        self.state, self.now, self.timers = DashboardState(), 100.0, list[Timer]()
        visible: Any = lambda: parts  # noqa: E731
        make: Any = self._timer
        self.spent = 0.0
        self.refresher = Refresher(
            lambda: self.state, lambda: self.now, visible, make, clock=lambda: self.now, cpu=lambda: self.spent
        )

    def _timer(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(self.now + seconds, call))
        return self.timers[-1]

    def change(self) -> None:
        self.state.revisions.raise_("quota")
        self.refresher.wake()

    def pass_(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if not timer.stopped and timer.due <= end]:
            first = min(due, key=lambda timer: timer.due)
            self.timers.remove(first)
            self.now = max(self.now, first.due)
            first.call()
        self.now = end


def test_a_part_that_rests_is_drawn_less_often_and_never_misses_the_last_change() -> None:
    eager, calm = Part(0.0), Part(0.25)
    screen = Screen(eager, calm)
    for _ in range(100):
        screen.change()
        screen.pass_(0.01)
    assert 13 <= len(eager.drawn) <= 16
    assert 4 <= len(calm.drawn) <= 5
    last = screen.now
    screen.change()
    screen.pass_(1.0)
    assert eager.drawn[-1] <= last + INTERVAL + 0.01
    assert calm.drawn[-1] >= last
    assert screen.refresher.resting


def test_a_change_after_a_pause_is_drawn_at_once() -> None:
    calm = Part(0.25)
    screen = Screen(calm)
    screen.change()
    screen.pass_(0.002)
    assert calm.drawn == [pytest.approx(100.0, abs=0.002)]


def test_asked_for_everything_even_a_resting_part_is_drawn() -> None:
    calm = Part(10.0)
    screen = Screen(calm)
    for _ in range(3):
        screen.change()
        screen.refresher.flush()
    assert len(calm.drawn) == 3


@pytest.mark.parametrize(("cost", "draws"), [(0.0, 15), (0.01, 15), (0.04, 5), (9.0, 4)])
def test_drawing_takes_at_most_a_fifth_of_a_core(cost: float, draws: int) -> None:
    part = Part(0.0)
    screen = Screen(part)
    for _ in range(400):
        before = len(part.drawn)
        screen.change()
        screen.pass_(0.01)
        screen.spent += cost * (len(part.drawn) - before)
    assert len(part.drawn) == pytest.approx(4 * draws, abs=4)


def test_after_a_pause_what_cost_much_before_holds_nothing_up() -> None:
    part = Part(0.0)
    screen = Screen(part)
    for _ in range(3):
        screen.change()
        screen.pass_(5.0)
        screen.spent += 9.0
    screen.change()
    screen.pass_(0.002)
    assert len(part.drawn) == 4


def test_only_what_counts_down_is_ticked_when_its_time_has_come() -> None:
    slow, fast, still = Part(0.0, 60.0), Part(0.0, 1.0), Part(0.0, None)
    screen = Screen(slow, fast, still)
    screen.change()
    screen.pass_(10.5)
    assert (len(slow.ticked), len(fast.ticked), len(still.ticked)) == (1, 11, 1)
    screen.change()
    screen.pass_(0.01)
    assert (len(slow.ticked), len(still.ticked)) == (2, 2)


# -- the screen ----------------------------------------------------------------------------------


def layouts(desk: Desk) -> list[int]:
    """Counts from now on how often the screen is laid out."""
    counted: list[int] = []
    screen: Any = desk.app.board
    lay_out = screen._refresh_layout

    def count(*args: object, **options: object) -> None:
        counted.append(1)
        lay_out(*args, **options)

    screen._refresh_layout = count
    return counted


def many_calls(desk: Desk, first: int, count: int) -> None:
    for number in range(first, first + count):
        desk.session.tell(started(f"c{number}", path=f"{number}.py"))
        desk.session.tell(ended(f"c{number}"))
        desk.session.tell(quota(4000 - number, number))


async def test_events_of_a_long_run_lay_nothing_out_anew() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        many_calls(desk, 0, 40)
        await desk.settle()
        counted = layouts(desk)
        for bunch in range(1, 5):
            many_calls(desk, 40 * bunch, 40)
            await desk.settle()
        assert len(counted) <= 1  # the one that the first forty asked for may be late
        assert "199.py" in desk.screen


async def test_a_countdown_draws_its_line_alone() -> None:
    async with dashboard() as desk:
        desk.session.open_breaker("read_file", retry_in=30)
        await desk.settle()
        pane: Any = desk.app.board.breakers
        drawn: list[int] = []
        draw = pane.render_line

        def counted(y: int) -> object:
            drawn.append(y)
            return draw(y)

        pane.render_line = counted
        desk.clock.pass_(1.0)
        await desk.settle()
        assert "OPEN 29 s" in desk.screen
        assert drawn == [3]


async def test_calls_that_ended_long_ago_are_not_looked_at_again() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        many_calls(desk, 0, 500)
        desk.session.tell(started("last", path="last.py"))
        await desk.settle()
        assert [call.call_id for call in desk.app.state.under_way()] == ["last"]
        assert len(desk.app.state._under_way) < 40
        desk.session.tell(breaker("llm", "open", retry_in=9))
        desk.session.finish("cancelled")
        await desk.settle()
        assert desk.app.state.under_way() == []
        assert desk.app.state.calls["last"].outcome == "cancelled"

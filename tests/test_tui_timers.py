"""A timer that goes off once: also where the machine is busy the moment it is set."""

from __future__ import annotations

import asyncio
import time

import pytest
from textual import _time
from textual.app import App

from tests.tui_desk import dashboard
from tui_agent import events as ev
from tui_agent.tui.timers import once


async def test_it_goes_off_however_late_it_is() -> None:
    app: App[None] = App()
    rung: list[str] = []
    async with app.run_test() as pilot:
        once(app, 0.001, lambda: rung.append("late"))
        once(app, 0.001, lambda: rung.append("stopped")).stop()
        time.sleep(0.02)  # noqa: ASYNC251  # nobody else has the machine
        await pilot.pause(0.01)
    assert rung == ["late"]


async def test_it_does_not_go_off_in_what_has_ended() -> None:
    app: App[None] = App()
    rung: list[str] = []
    async with app.run_test():
        timer = once(app, 0.01, lambda: rung.append("after the end"))
    await asyncio.sleep(0.02)
    timer.stop()
    assert rung == []


async def test_what_happens_is_drawn_even_where_every_look_at_the_clock_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # So that a timer of Textual's own is late before it has begun.
    moments = iter(range(10**9))
    monkeypatch.setattr(_time, "get_time", lambda: next(moments) * 0.002)
    async with dashboard() as desk:
        desk.app._refresher._last = 0.0  # it has rested, so what comes now is drawn at once
        desk.session.tell(ev.Snapshot(repo="o/n", ref="main", commit="a" * 40, files=7, truncated=False))
        desk.session.finish("completed", "# Report\n\nIt is drawn.")
        await desk.until(lambda: "It is drawn." in desk.screen and "completed" in desk.screen)

"""What is drawn, when, and that text from outside is never more than text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tui_desk import dashboard
from tests.tui_session import ScriptedSession, breaker, ended, quota, started
from tui_agent import events as ev
from tui_agent.request import RunRequest

# -- what is drawn when --------------------------------------------------------------------------


async def test_an_idle_dashboard_runs_no_timer() -> None:
    async with dashboard(None) as desk:
        await desk.until(lambda: desk.app._refresher.resting)
        await desk.pilot.pause(0.2)
        assert desk.app._refresher.resting


async def test_a_finished_run_lets_the_clock_stand_still() -> None:
    async with dashboard() as desk:
        desk.session.tell(quota(4812, 188))
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.until(lambda: desk.app._refresher.resting)


async def test_an_open_breaker_counts_down_even_between_runs() -> None:
    async with dashboard() as desk:
        desk.session.open_breaker("read_file", retry_in=30)
        desk.session.finish("failed", error="gone")
        await desk.settle()
        assert not desk.app._refresher.resting
        desk.clock.pass_(10)
        desk.app._refresher.tick()
        await desk.pilot.pause()
        assert "OPEN 20 s" in desk.screen


async def test_a_burst_of_events_is_drawn_a_few_times_only() -> None:
    async with dashboard() as desk:
        draws = 0
        pane = desk.app.board.panes[1]
        update = pane.update_from

        def counted(*args: object) -> None:
            nonlocal draws
            draws += 1
            update(*args)  # type: ignore[arg-type]

        pane.update_from = counted  # type: ignore[method-assign]
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        for number in range(500):
            desk.session.tell(started(f"c{number}"))
            desk.session.tell(ended(f"c{number}"))
        await desk.until(lambda: desk.app._refresher._flushing is None)
        assert draws <= 3
        assert "ok 0.50 s" in desk.screen


async def test_only_panes_whose_part_of_the_state_changed_are_drawn() -> None:
    async with dashboard() as desk:
        drawn: list[str] = []
        for pane in desk.app.board.panes:
            update = pane.update_from

            def counted(*args: object, update: Callable[..., None] = update, title: str = pane.TITLE) -> None:
                drawn.append(title)
                update(*args)

            pane.update_from = counted  # type: ignore[method-assign]
        desk.session.open_breaker("read_file")
        await desk.settle()
        assert drawn == ["Breakers"]


# -- text from outside ---------------------------------------------------------------------------

HOSTILE = "[red]x[/red] [@click=app.quit]y[/] \x1b[31m\x1b]0;t\x07 \u202egnp.exe [/nonsense] [bold"


async def test_text_from_outside_is_never_markup_and_never_moves_the_cursor() -> None:
    async with dashboard(RunRequest(repo=f"o/{HOSTILE}")) as desk:
        desk.session.tell(ev.Snapshot(repo="o/n", ref=HOSTILE, commit="\x1b[2J" + "a" * 40, files=1, truncated=False))
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.session.tell(ev.Thought(turn=1, text=HOSTILE))
        desk.session.tell(started("c1", HOSTILE, path=HOSTILE))
        desk.session.tell(ev.AttemptFailed(call_id="c1", name=HOSTILE, attempt=1, reason=HOSTILE, status=503))
        desk.session.tell(breaker(HOSTILE, "open", failures=5, retry_in=30))
        desk.session.tell(ev.Quota(resource=HOSTILE, limit=60, remaining=1, used=59, reset=1_800_000_100))
        desk.session.tell(ev.Notice(level="error", text=HOSTILE))
        desk.session.tell(ev.ReportDelta(turn=2, text=HOSTILE))
        await desk.settle()
        for key in "12345":
            await desk.press(key)
        screen = desk.screen
        assert "\x1b" not in screen
        assert "\x07" not in screen
        assert "\u202e" not in screen
        assert "[red]x[/red] [@click=app.quit]y[/]" in screen
        desk.session.finish("failed", error=HOSTILE)
        await desk.settle()
        assert "\x1b" not in desk.screen
        assert "[red]x[/red]" in desk.screen
        assert desk.app.is_running


async def test_a_refusal_with_markup_in_it_is_text() -> None:
    async with dashboard(session=ScriptedSession(refuse=f"no such thing: {HOSTILE}")) as desk:
        await desk.until(lambda: "[@click=app.quit]y[/]" in desk.screen)
        assert "\x1b" not in desk.screen


async def test_a_hostile_fault_is_text_in_dialog_and_notice() -> None:
    async with dashboard() as desk:
        await desk.press("x")
        await desk.type("[b]x[/b]")
        await desk.press("enter")
        assert '"[b]x[/b]" is no fault' in desk.screen
        await desk.type(":[/]")
        await desk.press("enter")
        await desk.until(lambda: "Injected [b]x[/b]:[/]." in desk.screen)


async def test_without_colours_words_and_shapes_tell_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with dashboard() as desk:
        desk.session.open_breaker("read_file")
        desk.session.tell(started("c1", path="a.py"))
        desk.session.tell(ev.AttemptFailed(call_id="c1", name="read_file", attempt=1, reason="x", status=503))
        await desk.press("3")
        strips = desk.app.screen._compositor.render_strips()
        colours = {
            (style.color, style.bgcolor)
            for strip in strips
            for segment in strip.apply_filter(desk.app._filters[0], desk.app.screen.background_colors[1])
            if (style := segment.style) is not None
        }
        grey = [c.triplet for pair in colours for c in pair if c is not None and c.triplet is not None]
        assert all(abs(t.red - t.green) <= 1 and abs(t.green - t.blue) <= 1 for t in grey)
        assert "● read_file" in desk.screen.replace("●›", "● ")
        assert "OPEN 30 s" in desk.screen
        assert "▶ running" in desk.screen

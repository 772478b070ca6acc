"""The trace pane under the user's hands: following, searching, copying, and another run."""

from __future__ import annotations

import asyncio
from typing import Any

from rich.cells import cell_len
from textual.events import MouseScrollDown

from tests.trace_app import PROGRAM, TraceApp, a_file, at, called, finished, long_run, start, turn, two_turns
from tui_agent import events as ev
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets.trace_text import readable

# -- following ------------------------------------------------------------------------------


async def test_the_end_is_followed_until_the_user_goes_up_and_again_when_they_come_back() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        events = list(long_run(200))
        app.feed(*events[:100])
        assert app.view.is_vertical_scroll_end
        await pilot.press("up", "up")
        above = app.rows()[:-3]
        app.feed(*events[100:150])
        assert app.rows()[: len(above)] == above
        assert app.pane.border_subtitle == "f follows the end"
        await pilot.press("f")
        assert "Part 30 is next" in app.screen_text()
        app.feed(*events[150:])
        assert app.view.is_vertical_scroll_end
        assert app.pane.border_subtitle == ""
        await pilot.press("up", "down")
        assert app.view.following


async def test_the_wheel_ends_and_begins_the_following() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.feed(*long_run(200))
        app.view._on_mouse_scroll_up(_wheel(app))
        await pilot.pause()
        assert not app.view.following
        app.view._on_mouse_scroll_down(_wheel(app))
        await pilot.pause()
        assert app.view.following


def _wheel(app: TraceApp) -> Any:
    return MouseScrollDown(app.view, 1, 1, 0, 0, 0, False, False, False)


async def test_pages_and_home_move_the_cursor_and_the_window() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.feed(*long_run(200))
        await pilot.press("home")
        assert app.rows()[0].startswith("▌")
        await pilot.press("pagedown", "pagedown")
        before = app.under_cursor()
        await pilot.press("pageup", "pagedown")
        assert app.under_cursor() == before
        await pilot.press("end")
        assert app.view.following


async def test_another_width_keeps_the_words_that_are_read() -> None:
    app = TraceApp()
    async with app.run_test(size=(160, 14)) as pilot:
        words = " ".join(f"word{n}" for n in range(2000))
        app.feed(*start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text=words), called(1, "a", 1.2, path="x"))
        await app.go_to(pilot, "reasoning")
        await pilot.press("enter", *["pagedown"] * 4)
        first = int(app.rows()[0].split("│ word")[1].split()[0])
        for width in (80, 40, 20, 160):
            await pilot.resize_terminal(width, 14)
            await pilot.pause()
            now_first = int(app.rows()[0].split("│ word")[1].split()[0])
            assert abs(now_first - first) < 25
            assert all(cell_len(strip.text) == app.width for strip in app.strips())


# -- search ---------------------------------------------------------------------------------


async def test_folded_texts_are_searched_and_a_jump_opens_them() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        assert app.pane.search("FUNCTION_7()") == 1
        assert "(1 hit)" in app.row("read_file src/app.py")
        await pilot.press("n")
        assert "def function_7():" in app.under_cursor()
        assert app.pane.border_subtitle == "1 of 1 · f follows the end"
        app.pane.clear_search()
        assert "hit" not in app.screen_text()


async def test_hits_are_marked_where_they_are_seen_also_across_rows() -> None:
    app = TraceApp()
    async with app.run_test(size=(40, 30)) as pilot:
        words = "a row of words that is cut where the needle lies"
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text=words))
        assert app.pane.search("the needle") == 1
        marked = [
            segment.text
            for strip in app.strips()
            for segment in strip
            if segment.style is not None and (segment.style.underline or segment.style.reverse)
        ]
        assert "".join(marked).replace(" ", "") == "theneedle"
        await pilot.press("n")
        assert any(segment.style and segment.style.reverse for strip in app.strips() for segment in strip)


async def test_the_search_bar_finds_steps_and_gives_the_focus_back() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.press("slash", *"function_1")
        assert app.focused is not app.view
        hits = PROGRAM.count("function_1")
        assert str(app.pane.query_one("#trace-hits").render()) == f"{hits} hits"
        await pilot.press("enter", "enter")
        assert str(app.pane.query_one("#trace-hits").render()) == f"2 of {hits}"
        assert "def function_10():" in app.under_cursor()
        await pilot.press("up")
        assert "def function_1():" in app.under_cursor()
        await pilot.press("escape")
        assert app.focused is app.view
        assert not app.pane.query_one("#trace-search").display
        assert "def function_1():" in app.under_cursor()
        await pilot.press("N", "n", "n")
        assert "def function_10():" in app.under_cursor()


async def test_words_that_are_nowhere_are_said_to_be() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.press("n", "slash", *"[red]", "enter")
        assert str(app.pane.query_one("#trace-hits").render()) == "no hits"
        said = [notification.message for notification in app._notifications]
        assert said == ["Nothing was searched for yet: press / first.", "“[red]” is nowhere in the trace."]


async def test_what_comes_while_searching_counts_too() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="a needle, "))
        assert app.pane.search("needle") == 1
        app.feed(at(ev.ReasoningDelta, 1.2, turn=1, text="another needle and a nee"))
        app.feed(at(ev.ReasoningDelta, 1.3, turn=1, text="dle"))
        assert app.view.told == "3 hits"
        app.feed(at(ev.TurnRestarted, 1.4, turn=1, reason="reset"))
        assert app.view.told == "no hits"


async def test_a_long_trace_is_searched_in_slices_and_wholly() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*long_run(10_000))
        found = app.pane.search("imported")
        assert 0 < found < 2000
        await pilot.pause()
        while not app.view.search.done:
            await pilot.pause()
        assert app.view.told == "2,000 hits"


async def test_what_is_found_is_drawn_before_a_long_trace_is_searched_wholly() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*long_run(20_000))
        await pilot.pause()
        drawn = app.view.lines_drawn
        app.pane.search("imported")
        while app.view.lines_drawn == drawn:
            await asyncio.sleep(0)
        assert not app.view.search.done


# -- copying --------------------------------------------------------------------------------


async def test_a_node_is_copied_whole_with_all_below_it() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "read_file src/app.py")
        await pilot.press("c")
        assert app.clipboard.startswith("✓ read_file src/app.py ok 0.21 s\n  arguments")
        assert "    def function_140():\n        return 140\n" in app.clipboard
        await pilot.press("right")
        await app.go_to(pilot, "observation")
        assert app.pane.copy_text() == readable(a_file("src/app.py", PROGRAM))


async def test_what_is_copied_cannot_act_where_it_is_pasted() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text="\x1b[31m\tx\ud800"))
        await app.go_to(pilot, "reasoning")
        await pilot.press("c")
        assert app.clipboard == "␛[31m\tx⟨U+D800⟩"


# -- runs -----------------------------------------------------------------------------------


async def test_a_new_run_begins_with_an_empty_trace_at_its_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.feed(*long_run(200), finished(900.0))
        await pilot.press("home")
        app.pane.search("part")
        app.feed(*start("run-2", "Another question"))
        assert "Another question" in app.screen_text()
        assert "Turn" not in app.screen_text()
        assert app.view.following
        assert app.view.told == ""
        app.state = DashboardState()
        app.draw()
        assert "Nothing to trace yet" in app.screen_text()


async def test_a_run_that_is_stepped_back_keeps_what_the_user_opened() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("right")
        await app.go_to(pilot, "thought")
        await pilot.press("enter")
        before = app.screen_text()
        for events in (two_turns()[:-1], two_turns()[:7], two_turns()):
            app.state = DashboardState()
            app.feed(*events)
            assert "│ First the root." in app.screen_text()
            assert "thought" in app.under_cursor()
        assert app.screen_text() == before


async def test_a_run_seen_at_once_looks_as_it_did_when_it_was_watched() -> None:
    watched, replayed = TraceApp(), TraceApp()
    events = [*two_turns(), at(ev.Notice, 2.5, level="info", text="said"), finished(3.0)]
    async with watched.run_test(size=(100, 30)):
        for event in events:
            watched.feed(event)
        rows = watched.rows()
    async with replayed.run_test(size=(100, 30)):
        replayed.feed(*events)
        assert replayed.rows() == rows

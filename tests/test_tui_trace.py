"""The trace pane: what stands on its lines, what opens and folds, how it looks."""

from __future__ import annotations

from typing import Any

import pytest
from textual.color import Color

from tests.trace_app import TraceApp, at, called, ended, finished, start, turn, two_turns
from tui_agent import events as ev
from tui_agent.tui.themes import DARK, LIGHT
from tui_agent.tui.widgets.trace_tree import walk

# -- lines ----------------------------------------------------------------------------------


async def test_an_empty_pane_says_what_comes_here() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.draw()
        await pilot.press("enter", "up", "right", "left", "end", "asterisk", "minus", "n", "c")
        assert "Nothing to trace yet" in app.screen_text()


@pytest.mark.parametrize(
    ("outcome", "attempts", "cache", "result", "words"),
    [
        ("ok", 2, "memory", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s · 2 attempts · memory"),
        ("ok", 1, "miss", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s"),
        ("ok", 0, "hit", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s · cache"),
        ("error", 1, "miss", {"ok": False, "error": "No such file."}, "✗ read_file src/app.py  error 0.21 s · No such"),
        (
            "fallback", 4, "miss", {"ok": False, "error": "GitHub is down."},
            "↯ read_file src/app.py  fallback 0.21 s · 4 attempts · GitHub is down.",
        ),
    ],
)  # fmt: skip
async def test_a_call_says_how_it_stands_in_shape_and_word(
    outcome: str, attempts: int, cache: str, result: dict[str, Any], words: str
) -> None:
    app = TraceApp()
    async with app.run_test(size=(120, 20)):
        app.feed(*start(), turn(1, 1.0), called(1, "a", 1.1, path="src/app.py"))
        assert "▶ read_file src/app.py … running" in app.screen_text()
        app.feed(ended(1, "a", 1.3, result, "read_file", outcome, attempts, cache, path="src/app.py"))
        assert words in app.screen_text()


async def test_what_runs_when_a_run_is_cancelled_says_cancelled() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*start(), turn(1, 1.0), called(1, "a", 1.1, path="x.py"), finished(2.0, "cancelled"))
        assert "■ read_file x.py  cancelled 0.90 s" in app.screen_text()
        assert "■ cancelled" in app.rows()[app.rows().index(app.row("read_file x.py")) + 1]


async def test_a_failed_run_keeps_its_trace_and_says_why() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*two_turns(), finished(3.0, "failed", "The model's key was refused."))
        assert "failed The model's key was refused." in app.screen_text()
        assert "read_file src/app.py" in app.screen_text()


async def test_the_snapshot_shows_its_trouble_while_it_is_fetched() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.feed(
            start()[0],
            at(ev.AttemptFailed, 0.1, call_id=None, name="snapshot", attempt=1, reason="Bad Gateway", status=502),
            at(ev.RetryScheduled, 0.1, call_id=None, name="snapshot", attempt=2, of=4, delay=2.0),
        )
        assert "▶ snapshot o/r … retry 2 of 4, in 2 s" in app.screen_text()
        app.feed(start()[1])
        assert "✓ snapshot main @ a1b2c3d  3 files" in app.screen_text()
        await app.go_to(pilot, "snapshot")
        await pilot.press("right")
        assert "✗ attempt 1 failed 502 Bad Gateway" in app.screen_text()


async def test_waits_count_down_and_are_told_as_past_when_they_are_over() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.feed(
            *start(),
            turn(1, 1.0),
            called(1, "a", 1.0, path="x.py"),
            called(1, "b", 1.0, path="y.py"),
            at(ev.AttemptFailed, 2.0, call_id="a", name="read_file", attempt=1, reason="time-out", status=None),
            at(ev.RetryScheduled, 2.0, call_id="a", name="read_file", attempt=2, of=4, delay=3.0),
            at(ev.RateLimitWait, 2.0, call_id="b", name="read_file", kind="primary", seconds=34.0, until=9e9),
        )
        assert app.pane.tick(2.0) == pytest.approx(1.0)
        assert "▶ read_file x.py … retry 2 of 4, in 3 s" in app.screen_text()
        assert "▶ read_file y.py … rate limit, 34 s left" in app.screen_text()
        assert app.pane.tick(3.5) == pytest.approx(0.5)
        assert "in 2 s" in app.screen_text()
        assert "33 s left" in app.screen_text()
        app.pane.tick(5.5)
        assert "▶ read_file x.py … running, attempt 2" in app.screen_text()
        await app.go_to(pilot, "x.py")
        await pilot.press("right")
        assert "↻ attempt 2 of 4  after 3.0 s" in app.screen_text()
        app.feed(ended(1, "b", 37.0, {"ok": True}, path="y.py"), ended(1, "a", 37.0, {"ok": True}, path="x.py"))
        assert app.pane.tick(37.0) is None
        await app.go_to(pilot, "y.py")
        await pilot.press("right")
        assert "◷ rate limit  waited 34 s" in app.screen_text()


async def test_a_turn_that_starts_over_shows_why_and_not_what_is_void() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="half a tho"))
        app.feed(at(ev.Notice, 1.15, level="warning", text="The line is weak."))
        app.feed(at(ev.TurnRestarted, 1.2, turn=1, reason="the connection was reset"))
        assert "half a tho" not in app.screen_text()
        app.feed(at(ev.ReasoningDelta, 1.3, turn=1, text="a whole thought"))
        rows = app.screen_text()
        assert "↺ the stream broke, the turn starts over the connection was reset" in rows
        assert "a whole thought" in rows
        assert rows.count("The line is weak.") == 1


async def test_notices_stand_where_they_were_given() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)):
        events = two_turns()
        notices = [
            at(ev.Notice, when, level="info", text=f"notice {when}")  # before, within and after the turns
            for when in (0.7, 1.25, 2.2, 9.5)
        ]
        app.feed(*sorted([*events, *notices[:3], finished(9.0)], key=lambda event: event.at))
        app.feed(notices[3], at(ev.Notice, 0.0, None, level="error", text="between runs"))
        live = [node.subject for node in walk(app.view.tree_.root) if node.kind == "notice"]
        assert live == ["notice 0.7", "notice 1.25", "notice 2.2", "notice 9.5", "between runs"]
        parents = [node.parent and node.parent.name for node in walk(app.view.tree_.root) if node.kind == "notice"]
        assert parents == ["", "Turn 1", "Turn 2", "", ""]


async def test_the_model_s_own_troubles_stand_in_its_turn() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(
            *start(),
            turn(1, 1.0),
            at(ev.AttemptFailed, 1.2, call_id=None, name="llm", attempt=1, reason="overloaded", status=503),
            at(ev.RetryScheduled, 1.2, call_id=None, name="llm", attempt=2, of=4, delay=1.0),
        )
        assert "Turn 1 of 15 … model: retry 2 of 4, in 1 s" in app.screen_text()
        assert "✗ model: attempt 1 failed 503 overloaded" in app.screen_text()
        app.feed(at(ev.ReasoningDelta, 2.3, turn=1, text="So."))
        assert "Turn 1 of 15 … thinking" in app.screen_text()


# -- opening and folding --------------------------------------------------------------------


async def test_the_running_turn_is_open_and_those_before_fold() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*two_turns()[:6])
        assert "▶ list_directory … running" in app.screen_text()
        app.feed(*two_turns()[6:])
        assert "▸ ✓ Turn 1 list_directory  1 ok · 1.0 s" in app.screen_text()
        assert "▾ ▶ Turn 2 of 15 read_file ×2 … 1 running, 1 done" in app.screen_text()
        assert "First the root." not in app.screen_text()


async def test_a_turn_that_the_user_folded_or_looked_into_stays_so() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns()[:6])
        await app.go_to(pilot, "thought")
        await pilot.press("enter", "end")
        app.feed(*two_turns()[6:])
        assert "│ First the root." in app.screen_text()
        await app.go_to(pilot, "Turn 2")
        await pilot.press("left", "end")
        app.feed(ended(2, "c", 2.6, {"ok": True}, path="src/nope.py"))
        assert "▸ ▶ Turn 2" in app.screen_text()


async def test_nothing_folds_under_the_eyes_of_who_reads_above_the_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns()[:6])
        await pilot.press("up", "up")
        app.feed(*two_turns()[6:])
        assert "▾ ✓ Turn 1" in app.screen_text()
        assert "First the root." in app.screen_text()


async def test_an_observation_opens_to_the_file_as_it_is() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "read_file src/app.py")
        await pilot.press("enter")
        assert "▸ arguments  path: src/app.py, owner: o, repo: r" in app.screen_text()
        await app.go_to(pilot, "observation")
        await pilot.press("space")
        rows = app.rows()
        begin = next(at for at, row in enumerate(rows) if row.endswith("│ content:"))
        assert [row.split("│ ")[-1] for row in rows[begin + 1 : begin + 4]] == [
            "def function_0():", "    return 0", "     │",
        ]  # fmt: skip
        assert any(row.endswith("│ path: src/app.py") for row in rows)


async def test_reasoning_streams_open_and_folds_when_the_calls_come() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="I look at the root. "))
        app.feed(at(ev.ReasoningDelta, 1.2, turn=1, text="Then at the manifest."))
        assert "│ I look at the root. Then at the manifest." in app.screen_text()
        app.feed(called(1, "a", 1.4, path="x"))
        assert "▸ reasoning  I look at the root. Then at the manif" in app.screen_text()


async def test_what_streams_folded_shows_its_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReportDelta, 1.1, turn=1, text="word " * 60 + "the end"))
        assert app.row("writing  …").endswith("word the end")
        app.feed(at(ev.Thought, 1.2, turn=1, text="It was no report."))
        assert "▸ thought  It was no report." in app.screen_text()
        assert "writing" not in app.screen_text().replace("… writing", "")


async def test_right_goes_in_and_left_comes_out() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("right", "right")
        assert "reasoning" in app.under_cursor()
        await pilot.press("right", "right")
        assert "│ The root shows" in app.under_cursor()
        await pilot.press("left")
        assert "▸ reasoning" in app.under_cursor()
        await pilot.press("left")
        assert "▾ ✓ Turn 1" in app.under_cursor()
        await pilot.press("left")
        assert "▸ ✓ Turn 1" in app.under_cursor()
        await pilot.press("left")
        assert "▸ ✓ Turn 1" in app.under_cursor()


async def test_everything_opens_and_folds_at_once_and_the_cursor_keeps_its_line() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("asterisk")
        assert "Turn 1" in app.under_cursor()
        assert "│ First the root." in app.screen_text()
        await pilot.press("minus")
        assert [row for row in app.rows() if "▾" in row] == []
        assert "Turn 1" in app.under_cursor()


async def test_a_click_on_a_line_opens_and_folds_it_and_takes_the_focus() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        app.set_focus(None)
        await pilot.pause()
        row = app.rows().index(app.row("Turn 1"))
        await pilot.click(app.view, offset=(9, row))
        assert "▾ ✓ Turn 1" in app.rows()[row]
        assert "Turn 1" in app.under_cursor()
        await pilot.click(app.view, offset=(9, row + 1))
        assert "│ The root shows" in app.rows()[row + 2]
        await pilot.click(app.view, offset=(9, row + 2))
        assert "│ The root shows" in app.under_cursor()
        await pilot.click(app.view, offset=(9, row))
        assert "▸ ✓ Turn 1" in app.rows()[row]


# -- the look -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [160, 80, 40])
async def test_every_width_shows_the_tool_and_its_state(width: int) -> None:
    app = TraceApp()
    async with app.run_test(size=(width, 20)):
        app.feed(*two_turns())
        assert "✓ read_file" in app.row("read_file") or "▶ Turn 2" in app.row("read_file")
        done = next(row for row in app.rows() if "✓ read_file" in row)
        assert "app.py" in done
        assert "ok" in done
        assert "running" in next(row for row in app.rows() if "▶ read_file" in row)


async def test_without_colours_shapes_and_words_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TraceApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        assert app.under_cursor().startswith("▌")
        assert "✓ read_file src/app.py  ok" in app.screen_text()
        assert app.export_screenshot()


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name, "textual-dark", "textual-light", "nord", "solarized-light"])
async def test_every_style_can_be_read_in_dark_and_light_themes(theme: str) -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.register_theme(DARK)
        app.register_theme(LIGHT)
        app.theme = theme
        await pilot.pause()
        for name in sorted(app.view.COMPONENT_CLASSES - {"trace--bar", "trace--cursor", "trace--guide"}):
            style = app.view.get_component_rich_style(name)
            assert style.color is not None
            assert style.bgcolor is not None
            ink, paper = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            assert _contrast(ink, paper) >= 3, (theme, name)


def _contrast(one: Color, other: Color) -> float:
    """Contrast ratio by WCAG 2."""

    def luminance(color: Color) -> float:
        parts = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in color.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)

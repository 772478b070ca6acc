"""The trace pane at its limits: text from outside, ten thousand events, everything at once."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len

from tests.sizes import many, some
from tests.trace_app import (
    PROGRAM,
    TraceApp,
    a_file,
    at,
    called,
    ended,
    finished,
    long_run,
    rows_one_by_one,
    start,
    turn,
    two_turns,
)
from tui_agent import events as ev
from tui_agent.tui.widgets.trace_tree import walk

HOSTILE = {
    "markup": "[red]not red[/red]",
    "action": "[@click=app.quit]do not click[/]",
    "escapes": "\x1b]0;title\x07 and \x1b[31mred\x1b[0m",
    "bidi": "right to left \u202eoverride\u202c",
    "wide": "漢字と仮名、そして全角文字" * 9,
    "emoji": "👩\u200d💻 ❤\ufe0f 🇩🇪 e\u0301\u0302 \u200b\ufeff",
    "long": "x" * 20_000,
    "controls": "a\r\nb\rc\x00\x9b31m\tz\ud800",
    "empty": "",
}


# -- text from outside ----------------------------------------------------------------------


@pytest.mark.parametrize("width", some([80, 160, 40, 20, 5], 4))
@pytest.mark.parametrize("kind", HOSTILE)
async def test_text_from_outside_is_shown_and_never_acts(kind: str, width: int) -> None:
    text = HOSTILE[kind]
    app = TraceApp()
    async with app.run_test(size=(width, 30)) as pilot:
        app.feed(
            *start(question=text),
            at(ev.Notice, 0.6, level="warning", text=text),
            turn(1, 1.0),
            at(ev.Reasoning, 1.1, turn=1, text=text),
            at(ev.Thought, 1.2, turn=1, text=text),
            called(1, "a", 1.3, text or "tool", path=text),
            at(ev.AttemptFailed, 1.4, call_id="a", name="read_file", attempt=1, reason=text, status=None),
            ended(1, "a", 1.5, {"ok": False, "error": text, text: [text]}, text or "tool", "error", path=text),
            finished(2.0, "failed", text),
        )
        await pilot.press("asterisk", "home")
        app.pane.search(text[:9])
        for key in (*["pagedown"] * 5, "end", "pageup", "home"):
            for strip in app.strips():
                assert cell_len(strip.text) == app.width
                assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u200b\ufeff" for c in strip.text)
                assert not any(segment.style and segment.style.meta for segment in strip)
            await pilot.press(key)
        await pilot.click(app.view, offset=(min(6, app.width - 1), 2))
        assert app.is_running
        assert app.export_screenshot()


async def test_markup_stands_on_the_screen_as_it_was_written() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 20)):
        app.feed(*start(question="[red]x[/red] [@click=app.quit]y[/]"), turn(1, 1.0))
        assert "[red]x[/red] [@click=app.quit]y[/]" in app.screen_text()


# -- what it costs --------------------------------------------------------------------------


async def test_only_what_is_seen_is_laid_out_however_much_is_opened() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        events = [*start(), turn(1, 1.0)]
        for n in range(400):
            events += [called(1, f"c{n}", 2.0, path=f"f{n}"), ended(1, f"c{n}", 2.0, a_file(f"f{n}", PROGRAM))]
        app.feed(*events)
        assert app.view.tree_.wrapped == 0
        await pilot.press("home", "asterisk")
        await pilot.pause()
        assert app.view.tree_.height > 5_000
        assert app.view.tree_.wrapped < 700
        before = app.view.tree_.wrapped
        await pilot.press(*["pagedown"] * 3)
        assert app.view.tree_.wrapped - before < 700


async def test_a_line_of_20_000_characters_opens_at_once() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(
            *start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text="y" * 20_000), called(1, "a", 1.2, path="x")
        )
        await app.go_to(pilot, "reasoning")
        drawn = app.view.lines_drawn
        await pilot.press("enter")
        assert 20_000 / 100 < app.view.tree_.wrapped < 20_000 / 80
        assert app.view.lines_drawn - drawn <= 3 * app.view.size.height
        assert "│ yyyy" in app.screen_text()


async def test_text_that_streams_is_laid_out_from_its_last_row_on() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)):
        app.feed(*start(), turn(1, 1.0))
        for n in range(1500):
            app.feed(at(ev.ReasoningDelta, 1.1, turn=1, text=f"word{n} "))
        rows = app.node("reasoning").text_rows
        assert rows > 120
        # a piece lays out the row that it grows and at most the one that it begins
        assert app.view.tree_.wrapped <= 1500 + 2 * rows


async def test_what_streams_out_of_sight_is_not_laid_out() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.feed(*long_run(200), turn(99, 500.0))
        await pilot.press("home")
        await pilot.pause()
        wrapped, drawn = app.view.tree_.wrapped, app.view.lines_drawn
        for n in range(200):
            app.feed(at(ev.ReasoningDelta, 501.0, turn=99, text=f"word{n} "))
        await pilot.pause()
        assert (app.view.tree_.wrapped, app.view.lines_drawn) == (wrapped, drawn)


async def test_the_ten_thousandth_event_costs_what_the_hundredth_did() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        events = list(long_run(10_000))
        looked, touched = [], []
        for n, event in enumerate(events):
            before = app.view.sync.looked_at
            app.state.apply(event)
            app.view.sync.update(app.state, app.state.at)
            looked.append(app.view.sync.looked_at - before)
            touched.append(len(app.view.tree_.dirty))
            app.draw()
            if n % 1000 == 0:
                await pilot.pause()
        assert max(looked[9000:]) <= max(looked[90:110])
        assert max(touched[9000:]) <= max(touched[90:110])
        await pilot.pause()
        drawn = app.view.lines_drawn
        app.feed(called(2001, "z", 3000.0, path="last"))
        await pilot.pause()
        assert app.view.lines_drawn - drawn <= app.view.size.height


async def test_a_change_on_one_line_draws_that_line_alone() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.pause()
        drawn = app.view.lines_drawn
        app.feed(ended(2, "c", 2.6, {"ok": False, "error": "No."}, outcome="error", path="src/nope.py"))
        await pilot.pause()
        assert app.view.lines_drawn - drawn <= 3


# -- everything together --------------------------------------------------------------------

KEYS = (
    "up", "down", "pageup", "pagedown", "home", "end", "f", "left", "right", "enter", "space", "asterisk", "minus",
    "n", "N", "c",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(many(3, 1)))
async def test_whatever_happens_in_whatever_order_the_picture_stays_whole(seed: int) -> None:
    rnd = random.Random(seed)
    app = TraceApp()
    async with app.run_test(size=(70, 16)) as pilot:
        app.feed(*start())
        number, open_calls = 0, []
        for step in range(160):
            when, what = 1.0 + step, rnd.random()
            if what < 0.08 or not number:
                number += 1
                app.feed(turn(number, when))
            elif what < 0.3:
                piece = "".join(
                    rnd.choice(["needle ", "漢字", "\n", "word ", "\x1b[2J"]) for _ in range(rnd.randint(1, 40))
                )
                kind = rnd.choice([ev.ReasoningDelta, ev.ReportDelta, ev.Thought, ev.Reasoning])
                app.feed(at(kind, when, turn=number, text=piece))
            elif what < 0.4:
                open_calls.append((number, f"c{step}"))
                app.feed(called(number, f"c{step}", when, path="x/y.py"))
            elif what < 0.5 and open_calls:
                of, call_id = open_calls.pop(rnd.randrange(len(open_calls)))
                content = "needle\n" * rnd.randint(0, 80)
                app.feed(ended(of, call_id, when, a_file("x/y.py", content), path="x/y.py"))
            elif what < 0.53:
                app.feed(at(ev.TurnRestarted, when, turn=number, reason="reset"))
            elif what < 0.56:
                app.feed(at(ev.Notice, when, level="info", text="needle " * rnd.randint(1, 30)))
            elif what < 0.59:
                app.pane.search(rnd.choice(["needle", "漢", "", "nowhere"]))
            elif what < 0.61:
                await pilot.resize_terminal(rnd.choice([30, 70, 120]), rnd.choice([6, 16, 40]))
            elif what < 0.64:
                app.view.scroll_to(y=rnd.randint(0, 200), animate=False)
            else:
                key = rnd.choice(KEYS)
                await pilot.press(key)
                assert key in "nNc" or app.under_cursor()
            rows = app.strips()
            assert all(strip.cell_length == cell_len(strip.text) == app.width for strip in rows)
            assert not app.view.following or app.view.is_vertical_scroll_end
            assert app.view.tree_.height == len(list(rows_one_by_one(app.view.tree_.root)))
            found = [node for node in walk(app.view.tree_.root) if node.hits]
            assert sum(node.hits for node in found) == app.view.search.count == app.view.tree_.root.hits_below
        drawn = app.rows()
        app.view._strips.clear()
        app.view._painter.forget()
        assert app.rows() == drawn

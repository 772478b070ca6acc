"""What each pane draws of a state: lanes, breakers, rate limit, header, tabs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from textual.app import App, ComposeResult
from textual.widget import Widget

from tests.tui_session import breaker, ended, finished, quota, stamped, started
from tui_agent import events as ev
from tui_agent.safe_text import cell_width
from tui_agent.tui.lane_picture import AxisSpan, Columns, argument_words, axis_line, lane_line, span_of, standing
from tui_agent.tui.state import Call, DashboardState
from tui_agent.tui.widgets.breakers import BreakersPane, state_words
from tui_agent.tui.widgets.header import RunHeader
from tui_agent.tui.widgets.lanes import LanesPane
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.widgets.rate_limit import RateLimitPane, sparkline
from tui_agent.tui.widgets.tabs import PaneTabs
from tui_agent.tui.words import clock_face, duration, short_count

EPOCH = 1_800_000_000.0
HOSTILE = "[red]x[/red]\x1b[31m\u202e[@click=app.quit]y"
Lines = Callable[[], Awaitable[list[str]]]


def run_of(*events: tuple[float, ev.Event], source: str = "github", repo: str = "o/n") -> DashboardState:
    state = DashboardState()
    begin = ev.RunStarted(repo=repo, source=source, ref=None, question="Q?", engine="llm", model="m")  # type: ignore[arg-type]
    for event in stamped((0.0, begin), *events):
        state.apply(event)
    return state


@asynccontextmanager
async def shown(widget: Widget, size: tuple[int, int]) -> AsyncIterator[Lines]:
    """A widget alone on a screen; what is yielded answers the lines of the screen."""

    class Host(App[None]):
        AUTO_FOCUS = ""
        CSS = "Pane { padding: 0; height: 1fr; } RunHeader, PaneTabs { height: 1; }"

        def compose(self) -> ComposeResult:
            yield widget

    app = Host()
    async with app.run_test(size=size) as pilot:

        async def lines() -> list[str]:
            await pilot.pause()
            strips = app.screen._compositor.render_strips()
            return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

        await pilot.pause()
        yield lines


async def drawn(part: Pane | RunHeader, state: DashboardState, now: float, size: tuple[int, int]) -> list[str]:
    """The lines that a pane draws of a state at a moment."""
    async with shown(part, size) as lines:
        part.update_from(state, now)
        return await lines()


# -- numbers in words -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (12_345, "12.3k"),
        (128_000, "128k"),
        (999_949, "1000k"),
        (1_000_000, "1M"),
        (1_250_000, "1.2M"),
        (2_000_000_000, "2.0G"),
    ],
)
def test_counts_are_short(number: int, text: str) -> None:
    assert short_count(number) == text


@pytest.mark.parametrize(("seconds", "text"), [(0, "00:00"), (72.9, "01:12"), (3723, "1:02:03"), (-1, "00:00")])
def test_the_clock_shows_minutes_and_hours(seconds: float, text: str) -> None:
    assert clock_face(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.00 s"),
        (0.417, "0.42 s"),
        (1.23, "1.2 s"),
        (9.99, "10 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (1800, "30 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_durations_read_as_a_person_says_them(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# -- lanes ------------------------------------------------------------------------------------


def lane(call: Call, now: float, span: AxisSpan, width: int = 80) -> str:
    return lane_line(call, Columns.fitting(width), span, now, first_of_turn=True).plain


def test_columns_never_take_more_than_there_is() -> None:
    state = run_of((1, started("c", path="src/a/very/long/path/名前.py")), (3, ended("c", "read_file", elapsed=2.0)))
    call = state.calls["c"]
    for width in range(1, 200):
        columns = Columns.fitting(width)
        assert min(columns.label, columns.bars, columns.words) >= 0
        assert cell_width(lane(call, 3, span_of([call], 3), width)) <= max(width, 11)


def test_the_axis_spans_the_calls_and_their_planned_waits() -> None:
    state = run_of(
        (2, started("a")),
        (3, ended("a", elapsed=1.0)),
        (3, started("b")),
        (4, ev.AttemptFailed(call_id="b", name="read_file", attempt=1, reason="x", status=503)),
        (4, ev.RetryScheduled(call_id="b", name="read_file", attempt=2, of=4, delay=6)),
    )
    assert span_of(state.lanes, 5.0) == AxisSpan(2, 10)


def test_the_axis_is_marked_in_run_seconds() -> None:
    line = axis_line(Columns(10, 50, 0), AxisSpan(12.0, 22.0)).plain
    assert "12 s" in line
    assert "20 s" in line
    assert cell_width(line) == 61


def test_calls_that_ran_side_by_side_stand_above_each_other() -> None:
    state = run_of((0, started("a")), (0, started("b")), (5, ended("a", elapsed=5.0)), (10, ended("b", elapsed=10.0)))
    span = span_of(state.lanes, 10)
    one, two = (lane(call, 10, span) for call in state.lanes)
    assert one.index("━") == two.index("━")
    assert one.count("━") * 2 == pytest.approx(two.count("━"), abs=1)


def test_a_failed_attempt_is_marked_with_its_status_and_the_wait_counts_down() -> None:
    state = run_of(
        (0, started("c", path="a.py")),
        (2, ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="server error", status=503)),
        (2, ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=6)),
    )
    call = state.calls["c"]
    line = lane(call, 6.8, span_of([call], 6.8))
    assert "✗503┄" in line
    assert "·" in line
    assert "retry in 1.2 s (2/4)" in line
    later = lane(call, 9.0, span_of([call], 9.0))
    assert "attempt 2" in later
    assert later.rstrip().count("━") > 0


def test_a_failure_is_seen_however_short_it_was() -> None:
    state = run_of(
        (0, started("c")),
        (0.001, ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="x", status=503)),
        (0.001, ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=9)),
        (9.1, ended("c", outcome="fallback", attempts=1, elapsed=9.1)),
    )
    line = lane(state.calls["c"], 10, span_of(state.lanes, 10))
    assert "✗503┄" in line
    assert "▾" in line


def test_a_wait_for_a_limit_is_another_picture_than_a_retry() -> None:
    state = run_of(
        (0, started("c")),
        (1, ev.RateLimitWait(call_id="c", name="read_file", kind="primary", seconds=40, until=EPOCH + 41)),
    )
    line = lane(state.calls["c"], 11.0, span_of(state.lanes, 11.0))
    assert "▒" in line
    assert "rate limit, 30 s" in line


@pytest.mark.parametrize(
    ("event", "mark", "words"),
    [
        (ended("c", attempts=0, cache="memory", elapsed=0.0), "◆", "◆ from memory"),
        (ended("c", attempts=0, cache="hit", elapsed=0.0), "◆", "◆ cache hit"),
        (ended("c", cache="revalidated", elapsed=0.3), "━", "◇ revalidated 0.30 s"),
        (ended("c", outcome="error", elapsed=0.3), "!", "error 0.30 s"),
        (ended("c", outcome="fallback", attempts=0, elapsed=0.0), "▾", "fallback 0.00 s"),
        (ended("c", elapsed=0.3), "━", "ok 0.30 s"),
    ],
)
def test_how_a_call_ended_is_told_by_shape_and_by_word(event: ev.Event, mark: str, words: str) -> None:
    state = run_of((1, started("c")), (1.3, event))
    line = lane(state.calls["c"], 2.0, AxisSpan(0, 4))
    assert mark in line
    assert line.rstrip().endswith(words)


def test_a_cancelled_call_says_so() -> None:
    state = run_of((1, started("c")), (2, finished("cancelled", elapsed=2.0)))
    assert standing(state.calls["c"], 9.0)[0] == "cancelled 1.0 s"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"owner": "o", "repo": "n", "path": "src/a.py", "offset": 6000}, "src/a.py"),
        ({"owner": "o", "repo": "n", "pattern": "**/*.py"}, "**/*.py"),
        ({"owner": "o", "repo": "n", "per_page": 30}, "per_page=30"),
        ({"owner": "o", "repo": "n", "path": ""}, ""),
        ({"path": ["odd"]}, "path=['odd']"),
    ],
)
def test_a_lane_is_named_by_what_the_call_is_about(arguments: ev.JsonObject, text: str) -> None:
    assert argument_words(arguments) == text


async def test_many_lanes_scroll_and_the_newest_stays_in_sight() -> None:
    state = run_of(*((n, started(f"c{n}", path=f"{n}.py")) for n in range(300)))
    pane = LanesPane()
    async with shown(pane, (70, 12)) as lines:
        pane.update_from(state, 300)
        screen = "\n".join(await lines())
        assert "299.py" in screen
        assert "280.py" not in screen
        view = pane.view
        view.scroll_home(animate=False)
        assert " 0.py" in "\n".join(await lines())
        for event in stamped((301, started("new", path="new.py"))):
            state.apply(event)
        pane.update_from(state, 301)
        screen = "\n".join(await lines())
        assert " 0.py" in screen
        assert "new.py" not in screen
        view.scroll_end(animate=False)
        assert "new.py" in "\n".join(await lines())


async def test_the_lanes_ask_for_time_only_while_a_call_is_under_way() -> None:
    state = run_of((0, started("c")))
    pane = LanesPane()
    async with shown(pane, (70, 12)) as lines:
        pane.update_from(state, 1)
        assert pane.tick(1) == 0.25
        assert "1.0 s" in "\n".join(await lines())
        for event in stamped((2, ended("c", elapsed=2.0))):
            state.apply(event)
        pane.update_from(state, 2)
        assert pane.tick(2) is None
        assert "ok 2.0 s" in "\n".join(await lines())


async def test_none_yet_is_said_only_while_there_may_be_some() -> None:
    screen = "\n".join(await drawn(LanesPane(), run_of(), 1, (60, 6)))
    assert "No tool has been called yet." in screen
    screen = "\n".join(await drawn(LanesPane(), run_of((1.0, finished("completed", "Done."))), 2, (60, 6)))
    assert "No tool was called." in screen and "yet" not in screen


async def test_names_of_calls_are_text() -> None:
    state = run_of((0, started("c", HOSTILE, path=HOSTILE)))
    screen = "\n".join(await drawn(LanesPane(), state, 1, (120, 6)))
    assert "[red]x[/red]␛[31m" in screen
    assert "\x1b" not in screen
    assert "\u202e" not in screen


# -- breakers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "now", "words"),
    [
        (breaker("llm", "closed", failures=2), 1, "CLOSED"),
        (breaker("llm", "open", failures=5, retry_in=30), 8.2, "OPEN 23 s"),
        (breaker("llm", "open", failures=5, retry_in=30), 99, "OPEN 0 s"),
        (breaker("llm", "half_open", failures=5), 1, "HALF-OPEN"),
        (breaker("llm", "open", cause="user"), 1, "OPEN ISOLATED"),
    ],
)
def test_a_breakers_state_reads_as_agreed(event: ev.Event, now: float, words: str) -> None:
    state = run_of((1, event))
    assert state_words(state.breakers["llm"], now) == words


async def test_a_row_reads_name_state_failures_of_threshold() -> None:
    state = run_of((1, breaker("read_file", "open", failures=5, retry_in=30)), (1, breaker("llm", "half_open")))
    rows = [line.strip("│ ").split() for line in await drawn(BreakersPane(), state, 9, (46, 9))]
    assert ["●", "read_file", "OPEN", "22", "s", "5/5"] in [row[:6] for row in rows]
    assert ["○", "get_commits", "CLOSED", "0/5"] in [row[:4] for row in rows]
    assert ["◐", "llm", "HALF-OPEN", "0/5"] in [row[:4] for row in rows]


@pytest.mark.parametrize("width", [20, 26, 32, 40, 60])
async def test_rows_fit_their_pane_and_keep_state_and_count(width: int) -> None:
    state = run_of((1, breaker("list_directory", "open", failures=5, retry_in=300)))
    rows = [line for line in await drawn(BreakersPane(), state, 1, (width, 9)) if "OPEN 300 s" in line]
    assert len(rows) == 1
    assert "5/5" in rows[0]
    assert cell_width(rows[0]) <= width


async def test_the_countdown_asks_for_the_next_whole_second_and_rests_when_all_is_closed() -> None:
    state = run_of((1, breaker("llm", "open", failures=5, retry_in=30)))
    pane = BreakersPane()
    async with shown(pane, (46, 9)) as lines:
        pane.update_from(state, 1.0)
        assert pane.tick(8.3) == pytest.approx(0.7)
        assert "OPEN 23 s" in "\n".join(await lines())
        assert pane.tick(31.5) is None
        for event in stamped((32, breaker("llm", "closed"))):
            state.apply(event)
        pane.update_from(state, 32)
        assert pane.tick(32) is None


async def test_where_not_all_rows_fit_the_chosen_one_is_in_sight() -> None:
    pane = BreakersPane()
    async with shown(pane, (46, 5)) as lines:
        pane.update_from(run_of(), 0)
        pane.focus()
        assert "snapshot" not in "\n".join(await lines())
        pane.action_move(1000)
        assert "›snapshot" in "\n".join(await lines())
        pane.action_move(-1000)
        assert "›get_repo_info" in "\n".join(await lines())


async def test_the_cursor_begins_at_the_breaker_that_needs_attention() -> None:
    pane = BreakersPane()
    async with shown(pane, (46, 9)) as lines:
        pane.update_from(run_of((1, breaker("read_file", "open", failures=5, retry_in=30))), 2)
        assert pane.chosen == "read_file"
        pane.focus()
        assert "●›read_file" in "\n".join(await lines())


# -- rate limit -------------------------------------------------------------------------------


def limit_pane(now: float = 0.0) -> RateLimitPane:
    return RateLimitPane(lambda: EPOCH + now)


async def test_the_limit_reads_remaining_of_limit_with_time_to_reset_and_what_was_spent() -> None:
    state = run_of((1, quota(4830, 170, reset=int(EPOCH) + 1740)), (2, quota(4812, 188, reset=int(EPOCH) + 1740)))
    screen = "\n".join(await drawn(limit_pane(), state, 2, (40, 9)))
    assert "4,812/5,000" in screen
    assert "96%" in screen
    assert "this run 19" in screen
    assert "resets in 29 min" in screen
    assert "█▁" in screen


async def test_between_runs_the_time_of_reset_is_told_and_nothing_counts() -> None:
    state = run_of((1, quota(4830, 170, reset=int(EPOCH) + 1740)), (2, finished("completed", "# R")))
    pane = limit_pane()
    async with shown(pane, (40, 9)) as lines:
        pane.update_from(state, 2)
        assert pane.tick(2) is None
        screen = "\n".join(await lines())
        assert "resets at " in screen
        assert "resets in" not in screen


async def test_a_limit_that_is_used_up_counts_down() -> None:
    state = run_of((1, quota(0, 60, limit=60, reset=int(EPOCH) + 43)), (2, finished("failed", error="limit")))
    pane = limit_pane()
    async with shown(pane, (40, 9)) as lines:
        pane.update_from(state, 2)
        assert pane.tick(2) == 1.0
        screen = "\n".join(await lines())
        assert "0/60" in screen
        assert "resets in 43 s" in screen


async def test_a_call_that_waits_for_a_limit_is_told_here_too() -> None:
    state = run_of(
        (1, started("c")),
        (1, ev.RateLimitWait(call_id="c", name="read_file", kind="secondary", seconds=60, until=EPOCH + 61)),
    )
    assert "waiting for a limit, 41 s left" in "\n".join(await drawn(limit_pane(), state, 20.4, (40, 9)))


async def test_a_local_repository_has_no_limit_and_says_so() -> None:
    local = run_of(source="local", repo="local/x")
    assert "no limit: local repository" in "\n".join(await drawn(limit_pane(), local, 0, (40, 9)))
    assert "No reply has told a limit yet." in "\n".join(await drawn(limit_pane(), DashboardState(), 0, (40, 9)))


def cached_run(limit: int, remaining: int) -> DashboardState:
    """A run that spent 10 of the limit, with two calls from the cache and one that was asked again."""
    used = limit - remaining
    return run_of(
        (1, quota(remaining + 9, used - 9, limit=limit, reset=int(EPOCH) + 1740)),
        *((2, ended(f"c{n}", attempts=0, cache="hit")) for n in range(2)),
        (2, ended("again", cache="revalidated")),
        (2, ended("sent", cache="miss")),
        (2, ended("known", attempts=0, cache="memory")),
        (3, quota(remaining, used, limit=limit, reset=int(EPOCH) + 1740)),
        (4, finished("completed", "# R")),
    )


@pytest.mark.parametrize(
    ("limit", "width", "told"),
    [
        (5000, 60, "cache saved 3 (1 of them revalidated)"),  # with a token "not modified" is free
        (60, 60, "cache saved 2, 1 revalidated"),
        (5000, 17, "cache saved 3"),
        (60, 12, "saved 2"),
    ],
)
async def test_what_the_cache_saved_is_told(limit: int, width: int, told: str) -> None:
    rows = await drawn(limit_pane(), cached_run(limit, 30), 4, (width, 9))
    assert told in [row.strip("│ ") for row in rows]


@pytest.mark.parametrize(
    ("remaining", "width", "told"),
    [
        (10, 60, "enough left for one more such run"),
        (9, 60, "too little left for one more such run"),
        (10, 17, "another run fits"),
        (9, 17, "another won't fit"),
    ],
)
async def test_whether_the_headroom_lasts_for_one_more_run_is_said(remaining: int, width: int, told: str) -> None:
    rows = await drawn(limit_pane(), cached_run(60, remaining), 4, (width, 9))
    assert "this run 10" in "\n".join(rows)
    assert told in [row.strip("│ ") for row in rows]


async def test_a_headroom_too_small_counts_down_and_is_enough_once_the_limit_is_renewed() -> None:
    passed = 0.0
    pane = RateLimitPane(lambda: EPOCH + passed)
    async with shown(pane, (60, 9)) as lines:
        pane.update_from(cached_run(60, 9), 4)
        assert pane.tick(4) == 60.0
        assert "resets in 29 min" in "\n".join(await lines())
        passed = 1740.0
        assert pane.tick(1744) is None
        assert "enough left for one more such run" in "\n".join(await lines())


async def test_a_run_all_from_the_cache_says_so_before_any_reply_told_a_limit() -> None:
    state = run_of((1, ended("c", attempts=0, cache="hit")), (2, finished("completed", "# R")))
    screen = "\n".join(await drawn(limit_pane(), state, 2, (40, 9)))
    assert "No reply has told a limit yet." in screen
    assert "cache saved 1" in screen


async def test_what_another_run_saved_is_not_counted_again() -> None:
    state = cached_run(5000, 4000)
    state.apply(ev.RunStarted(run_id="n", repo="o/n", source="github", ref=None, question="", engine="llm", model="m"))
    state.apply(ev.stamp(finished("completed", "# R"), 1, "n"))
    screen = "\n".join(await drawn(limit_pane(), state, 1, (40, 9)))
    assert "cache saved 0" in screen
    assert "this run 0" in screen
    assert "enough left for one more such run" in screen


@pytest.mark.parametrize("width", [10, 19, 24, 60])
async def test_the_limits_numbers_are_never_cut(width: int) -> None:
    state = run_of((1, quota(4812, 188)))
    assert ("4,812/5,000" in "\n".join(await drawn(limit_pane(), state, 1, (width, 9)))) is (width > 16)


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [([], 5, ""), ([7], 5, "█"), ([1, 2, 3], 0, ""), ([0, 50, 100], 5, "▁▄█"), (list(range(100)), 3, "▁▄█")],
)
def test_a_sparkline_goes_from_the_lowest_to_the_highest(values: list[int], width: int, line: str) -> None:
    assert sparkline(values, width) == line


# -- header and tabs --------------------------------------------------------------------------


@pytest.mark.parametrize("width", [8, 12, 20, 33, 40, 60, 80, 120, 160])
async def test_the_header_keeps_the_outcome_and_leaves_out_the_least_important(width: int) -> None:
    state = run_of(
        (1, ev.Snapshot(repo="o/n", ref="main", commit="abcdef0" * 5, files=3, truncated=False)),
        (1, ev.TurnStarted(turn=3, max_turns=15)),
        repo="an-owner/a-rather-long-name",
    )
    (line,) = await drawn(RunHeader(128_000), state, 72, (width, 1))
    assert cell_width(line) <= width
    assert "running" in line or width < 9
    if width >= 60:
        assert "turn 3/15" in line
    if width >= 120:
        assert "an-owner/a-rather-long-name · main@abcdef0 · m · turn 3/15 · 0/128k tokens · 01:12" in line


async def test_a_repository_without_commits_says_so() -> None:
    state = run_of((1, ev.Snapshot(repo="o/n", ref="HEAD", commit=None, files=3, truncated=False)))
    (line,) = await drawn(RunHeader(), state, 1, (100, 1))
    assert "no commit" in line


async def test_the_headers_clock_stands_still_when_the_run_has_ended() -> None:
    state = run_of((65, finished("partial", error="turns", elapsed=65.0)))
    header = RunHeader()
    async with shown(header, (100, 1)) as lines:
        header.update_from(state, 65)
        assert header.tick(500) is None
        (line,) = await lines()
        assert "01:05" in line
        assert "◐ partial" in line


@pytest.mark.parametrize("outcome", ["completed", "partial", "failed", "cancelled"])
async def test_an_outcome_has_a_shape_of_its_own(outcome: ev.Outcome) -> None:
    shapes = {"completed": "✔", "partial": "◐", "failed": "✘", "cancelled": "■"}
    (line,) = await drawn(RunHeader(), run_of((1, finished(outcome, error="e"))), 1, (60, 1))
    assert line.endswith(f"{shapes[outcome]} {outcome}")


async def test_tabs_name_all_panes_where_they_fit_else_the_shown_one() -> None:
    titles = ["Trace", "Tool calls", "Breakers", "Rate limit", "Report"]
    for width, expected in (
        (60, "  1 Trace  2 Tool calls ▏3 Breakers!▕ 4 Rate limit  5 Report"),
        (24, "  1  2 ▏3 Breakers!▕"),
    ):
        tabs = PaneTabs(titles)
        async with shown(tabs, (width, 1)) as lines:
            tabs.show(2, frozenset({2}))
            (line,) = await lines()
            assert line.strip().startswith(expected.strip())

"""A recorded run on the dashboard: every pane shows that moment, and keys walk through time."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace as but
from pathlib import Path

import pytest

from tests.records import REPORT, record, story
from tests.sizes import some
from tests.tui_desk import SIZES, WIDE, Desk, dashboard
from tests.tui_session import ScriptedSession, breaker, finished, started
from tui_agent import events as ev
from tui_agent.explanations import explain
from tui_agent.request import RunRequest
from tui_agent.runs.store import RunStore
from tui_agent.tui.replay import Player, Reel
from tui_agent.tui.replaying import Opened, opened
from tui_agent.tui.widgets.markdown_view import MarkdownView

REQUEST = RunRequest(repo="pallets/flask", question="What is it?", lang="en")
OPENED, HALF_OPENED, CLOSED = 8, 9, 10
"""Positions behind the breaker's changes."""


def recorded(*runs: list[ev.Event], request: RunRequest = REQUEST, run_id: str | None = "r1") -> Opened:
    return Opened(Player([Reel(1_790_000_000.0, run) for run in runs or (story(),)]), request, run_id)


@asynccontextmanager
async def replay(
    size: tuple[int, int] = WIDE, shown: Opened | None = None, at: int | None = None
) -> AsyncIterator[Desk]:
    """A dashboard on a replay, paused; at a position, where one is named."""
    async with dashboard(None, size=size, replay=shown or recorded()) as desk:
        await desk.until(lambda: desk.app._stage.player is not None)
        player = desk.app._stage.player
        assert player is not None and player.playing, "it begins to play by itself"
        await desk.press("space")
        if at is not None:
            player.go(at)
            desk.app._replays._moved()
        await desk.settle()
        yield desk


def player_of(desk: Desk) -> Player:
    assert desk.app._stage.player is not None
    return desk.app._stage.player


async def test_every_pane_shows_the_moment() -> None:
    async with replay(at=OPENED) as desk:
        for words in ("REPLAY", "pallets/flask", "turn 1/15", "▶ running", "First the README.", "4,830/5,000"):
            assert words in desk.screen, words
        assert "OPEN 30 s" in desk.screen and "A micro" not in desk.screen
        for words in ("‖ paused", "1x", "00:02/00:40", "event 8/16", "next Half-open: read_file"):
            assert words in desk.screen, words
        await desk.press(">")
        for words in ("✔ completed", "A micro framework.", "00:40/00:40", "event 16/16", "the end", "turn 2/15"):
            assert words in desk.screen, words
        assert "OPEN" not in desk.screen


async def test_steps_go_by_event_by_turn_and_by_failure_in_both_directions() -> None:
    async with replay(at=0) as desk:
        places = []
        for key in ("]", "]", "[", "}", "}", "{", "n", "n", "N", ">", "<"):
            await desk.press(key)
            places.append(player_of(desk).position)
        assert places == [1, 2, 1, 4, 12, 4, 7, 8, 7, 16, 0]
        await desk.press("N")
        assert "No earlier failure in this run." in desk.told


async def test_back_and_forth_the_panes_say_the_same_again() -> None:
    async with replay(at=0) as desk:
        seen = []
        for _ in range(16):
            await desk.press("]")
            seen.append(desk.screen)
        for before in reversed(seen[:-1]):
            await desk.press("[")
            # how far the reader has scrolled is the reader's
            assert desk.screen.splitlines()[0] == before.splitlines()[0]
            view = desk.app.board.report.query_one(MarkdownView)
            assert view.markdown_text == player_of(desk).state.report.text
            left = [
                [line.split("││")[0] for line in one.splitlines() if "read_file  " in line]
                for one in (desk.screen, before)
            ]
            assert left[0] == left[1]


async def test_playing_lets_time_pass_at_its_speed_and_counts_down() -> None:
    async with replay(at=OPENED) as desk:
        await desk.press("space")
        desk.clock.pass_(1.5)
        await desk.until(lambda: "OPEN 15 s" in desk.screen)
        await desk.press("plus", "plus", "minus")
        assert "2x" in desk.screen and "▶ playing" in desk.screen
        desk.clock.pass_(0.8)
        await desk.until(lambda: player_of(desk).position >= HALF_OPENED)
        await desk.settle()
        assert "HALF-OPEN" in desk.screen
        desk.clock.pass_(100)
        await desk.until(lambda: player_of(desk).at_end)
        await desk.settle()
        assert "‖ paused" in desk.screen and "✔ completed" in desk.screen


async def test_paused_nothing_is_drawn_by_time() -> None:
    async with replay(at=OPENED) as desk:
        desk.clock.pass_(10)
        await desk.settle()
        assert desk.app._refresher.resting and desk.app._replays._timer is None
        assert "OPEN 30 s" in desk.screen


async def test_a_time_can_be_typed_and_clicked() -> None:
    async with replay(size=(160, 44)) as desk:
        await desk.press("g")
        await desk.type("soon")
        await desk.press("enter")
        assert "Write seconds, or minutes and seconds" in desk.screen
        await desk.press("backspace", "backspace", "backspace", "backspace")
        await desk.type("0:12")
        await desk.press("enter")
        assert player_of(desk).time == 12.0 and "OPEN 20 s" in desk.screen
        bar = desk.app.board._replay_bar
        begin, cells = bar._slider
        await desk.pilot.click(bar, offset=(begin + cells - 1 + 2, 0))
        await desk.settle()
        assert player_of(desk).at_end


async def test_run_keys_say_why_they_do_nothing_and_touch_nothing() -> None:
    async with replay(at=OPENED) as desk:
        for number, key in enumerate(("b", "B", "i", "x"), 1):
            await desk.press(key)
            assert sum("This is a replay" in told for told in desk.told) == number
        assert desk.session.asked == []
        await desk.press("s")
        assert "Nothing to save: there is no report yet." in desk.told


async def test_escape_leaves_it_for_the_run_behind() -> None:
    async with replay() as desk:
        await desk.press("escape")
        assert "REPLAY" not in desk.screen and "○ idle" in desk.screen and "event" not in desk.screen
        await desk.press("]", "space", "n")
        assert "○ idle" in desk.screen
        await desk.press("escape")
        assert "Nothing to cancel: no run is going on." in desk.told


async def test_r_runs_it_again_for_real() -> None:
    async with replay(at=OPENED) as desk:
        await desk.press("r")
        await desk.until(lambda: desk.session.running)
        await desk.settle()
        assert desk.session.requests == [REQUEST]
        assert "REPLAY" not in desk.screen and "▶ running" in desk.screen and "OPEN 30 s" not in desk.screen


async def test_what_cannot_be_run_again_leaves_the_replay_standing() -> None:
    async with replay(at=OPENED) as desk:
        desk.session.refuse = "That is no repository."
        await desk.press("r")
        await desk.until(lambda: "That is no repository." in desk.screen)
        assert "REPLAY" in desk.screen and desk.app.board.prompt.field.value == ""


async def test_a_question_goes_on_with_the_recorded_report() -> None:
    async with replay() as desk:
        await desk.press("a")
        await desk.type("Who uses it?")
        await desk.press("enter")
        await desk.until(lambda: desk.session.running)
        asked = desk.session.requests[0]
        assert (asked.repo, asked.question, asked.follows) == ("pallets/flask", "Who uses it?", "r1")
        await desk.settle()
        assert "REPLAY" not in desk.screen


async def test_keys_of_the_replay_are_letters_in_the_input() -> None:
    async with replay(at=OPENED) as desk:
        await desk.press("a")
        await desk.burst("n g")
        assert desk.app.board.prompt.field.value == "n g" and player_of(desk).position == OPENED


async def test_a_run_goes_on_behind_a_replay_and_is_there_afterwards() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.app.replay(recorded())
        await desk.settle()
        desk.session.tell(started("live", path="secret.py"))
        desk.session.tell(breaker("llm", "open", failures=5, retry_in=30))
        desk.session.tell(ev.Notice(level="warning", text="Only of the live run."))
        await desk.settle()
        assert "REPLAY" in desk.screen and "secret.py" not in desk.screen and "Only of" not in desk.screen
        await desk.press("r")
        assert any("A run is going on" in told for told in desk.told)
        desk.session.finish("completed", "# Live")
        await desk.until(lambda: "has ended; esc" in desk.screen)
        await desk.press("escape")
        for words in ("secret.py", "Only of the live run.", "✔ completed", "Live", "OPEN 30 s"):
            assert words in desk.screen, words


async def test_runs_that_follow_each_other_stand_as_chapters(tmp_path: Path) -> None:
    record(tmp_path, story())
    record(tmp_path, story("r2", question="Who uses it?", follows="r1", report="Many do."), began=1_790_001_000.0)
    store = RunStore(tmp_path)
    chain = [store.load(run) for run in store.chain(store.find("r2"))]
    async with replay(shown=opened(chain, 5)) as desk:
        await desk.press(">")
        for words in ("A micro framework.", "Who uses it?", "Many do.", "event 32/32"):
            assert words in desk.screen, words
        for _ in range(17):
            await desk.press("[")
        assert "A micro framework." in desk.screen and "Many do." not in desk.screen


async def test_before_its_first_change_a_breaker_has_the_threshold_that_held_then(tmp_path: Path) -> None:
    record(tmp_path, story())
    store = RunStore(tmp_path)
    shown = opened([store.load(store.find("r1"))], 3)
    async with replay(shown=shown, at=OPENED - 1) as desk:
        assert re.search(r"○ read_file +CLOSED +1/5", desk.screen)
        assert "/3" not in desk.screen


async def test_another_record_with_the_same_numbers_is_drawn_anew() -> None:
    async with replay() as desk:
        await desk.press(">")
        assert "Flask" in desk.screen
        desk.app.replay(recorded(story("r8", report=REPORT.replace("Flask", "Quart"))))
        await desk.press(">")
        assert "Quart" in desk.screen and "Flask" not in desk.screen


# -- teaching -----------------------------------------------------------------------------------


async def test_each_step_is_explained_with_its_numbers() -> None:
    async with replay(at=7) as desk:
        assert "Attempt 1 failed" not in desk.screen
        await desk.press("e")
        assert "Attempt 1 failed" in desk.screen and "HTTP 503" in desk.screen
        await desk.press("]")
        assert "Breaker opened: read_file" in desk.screen and "for 30 s" in desk.screen
        await desk.press("[", "[")
        assert "Action: read_file" in desk.screen
        await desk.press("<")
        assert "Nothing has happened yet" in desk.screen
        await desk.press("e")
        assert "Nothing has happened yet" not in desk.screen


async def test_a_run_that_goes_on_is_explained_too() -> None:
    async with dashboard() as desk:
        await desk.press("e")
        assert "The run starts" in desk.screen
        desk.session.tell(ev.RateLimitWait(call_id=None, name="llm", kind="secondary", seconds=9, until=2e9))
        await desk.settle()
        assert "Waiting 9 s for the rate limit" in desk.screen


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        ((1, 1, 1), "1 turn, 1 tool call, 1 request, 0.3 s."),
        ((2, 0, 1500), "2 turns, 0 tool calls, 1500 requests, 0.3 s."),
    ],
)
def test_the_end_is_explained_in_the_number_that_it_has(numbers: tuple[int, int, int], told: str) -> None:
    turns, calls, requests = numbers
    end = but(finished("completed", "", elapsed=0.3), turns=turns, tool_calls=calls, requests=requests)
    assert explain(end).text.endswith(told)


async def test_what_an_explanation_quotes_acts_on_no_terminal() -> None:
    hostile = "\x1b]0;owned\x07[red]x[/red]\u202e"
    events = story()[:6]
    events.append(
        ev.AttemptFailed(at=2.0, run_id="r1", call_id="c1", name=hostile, attempt=1, reason=hostile, status=None)
    )
    async with replay(shown=recorded(events)) as desk:
        await desk.press(">", "e")
        assert "[red]x[/red]" in desk.screen
        assert not {"\x1b", "\x07", "\u202e"} & set(desk.screen)
        await desk.press("[")
        assert not {"\x1b", "\x07", "\u202e"} & set(desk.screen)


# -- help, palette, sizes -----------------------------------------------------------------------


async def test_its_keys_stand_in_the_footer_only_while_it_does() -> None:
    async with replay(size=(160, 44)) as desk:
        footer = desk.screen.splitlines()[-1]
        assert all(
            words in footer for words in ("space play/pause", "[ ] step", "{ } turn", "n N failure", "esc leave")
        )
        await desk.press("escape")
        footer = desk.screen.splitlines()[-1]
        assert "step" not in footer and "esc cancel" in footer and "h history" in footer


async def test_the_palette_walks_through_a_replay_whatever_has_the_focus() -> None:
    async with replay(at=0) as desk:
        await desk.press("a", "ctrl+p")
        await desk.type("Replay: next turn")
        await desk.until(lambda: "To where it begins" in desk.screen)
        await desk.press("enter")
        await desk.until(lambda: player_of(desk).position == 1)


async def test_without_a_replay_the_palette_does_not_offer_its_moves() -> None:
    async with dashboard(None) as desk:
        titles = {command.title for command in desk.app.get_system_commands(desk.app.screen)}
        assert "Recorded runs" in titles and not any(title.startswith("Replay") for title in titles)


@pytest.mark.parametrize("size", some([*SIZES, (40, 14)], 2))
async def test_a_replay_fits_on_every_screen(size: tuple[int, int]) -> None:
    async with replay(size=size, at=OPENED) as desk:
        await desk.press("e", "]", "3", "[", ">")
        assert max(len(line) for line in desk.screen.splitlines()) <= size[0]
        if size[1] >= 14:
            assert "16/16" in desk.screen and "REPLAY" in desk.screen
        await desk.press("escape")
        assert "REPLAY" not in desk.screen


async def test_the_session_is_closed_whatever_was_shown() -> None:
    session = ScriptedSession()
    async with dashboard(None, session=session, replay=recorded()):
        pass
    assert session.closed

"""Every key of the dashboard does what it says, or says why it does nothing now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sizes import some
from tests.tui_desk import SIZES, dashboard, names_in
from tests.tui_session import quota, started
from tui_agent import events as ev

# -- panes ---------------------------------------------------------------------------------------


async def test_numbers_go_to_the_panes() -> None:
    async with dashboard() as desk:
        for key, title in zip("54321", ("Report", "Rate limit", "Breakers", "Tool calls", "Trace"), strict=True):
            await desk.press(key)
            await desk.until(lambda title=title: desk.focused == title)  # type: ignore[misc]


async def test_tab_goes_round_through_panes_and_input() -> None:
    async with dashboard() as desk:
        seen = set()
        for _ in range(8):
            await desk.press("tab")
            seen.add(desk.focused)
        assert {"Trace", "Tool calls", "Breakers", "Report", "ask"} <= seen


async def test_z_gives_the_pane_the_screen_and_takes_it_back() -> None:
    async with dashboard() as desk:
        await desk.press("3")
        await desk.press("z")
        assert "─ Breakers ─" in desk.screen
        assert "─ Trace ─" not in desk.screen
        await desk.press("5")
        await desk.until(lambda: "─ Report ─" in desk.screen)
        assert "─ Breakers ─" not in desk.screen
        await desk.press("z")
        assert all(f"─ {title} ─" in desk.screen for title in ("Trace", "Breakers", "Report"))


async def test_below_100_columns_the_panes_are_tabs() -> None:
    async with dashboard(size=(99, 30)) as desk:
        assert "▏1 Trace▕" in desk.screen
        assert "─ Breakers ─" not in desk.screen
        await desk.press("3")
        await desk.until(lambda: "─ Breakers ─" in desk.screen)
        assert "▏3 Breakers▕" in desk.screen
        await desk.press("z")
        assert "whole screen already" in desk.told[-1]


async def test_a_pane_that_was_hidden_shows_what_it_missed() -> None:
    async with dashboard(size=(80, 24)) as desk:
        desk.session.open_breaker("read_file")
        desk.session.tell(quota(4812, 188))
        await desk.settle()
        assert "3 Breakers!" in desk.screen
        await desk.press("3")
        await desk.until(lambda: "OPEN 30 s" in desk.screen)
        await desk.press("4")
        await desk.until(lambda: "4,812/5,000" in desk.screen)


async def test_growing_wide_shows_all_panes_with_what_they_missed() -> None:
    async with dashboard(size=(80, 24)) as desk:
        desk.session.open_breaker("read_file")
        await desk.settle()
        await desk.pilot.resize_terminal(160, 48)
        await desk.until(lambda: "OPEN 30 s" in desk.screen and "─ Report ─" in desk.screen)


@pytest.mark.parametrize("size", some(SIZES, 2))
async def test_every_size_shows_the_run_and_takes_every_key(size: tuple[int, int]) -> None:
    async with dashboard(size=size) as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        for number in range(30):
            desk.session.tell(started(f"c{number}", path=f"src/{number}.py"))
        desk.session.open_breaker("read_file")
        desk.session.tell(quota(4812, 188))
        desk.session.tell(ev.ReportDelta(turn=1, text="# Title\n\ntext"))
        await desk.settle()
        for key in "12345zz":
            await desk.press(key)
            assert "running" in desk.screen
        for key in ("question_mark", "x"):
            await desk.press(key)
            await desk.press("escape")
        assert desk.app.screen is desk.app.board
        assert desk.app.is_running


@pytest.mark.parametrize(("size", "sizes"), [((160, 48), [(20, 5), (60, 20), (1, 1), (160, 48)])])
async def test_resizing_survives(size: tuple[int, int], sizes: list[tuple[int, int]]) -> None:
    async with dashboard(size=size) as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.session.tell(started("c1", path="a.py"))
        for width, height in sizes:
            await desk.pilot.resize_terminal(width, height)
            await desk.settle()
        assert "pallets/flask" in desk.screen


@pytest.mark.parametrize("size", [(130, 36), (80, 24)])
@pytest.mark.parametrize("pane", ["1", "5"])
async def test_letters_typed_right_behind_the_slash_are_searched_for(size: tuple[int, int], pane: str) -> None:
    async with dashboard(size=size) as desk:
        desk.session.finish("completed", "# R")
        await desk.press(pane)
        await desk.burst("/look around/i")
        await desk.until(lambda: "/ look around/i" in desk.screen)
        assert len(desk.session.requests) == 1
        assert desk.told == []
        await desk.press("escape")
        await desk.until(lambda: desk.app.focused is desk.app.board.trace.view)


async def test_letters_typed_right_behind_a_are_asked_for_and_a_slash_stays_a_slash() -> None:
    async with dashboard() as desk:
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.burst("aray/bar")
        assert "❯ ray/bar" in desk.screen
        assert desk.focused == "ask"
        assert len(desk.session.requests) == 1


async def test_the_palette_searches_and_asks_from_the_input_too() -> None:
    async with dashboard() as desk:
        await desk.press("a", "ctrl+p")
        await desk.type("search the trace")
        await desk.until(lambda: "Find a text" in desk.screen)
        await desk.press("down", "enter")
        await desk.until(lambda: desk.app.focused is desk.app.board.trace.query_one("Input"))


async def test_over_a_dialog_no_key_reaches_for_the_fields_below() -> None:
    async with dashboard() as desk:
        await desk.press("question_mark", "a", "slash")
        assert desk.app.screen is not desk.app.board
        await desk.press("escape")
        await desk.settle()
        assert desk.focused == "Trace"
        assert not desk.app.board.trace.has_class("-searching")


# -- the report ----------------------------------------------------------------------------------


async def test_s_and_y_without_a_report_explain_themselves() -> None:
    async with dashboard() as desk:
        await desk.press("s")
        await desk.press("y")
        assert desk.told == ["Nothing to save: there is no report yet.", "Nothing to copy: there is no report yet."]


async def test_s_suggests_a_name_and_writes_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with dashboard() as desk:
        desk.session.finish("completed", "# Flask\n\nA web framework.")
        await desk.settle()
        await desk.press("s")
        assert "Save the report" in desk.screen
        await desk.press("enter")
        assert desk.app.screen is desk.app.board
        file = tmp_path / "pallets-flask-report.md"
        assert names_in(tmp_path) == [file.name]
        assert file.read_text() == "# Flask\n\nA web framework.\n"
        assert file.name in desk.told[-1]


async def test_saving_over_a_file_asks_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pallets-flask-report.md").write_text("mine")
    async with dashboard() as desk:
        desk.session.finish("completed", "# New")
        await desk.settle()
        await desk.press("s")
        await desk.press("enter")
        assert "is there already" in desk.screen
        assert (tmp_path / "pallets-flask-report.md").read_text() == "mine"
        await desk.press("enter")
        assert (tmp_path / "pallets-flask-report.md").read_text() == "# New\n"


async def test_a_place_that_cannot_be_written_is_said_in_the_dialog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with dashboard() as desk:
        desk.session.finish("completed", "# New")
        await desk.settle()
        await desk.press("s")
        await desk.press("ctrl+u")
        await desk.type("no/such/place.md")
        await desk.press("enter")
        assert "there is no folder no/such" in desk.screen
        await desk.press("escape")
        assert desk.app.screen is desk.app.board
        assert names_in(tmp_path) == []


async def test_y_copies_the_report() -> None:
    async with dashboard() as desk:
        desk.session.finish("completed", "# Flask")
        await desk.settle()
        await desk.press("y")
        assert desk.app.clipboard == "# Flask"
        assert "7 characters" in desk.told[-1]


# -- breakers ------------------------------------------------------------------------------------


async def test_b_resets_the_first_breaker_that_is_not_closed() -> None:
    async with dashboard() as desk:
        desk.session.open_breaker("read_file")
        await desk.settle()
        assert "OPEN 30 s" in desk.screen
        await desk.press("b")
        assert desk.session.asked == [("reset", "read_file")]
        assert "OPEN" not in desk.screen


async def test_b_and_i_in_their_pane_act_on_the_chosen_row() -> None:
    async with dashboard() as desk:
        await desk.press("3")
        await desk.until(lambda: desk.focused == "Breakers")
        await desk.press("down", "i")
        assert desk.session.asked == [("isolate", "list_directory")]
        assert "OPEN ISOLATED" in desk.screen
        await desk.press("i")
        assert desk.session.asked[-1] == ("release", "list_directory")
        assert "ISOLATED" not in desk.screen
        await desk.press("b")
        assert desk.told[-1] == "Nothing to reset: list_directory is closed."


async def test_capital_b_resets_all() -> None:
    async with dashboard() as desk:
        await desk.press("B")
        assert desk.told[-1] == "Nothing to reset: all breakers are closed."
        desk.session.open_breaker("read_file")
        desk.session.open_breaker("llm")
        await desk.settle()
        await desk.press("B")
        assert desk.session.asked == [("reset", None)]
        assert "OPEN" not in desk.screen


async def test_breaker_keys_with_nothing_to_act_on_explain_themselves() -> None:
    async with dashboard() as desk:
        await desk.press("b")
        await desk.press("i")
        assert desk.told[0] == "Nothing to reset: all breakers are closed."
        assert desk.told[1].startswith("Choose a breaker first")


async def test_breakers_can_be_held_open_between_runs() -> None:
    async with dashboard(None) as desk:
        await desk.press("escape")
        await desk.press("3")
        await desk.until(lambda: desk.focused == "Breakers")
        await desk.press("i")
        assert desk.session.asked == [("isolate", "get_repo_info")]
        assert "ISOLATED" in desk.screen


async def test_x_asks_for_a_fault_and_injects_it() -> None:
    async with dashboard() as desk:
        await desk.press("x")
        assert "Inject a fault" in desk.screen
        await desk.type("nonsense")
        await desk.press("enter")
        assert "is no fault" in desk.screen
        await desk.press("ctrl+u")
        await desk.type("read_file:503x3")
        await desk.press("enter")
        assert desk.session.asked == [("inject", "read_file:503x3")]
        assert desk.app.screen is desk.app.board


# -- help, palette, themes -----------------------------------------------------------------------


async def test_the_help_tells_every_key_and_closes() -> None:
    async with dashboard(size=(120, 90)) as desk:
        await desk.press("question_mark")
        for words in ("run the same again", "reset all", "inject a fault", "search the trace", "palette", "quit"):
            assert words in desk.screen
        for words in ("its contents", "next link", "follow the end", "open everything", "previous hit"):
            assert words in desk.screen
        await desk.press("escape")
        assert desk.app.screen is desk.app.board


async def test_every_key_is_in_the_footer_or_the_palette() -> None:
    async with dashboard() as desk:
        names = {command.title for command in desk.app.get_system_commands(desk.app.screen)}
        assert {"Re-run", "Cancel the run", "Reset all breakers", "Inject a fault", "Zoom", "Theme", "Quit"} <= names
        footer = desk.screen.splitlines()[-1]
        for words in ("1–5 panes", "esc cancel", "r re-run", "z zoom", "s save", "y copy", "? help", "q quit"):
            assert words in footer


async def test_a_command_of_the_palette_does_what_its_key_does() -> None:
    async with dashboard() as desk:
        await desk.press("ctrl+p")
        await desk.type("reset all")
        await desk.until(lambda: "Reset all breakers" in desk.screen)
        await desk.press("down", "enter")
        await desk.until(lambda: bool(desk.told))
        assert desk.told[-1] == "Nothing to reset: all breakers are closed."


async def test_the_footer_in_the_input_tells_what_works_there() -> None:
    async with dashboard(None) as desk:
        footer = desk.screen.splitlines()[-1]
        assert "start" in footer
        assert "leave" in footer
        assert "re-run" not in footer


@pytest.mark.parametrize("theme", ["dark", "light", "nord"])
async def test_themes_draw_everything(theme: str) -> None:
    async with dashboard(theme=theme) as desk:
        desk.session.open_breaker("read_file")
        desk.session.tell(started("c1", path="a.py"))
        await desk.settle()
        assert "OPEN 30 s" in desk.screen
        desk.app.theme = "textual-light"
        await desk.settle()
        assert "OPEN 30 s" in desk.screen


async def test_a_theme_that_is_not_there_is_told() -> None:
    async with dashboard(None, theme="no-such-theme") as desk:
        assert 'There is no theme "no-such-theme"' in desk.screen

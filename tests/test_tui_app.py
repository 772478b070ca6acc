"""The dashboard as a person uses it: keys in, text on the screen out; the session is a fake that behaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.events import Paste
from textual.pilot import Pilot

from tests.tui_session import ScriptedSession, breaker, ended, quota, started
from tui_agent import events as ev
from tui_agent.request import RunRequest
from tui_agent.tui.app import DashboardApp
from tui_agent.tui.widgets.prompt import AskInput

WIDE = (130, 36)
SIZES = [(160, 48), (100, 30), (80, 24), (60, 20), (20, 5)]
REQUEST = RunRequest(repo="pallets/flask")


class Desk:
    """One dashboard under test with its session, its clock and its screen."""

    def __init__(self, app: DashboardApp, session: ScriptedSession, pilot: Pilot[int]) -> None:
        self.app = app
        self.session = session
        self.pilot = pilot
        self.clock = session.clock

    @property
    def screen(self) -> str:
        """What stands on the terminal."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    @property
    def told(self) -> list[str]:
        """What was said in answer to keys."""
        return [notification.message for notification in self.app._notifications]

    @property
    def focused(self) -> str:
        """The title of the pane that has the focus, or the id of what has it."""
        pane = next((pane for pane in self.app.board.panes if pane.has_focus_within or pane.has_focus), None)
        if pane is not None:
            return str(pane.border_title)
        return (self.app.focused and self.app.focused.id) or ""

    async def press(self, *keys: str) -> None:
        """Press keys, and let everything that follows happen."""
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Put a text into the field that has the focus, in one go as a paste does."""
        self.app.post_message(Paste(text))
        await self.pilot.pause()

    async def settle(self) -> None:
        """Let what was emitted be drawn."""
        await self.pilot.pause()
        self.app._refresher.flush()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that happens by itself."""
        for _ in range(200):
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never came true; the screen:\n{self.screen}")


def names_in(folder: Path) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


@asynccontextmanager
async def dashboard(
    request: RunRequest | None = REQUEST,
    size: tuple[int, int] = WIDE,
    session: ScriptedSession | None = None,
    **options: object,
) -> AsyncIterator[Desk]:
    session = session or ScriptedSession()
    app = DashboardApp(session, request, clock=session.clock, **options)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=True) as pilot:
        desk = Desk(app, session, pilot)
        await desk.until(lambda: session.prepared)
        if request is not None:
            await desk.until(lambda: bool(session.requests))
        await desk.settle()
        yield desk


# -- starting ---------------------------------------------------------------------------------


async def test_started_with_a_repository_it_runs_at_once_with_the_focus_on_the_trace() -> None:
    async with dashboard() as desk:
        assert desk.session.requests == [REQUEST]
        assert desk.focused == "Trace"
        assert "running" in desk.screen
        assert "pallets/flask" in desk.screen


async def test_started_without_it_waits_in_the_input_and_enter_there_starts() -> None:
    async with dashboard(None) as desk:
        assert desk.focused == "ask"
        assert "idle" in desk.screen
        assert desk.session.requests == []
        await desk.type("psf/requests")
        await desk.press("enter")
        assert desk.session.requests == [RunRequest(repo="psf/requests")]
        await desk.until(lambda: desk.focused == "Trace")


async def test_all_five_panes_carry_their_titles() -> None:
    async with dashboard() as desk:
        for title in ("Trace", "Tool calls", "Breakers", "Rate limit", "Report"):
            assert f"─ {title} ─" in desk.screen


def test_the_dashboard_itself_imports_nothing_that_is_slow() -> None:
    code = (
        "import sys, tui_agent.tui.app\n"
        "print(sorted({'openai', 'httpx', 'httpx2', 'dulwich', 'hishel', 'tui_agent.session'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


async def test_preparing_that_fails_is_told_and_the_dashboard_lives() -> None:
    class Broken(ScriptedSession):
        async def prepare(self) -> None:
            self.prepared = True
            raise ImportError("no module named openai")

    async with dashboard(None, session=Broken()) as desk:
        await desk.until(lambda: "no module named openai" in desk.screen)


# -- the input --------------------------------------------------------------------------------


async def test_a_text_with_an_address_runs_on_it_and_the_rest_is_the_question() -> None:
    async with dashboard(None) as desk:
        await desk.type("https://github.com/psf/requests how are redirects followed?")
        await desk.press("enter")
        (request,) = desk.session.requests
        assert (request.repo, request.question) == (
            "https://github.com/psf/requests",
            "how are redirects followed?",
        )


async def test_a_text_without_an_address_asks_about_the_current_repository() -> None:
    async with dashboard() as desk:
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.press("a")
        await desk.type("where is routing done?")
        await desk.press("enter")
        assert desk.session.requests[-1] == RunRequest(repo="pallets/flask", question="where is routing done?")


async def test_a_question_before_any_repository_says_what_to_write() -> None:
    async with dashboard(None) as desk:
        await desk.type("where is routing done?")
        await desk.press("enter")
        assert desk.session.requests == []
        assert "No repository is named yet" in desk.screen


async def test_a_folder_that_is_not_there_is_one_sentence_near_the_input() -> None:
    async with dashboard(None) as desk:
        await desk.type("./no-such-folder")
        await desk.press("enter")
        assert 'There is no folder "./no-such-folder"' in desk.screen
        assert desk.focused == "ask"


async def test_a_folder_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path)
    async with dashboard(None) as desk:
        await desk.type("./project")
        await desk.press("enter")
        assert desk.session.requests == [RunRequest(repo="./project")]


async def test_what_the_session_refuses_is_said_near_the_input() -> None:
    async with dashboard(session=ScriptedSession(refuse="--engine llm needs a key: set API_KEY.")) as desk:
        await desk.until(lambda: "needs a key: set API_KEY." in desk.screen)
        assert "idle" in desk.screen


async def test_the_input_remembers_what_was_asked() -> None:
    async with dashboard(None) as desk:
        await desk.type("psf/requests")
        await desk.press("enter")
        await desk.press("a", "up")
        assert desk.app.board.prompt.query_one(AskInput).value == "psf/requests"
        await desk.press("down")
        assert desk.app.board.prompt.query_one(AskInput).value == ""


async def test_letters_in_the_input_are_text_and_no_keys() -> None:
    async with dashboard() as desk:
        await desk.press("a")
        await desk.press(*"qrbsx")
        assert desk.app.board.prompt.query_one(AskInput).value == "qrbsx"
        assert desk.app.is_running


async def test_enter_during_a_run_explains_and_keeps_the_text() -> None:
    async with dashboard() as desk:
        await desk.press("a")
        await desk.type("psf/requests")
        await desk.press("enter")
        assert len(desk.session.requests) == 1
        assert "A run is going on" in desk.told[-1]
        assert desk.app.board.prompt.query_one(AskInput).value == "psf/requests"


# -- runs -------------------------------------------------------------------------------------


async def test_the_header_tells_repository_commit_model_turn_tokens_and_clock() -> None:
    async with dashboard(context_limit=128_000) as desk:
        desk.session.tell(ev.Snapshot(repo="pallets/flask", ref="main", commit="1a2b3c4" * 5, files=9, truncated=False))
        desk.session.tell(ev.TurnStarted(turn=3, max_turns=15))
        desk.session.tell(
            ev.Usage(
                prompt_tokens=1,
                completion_tokens=1,
                cached_tokens=0,
                reasoning_tokens=0,
                context_tokens=12_345,
                cost=None,
            )
        )
        desk.clock.pass_(72)
        await desk.settle()
        header = desk.screen.splitlines()[0]
        assert header.split() == (
            "pallets/flask · main@1a2b3c4 · deepseek-flash · turn 3/15 · 12.3k/128k tokens · 01:12 ▶ running".split()
        )


@pytest.mark.parametrize("outcome", ["completed", "partial", "failed", "cancelled"])
async def test_the_outcome_stands_on_the_screen_in_its_word(outcome: ev.Outcome) -> None:
    async with dashboard() as desk:
        desk.session.finish(outcome, error=None if outcome == "completed" else "The model was lost.")
        await desk.settle()
        assert outcome in desk.screen.splitlines()[0]


async def test_escape_cancels_and_the_trace_stays() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.session.tell(started("c1", "get_commits"))
        await desk.press("escape")
        await desk.until(lambda: not desk.session.running)
        await desk.settle()
        assert "cancelled" in desk.screen.splitlines()[0]
        assert "get_commits" in desk.screen
        assert desk.app.state.calls["c1"].outcome == "cancelled"


async def test_escape_in_the_input_leaves_it_and_cancels_nothing() -> None:
    async with dashboard() as desk:
        await desk.press("a")
        assert desk.focused == "ask"
        await desk.press("escape")
        await desk.until(lambda: desk.focused == "Trace")
        assert desk.session.running
        await desk.press("escape")
        await desk.until(lambda: not desk.session.running)


async def test_escape_with_nothing_to_cancel_explains_itself() -> None:
    async with dashboard(None) as desk:
        await desk.press("escape")
        await desk.until(lambda: desk.focused == "Trace")
        await desk.press("escape")
        assert desk.told == ["Nothing to cancel: no run is going on."]


async def test_a_failed_run_shows_its_sentence_and_keeps_its_trace() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.session.tell(started("c1", "get_commits"))
        desk.session.finish("failed", error="GitHub knows no repository pallets/flask.")
        await desk.settle()
        assert "GitHub knows no repository pallets/flask." in desk.screen
        assert "failed" in desk.screen.splitlines()[0]
        assert "get_commits" in desk.screen


async def test_a_run_that_dies_without_a_word_is_told_as_failed() -> None:
    async with dashboard() as desk:
        desk.session.die(RuntimeError("boom [red]x[/red]"))
        await desk.until(lambda: "RuntimeError: boom [red]x[/red]" in desk.screen)
        assert desk.app.state.run.outcome == "failed"
        assert desk.app.is_running


async def test_a_cancelled_run_that_says_nothing_is_told_as_cancelled() -> None:
    async with dashboard(session=ScriptedSession(patient=False)) as desk:
        await desk.press("escape")
        await desk.until(lambda: desk.app.state.run.outcome == "cancelled")


async def test_r_runs_the_same_again_and_capital_r_without_the_cache() -> None:
    async with dashboard() as desk:
        await desk.press("r")
        assert "A run is going on" in desk.told[-1]
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.press("r")
        assert desk.session.requests[-1] == REQUEST
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.press("R")
        assert desk.session.requests[-1] == RunRequest(repo="pallets/flask", no_cache=True)
        desk.session.finish("completed", "# R")
        await desk.settle()
        await desk.press("r")
        assert desk.session.requests[-1] == REQUEST


async def test_r_before_any_run_explains_itself() -> None:
    async with dashboard(None) as desk:
        await desk.press("escape")
        await desk.until(lambda: desk.focused == "Trace")
        await desk.press("r")
        assert desk.told[-1].startswith("No run yet")


async def test_a_new_run_takes_the_place_of_the_old_one_on_the_screen() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        desk.session.tell(started("c1", "get_commits"))
        desk.session.finish("completed", "# Old")
        await desk.settle()
        await desk.press("r")
        assert "get_commits" not in [call.tool for call in desk.app.state.lanes]
        assert "running" in desk.screen.splitlines()[0]


async def test_notices_of_the_run_are_shown_as_text() -> None:
    async with dashboard() as desk:
        desk.session.tell(ev.Notice(level="warning", text="The key goes to [b]example.org[/b]."))
        await desk.settle()
        assert "The key goes to [b]example.org[/b]." in desk.screen


# -- quitting ---------------------------------------------------------------------------------


async def test_q_during_a_run_cancels_it_closes_the_session_and_exits_0() -> None:
    session = ScriptedSession()
    async with dashboard(session=session) as desk:
        await desk.pilot.press("q")
        await desk.until(lambda: not desk.app.is_running)
    assert desk.app.return_value == 0
    assert not session.running
    assert desk.app.state.run.outcome == "cancelled"
    assert session.closed


async def test_q_with_no_run_exits_0() -> None:
    session = ScriptedSession()
    async with dashboard(None, session=session) as desk:
        await desk.press("escape")
        await desk.until(lambda: desk.focused == "Trace")
        await desk.pilot.press("q")
        await desk.until(lambda: not desk.app.is_running)
    assert desk.app.return_value == 0
    assert session.closed


async def test_ctrl_c_says_which_keys_cancel_and_quit() -> None:
    async with dashboard() as desk:
        await desk.press("ctrl+c")
        assert desk.told == ["ctrl+c copies selected text; esc cancels the run, q quits."]
        assert desk.session.running


async def test_a_session_that_will_not_end_does_not_keep_the_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stubborn(ScriptedSession):
        async def aclose(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr("tui_agent.tui.app.QUIT_PATIENCE", 0.05)
    async with dashboard(None, session=Stubborn()) as desk:
        await desk.pilot.press("ctrl+q")
        await desk.until(lambda: not desk.app.is_running)
    assert desk.app.return_value == 0


# -- panes ------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("size", SIZES)
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


# -- the report -------------------------------------------------------------------------------


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


# -- breakers ---------------------------------------------------------------------------------


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


# -- help, palette, themes --------------------------------------------------------------------


async def test_the_help_tells_every_key_and_closes() -> None:
    async with dashboard(size=(120, 70)) as desk:
        await desk.press("question_mark")
        for words in ("run the same again", "reset all", "inject a fault", "search the trace", "palette", "quit"):
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


# -- what is drawn when -----------------------------------------------------------------------


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


# -- text from outside ------------------------------------------------------------------------

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

"""The dashboard as a person uses it: starting, asking, cancelling, quitting; the session is a fake that behaves."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tui_desk import REQUEST, dashboard
from tests.tui_session import ScriptedSession, started
from tui_agent import events as ev
from tui_agent.request import RunRequest
from tui_agent.tui.app import DashboardApp

# -- starting ------------------------------------------------------------------------------------


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


# -- the input -----------------------------------------------------------------------------------


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
        assert desk.session.requests[-1] == RunRequest(
            repo="pallets/flask", question="where is routing done?", follows="run-1"
        )


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
        assert desk.app.board.prompt.field.value == "pallets/flask"
        await desk.until(lambda: desk.focused == "ask")


async def test_what_was_typed_and_refused_stays_to_be_corrected() -> None:
    async with dashboard(None, session=ScriptedSession(refuse="No such preset.")) as desk:
        await desk.type("psf/requests how?")
        await desk.press("enter")
        await desk.until(lambda: "No such preset." in desk.screen)
        assert desk.app.board.prompt.field.value == "psf/requests how?"
        assert desk.focused == "ask"


async def test_the_input_remembers_what_was_asked() -> None:
    async with dashboard(None) as desk:
        await desk.type("psf/requests")
        await desk.press("enter")
        await desk.press("a", "up")
        assert desk.app.board.prompt.field.value == "psf/requests"
        await desk.press("down")
        assert desk.app.board.prompt.field.value == ""


async def test_letters_in_the_input_are_text_and_no_keys() -> None:
    async with dashboard() as desk:
        await desk.press("a")
        await desk.press(*"qrbsx")
        assert desk.app.board.prompt.field.value == "qrbsx"
        assert desk.app.is_running


async def test_enter_during_a_run_explains_and_keeps_the_text() -> None:
    async with dashboard() as desk:
        await desk.press("a")
        await desk.type("psf/requests")
        await desk.press("enter")
        assert len(desk.session.requests) == 1
        assert "A run is going on" in desk.told[-1]
        assert desk.app.board.prompt.field.value == "psf/requests"


# -- runs ----------------------------------------------------------------------------------------


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


# -- quitting ------------------------------------------------------------------------------------


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


async def test_a_dashboard_that_breaks_says_one_sentence_and_shows_no_variables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    app = DashboardApp(ScriptedSession())

    def breaks() -> None:
        key = "sk-hunter2"
        raise RuntimeError(f"broken \x1b[31m{len(key)}")

    with pytest.raises(RuntimeError):
        async with app.run_test() as pilot:
            app.call_later(breaks)
            await pilot.pause()
    text = capsys.readouterr().err
    assert "the dashboard broke (RuntimeError: broken ␛[31m10)" in " ".join(text.split())
    assert "hunter2" not in text and "Traceback" not in text
    assert app.return_code == 1


async def test_a_question_after_a_report_goes_on_with_it_and_stands_below_it() -> None:
    async with dashboard(request=REQUEST) as d:
        await d.settle()
        d.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        d.session.finish("completed", "# Report\n\nIt is a framework." + "\n\nMore of it." * 60)
        await d.settle()
        first = d.session.run_id
        await d.press("a")
        await d.type("Who uses it?")
        await d.press("enter")
        asked = d.session.requests[-1]
        assert (asked.repo, asked.question, asked.follows) == (REQUEST.repo, "Who uses it?", first)
        d.session.tell(ev.TurnStarted(turn=1, max_turns=15))
        d.session.tell(ev.ReportDelta(turn=1, text="Many do.\n"))
        await d.settle()
        await d.until(lambda: all(line in d.screen for line in ("More of it.", "Who uses it?", "Many do.")))
        d.session.finish("completed", "Many do." + "\n\nAnd on." * 60)
        await d.until(lambda: "Who uses it?" in d.screen and "Many do." in d.screen)
        await d.press("a")
        await d.type("pallets/click")
        await d.press("enter")
        assert d.session.requests[-1].follows is None
        assert "It is a framework." not in d.screen

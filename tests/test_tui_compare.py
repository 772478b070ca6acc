"""Several repositories in the dashboard, a tab each; and what has changed since the last run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.records import record, story
from tests.repos import commit, make_repo
from tests.test_tui_snapshots import compare, seen_on
from tests.tui_desk import Desk, dashboard
from tests.tui_session import ScriptedSession, breaker, finished, quota, started
from tui_agent import events as ev
from tui_agent.request import RunRequest, UsageError
from tui_agent.runs.store import RunStore
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.tui.app import DashboardApp
from tui_agent.tui.asking import request_for
from tui_agent.tui.replaying import opened
from tui_agent.tui.stage import Tab
from tui_agent.tui.widgets.run_tabs import RunTabs

TWO = RunRequest(repo="a/one", others=("b/two",))
BOTH = "a/one, b/two"


@dataclass
class SideBySide(ScriptedSession):
    """Runs of which several go on at once; a test tells the events of each by its repository."""

    previous: str | None = "old-1"
    begun: dict[str, float] = field(default_factory=dict)
    silent: bool = False

    async def run(self, request: RunRequest, emit: ev.Emit) -> ev.RunFinished:
        self.requests.append(request)
        self._emit = emit
        self._over.clear()
        self._runs += 1
        for repo in (request.repo, *request.others):
            self.begin(repo, request.follows)
        try:
            await self._over.wait()
        except asyncio.CancelledError:
            for repo in [] if self.silent else list(self.begun):
                self.of(repo, finished("cancelled"))
            raise
        finally:
            self._emit = None
            self.begun.clear()
        return finished("completed")

    def begin(self, repo: str, follows: str | None = None) -> None:
        """A run begins."""
        self.begun[repo] = self.clock.monotonic()
        is_one = ", " not in repo and follows is None
        start = ev.RunStarted(
            repo=repo,
            source="github",
            ref=None,
            question="What is it?",
            engine="llm",
            model="m",
            follows=follows,
            previous=self.previous if is_one else None,
        )
        self.of(repo, start)

    def of(self, repo: str, event: ev.Event) -> None:
        """The run of a repository emits an event."""
        assert self._emit is not None
        self._emit(ev.stamp(event, self.clock.monotonic() - self.begun[repo], f"{repo}#{self._runs}"))

    def end(self, repo: str, outcome: ev.Outcome = "completed", report: str = "", error: str | None = None) -> None:
        """A run ends; what was asked is over with the comparison, or with the only one."""
        count = len(self.begun)
        self.of(repo, finished(outcome, report, error))
        if count == 1 or ", " in repo:
            self._over.set()


def tabs(desk: Desk) -> list[tuple[str, str, bool]]:
    """The runs as the line of tabs has them."""
    return [(tab.name, tab.outcome, tab.shown) for tab in desk.app._stage.tabs()]


def line(desk: Desk) -> str:
    """The second line of the screen."""
    return desk.screen.splitlines()[1].rstrip()


async def compared(desk: Desk, session: SideBySide) -> None:
    """Both repositories have been analysed and compared."""
    session.end("a/one", report="# Report on one")
    session.end("b/two", report="# Report on two")
    session.begin(BOTH)
    session.end(BOTH, report="# The comparison")
    await desk.until(lambda: not session.running)
    await desk.settle()


# -- tabs ----------------------------------------------------------------------------------------


async def test_each_run_has_its_own_trace_and_the_tabs_tell_how_all_of_them_stand() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        for repo, path in (("a/one", "one.py"), ("b/two", "two.py")):
            session.of(repo, ev.TurnStarted(turn=1, max_turns=15))
            session.of(repo, started("c1", path=path))
        await desk.settle()
        assert line(desk) == "▏▶ a/one running▕ ▶ b/two running  ○ comparison idle"
        assert "one.py" in desk.screen and "two.py" not in desk.screen
        await desk.press(".")
        assert "two.py" in desk.screen and "one.py" not in desk.screen
        assert desk.screen.splitlines()[0].strip().startswith("b/two")
        session.end("a/one", "failed", error="GitHub knows no repository a/one.")
        await desk.settle()
        assert line(desk).startswith(" ✘ a/one failed ▏▶ b/two running▕")
        assert "a/one: GitHub knows no repository a/one." in desk.screen
        await desk.press(",")
        assert "✘ failed" in desk.screen.splitlines()[0]
        assert "✘ GitHub knows no repository a/one." in desk.screen, "the sentence of the run that is shown"


async def test_the_comparison_shows_itself_unless_a_tab_was_chosen_by_hand() -> None:
    for keys, shown in (((), "The comparison"), ((".",), "Report on two")):
        session = SideBySide()
        async with dashboard(TWO, session=session) as desk:
            await desk.press(*keys)
            await compared(desk, session)
            assert shown in desk.screen
            assert [outcome for _, outcome, _ in tabs(desk)] == ["completed"] * 3
            assert "comparison is written" in desk.screen


async def test_a_single_run_has_no_tabs_and_takes_those_of_a_comparison_away() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        await compared(desk, session)
        await desk.press("a")
        await desk.type("c/three")
        await desk.press("enter")
        assert session.requests[-1] == RunRequest(repo="c/three")
        assert tabs(desk) == [] and "comparison" not in line(desk)
        await desk.press(".")
        assert desk.screen.splitlines()[0].strip().startswith("c/three")


async def test_what_is_shown_can_be_chosen_with_the_mouse() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        await desk.pilot.click(RunTabs, offset=(line(desk).index("b/two"), 0))
        await desk.settle()
        assert tabs(desk)[1] == ("b/two", "running", True)


async def test_breakers_and_limits_are_the_same_on_every_tab_also_on_one_that_begins_later() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        session.of("b/two", ev.TurnStarted(turn=1, max_turns=15))
        session.of("b/two", started("c1"))
        for attempt in (1, 2):
            failed = ev.AttemptFailed(call_id="c1", name="read_file", attempt=attempt, reason="HTTP 503", status=503)
            session.of("b/two", failed)
        session.of("b/two", quota(4812, 188))
        await desk.settle()
        assert "2/5" in desk.screen and "4,812/5,000" in desk.screen
        session.of("b/two", breaker("read_file", "open", failures=5, retry_in=30))
        desk.clock.pass_(10)
        await desk.settle()
        assert "OPEN 20 s" in desk.screen
        session.end("a/one", report="# One")
        session.end("b/two", report="# Two")
        session.begin(BOTH)
        desk.clock.pass_(5)
        await desk.settle()
        assert tabs(desk)[2] == ("comparison", "running", True)
        assert "OPEN 15 s" in desk.screen and "4,812/5,000" in desk.screen
        assert desk.app.state.quota["core"].spent == 0
        session.end(BOTH, report="# Both")
        await desk.until(lambda: not session.running)
        session.between(breaker("read_file", "closed", cause="user"))
        for _ in range(3):
            await desk.press(".")
            assert "OPEN" not in desk.screen


@pytest.mark.parametrize(
    ("width", "seen"),
    [
        (80, "▏▶ pallets/flask running▕ ▶ encode/httpx running  ▶ comparison running"),
        (60, "▏▶ pallets/flask▕ ▶ encode/httpx  ▶ comparison"),
        (40, "▏▶ flask▕ ▶ httpx  ▶ comparison"),
        (28, "▏▶ flask▕ ▶ httpx  ▶ compa…"),
        (16, "▏▶ fla…▕ ▶  ▶"),
    ],
)
def test_tabs_lose_words_then_owners_then_the_ends_of_names(width: int, seen: str) -> None:
    bar, names = RunTabs(), ("pallets/flask", "encode/httpx", "comparison")
    bar._tabs = tuple(Tab(name, "running", name == names[0]) for name in names)
    assert bar.line(width).plain.rstrip() == seen


# -- all of them ---------------------------------------------------------------------------------


@pytest.mark.parametrize("silent", [False, True])
async def test_escape_cancels_all_and_no_run_stays_without_an_end(silent: bool) -> None:
    session = SideBySide(silent=silent)
    async with dashboard(TWO, session=session) as desk:
        await desk.press("escape")
        await desk.until(lambda: not session.running)
        await desk.settle()
        assert [outcome for _, outcome, _ in tabs(desk)] == ["cancelled", "cancelled", "idle"]
        assert "Cancelled; what was seen stays." in desk.screen


async def test_r_compares_again_from_every_tab() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        for _ in range(2):
            await compared(desk, session)
            await desk.press(".", "r")
            assert session.requests[-1] == TWO
            assert [outcome for _, outcome, _ in tabs(desk)] == ["running", "running", "idle"]


async def test_a_question_goes_on_with_the_repository_that_is_shown_and_not_with_the_comparison() -> None:
    session = SideBySide()
    async with dashboard(TWO, session=session) as desk:
        await compared(desk, session)
        await desk.press("a")
        await desk.type("Why?")
        await desk.press("enter")
        assert session.requests == [TWO]
        assert "A comparison cannot be gone on with" in desk.screen
        await desk.press("escape", ",", "a", "enter")
        asked = RunRequest(repo="b/two", question="Why?", follows="b/two#1")
        assert session.requests[-1] == asked
        session.end("b/two", report="Therefore.")
        await desk.until(lambda: not session.running)
        await desk.settle()
        assert "Report on two" in desk.screen and "Therefore." in desk.screen
        assert [name for name, _, _ in tabs(desk)] == ["a/one", "b/two", "comparison"]
        await desk.press("r")
        assert session.requests[-1] == asked, "again what this tab was asked last"


# -- the input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "repos", "question"),
    [
        ("aa/bb cc/dd", ["aa/bb", "cc/dd"], None),
        ("aa/bb, cc/dd", ["aa/bb", "cc/dd"], None),
        ("aa/bb vs cc/dd which is better?", ["aa/bb", "cc/dd"], "which is better?"),
        ("aa/bb vs. cc/dd: which is faster?", ["aa/bb", "cc/dd"], "which is faster?"),
        ("aa/bb and cc/dd", ["aa/bb", "cc/dd"], None),
        ("aa/bb, cc/dd, and ee/ff", ["aa/bb", "cc/dd", "ee/ff"], None),
        ("aa/bb cc/dd?", ["aa/bb", "cc/dd"], None),
        ("aa/bb 和 cc/dd 哪个更好？", ["aa/bb", "cc/dd"], "哪个更好？"),
        ("aa/bb和cc/dd哪个好", ["aa/bb", "cc/dd"], "哪个好"),
        ("aa/bb与cc/dd、ee/ff", ["aa/bb", "cc/dd", "ee/ff"], None),
        (
            "https://github.com/aa/bb git@github.com:cc/dd.git",
            ["https://github.com/aa/bb", "git@github.com:cc/dd.git"],
            None,
        ),
        ("aa/bb", ["aa/bb"], None),
        ("aa/bb how does it differ from cc/dd?", ["aa/bb"], "how does it differ from cc/dd?"),
        ("aa/bb and what else?", ["aa/bb"], "and what else?"),
        ("aa/bb src/app explain", ["aa/bb"], "src/app explain"),
        ("aa/bb and/or what?", ["aa/bb"], "and/or what?"),
        ("aa/bb docs/index.md", ["aa/bb"], "docs/index.md"),
    ],
)
def test_a_text_that_begins_with_several_addresses_compares_them(
    text: str, repos: list[str], question: str | None, tmp_path: Path
) -> None:
    first, *others = repos
    for current in (None, RunRequest(repo="x/y", lang="zh", follows="f", since="s", others=("o/p",))):
        request = request_for(text, current, cwd=tmp_path)
        lang = current.lang if current else None
        assert request == RunRequest(repo=first, others=tuple(others), question=question, lang=lang)


def test_folders_are_compared_too(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    request = request_for("./one ./two which?", None, cwd=tmp_path)
    assert (request.repo, request.others, request.question) == ("./one", ("./two",), "which?")


def test_a_question_after_a_comparison_says_where_to_ask_it() -> None:
    with pytest.raises(UsageError, match="go to a repository of it"):
        request_for("why?", TWO)
    assert request_for("why?", replace(TWO, others=(), since="s"), follows="f") == RunRequest(
        repo="a/one", question="why?", follows="f"
    )


# -- what has changed ----------------------------------------------------------------------------


async def test_d_tells_what_has_changed_as_a_chapter_behind_the_report() -> None:
    session = SideBySide()
    async with dashboard(RunRequest(repo="a/one", question="是什么？"), session=session) as desk:
        await desk.press("d")
        assert "when it has ended" in desk.told[-1]
        session.end("a/one", report="# Report on one")
        await desk.until(lambda: not session.running)
        await desk.settle()
        assert "d tells what has changed since the last run." in " ".join(desk.screen.split())
        await desk.press("d")
        asked = RunRequest(repo="a/one", lang="zh", follows="a/one#1", since="old-1")
        assert session.requests[-1] == asked
        session.end("a/one", report="Two commits.")
        await desk.until(lambda: not session.running)
        await desk.settle()
        assert "Report on one" in desk.screen and "Two commits." in desk.screen
        assert "d tells" not in desk.app.board.message.text
        await desk.press("d")
        assert session.requests[-1] == asked
        session.end("a/one", report="Two commits.")
        await desk.until(lambda: not session.running)
        await desk.press("r")
        assert session.requests[-1] == RunRequest(repo="a/one", question="是什么？"), "the analysis, not the difference"


async def test_d_explains_why_there_is_nothing_to_tell() -> None:
    async with dashboard(None) as desk:
        await desk.press("escape", "d")
        assert desk.told[-1].startswith("No run yet")
    session = SideBySide(previous=None)
    async with dashboard(TWO, session=session) as desk:
        await compared(desk, session)
        await desk.press("d")
        assert desk.told[-1].startswith("A comparison has no earlier run")
        await desk.press(",", "d")
        assert desk.told[-1] == "This is the first recorded run of b/two."
        session.settings = replace(session.settings, record=False)
        await desk.press("d")
        assert desk.told[-1].startswith("Runs are not recorded here")
    async with dashboard() as desk:
        desk.session.finish("failed", error="gone")
        await desk.until(lambda: not desk.session.running)
        await desk.press("d")
        assert desk.told[-1].startswith("There is no report here")


async def test_a_recorded_run_goes_on_with_its_report_before_the_new_chapter(tmp_path: Path) -> None:
    first, *rest = story("r2")
    assert isinstance(first, ev.RunStarted)
    record(tmp_path, [replace(first, previous="r1"), *rest])
    store, session = RunStore(tmp_path), SideBySide()
    shown = opened([store.load(store.find("r2"))], 5)
    async with dashboard(None, session=session, replay=shown) as desk:
        await desk.until(lambda: desk.app._stage.player is not None)
        await desk.press(">", "d")
        await desk.until(lambda: bool(session.requests))
        assert (session.requests[-1].follows, session.requests[-1].since) == ("r2", "r1")
        session.end("pallets/flask", report="Two commits.")
        await desk.until(lambda: not session.running)
        await desk.settle()
        assert "A micro framework." in desk.screen and "Two commits." in desk.screen
        assert "REPLAY" not in desk.screen


# -- whole screens, and the real session ---------------------------------------------------------


@pytest.mark.parametrize(("width", "height"), [(60, 20), (160, 44)])
async def test_a_comparison_looks_as_it_did(width: int, height: int) -> None:
    session = SideBySide()
    async with dashboard(TWO, size=(width, height), session=session) as desk:
        session.of("b/two", ev.Snapshot(repo="b/two", ref="main", commit="1a2b3c4d" * 5, files=221, truncated=False))
        session.of("b/two", ev.TurnStarted(turn=1, max_turns=15))
        session.of("b/two", started("c1", path="README.md"))
        session.end("a/one", "partial", report="# Report on one", error="The tokens ran out.")
        await desk.press(".")
        compare(seen_on(desk), f"comparison-{width}.txt")


async def test_two_repositories_are_compared_and_one_of_them_is_told_to_have_changed(tmp_path: Path) -> None:
    one = make_repo(tmp_path / "one", [("First", {"README.md": "# One\n"})])
    two = make_repo(tmp_path / "two", [("First", {"README.md": "# Two\n", "old.py": "pass\n"})])
    session = Session(Settings())
    app = DashboardApp(session, RunRequest(repo=str(one), others=(str(two),)))
    async with app.run_test(size=(130, 36), notifications=True) as pilot:
        desk = Desk(app, ScriptedSession(), pilot)
        seen: set[str | None] = set()
        for _ in range(2):
            await desk.until(lambda: bool(tabs(desk)) and tabs(desk)[2][1] == "completed" and not app._runs.busy)
            if not seen:
                seen.add(app.state.run.run_id)
                commit(two, "Second step", {"old.py": None})
                await desk.press("r")
                await desk.until(lambda: app.state.run.run_id not in seen)
        await desk.settle()
        assert tabs(desk)[2] == ("comparison", "completed", True)
        assert app.state.report.text.startswith("| Fact | local/one | local/two |")
        await desk.press(",", "d")
        await desk.until(lambda: app.state.run.follows is not None and app.state.run.outcome == "completed")
        assert "Second step" in app.state.report.text and "removed `old.py`" in app.state.report.text

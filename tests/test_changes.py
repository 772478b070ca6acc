"""What has changed since the last run: commits, files, facts, and claims of the old report that no longer hold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes import Recorder
from tests.repos import commit, make_repo
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import say
from tui_agent.agent.prompts import changes_question
from tui_agent.events import Event, Grounding, Notice, RunFinished, RunStarted, Snapshot, ToolFinished
from tui_agent.report.changes import Commits, Files, Side, outdated, text
from tui_agent.request import RunRequest, UsageError
from tui_agent.runs.store import RunStore
from tui_agent.session import Session
from tui_agent.settings import Settings

FIRST = {
    "README.md": "# Tool\n\nA tool that counts.\n",
    "pyproject.toml": '[project]\nname = "tool"\nversion = "1.0.0"\ndependencies = ["click"]\n',
    "old.py": "print('old')\n",
}


async def run(request: RunRequest) -> tuple[RunFinished, Recorder]:
    session, heard = Session(Settings(record=True)), Recorder()
    try:
        return await session.run(request, heard), heard
    finally:
        await session.aclose()


def started(heard: list[Event]) -> RunStarted:
    return next(event for event in heard if isinstance(event, RunStarted))


async def test_a_second_run_names_the_first_and_tells_on_demand_what_has_changed(tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "tool", [("First", FIRST)])
    request = RunRequest(repo=str(folder))
    _, first = await run(request)
    assert started(first).previous is None
    newer = {"pyproject.toml": FIRST["pyproject.toml"].replace("1.0.0", "2.0.0"), "old.py": None, "new.py": "pass\n"}
    commit(folder, "Second *step*", newer)
    _, second = await run(request)
    assert started(second).previous == started(first).run_id

    asked = RunRequest(repo=str(folder), follows=started(second).run_id, since=started(second).previous)
    finished, third = await run(asked)
    assert finished.outcome == "completed"
    assert (started(third).follows, started(third).previous) == (started(second).run_id, None)
    told = finished.report
    assert "Second \\*step\\*" in told and "First" not in told.split("### Files")[0].split("### Commits")[1]
    assert "1 added, 1 removed, 1 changed." in told
    assert [line for line in told.splitlines() if line.startswith(("- added", "- removed", "- changed"))] == [
        "- added `new.py`",
        "- removed `old.py`",
        "- changed `pyproject.toml`",
    ]
    assert "| Version | 1.0.0 | 2.0.0 |" in told
    claims = told.split("### What the earlier report said")[1]
    assert "old.py" in claims and "the file is no longer there" in claims
    assert "1.0.0" in claims and "what is there now says otherwise" in claims
    assert "click" not in claims, "what still holds is not listed"
    held, every = (int(word) for word in claims.split() if word.isdigit())
    supported = next(event for event in first if isinstance(event, Grounding)).supported
    commits = [item["claim"] for item in supported if item["kind"] == "sha"]
    assert commits and commits[0] not in claims, "the commit that it saw is still the one that it saw"
    assert 0 < held < every == len(supported) - len(commits)


async def test_of_the_files_only_those_that_have_changed_are_read_again(tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "tool", [("First", FIRST)])
    request = RunRequest(repo=str(folder), question="Who maintains it?")
    _, first = await run(request)
    commit(folder, "Reword", {"README.md": "# Tool\n\nA tool that weighs.\n"})
    _, second = await run(request)
    _, third = await run(RunRequest(repo=str(folder), follows=started(second).run_id, since=started(first).run_id))
    fetched = [event for event in third.of(ToolFinished) if event.tool == "read_file" and event.cache != "memory"]
    assert fetched == [], "the later run has read it already"


async def test_where_nothing_has_changed_it_says_so_in_both_languages(tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "tool", [("First", FIRST)])
    _, first = await run(RunRequest(repo=str(folder), lang="zh"))
    _, second = await run(RunRequest(repo=str(folder), lang="zh"))
    for lang, words in (("zh", "没有变化"), ("en", "Nothing has changed")):
        ids = {"follows": started(second).run_id, "since": started(first).run_id}
        finished, _ = await run(RunRequest(repo=str(folder), lang=lang, **ids))
        assert words in finished.report


async def test_a_folder_of_the_same_name_elsewhere_is_another_repository(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        folder = make_repo(tmp_path / place / "tool", [("First", FIRST)])
        _, heard = await run(RunRequest(repo=str(folder)))
        assert started(heard).previous is None


async def test_an_earlier_run_that_nobody_recorded_is_one_sentence(tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "tool", [("First", FIRST)])
    _, heard = await run(RunRequest(repo=str(folder)))
    with pytest.raises(UsageError, match='no run "nobody"'):
        await run(RunRequest(repo=str(folder), follows=started(heard).run_id, since="nobody"))


def test_a_commit_that_is_not_among_those_seen_is_told_as_such() -> None:
    side = Side(0.0, "a" * 40, {}, {})
    commits = Commits([{"sha": "b" * 7, "date": "2026-01-02", "author": "A|B", "message": "x"}], complete=False)
    told = text(side, Side(1.0, "b" * 40, {}, {}), commits, Files(added=["x"]), [], 0, chinese=False)
    assert "not among the latest 1" in told and "A\\|B" in told


def test_facts_are_told_in_words_and_units_of_the_reports_language() -> None:
    old = {"bytes": 1_882_092, "busiest_author_share": 0.333, "ci": "missing", "archived": False, "stars": 1200}
    new = {"bytes": 2_000, "busiest_author_share": 0.5, "ci": "found", "archived": True, "stars": 1300}
    sides = Side(0.0, "a" * 40, {}, old), Side(1.0, "b" * 40, {}, new)
    english = text(*sides, Commits(), Files(), [], 0, chinese=False)
    for row in ("Size | 1.9 MB | 2.0 kB", "author | 33 % | 50 %", "CI | none found | yes", "Archived | no | yes"):
        assert f"{row} |" in english
    assert "| Stars | 1,200 | 1,300 |" in english
    chinese = text(*sides, Commits(), Files(), [], 0, chinese=True)
    assert "| 持续集成 | 未发现 | 有 |" in chinese and "| 星标 | 1,200 | 1,300 |" in chinese


def test_a_claim_is_outdated_by_its_file_or_by_what_is_known_now() -> None:
    said = [
        {"kind": "path", "claim": "a.py", "path": "a.py"},
        {"kind": "version", "claim": "1.0", "path": "b.toml"},
        {"kind": "code", "claim": "run()", "path": "c.py"},
        {"kind": "number", "claim": "7", "source": "get_repo_info"},
        {"kind": "code", "claim": "kept()", "path": "d.py"},
        {"kind": "code", "claim": "same()", "path": "e.py"},
    ]
    files = Files(removed=["a.py"], changed=["b.toml", "c.py", "d.py"])
    found = outdated(said, [said[4]], files, frozenset({"b.toml", "d.py"}))
    assert [(one.claim, one.why) for one in found] == [
        ("a.py", "gone"),
        ("1.0", "differs"),
        ("run()", "changed"),
        ("7", "differs"),
    ]
    odd = {"kind": {}, "claim": ["x"], "path": {}}
    assert outdated([odd], [odd], files, frozenset()) == [], "a record may hold what no check has written"


async def test_a_tree_that_was_not_listed_whole_tells_nothing_of_what_was_added_or_removed() -> None:
    files = Files.between({"a": "1", "b": "1"}, {"a": "2", "c": "1"}, is_cut=True)
    told = text(Side(0.0, "a" * 40, {}, {}), Side(1.0, "b" * 40, {}, {}), Commits(), files, [], 0, chinese=False)
    assert "1 changed among those that were listed both times" in told and "- changed `a`" in told
    assert "`b`" not in told and "`c`" not in told


async def test_a_folder_without_history_cannot_be_compared_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "README.md").write_text("# Plain\n")
    request = RunRequest(repo=str(tmp_path / "plain"))
    ids = [started((await run(request))[1]).run_id for _ in range(2)]
    finished, heard = await run(RunRequest(repo=request.repo, follows=ids[1], since=ids[0]))
    assert (finished.outcome, finished.error) == (
        "failed",
        "The earlier run saw a folder without history; what was in it is not known.",
    )
    assert started(heard).previous is None and not heard.of(Snapshot)


async def test_a_difference_asks_no_model_so_the_first_run_that_does_names_its_host() -> None:
    async with GitHubServer(FIRST) as github, ModelServer(by_function=lambda _: [say("# Done")]) as model:
        request = RunRequest(repo="team/tool", ref="HEAD", engine="survey", no_cache=True)
        settings = Settings(record=True, github_api_url=github.url, base_url=model.url, api_key="sk-test-0123456789")
        heard = [Recorder() for _ in range(4)]
        session = Session(settings)
        for told in heard[:2]:
            await session.run(request, told)
        ids = {"since": started(heard[0]).run_id, "follows": started(heard[1]).run_id}
        finished = await session.run(RunRequest(repo="team/tool", ref="HEAD", **ids), heard[2])
        assert model.bodies == [] and finished.outcome == "completed"
        assert (started(heard[2]).engine, started(heard[2]).ref) == ("survey", "HEAD")
        await session.run(RunRequest(repo="team/tool", no_cache=True), heard[3])
        await session.aclose()
    assert [sum("receives" in one.text for one in told.of(Notice)) for told in heard] == [0, 0, 0, 1]


async def test_what_a_difference_has_spent_is_told_also_where_it_fails() -> None:
    async with GitHubServer(FIRST) as github:
        settings = Settings(record=True, github_api_url=github.url, max_retries=0)
        request = RunRequest(repo="team/tool", no_cache=True)
        heard = []
        for _ in range(2):
            session = Session(settings)
            heard.append(Recorder())
            await session.run(request, heard[-1])
            await session.aclose()
        ids = {"since": started(heard[0]).run_id, "follows": started(heard[1]).run_id}
        session, told = Session(settings, chaos="snapshot:503"), Recorder()
        finished = await session.run(RunRequest(repo="team/tool", no_cache=True, **ids), told)
        await session.aclose()
    assert (finished.outcome, finished.requests, finished.turns) == ("failed", 1, 0)


async def test_a_difference_that_is_cancelled_while_it_loads_has_a_first_and_a_last_event() -> None:
    class Slow(Session):
        async def prepare(self) -> None:
            await asyncio.Event().wait()

    heard = Recorder()
    request = RunRequest(repo="team/tool", follows="bbb", since="aaa")
    task = asyncio.create_task(Slow(Settings(record=True)).run(request, heard))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    first, last = heard
    assert isinstance(first, RunStarted) and (first.question, first.follows) == (changes_question(None), "bbb")
    assert isinstance(last, RunFinished) and last.outcome == "cancelled"
    assert [one.outcome for one in RunStore().list()] == ["cancelled"]

"""What has changed since the last run: commits, files, facts, and claims of the old report that no longer hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import Recorder
from tests.repos import commit, make_repo
from tui_agent.events import Event, Grounding, RunFinished, RunStarted, ToolFinished
from tui_agent.report.changes import Commits, Files, Side, outdated, text
from tui_agent.request import RunRequest, UsageError
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
    assert "| version | 1.0.0 | 2.0.0 |" in told
    claims = told.split("### What the earlier report said")[1]
    assert "old.py" in claims and "the file is no longer there" in claims
    assert "1.0.0" in claims and "what is there now says otherwise" in claims
    assert "click" not in claims, "what still holds is not listed"
    held, every = (int(word) for word in claims.split() if word.isdigit())
    assert 0 < held < every == len(next(event for event in first if isinstance(event, Grounding)).supported)


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

"""Several repositories at once: a run each, side by side on the same layers, then one comparison."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import Recorder
from tests.repos import make_repo
from tests.servers.faults import refuse
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import call, failure, say, stall, usage
from tui_agent.agent.prompts import COMPARE
from tui_agent.events import Event, Grounding, ReportDelta, RunFinished, RunStarted, ToolFinished
from tui_agent.report.compare import Column, table
from tui_agent.request import RunRequest, UsageError
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.transports.survey.phrases import ENGLISH
from tui_agent.transports.survey.reading import compared

FILES = {
    "README.md": "# Tool\n",
    "pyproject.toml": '[project]\nname = "tool"\nversion = "1.2"\ndependencies = ["httpx>=0.27", "click"]\n',
    "LICENSE": "MIT License\n",
    "tests/test_tool.py": "def test(): ...\n",
    ".github/workflows/ci.yml": "on: push\njobs: {test: {}}\n",
}
TWO = RunRequest(repo="a/one", others=("b/two",), question="Which one?")


def settings(github: GitHubServer, model: ModelServer | None = None, **more: Any) -> Settings:
    endpoint = {"base_url": f"{model.url}/v1", "api_key": "sk-test-0123456789abcdef"} if model else {}
    return Settings(github_api_url=github.url, record=False, base_delay=0.001, max_delay=0.002, **endpoint, **more)


def analyst(body: dict[str, Any]) -> Any:
    """Reads a README, reports; and reads the figures where it is asked to compare."""
    messages = body["messages"]
    if messages[0]["content"] == COMPARE:
        return [say("They are alike.", by=5), usage(900, 20)]
    if messages[-1]["role"] == "tool":
        return [say("# Report\n\nIt is a tool."), usage(200, 10)]
    owner, repo = messages[1]["content"].splitlines()[0].removeprefix("Repository: ").split("/")
    return [call("read_file", {"owner": owner, "repo": repo, "path": "README.md"}), usage(100, 10)]


async def compare(wanted: Settings, request: RunRequest) -> tuple[RunFinished, Recorder]:
    heard, session = Recorder(), Session(wanted)
    try:
        return await session.run(request, heard), heard
    finally:
        await session.aclose()


def by_run(heard: list[Event]) -> dict[str, list[Event]]:
    """The events by the repository of their run, in order."""
    names = {event.run_id: event.repo for event in heard if isinstance(event, RunStarted)}
    return {name: [event for event in heard if event.run_id == run_id] for run_id, name in names.items()}


async def test_each_repository_has_its_run_and_the_comparison_begins_with_the_computed_figures() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        finished, heard = await compare(settings(github, model), TWO)
        assert model.errors == github.errors == []
    runs = by_run(heard)
    assert sorted(runs) == ["a/one", "a/one, b/two", "b/two"] and list(runs)[-1] == "a/one, b/two"
    for events in runs.values():
        assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
        assert sum(isinstance(event, RunFinished) for event in events) == 1
    starts = [heard.index(event) for event in heard.of(RunFinished)[:2]]
    assert heard.index(heard.of(RunStarted)[1]) < min(starts), "the runs go on side by side"
    assert finished.outcome == "completed" and finished.error is None
    above, reading = finished.report.split("\n\n", 1)
    assert reading == "They are alike."
    rows = {line.split(" | ")[0].strip("| "): line for line in above.splitlines()}
    assert rows["Version"].count("1.2") == 2 and rows["Declared dependencies"].count("`httpx`, `click`") == 2
    assert rows["Tests"].count("1 files") == 2 and rows["CI"].count("GitHub Actions") == 2
    streamed = "".join(event.text for event in runs["a/one, b/two"] if isinstance(event, ReportDelta))
    assert streamed == finished.report, "the figures stand first while the reading streams"


async def test_the_model_is_told_the_figures_and_both_reports_and_offered_no_tools() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        await compare(settings(github, model), TWO)
    (asked,) = [body for body in model.bodies if body["messages"][0]["content"] == COMPARE]
    told = asked["messages"][1]["content"]
    assert told.startswith("Comparison: a/one, b/two\nFigures: {") and "Which one?" in told and "tools" not in asked
    assert told.count("It is a tool.") == 2


async def test_what_the_reading_claims_is_checked_against_all_of_them() -> None:
    def claims(body: dict[str, Any]) -> Any:
        if body["messages"][0]["content"] == COMPARE:
            return [
                say(
                    "Both have `pyproject.toml` with version 1.2; `src/nowhere.py` is in neither, nor is version 9.9.9."
                ),
                usage(9, 9),
            ]
        return analyst(body)

    async with GitHubServer(FILES) as github, ModelServer(by_function=claims) as model:
        finished, heard = await compare(settings(github, model), TWO)
    checked = heard.of(Grounding)[-1]
    assert {"pyproject.toml", "1.2"} <= {item["claim"] for item in checked.supported}
    assert {"9.9.9"} <= {item["claim"] for item in checked.unsupported}
    for item in (*checked.supported, *checked.unsupported):
        assert finished.report[item["start"] :].startswith(item["claim"])


async def test_what_the_runs_have_read_is_not_asked_for_again() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        finished, heard = await compare(settings(github, model), TWO)
        blobs = [request.path for request in github.asked(r"/repos/.+/git/blobs/.+")]
    assert len(blobs) == len(set(blobs)) == 4, "README and pyproject.toml of each"
    own = by_run(heard)["a/one, b/two"]
    asked = [event for event in own if isinstance(event, ToolFinished)]
    assert finished.tool_calls == len(asked) and finished.requests == sum(event.attempts for event in asked) == 6
    assert {event.arguments["owner"] for event in asked} == {"a", "b"}


async def test_a_repository_that_is_not_there_does_not_take_the_others_along() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        github.on(r"/repos/no/.*", always=refuse(404, "Not Found"))
        github.on(r"/repos/no/body", always=refuse(404, "Not Found"))
        request = RunRequest(repo="a/one", others=("no/body", "b/two"))
        finished, heard = await compare(settings(github, model), request)
    assert [event.outcome for event in heard.of(RunFinished)] == ["failed", "completed", "completed", "partial"]
    assert finished.error == "no/body could not be analysed." and "They are alike." in finished.report
    assert "- no/body could not be analysed: " in finished.report


async def test_where_one_alone_is_left_its_figures_stand_without_a_reading() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        github.on(r"/repos/no/.*", always=refuse(404, "Not Found"))
        finished, _ = await compare(settings(github, model), RunRequest(repo="a/one", others=("no/body",)))
        assert not [body for body in model.bodies if body["messages"][0]["content"] == COMPARE]
    assert finished.outcome == "partial" and "a/one" in finished.report and "Only a/one" in (finished.error or "")


async def test_none_at_all_is_a_failure_that_says_so() -> None:
    async with GitHubServer(FILES) as github:
        github.on(r"/repos/.*", always=refuse(404, "Not Found"))
        finished, heard = await compare(settings(github), TWO)
    assert finished.outcome == "failed" and "nothing is compared" in (finished.error or "")
    assert [event.outcome for event in heard.of(RunFinished)] == ["failed"] * 3


async def test_where_the_model_is_lost_the_figures_are_read_by_rule() -> None:
    def breaks(body: dict[str, Any]) -> Any:
        return failure(402, "no balance") if body["messages"][0]["content"] == COMPARE else analyst(body)

    async with GitHubServer(FILES) as github, ModelServer(by_function=breaks) as model:
        finished, _ = await compare(settings(github, model), TWO)
    assert finished.outcome == "partial" and "no balance" in (finished.error or "")
    assert "All declare `click`, `httpx`." in finished.report and "**This report is partial:**" in finished.report


async def test_a_cancelled_comparison_ends_every_run_that_has_begun() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=lambda _: [say("I "), stall()]) as model:
        heard, session = Recorder(), Session(settings(github, model))
        task = asyncio.create_task(session.run(TWO, heard))
        while len(heard.of(ReportDelta)) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await session.aclose()
    assert [event.outcome for event in heard.of(RunFinished)] == ["cancelled", "cancelled"]


async def test_a_comparison_that_is_cancelled_while_it_loads_tells_both_ends_of_each_run() -> None:
    class Slow(Session):
        async def prepare(self) -> None:
            await asyncio.Event().wait()

    heard = Recorder()
    task = asyncio.create_task(Slow(Settings(record=False)).run(TWO, heard))
    for _ in range(3):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert {name: [event.type for event in events] for name, events in by_run(heard).items()} == {
        "a/one": ["run_started", "run_finished"],
        "b/two": ["run_started", "run_finished"],
    }


async def test_a_repository_of_a_comparison_can_be_asked_further_without_a_record() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        heard, session = Recorder(), Session(settings(github, model))
        await session.run(TWO, heard)
        one = next(event for event in heard.of(RunStarted) if event.repo == "a/one")
        finished = await session.run(RunRequest(repo="a/one", question="And?", follows=one.run_id), heard)
        await session.aclose()
    assert finished.outcome == "completed" and heard.of(RunStarted)[-1].follows == one.run_id


async def test_of_a_local_and_a_remote_repository_only_requests_to_github_count(tmp_path: Path) -> None:
    local = make_repo(tmp_path / "one", [("First", FILES)])
    async with GitHubServer(FILES) as github:
        finished, heard = await compare(settings(github), RunRequest(repo=str(local), others=("b/two",)))
        sent = len(github.requests)
    assert sum(event.requests for event in heard.of(RunFinished)) == sent
    assert finished.outcome == "completed"


async def test_a_fault_in_one_repositorys_figures_leaves_nothing_going_on_behind_the_last_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(messages: list[dict[str, Any]], now: float) -> dict[str, Any]:
        if "a/one" in messages[1]["content"]:
            raise ValueError("no figures")
        return {}

    monkeypatch.setattr("tui_agent.agent.figures.profile", broken)
    async with GitHubServer(FILES) as github, ModelServer(by_function=analyst) as model:
        heard, session = Recorder(), Session(settings(github, model))
        finished = await session.run(TWO, heard)
        assert not [task for task in asyncio.all_tasks() if "Comparison._figures" in repr(task.get_coro())]
        await session.aclose()
    assert finished.error == "A fault of this program ended the run (ValueError: no figures)."
    assert heard[-1] == finished and finished.tool_calls == len(
        [event for event in heard.of(ToolFinished) if event.run_id == finished.run_id]
    )


@pytest.mark.parametrize(("question", "word"), [(None, "Differences"), ("比较一下", "差异")])
async def test_the_survey_compares_by_rule_in_both_languages(tmp_path: Path, question: str | None, word: str) -> None:
    one = make_repo(tmp_path / "one", [("First", FILES)])
    two = make_repo(tmp_path / "two", [("First", {"README.md": "# Two\n", "main.go": "package main\n"})])
    finished, heard = await compare(
        Settings(record=False), RunRequest(repo=str(one), others=(str(two),), question=question)
    )
    assert finished.outcome == "completed" and f"## {word}" in finished.report
    assert sorted(by_run(heard)) == ["local/one", "local/one, local/two", "local/two"]
    assert finished.requests == 0


@pytest.mark.parametrize(("licence", "told"), [("none", False), ("see COPYING", False), ("MIT", True)])
def test_a_licence_that_nobody_has_or_knows_is_not_common(licence: str, told: bool) -> None:
    figures = json.dumps({"a/one": {"licence": licence}, "a/two": {"licence": licence}})
    assert ("All are under" in compared(figures, ENGLISH)) is told


async def test_a_folder_that_cannot_be_read_is_a_run_that_failed(tmp_path: Path) -> None:
    one = make_repo(tmp_path / "one", [("First", FILES)])
    broken = make_repo(tmp_path / "broken", [("First", FILES)])
    (broken / ".git" / "HEAD").write_bytes(b"\0nonsense")
    (broken / ".git" / "config").write_bytes(b"[core\n\0")
    finished, heard = await compare(Settings(record=False), RunRequest(repo=str(one), others=(str(broken),)))
    assert finished.outcome in ("completed", "partial") and "local/one" in finished.report
    assert len(heard.of(RunFinished)) == 3


async def test_the_same_repository_twice_is_refused_before_anything_is_asked() -> None:
    async with GitHubServer(FILES) as github:
        with pytest.raises(UsageError, match="named twice"):
            await compare(settings(github), RunRequest(repo="a/one", others=("A/One",)))
        assert github.requests == []


async def test_two_folders_of_one_name_are_refused_as_such(tmp_path: Path) -> None:
    for place in ("old", "new"):
        (tmp_path / place / "tool").mkdir(parents=True)
    request = RunRequest(repo=str(tmp_path / "old" / "tool"), others=(str(tmp_path / "new" / "tool"),))
    with pytest.raises(UsageError, match="Two folders are named local/tool: only folders"):
        await compare(Settings(record=False), request)


def test_text_of_a_repository_cannot_break_the_table() -> None:
    hostile = {
        "description": "a | b\n| c | `x` <script> [l](http://e)",
        "dependency_names": ["a|b", "`"],
        "dependencies": 2,
    }
    text = table([Column("o/n", hostile), Column("o/m", {"stars": 3})], chinese=False)
    assert all(line.replace("\\|", "").count("|") == 4 for line in text.splitlines())
    assert "\\<script" in text and "\\[l\\](http" in text


def test_rows_of_which_nothing_is_known_are_left_out() -> None:
    text = table([Column("o/n", {"stars": 12_345})], chinese=True)
    assert text.splitlines() == ["| 事实 | o/n |", "| --- | --- |", "| 星标 | 12,345 |"]


def run_program(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "tui_agent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environ, cwd=folder, timeout=60)


def test_the_command_line_interleaves_events_by_run_and_writes_the_comparison(tmp_path: Path) -> None:
    one = make_repo(tmp_path / "one", [("First", FILES)])
    two = make_repo(tmp_path / "two", [("First", {"README.md": "# Two\n"})])
    done = run_program("--json", "-o", "both.md", str(one), str(two), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    runs = {line["run_id"]: line["repo"] for line in lines if line["type"] == "run_started"}
    assert sorted(runs.values()) == ["local/one", "local/one, local/two", "local/two"]
    assert lines[-1]["type"] == "run_finished" and runs[lines[-1]["run_id"]] == "local/one, local/two"
    assert lines[-1]["report"].splitlines()[0] in (tmp_path / "both.md").read_text()

    done = run_program("--print", str(one), str(two), folder=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("| Fact |")
    told = [line.partition(" | ")[0] for line in done.stderr.splitlines()]
    assert set(told) == {"local/one", "local/two", "local/one, local/two"}

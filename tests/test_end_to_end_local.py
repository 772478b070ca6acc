"""Local repositories and the built-in survey, as a process: no network, no key, the same facts as over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.repos import Step, git, make_repo
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.program import Program, environment, run
from tests.servers.terminal import Terminal
from tests.servers.turns import call, say
from tui_agent.transports.local_git import LocalTransport

HOSTILE = "# Tool\n\nA \x1b]52;c;eA==\x07\x1b[2J\x9b31m [red]tool[/] \u202e[@click=app.quit]x[/]\n"
STEPS: list[Step] = [
    ("Begin", {"README.md": "# Tool\n\nA tool that counts things.\n", "LICENSE": "MIT License\n"}),
    (
        "Add the source",
        {
            "pyproject.toml": '[project]\nname = "tool"\nversion = "1.0"\ndependencies = ["httpx>=0.27"]\n',
            "src/tool/__init__.py": "",
            "src/tool/main.py": "def main() -> None:\n    print('hi')\n",
            "tests/test_main.py": "def test_main() -> None:\n    assert True\n",
            ".github/workflows/ci.yml": "on: push\n",
        },
    ),
    ("Fix \x1b[31mit\x1b[0m\n\nBody.", {"src/tool/main.py": "def main() -> None:\n    print('ho')\n"}),
]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repo(tmp_path / "tool", STEPS)


@contextmanager
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment in which no address can be reached by mistake: every proxy and server is a closed port."""
    closed = "http://127.0.0.1:9"
    yield environment(tmp_path / "home", HTTPS_PROXY=closed, HTTP_PROXY=closed, ALL_PROXY=closed)


def results(program: Program) -> dict[str, Any]:
    """What each call came to, by tool and arguments, the repository's name left out."""
    found = {}
    for event in program.of("tool_finished"):
        arguments = {key: value for key, value in event["arguments"].items() if key not in ("owner", "repo")}
        found[f"{event['tool']} {json.dumps(arguments, sort_keys=True)}"] = event["result"]
    return found


async def test_a_folder_is_surveyed_without_a_key_and_without_a_network(tmp_path: Path, repository: Path) -> None:
    with home(tmp_path) as env:
        done = await run(".", "--json", env=env, cwd=repository)
    assert (done.code, done.err) == (0, "")
    started = done.of("run_started")[0]
    assert (started["repo"], started["source"], started["engine"], started["model"]) == (
        "local/tool",
        "local",
        "survey",
        "survey",
    )
    commit = git(repository, "rev-parse", "HEAD").decode().strip()
    assert (done.of("snapshot")[0]["commit"], done.of("snapshot")[0]["files"]) == (commit, 7)
    end = done.finished
    assert (end["outcome"], end["requests"]) == ("completed", 0)
    assert done.of("quota") == []
    report = end["report"]
    assert "No LLM" in report[:300]
    for fact in (commit, "httpx", "MIT", "A tool that counts things", "pyproject.toml"):
        assert fact in report
    assert "star" not in report.lower().replace("stars, issues", "").replace("start", "")


async def test_several_calls_of_the_survey_are_made_at_the_same_time(tmp_path: Path, repository: Path) -> None:
    with home(tmp_path) as env:
        done = await run(str(repository), "--json", env=env, cwd=tmp_path)
    by_turn = [event["turn"] for event in done.of("tool_started")]
    assert max(by_turn.count(turn) for turn in set(by_turn)) >= 3
    assert all("".join(e["text"] for e in done.of("reasoning") if e["turn"] == turn) for turn in set(by_turn))


async def test_uncommitted_changes_are_not_read_and_are_told(tmp_path: Path, repository: Path) -> None:
    (repository / "README.md").write_text("# Changed\n\nNobody has committed this.\n")
    (repository / "new.py").write_text("x = 1\n")
    with home(tmp_path) as env:
        done = await run(".", "--json", env=env, cwd=repository)
    assert done.code == 0
    assert "Nobody has committed this" not in done.out
    assert "uncommitted" in done.finished["report"]


async def test_the_same_repository_gives_the_same_answers_over_http(tmp_path: Path, repository: Path) -> None:
    with home(tmp_path) as env:
        local = await run("./tool", "--json", env=env, cwd=tmp_path)
    async with GitHubServer(LocalTransport.open(repository)) as github:
        env = environment(tmp_path / "home", github)
        remote = await run("team/tool", "--json", "--engine", "survey", env=env, cwd=tmp_path)
    assert github.errors == []
    assert (local.code, remote.code) == (0, 0)
    assert remote.of("run_started")[0]["source"] == "github"
    assert remote.finished["requests"] == len(github.requests) > 0
    first, second = results(local), results(remote)
    assert first.keys() == second.keys()
    for key in first:
        if not key.startswith("get_repo_info"):
            assert first[key] == second[key], key


async def test_a_model_reads_a_local_repository_by_its_name(tmp_path: Path, repository: Path) -> None:
    who = {"owner": "local", "repo": "tool"}
    calls = [call("get_repo_info", who), call("read_file", {**who, "path": "README.md"}), call("get_commits", who)]
    async with ModelServer(calls, [say("# Report")]) as model:
        env = environment(tmp_path / "home", None, model)
        done = await run(str(repository), "--json", env=env, cwd=tmp_path)
        assert model.errors == []
    assert done.code == 0
    by_tool = {event["tool"]: event["result"] for event in done.of("tool_finished")}
    info, readme, commits = (by_tool[one.name] for one in calls)
    assert info["ok"] is True and "stars" not in info and info["local"]["kind"] == "git"
    assert readme["content"] == "# Tool\n\nA tool that counts things.\n"
    assert [message for *_, message in commits["commits"]][1:] == ["Add the source", "Begin"]
    assert done.of("run_started")[0]["engine"] == "llm"


async def test_hostile_content_reaches_no_terminal_raw(tmp_path: Path) -> None:
    files = {"README.md": HOSTILE, "a\x1b[31m\u202eb.py": "x = 1\n", "[red]x[/].py": "y = 1\n"}
    folder = make_repo(
        tmp_path / "tool", [("Fix \x1b[31mit\x07", files, "E\x1b[5mvil <e@example.org>", "2024-01-01 00:00:00 +0000")]
    )
    with home(tmp_path) as env:
        printed = await run(str(folder), "--print", env=env, cwd=tmp_path)
        lines = await run(str(folder), "--json", env=env, cwd=tmp_path)
    assert (printed.code, lines.code) == (0, 0)
    for text in (printed.out, printed.err, lines.err):
        assert not {char for char in text if ord(char) < 32 or 0x7F <= ord(char) < 0xA0} - {"\n", "\t"}
        assert "\u202e" not in text
    assert not {char for char in lines.out if ord(char) < 32} - {"\n"}


def test_hostile_content_reaches_no_dashboard_raw(tmp_path: Path) -> None:
    folder = make_repo(
        tmp_path / "tool", [("Fix \x1b[31mit\x07", {"README.md": HOSTILE, "[@click=app.quit]x[/].py": ""})]
    )
    with home(tmp_path) as env, Terminal(str(folder), env=env, cwd=tmp_path) as terminal:
        terminal.see("completed", "No LLM")
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()
        assert b"\x1b]52" not in terminal.raw and "\x9b31m".encode() not in terminal.raw


async def test_a_plain_folder_is_one_snapshot_without_history(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text("# Plain\n\nA folder without git.\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "src" / "main.py").write_text("x = 1\n")
    (folder / "noise.log").write_text("noise\n")
    with home(tmp_path) as env:
        done = await run(str(folder), "--json", env=env, cwd=tmp_path)
    assert done.code == 0
    assert (done.of("snapshot")[0]["commit"], done.of("snapshot")[0]["files"]) == (None, 3)
    assert "noise.log" not in done.out


async def test_a_repository_without_commits_is_reported_as_one(tmp_path: Path) -> None:
    with home(tmp_path) as env:
        done = await run(str(make_repo(tmp_path / "empty")), "--json", env=env, cwd=tmp_path)
    assert (done.code, done.finished["outcome"]) == (0, "completed")
    assert (done.of("snapshot")[0]["commit"], done.of("snapshot")[0]["files"]) == (None, 0)


async def test_a_bare_repository_and_a_ref_of_it_work(tmp_path: Path, repository: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    git(tmp_path / "bare.git", "branch", "release/1.0", "HEAD~2")
    with home(tmp_path) as env:
        done = await run("./bare.git", "--json", "--ref", "release/1.0", env=env, cwd=tmp_path)
        wrong = await run("./bare.git", "--json", "--ref", "nowhere", env=env, cwd=tmp_path)
    assert done.code == 0
    assert (done.of("snapshot")[0]["ref"], done.of("snapshot")[0]["files"]) == ("release/1.0", 2)
    assert wrong.code == 1 and "nowhere" in wrong.err


async def test_a_chinese_question_gets_a_chinese_survey(tmp_path: Path, repository: Path) -> None:
    with home(tmp_path) as env:
        done = await run(".", "--print", "--question", "这个项目用了什么技术?", env=env, cwd=repository)
    assert done.code == 0
    assert "技术" in done.out and "httpx" in done.out

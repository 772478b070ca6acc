"""`runs` and `replay` on the command line: what they say, write and delete, and with which code they end."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_fakes import be_alone
from tests.test_cache_command import loaded
from tests.test_runs import BEGAN, events_of
from tui_agent.cli import main
from tui_agent.events import Notice, to_json
from tui_agent.request import RunRequest
from tui_agent.runs.record import Recorder
from tui_agent.runs.store import RunStore
from tui_agent.safe_text import cell_width


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    be_alone(tmp_path, monkeypatch)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def recorded(run_id: str = "abc123def456", *, began: float = BEGAN, outcome: str = "completed", **changes: Any) -> Path:
    """A run among the user's own; `changes` are made to its first and last event."""
    recorder = Recorder(None, RunRequest(repo="octo/tool"), now=lambda: began)
    for event in events_of(run_id, outcome=outcome):
        data = to_json(event) | {name: value for name, value in changes.items() if hasattr(event, name)}
        data.pop("type")
        recorder(type(event)(**data))
    recorder.close()
    assert recorder.path is not None and recorder.trouble is None
    return recorder.path


def said(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    """What a command says on stdout and stderr."""
    assert main(argv) == code
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err and "\x1b" not in captured.out + captured.err
    return captured.out, captured.err


# -- list -----------------------------------------------------------------------------------------


def test_a_line_a_run_the_newest_first_in_local_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded("abc123def456")
    recorded("bbb", began=BEGAN + 86_400, outcome="failed", repo="octo/another", question="Why?\n\nSay \x1b[31mso.")
    monkeypatch.setenv("COLUMNS", "120")
    out, err = said(capsys, "runs")
    assert out == (
        "bbb           octo/another  failed     2026-09-22 23:13  ccccccc  1,234  Why? Say ␛[31mso.\n"
        "abc123def456  octo/tool     completed  2026-09-21 23:13  ccccccc  1,234  What is it?\n"
    )
    assert err == ""
    assert said(capsys, "runs", "list")[0] == out
    monkeypatch.setenv("COLUMNS", "80")
    assert said(capsys, "runs")[0].splitlines()[1] == (
        "abc123de octo/tool    completed 09-21 23:13 ccccccc 1,234 What is it?"
    )


@pytest.mark.parametrize("width", [10, 20, 40, 60, 80, 99, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_each_names_its_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    recorded("abc123def456", question="火" * 500, repo="local/" + "火" * 90)
    recorded("bbb", question="x" * 500)
    monkeypatch.setenv("COLUMNS", str(width))
    lines = said(capsys, "runs")[0].splitlines()
    assert len(lines) == 2 and max(map(cell_width, lines)) <= width
    assert {line.split()[0] for line in lines} <= {"bbb", "abc123def456", "abc123de"}
    assert width < 80 or all("火火" in line or "xx" in line for line in lines), "room for the question"


def test_as_json_a_run_is_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    path = recorded()
    recorded("bbb", began=BEGAN + 1)
    _, first = [json.loads(line) for line in said(capsys, "runs", "--json")[0].splitlines()]
    assert first == {
        "path": str(path),
        "run_id": "abc123def456",
        "repo": "octo/tool",
        "source": "github",
        "ref": None,
        "commit": "c" * 40,
        "question": "What is it?",
        "engine": "llm",
        "model": "m",
        "began": BEGAN,
        "outcome": "completed",
        "elapsed": 0.7,
        "tokens": 1234,
        "follows": None,
        "events": 6,
    }


def test_nothing_recorded_and_what_cannot_be_read_are_said_beside_the_list(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPO_AGENT_MAX_TURNS", "many")
    assert said(capsys, "runs") == ("", "repo-agent-tui: no run has been recorded yet.\n")
    recorded().with_name("20260101-000000-bad.jsonl").write_text("rubbish")
    out, err = said(capsys, "runs", "--json")
    assert out.count("\n") == 1 and re.search(r"1 file in .* cannot be read as a run", err)


def test_a_place_that_cannot_be_read_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    out, err = said(capsys, "runs", code=1)
    assert out == "" and err.count("\n") == 1 and "cannot be read: Not a directory." in err


# -- show, export, delete -------------------------------------------------------------------------


def test_show_is_the_facts_and_then_the_report(capsys: pytest.CaptureFixture[str]) -> None:
    recorded(report="# Tool\n\n\x1b[2Jgone")
    out, _ = said(capsys, "runs", "show", "abc")
    assert out == (
        "run         abc123def456\n"
        "repository  octo/tool\n"
        f"commit      {'c' * 40} (HEAD)\n"
        "question    What is it?\n"
        "answered by m\n"
        "began       2026-09-21 23:13, took 0.7 s\n"
        "outcome     completed\n"
        "spent       1,234 tokens, 3 requests to GitHub\n"
        "\n"
        "# Tool\n\n␛[2Jgone\n"
    )
    shown = json.loads(said(capsys, "runs", "show", "last", "--json")[0])
    assert (shown["run_id"], shown["error"], shown["report"]) == ("abc123def456", None, "# Tool\n\n\x1b[2Jgone")


def test_show_says_why_a_run_failed(capsys: pytest.CaptureFixture[str]) -> None:
    recorded(outcome="failed", report="", error="No such repository; try another.")
    assert "outcome     failed: No such repository; try another.\n" in said(capsys, "runs", "show", "last")[0]
    _, err = said(capsys, "runs", "export", "last", code=1)
    assert err == "repo-agent-tui: Run abc123def456 has no report: No such repository; try another.\n"


@pytest.mark.parametrize(
    ("repo", "name"),
    [
        ("octo/tool", "octo-tool-abc123de.md"),
        ("../../etc/passwd", "etc-passwd-abc123de.md"),
        ("local/..", "local-abc123de.md"),
        ("/", "repository-abc123de.md"),
    ],
)
def test_export_writes_into_the_working_folder_whatever_the_repository_is_called(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, repo: str, name: str
) -> None:
    recorded(repo=repo)
    before = set(tmp_path.iterdir())
    out, _ = said(capsys, "runs", "export", "abc")
    (made,) = set(tmp_path.iterdir()) - before
    assert made.name == name and out == f"written: {made.resolve()}\n"
    assert made.read_text("utf-8") == "# Tool\n\nIt is one.\n"


def test_export_goes_by_the_suffix_and_over_no_file_unless_that_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    recorded()
    for name, begins in {"a.html": "<!DOCTYPE html>", "a.json": "{", "a.md": "# Tool"}.items():
        said(capsys, "runs", "export", "last", "-o", name)
        assert (tmp_path / name).read_text("utf-8").startswith(begins)
        (tmp_path / name).write_text("mine")
        _, err = said(capsys, "runs", "export", "last", "-o", name, code=2)
        assert f"{name} is there already" in err and "--force" in err and err.count("\n") == 1
        assert (tmp_path / name).read_text("utf-8") == "mine"
        said(capsys, "runs", "export", "last", "--force", "-o", name)
        assert (tmp_path / name).read_text("utf-8").startswith(begins)
    assert "2026-09-21T14:13:20Z" in (tmp_path / "a.json").read_text("utf-8"), "when it was written, not exported"


def test_delete_says_what_is_gone_and_nothing_goes_where_one_is_not_found(capsys: pytest.CaptureFixture[str]) -> None:
    recorded("aaa")
    recorded("bbb")
    recorded("ccc")
    _, err = said(capsys, "runs", "delete", "aaa", "nope", code=1)
    assert 'There is no run "nope"' in err and "`repo-agent-tui runs` lists" in err
    assert len(RunStore().list()) == 3
    out, _ = said(capsys, "runs", "delete", "aaa", "aa")
    assert out == "deleted: aaa (octo/tool, 2026-09-21 23:13, completed)\n"
    assert said(capsys, "runs", "delete", "--all")[0] == "deleted: 2 runs\n"
    assert RunStore().list() == []


@pytest.mark.skipif(os.name == "nt", reason="no locks there")
def test_what_is_running_is_not_deleted(capsys: pytest.CaptureFixture[str]) -> None:
    recorded("aaa")
    recorder = Recorder(None, None)
    recorder(events_of("bbb")[0])
    _, err = said(capsys, "runs", "delete", "bbb", code=1)
    assert err == "repo-agent-tui: Run bbb is still running and cannot be deleted.\n"
    out, err = said(capsys, "runs", "delete", "--all", code=1)
    assert out == "deleted: 1 run\n" and "1 run is still running" in err
    recorder.close()


# -- replay ---------------------------------------------------------------------------------------


def test_replay_as_json_is_what_json_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recorded()
    out, err = said(capsys, "replay", "abc", "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["type"] for line in lines] == [event.type for event in events_of()] and err == ""
    (tmp_path / "events.jsonl").write_text(out, "utf-8")
    assert said(capsys, "replay", "events.jsonl", "--json")[0] == out, "such output can be replayed itself"
    assert "octo/tool" in said(capsys, "runs", "show", "./events.jsonl")[0]


def test_replay_printed_is_trace_and_report_and_ends_well_whatever_the_run_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recorded()
    out, err = said(capsys, "replay", "last", "--print")
    assert out == "# Tool\n\nIt is one.\n" and "turn 1 of 15" in err and "completed (" in err
    assert said(capsys, "replay", "last") == (out, err), "without a terminal it is printed"
    recorded("failed", began=BEGAN + 1, outcome="failed", report="", error="Gone.")
    out, err = said(capsys, "replay", "last", "--print")
    assert out == "" and err.endswith("Run failed has no report: Gone.\n")


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["runs", "lost"], "`runs` takes nothing, list, show RUN"),
        (["runs", "list", "abc"], "`runs` takes nothing"),
        (["runs", "show"], "`runs` takes nothing"),
        (["runs", "show", "a", "b"], "`runs` takes nothing"),
        (["runs", "show", "abc", "--force"], "`runs show` takes no --force"),
        (["runs", "--print"], "`runs list` takes no --print"),
        (["runs", "export", "abc", "-o", "a.pdf"], "has to end in .md, .html or .json"),
        (["runs", "export", "abc", "-o", "none/a.md"], "there is no folder none"),
        (["runs", "export", "abc", "-o", ""], "--output needs a value"),
        (["runs", "delete"], "takes the runs to delete, or --all"),
        (["runs", "delete", "abc", "--all"], "takes the runs to delete, or --all"),
        (["replay"], "`replay` takes one run"),
        (["replay", "a", "b"], "`replay` takes one run"),
        (["replay", "abc", "--engine", "survey"], "`replay` takes no --engine"),
        (["replay", "abc", "--no-record"], "`replay` takes no --no-record"),
    ],
)
def test_what_they_do_not_take_is_a_usage_error(capsys: pytest.CaptureFixture[str], argv: list[str], says: str) -> None:
    recorded()
    out, err = said(capsys, *argv, code=2)
    assert out == "" and says in err and err.count("\n") == 1
    assert len(RunStore().list()) == 1


def test_the_commands_import_neither_a_dashboard_nor_a_model() -> None:
    recorded()
    commands = [["runs"], ["runs", "show", "last"], ["replay", "last", "--json"], ["runs", "delete", "last"]]
    assert loaded(f"import tui_agent.cli\nfor one in {commands}: assert tui_agent.cli.main(one) == 0\nprint()") == set()


def test_a_notice_of_trouble_can_be_replayed_like_any_event(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = Recorder(None, None)
    for event in (events_of()[0], Notice(run_id="abc123", level="warning", text="careful"), events_of()[-1]):
        recorder(event)
    assert "warning: careful" in said(capsys, "replay", "last", "--print")[1]

"""`doctor`: what it looks at, what it says to do, what it costs, and that it tells no secret."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli_fakes import be_alone
from tests.records import record, story
from tests.servers.expect import FILES
from tests.servers.github import GitHubServer
from tests.servers.http import Answer, Deaf, Unreachable
from tests.servers.inside import KEY, TOKEN
from tests.servers.model import ModelServer
from tests.servers.turns import call, failure, say, usage
from tui_agent.cli import main
from tui_agent.frontends.doctor import machine, services
from tui_agent.frontends.doctor.terminal import terminal
from tui_agent.runs.store import RunStore
from tui_agent.transports.cache_store import cache_folder

READY = [call("report_ready", {"word": "ok"}), usage(80, 12)]
XTERM = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_alone(tmp_path, monkeypatch)
    for name in ("OPENROUTER_API_KEY", "VLLM_API_KEY", "WORK_KEY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer(FILES).in_thread() as server:
        server.on("/rate_limit", always=limits())
        yield server


def limits(left: int = 4812, scopes: str | None = None) -> Answer:
    """What `GET /rate_limit` answers."""
    core = {"limit": 5000, "used": 5000 - left, "remaining": left, "reset": 1_900_000_000}
    headers = {} if scopes is None else {"x-oauth-scopes": scopes}
    return Answer(
        200, {"content-type": "application/json", **headers}, json.dumps({"resources": {"core": core}}).encode()
    )


def doctor(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, dict[str, dict[str, str]], str]:
    """The exit code, each finding by its name, and what was said on stderr."""
    code = main(["doctor", "--json", *argv])
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert told["ok"] is (code == 0) and said.out.count("\n") == 1
    assert KEY not in said.out + said.err and TOKEN not in said.out + said.err
    return code, {check["name"]: check for check in told["checks"]}, said.err


def setting(monkeypatch: pytest.MonkeyPatch, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)


def test_where_all_is_set_up_all_is_well(
    github: GitHubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ModelServer(READY).in_thread() as model:
        urls = {"GITHUB_API_URL": github.url, "REPO_AGENT_BASE_URL": model.url}
        setting(monkeypatch, {**urls, "API_KEY": KEY, "GITHUB_TOKEN": TOKEN})
        code, found, told = doctor(capsys)
    assert code == 0 and all(check["state"] in ("ok", "skipped") for check in found.values()), found
    assert "3 models, deepseek-flash among them" in found["endpoint"]["text"]
    assert "called a tool" in found["tool call"]["text"] and "92 tokens" in found["tool call"]["text"]
    assert "4,812 of 5,000 requests left" in found["GitHub"]["text"]
    assert found["key"]["text"] == "set (environment)"
    # What costs something was told before.
    assert "costs some tokens" in told
    assert [request.path.rsplit("/", 1)[-1] for request in model.requests] == ["models", "completions"]
    assert [request.path for request in github.requests] == ["/rate_limit"]
    assert model.errors == [] and github.errors == []


def test_without_a_network_nothing_is_asked_and_with_none_to_be_had_it_says_so_soon(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "PATIENCE", 0.5)
    with Unreachable() as nobody:
        setting(monkeypatch, {"GITHUB_API_URL": nobody.url, "REPO_AGENT_BASE_URL": nobody.url, "API_KEY": KEY})
        code, found, told = doctor(capsys, "--offline")
        assert (code, found["endpoint"]["state"], found["GitHub"]["state"], told) == (0, "skipped", "skipped", "")
        begun = time.monotonic()
        code, found, told = doctor(capsys)
    assert code == 1 and time.monotonic() - begun < 20, "a server that never answers is waited for no longer"
    assert found["endpoint"]["state"] == found["GitHub"]["state"] == "problem"
    assert "start the server" in found["endpoint"]["todo"] and "HTTPS_PROXY" in found["GitHub"]["todo"]
    assert "tool call" not in found and told == ""


def test_a_server_that_never_answers_ends_in_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(services, "PATIENCE", 0.2)
    with Deaf() as deaf:
        setting(monkeypatch, {"GITHUB_API_URL": deaf.url, "REPO_AGENT_BASE_URL": deaf.url, "API_KEY": KEY})
        code, found, _ = doctor(capsys)
    assert code == 1
    assert "no answer within 0.2 s" in found["endpoint"]["text"]
    assert "within 0.2 s" in found["GitHub"]["text"]


@pytest.mark.parametrize(
    ("how", "states", "says"),
    [
        # a wrong key ends it: no tool call is tried
        ({"key": "another"}, {"endpoint": "problem"}, "the key was refused (HTTP 401)"),
        (
            {"models": ["llama", "qwen"]},
            {"endpoint": "attention", "tool call": "problem"},
            "choose one with --model: llama",
        ),
        (
            {"script": [[say("I am ready."), usage()]]},
            {"endpoint": "ok", "tool call": "problem"},
            "without calling the tool",
        ),
        ({"script": [failure(402, "Insufficient Balance")]}, {"tool call": "problem"}, "no balance left"),
        ({"script": [failure(500)]}, {"tool call": "problem"}, "500"),
    ],
)
def test_what_is_wrong_with_the_model_is_a_problem_with_what_to_do(
    github: GitHubServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    how: dict[str, Any],
    states: dict[str, str],
    says: str,
) -> None:
    with ModelServer(*how.pop("script", [READY]), **how).in_thread() as model:
        setting(monkeypatch, {"GITHUB_API_URL": github.url, "REPO_AGENT_BASE_URL": model.url, "API_KEY": KEY})
        code, found, _ = doctor(capsys)
    assert code == 1
    assert {name: found[name]["state"] for name in states} == states
    assert ("tool call" in found) is ("tool call" in states)
    assert any(says in check["text"] + check["todo"] for check in found.values())
    assert all(check["todo"] for check in found.values() if check["state"] == "problem")


@pytest.mark.parametrize(
    ("answer", "token", "state", "says"),
    [
        (limits(), None, "attention", "no token is set"),
        (limits(scopes="repo, read:org"), TOKEN, "ok", "scopes: repo, read:org"),
        (limits(scopes=""), TOKEN, "ok", "reads what is public"),
        (limits(scopes="repo, delete_repo"), TOKEN, "attention", "read-only Contents"),
        (limits(left=17, scopes="repo"), TOKEN, "attention", "17 of 5,000"),
        (limits(), "github_pat_11ABCDEFG0123456789", "ok", "fine-grained"),
        (failure(401, "Bad credentials"), TOKEN, "problem", "make a new token"),
        (failure(404, "Rate limiting is not enabled."), TOKEN, "ok", "tells of no limit"),
        (Answer(200, {}, b"<html>"), TOKEN, "problem", "does not have the form"),
        (failure(503), TOKEN, "problem", "503"),
    ],
)
def test_what_github_says_of_the_token(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: Answer,
    token: str | None,
    state: str,
    says: str,
) -> None:
    with GitHubServer(FILES).in_thread() as github:
        github.on("/rate_limit", always=answer)
        setting(monkeypatch, {"GITHUB_API_URL": github.url, **({"GITHUB_TOKEN": token} if token else {})})
        code, found, _ = doctor(capsys)
        assert len(github.requests) == 1
    assert found["GitHub"]["state"] == state and code == (state == "problem")
    assert says in found["GitHub"]["text"] + found["GitHub"]["todo"]
    assert found["endpoint"]["state"] == "skipped" and found["engine"]["state"] == "attention"


def test_a_profile_without_a_key_is_asked_without_one(
    github: GitHubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "config" / "repo-agent-tui"
    folder.mkdir(parents=True)
    with ModelServer(READY).in_thread() as model:
        text = f'[profiles.home]\nbase_url = "{model.url}"\nmodel = "deepseek-flash"\n'
        (folder / "config.toml").write_text(text, encoding="utf-8")
        setting(monkeypatch, {"GITHUB_API_URL": github.url, "API_KEY": KEY})
        code, found, _ = doctor(capsys, "--profile", "home")
    assert code == 0 and found["tool call"]["state"] == "ok"
    assert found["key"]["text"] == "none is sent: the profile home wants none"
    assert all(KEY not in request.headers["authorization"] for request in model.requests)


def test_settings_that_cannot_be_read_are_a_problem_and_the_rest_is_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "config" / "repo-agent-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("max_turns = ", encoding="utf-8")
    code, found, _ = doctor(capsys)
    assert code == 1 and found["settings"]["state"] == "problem"
    assert "not valid TOML" in found["settings"]["text"]
    assert "endpoint" not in found and found["cache"]["state"] == "ok"


@pytest.mark.skipif(os.name != "posix", reason="needs modes of files")
def test_a_key_in_a_file_that_others_can_read_wants_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = tmp_path / ".env"
    env.write_text(f"API_KEY={KEY}", encoding="utf-8")
    env.chmod(0o644)
    _, found, _ = doctor(capsys, "--offline")
    assert found["settings"]["state"] == "attention" and f"chmod 600 {env}" in found["settings"]["todo"]
    assert found["key"]["text"] == "set (.env)"
    env.chmod(0o600)
    assert doctor(capsys, "--offline")[1]["settings"]["state"] == "ok"


def test_a_damaged_cache_and_a_folder_in_the_way_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing is kept yet" in doctor(capsys, "--offline")[1]["cache"]["text"]
    cache_folder().mkdir(parents=True)
    (cache_folder() / "replies-v1.1.sqlite").write_bytes(b"no database " * 1000)
    _, found, _ = doctor(capsys, "--offline")
    assert found["cache"]["state"] == "attention" and "cache clear" in found["cache"]["todo"]
    state = Path(os.environ["XDG_STATE_HOME"])
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_text("a file", encoding="utf-8")
    code, found, _ = doctor(capsys, "--offline")
    assert (code, found["records"]["state"]) == (1, "problem") and found["records"]["todo"]


def test_one_recorded_run_is_told_as_one(capsys: pytest.CaptureFixture[str]) -> None:
    record(RunStore().folder, story("r1"))
    assert doctor(capsys, "--offline")[1]["records"]["text"].startswith("1 run, ")
    record(RunStore().folder, story("r2"))
    assert doctor(capsys, "--offline")[1]["records"]["text"].startswith("2 runs, ")


def test_it_is_told_in_lines_with_a_sign_and_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--offline"]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = [line.split()[1] for line in lines[:-2] if not line.startswith("  ")]
    assert found[:3] == ["ok", "ok", "attention"] and set(found) <= {"ok", "attention", "problem", "skipped"}
    assert "→ for an LLM set API_KEY" in "\n".join(lines)
    assert lines[-1] == "No problem; 1 for your attention."


@pytest.mark.parametrize(
    "argv", [["doctor", "x"], ["doctor", "--chaos", "llm:500"], ["doctor", "-q", "x"], ["--offline"]]
)
def test_what_means_nothing_to_it_is_a_usage_error(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert "doctor" in capsys.readouterr().err


# --- the terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "size", "name", "state", "says"),
    [
        (XTERM, (120, 40), "size", "ok", "all five panes"),
        (XTERM, (80, 24), "size", "ok", "tabs"),
        (XTERM, (40, 10), "size", "attention", "60 by 20"),
        (XTERM, (80, 24), "colours", "ok", "16 million"),
        ({"TERM": "xterm-256color"}, (80, 24), "colours", "ok", "256"),
        ({"TERM": "vt100"}, (80, 24), "colours", "attention", "COLORTERM=truecolor"),
        ({**XTERM, "NO_COLOR": "1"}, (80, 24), "colours", "ok", "NO_COLOR"),
        ({"TERM": "linux"}, (80, 24), "mouse", "attention", "by keys"),
        ({"TERM": "xterm-kitty"}, (80, 24), "clipboard", "ok", "takes"),
        ({**XTERM, "TERM_PROGRAM": "Apple_Terminal"}, (80, 24), "clipboard", "attention", "s to save"),
        ({**XTERM, "STY": "1.pts"}, (80, 24), "clipboard", "attention", "GNU screen"),
        (XTERM, (80, 24), "clipboard", "ok", "s saves"),
        ({"TERM": "dumb"}, (80, 24), "terminal", "attention", "--print"),
    ],
)
def test_what_the_terminal_can_do(
    environ: dict[str, str], size: tuple[int, int], name: str, state: str, says: str
) -> None:
    found = {one.name: one for one in terminal(environ, is_terminal=True, size=size)}
    assert found[name].state == state and says in found[name].text + found[name].todo


@pytest.mark.skipif(os.name != "posix", reason="a script stands in for tmux")
@pytest.mark.parametrize(("said", "state"), [("external", "attention"), ("off", "attention"), ("on", "ok")])
def test_tmux_is_asked_whether_it_passes_a_copy_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, state: str
) -> None:
    program = tmp_path / "tmux"
    program.write_text(f"#!/bin/sh\necho {said}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {one.name: one for one in terminal({**XTERM, "TMUX": "/tmp/x"}, is_terminal=True, size=(80, 24))}
    assert found["clipboard"].state == state
    assert state == "ok" or "set-clipboard on" in found["clipboard"].todo


def test_a_missing_extra_names_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "EXTRAS", {"mcp": "no_such_module", "serve": "json"})
    found = machine.extras()
    assert found.state == "ok" and "pip install 'repo-agent-tui[mcp]'" in found.todo

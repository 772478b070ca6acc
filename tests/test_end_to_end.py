"""The program as a process of its own against a GitHub and a model on loopback: what the contract promises outside."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import faults
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import Gate
from tests.servers.model import ModelServer
from tests.servers.program import LIMIT, command, environment, run, start
from tests.servers.turns import Turn, call, cut, failure, keep_alive, pause, say, stall, think, usage
from tui_agent.events import from_json

FILES = {
    "README.md": "# Tool\n\nA tool that does things.\n",
    "pyproject.toml": '[project]\nname = "tool"\nversion = "1.0"\n',
    "src/tool/__init__.py": "",
    "src/tool/main.py": "print('hi')\n",
}
WHO = {"owner": "team", "repo": "tool"}
REPORT = "# Tool\n\nIt does things. 它很小。\n"
FINAL: Turn = [say(REPORT, by=7), usage(400, 30, cached=300)]

# The contract's table of events: the fields that a reader may count on, beside type, at and run_id.
FIELDS = {
    "run_started": "repo source ref question engine model",
    "snapshot": "repo ref commit files truncated",
    "turn_started": "turn max_turns",
    "reasoning_delta": "turn text",
    "reasoning": "turn text",
    "report_delta": "turn text",
    "thought": "turn text",
    "turn_restarted": "turn reason",
    "tool_started": "turn call_id tool arguments",
    "attempt_failed": "call_id name attempt reason status",
    "retry_scheduled": "call_id name attempt of delay",
    "rate_limit_wait": "call_id name kind seconds until",
    "breaker_changed": "name state failures threshold retry_in cause",
    "quota": "resource limit remaining used reset",
    "tool_finished": "turn call_id tool arguments outcome result attempts cache elapsed",
    "usage": "prompt_tokens completion_tokens cached_tokens reasoning_tokens context_tokens cost",
    "notice": "level text",
    "grounding": "supported unsupported",
    "run_finished": "outcome report error turns tool_calls requests elapsed",
}


def read(path: str, **more: Any) -> Any:
    """A call of read_file."""
    return call("read_file", {**WHO, "path": path}, **more)


@asynccontextmanager
async def servers(*script: Any, source: Any = FILES, **how: Any) -> AsyncIterator[tuple[GitHubServer, ModelServer]]:
    """Both servers; neither may have had to refuse what the program sent it."""
    async with GitHubServer(source, **how) as github, ModelServer(*script) as model:
        yield github, model
    assert github.errors == []
    assert model.errors == []


def entries(folder: Path) -> list[str]:
    """Names in a folder."""
    return [path.name for path in folder.iterdir()]


def check_events(events: list[dict[str, Any]]) -> None:
    """What holds for every run whatever happens in it."""
    assert events[0]["type"] == "run_started"
    assert events[-1]["type"] == "run_finished"
    assert [event["type"] for event in events].count("run_finished") == 1
    assert len({event["run_id"] for event in events}) == 1 and events[0]["run_id"]
    times = [event["at"] for event in events]
    assert times == sorted(times) and times[0] >= 0
    for event in events:
        assert set(FIELDS[event["type"]].split()) <= set(event), event
        assert from_json(event) is not None
    opened: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "tool_started":
            assert event["call_id"] not in opened
            opened[event["call_id"]] = event
        elif event["type"] == "tool_finished":
            begun = opened.pop(event["call_id"])
            assert (begun["tool"], begun["arguments"], begun["turn"]) == (
                event["tool"],
                event["arguments"],
                event["turn"],
            )
    assert not opened or events[-1]["outcome"] == "cancelled", "a call has no end"


def observations(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model was told by its last calls, in the order it was told."""
    messages = body["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return [json.loads(message["content"]) for message in messages[last + 1 :] if message["role"] == "tool"]


async def test_a_run_is_told_event_by_event_and_the_model_gets_the_very_results(tmp_path: Path) -> None:
    calls = [call("get_repo_info", WHO), read("README.md"), call("list_directory", WHO), call("get_commits", WHO)]
    turn = [think("First the facts.", by=6), say("I look around."), *calls, usage(100, 20, cached=60, reasoning=5)]
    async with servers(turn, FINAL) as (github, model):
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    check_events(done.events)

    started = done.events[0]
    assert (started["repo"], started["source"], started["engine"], started["model"], started["ref"]) == (
        "team/tool",
        "github",
        "llm",
        "deepseek-flash",
        None,
    )
    assert github.transport.head == done.of("snapshot")[0]["commit"]  # type: ignore[attr-defined]
    assert done.of("snapshot")[0]["files"] == len(FILES)
    assert [(e["turn"], e["max_turns"]) for e in done.of("turn_started")] == [(1, 15), (2, 15)]
    assert "".join(e["text"] for e in done.of("reasoning_delta")) == "First the facts."
    assert [e["text"] for e in done.of("reasoning")] == ["First the facts."]
    assert [e["text"] for e in done.of("thought")] == ["I look around."]

    finished = done.of("tool_finished")
    by_call = {event["call_id"]: event for event in finished}
    assert [by_call[f"call_1_{n}"]["tool"] for n in range(4)] == [one.name for one in calls]
    assert [by_call[f"call_1_{n}"]["result"] for n in range(4)] == observations(model.bodies[1])
    assert all(event["outcome"] == "ok" and event["result"]["ok"] is True for event in finished)
    assert by_call["call_1_1"]["result"]["content"] == FILES["README.md"]
    assert (by_call["call_1_1"]["attempts"], by_call["call_1_2"]["attempts"]) == (1, 0)

    tokens = done.of("usage")
    assert [(e["prompt_tokens"], e["completion_tokens"], e["cached_tokens"]) for e in tokens] == [
        (100, 20, 60),
        (400, 30, 300),
    ]
    assert tokens[0]["reasoning_tokens"] == 5
    assert done.of("quota")[-1]["remaining"] == 60 - len(github.requests)

    end = done.finished
    assert (end["outcome"], end["error"], end["turns"], end["tool_calls"]) == ("completed", None, 2, 4)
    assert end["requests"] == len(github.requests)
    assert end["report"].startswith(REPORT.strip())
    assert "".join(e["text"] for e in done.of("report_delta") if e["turn"] == 2) == REPORT


async def test_the_first_requests_resolve_the_ref_once_and_fetch_the_whole_tree(tmp_path: Path) -> None:
    async with servers(FINAL) as (github, model):
        await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(github.asked("commit")) == 1
        assert [request.query for request in github.asked("tree")] == [{"recursive": "1"}]
        for request in github.requests:
            assert request.headers["accept"] in ("application/vnd.github+json", "application/vnd.github.sha")
            assert request.headers["x-github-api-version"] == "2022-11-28"
            assert request.headers["user-agent"].startswith("repo-agent-tui")


async def test_the_model_is_asked_as_the_contract_says(tmp_path: Path) -> None:
    async with servers(FINAL) as (github, model):
        args = ("team/tool", "--json", "--question", "What is it for?", "--lang", "en")
        done = await run(*args, env=environment(tmp_path, github, model), cwd=tmp_path)
        body = model.bodies[0]
        assert model.requests[0].path == "/chat/completions"
        assert model.requests[0].headers["authorization"] == "Bearer test-key-0123456789"
    assert (body["model"], body["stream"], body["tool_choice"]) == ("deepseek-flash", True, "auto")
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert {"get_repo_info", "list_directory", "read_file", "get_commits"} <= set(names)
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "What is it for?" in body["messages"][1]["content"]
    assert done.of("run_started")[0]["question"] == "What is it for?"


async def test_calls_of_a_turn_are_under_way_together_and_answered_in_their_order(tmp_path: Path) -> None:
    first, others = Gate(), Gate(opens_for=3)
    calls = [call("get_repo_info", WHO), read("README.md"), read("pyproject.toml"), call("get_commits", WHO)]
    async with servers(calls, FINAL) as (github, model):
        github.on("get_repo_info", faults.gated(first))
        github.on("read_file", always=faults.gated(others))
        github.on("get_commits", faults.gated(others))
        async with start("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path) as program:
            # Three answers wait for each other, and the first call's for all of them.
            await program.saw("tool_finished", 3)
            assert first.waiting == 1
            first.open()
        assert others.most == 3
        assert github.most_at_once == 4
        told = observations(model.bodies[1])
    check_events(program.events)
    assert program.code == 0
    assert [event["tool"] for event in program.of("tool_finished")][-1] == "get_repo_info"
    assert "full_name" in told[0] and told[1]["path"] == "README.md" and told[2]["path"] == "pyproject.toml"
    assert "commits" in told[3]


async def test_print_gives_the_report_on_stdout_and_the_trace_on_stderr(tmp_path: Path) -> None:
    files = {**FILES, "README.md": "\x1b]52;c;eA==\x07\x1b[31mred\x1b[0m\u202e\n"}
    turn = [think("Hm \x1b[2J."), say("Look \x1b[31m."), read("README.md")]
    async with servers(turn, [say("# Tool\x1b[0m\n\nFine.")], source=files) as (github, model):
        done = await run("team/tool", "--print", env=environment(tmp_path, github, model), cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith("# Tool␛[0m\n\nFine.")
    assert "read_file" in done.err and "completed" in done.err
    assert "\x1b" not in done.out + done.err and "\u202e" not in done.out + done.err


async def test_without_a_terminal_print_is_assumed(tmp_path: Path) -> None:
    async with servers(FINAL) as (github, model):
        done = await run("team/tool", env=environment(tmp_path, github, model), cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith(REPORT.strip())


async def test_the_report_is_also_written_to_a_file(tmp_path: Path) -> None:
    async with servers(FINAL) as (github, model):
        env = environment(tmp_path, github, model)
        done = await run("team/tool", "--json", "-o", "report.md", env=env, cwd=tmp_path)
    assert done.code == 0
    assert REPORT.strip() in (tmp_path / "report.md").read_text("utf-8")
    assert [entry for entry in entries(tmp_path) if "report" in entry] == ["report.md"], "nothing is left over"


async def test_turns_that_run_out_end_in_a_report_that_says_so(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Turn:
        return [read("README.md"), call("get_commits", WHO)] if body.get("tools") else [say("# So far\n\nNot all.")]

    async with GitHubServer(FILES) as github, ModelServer(by_function=answer) as model:
        env = environment(tmp_path, github, model)
        done = await run("team/tool", "--json", "--max-turns", "2", env=env, cwd=tmp_path)
        assert len(model.bodies) == 3
        assert "tools" not in model.bodies[2]
        assert model.bodies[2]["messages"][-1]["role"] == "user"
        # The same calls again are answered from memory.
        assert len(github.asked("read_file")) == 1
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (0, "partial")
    assert done.finished["report"].startswith("# So far\n\nNot all.")
    assert "partial" in done.finished["report"].lower()
    assert [event["cache"] for event in done.of("tool_finished")[2:]] == ["memory", "memory"]


async def test_a_model_lost_after_something_was_observed_leaves_a_partial_report(tmp_path: Path) -> None:
    lost = [failure(500, "Down for good") for _ in range(10)]
    async with servers([call("get_repo_info", WHO), read("pyproject.toml")], *lost) as (github, model):
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (0, "partial")
    assert "Down for good" in done.finished["error"]
    assert "partial" in done.finished["report"].lower()
    failed = done.of("attempt_failed")
    assert [(e["name"], e["status"], e["attempt"]) for e in failed] == [("llm", 500, n) for n in (1, 2, 3, 4)]
    assert [(e["attempt"], e["of"]) for e in done.of("retry_scheduled")] == [(2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("mode", ["--json", "--print"])
async def test_a_model_lost_before_anything_was_observed_fails_in_one_sentence(tmp_path: Path, mode: str) -> None:
    async with servers(*[failure(503, "Overloaded") for _ in range(5)]) as (github, model):
        done = await run("team/tool", mode, env=environment(tmp_path, github, model), cwd=tmp_path)
    assert done.code == 1
    assert "Overloaded" in done.err and "Traceback" not in done.err
    if mode == "--json":
        check_events(done.events)
        assert (done.finished["outcome"], done.err.count("\n")) == ("failed", 1)
        assert "Overloaded" in done.finished["error"]
    else:
        assert done.out == ""


async def test_a_refused_key_is_told_without_the_key(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github, ModelServer(key="another") as model:
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(model.bodies) == 0 and len(model.requests) == 1, "a refused key is not tried again"
    assert (done.code, done.finished["outcome"]) == (1, "failed")
    assert "API_KEY" in done.err
    assert "test-key" not in done.out + done.err


async def test_an_unknown_repository_fails_with_a_sentence(tmp_path: Path) -> None:
    async with servers(private=True, token="t") as (github, model):
        done = await run("team/nowhere", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert model.requests == []
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (1, "failed")
    assert "team/nowhere" in done.err and done.err.count("\n") == 1
    assert done.of("attempt_failed") == [], "a 404 is an answer"


async def test_an_unknown_ref_fails_with_a_sentence(tmp_path: Path) -> None:
    async with servers() as (github, model):
        env = environment(tmp_path, github, model)
        done = await run("team/tool", "--json", "--ref", "no-such", env=env, cwd=tmp_path)
    assert done.code == 1
    assert "no-such" in done.err and done.err.count("\n") == 1


async def test_a_ref_with_slashes_is_told_apart_from_the_path_behind_it(tmp_path: Path) -> None:
    source = FilesTransport(FILES, refs=["heads/main", "heads/feature/x", "heads/feature/x-2", "tags/v1"])
    async with servers(FINAL, source=source) as (github, model):
        url = f"{github.url}/team/tool/tree/feature/x/src/tool"
        done = await run(url, "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert github.asked("commit")[-1].path.endswith("/commits/feature/x")
    assert done.code == 0
    assert done.of("snapshot")[0]["ref"] == "feature/x"
    assert done.of("run_started")[0]["repo"] == "team/tool"


async def test_a_service_that_is_gone_fails_after_the_retries(tmp_path: Path) -> None:
    async with servers() as (github, model):
        github.on("snapshot", always=faults.refuse(502, "Bad gateway"))
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(github.requests) == 4
    assert (done.code, done.finished["outcome"]) == (1, "failed")
    assert {event["name"] for event in done.of("attempt_failed")} == {"snapshot"}
    assert all(event["call_id"] is None for event in done.of("attempt_failed"))


async def test_a_port_where_nobody_listens_fails_in_one_sentence(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github, ModelServer() as model:
        env = environment(tmp_path, github, model)
    done = await run("team/tool", "--json", env=env, cwd=tmp_path)
    assert (done.code, done.finished["outcome"]) == (1, "failed")
    assert done.err.count("\n") == 1 and "Traceback" not in done.err


@pytest.mark.parametrize(
    ("number", "where"),
    [(signal.SIGINT, "tool"), (signal.SIGINT, "model"), (signal.SIGTERM, "tool"), (signal.SIGHUP, "tool")],
)
async def test_an_interrupted_run_still_says_how_it_ended(tmp_path: Path, number: signal.Signals, where: str) -> None:
    script = ([say("I look."), read("README.md")],) if where == "tool" else ([say("# Be"), stall()],)
    async with servers(*script) as (github, model):
        github.on("read_file", always=faults.hold())
        async with start("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path) as program:
            await program.saw("tool_started" if where == "tool" else "report_delta")
            program.interrupt(number)
        assert program.code == 130
    check_events(program.events)
    assert program.finished["outcome"] == "cancelled"
    assert "Traceback" not in program.err


async def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    async with servers([say("a"), read("README.md")]) as (github, model):
        github.on("read_file", always=faults.hold())
        process = await asyncio.create_subprocess_exec(
            *command("team/tool", "--json"),
            env=environment(tmp_path, github, model),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None and process.stderr is not None
        assert b"run_started" in await process.stdout.readline()
        process.stdout._transport.close()  # type: ignore[attr-defined]
        async with asyncio.timeout(LIMIT):
            assert await process.stderr.read() == b""
            await process.wait()


async def test_trouble_of_the_service_is_retried_and_told(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        github.on("read_file", faults.html(502), faults.drop(), faults.cut(), faults.plain())
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    check_events(done.events)
    failed = done.of("attempt_failed")
    assert [(e["name"], e["attempt"], e["status"], e["call_id"]) for e in failed] == [
        ("read_file", 1, 502, "call_1_0"),
        ("read_file", 2, None, "call_1_0"),
        ("read_file", 3, None, "call_1_0"),
    ]
    scheduled = done.of("retry_scheduled")
    assert [(e["attempt"], e["of"]) for e in scheduled] == [(2, 4), (3, 4), (4, 4)]
    for number, event in enumerate(scheduled):
        base = min(0.01 * 2**number, 0.05)
        assert base <= event["delay"] <= base * 1.3 + 1e-9
    finished = done.of("tool_finished")[0]
    assert (finished["outcome"], finished["attempts"]) == ("ok", 4)


async def test_whatever_breaks_on_the_way_ends_as_a_fallback(tmp_path: Path) -> None:
    broken = {
        "reset": faults.reset(),
        "cut by reset": faults.cut(9, by_reset=True),
        "no JSON": faults.broken_json(),
        "other JSON": faults.wrong_json(),
        "no gzip": faults.compressed_garbage(),
        "time-out": faults.hold(),
        "page of a proxy": faults.html(504),
    }
    source = FilesTransport({**FILES, **{name: name for name in broken}})
    async with servers([read(name) for name in (*broken, "README.md")], FINAL, source=source) as (github, model):
        for name, step in broken.items():
            github.on(f".*/git/blobs/{source.blob(name)}", always=step)
        more = {
            "REPO_AGENT_MAX_RETRIES": "1",
            "REPO_AGENT_REQUEST_TIMEOUT": "0.3",
            "REPO_AGENT_BREAKER_THRESHOLD": "100",
        }
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model, **more), cwd=tmp_path)
        told = observations(model.bodies[1])
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (0, "completed")
    finished = {event["arguments"]["path"]: event for event in done.of("tool_finished")}
    for name, result in zip(broken, told, strict=False):
        assert (name, finished[name]["outcome"], finished[name]["attempts"]) == (name, "fallback", 2)
        assert (result["ok"], result["fallback"]) == (False, True) and result["error"]
    assert finished["README.md"]["outcome"] == "ok"


async def test_a_reply_without_end_is_given_up_and_not_tried_again(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        github.on("read_file", always=faults.huge())
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(github.asked("read_file")) == 1
    finished = done.of("tool_finished")[0]
    assert finished["outcome"] == "error" and "16 MB" in finished["result"]["error"]
    assert done.finished["outcome"] == "completed"


async def test_a_breaker_opens_and_the_calls_behind_it_send_nothing(tmp_path: Path) -> None:
    async with servers([read("README.md")], [read("pyproject.toml")], FINAL) as (github, model):
        github.on("read_file", always=faults.refuse(500))
        more = {"REPO_AGENT_BREAKER_THRESHOLD": "2"}
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model, **more), cwd=tmp_path)
        assert len(github.asked("read_file")) == 2
    check_events(done.events)
    opened = done.of("breaker_changed")
    assert [(e["name"], e["state"], e["failures"], e["threshold"], e["cause"]) for e in opened] == [
        ("read_file", "open", 2, 2, "failures")
    ]
    assert 0 < opened[0]["retry_in"] <= 30
    first, second = done.of("tool_finished")
    assert (first["outcome"], first["attempts"]) == ("fallback", 2)
    assert (second["outcome"], second["attempts"]) == ("fallback", 0)


async def test_a_breaker_half_opens_for_one_probe_and_closes(tmp_path: Path) -> None:
    calls = [read("README.md"), read("pyproject.toml"), read("src/tool/main.py")]
    async with servers([read("README.md")], [pause(0.05), *calls], FINAL) as (github, model):
        github.on("read_file", faults.refuse(500))
        more = {"REPO_AGENT_BREAKER_THRESHOLD": "1", "REPO_AGENT_BREAKER_RESET": "0.01"}
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model, **more), cwd=tmp_path)
    states = [(event["state"], event["cause"]) for event in done.of("breaker_changed")]
    assert states == [("open", "failures"), ("half_open", "probe"), ("closed", "probe")]
    outcomes = [event["outcome"] for event in done.of("tool_finished")[1:]]
    assert "ok" in outcomes and set(outcomes) <= {"ok", "fallback"}


async def test_a_limit_is_waited_for_and_spends_no_retry(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        github.on("read_file", faults.secondary_limit("1", status=429))
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        sent = github.asked("read_file")
        assert sent[1].at - sent[0].at >= 1
    check_events(done.events)
    wait = done.of("rate_limit_wait")[0]
    assert (wait["name"], wait["kind"], wait["call_id"]) == ("read_file", "secondary", "call_1_0")
    assert 0 < wait["seconds"] <= 1.5
    assert done.of("retry_scheduled") == done.of("attempt_failed") == done.of("breaker_changed") == []
    assert done.of("tool_finished")[0]["outcome"] == "ok"


async def test_a_limit_that_is_too_far_away_falls_back_at_once_and_says_when(tmp_path: Path) -> None:
    async with servers([read("README.md"), call("get_commits", WHO)], FINAL) as (github, model):
        github.on("read_file", faults.primary_limit(3000))
        github.on("get_commits", faults.primary_limit(3000))
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (0, "completed")
    for event in done.of("tool_finished"):
        assert event["outcome"] == "fallback"
        assert "limit" in event["result"]["error"]
    assert done.of("breaker_changed") == []


async def test_a_renamed_repository_is_followed_and_told(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        github.move("old/name", "team/tool")
        done = await run("old/name", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    check_events(done.events)
    assert done.code == 0
    assert done.of("run_started")[0]["repo"] == "old/name"
    assert any("team/tool" in event["text"] for event in done.of("notice"))
    assert "team/tool" in done.finished["report"]
    assert done.of("tool_finished")[0]["outcome"] == "ok"


async def test_a_redirect_to_another_host_never_gets_the_token(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL, token="ghp_secret") as (github, model), GitHubServer(FILES) as thief:
        github.on("read_file", always=faults.redirect(f"{thief.url}/repos/team/tool/git/blobs/{'0' * 40}", 302))
        env = environment(tmp_path, github, model, GITHUB_TOKEN="ghp_secret")
        done = await run("team/tool", "--json", env=env, cwd=tmp_path)
        assert {request.headers.get("authorization") for request in github.requests} == {"Bearer ghp_secret"}
        assert all("authorization" not in request.headers for request in thief.requests)
        assert all("ghp_secret" not in json.dumps(body) for body in model.bodies)
    assert done.code == 0
    assert "ghp_secret" not in done.out + done.err


async def test_a_redirect_that_goes_in_circles_is_an_error_and_not_retried(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        path = f"/repos/team/tool/git/blobs/{github.transport.blob('README.md')}"  # type: ignore[attr-defined]
        github.on("read_file", always=faults.redirect(path, 307))
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(github.asked("read_file")) <= 6
    assert done.of("tool_finished")[0]["outcome"] == "error"
    assert done.of("retry_scheduled") == []


async def test_what_the_model_asks_wrongly_is_told_to_it_and_counts_nowhere(tmp_path: Path) -> None:
    calls = [
        read("no/such/file.py"),
        call("no_such_tool", {"x": 1}),
        call("read_file", '{"owner": "team", "repo": '),
        call("read_file", {"owner": "team"}),
        call("read_file", {"owner": "other", "repo": "private", "path": "README.md"}),
        call("get_commits", {**WHO, "per_page": "2"}),
    ]
    commits = [Commit(f"Change {n}") for n in range(5)]
    async with servers(calls, FINAL, source=FilesTransport(FILES, commits=commits)) as (github, model):
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        told = observations(model.bodies[1])
        assert not [request for request in github.requests if "other" in request.path]
    check_events(done.events)
    assert done.code == 0
    outcomes = {event["call_id"]: event["outcome"] for event in done.of("tool_finished")}
    assert [outcomes[f"call_1_{n}"] for n in range(6)] == ["error"] * 5 + ["ok"]
    assert all(result["ok"] is False and result["error"] and "fallback" not in result for result in told[:5])
    assert len(told[5]["commits"]) == 2
    assert done.of("attempt_failed") == done.of("breaker_changed") == []


async def test_a_stream_that_breaks_is_begun_again_and_leaves_nothing_behind(tmp_path: Path) -> None:
    script = ([say("# Wro"), cut()], [think("Hm"), say("# Wrong aga"), stall()], FINAL)
    async with servers(*script) as (github, model):
        env = environment(tmp_path, github, model, REPO_AGENT_LLM_TIMEOUT="0.3")
        done = await run("team/tool", "--json", env=env, cwd=tmp_path)
    check_events(done.events)
    assert (done.code, done.finished["outcome"]) == (0, "completed")
    assert done.finished["report"].startswith(REPORT.strip())
    assert [event["turn"] for event in done.of("turn_restarted")] == [1, 1]
    assert [(e["name"], e["attempt"]) for e in done.of("attempt_failed")] == [("llm", 1), ("llm", 2)]


async def test_keep_alives_alone_are_tolerated_for_a_time_and_then_given_up(tmp_path: Path) -> None:
    queue = [piece for _ in range(4) for piece in (keep_alive(), pause(0.1))]
    async with servers([*queue, *FINAL], [*queue, stall()]) as (github, model):
        env = environment(tmp_path, github, model, REPO_AGENT_LLM_TIMEOUT="0.3", REPO_AGENT_MAX_RETRIES="0")
        done = await run("team/tool", "--json", env=env, cwd=tmp_path)
        lost = await run("team/tool", "--json", env={**env, "REPO_AGENT_LLM_QUEUE_TIMEOUT": "0.5"}, cwd=tmp_path)
    assert (done.code, done.finished["outcome"]) == (0, "completed")
    assert (lost.code, lost.finished["outcome"]) == (1, "failed")


async def test_chaos_injects_its_faults_on_top_of_a_healthy_service(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        args = ("team/tool", "--json", "--chaos", "read_file:503x2,llm:dropx1")
        done = await run(*args, env=environment(tmp_path, github, model), cwd=tmp_path)
        assert len(github.asked("read_file")) == 1
    assert done.code == 0
    failed = [(event["name"], event["status"]) for event in done.of("attempt_failed")]
    assert failed == [("llm", None), ("read_file", 503), ("read_file", 503)]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--json",), "repository"),
        (("flask", "--json"), "flask"),
        (("./nowhere", "--print"), "nowhere"),
        (("https://gitlab.com/a/b", "--json"), "gitlab.com"),
        (("team/tool", "--json", "--no-such-option"), "--no-such-option"),
        (("team/tool", "--json", "--max-turns", "many"), "turns"),
        (("team/tool", "--engine", "llm", "--json"), "API_KEY"),
        (("team/tool", "--json", "--chaos", "nonsense"), "nonsense"),
        (("team/tool", "--json", "-o", "report.exe"), "report.exe"),
    ],
)
async def test_bad_usage_is_one_sentence_and_exit_2(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    done = await run(*args, env=environment(tmp_path), cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert "Traceback" not in done.err and done.err.count("\n") <= 2


async def test_an_empty_repository_is_reported_as_one(tmp_path: Path) -> None:
    async with servers([call("list_directory", WHO), call("get_commits", WHO)], FINAL, source=FilesTransport(None)) as (
        github,
        model,
    ):
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
    check_events(done.events)
    assert (done.code, done.of("snapshot")[0]["commit"], done.of("snapshot")[0]["files"]) == (0, None, 0)


async def test_nothing_is_left_behind_by_a_process_without_a_home(tmp_path: Path) -> None:
    async with servers(FINAL) as (github, model):
        env = environment(tmp_path / "nowhere", github, model)
        done = await run("team/tool", "--json", env=env, cwd=tmp_path)
    assert done.code == 0
    assert entries(tmp_path) == []

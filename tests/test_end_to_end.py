"""The program as a process of its own against a GitHub and a model on loopback: what the contract promises outside."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.servers import faults
from tests.servers.expect import FILES, FINAL, REPORT, WHO, check_events, entries, observations, read, servers
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import Gate
from tests.servers.model import ModelServer
from tests.servers.program import LIMIT, command, environment, run, start
from tests.servers.turns import Turn, call, say, stall, think, usage


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

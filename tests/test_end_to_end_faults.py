"""Everything that goes wrong on the way to GitHub and to the model, met by the program as a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.servers import faults
from tests.servers.expect import FILES, FINAL, REPORT, WHO, check_events, observations, read, servers
from tests.servers.files import FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.program import environment, run
from tests.servers.turns import call, cut, failure, keep_alive, pause, say, stall, think


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


async def test_a_reply_without_end_is_given_up_at_its_bound(tmp_path: Path) -> None:
    async with servers([read("README.md")], FINAL) as (github, model):
        github.on("read_file", always=faults.huge())
        more = {"REPO_AGENT_MAX_RETRIES": "0"}
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model, **more), cwd=tmp_path)
    finished = done.of("tool_finished")[0]
    assert finished["result"]["ok"] is False and "16 MB" in finished["result"]["error"]
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

"""The package as a library: the caller's clients, the environment's settings, no disk."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
import respx

from tests.agent_fakes import COMMIT, FakeGitHub, FakeModel, call, end, say
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import call as wire_call
from tests.servers.turns import say as wire_say
from tui_agent import NoAddressError, RunError, Settings, UsageError, run_agent
from tui_agent.events import Event, RunFinished, RunStarted, from_json, to_json
from tui_agent.runs.record import runs_folder
from tui_agent.runs.store import RunStore

FILES = {"README.md": "# Tool\n", "src/tool.py": "print('hi')\n"}
QUERY = "分析 https://github.com/octo/demo"
SCRIPT = [[*call("read_file", {"path": "README.md"}), *end()], [*say("# 报告\n"), *end()]]


def clients(github: Any, model: Any) -> tuple[openai.AsyncOpenAI, httpx.AsyncClient]:
    llm = openai.AsyncOpenAI(
        api_key="sk-of-the-caller", base_url="https://model.test/v1", http_client=httpx.AsyncClient(transport=model)
    )
    return llm, httpx.AsyncClient(transport=github)


async def test_a_report_comes_back_and_every_event_is_told() -> None:
    events: list[Event] = []
    llm, http = clients(FakeGitHub(FILES), FakeModel(SCRIPT))
    report = await run_agent(llm, http, QUERY, on_event=events.append, settings=Settings())
    assert report.startswith("# 报告")
    assert "已读文件（1/2）" in report
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert events[0].question == QUERY and events[0].repo == "octo/demo"
    assert events[-1].report == report
    assert [from_json(to_json(event)) for event in events] == events


@pytest.mark.parametrize(
    ("settings", "variable", "records"),
    [
        (Settings(), "", 0),
        (None, "", 0),
        (Settings(record=False), "1", 0),
        (None, "0", 0),
        (Settings(record=True), "", 1),
        (None, "1", 1),
        (replace(Settings(record=True), max_turns=9), "", 1),
    ],
)
async def test_a_run_is_recorded_only_where_its_settings_say_so(
    monkeypatch: pytest.MonkeyPatch, settings: Settings | None, variable: str, records: int
) -> None:
    monkeypatch.setenv("REPO_AGENT_RECORD", variable)
    events: list[Event] = []
    llm, http = clients(FakeGitHub(FILES), FakeModel(SCRIPT))
    await run_agent(llm, http, QUERY, on_event=events.append, settings=settings)
    assert runs_folder().exists() == bool(records)
    for run in RunStore().list():
        record = RunStore().load(run)
        assert record.events == events and (run.repo, run.question) == ("octo/demo", QUERY)
        assert "sk-of-the-caller" not in run.path.read_text()
    assert len(RunStore().list()) == records


async def test_the_callers_clients_stay_open_and_are_not_changed() -> None:
    llm, http = clients(FakeGitHub(FILES), FakeModel(SCRIPT * 2))
    await run_agent(llm, http, QUERY, settings=Settings())
    assert not http.is_closed and not llm._client.is_closed
    assert llm.max_retries == openai.DEFAULT_MAX_RETRIES
    assert "authorization" not in http.headers


async def test_over_real_sockets_with_the_sdks_own_client(monkeypatch: pytest.MonkeyPatch) -> None:
    args = {"owner": "octo", "repo": "demo"}
    script = [[wire_call("get_repo_info", args), wire_call("list_directory", args)], [wire_say("# Done", by=2)]]
    async with GitHubServer(FILES, token="ghp_sesame") as github, ModelServer(*script, key="sk-123456") as model:
        monkeypatch.setenv("GITHUB_API_URL", github.url)
        monkeypatch.setenv("GITHUB_TOKEN", "ghp_sesame")
        monkeypatch.delenv("API_KEY", raising=False)
        async with (
            openai.AsyncOpenAI(api_key="sk-123456", base_url=model.url) as llm,
            httpx.AsyncClient(trust_env=False) as http,
        ):
            report = await run_agent(llm, http, "octo/demo", model="deepseek-flash")
        assert report.startswith("# Done")
        assert {r.headers.get("authorization") for r in github.requests} == {"Bearer ghp_sesame"}
        assert github.errors == [] and model.errors == []


async def test_redirects_of_the_callers_client_are_off_and_its_headers_stay() -> None:
    class Elsewhere(FakeGitHub):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            assert request.headers["x-mine"] == "1"
            return httpx.Response(302, headers={"location": "https://evil.test/repos/octo/demo"})

    github = Elsewhere(FILES)
    llm, _ = clients(github, FakeModel([]))
    http = httpx.AsyncClient(transport=github, follow_redirects=True, headers={"x-mine": "1"})
    with pytest.raises(RunError, match="another host"):
        await run_agent(llm, http, QUERY, settings=Settings())


@respx.mock
async def test_github_is_asked_where_it_lives_with_what_it_wants() -> None:
    fake = FakeGitHub(FILES)
    route = respx.route(host="api.github.com").mock(side_effect=fake.handle_async_request)
    llm, _ = clients(fake, FakeModel([[*say("# R"), *end()]]))
    async with httpx.AsyncClient() as http:
        await run_agent(llm, http, QUERY, settings=Settings(github_token="ghp_sesame"))
    first = route.calls[0].request
    assert str(first.url) == "https://api.github.com/repos/octo/demo/commits/HEAD"
    assert first.headers["authorization"] == "Bearer ghp_sesame"
    assert first.headers["accept"] == "application/vnd.github.sha"
    assert first.headers["x-github-api-version"] == "2022-11-28"
    assert "repo-agent-tui" in first.headers["user-agent"]
    assert str(route.calls[1].request.url).endswith(f"/git/trees/{COMMIT}?recursive=1")


@pytest.mark.parametrize("query", ["what is this?", "", "./here", "is it fast and/or small?"])
async def test_a_query_without_an_address_is_a_value_error_of_our_own(query: str) -> None:
    llm, http = clients(FakeGitHub(FILES), FakeModel([]))
    with pytest.raises(NoAddressError) as raised:
        await run_agent(llm, http, query, settings=Settings())
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, UsageError)


async def test_where_no_report_could_be_made_one_sentence_says_why() -> None:
    llm, http = clients(FakeGitHub(FILES), FakeModel([]))
    with pytest.raises(RunError, match="octo/nothing") as raised:
        await run_agent(llm, http, "octo/nothing", settings=Settings())
    assert raised.value.finished.outcome == "failed"


async def test_turns_and_model_are_the_callers() -> None:
    model = FakeModel([[*call("list_directory"), *end()], [*say("# R"), *end()]])
    llm, http = clients(FakeGitHub(FILES), model)
    report = await run_agent(llm, http, QUERY, model="mine", max_turns=1, settings=Settings())
    assert [body["model"] for body in model.bodies] == ["mine", "mine"]
    assert "不完整" in report and "唯一的一轮" in report


def test_importing_the_package_costs_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import tui_agent; "
        "print(sorted({m.split('.')[0] for m in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root, env=os.environ
    )
    assert done.stdout.strip() == "['tui_agent']"

"""The session: what is chosen, what is told, whose hand is on which breaker; and the demo in virtual time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.fakes import Recorder, VirtualClock
from tests.github_models import check
from tests.repos import make_repo
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import say as wire_say
from tui_agent.events import (
    AttemptFailed,
    BreakerChanged,
    Event,
    Notice,
    Quota,
    RateLimitWait,
    RetryScheduled,
    RunFinished,
    RunStarted,
    ToolFinished,
    ToolStarted,
)
from tui_agent.request import RunRequest, UsageError
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.transports import demo
from tui_agent.transports.demo_repository import COMMITS

FILES = {"README.md": "# Tool\n\nA tool.\n", "LICENSE": "MIT License\n", "src/tool.py": "print('hi')\n"}
STEPS = [("First", FILES)]


async def finish(session: Session, request: RunRequest) -> tuple[RunFinished, Recorder]:
    heard = Recorder()
    try:
        return await session.run(request, heard), heard
    finally:
        await session.aclose()


async def test_without_a_key_a_local_repository_is_surveyed_and_that_is_said(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    finished, heard = await finish(Session(Settings()), RunRequest(repo=str(path)))
    assert finished.outcome == "completed" and finished.requests == 0
    started = heard.of(RunStarted)[0]
    assert (started.repo, started.source, started.engine, started.model) == ("local/tool", "local", "survey", "survey")
    assert any("No API key is set" in notice.text for notice in heard.of(Notice))
    assert "No LLM took part" in finished.report and "README.md" in finished.report


async def test_uncommitted_changes_are_told_and_stand_in_the_report(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    (path / "README.md").write_text("# Changed, and never committed\n")
    (path / "new.txt").write_text("new")
    finished, heard = await finish(Session(Settings()), RunRequest(repo=str(path)))
    assert any("Uncommitted changes" in notice.text and "2" in notice.text for notice in heard.of(Notice))
    assert "never committed" not in finished.report
    assert "uncommitted" in finished.report.lower()


async def test_a_plain_folder_is_one_snapshot_without_history(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "README.md").write_text("# Plain\n\nNothing else.\n")
    finished, heard = await finish(Session(Settings()), RunRequest(repo=str(tmp_path / "plain")))
    assert finished.outcome == "completed"
    assert "README.md" in finished.report
    commits = [e for e in heard.of(ToolFinished) if e.tool == "get_commits"]
    assert all(e.outcome == "error" for e in commits)


async def test_with_a_key_the_llm_decides_and_its_host_is_named_once() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=lambda body: [wire_say("# Done")]) as model:
        settings = Settings(api_key="sk-123456", base_url=model.url, github_api_url=github.url)
        session = Session(settings)
        first, second = Recorder(), Recorder()
        assert (await session.run(RunRequest(repo="team/tool"), first)).outcome == "completed"
        assert (await session.run(RunRequest(repo="team/tool"), second)).outcome == "completed"
        await session.aclose()
    assert first.of(RunStarted)[0].engine == "llm"
    assert [("127.0.0.1 receives" in n.text) for n in first.of(Notice)].count(True) == 1
    assert not any("receives" in n.text for n in second.of(Notice))
    assert any("since GITHUB_API_URL is set" in n.text for n in first.of(Notice))


async def test_a_key_and_a_token_go_to_their_own_hosts_alone() -> None:
    async with GitHubServer(FILES) as github, ModelServer(by_function=lambda body: [wire_say("# Done")]) as model:
        settings = Settings(
            api_key="sk-123456", github_token="ghp_sesame", base_url=model.url, github_api_url=github.url
        )
        _, heard = await finish(Session(settings), RunRequest(repo="team/tool"))
        asked_github = [request.headers["authorization"] for request in github.requests]
        asked_model = [request.headers["authorization"] for request in model.requests]
    assert set(asked_github) == {"Bearer ghp_sesame"} and set(asked_model) == {"Bearer sk-123456"}
    assert "sk-123456" not in repr(heard) and "ghp_sesame" not in repr(heard)


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (RunRequest(repo="not a repository"), "not a repository"),
        (RunRequest(repo="/nowhere/at/all"), "nowhere"),
        (RunRequest(repo="a/b", engine="llm"), "API_KEY"),
    ],
)
async def test_what_cannot_be_asked_is_said_before_any_event(request_: RunRequest, sentence: str) -> None:
    heard = Recorder()
    with pytest.raises(UsageError, match=sentence):
        await Session(Settings()).run(request_, heard)
    assert heard == []


def test_faults_that_cannot_be_understood_are_said_at_once() -> None:
    with pytest.raises(UsageError, match="no fault"):
        Session(Settings(), chaos="read_file:oops")


async def test_a_run_cancelled_while_it_loads_still_has_a_first_and_a_last_event(tmp_path: Path) -> None:
    class Slow(Session):
        async def prepare(self) -> None:
            await asyncio.Event().wait()

    heard = Recorder()
    task = asyncio.create_task(Slow(Settings()).run(RunRequest(repo="a/b"), heard))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [e.type for e in heard] == ["run_started", "run_finished"]
    assert heard.of(RunFinished)[0].outcome == "cancelled"
    assert heard[0].run_id == heard[1].run_id is not None


async def test_faults_are_met_by_local_repositories_and_the_survey_too(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    settings = Settings(base_delay=0.001, max_delay=0.001)
    session = Session(settings, chaos="get_repo_info:503x1,llm:dropx1,get_commits:timeoutx1,read_file:cutx1")
    finished, heard = await finish(session, RunRequest(repo=str(path)))
    assert finished.outcome == "completed"
    assert {(e.name, e.status) for e in heard.of(AttemptFailed)} == {
        ("get_repo_info", 503),
        ("llm", None),
        ("get_commits", None),
        ("read_file", None),
    }


async def test_a_hand_on_a_breaker_is_told_between_runs_without_a_run_and_within_one_as_its_own(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    session, between = Session(Settings()), Recorder()
    session.listen(between)
    session.isolate_breaker("read_file")
    session.release_breaker("read_file")
    assert [(e.run_id, e.state, e.cause) for e in between.of(BreakerChanged)] == [
        (None, "open", "user"),
        (None, "closed", "user"),
    ]
    session.isolate_breaker("read_file")
    heard = Recorder()

    def at_the_first_tool(event: Event) -> None:
        heard(event)
        if isinstance(event, ToolFinished) and event.tool == "read_file" and len(heard.of(BreakerChanged)) == 0:
            session.reset_breaker()

    finished = await session.run(RunRequest(repo=str(path)), at_the_first_tool)
    await session.aclose()
    assert finished.outcome == "completed"
    [change] = heard.of(BreakerChanged)
    assert (change.name, change.state, change.cause, change.run_id) == (
        "read_file",
        "closed",
        "user",
        heard[0].run_id,
    )
    refused = [e for e in heard.of(ToolFinished) if e.outcome == "fallback"]
    assert refused and all(e.attempts == 0 and "held open by the user" in e.result["error"] for e in refused)
    assert any(e.outcome == "ok" and e.tool == "read_file" for e in heard.of(ToolFinished))


async def test_the_demo_shows_every_layer_within_ninety_seconds() -> None:
    clock, heard = VirtualClock(), Recorder()
    session = Session(Settings(), clock=clock, demo=True)
    finished = await session.run(RunRequest(repo=""), heard)
    await session.aclose()
    assert finished.outcome == "completed" and 20 < finished.elapsed < 90
    states = [e.state for e in heard.of(BreakerChanged) if e.name == "read_file"]
    assert states[:2] == ["open", "half_open"] and states[-1] == "closed"
    assert heard.of(RetryScheduled) and heard.of(RateLimitWait) and heard.of(Quota)
    assert {e.outcome for e in heard.of(ToolFinished)} == {"ok", "fallback"}
    side_by_side = [e.turn for e in heard.of(ToolStarted)]
    assert max(side_by_side.count(turn) for turn in side_by_side) >= 3
    told = " ".join(notice.text for notice in heard.of(Notice))
    for word in ("Retry", "Breaker", "Fallback", "Probe", "Recovered", "Rate limit", "Done"):
        assert f"{word}:" in told
    assert heard[-1].type == "run_finished"
    for fact in ("tidepool", "0.4.0", "click", "numpy", "MIT"):
        assert fact in finished.report


async def test_the_demo_can_be_watched_again() -> None:
    session = Session(Settings(), clock=VirtualClock(), demo=True)
    for _ in range(2):
        heard = Recorder()
        assert (await session.run(RunRequest(repo=""), heard)).outcome == "completed"
        assert "open" in [e.state for e in heard.of(BreakerChanged)]
    await session.aclose()


async def test_the_demos_server_answers_as_github_describes_itself() -> None:
    http = httpx.AsyncClient(transport=demo.server(VirtualClock()), base_url="http://demo.invalid/repos/demo/tidepool")
    about = (await http.get("")).json()
    assert check("FullRepository", about).full_name == "demo/tidepool"
    commits = (await http.get("/commits")).json()
    assert len(check("Commit", commits)) == len(COMMITS)
    tree = (await http.get(f"/git/trees/{commits[0]['sha']}", params={"recursive": "1"})).json()
    assert {entry.path for entry in check("GitTree", tree).tree} >= {"README.md", "src/tidepool/tide.py"}
    blob = next(entry for entry in tree["tree"] if entry["path"] == "README.md")
    assert check("Blob", (await http.get(f"/git/blobs/{blob['sha']}")).json()).encoding == "base64"
    await http.aclose()


async def test_variables_of_another_service_travel_to_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-secret")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-service")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/elsewhere")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: hunter2\nAuthorization: Bearer hunter3")
    async with GitHubServer(FILES) as github, ModelServer(by_function=lambda body: [wire_say("# Done")]) as model:
        settings = Settings(api_key="sk-123456", base_url=model.url, github_api_url=github.url)
        finished, _ = await finish(Session(settings), RunRequest(repo="team/tool", no_cache=True))
    assert finished.outcome == "completed"
    [request] = model.requests
    assert request.headers["authorization"] == "Bearer sk-123456"
    assert not [name for name in request.headers if name.startswith(("openai", "x-"))]
    assert "secret" not in repr(request.headers) and "hunter" not in repr(request.headers)


async def test_the_survey_is_not_bounded_by_a_models_limits(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    settings = Settings(max_tokens=2000, context_tokens=2000)
    finished, heard = await finish(Session(settings), RunRequest(repo=str(path)))
    assert finished.outcome == "completed"
    assert not any("shortened" in notice.text for notice in heard.of(Notice))


async def test_the_users_faults_are_met_in_the_demo_as_well() -> None:
    session = Session(Settings(), clock=VirtualClock(), demo=True, chaos="get_commits:418x1")
    heard = Recorder()
    await session.run(RunRequest(repo=""), heard)
    await session.aclose()
    [commits] = [e for e in heard.of(ToolFinished) if e.tool == "get_commits"]
    assert commits.outcome == "error" and "418" in commits.result["error"]
    assert "open" in [e.state for e in heard.of(BreakerChanged)]


async def test_a_folder_within_a_repository_is_told_to_be_a_part_of_it(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", STEPS)
    _, heard = await finish(Session(Settings()), RunRequest(repo=str(path / "src")))
    assert any("lies within the repository" in notice.text for notice in heard.of(Notice))
    _, heard = await finish(Session(Settings()), RunRequest(repo=str(path)))
    assert not any("lies within" in notice.text for notice in heard.of(Notice))

"""Whatever dialect a model's server streams its calls in, a run makes the same calls and gets to its report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.servers import dialects
from tests.servers.dialects import DIALECTS
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, chunk, done, finish, say, think
from tui_agent.events import Event, RunFinished, ToolFinished, to_json
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings

WHO = {"owner": "team", "repo": "tool"}
FILES = {"README.md": "# Tool\n", "文档/说明.md": "说明\n", "main.py": "x = 1\n"}
CALLS = [
    call("read_file", {**WHO, "path": "文档/说明.md"}),
    call("read_file", {**WHO, "path": "main.py"}),
    call("get_commits", {**WHO, "per_page": 3}),
]


async def analyse(*script: Any, **how: Any) -> tuple[list[Event], ModelServer]:
    """One run within this process, over real sockets."""
    events: list[Event] = []
    async with GitHubServer(FILES) as github, ModelServer(*script, **how) as model:
        variables = {
            "GITHUB_API_URL": github.url,
            "REPO_AGENT_BASE_URL": model.url,
            "API_KEY": "test-key-0123456789",
            "REPO_AGENT_BASE_DELAY": "0.01",
            "REPO_AGENT_MAX_RETRIES": "1",
        }
        session = Session(Settings.from_environment(variables))
        try:
            await session.run(RunRequest(repo="team/tool"), events.append)
        finally:
            await session.aclose()
    assert github.errors == []
    return events, model


def of(events: list[Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("name", DIALECTS)
async def test_the_calls_are_understood(name: str) -> None:
    events, model = await analyse(DIALECTS[name](CALLS), [say("# Report")])
    assert model.errors == [], "the history that went back was refused"
    finished = {to_json(event)["call_id"]: event for event in of(events, ToolFinished)}
    assert len(finished) == 3 and "" not in finished
    told = [message for message in model.bodies[1]["messages"] if message["role"] == "tool"]
    in_order = [finished[message["tool_call_id"]] for message in told]
    assert [(event.tool, event.arguments, event.outcome) for event in in_order] == [
        ("read_file", {**WHO, "path": "文档/说明.md"}, "ok"),
        ("read_file", {**WHO, "path": "main.py"}, "ok"),
        ("get_commits", {**WHO, "per_page": 3}, "ok"),
    ]
    assert events[-1].outcome == "completed"  # type: ignore[attr-defined]
    assert events[-1].report.startswith("# Report")  # type: ignore[attr-defined]


def last(events: list[Event]) -> RunFinished:
    event = events[-1]
    assert isinstance(event, RunFinished)
    return event


async def test_tool_calls_as_the_reason_without_a_call_is_an_answer() -> None:
    events, model = await analyse(dialects.tool_calls_with_none("# Report"))
    assert (last(events).outcome, model.turns) == ("completed", 1)
    assert last(events).report.startswith("# Report")


async def test_cut_off_arguments_are_told_to_the_model_and_never_taken_for_none() -> None:
    events, model = await analyse(dialects.cut_arguments(CALLS[0]), [say("# Report")])
    finished = of(events, ToolFinished)[0]
    assert finished.outcome == "error"
    assert model.errors == []
    assert last(events).outcome == "completed"


@pytest.mark.parametrize("arguments", ["", None, ..., "null", "[]", '"text"'])
async def test_missing_arguments_are_an_error_that_the_model_can_act_on(arguments: Any) -> None:
    events, model = await analyse(dialects.no_arguments("read_file", arguments), [say("# Report")])
    finished = of(events, ToolFinished)[0]
    assert (finished.outcome, finished.result["ok"]) == ("error", False)
    assert model.errors == []
    assert last(events).outcome == "completed"


async def test_an_error_within_the_stream_is_retried() -> None:
    events, model = await analyse(dialects.breaks_with_error(), [say("# Report")])
    assert [event.type for event in events if event.type == "turn_restarted"] == ["turn_restarted"]
    assert last(events).report.startswith("# Report")
    assert model.turns == 2


async def test_a_report_that_was_cut_by_the_output_limit_says_so() -> None:
    events, _ = await analyse(dialects.cut_text("# Report\n\nIt is"), by_function=None)
    told = [event.text for event in events if event.type == "notice"] + [last(events).report]  # type: ignore[attr-defined]
    assert any(word in text for text in told for word in ("cut", "limit"))


async def test_reasoning_goes_back_where_it_came_from_even_when_it_is_empty() -> None:
    script = [[think(""), CALLS[0]], [think("Now the rest."), CALLS[1], CALLS[2]], [say("# Report")]]
    _, model = await analyse(*script)
    assert model.errors == []
    sent = [m for m in model.bodies[2]["messages"] if m["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in sent] == ["", "Now the rest."]


async def test_reasoning_is_not_sent_to_a_server_that_sent_none() -> None:
    for turn in ([say("I look."), *CALLS], [say("<think>I look.</think>"), *CALLS]):
        _, model = await analyse(turn, [say("# Report")], takes_reasoning=False)
        assert model.errors == []


async def test_a_turn_that_says_nothing_at_all_does_not_spoil_the_history() -> None:
    empty: Turn = [chunk({"content": ""}), finish("stop"), done()]
    events, model = await analyse(empty, empty, [say("# Report")])
    assert model.errors == [] or model.errors == ["the script is over"]
    assert last(events).outcome in ("completed", "failed")


async def test_the_same_calls_for_ever_come_to_an_end() -> None:
    def answer(body: dict[str, Any]) -> Turn:
        return CALLS if body.get("tools") else [say("# Report")]

    events, model = await analyse(by_function=answer)
    assert model.errors == []
    assert model.turns < 15
    assert last(events).report.startswith("# Report")
    assert {event.cache for event in of(events, ToolFinished)[3:]} == {"memory"}

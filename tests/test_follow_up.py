"""A follow-up: a question after a report goes on in the same conversation, with the same snapshot and memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.agent_fakes import FakeGitHub, FakeModel, call, end, make_run, of, say, think
from tests.fakes import Recorder
from tests.repos import make_repo
from tests.servers import turns as wire
from tests.servers.model import ModelServer
from tui_agent.agent.earlier import NothingToFollow, from_events
from tui_agent.agent.prompts import FOLLOW_UP
from tui_agent.events import Event, Notice, RunFinished, RunStarted, Snapshot, ToolFinished
from tui_agent.request import RunRequest, UsageError
from tui_agent.session import Session
from tui_agent.settings import Settings

FILES = {"README.md": "# Demo\n", "src/app.py": "print('hi')\n", "src/more.py": "pass\n"}
OWN = {"owner": "octo", "repo": "demo"}


def look(path: str, **how: Any) -> list[Any]:
    return call("read_file", {**OWN, "path": path}, **how)


FIRST = [
    [
        *think("I look."),
        *say("Reading."),
        *look("README.md", call_id="a"),
        *look("src/app.py", call_id="b", index=1),
        *end("tool_calls"),
    ],
    [*think("Enough."), *say("# Report", "\n\nIt prints."), *end()],
]
SECOND = [
    [*look("README.md", call_id="a"), *look("src/more.py", call_id="c", index=1), *end("tool_calls")],
    [*say("It does nothing more."), *end()],
]


async def first_run(github: FakeGitHub, model: FakeModel) -> tuple[Any, list[Event]]:
    run, events = make_run(github, model, question="What does it do?", max_turns=5)
    await run.execute()
    return run, events


async def test_the_question_stands_behind_the_history_as_it_was_sent_and_nothing_is_fetched_twice() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND])
    first, _ = await first_run(github, model)
    seen = dict(github.seen)
    second, events = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(first.leave())
    finished = await second.execute()

    assert finished.outcome == "completed" and finished.report.startswith("It does nothing more.")
    assert of(events, RunStarted)[0].follows == first.run_id
    before, after = model.bodies[1]["messages"], model.bodies[2]["messages"]
    assert after[: len(before)] == before, "the provider's prefix cache goes on to hit"
    report, question = after[len(before) :]
    assert report == {"role": "assistant", "content": "# Report\n\nIt prints."}
    assert question["role"] == "user" and question["content"] == f"{FOLLOW_UP}\n\nQuestion:\nAnd more.py?"
    known, fresh = of(events, ToolFinished)
    assert (known.cache, known.attempts) == ("memory", 0) and "repeated" in known.result
    assert (fresh.cache, fresh.attempts) == ("miss", 1)
    assert finished.requests == 1 and sum(github.seen.values()) == sum(seen.values()) + 1
    ids = [one["id"] for message in model.bodies[3]["messages"] for one in message.get("tool_calls", ())]
    assert len(ids) == len(set(ids)) == 4
    assert of(events, Snapshot)[0].commit == first.leave().commit


async def test_what_was_read_before_is_part_of_what_the_answer_rests_on() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND])
    first, _ = await first_run(github, model)
    second, _ = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(first.leave())
    assert "Files read (3 of 3)" in (await second.execute()).report


async def test_a_conversation_put_together_from_events_is_the_one_that_was_held() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND])
    first, events = await first_run(github, model)
    request = RunRequest(repo="octo/demo", question="What does it do?")
    second, more = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(first.leave())
    await second.execute()
    chain = [(request, events), (replace(request, question="And more.py?", follows=first.run_id), more)]
    rebuilt, live = from_events(chain), second.leave()
    assert rebuilt.conversation.messages == live.conversation.messages
    assert [event.call_id for event in rebuilt.observed] == [event.call_id for event in live.observed]
    assert (rebuilt.run_id, rebuilt.ref, rebuilt.commit) == (live.run_id, live.ref, live.commit)


async def test_from_events_alone_the_snapshot_is_fetched_at_its_commit_and_the_memory_holds() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND])
    first, events = await first_run(github, model)
    earlier = from_events([(RunRequest(repo="octo/demo", question="What does it do?"), events)])
    github.seen.clear()
    second, told = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(earlier)
    assert (await second.execute()).outcome == "completed"
    assert of(told, Snapshot)[0].ref == first.leave().ref
    assert not any("README" in path or path.endswith("HEAD") for path in github.seen), "the commit itself is asked for"
    assert of(told, ToolFinished)[0].cache == "memory"


async def test_two_questions_on_one_report_do_not_know_of_each_other() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, say("One.") + end(), say("Two.") + end()])
    first, _ = await first_run(github, model)
    for question in ("one?", "two?"):
        run, _ = make_run(github, model, question=question, max_turns=5)
        run.follow(first.leave())
        await run.execute()
    assert "one?" not in str(model.bodies[3]["messages"])


async def test_a_run_that_was_cut_short_leaves_a_history_that_servers_take() -> None:
    github = FakeGitHub(FILES)
    refused = httpx.ConnectError("gone")
    model = FakeModel([FIRST[0], refused, refused, refused, refused, say("Here it is.") + end()])
    first, _ = await first_run(github, model)
    second, _ = make_run(github, model, question="Well?", max_turns=5)
    second.follow(first.leave())
    assert (await second.execute()).report.startswith("Here it is.")
    roles = [message["role"] for message in model.bodies[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]


async def test_a_run_without_a_snapshot_leaves_nothing_to_go_on_with() -> None:
    run, events = make_run(FakeGitHub({}), FakeModel([]), owner="no", name="body")
    await run.execute()
    assert run.leave() is None
    with pytest.raises(NothingToFollow, match="start a new one"):
        from_events([(RunRequest(repo="no/body"), events)])


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Who maintains it, and when did it last change?", "### Activity"),
        ("它用了哪些依赖？", "### 技术栈与依赖"),
        ("What does the moon look like?", "cannot answer that"),
        ("月亮圆吗？", "无法回答"),
    ],
)
async def test_the_survey_answers_with_the_facts_that_a_question_touches(
    tmp_path: Path, question: str, told: str
) -> None:
    path = make_repo(tmp_path / "tool", [("First", {"README.md": "# Tool\n", "requirements.txt": "httpx\n"})])
    session, heard = Session(Settings(record=False)), Recorder()
    request = RunRequest(repo=str(path))
    await session.run(request, heard)
    first = heard.of(RunStarted)[0].run_id
    finished = await session.run(replace(request, question=question, follows=first), heard)
    await session.aclose()
    assert finished.outcome == "completed" and finished.tool_calls == 0
    assert told in finished.report
    assert len(finished.report) < len(heard.of(RunFinished)[0].report) / 2


async def test_a_run_that_nobody_knows_cannot_be_gone_on_with(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", [("First", {"README.md": "# Tool\n"})])
    session = Session(Settings(record=False))
    with pytest.raises(UsageError):
        await session.run(RunRequest(repo=str(path), question="And?", follows="nobody"), Recorder())
    await session.aclose()


def turns_with_calls(body: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in body["messages"] if "tool_calls" in message]


async def test_every_turn_with_calls_brings_its_reasoning_along_where_any_does() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND, say("Yes.") + end()])
    first, events = await first_run(github, model)
    second, more = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(first.leave())
    await second.execute()
    asked = RunRequest(repo="octo/demo", question="What does it do?")
    third, _ = make_run(github, model, question="Sure?", max_turns=5)
    third.follow(from_events([(asked, events), (asked, more)]))
    await third.execute()
    reasoning = [message["reasoning_content"] for message in turns_with_calls(model.bodies[-1])]
    assert reasoning == ["I look.", ""], "the second run's model had thought nothing, as a program's own run does"


@pytest.mark.parametrize(
    ("first", "refusal", "echoed"),
    [
        (FIRST, "Unknown parameter: 'messages[2].reasoning_content'.", [None]),
        (
            [FIRST[0][1:], FIRST[1][1:]],
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            [""],
        ),
    ],
)
async def test_a_history_of_another_servers_model_is_sent_as_this_one_takes_it(
    first: list[Any], refusal: str, echoed: list[str | None]
) -> None:
    refused = httpx.Response(400, json={"error": {"message": refusal}})
    github, model = FakeGitHub(FILES), FakeModel([*first, refused, say("Yes.") + end()])
    before, _ = await first_run(github, model)
    after, _ = make_run(github, model, question="Sure?", max_turns=5)
    after.follow(before.leave())
    finished = await after.execute()
    assert (finished.outcome, finished.turns) == ("completed", 1)
    assert [message.get("reasoning_content") for message in turns_with_calls(model.bodies[-1])] == echoed


async def test_a_server_that_takes_no_reasoning_back_is_sent_none_of_an_earlier_runs() -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, say("Yes.") + end()])
    before, _ = await first_run(github, model)
    options = {"quirks": frozenset({"no_reasoning_echo"})}
    after, _ = make_run(github, model, question="Sure?", max_turns=5, model_options=options)
    after.follow(before.leave())
    await after.execute()
    assert [message.get("reasoning_content") for message in turns_with_calls(model.bodies[-1])] == [None]


async def test_an_earlier_history_is_kept_within_the_window_of_the_model_that_goes_on() -> None:
    long = {**FILES, "README.md": "word " * 1100}
    github, model = FakeGitHub(long), FakeModel([*FIRST, say("Yes.") + end()])
    before, _ = await first_run(github, model)
    after, _ = make_run(github, model, question="Sure?", max_turns=5, window=3_500)
    after.follow(before.leave())
    assert (await after.execute()).outcome == "completed"
    results = [message["content"] for message in model.bodies[-1]["messages"] if message["role"] == "tool"]
    assert "shortened" in results[0] and "word word" not in results[0]


async def test_a_folder_without_history_is_looked_at_again_by_a_process_that_no_longer_has_it(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    readme = tmp_path / "plain" / "README.md"

    def reads(body: dict[str, Any]) -> Any:
        if body["messages"][-1]["role"] == "tool":
            return [wire.say("# Read")]
        return [wire.call("read_file", {"owner": "local", "repo": "plain", "path": "README.md"})]

    heard = [Recorder(), Recorder()]
    follows = None
    async with ModelServer(by_function=reads) as model:
        for told, text in zip(heard, ("before", "after"), strict=True):
            readme.write_text(text)
            session = Session(Settings(record=True, base_url=model.url, api_key="sk-test-0123456789"))
            await session.run(RunRequest(repo=str(tmp_path / "plain"), question="?", follows=follows), told)
            await session.aclose()
            follows = told.of(RunStarted)[0].run_id
    assert [told.of(ToolFinished)[-1].result.get("content") for told in heard] == ["before", "after"]
    assert [any("has no history" in notice.text for notice in told.of(Notice)) for told in heard] == [False, True]


@pytest.mark.parametrize("change", [{"path": None}, {"content": 5}, {"characters": "many"}, {"characters": None}])
async def test_an_observation_that_no_tool_makes_does_not_stop_a_question(change: dict[str, Any]) -> None:
    github, model = FakeGitHub(FILES), FakeModel([*FIRST, *SECOND])
    _, events = await first_run(github, model)
    odd = [
        replace(event, result=event.result | change)
        if isinstance(event, ToolFinished) and event.arguments.get("path") == "README.md"
        else event
        for event in events
    ]
    second, _ = make_run(github, model, question="And more.py?", max_turns=5)
    second.follow(from_events([(RunRequest(repo="octo/demo"), odd)]))
    finished = await second.execute()
    assert finished.outcome == "completed" and "Files read (2 of 3)" in finished.report

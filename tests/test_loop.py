"""The loop and the run, seen from outside: events, history, report, whatever happens between."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.agent_fakes import COMMIT, FakeGitHub, FakeModel, call, end, make_run, of, say, think
from tui_agent.events import (
    BreakerChanged,
    Event,
    Notice,
    Reasoning,
    ReportDelta,
    RunFinished,
    RunStarted,
    Snapshot,
    Thought,
    ToolFinished,
    ToolStarted,
    TurnRestarted,
    TurnStarted,
    Usage,
)
from tui_agent.settings import Settings

FILES = {"README.md": "# Demo\n\nIt demonstrates.\n", "src/app.py": "print('hi')\n", "big.txt": "x" * 9000}


async def run(script: Any, files: Any = None, **options: Any) -> tuple[RunFinished, list[Event], FakeModel, FakeGitHub]:
    github, model = FakeGitHub(FILES if files is None else files), FakeModel(script)
    the_run, events = make_run(github, model, **options)
    return await the_run.execute(), events, model, github


EXPLORE = [
    *think("Where am I?"),
    *say("I look around."),
    *call("get_repo_info", call_id="a", index=0),
    *call("list_directory", call_id="b", index=1),
    *call("get_commits", call_id="c", index=2),
    *end("tool_calls", 100, 20, 50),
]
READ = [*call("read_file", {"path": "README.md"}, call_id="d"), *end("tool_calls", 200, 10)]
REPORT = [*say("# Demo\n", "It demonstrates (`README.md#L3`)."), *end("stop", 300, 30)]


async def test_a_whole_run_reads_as_think_act_observe_report() -> None:
    finished, events, model, github = await run([EXPLORE, READ, REPORT])
    assert finished.outcome == "completed" and finished.error is None
    assert finished.report.startswith("# Demo\nIt demonstrates (`README.md#L3`).")
    assert (finished.turns, finished.tool_calls) == (3, 4)
    assert finished.requests == sum(github.seen.values()) == 5
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert events[0].repo == "octo/demo" and events[0].model == "fake"
    [snapshot] = of(events, Snapshot)
    assert (snapshot.commit, snapshot.files) == (COMMIT, 3)
    assert [e.turn for e in of(events, TurnStarted)] == [1, 2, 3]
    assert [e.text for e in of(events, Reasoning)] == ["Where am I?"]
    assert [e.text for e in of(events, Thought)] == ["I look around."]
    assert {e.call_id: (e.outcome, e.attempts, e.cache) for e in of(events, ToolFinished)} == {
        "a": ("ok", 1, "miss"),
        "b": ("ok", 0, "memory"),
        "c": ("ok", 1, "miss"),
        "d": ("ok", 1, "miss"),
    }
    assert [e.context_tokens for e in of(events, Usage)] == [120, 210, 330]
    assert (
        "".join(e.text for e in of(events, ReportDelta) if e.turn == 3) == "# Demo\nIt demonstrates (`README.md#L3`)."
    )
    assert len({event.run_id for event in events}) == 1
    assert [e.at for e in events] == sorted(e.at for e in events)


async def test_the_report_says_what_it_rests_on() -> None:
    finished, *_ = await run([READ, REPORT])
    assert f"[`README.md`](https://github.com/octo/demo/blob/{COMMIT}/README.md)" in finished.report
    assert "Files read (1 of 3)" in finished.report
    assert "src/app.py" not in finished.report


async def test_answers_go_back_in_the_order_of_the_calls() -> None:
    _, events, model, _ = await run([EXPLORE, REPORT])
    history = model.bodies[1]["messages"]
    assert [m["role"] for m in history] == ["system", "user", "assistant", "tool", "tool", "tool"]
    assert [c["id"] for c in history[2]["tool_calls"]] == ["a", "b", "c"]
    assert [m["tool_call_id"] for m in history[3:]] == ["a", "b", "c"]
    results = {e.call_id: e.result for e in of(events, ToolFinished)}
    assert [json.loads(m["content"]) for m in history[3:]] == [results["a"], results["b"], results["c"]]


async def test_reasoning_goes_back_where_it_came_from_and_nowhere_else() -> None:
    silent = [{"choices": [{"delta": {"reasoning_content": ""}}]}, *call("get_commits", call_id="b"), *end()]
    plain = [*call("list_directory", {"path": "src"}, call_id="c"), *end()]
    _, _, model, _ = await run([EXPLORE, silent, plain, REPORT])
    assistants = [m for m in model.bodies[-1]["messages"] if m["role"] == "assistant"]
    assert [m.get("reasoning_content") for m in assistants] == ["Where am I?", "", None]
    assert "reasoning_content" not in assistants[2]


async def test_calls_of_a_turn_run_side_by_side() -> None:
    under_way, most = 0, 0

    class Slow(FakeGitHub):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.01)
            under_way -= 1
            return await super().handle_async_request(request)

    paths = [f"f{i}" for i in range(12)]
    turn = [c for i, path in enumerate(paths) for c in call("read_file", {"path": path}, call_id=path, index=i)]
    model = FakeModel([[*turn, *end()], REPORT])
    the_run, events = make_run(Slow({path: path for path in paths}), model)
    await the_run.execute()
    assert most == 8
    started = [i for i, e in enumerate(events) if isinstance(e, ToolStarted)]
    finished = [i for i, e in enumerate(events) if isinstance(e, ToolFinished)]
    assert max(started) < min(finished)


async def test_turns_that_run_out_end_in_one_request_without_tools() -> None:
    finished, events, model, _ = await run([EXPLORE, READ, REPORT], max_turns=2)
    assert finished.outcome == "partial"
    assert "2 turns" in (finished.error or "") and "partial" in finished.report
    assert ["tools" in body for body in model.bodies] == [True, True, False]
    assert model.bodies[2]["messages"][-1]["role"] == "user"
    assert [e.turn for e in of(events, TurnStarted)] == [1, 2, 3]


BAD_CALLS = {
    "unknown tool": (call("delete_everything", {}), "There is no tool"),
    "no JSON": (call("read_file", "{not json"), "no valid JSON"),
    "no object": (call("read_file", "[1]"), "must be one JSON object"),
    "missing argument": (call("read_file", {}), "needs path"),
    "unknown argument": (call("read_file", {"path": "README.md", "mode": "w"}), "has no argument 'mode'"),
    "wrong type": (call("read_file", {"path": 7}), "must be a string"),
    "another repository": (call("get_repo_info", {"owner": "other", "repo": "secret"}), "may read octo/demo only"),
    "no such file": (call("read_file", {"path": "nope"}), "There is no 'nope'"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
async def test_bad_calls_are_answers_that_the_model_can_act_on(case: str) -> None:
    chunks, sentence = BAD_CALLS[case]
    finished, events, model, github = await run([[*chunks, *end()], REPORT])
    [tool] = of(events, ToolFinished)
    assert tool.outcome == "error" and sentence in tool.result["error"]
    assert finished.outcome == "completed"
    assert sum(github.seen.values()) == 2
    assert json.loads(model.bodies[1]["messages"][-1]["content"]) == tool.result


async def test_ids_are_unique_within_a_run_whatever_the_server_sends() -> None:
    one = [*call("list_directory", call_id="call_0"), *call("get_commits", index=1), *end()]
    two = [*call("read_file", {"path": "README.md"}, call_id="call_0"), *end()]
    _, events, model, _ = await run([one, two, REPORT])
    ids = [e.call_id for e in of(events, ToolFinished)]
    assert len(set(ids)) == 3 and all(ids)
    for message in model.bodies[2]["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] in ids


async def test_the_same_call_again_is_answered_from_memory_and_a_circle_is_ended() -> None:
    finished, events, model, github = await run([READ, READ, READ, REPORT])
    assert [(e.attempts, e.cache) for e in of(events, ToolFinished)] == [(1, "miss"), (0, "memory"), (0, "memory")]
    assert "very call before" in of(events, ToolFinished)[1].result["repeated"]
    assert finished.outcome == "completed"
    assert "tools" not in model.bodies[3]
    assert any("repeats" in e.text for e in of(events, Notice))


async def test_the_history_only_grows_at_its_end_and_holds_nothing_twice() -> None:
    look = [*call("read_file", {"path": "big.txt"}, call_id="big"), *end("tool_calls")]
    again = [*look[:-1], *call("get_commits", call_id="c", index=1), look[-1]]
    _, events, model, _ = await run([EXPLORE, look, again, READ, REPORT])
    sent = [body["messages"] for body in model.bodies]
    for before, after in pairwise(sent):
        assert after[: len(before)] == before and len(after) > len(before)
    tools = {json.dumps(body["tools"]) for body in model.bodies}
    assert len(tools) == 1, "what stands before the history stays the same too"
    results = [event.result for event in of(events, ToolFinished) if event.tool == "read_file"]
    assert [result.get("call_id") for result in results] == [None, "big", None]
    assert json.dumps(sent[-1]).count("x" * 6000) == 1


async def test_an_empty_answer_is_asked_again_and_never_stands_in_the_history() -> None:
    finished, _, model, _ = await run([READ, end(), REPORT])
    assert finished.outcome == "completed"
    assert all(m.get("content") or m.get("tool_calls") for m in model.bodies[2]["messages"])


async def test_a_model_that_says_nothing_at_all_leaves_the_surveys_report() -> None:
    finished, *_ = await run([READ, end(), end(), end()])
    assert finished.outcome == "partial"
    assert "no report" in (finished.error or "")


async def test_a_report_cut_by_the_output_limit_is_partial_and_says_so() -> None:
    finished, *_ = await run([READ, [*say("# Half"), *end("length")]])
    assert finished.outcome == "partial"
    assert "output limit" in (finished.error or "") and "output limit" in finished.report


def down(status: int = 503) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": "the model is down"}})


async def test_a_model_lost_after_an_observation_leaves_a_partial_report() -> None:
    finished, *_ = await run(lambda body: READ if len(body["messages"]) == 2 else down())
    assert finished.outcome == "partial"
    assert "the model is down" in (finished.error or "")
    assert "partial" in finished.report and "README.md" in finished.report


@pytest.mark.parametrize("status", [401, 402, 503])
async def test_a_model_lost_before_any_observation_fails_in_one_sentence(status: int) -> None:
    finished, events, *_ = await run(lambda body: down(status))
    assert finished.outcome == "failed" and finished.report == ""
    assert "the model is down" in (finished.error or "") and "before anything" in (finished.error or "")
    assert isinstance(events[-1], RunFinished)


async def test_a_repository_that_is_not_there_fails_before_the_model_is_asked() -> None:
    finished, _, model, _ = await run([REPORT], name="nowhere")
    assert finished.outcome == "failed"
    assert "octo/nowhere" in (finished.error or "") and "404" in (finished.error or "")
    assert model.bodies == []


async def test_a_ref_that_is_not_there_is_named() -> None:
    finished, *_ = await run([REPORT], ref="nope")
    assert finished.outcome == "failed" and "no branch, tag or commit “nope”" in (finished.error or "")


async def test_a_service_that_is_gone_fails_with_what_to_do() -> None:
    github, model = FakeGitHub(FILES), FakeModel([REPORT])
    github.faults[""] = [httpx.ConnectError("refused")] * 99
    the_run, events = make_run(github, model)
    finished = await the_run.execute()
    assert finished.outcome == "failed" and "Check the connection" in (finished.error or "")
    assert finished.requests == 4


async def test_a_broken_turn_is_void_and_starts_over() -> None:
    broken = [*say("# Half a rep"), httpx.ReadError("reset")]
    finished, events, *_ = await run([READ, broken, REPORT])
    assert finished.report.startswith("# Demo")
    [restarted] = of(events, TurnRestarted)
    assert restarted.turn == 2


async def test_a_failing_tool_falls_back_and_the_run_goes_on() -> None:
    github, model = FakeGitHub(FILES), FakeModel([READ, REPORT])
    github.faults["/git/blobs/"] = [httpx.Response(503, json={"message": "unicorn"})] * 99
    the_run, events = make_run(github, model, settings=Settings(base_delay=0.001, max_delay=0.001, breaker_threshold=3))
    finished = await the_run.execute()
    [tool] = of(events, ToolFinished)
    assert tool.outcome == "fallback" and tool.result["fallback"] is True and "unicorn" in tool.result["error"]
    assert tool.result["known"] == {"path": "README.md", "size": len(FILES["README.md"])}
    assert tool.attempts == 3
    assert [(e.name, e.state) for e in of(events, BreakerChanged)] == [("read_file", "open")]
    assert finished.outcome == "completed"
    assert "Files read (0 of 3): none." in finished.report


async def test_cancelling_leaves_a_last_event_and_a_valid_history() -> None:
    class Hangs(FakeGitHub):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if "/git/blobs/" in request.url.path:
                await asyncio.Event().wait()
            return await super().handle_async_request(request)

    both = [
        *call("list_directory", call_id="a"),
        *call("read_file", {"path": "README.md"}, call_id="b", index=1),
        *end(),
    ]
    the_run, events = make_run(Hangs(FILES), FakeModel([both]))
    task = asyncio.create_task(the_run.execute())
    while not of(events, ToolFinished):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(events[-1], RunFinished) and events[-1].outcome == "cancelled"
    assert the_run._loop is not None
    history = the_run._loop.conversation.messages
    assert [m.get("tool_call_id") for m in history[-2:]] == ["a", "b"]
    assert "cancelled" in history[-1]["content"]
    assert len(asyncio.all_tasks()) == 1


async def test_cancelling_a_report_keeps_what_was_written() -> None:
    gate = asyncio.Event()

    class Halfway(httpx.AsyncByteStream):
        async def __aiter__(self) -> Any:
            yield b'data: {"choices": [{"delta": {"content": "# Half"}}]}\n\n'
            await gate.wait()

    model = httpx.MockTransport(lambda request: httpx.Response(200, stream=Halfway()))
    the_run, events = make_run(FakeGitHub(FILES), model)
    task = asyncio.create_task(the_run.execute())
    while not of(events, ReportDelta):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert events[-1].report == "# Half"


async def test_tokens_that_run_out_end_in_a_report_within_the_bound() -> None:
    big = [*call("read_file", {"path": "big.txt"}, call_id="a"), *end("tool_calls", 3000, 100)]
    finished, _, model, _ = await run([big, REPORT], max_tokens=13_000)
    assert finished.outcome == "partial" and "tokens" in (finished.error or "")
    assert "tools" not in model.bodies[1]
    assert 0 < model.bodies[1]["max_tokens"] < 13_000


async def test_tokens_that_leave_no_room_at_all_cost_nothing_more() -> None:
    big = [*call("read_file", {"path": "big.txt"}, call_id="a"), *end("tool_calls", 8900, 100)]
    finished, _, model, _ = await run([big], max_tokens=9000)
    assert finished.outcome == "partial" and len(model.bodies) == 1
    assert "big.txt" in finished.report or "octo/demo" in finished.report


async def test_the_window_is_never_overrun_and_the_oldest_observations_give_way() -> None:
    names = [f"f{i}.txt" for i in range(8)]
    files = {name: f"{i}" + "y" * 5900 for i, name in enumerate(names)}
    turns = [[*call("read_file", {"path": name}, call_id=name), *end()] for name in names]
    finished, events, model, _ = await run([*turns, REPORT], files, window=12_000)
    assert finished.outcome == "completed"
    last = model.bodies[-1]["messages"]
    tools = [m for m in last if m["role"] == "tool"]
    assert "shortened" in tools[0]["content"] and "yyy" in tools[-1]["content"]
    assert all(len(json.dumps(body["messages"])) / 3 < 12_000 for body in model.bodies)
    assert any("context window is full" in e.text for e in of(events, Notice))
    for first, second in zip(model.bodies, model.bodies[1:], strict=False):
        kept = [m for m in first["messages"] if m["role"] != "tool"]
        assert kept == [m for m in second["messages"] if m["role"] != "tool"][: len(kept)]


async def test_a_name_that_is_no_unicode_can_be_sent() -> None:
    finished, _, model, _ = await run([EXPLORE, REPORT], {"bad-\udce9.txt": "x"})
    assert finished.outcome == "completed"
    assert "bad-\\udce9.txt" in model.bodies[1]["messages"][4]["content"]


async def test_a_fault_of_the_program_is_a_failed_run_with_its_last_event() -> None:
    def script(body: Any) -> Any:
        raise RuntimeError("boom")

    finished, events, *_ = await run(script)
    assert finished.outcome == "failed" and "boom" in (finished.error or "")
    assert events[-1] == finished or isinstance(events[-1], RunFinished)


async def test_a_renamed_repository_is_told_once() -> None:
    class Renamed(FakeGitHub):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            old = "/repos/octo/old"
            if request.url.path.startswith(old):
                self.seen["redirect"] += 1
                rest = request.url.raw_path.decode().removeprefix(old)
                return httpx.Response(301, headers={"location": f"https://api.github.com/repositories/1{rest}"})
            url = str(request.url).replace("/repositories/1", "/repos/octo/demo")
            return await super().handle_async_request(httpx.Request("GET", url, extensions=request.extensions))

    github, model = Renamed(FILES), FakeModel([EXPLORE, REPORT])
    the_run, events = make_run(github, model, name="old")
    finished = await the_run.execute()
    assert github.seen["redirect"] == 1
    assert [e.text for e in of(events, Notice)] == ["octo/old is now called octo/demo."]
    assert "octo/old is now called octo/demo" in finished.report
    assert of(events, Snapshot)[0].repo == "octo/demo" and events[0].repo == "octo/old"


async def test_what_was_shortened_may_be_read_again_and_is_no_circle() -> None:
    names = [f"f{i}.txt" for i in range(6)]
    files = {name: f"{i}" + "y" * 9000 for i, name in enumerate(names)}
    turns = [[*call("read_file", {"path": name}, call_id=name), *end()] for name in names]
    again = [[*call("read_file", {"path": name}, call_id=f"{name} again"), *end()] for name in names[:2]]
    finished, events, model, _ = await run([*turns, *again, REPORT], files, window=11_000)
    assert finished.outcome == "completed"
    assert "tools" in model.bodies[-1]
    last = of(events, ToolFinished)[-1]
    assert last.result["content"].startswith("1yyy") and "repeated" not in last.result
    assert "/f1.txt) (6,000 of 9,001 characters)" in finished.report, "the same window again adds nothing"


async def test_an_error_that_was_shortened_stays_an_error() -> None:
    missing = [*call("read_file", {"path": "nope/" + "z" * 400}, call_id="m"), *end()]
    big = [[*call("read_file", {"path": "big.txt", "offset": n}, call_id=f"b{n}"), *end()] for n in (0, 1, 2, 3, 4, 5)]
    _, _, model, _ = await run([missing, *big, REPORT], window=9_000)
    tools = [json.loads(m["content"]) for m in model.bodies[-1]["messages"] if m["role"] == "tool"]
    assert tools[0] == {"ok": False, "shortened": tools[1]["shortened"]}


@pytest.mark.parametrize("case", ["unknown tool", "unknown argument", "no JSON"])
async def test_a_bad_call_again_and_again_is_a_circle_too(case: str) -> None:
    chunks, _ = BAD_CALLS[case]
    finished, _, model, _ = await run([[*chunks, *end()]] * 3 + [REPORT])
    assert finished.outcome == "completed" and len(model.bodies) == 4


async def test_a_lost_models_report_knows_the_listing_and_lies_about_nothing() -> None:
    finished, *_ = await run(lambda body: READ if len(body["messages"]) == 2 else down(401))
    assert "could not be listed" not in finished.report
    assert "`src/`" in finished.report
    assert "built-in survey wrote it" in finished.report


async def test_how_much_of_a_file_was_read_is_said() -> None:
    part = [*call("read_file", {"path": "big.txt"}, call_id="a"), *end()]
    finished, *_ = await run([part, REPORT])
    assert "(6,000 of 9,000 characters)" in finished.report
    rest = [*call("read_file", {"path": "big.txt", "offset": 6000}, call_id="b"), *end()]
    finished, *_ = await run([part, rest, REPORT])
    assert "characters)" not in finished.report


async def test_a_bound_on_tokens_bounds_every_answer() -> None:
    _, _, model, _ = await run([READ, REPORT], max_tokens=2_000_000)
    assert [body["max_tokens"] for body in model.bodies] == [32_768, 32_768]
    _, _, model, _ = await run([READ, REPORT])
    assert all("max_tokens" not in body for body in model.bodies)


async def test_ids_made_here_never_meet_one_of_the_servers() -> None:
    turn = [*call("list_directory", call_id="call_1_1"), *call("get_commits", index=1), *end()]
    _, events, _, _ = await run([turn, REPORT])
    finished = {e.call_id: e.tool for e in of(events, ToolFinished)}
    assert len(finished) == 2 and set(finished.values()) == {"list_directory", "get_commits"}


async def test_a_chinese_question_gets_its_partial_line_in_chinese_alone() -> None:
    finished, *_ = await run([READ, REPORT], max_turns=1, question="这是什么？")
    assert "唯一的一轮已用完" in finished.report and "used up" not in finished.report
    assert "used up" in (finished.error or "")

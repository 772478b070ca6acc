"""What a model's server can send that no documentation knows: never more than trouble, and never without an end."""

from __future__ import annotations

import asyncio
import json
import re
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_fakes import FakeGitHub, FakeModel, end, make_model, make_run, of, say
from tui_agent.agent.dialects import ModelTurn, TurnAssembler
from tui_agent.agent.guards import Guards
from tui_agent.agent.llm import MAX_TURN, LanguageModel, ModelOptions, ModelRefused
from tui_agent.agent.sse import DataLines
from tui_agent.agent.text_calls import find_calls
from tui_agent.events import ToolFinished
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import SystemClock
from tui_agent.resilience.outcome import LimitTooFar, Trouble
from tui_agent.settings import Settings
from tui_agent.tools.schemas import SCHEMAS, TOOL_NAMES

NAMES = frozenset(TOOL_NAMES)
WHO = {"owner": "octo", "repo": "demo"}
REPORT = [*say("# R"), *end()]
ONCE = Settings(max_retries=0, max_rate_wait=0, base_delay=0.001)

# Values that JSON can hold, the awkward ones more often than chance would have it.
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**400, -1, 1.5, 1e308, 429, 500, 400]),
    st.sampled_from(["", "x", "read_file", "stop", "length", "null", "{}", '{"path": "a"}', "<think>", "</think>"]),
    st.text(max_size=6),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(
                (
                    "choices delta message content reasoning_content reasoning tool_calls function function_call name "
                    "arguments id index type text usage prompt_tokens completion_tokens prompt_tokens_details "
                    "cached_tokens completion_tokens_details reasoning_tokens prompt_cache_hit_tokens finish_reason "
                    "error code status"
                ).split()
            ),
            inner,
            max_size=5,
        ),
    ),
    max_leaves=12,
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "index": VALUES,
        "id": VALUES,
        "function": st.one_of(VALUES, st.fixed_dictionaries({"name": VALUES, "arguments": VALUES})),
    },
)
DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "content": VALUES,
        "reasoning_content": VALUES,
        "tool_calls": st.one_of(VALUES, st.lists(CALLS, max_size=3)),
        "function_call": VALUES,
    },
)
CHUNKS = st.one_of(
    VALUES,
    st.fixed_dictionaries(
        {"choices": st.lists(st.fixed_dictionaries({"delta": DELTAS, "finish_reason": VALUES}), max_size=2)},
        optional={"usage": VALUES, "error": VALUES},
    ),
)


SERVER = FakeModel([])
CLIENT = make_model(SERVER, Guards(ONCE, SystemClock()))._client


async def ask(chunks: list[Any]) -> ModelTurn:
    """One turn of these chunks; the SDK's client, which costs most of it, is made once."""
    SERVER.script, SERVER.bodies = [[*chunks, *end()]], []
    layers = Guards(ONCE, SystemClock()).model_pipeline("x")
    return await ask_of(LanguageModel(CLIENT, ModelOptions("fake"), layers, SystemClock(), Redactor([])))


async def ask_through(transport: httpx.AsyncBaseTransport, stall: float = 30.0) -> ModelTurn:
    return await ask_of(make_model(transport, Guards(ONCE, SystemClock()), stall=stall))


async def ask_of(model: LanguageModel) -> ModelTurn:
    return await model.ask(
        Call("llm", lambda event: None), [b'{"role":"user","content":"hi"}'], SCHEMAS, lambda *_: None, lambda _: None
    )


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHUNKS, max_size=4))
async def test_no_chunk_is_more_than_trouble_a_refusal_or_a_limit(chunks: list[Any]) -> None:
    try:
        turn = await ask([b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks])
    except (Trouble, ModelRefused, LimitTooFar):
        return
    assert isinstance(turn.content, str) and isinstance(turn.reasoning, str)
    for call in turn.calls:
        assert isinstance(call.tool, str) and isinstance(call.call_id, str)
        assert call.arguments is None or isinstance(call.arguments, dict)
        json.dumps(call.arguments)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHUNKS, max_size=4))
async def test_a_run_ends_well_whatever_stands_in_a_turn(chunks: list[Any]) -> None:
    odd = [*(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks), *end()]
    the_run, events = make_run(FakeGitHub({"README.md": "# R\n"}), FakeModel([odd] * 4 + [REPORT]), settings=ONCE)
    finished = await the_run.execute()
    assert "fault of this program" not in (finished.error or "")
    assert events[-1].type == "run_finished"


# -- sizes ----------------------------------------------------------------------------------------


class Endless(httpx.AsyncByteStream):
    """One piece again and again."""

    def __init__(self, piece: bytes, before: bytes = b"") -> None:
        self.piece, self.before, self.sent = piece, before, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.before
        while True:
            self.sent += len(self.piece)
            yield self.piece
            await asyncio.sleep(0)


def chunk_of(**delta: Any) -> bytes:
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


BIG = "x" * 2**20
ENDLESS: dict[str, tuple[str, Endless]] = {
    "a line": ("text/event-stream", Endless(b"x" * 2**16, b"data: ")),
    "text": ("text/event-stream", Endless(chunk_of(content=BIG))),
    "reasoning": ("text/event-stream", Endless(chunk_of(reasoning_content=BIG))),
    "a thought in tags": ("text/event-stream", Endless(chunk_of(content=BIG), chunk_of(content="<think>"))),
    "arguments": (
        "text/event-stream",
        Endless(chunk_of(tool_calls=[{"index": 0, "function": {"name": "read_file", "arguments": BIG}}])),
    ),
    "a whole reply": ("application/json", Endless(b" " * 2**16)),
}


@pytest.mark.parametrize("name", ENDLESS)
async def test_an_answer_without_end_is_given_up_at_its_bound(name: str) -> None:
    kind, stream = ENDLESS[name]
    reply = httpx.MockTransport(lambda _: httpx.Response(200, headers={"content-type": kind}, stream=stream))
    tracemalloc.start()
    try:
        with pytest.raises(Trouble, match="larger than 16 MB"):
            await ask_through(reply)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stream.sent < 2 * MAX_TURN and peak < 6 * MAX_TURN


async def test_a_long_line_costs_time_in_proportion() -> None:
    def seconds(pieces: int) -> float:
        lines, started = DataLines(), time.process_time()
        for _ in range(pieces):
            lines.feed(b"x" * 100)
        return time.process_time() - started

    seconds(1000)
    assert seconds(80_000) < 40 * max(seconds(8_000), 1e-4)


async def test_a_model_that_writes_only_blanks_costs_time_in_proportion() -> None:
    pieces: list[tuple[str, str]] = []
    assembler = TurnAssembler(lambda kind, text: pieces.append((kind, text)), NAMES)
    started = time.process_time()
    for _ in range(100_000):
        assembler.feed({"choices": [{"delta": {"content": "\n   "}}]})
    assert time.process_time() - started < 5
    assembler.feed({"choices": [{"delta": {"content": "<think>hm</think># R"}}]})
    turn = assembler.finish()
    assert (turn.content, turn.reasoning) == ("# R", "hm")
    assert pieces == [("reasoning", "hm"), ("content", "# R")]


HOSTILE = [
    "<tool_call>{}",
    "<tool_call>{ ",
    "<tool_call>{} ",
    "<function=a>",
    "<tool_call> <function=a>x",
    "<function=read_file><parameter=a>",
    "<｜tool▁call▁begin｜>a{}",
    "<｜tool▁call▁begin｜>a" + " " * 1000,
    "<｜tool▁call▁begin｜>a" + " " * 150_000,
    '<invoke name="a">',
    '<invoke name="read_file"><parameter name="a">',
    '<invoke name="read_file">' + '<parameter name="a">' * 5_000 + "</invoke>",
    "[TOOL_CALLS] [",
    "{} ",
    "{}" + "\n" * 150_000,
    "`a` <tool_call>{}",
    "[[[[",
]


@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: unit[:30])
def test_no_text_takes_the_search_for_calls_long(unit: str) -> None:
    text = (unit * (199_000 // len(unit)))[:199_000] + " read_file"
    started = time.process_time()
    find_calls(text, NAMES)
    assert time.process_time() - started < 2


# -- arguments ------------------------------------------------------------------------------------


def calling(arguments: Any) -> list[Any]:
    entry = {"index": 0, "id": "c", "function": {"name": "read_file", "arguments": arguments}}
    return [b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [entry]}}]}).encode() + b"\n\n"]


DEEP = json.dumps({"path": "x"}).replace('"x"', "[" * 300 + "]" * 300)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (DEEP, "nested too deep"),
        (json.loads(DEEP), "nested too deep"),
        ('{"path": ' + "[" * 10_000, "nested too deep"),
        ('{"offset": ' + "9" * 5_000 + "}", "a number in it is too long"),
        (json.dumps({"path": "x" * 50_000}), "longer than 20,000 characters"),
        ({"path": "x" * 50_000}, "longer than 20,000 characters"),
    ],
)
async def test_arguments_that_no_tool_could_take_are_told_and_stay_out_of_the_history(
    arguments: Any, says: str
) -> None:
    model = FakeModel([[*calling(arguments), *end("tool_calls")], REPORT])
    the_run, events = make_run(FakeGitHub({"README.md": "x"}), model)
    finished = await the_run.execute()
    assert finished.outcome == "completed"
    [tool] = of(events, ToolFinished)
    assert tool.outcome == "error" and says in tool.result["error"]
    assert len(json.dumps(model.bodies[1]["messages"])) < 10_000


# -- ends -----------------------------------------------------------------------------------------


class Ends(httpx.AsyncByteStream):
    """Whole but for its last word; then silence, or a broken connection."""

    def __init__(self, breaks: bool) -> None:
        self.breaks = breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield chunk_of(content="# R")
        yield b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
        if self.breaks:
            raise httpx.ReadError("reset by peer")
        await asyncio.Event().wait()


@pytest.mark.parametrize("breaks", [True, False])
async def test_a_turn_that_the_server_has_ended_is_whole_though_the_last_line_never_comes(breaks: bool) -> None:
    turn = await ask_through(httpx.MockTransport(lambda _: httpx.Response(200, stream=Ends(breaks))), stall=0.05)
    assert turn.content == "# R"


@pytest.mark.parametrize(
    ("problem", "outcome", "says"),
    [
        ({"message": "maximum context length is 7"}, ModelRefused, "REPO_AGENT_CONTEXT_TOKENS"),
        ({"message": "too long", "code": "context_length_exceeded"}, ModelRefused, "too long"),
        ({"message": "no", "type": "invalid_request_error", "code": None}, ModelRefused, "no"),
        ({"message": "no", "code": "invalid_api_key"}, ModelRefused, "API_KEY"),
        ({"message": "no", "code": "insufficient_quota"}, ModelRefused, "balance"),
        ({"message": "no", "type": "rate_limit_error"}, LimitTooFar, "rate limit"),
        ({"message": "no", "code": "429"}, LimitTooFar, "rate limit"),
        ({"message": "busy", "code": 408}, Trouble, "busy"),
        ({"message": "busy", "code": "server_error"}, Trouble, "busy"),
        ({"message": "busy", "code": 10**30}, Trouble, "busy"),
        ({"message": "busy", "code": "²"}, Trouble, "busy"),
        ({"message": {"a": 1}}, Trouble, '{"a":1}'),
        ({"x": 1}, Trouble, '{"x":1}'),
        ("plain words", Trouble, "plain words"),
        ([1], Trouble, "[1]"),
    ],
)
async def test_an_error_object_in_a_stream_is_what_its_words_say(
    problem: Any, outcome: type[Exception], says: str
) -> None:
    with pytest.raises(outcome) as told:
        await ask([b"data: " + json.dumps({"error": problem}).encode() + b"\n\n"])
    assert says in str(told.value)


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (400, {"error": {"message": "bad"}}, "(HTTP 400: bad)."),
        (400, {"error": "bad"}, "(HTTP 400: bad)."),
        (400, {"message": "bad"}, "(HTTP 400: bad)."),
        (422, {"detail": [{"loc": ["a"], "msg": "bad"}]}, '(HTTP 422: [{"loc":["a"],"msg":"bad"}]).'),
        (400, {"detail": "bad"}, "(HTTP 400: bad)."),
        (404, "plain words", "(HTTP 404: plain words)."),
        (403, "<!doctype html><head><TITLE>Sign in</TITLE>", "(HTTP 403: Sign in)."),
        (403, "<p>" + "<title" * 100_000, "(HTTP 403)."),
        (401, "", "(HTTP 401)."),
        (401, {}, "(HTTP 401)."),
        (400, [1], "(HTTP 400: [1])."),
    ],
)
async def test_a_refusal_is_told_in_the_servers_own_words_wherever_it_has_put_them(
    status: int, body: Any, sentence: str
) -> None:
    content = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(ModelRefused) as told:
        await ask_through(FakeModel([httpx.Response(status, text=content)]))
    assert str(told.value).endswith(sentence)


@pytest.mark.parametrize(("stall", "says"), [(0.02, "0.02 s"), (0.25, "0.25 s")])
async def test_a_short_silence_is_told_as_what_it_was(stall: float, says: str) -> None:
    class Silent(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield chunk_of(content="x")
            await asyncio.Event().wait()

    with pytest.raises(Trouble, match=f"sent nothing for {says}"):
        await ask_through(httpx.MockTransport(lambda _: httpx.Response(200, stream=Silent())), stall=stall)


# -- names and ids --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["functions.read_file", "read file!", "\x1b[2J", "工具", "x" * 5_000])
async def test_a_name_that_servers_refuse_stays_out_of_the_history_and_the_model_is_told(name: str) -> None:
    odd = chunk_of(tool_calls=[{"index": 0, "id": "c", "function": {"name": name, "arguments": "{}"}}])
    model = FakeModel([[odd, *end("tool_calls")], REPORT])
    the_run, events = make_run(FakeGitHub({"README.md": "x"}), model)
    assert (await the_run.execute()).outcome == "completed"
    [tool] = of(events, ToolFinished)
    assert tool.tool == name and "There is no tool" in tool.result["error"] and len(tool.result["error"]) < 500
    [call] = model.bodies[1]["messages"][2]["tool_calls"]
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"])


@pytest.mark.parametrize("call_id", ["", "x" * 5_000, "a b", "\x1b[2J", "号", 7, {"a": 1}])
async def test_an_id_that_is_none_gives_way_to_one_of_our_own(call_id: Any) -> None:
    odd = chunk_of(tool_calls=[{"index": 0, "id": call_id, "function": {"name": "get_commits", "arguments": WHO}}])
    model = FakeModel([[odd, *end("tool_calls")], REPORT])
    the_run, events = make_run(FakeGitHub({"README.md": "x"}), model)
    assert (await the_run.execute()).outcome == "completed"
    [tool] = of(events, ToolFinished)
    assert (tool.call_id, tool.outcome) == ("call_1_0", "ok")
    assert model.bodies[1]["messages"][3]["tool_call_id"] == "call_1_0"

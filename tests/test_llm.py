"""The model's client: what is retried, what is final, what a broken stream leaves behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from tests.agent_fakes import FAST, FakeModel, call, end, make_model, say, think
from tui_agent.agent.guards import Guards
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.events import AttemptFailed, Event, RateLimitWait, RetryScheduled
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import SystemClock
from tui_agent.resilience.outcome import BreakerOpen, LimitTooFar, Trouble
from tui_agent.settings import Settings
from tui_agent.tools.schemas import SCHEMAS


class Asked:
    """One `ask`, with all that came of it."""

    def __init__(self, transport: httpx.AsyncBaseTransport, settings: Settings = FAST, **options: Any) -> None:
        self.events: list[Event] = []
        self.pieces: list[tuple[str, str]] = []
        self.restarts: list[str] = []
        self.model: LanguageModel = make_model(transport, Guards(settings, SystemClock()), **options)

    async def __call__(self, tools: bool = True) -> Any:
        return await self.model.ask(
            Call("llm", self.events.append),
            [b'{"role":"user","content":"hi"}'],
            SCHEMAS if tools else None,
            lambda kind, text: self.pieces.append((kind, text)),
            self.restarts.append,
        )


async def test_a_turn_streams_reasoning_content_and_calls() -> None:
    model = FakeModel(
        [[*think("why", "?"), *say("I ", "look."), *call("get_repo_info", call_id="a"), *end("tool_calls", 9, 2)]]
    )
    asked = Asked(model)
    turn = await asked()
    assert asked.pieces == [("reasoning", "why"), ("reasoning", "?"), ("content", "I "), ("content", "look.")]
    assert (turn.reasoning, turn.content, turn.echo_reasoning) == ("why?", "I look.", True)
    assert [c.tool for c in turn.calls] == ["get_repo_info"]
    body = model.bodies[0]
    assert body["model"] == "fake" and body["stream"] is True and body["tool_choice"] == "auto"
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert [tool["function"]["name"] for tool in body["tools"]][:2] == ["get_repo_info", "list_directory"]


async def test_without_tools_none_are_sent() -> None:
    model = FakeModel([[*say("x"), *end()]])
    await Asked(model)(tools=False)
    assert "tools" not in model.bodies[0] and "tool_choice" not in model.bodies[0]


async def test_a_cut_stream_starts_the_turn_over_and_says_so() -> None:
    broken = [*say("half a sen"), httpx.ReadError("reset by peer")]
    asked = Asked(FakeModel([broken, [*say("whole"), *end()]]))
    turn = await asked()
    assert turn.content == "whole"
    assert len(asked.restarts) == 1 and "reset by peer" in asked.restarts[0]
    assert [e.attempt for e in asked.events if isinstance(e, RetryScheduled)] == [2]


async def test_a_stream_that_ends_without_a_reason_is_broken() -> None:
    class Ends(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'data: {"choices": [{"delta": {"content": "half"}}]}\n\n'

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Ends()))
    asked = Asked(transport, settings=Settings(max_retries=1, base_delay=0.001))
    with pytest.raises(Trouble, match="ended before"):
        await asked()
    assert len(asked.restarts) == 2


async def test_nothing_streamed_means_no_restart() -> None:
    asked = Asked(FakeModel([httpx.ConnectError("refused"), [*say("x"), *end()]]))
    await asked()
    assert asked.restarts == []
    [failed] = [e for e in asked.events if isinstance(e, AttemptFailed)]
    assert (failed.name, failed.attempt, failed.status) == ("llm", 1, None)


@pytest.mark.parametrize("status", [500, 502, 503, 529, 408])
async def test_trouble_of_the_service_is_retried_and_seen(status: int) -> None:
    bad = httpx.Response(status, json={"error": {"message": "overloaded"}})
    asked = Asked(FakeModel([bad, bad, [*say("x"), *end()]]))
    assert (await asked()).content == "x"
    assert [(e.attempt, e.status) for e in asked.events if isinstance(e, AttemptFailed)] == [(1, status), (2, status)]


@pytest.mark.parametrize(
    ("status", "hint"),
    [(400, "did not accept"), (401, "API_KEY"), (402, "balance"), (404, "REPO_AGENT_MODEL"), (422, "parameter")],
)
async def test_refusals_are_final_in_the_servers_own_words(status: int, hint: str) -> None:
    words = {"error": {"message": "the server's words about sk-secret-key-0123"}}
    model = FakeModel([httpx.Response(status, json=words)])
    with pytest.raises(ModelRefused) as refused:
        await Asked(model)()
    text = str(refused.value)
    assert hint in text and "the server's words" in text and str(status) in text
    assert "sk-secret-key-0123" not in text
    assert len(model.bodies) == 1


async def test_a_context_overflow_says_what_to_set() -> None:
    message = "This model's maximum context length is 65536 tokens."
    with pytest.raises(ModelRefused, match="REPO_AGENT_CONTEXT_TOKENS"):
        await Asked(FakeModel([httpx.Response(400, json={"error": {"message": message}})]))()


async def test_a_rate_limit_waits_and_spends_no_retry() -> None:
    slow = httpx.Response(429, headers={"retry-after": "0"}, json={"error": {"message": "slow down"}})
    asked = Asked(FakeModel([slow, slow, [*say("x"), *end()]]), settings=Settings(max_retries=0))
    assert (await asked()).content == "x"
    assert not [e for e in asked.events if isinstance(e, (AttemptFailed, RetryScheduled))]


async def test_a_limit_too_far_away_says_when_it_ends() -> None:
    slow = httpx.Response(429, headers={"retry-after": "3600"}, json={"error": {"message": "slow down"}})
    asked = Asked(FakeModel([slow]))
    with pytest.raises(LimitTooFar, match="60 min"):
        await asked()
    assert not [e for e in asked.events if isinstance(e, RateLimitWait)]


async def test_a_spent_quota_is_no_rate_limit() -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with pytest.raises(ModelRefused, match="exceeded your current quota"):
        await Asked(FakeModel([httpx.Response(429, json=body)]))()


async def test_an_error_object_in_a_stream_is_trouble_or_refusal_by_its_code() -> None:
    trouble = [*say("x"), {"error": {"message": "engine died", "code": 500}}]
    refusal = [{"error": {"message": "bad parameter", "code": 400}}]
    asked = Asked(FakeModel([trouble, refusal]))
    with pytest.raises(ModelRefused, match="bad parameter"):
        await asked()
    assert len(asked.restarts) == 1 and "engine died" in asked.restarts[0]


async def test_five_failures_open_the_breaker_and_end_the_retries() -> None:
    model = FakeModel(lambda body: httpx.Response(503, json={"error": {"message": "down"}}))
    asked = Asked(model, settings=Settings(max_retries=9, base_delay=0.001, max_delay=0.001))
    with pytest.raises(Trouble):
        await asked()
    assert len(model.bodies) == 5
    with pytest.raises(BreakerOpen):
        await asked()
    assert len(model.bodies) == 5


class Drip(httpx.AsyncByteStream):
    """Sends one thing again and again, then perhaps another, then waits for ever."""

    def __init__(self, dripping: bytes, times: int, then: bytes = b"") -> None:
        self.dripping, self.times, self.then = dripping, times, then

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(self.times):
            await asyncio.sleep(0.01)
            yield self.dripping
        if self.then:
            yield self.then
        await asyncio.Event().wait()


def dripping(*args: Any) -> httpx.MockTransport:
    return httpx.MockTransport(lambda request: httpx.Response(200, stream=Drip(*args)))


DATA = b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'


async def test_keep_alives_alone_are_tolerated_for_the_queue_time_only() -> None:
    asked = Asked(dripping(b": keep-alive\n\n", 1000), Settings(max_retries=0), stall=0.05, queue=0.15)
    with pytest.raises(Trouble, match="did not begin to answer"):
        await asked()


async def test_silence_before_any_byte_ends_after_the_stall_time() -> None:
    asked = Asked(dripping(b"", 0), Settings(max_retries=0), stall=0.05, queue=60)
    with pytest.raises(Trouble, match="did not begin to answer"):
        await asked()


async def test_keep_alives_do_not_count_once_payload_has_begun() -> None:
    class Stalls(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield DATA
            while True:
                await asyncio.sleep(0.01)
                yield b": keep-alive\n\n"

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Stalls()))
    asked = Asked(transport, Settings(max_retries=0), stall=0.05, queue=60)
    with pytest.raises(Trouble, match="sent nothing"):
        await asked()
    assert len(asked.restarts) == 1


async def test_keep_alives_before_the_payload_do_no_harm() -> None:
    finish = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\r\n\r\ndata: [DONE]\r\n\r\n'
    asked = Asked(dripping(b": keep-alive\n\n\n", 5, DATA + finish), Settings(max_retries=0), stall=0.5)
    assert (await asked()).content == "x"


async def test_line_separators_within_json_do_not_split_it() -> None:
    raw = 'data: {"choices": [{"delta": {"content": "a\u2028b\x85c"}, "finish_reason": "stop"}]}\n\n'.encode()
    asked = Asked(FakeModel([[raw[:40], raw[40:]]]))
    assert (await asked()).content == "a\u2028b\x85c"


async def test_a_server_that_does_not_stream_is_understood() -> None:
    message = {"role": "assistant", "content": "whole", "tool_calls": None}
    reply = httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (await Asked(FakeModel([reply]))()).content == "whole"


async def test_a_server_that_knows_no_stream_options_is_asked_without() -> None:
    refused = httpx.Response(400, json={"error": {"message": "Unrecognized request argument: stream_options"}})
    model = FakeModel([refused, [*say("x"), *end()]])
    assert (await Asked(model)()).content == "x"
    assert "stream_options" in model.bodies[0] and "stream_options" not in model.bodies[1]


async def test_nothing_that_is_no_json_passes() -> None:
    asked = Asked(FakeModel([[b"data: <html>\n\n"], [*say("x"), *end()]]))
    assert (await asked()).content == "x"
    assert any("no JSON" in e.reason for e in asked.events if isinstance(e, AttemptFailed))


@pytest.mark.parametrize("deployment", [{}, {"azure_deployment": "own"}])
async def test_azure_finds_the_model_by_the_address(deployment: dict[str, str]) -> None:
    paths: list[str] = []
    model = FakeModel([[*say("x"), *end()]])

    async def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.path)
        return await model.handle_async_request(request)

    http: Any = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    azure: Any = {"azure_endpoint": "https://a.invalid", "api_version": "1", "api_key": "k", "http_client": http}
    asked = Asked(model)
    asked.model = LanguageModel(
        openai.AsyncAzureOpenAI(**azure, **deployment),
        asked.model.options,
        Guards(FAST, SystemClock()).model_pipeline("x"),
        SystemClock(),
        Redactor([]),
    )
    assert (await asked()).content == "x"
    assert paths == [f"/openai/deployments/{deployment.get('azure_deployment', 'fake')}/chat/completions"]

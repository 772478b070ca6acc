"""The built-in survey as a model: chat completions answered by rule, behind the client that real models are asked with.

It keeps nothing between requests: every answer follows from the messages of its request (and from today's date).
The wire is OpenAI's: server-sent events of `chat.completion.chunk`, with `reasoning_content` as DeepSeek has it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.transports.survey.history import CALL_PREFIX, History, read_history
from tui_agent.transports.survey.phrases import Phrases, choose
from tui_agent.transports.survey.reading import compared
from tui_agent.transports.survey.rules import Plan, Wish, plan
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, text_of
from tui_agent.transports.survey.writer import report

MODEL = "survey"
_PIECE = 400  # characters of a delta
_PACED_PIECE = 48  # … where someone watches
_SIGN_OF_LIFE = 5.0  # seconds between empty deltas while the survey waits, so that nobody takes it for stalled
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer: why, and either calls (after `wait` seconds) or the report."""

    number: int
    reasoning: str
    calls: tuple[Json, ...] = ()
    content: str = ""
    wait: float = 0.0

    @property
    def finish_reason(self) -> str:
        """What the last delta says."""
        return "tool_calls" if self.calls else "stop"


def decide(messages: Sequence[Any], tools: Sequence[Any], now: float) -> Turn:
    """The next turn of the survey.

    Args:
        messages: the chat so far.
        tools: the schemas that the request offers; none asks for the report.
        now: seconds since the epoch.
    """
    history = read_history([dict_of(message) for message in messages])
    phrases, _ = choose(history.request)
    offered = {text_of(dict_of(dict_of(tool).get("function")).get("name")) for tool in tools}
    number = history.turn + 1
    if history.request.figures:
        return Turn(number, phrases.say("because_compared"), content=compared(history.request.figures, phrases))
    if not offered:
        return Turn(number, phrases.say("because_no_tools"), content=report(history, now, finished=False))
    coming = plan(history, offered)
    if not coming.calls:
        finished = coming.rule == "write"
        return Turn(number, _reasoning(coming, phrases), content=report(history, now, finished=finished))
    calls = tuple(_call(wish, number, index, history) for index, wish in enumerate(coming.calls, 1))
    return Turn(number, _reasoning(coming, phrases), calls, wait=coming.wait)


def _reasoning(coming: Plan, phrases: Phrases) -> str:
    """Which rule fires and why, in a sentence or two."""
    fresh, again = coming.calls[coming.again :], coming.calls[: coming.again]
    tools = phrases.codes(dict.fromkeys(wish.name for wish in coming.calls))
    seconds = phrases.count(round(coming.wait), "second")
    text = phrases.say(f"because_{coming.rule}", calls=_told(fresh or again, phrases), tools=tools, seconds=seconds)
    if fresh and again:
        text += phrases.say("also_again", calls=_told(again, phrases))
    return text


def _told(wishes: Sequence[Wish], phrases: Phrases) -> str:
    """Calls in short: the first of them by what they ask, the rest counted."""
    targets = [str(wish.arguments.get("path") or wish.arguments.get("pattern") or wish.name) for wish in wishes]
    return phrases.codes(Counter(targets), 6)


def _call(wish: Wish, turn: int, index: int, history: History) -> Json:
    request = history.request
    arguments = {"owner": request.owner, "repo": request.name, **wish.arguments}
    return {
        "id": f"{CALL_PREFIX}{turn}_{index}",
        "type": "function",
        "function": {"name": wish.name, "arguments": json.dumps(arguments, ensure_ascii=False)},
    }


class SurveyTransport(httpx.AsyncBaseTransport):
    """Answers `POST …/chat/completions` and `GET …/models` by rule; never touches a network.

    Args:
        clock: tells today, and paces the stream; the machine's own where None.
        pace: seconds between two pieces of a stream, for someone who watches.
    """

    def __init__(self, clock: Clock | None = None, pace: float = 0.0) -> None:
        self._clock = clock or SystemClock()
        self._pace = pace

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """One request of a chat client."""
        path = request.url.path.rstrip("/")
        if path.endswith("/chat/completions"):
            if request.method != "POST":
                return _error(405, "Chat completions are asked for with POST.")
            return await self._complete(await request.aread())
        if request.method == "GET" and path.endswith("/models"):
            return httpx.Response(200, json={"object": "list", "data": [_model()]})
        if request.method == "GET" and path.endswith(f"/models/{MODEL}"):
            return httpx.Response(200, json=_model())
        return _error(404, "The built-in survey answers chat/completions and models only.")

    async def _complete(self, body: bytes) -> httpx.Response:
        try:
            asked = json.loads(body)
        except (ValueError, RecursionError):
            return _error(400, "The body is not JSON.")
        if not isinstance(asked, dict) or not isinstance(asked.get("messages"), list):
            return _error(400, "The body needs a list of messages.")
        now = self._clock.time()
        # Parsing manifests takes CPU that the event loop should not miss.
        turn = await asyncio.to_thread(decide, asked["messages"], list_of(asked.get("tools")), now)
        if asked.get("stream") is not True:
            if turn.wait:
                await self._clock.sleep(turn.wait)
            return httpx.Response(200, json=_whole(turn, int(now)))
        stream = _Stream(turn, int(now), self._clock, self._pace)
        return httpx.Response(200, headers={"content-type": "text/event-stream; charset=utf-8"}, stream=stream)


class _Stream(httpx.AsyncByteStream):
    """A turn as server-sent events."""

    def __init__(self, turn: Turn, created: int, clock: Clock, pace: float) -> None:
        self._turn, self._created, self._clock, self._pace = turn, created, clock, pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        turn, wait = self._turn, self._turn.wait
        for number, chunk in enumerate(_chunks(turn, self._created, _PACED_PIECE if self._pace else _PIECE)):
            if wait and "tool_calls" in (chunk["choices"] or [{"delta": {}}])[0]["delta"]:
                while wait > 0:
                    await self._clock.sleep(min(wait, _SIGN_OF_LIFE))
                    wait -= _SIGN_OF_LIFE
                    yield _sse(_chunk(turn, self._created, {}))
                wait = 0.0
            elif self._pace and number:
                await self._clock.sleep(self._pace)
            yield _sse(chunk)
        yield b"data: [DONE]\n\n"


def _sse(chunk: Json) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _chunks(turn: Turn, created: int, piece: int) -> Iterator[Json]:
    """The chunks of a turn: role, reasoning, calls or content, finish reason, usage."""
    yield _chunk(turn, created, {"role": "assistant", "content": ""})
    for text in pieces(turn.reasoning, piece):
        yield _chunk(turn, created, {"reasoning_content": text})
    for index, call in enumerate(turn.calls):
        function = call["function"]
        opening = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield _chunk(turn, created, {"tool_calls": [opening]})
        rest = {"index": index, "function": {"arguments": function["arguments"]}}
        yield _chunk(turn, created, {"tool_calls": [rest]})
    for text in pieces(turn.content, piece):
        yield _chunk(turn, created, {"content": text})
    yield _chunk(turn, created, {}, turn.finish_reason)
    yield {**_frame(turn, created, "chat.completion.chunk"), "choices": [], "usage": _USAGE}


def pieces(text: str, size: int) -> Iterator[str]:
    """A text in pieces of about `size` characters, cut behind blanks where there are any."""
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            blank = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
            end = blank + 1 if blank > start else end
        yield text[start:end]
        start = end


def _frame(turn: Turn, created: int, kind: str) -> Json:
    return {"id": f"chatcmpl-survey-{turn.number}", "object": kind, "created": created, "model": MODEL}


def _chunk(turn: Turn, created: int, delta: Json, finish_reason: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {**_frame(turn, created, "chat.completion.chunk"), "choices": [choice]}


def _whole(turn: Turn, created: int) -> Json:
    """The turn as one object, for a client that does not stream."""
    message: Json = {"role": "assistant", "content": turn.content or None, "reasoning_content": turn.reasoning}
    if turn.calls:
        message["tool_calls"] = list(turn.calls)
    choice = {"index": 0, "message": message, "finish_reason": turn.finish_reason}
    return {**_frame(turn, created, "chat.completion"), "choices": [choice], "usage": _USAGE}


def _model() -> Json:
    return {"id": MODEL, "object": "model", "created": 0, "owned_by": "tui_agent"}


def _error(status: int, message: str) -> httpx.Response:
    return httpx.Response(status, json={"error": {"message": message, "type": "invalid_request_error", "code": None}})

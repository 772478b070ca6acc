"""Chat completions on loopback: a script of turns, streamed, and a client that is held to the protocol."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from tests.servers.http import Answer, Cut, HttpServer, Request
from tests.servers.turns import End, Json, Pause, Rendered, Turn, failure, render


class ModelServer(HttpServer):
    """An OpenAI-compatible model that does what its script says.

    A history that DeepSeek or OpenAI would refuse is refused here too (400): calls without their answers, answers
    without a call, empty assistant messages, and reasoning that does not come back.

    Args:
        script: a turn for each request, in order (one more is an error 400), or a function of the request's body.
        by_function: gives every turn, in the script's place.
        key: the one that is valid; None takes any, but there has to be one.
        models: what `GET /models` lists and `model` may be; the first one answers.
        takes_reasoning: False refuses `reasoning_content` where this server sent none, as strict servers do.
    """

    def __init__(
        self,
        *script: Turn | Callable[[Json], Turn],
        by_function: Callable[[Json], Turn] | None = None,
        key: str | None = None,
        models: Sequence[str] = ("deepseek-flash", "deepseek-v4-flash", "deepseek-v4-pro"),
        takes_reasoning: bool = True,
    ) -> None:
        super().__init__()
        self.bodies: list[Json] = []
        """The JSON of each request for a completion, refused ones included."""
        self.turns = 0
        self._script = list(script)
        self._by_function = by_function
        self._key = key
        self._models = list(models)
        self._takes_reasoning = takes_reasoning
        self._reasoning: dict[str, str] = {}

    async def answer(self, request: Request) -> Answer:
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or not key or (self._key is not None and key != self._key):
            return failure(401, "Authentication Fails, Your api key is invalid", type="authentication_error")
        if request.method == "GET" and request.path.endswith("/models"):
            data = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self._models]
            return Answer(200, {}, json.dumps({"object": "list", "data": data}).encode())
        if request.method != "POST" or not request.path.endswith("/chat/completions"):
            return failure(404, f"No such route: {request.method} {request.path}", type="invalid_request_error")
        return self._completion(request)

    def _completion(self, request: Request) -> Answer:
        try:
            body: Json = request.json()
        except ValueError:
            return failure(400, "The body is no JSON.", type="invalid_request_error")
        self.bodies.append(body)
        wrong = self._what_is_wrong(body)
        if wrong is not None:
            self.errors.append(wrong)
            return failure(400, wrong, type="invalid_request_error", code="invalid_request_error")
        turn = self._next(body)
        self.turns += 1
        if isinstance(turn, Answer):
            return turn
        rendered = render(turn, body, self.turns)
        if rendered.reasoning is not None:
            self._reasoning |= dict.fromkeys(rendered.calls, rendered.reasoning)
        headers = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
        return Answer(200, headers, lambda: self._stream(rendered, str(body["model"])))

    def _next(self, body: Json) -> Turn:
        if self._by_function is not None:
            return self._by_function(body)
        if not self._script:
            self.errors.append("the script is over")
            return failure(400, "The script of the test's model is over.", type="invalid_request_error")
        step = self._script.pop(0)
        return step(body) if callable(step) else step

    async def _stream(self, rendered: Rendered, model: str) -> AsyncIterator[bytes]:
        base = {"id": f"chatcmpl-{self.turns}", "object": "chat.completion.chunk", "created": 1_700_000_000}
        for piece in rendered.pieces:
            if isinstance(piece, bytes):
                yield piece
            elif isinstance(piece, Pause):
                await (piece.gate.wait() if piece.gate is not None else asyncio.sleep(piece.seconds))
            elif isinstance(piece, End):
                raise Cut(reset=piece.reset)
            else:
                whole = piece if "error" in piece else {**base, "model": model, **piece}
                yield b"data: " + _encoded(whole) + b"\n\n"

    def _what_is_wrong(self, body: Json) -> str | None:
        """What DeepSeek or OpenAI would answer 400 for."""
        if body.get("model") not in self._models:
            return "Model Not Exist"
        if body.get("stream") is not True:
            return "This server only streams."
        messages = body.get("messages")
        if not isinstance(messages, list) or not messages:
            return "Empty input messages"
        for tool in body.get("tools") or ():
            function = tool.get("function") or {}
            if tool.get("type") != "function" or not function.get("name") or "parameters" not in function:
                return f"Invalid tool: {tool}"
        return self._wrong_history(messages)

    def _wrong_history(self, messages: list[Any]) -> str | None:
        waiting: list[str] = []
        for message in messages:
            role = message.get("role")
            if role == "tool":
                if message.get("tool_call_id") not in waiting:
                    return "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                if not isinstance(message.get("content"), str):
                    return "A tool's content has to be a text."
                waiting.remove(message["tool_call_id"])
                continue
            if waiting:
                return (
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                    f"'tool_call_id'. (insufficient: {', '.join(waiting)})"
                )
            if role == "assistant":
                calls = message.get("tool_calls") or []
                if not calls and not message.get("content"):
                    return "Invalid assistant message: content or tool_calls must be set"
                waiting = [str(one["id"]) for one in calls]
                if len(set(waiting)) < len(waiting) or not all(waiting):
                    return f"Ids of tool calls have to be there and to differ: {waiting}"
                for one in calls:
                    if not isinstance(one["function"]["arguments"], str):
                        return "Arguments of a call have to be a text."
                    if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one["function"]["name"]):
                        return f"Invalid name of a function: {one['function']['name']!r}"
                wrong = self._wrong_reasoning(message, waiting)
                if wrong is not None:
                    return wrong
            elif role not in ("system", "user"):
                return f"Unknown role: {role}"
            elif not message.get("content"):
                return f"A message of role {role} is empty."
        return f"Tool calls without an answer: {', '.join(waiting)}" if waiting else None

    def _wrong_reasoning(self, message: Json, call_ids: list[str]) -> str | None:
        """DeepSeek's rule: what was thought before a call comes back with it, in every later request."""
        sent = next((self._reasoning[one] for one in call_ids if one in self._reasoning), None)
        given = message.get("reasoning_content")
        if sent is not None and given != sent:
            return "The `reasoning_content` in the thinking mode must be passed back to the API."
        if sent is None and "reasoning_content" in message and not self._takes_reasoning:
            return "Unknown field: reasoning_content"
        return None


def _encoded(data: Json) -> bytes:
    try:
        return json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # half a surrogate pair has no place in UTF-8
        return json.dumps(data).encode()

"""One turn of the model, streamed: the only place that speaks to the OpenAI client.

The SDK's own retries are off, so that ours are seen. Its types are stepped round within its public
interface: `post` with `content` sends a body whose messages were encoded once, when they were made,
and the raw response is parsed line by line, since the SDK's conversions (and encoding the history
anew) cost more CPU with every turn and every chunk.

Sources: DeepSeek's API documentation (errors, keep-alives, thinking mode); the SSE part of HTML;
openai-python's README ("Undocumented endpoints") for `post`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import httpx2
import openai

from tui_agent.agent.dialects import ModelTurn, Piece, PieceKind, TurnAssembler
from tui_agent.agent.sse import DONE, DataLines, Pace
from tui_agent.events import JsonObject
from tui_agent.github.limits import retry_after
from tui_agent.redact import Redactor, StreamRedactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Answered, RateLimited, Trouble
from tui_agent.resilience.pipeline import Pipeline
from tui_agent.safe_json import dumps
from tui_agent.safe_text import one_line
from tui_agent.tools.toolbox import ToolCall

_BROKEN = (httpx.HTTPError, httpx.StreamError, httpx2.HTTPError, httpx2.StreamError, anyio.EndOfStream, OSError)
_LAST_BYTES = 1.0
"""Seconds that the end of the body may take after the model has said that it is done."""
_NOTICEABLE = 0.02
"""Seconds by which a stall may be found too early."""
MAX_TURN = 16 * 1024 * 1024
"""Characters of one answer, and bytes of one line of its stream."""
_parse = json.JSONDecoder().raw_decode
"""`json.loads` without its search for blanks, which the data of a line has neither before nor behind it."""
_KINDS: tuple[PieceKind, ...] = ("reasoning", "content")
_MOVED = "The model's server redirects to another address, which gets no key; set REPO_AGENT_BASE_URL to it"
_MEANINGS = {
    **dict.fromkeys((301, 302, 303, 307, 308), _MOVED),
    400: "The model's server did not accept the request",
    401: "The model's server refused the key; check API_KEY (and REPO_AGENT_BASE_URL)",
    402: "The account at the model's server has no balance left; top it up",
    403: "The model's server refused access for this key",
    404: "The model's server does not know this model or address; check REPO_AGENT_MODEL and REPO_AGENT_BASE_URL",
    413: "The request is too large for the model's server",
    422: "The model's server did not accept a parameter of the request",
}
_PASSING = (408, 425)
"""Refusals that pass by themselves."""
_CODES = {
    "invalid_request_error": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "permission_error": 403,
    "model_not_found": 404,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
}
"""What an error object inside a stream may be called, where it has no status (OpenAI's and its imitators' words)."""
_OVERFLOW = (
    "context length",
    "context_length",
    "maximum context",
    "context window",
    "too many tokens",
    "prompt is too long",
)


_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)


class ModelRefused(Answered):
    """The model's server said no, and asking again would change nothing; the text says what to do."""


@dataclass(frozen=True)
class ModelOptions:
    """How a model is asked.

    Args:
        name: as the server knows it.
        stall: seconds without payload once it has begun (or without any byte before).
        queue: seconds that keep-alives alone are tolerated.
        quirks: what its server wants otherwise than most (`settings_profiles.QUIRKS`).
    """

    name: str
    stall: float = 120.0
    queue: float = 600.0
    quirks: frozenset[str] = frozenset()


class LanguageModel:
    """Asks a model through the layers.

    Args:
        client: the caller's client; only used, never closed.
        options: which model, how long to wait.
        pipeline: the model's retry, breaker and gate.
        clock: tells the epoch for limits.
        redact: takes secrets out of what the server says.
    """

    def __init__(
        self, client: openai.AsyncOpenAI, options: ModelOptions, pipeline: Pipeline, clock: Clock, redact: Redactor
    ) -> None:
        self.options = options
        self._client = client.with_options(max_retries=0)
        self._pipeline = pipeline
        self._clock = clock
        self._redact = redact
        self._wants_usage = "no_usage" not in options.quirks
        self._schemas: tuple[list[JsonObject], bytes] = [], b"[]"

    async def ask(
        self,
        call: Call,
        messages: Sequence[bytes],
        tools: list[JsonObject] | None,
        on_piece: Piece,
        on_restart: Callable[[str], None],
        max_tokens: int | None = None,
    ) -> ModelTurn:
        """One turn, after as many attempts as it takes and is allowed.

        Args:
            call: under whose name (`llm`) it runs.
            messages: the whole history, each message as JSON.
            tools: their schemas; None asks for text alone.
            on_piece: is handed text as it streams.
            on_restart: is called with a reason when a broken stream's pieces are void.
            max_tokens: bound on the answer; None for the server's own.

        Raises:
            ModelRefused: the server said no.
            Trouble, Unavailable: it failed or was not asked.
        """
        history = b"[%b]" % b",".join(messages)
        if tools:
            history += b',"tool_choice":"auto","tools":%b' % self._encoded(tools)
        fields: JsonObject = {"model": self.options.name, "stream": True}
        if max_tokens is not None:
            newer = "max_completion_tokens" in self.options.quirks
            fields["max_completion_tokens" if newer else "max_tokens"] = max_tokens
        names = frozenset(tool["function"]["name"] for tool in tools or ())

        async def attempt() -> ModelTurn:
            streamed = False
            # The model may say what its server was sent; a secret can come cut into any pieces.
            clean = {kind: StreamRedactor(self._redact) for kind in _KINDS}

            def piece(kind: PieceKind, text: str) -> None:
                nonlocal streamed
                text = clean[kind].feed(text)
                if text:
                    streamed = True
                    on_piece(kind, text)

            assembler = TurnAssembler(piece, names)
            try:
                turn = await self._stream(history, fields, assembler)
            except (Trouble, RateLimited) as error:
                if streamed:
                    on_restart(str(error))
                raise
            for kind in _KINDS:
                if rest := clean[kind].end():
                    on_piece(kind, rest)
            return self._without_secrets(turn)

        return await self._pipeline.run(call, attempt)

    def _encoded(self, tools: list[JsonObject]) -> bytes:
        """Schemas as JSON; they are the same from turn to turn."""
        if self._schemas[0] is not tools:
            self._schemas = tools, json.dumps(tools).encode()
        return self._schemas[1]

    def _without_secrets(self, turn: ModelTurn) -> ModelTurn:
        redact = self._redact
        echo = turn.echo_reasoning and "no_reasoning_echo" not in self.options.quirks
        calls = [
            ToolCall(redact(call.call_id), redact(call.tool), redact.deep(call.arguments), redact(call.problem))
            for call in turn.calls
        ]
        content, reasoning = redact(turn.content), redact(turn.reasoning)
        return replace(turn, content=content, reasoning=reasoning, echo_reasoning=echo, calls=calls)

    async def _stream(self, history: bytes, fields: JsonObject, assembler: TurnAssembler) -> ModelTurn:
        while True:
            extra = {"stream_options": {"include_usage": True}} if self._wants_usage else {}
            # messages and schemas are JSON already, encoded when they were made
            body = b'{"messages":%b,%b' % (history, json.dumps(fields | extra).encode()[1:])
            try:
                return await self._once(body, assembler)
            except ModelRefused as refusal:
                # Not every server knows stream_options; without it there is no usage, and that is all.
                if not (self._wants_usage and "stream_options" in str(refusal)):
                    raise
                self._wants_usage = False

    async def _post(self, body: bytes) -> openai.AsyncStream[object]:
        """The answer's stream; only its raw response is read."""
        client, path = self._client, "/chat/completions"
        if isinstance(client, openai.AsyncAzureOpenAI) and "/deployments/" not in str(client.base_url):
            # Azure finds the model by the address; the SDK looks for its name in a body that is no bytes.
            path = f"/deployments/{quote(self.options.name, safe='')}{path}"
        return await client.post(
            path,
            cast_to=object,
            content=body,
            options={"timeout": None, "security": {"bearer_auth": True}},
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )

    async def _once(self, body: bytes, assembler: TurnAssembler) -> ModelTurn:
        loop = asyncio.get_running_loop()
        started = loop.time()
        stall, queue = self.options.stall, self.options.queue
        payload = done = False
        moved = 0.0
        try:
            async with asyncio.timeout_at(started + stall) as deadline, await self._post(body) as stream:
                response = stream.response
                if "application/json" in response.headers.get("content-type", ""):
                    self._take((await _whole(response.aiter_bytes())).strip(), assembler)
                    turn = assembler.finish()
                    if not (assembler.finished or turn.content or turn.calls):
                        raise Trouble("the model's reply has not the form of a chat completion")
                    return turn
                lines, pace = DataLines(), Pace(loop)
                async for piece in response.aiter_bytes():
                    data = lines.feed(piece)
                    if lines.waiting > MAX_TURN or assembler.size > MAX_TURN:
                        raise _too_large()
                    done = done or await self._take_all(data, assembler, pace)
                    payload = payload or bool(data)
                    now = loop.time()
                    if done:
                        # Only the end of the body follows; once it is read, the connection serves the next turn.
                        deadline.reschedule(now + _LAST_BYTES)
                    elif data and now > moved + _NOTICEABLE:
                        # not with each piece: it makes the event loop a new timer
                        moved = now
                        deadline.reschedule(now + stall)
                    elif not payload:
                        deadline.reschedule(min(now + stall, started + queue))
                done = await self._take_all(lines.end(), assembler, pace) or done
        except TimeoutError as error:
            if done or assembler.finished:
                return assembler.finish()
            what = "sent nothing" if payload else "did not begin to answer"
            seconds = stall if payload else loop.time() - started
            raise Trouble(f"the model {what} for {seconds:{'.0f' if seconds >= 10 else '.2g'}} s") from error
        except openai.APIStatusError as error:
            raise self._status(error) from error
        except openai.APITimeoutError as error:
            raise Trouble("the model's server did not answer in time") from error
        except openai.APIConnectionError as error:
            cause = error.__cause__ or error
            raise Trouble(
                f"no connection to the model's server: {self._say(str(cause) or type(cause).__name__)}"
            ) from error
        except _BROKEN as error:
            if done or assembler.finished:
                return assembler.finish()
            raise Trouble(f"the stream broke: {self._say(str(error) or type(error).__name__)}") from error
        if not (done or assembler.finished):
            raise Trouble("the stream ended before the model had finished")
        return assembler.finish()

    async def _take_all(self, data: list[bytes], assembler: TurnAssembler, pace: Pace) -> bool:
        """Take the data of some lines in; whether the model has said that it is done."""
        for one in data:
            if one == DONE:
                return True
            self._take(one, assembler)
            if pace.is_due():
                await pace.let_others()
        return False

    def _take(self, data: bytes, assembler: TurnAssembler) -> None:
        try:
            text = data.decode()
            chunk, end = _parse(text)
            if end < len(text):
                raise ValueError("more follows")
        except (ValueError, RecursionError) as error:
            raise Trouble("the stream holds something that is no JSON") from error
        if not isinstance(chunk, dict):
            return
        problem = chunk.get("error")
        if problem:
            raise self._inline(problem)
        assembler.feed(chunk)

    def _inline(self, problem: Any) -> Exception:
        """An error object inside a stream that began with 200."""
        message = self._say(_words(problem)) or "no details"
        status = _inline_status(problem) if isinstance(problem, dict) else None
        if status == 429:
            return RateLimited("secondary", None, message)
        if status is None and _is_overflow(message):
            status = 400
        if status is not None and 400 <= status < 500 and status not in _PASSING:
            return ModelRefused(self._meaning(status, message))
        return Trouble(f"the model's server reports an error: {message}", status)

    def _status(self, error: openai.APIStatusError) -> Exception:
        status, headers = error.status_code, error.response.headers
        details = error.body if isinstance(error.body, dict) else {}
        message = self._say(_words(error.body))
        if status == 429 and "insufficient_quota" not in (details.get("code"), details.get("type")):
            return RateLimited("secondary", retry_after(headers.get("retry-after"), self._clock.time()), message)
        if status >= 500 or status in _PASSING:
            return Trouble(_code(status, message), status)
        return ModelRefused(self._meaning(status, message))

    def _meaning(self, status: int, message: str) -> str:
        if _is_overflow(message):
            return (
                f"The conversation is longer than the model's context window; set REPO_AGENT_CONTEXT_TOKENS to its "
                f"size ({_code(status, message)})."
            )
        return f"{_MEANINGS.get(status, 'The model’s server refused the request')} ({_code(status, message)})."

    def _say(self, text: str) -> str:
        return one_line(self._redact(text), 300)


def _code(status: int, message: str) -> str:
    return f"HTTP {status}: {message}" if message else f"HTTP {status}"


def _words(said: Any) -> str:
    """The server's own words in the body of a refusal or an error object, wherever it has put them."""
    if isinstance(said, dict):
        said = next((said[name] for name in ("message", "detail", "error", "msg") if said.get(name)), said)
    if not isinstance(said, str):
        return dumps(said) if said else ""
    if not said.lstrip().startswith("<"):
        return said
    # a proxy's page
    title = _TITLE.search(said[:10_000])
    return title[1] if title else ""


async def _whole(pieces: AsyncIterator[bytes]) -> bytes:
    """A body in one piece, within the bound."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_TURN:
            raise _too_large()
    return bytes(body)


def _too_large() -> Trouble:
    return Trouble(f"the model's answer is larger than {MAX_TURN // 2**20} MB")


def _inline_status(details: JsonObject) -> int | None:
    """The status that an error object speaks of: as a number, or in the words of a code or a type."""
    for name in ("code", "status", "type"):
        value = details.get(name)
        if isinstance(value, int | str) and re.fullmatch(r"[1-5][0-9]{2}", str(value), re.ASCII):
            return int(value)
        if isinstance(value, str) and value in _CODES:
            return _CODES[value]
    return None


def _is_overflow(message: str) -> bool:
    return any(sign in message.lower() for sign in _OVERFLOW)

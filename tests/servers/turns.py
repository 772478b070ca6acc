"""The words of a model's script: what one turn says, thinks and calls, piece by piece as it streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.servers.http import Answer, Gate

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call; streamed as OpenAI does it: first id and name, then the arguments in pieces."""

    name: str
    arguments: Json | str
    id: str | None = None
    by: int = 12

    @property
    def text(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Pause:
    """The stream goes on when the gate opens, or after some seconds."""

    gate: Gate | None = None
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class End:
    """The connection ends here: closed, or reset."""

    reset: bool = False


Piece = Json | bytes | Call | Pause | End
"""A dict is one chunk's JSON, bytes go out as they are."""
Turn = Sequence["Piece | Sequence[Piece]"] | Answer


def chunk(delta: Json, finish: str | None = None) -> Json:
    """One chunk with one choice."""
    return {"choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]}


def _pieces(text: str, by: int | None) -> Iterable[str]:
    if by is None:
        return [text]
    return [text[start : start + by] for start in range(0, len(text), by)]


def say(text: str, by: int | None = None) -> list[Piece]:
    """Content: beside calls a thought, else the report. `by`: characters a chunk."""
    return [chunk({"content": piece}) for piece in _pieces(text, by)]


def think(text: str, by: int | None = None) -> list[Piece]:
    """Reasoning, in DeepSeek's field."""
    return [chunk({"content": None, "reasoning_content": piece}) for piece in _pieces(text, by)]


def call(name: str, arguments: Json | str | None = None, *, id: str | None = None, by: int = 12) -> Call:  # noqa: A002
    """A tool call; a text as arguments is sent as it is, however broken."""
    return Call(name, {} if arguments is None else arguments, id, by)


def finish(reason: str) -> Json:
    """Why the turn ends; without it "tool_calls" or "stop" follows by itself."""
    return chunk({}, reason)


def usage(prompt: int = 100, completion: int = 20, *, cached: int = 0, reasoning: int = 0) -> Json:
    """The last chunk, without a choice, in DeepSeek's fields and OpenAI's."""
    return {
        "choices": [],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_cache_hit_tokens": cached,
            "prompt_cache_miss_tokens": prompt - cached,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": reasoning},
        },
    }


def keep_alive(times: int = 1) -> bytes:
    """What a busy server sends while a request waits in its queue."""
    return b": keep-alive\n\n" * times


def done() -> bytes:
    """The end of the stream; without it, it follows by itself."""
    return b"data: [DONE]\n\n"


def stall() -> Pause:
    """Nothing more, and the connection stays open."""
    return Pause(Gate())


def pause(until: Gate | float) -> Pause:
    """The stream goes on when a gate opens, or after some seconds."""
    return Pause(until) if isinstance(until, Gate) else Pause(None, until)


def cut() -> End:
    """The connection closes in the middle of the stream."""
    return End()


def cut_by_reset() -> End:
    """The connection is reset in the middle of the stream."""
    return End(reset=True)


def error_in_stream(message: str = "Internal error", code: Any = 500) -> Json:
    """An error object inside a stream that began with 200."""
    return {"error": {"message": message, "type": "server_error", "param": None, "code": code}}


def failure(status: int, message: str = "", *, type: str = "api_error", code: Any = None, **headers: str) -> Answer:  # noqa: A002
    """A refusal instead of a stream; `retry_after="5"` becomes a header of that name."""
    error = {"message": message or f"Status {status}", "type": type, "param": None, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, json.dumps({"error": error}).encode())


@dataclass(slots=True)
class Rendered:
    """A turn as it goes out, and what it said, so that the server can hold the client to it."""

    pieces: list[Json | bytes | Pause | End] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    reasoning: str | None = None


def render(turn: Sequence[Piece | Sequence[Piece]], body: Json, number: int) -> Rendered:
    """The pieces of a turn on the wire: calls spelled out, the usual end added where the turn has none of its own."""
    flat: list[Piece] = []
    for piece in turn:
        flat += piece if isinstance(piece, list | tuple) else [piece]  # type: ignore[list-item]
    # Keep-alives come while a request waits in the queue: before the first chunk, which only tells the role.
    first = next((n for n, piece in enumerate(flat) if not isinstance(piece, bytes | Pause)), 0)
    flat.insert(first, chunk({"role": "assistant", "content": ""}))
    rendered = Rendered()
    is_finished = is_done = has_usage = is_broken = False
    for piece in flat:
        if isinstance(piece, Call):
            index = len(rendered.calls)
            rendered.calls.append(piece.id or f"call_{number}_{index}")
            rendered.pieces += _spelled(piece, index, rendered.calls[-1])
            continue
        rendered.pieces.append(piece)
        if isinstance(piece, dict):
            has_usage = has_usage or "usage" in piece
            is_broken = is_broken or "error" in piece
            for choice in piece.get("choices", ()):
                is_finished = is_finished or choice.get("finish_reason") is not None
                _note(rendered, choice["delta"])
        elif isinstance(piece, bytes):
            is_done = is_done or b"[DONE]" in piece
        elif isinstance(piece, End):
            is_broken = True
    if is_broken or is_done:
        return rendered
    if not is_finished:
        last = rendered.pieces[-1]
        at = len(rendered.pieces) - (isinstance(last, dict) and "usage" in last)
        rendered.pieces.insert(at, finish("tool_calls" if rendered.calls else "stop"))
    if not has_usage and (body.get("stream_options") or {}).get("include_usage"):
        sent = sum(len(json.dumps(piece)) for piece in flat if isinstance(piece, dict))
        rendered.pieces.append(usage(len(json.dumps(body["messages"])) // 4, sent // 4 + 1))
    rendered.pieces.append(done())
    return rendered


def _note(rendered: Rendered, delta: Json) -> None:
    if "reasoning_content" in delta:
        rendered.reasoning = (rendered.reasoning or "") + (delta["reasoning_content"] or "")
    for tool_call in delta.get("tool_calls") or ():
        if tool_call.get("id") and tool_call["id"] not in rendered.calls:
            rendered.calls.append(tool_call["id"])


def _spelled(piece: Call, index: int, call_id: str) -> list[Json]:
    head = {"index": index, "id": call_id, "type": "function", "function": {"name": piece.name, "arguments": ""}}
    return [
        chunk({"tool_calls": [head]}),
        *(
            chunk({"tool_calls": [{"index": index, "function": {"arguments": part}}]})
            for part in _pieces(piece.text, piece.by)
        ),
    ]

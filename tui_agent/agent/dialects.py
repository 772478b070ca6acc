"""Puts a model's turn together from its streamed pieces, in whatever dialect they come.

Servers that call themselves compatible differ most in how they stream tool calls: without an
index, with index 0 for all, without ids, a whole call in one piece, arguments as an object. One
rule serves them all: a new id begins a new call; without one, a new name does; anything else goes
on where the index points, or where the last call stands.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from tui_agent.agent.text_calls import find_calls
from tui_agent.events import JsonObject
from tui_agent.tools.toolbox import ToolCall

PieceKind = Literal["content", "reasoning"]
Piece = Callable[[PieceKind, str], None]
"""Is handed each piece of text as it comes."""

_OPEN, _CLOSE = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class TokenCount:
    """What the server says a turn has used."""

    prompt: int
    completion: int
    cached: int
    reasoning: int


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One whole turn of the model.

    Args:
        content: its text: beside calls a thought, else the report.
        reasoning: what it said of its reasoning; "" for nothing.
        echo_reasoning: whether the server used the field `reasoning_content`, and so wants it back.
        calls: the tool calls, in order; ids as the server gave them ("" for none).
        cut: whether the output limit ended it.
        usage: tokens, where the server told.
    """

    content: str
    reasoning: str
    echo_reasoning: bool
    calls: list[ToolCall]
    cut: bool
    usage: TokenCount | None


@dataclass(slots=True)
class _Partial:
    call_id: str
    name: str = ""
    text: list[str] = field(default_factory=list)
    whole: JsonObject | None = None

    def is_whole(self) -> bool:
        if self.whole is not None:
            return True
        try:
            return isinstance(json.loads("".join(self.text)), dict)
        except ValueError:
            return False


class TurnAssembler:
    """Takes the chunks of one streamed turn.

    Args:
        on_piece: is handed text as it comes.
        tools: names of the tools that were offered; calls written as text are looked for only among them.
    """

    def __init__(self, on_piece: Piece, tools: frozenset[str]) -> None:
        self._on_piece = on_piece
        self._tools = tools
        self._content: list[str] = []
        self._reasoning: list[str] = []
        self._echo_reasoning = False
        self._calls: list[_Partial] = []
        self._by_index: dict[int, _Partial] = {}
        self._finish: str | None = None
        self._usage: TokenCount | None = None
        # <think> in content: text that may still turn out to be a tag is held back
        self._thinking: bool | None = None
        self._held = ""

    @property
    def finished(self) -> bool:
        """Whether the server said why it stopped."""
        return self._finish is not None

    def feed(self, chunk: JsonObject) -> None:
        """Take one chunk in; a whole message (of a server that does not stream) counts as one."""
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = _usage(usage) or self._usage
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            return
        choice = choices[0]
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._delta(delta)
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])

    def _delta(self, delta: JsonObject) -> None:
        if "reasoning_content" in delta:
            self._echo_reasoning = True
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            self._reason(reasoning)
        content = delta.get("content")
        if isinstance(content, list):
            content = "".join(part.get("text") or "" for part in content if isinstance(part, dict))
        if isinstance(content, str) and content:
            self._say(content)
        for call in delta.get("tool_calls") or ():
            if isinstance(call, dict):
                self._call(call)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._call({"index": 0, "function": legacy})

    def _reason(self, text: str) -> None:
        self._reasoning.append(text)
        self._on_piece("reasoning", text)

    def _say(self, text: str) -> None:
        if self._thinking is False:
            self._content.append(text)
            self._on_piece("content", text)
            return
        text, self._held = self._held + text, ""
        if self._thinking is None:
            start = text.lstrip()
            if _OPEN.startswith(start[: len(_OPEN)]) and len(start) < len(_OPEN):
                self._held = text
                return
            self._thinking = start.startswith(_OPEN)
            text = start[len(_OPEN) :] if self._thinking else text
        if self._thinking:
            inner, close, rest = text.partition(_CLOSE)
            if not close:
                keep = _tail_of(inner, _CLOSE)
                inner, self._held = inner[: len(inner) - keep], inner[len(inner) - keep :]
            if inner:
                self._reason(inner)
            if not close:
                return
            self._thinking, text = False, rest.lstrip("\n")
        if text:
            self._content.append(text)
            self._on_piece("content", text)

    def _call(self, delta: JsonObject) -> None:
        function = delta.get("function")
        function = function if isinstance(function, dict) else {}
        name = function.get("name") or ""
        partial = self._whose(str(delta.get("id") or ""), delta.get("index"), str(name))
        partial.name = partial.name or str(name)
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            partial.whole = arguments
        elif isinstance(arguments, str):
            partial.text.append(arguments)

    def _whose(self, call_id: str, index: Any, name: str) -> _Partial:
        if call_id:
            for partial in self._calls:
                if partial.call_id == call_id:
                    return partial
            return self._begin(call_id, index)
        partial_at = self._by_index.get(index) if isinstance(index, int) else None
        current = partial_at or (self._calls[-1] if self._calls else None)
        if current is None:
            return self._begin("", index)
        unknown_index = isinstance(index, int) and partial_at is None
        if name and (unknown_index or (current.name and (name != current.name or current.is_whole()))):
            return self._begin("", index)
        return current

    def _begin(self, call_id: str, index: Any) -> _Partial:
        partial = _Partial(call_id)
        self._calls.append(partial)
        if isinstance(index, int):
            self._by_index[index] = partial
        return partial

    def finish(self) -> ModelTurn:
        """The whole turn."""
        if self._held:
            held, self._held = self._held, ""
            if self._thinking:
                self._reason(held)
            else:
                self._content.append(held)
                self._on_piece("content", held)
        content, reasoning = "".join(self._content), "".join(self._reasoning)
        if _CLOSE in content and not reasoning:
            # some chat templates open the tag themselves, so that only its end is streamed
            reasoning, _, content = content.partition(_CLOSE)
        cut = self._finish == "length"
        calls = [_finished(partial, cut) for partial in self._calls if partial.name or partial.text or partial.whole]
        if not calls and self._tools:
            content, calls = find_calls(content, self._tools)
        return ModelTurn(content.strip("\n"), reasoning, self._echo_reasoning, calls, cut, self._usage)


def _tail_of(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0


def _finished(partial: _Partial, cut: bool) -> ToolCall:
    if partial.whole is not None:
        return ToolCall(partial.call_id, partial.name, partial.whole)
    text = "".join(partial.text).strip()
    if text in ("", "null"):
        return ToolCall(partial.call_id, partial.name, {})
    try:
        arguments = json.loads(text)
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        problem = "was cut off by the output limit" if cut else f"is no valid JSON ({_short(error)})"
        return ToolCall(
            partial.call_id, partial.name, None, f"The text of the arguments {problem}; send one JSON object."
        )
    if not isinstance(arguments, dict):
        return ToolCall(partial.call_id, partial.name, None, "The arguments must be one JSON object.")
    return ToolCall(partial.call_id, partial.name, arguments)


def _short(error: Exception) -> str:
    return f"{error.msg} at character {error.pos}" if isinstance(error, json.JSONDecodeError) else "nested too deep"


def _usage(data: JsonObject) -> TokenCount | None:
    def number(value: Any) -> int:
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    prompt, completion = number(data.get("prompt_tokens")), number(data.get("completion_tokens"))
    prompt_details = data.get("prompt_tokens_details") or {}
    completion_details = data.get("completion_tokens_details") or {}
    cached = number(data.get("prompt_cache_hit_tokens")) or number(prompt_details.get("cached_tokens"))
    return TokenCount(prompt, completion, min(cached, prompt), number(completion_details.get("reasoning_tokens")))

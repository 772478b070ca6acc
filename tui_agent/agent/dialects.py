"""Puts a model's turn together from its streamed pieces, in whatever dialect they come.

Servers that call themselves compatible differ most in how they stream tool calls: without an
index, with index 0 for all, without ids, a whole call in one piece, arguments as an object. One
rule serves them all: a new id begins a new call; without one, a new name does; anything else goes
on where the index points, or where the last call stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tui_agent.agent.reasons import CONTENT_FILTER, CONTEXT_LIMIT, OUTPUT_LIMIT, Reason
from tui_agent.agent.text_calls import find_calls
from tui_agent.events import JsonObject
from tui_agent.resilience.outcome import Trouble
from tui_agent.tools.toolbox import ToolCall

PieceKind = Literal["content", "reasoning"]
Piece = Callable[[PieceKind, str], None]
"""Is handed each piece of text as it comes."""


_OPEN, _CLOSE = "<think>", "</think>"
# The closing tag on a line of its own, as chat templates leave it that open the tag themselves.
_ONLY_CLOSED = re.compile(r"\A(?P<reasoning>[^`]*?)^[ \t]*</think>[ \t]*$\n*", re.MULTILINE)
_CUT = {"length": OUTPUT_LIMIT, "model_length": CONTEXT_LIMIT, "content_filter": CONTENT_FILTER}
_BROKEN_OFF = "insufficient_system_resource"
"""DeepSeek's word for an answer that its own load has ended."""
_DEEPEST = 20
"""Levels of nesting in arguments; the tools' own are flat, and what is much deeper no JSON encoder takes."""
_LONGEST = 20_000
"""Characters of a call's arguments: they stay in the history, where nothing but observations is ever shortened."""
_LARGEST_COUNT = 10**12


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
        cut: what ended it before its end, or None.
        usage: tokens, where the server told.
    """

    content: str
    reasoning: str
    echo_reasoning: bool
    calls: list[ToolCall]
    cut: Reason | None
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
        except (ValueError, RecursionError):
            return False


class TurnAssembler:
    """Takes the chunks of one streamed turn.

    Args:
        on_piece: is handed text as it comes.
        tools: names of the tools that were offered; calls written as text are looked for only among them.
    """

    def __init__(self, on_piece: Piece, tools: frozenset[str]) -> None:
        self.size = 0
        """Characters of text and arguments so far."""
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
        """Take one chunk in; a whole message (of a server that does not stream) counts as one.

        Raises:
            Trouble: it is not of the form that any server documents, or the server gave up.
        """
        try:
            self._feed(chunk)
        except (TypeError, AttributeError, KeyError) as error:
            raise Trouble("the stream holds a chunk of the wrong form") from error
        if self._finish == _BROKEN_OFF:
            raise Trouble("the model's server broke off for want of resources")

    def _feed(self, chunk: JsonObject) -> None:
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._usage = _usage(usage)
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
            content = "".join(_text(part.get("text")) for part in content if isinstance(part, dict))
        if isinstance(content, str) and content:
            self._say(content)
        calls = delta.get("tool_calls")
        for call in calls if isinstance(calls, list) else [calls]:
            if isinstance(call, dict):
                self._call(call)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict):
            self._call({"index": 0, "function": legacy})

    def _reason(self, text: str) -> None:
        self.size += len(text)
        self._reasoning.append(text)
        self._on_piece("reasoning", text)

    def _say(self, text: str) -> None:
        self.size += len(text)
        if self._thinking is False:
            self._content.append(text)
            self._on_piece("content", text)
            return
        text, self._held = self._held + text, ""
        if self._thinking is None:
            start = text.lstrip()
            if _OPEN.startswith(start[: len(_OPEN)]) and len(start) < len(_OPEN):
                # without the blanks before it: a model that writes nothing else may do so for long
                self._held = start
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
        name, index = _text(function.get("name")), delta.get("index")
        partial = self._whose(_text(delta.get("id")), index if type(index) is int else None, name)
        partial.name = partial.name or name
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            partial.whole = arguments
        elif isinstance(arguments, str):
            self.size += len(arguments)
            partial.text.append(arguments)

    def _whose(self, call_id: str, index: int | None, name: str) -> _Partial:
        if call_id:
            for partial in self._calls:
                if partial.call_id == call_id:
                    return partial
            return self._begin(call_id, index)
        partial_at = None if index is None else self._by_index.get(index)
        current = partial_at or (self._calls[-1] if self._calls else None)
        if current is None:
            return self._begin("", index)
        unknown_index = index is not None and partial_at is None
        if name and (unknown_index or (current.name and (name != current.name or current.is_whole()))):
            return self._begin("", index)
        return current

    def _begin(self, call_id: str, index: int | None) -> _Partial:
        partial = _Partial(call_id)
        self._calls.append(partial)
        if index is not None:
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
        only_closed = None if reasoning else _ONLY_CLOSED.match(content)
        if only_closed:
            reasoning, content = only_closed["reasoning"], content[only_closed.end() :]
        cut = _CUT.get(self._finish or "")
        calls = [_finished(partial, cut) for partial in self._calls if partial.name or partial.text or partial.whole]
        if not calls and self._tools:
            content, calls = find_calls(content, self._tools)
            calls = [_bounded(call) for call in calls]
        return ModelTurn(content.strip("\n"), reasoning, self._echo_reasoning, calls, cut, self._usage)


def _tail_of(text: str, tag: str) -> int:
    """How many characters at the end of `text` may be the beginning of `tag`."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if tag.startswith(text[-length:]):
            return length
    return 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _finished(partial: _Partial, cut: Reason | None) -> ToolCall:
    def problem(sentence: str) -> ToolCall:
        return ToolCall(partial.call_id, partial.name, None, sentence)

    arguments: Any = partial.whole
    length = 0
    if arguments is None:
        text = "".join(partial.text).strip()
        length = len(text)
        if text in ("", "null"):
            return ToolCall(partial.call_id, partial.name, {})
        try:
            arguments = json.loads(text)
            if isinstance(arguments, str):
                arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            what = "was cut off by the output limit" if cut else f"is no valid JSON ({_short(error)})"
            return problem(f"The text of the arguments {what}; send one JSON object.")
    if not isinstance(arguments, dict):
        return problem("The arguments must be one JSON object.")
    return _bounded(ToolCall(partial.call_id, partial.name, arguments), length)


def _bounded(call: ToolCall, length: int = 0) -> ToolCall:
    """The call, without arguments that no tool could take; `length` is that of their text, where that is known."""
    if _deeper_than(call.arguments, _DEEPEST):
        return replace(call, arguments=None, problem="The arguments are nested too deep; send one flat JSON object.")
    if (length or len(json.dumps(call.arguments))) > _LONGEST:
        too_long = f"The arguments are longer than {_LONGEST:,} characters; send a short JSON object."
        return replace(call, arguments=None, problem=too_long)
    return call


def _deeper_than(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_deeper_than(item, levels - 1) for item in inner)


def _short(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "nested too deep" if isinstance(error, RecursionError) else "a number in it is too long"


def _usage(data: JsonObject) -> TokenCount:
    def number(source: Any, name: str) -> int:
        value = source.get(name) if isinstance(source, dict) else None
        return value if type(value) is int and 0 < value <= _LARGEST_COUNT else 0

    prompt = number(data, "prompt_tokens")
    cached = number(data, "prompt_cache_hit_tokens") or number(data.get("prompt_tokens_details"), "cached_tokens")
    reasoning = number(data.get("completion_tokens_details"), "reasoning_tokens")
    return TokenCount(prompt, number(data, "completion_tokens"), min(cached, prompt), reasoning)

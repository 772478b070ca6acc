"""Tool calls that a model wrote into its text, because its server did not take them out.

Known forms: Hermes and Qwen (`<tool_call>{…}</tool_call>`), Llama (`<function=name>{…}</function>`),
Qwen Coder (`<function=name><parameter=key>…`), DeepSeek (`<｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}`
and `invoke name="…"` with parameters), Mistral (`[TOOL_CALLS][{…}]`), and a text that is nothing but
`{"name": …, "arguments": {…}}`. Only names of tools that were offered count, so that prose about
calls is no call.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from typing import Any

from tui_agent.events import JsonObject
from tui_agent.tools.toolbox import ToolCall

# No call reaches beyond the beginning of the next: the search takes time in proportion to the text, whatever that is.
_HERMES = re.compile(r"<tool_call>\s*(\{(?:(?!<tool_call>).)*?\})\s*(?:</tool_call>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"(?:<tool_call>\s*)?<function=([\w.-]+)>(.*?)(?:</function>|\Z)(?:\s*</tool_call>)?", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([\w.-]+)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_DEEPSEEK = re.compile(
    r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?([\w.-]+)(?:<｜tool▁sep｜>)?\s*(?:```json\s*)?"
    r"(\{(?:(?!<｜tool▁call▁begin｜>).)*?\})\s*(?:```\s*)?"
    r"(?:<｜tool▁call▁end｜>|\Z)",
    re.DOTALL,
)
_INVOKE = re.compile(
    r"<(?:｜DSML｜)?invoke name=\"([\w.-]+)\">((?:(?!<(?:｜DSML｜)?invoke name=).)*?)</(?:｜DSML｜)?invoke>", re.DOTALL
)
_INVOKE_PARAMETER = re.compile(
    r"<(?:｜DSML｜)?parameter name=\"([\w.-]+)\"[^<>]*>"
    r"((?:(?!<(?:｜DSML｜)?parameter name=).)*?)</(?:｜DSML｜)?parameter>",
    re.DOTALL,
)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(\[.*\])", re.DOTALL)
_FENCE = re.compile(r"\A\s*(?:```(?:json)?\s*)?(\{.*\}|\[.*\])\s*(?:```\s*)?\Z", re.DOTALL)
_LEFTOVERS = re.compile(r"</?tool_call>|<｜/?tool▁calls?▁(?:begin|end)｜>|</?(?:｜DSML｜)?(?:function|tool)_calls>")
_MAX_TEXT = 200_000
# A text that begins with a heading is a report, and what stands in code is quoted, not called.
_HEADING = re.compile(r"\s*#{1,6} ")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)


def find_calls(content: str, tools: frozenset[str]) -> tuple[str, list[ToolCall]]:
    """The text without the calls in it, and the calls.

    Args:
        content: what the model wrote.
        tools: names of the tools that it was offered.

    Returns:
        the text unchanged and no calls, where there are none.
    """
    if len(content) > _MAX_TEXT or not any(tool in content for tool in tools) or _HEADING.match(content):
        return content, []
    quoted = _Spans(content) if not _FENCE.match(content) else None
    for pattern, read in _FORMS:
        calls: list[ToolCall] = []
        spans: list[tuple[int, int]] = []
        for match in pattern.finditer(content):
            if quoted is not None and match.start() in quoted:
                continue
            found = [call for call in read(match) if call.tool in tools]
            if found:
                calls += found
                spans.append(match.span())
        if calls:
            for start, end in reversed(spans):
                content = content[:start] + content[end:]
            return _LEFTOVERS.sub("", content).strip(), calls
    return content, []


class _Spans:
    """Where code stands in a text."""

    def __init__(self, content: str) -> None:
        spans = [match.span() for match in _CODE.finditer(content)]
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def __contains__(self, position: int) -> bool:
        before = bisect_right(self._starts, position) - 1
        return before >= 0 and position < self._ends[before]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _named(data: Any) -> list[ToolCall]:
    """Calls out of `{"name": …, "arguments": …}`, or a list of such objects."""
    if isinstance(data, list):
        return [call for item in data if isinstance(item, dict) for call in _named(item)]
    if not isinstance(data, dict):
        return []
    if isinstance(data.get("function"), dict):
        data = data["function"]
    name = data.get("name") or data.get("tool")
    arguments = data.get("arguments", data.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _json(arguments)
    return [_call(name, arguments)] if isinstance(name, str) and isinstance(arguments, dict) else []


def _call(name: str, arguments: JsonObject) -> ToolCall:
    return ToolCall("", name, arguments)


def _hermes(match: re.Match[str]) -> list[ToolCall]:
    return _named(_json(match[1]))


def _function(match: re.Match[str]) -> list[ToolCall]:
    parameters = dict(_PARAMETER.findall(match[2]))
    arguments = parameters or _json(match[2].strip() or "{}")
    return [_call(match[1], arguments)] if isinstance(arguments, dict) else []


def _deepseek(match: re.Match[str]) -> list[ToolCall]:
    arguments = _json(match[2])
    return [_call(match[1], arguments)] if isinstance(arguments, dict) else []


def _invoke(match: re.Match[str]) -> list[ToolCall]:
    return [_call(match[1], {key: value.strip("\n") for key, value in _INVOKE_PARAMETER.findall(match[2])})]


_FORMS = (
    (_FUNCTION, _function),
    (_HERMES, _hermes),
    (_DEEPSEEK, _deepseek),
    (_INVOKE, _invoke),
    (_MISTRAL, _hermes),
    (_FENCE, _hermes),
)

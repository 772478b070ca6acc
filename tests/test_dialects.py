"""Every dialect in which servers stream a turn comes out as the same turn."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tui_agent.agent.dialects import ModelTurn, TurnAssembler
from tui_agent.resilience.outcome import Trouble
from tui_agent.tools.schemas import TOOL_NAMES

TOOLS = frozenset(TOOL_NAMES)
A = {"owner": "o", "repo": "r"}
B = {"owner": "o", "repo": "r", "path": "src"}


def assemble(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> ModelTurn:
    assembler = TurnAssembler(lambda kind, text: None, TOOLS)
    for delta in deltas:
        assembler.feed({"choices": [{"delta": delta}]})
    if finish:
        assembler.feed({"choices": [{"delta": {}, "finish_reason": finish}]})
    return assembler.finish()


def piece(
    *, index: Any = None, call_id: Any = None, name: str | None = None, arguments: Any = "", **extra: Any
) -> dict[str, Any]:
    function: dict[str, Any] = {"arguments": arguments}
    if name is not None:
        function["name"] = name
    call: dict[str, Any] = {"function": function, **extra}
    if index is not None:
        call["index"] = index
    if call_id is not None:
        call["id"] = call_id
    return {"tool_calls": [call]}


def halves(value: Any) -> tuple[str, str]:
    text = json.dumps(value)
    return text[: len(text) // 2], text[len(text) // 2 :]


A1, A2 = halves(A)
B1, B2 = halves(B)
DIALECTS = {
    "as OpenAI does": [
        piece(index=0, call_id="a", name="get_repo_info"),
        piece(index=0, arguments=A1),
        piece(index=0, arguments=A2),
        piece(index=1, call_id="b", name="list_directory", arguments=B1),
        piece(index=1, arguments=B2),
    ],
    "interleaved": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=A1),
        piece(index=1, call_id="b", name="list_directory", arguments=B1),
        piece(index=0, arguments=A2),
        piece(index=1, arguments=B2),
    ],
    "no index": [
        piece(call_id="a", name="get_repo_info", arguments=A1),
        piece(arguments=A2),
        piece(call_id="b", name="list_directory", arguments=B1),
        piece(arguments=B2),
    ],
    "index 0 for all": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=A1),
        piece(index=0, arguments=A2),
        piece(index=0, call_id="b", name="list_directory", arguments=B1),
        piece(index=0, arguments=B2),
    ],
    "wrong index in what follows": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=A1),
        piece(index=7, arguments=A2),
        piece(index=3, call_id="b", name="list_directory", arguments=B1),
        piece(index=9, arguments=B2),
    ],
    "no id, whole calls, index 0": [
        piece(index=0, name="get_repo_info", arguments=json.dumps(A)),
        piece(index=0, name="list_directory", arguments=json.dumps(B)),
    ],
    "no id and no index": [
        piece(name="get_repo_info", arguments=json.dumps(A)),
        piece(name="list_directory", arguments=json.dumps(B)),
    ],
    "the id again with every piece": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=A1),
        piece(index=0, call_id="a", name="get_repo_info", arguments=A2),
        piece(index=1, call_id="b", name="list_directory", arguments=B1),
        piece(index=1, call_id="b", arguments=B2),
    ],
    "arguments as objects": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=A),
        piece(index=1, call_id="b", name="list_directory", arguments=B),
    ],
    "arguments as JSON in JSON": [
        piece(index=0, call_id="a", name="get_repo_info", arguments=json.dumps(json.dumps(A))),
        piece(index=1, call_id="b", name="list_directory", arguments=json.dumps(json.dumps(B))),
    ],
    "both in one piece": [
        {
            "tool_calls": [
                piece(call_id="a", name="get_repo_info", arguments=A)["tool_calls"][0],
                piece(call_id="b", name="list_directory", arguments=B)["tool_calls"][0],
            ]
        }
    ],
    "empty ids and null fields": [
        piece(index=0, call_id="", name="get_repo_info", arguments=json.dumps(A), type=None),
        {"content": None, "reasoning_content": None, "tool_calls": None},
        piece(index=1, call_id="", name="list_directory", arguments=json.dumps(B)),
    ],
}


@pytest.mark.parametrize("finish", ["tool_calls", "stop"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_come_out_of_every_dialect(dialect: str, finish: str) -> None:
    turn = assemble(*DIALECTS[dialect], finish=finish)
    assert [(call.tool, call.arguments) for call in turn.calls] == [("get_repo_info", A), ("list_directory", B)]


def test_the_same_tool_twice_without_ids_is_two_calls() -> None:
    other = A | {"path": "x"}
    turn = assemble(
        piece(index=0, name="list_directory", arguments=json.dumps(A)),
        piece(index=0, name="list_directory", arguments=json.dumps(other)),
    )
    assert [call.arguments for call in turn.calls] == [A, other]


@pytest.mark.parametrize("empty", ["", None, "null", {}])
def test_empty_arguments_are_an_empty_object(empty: Any) -> None:
    [call] = assemble(piece(index=0, call_id="a", name="get_repo_info", arguments=empty)).calls
    assert call.arguments == {}


def test_arguments_cut_by_the_output_limit_are_never_an_empty_object() -> None:
    [call] = assemble(
        piece(index=0, call_id="a", name="read_file", arguments='{"owner": "o", "pa'), finish="length"
    ).calls
    assert call.arguments is None
    assert "cut off by the output limit" in call.problem


@pytest.mark.parametrize("text", ["{", "[1]", '"text"', "{'a': 1}", "[" * 100_000])
def test_arguments_that_are_no_object_are_a_problem_told(text: str) -> None:
    [call] = assemble(piece(index=0, call_id="a", name="read_file", arguments=text)).calls
    assert call.arguments is None
    assert "JSON" in call.problem


def test_a_finish_reason_of_tool_calls_without_calls_is_text() -> None:
    turn = assemble({"content": "# Report"})
    assert turn.calls == []
    assert turn.content == "# Report"


def test_usage_comes_in_a_chunk_without_choices() -> None:
    assembler = TurnAssembler(lambda kind, text: None, TOOLS)
    assembler.feed({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]})
    details = {"reasoning_tokens": 3}
    usage = {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "prompt_cache_hit_tokens": 8,
        "completion_tokens_details": details,
    }
    assembler.feed({"choices": [], "usage": usage})
    counted = assembler.finish().usage
    assert counted is not None
    assert (counted.prompt, counted.completion, counted.cached, counted.reasoning) == (10, 5, 8, 3)


def streamed(text: str, sizes: list[int]) -> tuple[str, str, ModelTurn]:
    seen: dict[str, list[str]] = {"content": [], "reasoning": []}
    assembler = TurnAssembler(lambda kind, piece: seen[kind].append(piece), TOOLS)
    start, steps = 0, itertools.cycle(sizes)
    while start < len(text):
        size = next(steps)
        assembler.feed({"choices": [{"delta": {"content": text[start : start + size]}}]})
        start += size
    assembler.feed({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    turn = assembler.finish()
    return "".join(seen["content"]), "".join(seen["reasoning"]), turn


@pytest.mark.parametrize("sizes", [[1], [2, 3], [5], [1000]])
def test_thinking_in_content_is_reasoning_however_it_is_cut(sizes: list[int]) -> None:
    content, reasoning, turn = streamed("<think>a < b </thin\nking</think>\n\n# Report <think> stays", sizes)
    assert reasoning == "a < b </thin\nking"
    assert turn.reasoning == reasoning
    assert content.strip() == turn.content == "# Report <think> stays"
    assert not turn.echo_reasoning


@pytest.mark.parametrize("sizes", [[1], [4], [1000]])
def test_content_that_only_resembles_a_tag_stays_content(sizes: list[int]) -> None:
    content, reasoning, turn = streamed("<thinking is hard", sizes)
    assert (content, reasoning) == ("<thinking is hard", "")
    assert turn.content == content


def test_a_tag_that_was_never_closed_is_reasoning() -> None:
    _, reasoning, turn = streamed("<think>and then", [3])
    assert reasoning == turn.reasoning == "and then"
    assert turn.content == ""


def test_a_tag_opened_by_the_chat_template_ends_the_reasoning() -> None:
    _, _, turn = streamed("let me see\n</think>\n\n# Report", [4])
    assert (turn.reasoning.strip(), turn.content) == ("let me see", "# Report")


@pytest.mark.parametrize(
    "report",
    [
        "# Report\n\nIt splits `<think>…</think>` tags.\n\n## Rest",
        "# Report\n\n```\n<think>\n</think>\n```\n\nRest",
        "# Report\n\n`<function=read_file><parameter=path>x</parameter></function>` is how Qwen calls.",
        'It streams `<tool_call>{"name": "read_file", "arguments": {}}</tool_call>` in text.',
        '```\n<tool_call>{"name": "read_file", "arguments": {}}</tool_call>\n```\nis one form.',
    ],
)
def test_a_report_about_such_tags_stays_whole(report: str) -> None:
    content, _, turn = streamed(report, [7])
    assert content == turn.content == report
    assert turn.calls == []


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_turn_that_was_cut_says_by_what(reason: str) -> None:
    assert assemble({"content": "# Half a sen"}, finish=reason).cut is not None
    assert assemble({"content": "# Whole"}, finish="stop").cut is None


@pytest.mark.parametrize(
    "delta", [{"tool_calls": 5}, {"content": [{"text": {}}]}, {"content": 7}, {"tool_calls": [7, None]}]
)
def test_deltas_of_the_wrong_form_are_no_calls(delta: dict[str, Any]) -> None:
    assert assemble(delta, {"content": "x"}).calls == []


def test_a_server_that_broke_off_for_want_of_resources_is_trouble() -> None:
    with pytest.raises(Trouble, match="resources"):
        assemble({"content": "# Half"}, finish="insufficient_system_resource")


TEXT_CALLS = {
    "Hermes": '<tool_call>\n{"name": "read_file", "arguments": {"path": "a"}}\n</tool_call>',
    "Hermes, never closed": '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}',
    "Llama": '<function=read_file>{"path": "a"}</function>',
    "Qwen Coder": "<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
    "DeepSeek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n"
    '{"path": "a"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "DeepSeek 3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read_file<｜tool▁sep｜>"
    '{"path": "a"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    "DSML": '<｜DSML｜function_calls><｜DSML｜invoke name="read_file"><｜DSML｜parameter name="path" string="true">a'
    "</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
    "Mistral": '[TOOL_CALLS][{"name": "read_file", "arguments": {"path": "a"}}]',
    "bare": '{"name": "read_file", "parameters": {"path": "a"}}',
    "bare in a fence": '```json\n{"name": "read_file", "arguments": "{\\"path\\": \\"a\\"}"}\n```',
}


@pytest.mark.parametrize("form", TEXT_CALLS)
def test_calls_written_as_text_are_calls(form: str) -> None:
    prose = "" if form.startswith("bare") else "I look at a.\n"
    turn = assemble({"content": prose + TEXT_CALLS[form]}, finish="stop")
    assert [(call.tool, call.arguments) for call in turn.calls] == [("read_file", {"path": "a"})]
    assert turn.content == prose.strip()


def test_prose_about_calls_is_no_call() -> None:
    for text in (
        "Use read_file with {path}.",
        '<tool_call>{"name": "rm", "arguments": {}}</tool_call> read_file',
        "{}",
    ):
        turn = assemble({"content": text}, finish="stop")
        assert turn.calls == []
        assert turn.content == text

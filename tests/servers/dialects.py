"""Tool calls as servers that call themselves compatible really stream them.

Each dialect takes the same calls; whoever reads the stream has to get the same calls out of it, with the arguments
as objects and in order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from tests.servers.turns import Call, Json, Piece, Turn, chunk, error_in_stream, finish, keep_alive, say, usage

Dialect = Callable[[Sequence[Call]], Turn]


def _id(number: int) -> str:
    return f"call_{number:02d}"


def _entry(number: int, one: Call, **changes: object) -> Json:
    """A whole call in one entry; a change to None leaves the field out."""
    entry: Json = {
        "index": number,
        "id": _id(number),
        "type": "function",
        "function": {"name": one.name, "arguments": one.text},
    }
    return {key: value for key, value in {**entry, **changes}.items() if value is not None}


def _streamed(number: int, one: Call, index: int | None, call_id: str | None) -> list[Piece]:
    """A call in several deltas, with the index and the id that a server gives it."""
    where = {} if index is None else {"index": index}
    first = {**where, "type": "function", "function": {"name": one.name, "arguments": ""}}
    if call_id is not None:
        first["id"] = call_id
    half = len(one.text) // 2
    return [
        chunk({"tool_calls": [first]}),
        chunk({"tool_calls": [{**where, "function": {"arguments": one.text[:half]}}]}),
        chunk({"tool_calls": [{**where, "function": {"arguments": one.text[half:]}}]}),
    ]


def openai(calls: Sequence[Call]) -> Turn:
    """As OpenAI documents it."""
    return list(calls)


def no_index(calls: Sequence[Call]) -> Turn:
    """Deltas without an index."""
    return [_streamed(n, one, None, _id(n)) for n, one in enumerate(calls)]


def every_index_zero(calls: Sequence[Call]) -> Turn:
    """Each call says that it is the first."""
    return [_streamed(n, one, 0, _id(n)) for n, one in enumerate(calls)]


def wrong_indices(calls: Sequence[Call]) -> Turn:
    """Indices that begin at 1 and skip."""
    return [_streamed(n, one, 2 * n + 1, _id(n)) for n, one in enumerate(calls)]


def no_id(calls: Sequence[Call]) -> Turn:
    """An index, and no id."""
    return [_streamed(n, one, n, None) for n, one in enumerate(calls)]


def neither_index_nor_id(calls: Sequence[Call]) -> Turn:
    """Whole calls without an index and an id."""
    return [chunk({"tool_calls": [_entry(n, one, index=None, id=None)]}) for n, one in enumerate(calls)]


def empty_id_later(calls: Sequence[Call]) -> Turn:
    """The deltas that go on repeat the id as ""."""
    pieces: list[Piece] = []
    for n, one in enumerate(calls):
        pieces += [
            chunk({"tool_calls": [_entry(n, one, function={"name": one.name, "arguments": ""})]}),
            chunk({"tool_calls": [{"index": n, "id": "", "function": {"name": "", "arguments": one.text}}]}),
        ]
    return pieces


def whole_calls(calls: Sequence[Call]) -> Turn:
    """Each call whole in one delta."""
    return [chunk({"tool_calls": [_entry(n, one)]}) for n, one in enumerate(calls)]


def all_in_one_delta(calls: Sequence[Call]) -> Turn:
    """All calls whole in one delta."""
    return [chunk({"tool_calls": [_entry(n, one) for n, one in enumerate(calls)]})]


def interleaved(calls: Sequence[Call]) -> Turn:
    """Pieces of several calls in turns, told apart by their index."""
    streams = [_streamed(n, one, n, _id(n)) for n, one in enumerate(calls)]
    return [piece for row in zip(*streams, strict=True) for piece in row]


def arguments_as_object(calls: Sequence[Call]) -> Turn:
    """Arguments that are an object, not a text."""
    return [
        chunk({"tool_calls": [_entry(n, one, function={"name": one.name, "arguments": json.loads(one.text)})]})
        for n, one in enumerate(calls)
    ]


def null_beside_calls(calls: Sequence[Call]) -> Turn:
    """Every field that is not there is null, arguments at first too."""
    pieces: list[Piece] = []
    for n, one in enumerate(calls):
        head = _entry(n, one, function={"name": one.name, "arguments": None})
        rest = {"index": n, "id": None, "type": None, "function": {"name": None, "arguments": one.text}}
        nothing = {"content": None, "reasoning_content": None, "role": None, "refusal": None}
        pieces += [chunk({**nothing, "tool_calls": [head]}), chunk({**nothing, "tool_calls": [rest]})]
    return [*pieces, chunk({"content": None, "tool_calls": None})]


def finish_stop(calls: Sequence[Call]) -> Turn:
    """Calls, and "stop" as the reason."""
    return [*calls, finish("stop")]


def usage_beside_finish(calls: Sequence[Call]) -> Turn:
    """Usage in every chunk, then in one without a choice."""
    pieces = [chunk({"tool_calls": [_entry(n, one)]}) | {"usage": usage()["usage"]} for n, one in enumerate(calls)]
    return [*pieces, finish("tool_calls") | {"usage": None}, usage(7, 3)]


def comments_between(calls: Sequence[Call]) -> Turn:
    """Keep-alives, other fields of SSE, and line ends of another kind between the chunks."""
    pieces: list[Piece] = [keep_alive(2), b"event: message\nid: 7\nretry: 3000\n\n", b"\r\n"]
    for n, one in enumerate(calls):
        data = json.dumps(chunk({"tool_calls": [_entry(n, one)]}))
        pieces += [f"data:{data}\r\n\r\n".encode(), keep_alive()]
    return pieces


def split_anywhere(calls: Sequence[Call]) -> Turn:
    """Bytes of one line in several pieces, cut within a character."""
    text = "".join(
        f"data: {json.dumps(chunk({'tool_calls': [_entry(n, one)]}), ensure_ascii=False)}\n\n"
        for n, one in enumerate(calls)
    ).encode()
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def hermes_text(calls: Sequence[Call]) -> Turn:
    """Calls written into the content, as Hermes and Qwen write them."""
    texts = [f'<tool_call>\n{{"name": "{one.name}", "arguments": {one.text}}}\n</tool_call>\n' for one in calls]
    return [say("".join(texts), by=9), finish("stop")]


def deepseek_text(calls: Sequence[Call]) -> Turn:
    """Calls written into the content, as DeepSeek writes them."""
    texts = [
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{one.name}\n```json\n{one.text}\n```<｜tool▁call▁end｜>"
        for one in calls
    ]
    return [say(f"<｜tool▁calls▁begin｜>{''.join(texts)}<｜tool▁calls▁end｜>", by=9), finish("stop")]


def think_tags(calls: Sequence[Call]) -> Turn:
    """Reasoning inside the content, before the calls."""
    return [say("<think>I look first.</think>", by=5), *calls]


DIALECTS: dict[str, Dialect] = {
    dialect.__name__: dialect
    for dialect in (
        openai,
        no_index,
        every_index_zero,
        wrong_indices,
        no_id,
        neither_index_nor_id,
        empty_id_later,
        whole_calls,
        all_in_one_delta,
        interleaved,
        arguments_as_object,
        null_beside_calls,
        finish_stop,
        usage_beside_finish,
        comments_between,
        split_anywhere,
        hermes_text,
        deepseek_text,
        think_tags,
    )
}


def tool_calls_with_none(text: str) -> Turn:
    """ "tool_calls" as the reason, and no call: the text is the answer."""
    return [say(text), finish("tool_calls")]


def cut_arguments(one: Call) -> Turn:
    """The output limit ends the turn in the middle of a call's arguments."""
    return [*_streamed(0, one, 0, _id(0))[:2], finish("length")]


def cut_text(text: str) -> Turn:
    """The output limit ends the turn in the middle of a text."""
    return [say(text), finish("length")]


def no_arguments(name: str, arguments: object = "") -> Turn:
    """A call whose arguments are "", null or not there at all."""
    function = {"name": name} if arguments is ... else {"name": name, "arguments": arguments}
    entry = {"index": 0, "id": _id(0), "type": "function", "function": function}
    return [chunk({"tool_calls": [entry]})]


def breaks_with_error(text: str = "I begin") -> Turn:
    """An error object after the stream has begun."""
    return [say(text), error_in_stream("The server is overloaded.", "overloaded")]

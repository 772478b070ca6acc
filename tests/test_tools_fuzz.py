"""Whatever bytes and names a repository holds, and whatever a model writes, the tools answer."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import API, Content, Link
from tests.tool_bench import Bench
from tui_agent.github.client import route
from tui_agent.tools.schemas import TOOL_NAMES

_SIGNS = "abc.-_ \t\n\r\\'\"[]{}#?%&=+@:;*~$`<>|\x00\x1b\x07\x7f\x9b\u202e\u200b\u2066é漢😀\udc80"
_PIECES = [
    b"text\n",
    b"\r\n",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\xe2\x82",
    b"\x1b[31m",
    b"\x80",
    b"a" * 7000,
]
_TARGETS = ["..", ".", "/", "", "x", "../x", "a/b", "\x00", "a" * 5000, "é/漢"]


def _name(chance: random.Random) -> str:
    parts = ["".join(chance.choices(_SIGNS, k=chance.randint(1, 12))) for _ in range(chance.randint(1, 3))]
    return "/".join(part for part in parts if part not in (".", ".."))


def _blob(chance: random.Random) -> Content:
    kind = chance.random()
    if kind < 0.1:
        return Link(chance.choice(_TARGETS))
    if kind < 0.4:
        return chance.randbytes(chance.randint(0, 200))
    return b"".join(chance.choices(_PIECES, k=chance.randint(0, 6)))


async def test_two_thousand_random_files_are_answered_for() -> None:
    chance = random.Random(20240115)
    files: dict[str, Content] = {}
    folders: set[str] = set()
    while len(files) < 2000:
        name = _name(chance)
        parents = {name[:i] for i, sign in enumerate(name) if sign == "/"}
        if name and name not in folders and not parents & files.keys():
            files[name] = _blob(chance)
            folders |= parents
    bench = Bench(files)
    for name in files:
        answer = await bench.answer("read_file", path=name, offset=chance.choice([None, 0, 1, 5999, 6000]))
        assert answer.outcome in ("ok", "error"), answer.result
        if answer.outcome == "ok":
            assert answer.result["path"] == name and len(answer.result["content"]) <= 6000
        elif not isinstance(files[name], Link):
            assert "cannot be shown" in answer.result["error"] or "ends before that" in answer.result["error"]
        json.dumps(answer.result)
    for folder in sorted(folders, key=repr)[:200]:
        listing = await bench.ask("list_directory", path=folder)
        assert listing["ok"] is True and listing["path"] == folder


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
_names = st.sampled_from(
    ["owner", "repo", "path", "offset", "start_line", "end_line", "per_page", "page", "pattern", "x"]
)


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*TOOL_NAMES, "x"]), st.dictionaries(_names, _anything), st.booleans()), max_size=5
    )
)
def test_whatever_a_model_writes_is_answered_and_asks_nothing_elsewhere(calls: list[tuple[str, Any, bool]]) -> None:
    async def main() -> None:
        bench = Bench({"README.md": "# Demo\n", "src/app.py": "x\n"})
        for tool, arguments, is_mine in calls:
            given = {**arguments, "owner": "octo", "repo": "demo"} if is_mine else arguments
            answer = await bench.answer(tool, given)
            assert answer.outcome in ("ok", "error") and answer.result["ok"] is (answer.outcome == "ok")
        for request in bench.github.requests:
            assert request.url.host == "api.github.com"
            path = request.url.raw_path.partition(b"?")[0]
            assert path.startswith(b"/repos/octo/demo") and b".." not in path

    asyncio.run(main())


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=4))
def test_no_parts_make_a_path_with_other_places(parts: list[str]) -> None:
    try:
        path = route("repos", *parts)
    except ValueError:
        assert any(part in (".", "..") for part in parts)
        return
    sent = httpx.URL(API + path).raw_path
    assert sent.decode() == path and sent.startswith(b"/repos/") and sent.count(b"/") == 1 + len(parts)
    assert not set(b"?#\\ ") & set(sent)

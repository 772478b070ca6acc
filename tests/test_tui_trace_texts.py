"""The trace's texts and tree: wrapping, eliding, case, JSON, where a row is, the order of hits."""

from __future__ import annotations

import random
from typing import Any

import pytest
from rich.cells import cell_len

from tests.trace_app import rows_one_by_one
from tui_agent.tui.widgets.trace_search import Search
from tui_agent.tui.widgets.trace_text import display, elide, elide_start, fold, last_line, readable, wrap
from tui_agent.tui.widgets.trace_tree import Node, Tree, walk
from tui_agent.tui.widgets.trace_words import result_note

# -- texts ----------------------------------------------------------------------------------


def _random_text(rnd: random.Random) -> str:
    return display(
        "".join(rnd.choice("ab cd  ef\n漢字。 ,e\u0301👩\u200d💻❤\ufe0f\t") for _ in range(rnd.randint(0, 60)))
    )


def test_wrapped_rows_fit_and_nothing_but_blanks_is_left_out() -> None:
    rnd = random.Random(1)
    for _ in range(3000):
        text, width = _random_text(rnd), rnd.randint(4, 30)
        done = 0
        for begin, end in wrap(text, width):
            assert text[done:begin].strip(" \n") == ""
            assert cell_len(text[begin:end]) <= width
            done = end
        assert text[done:].strip(" \n") == ""


def test_text_added_at_the_end_changes_no_row_but_the_last() -> None:
    rnd = random.Random(2)
    for _ in range(3000):
        text, width = _random_text(rnd), rnd.randint(2, 30)
        before, after = wrap(text[: rnd.randint(0, len(text))], width), wrap(text, width)
        assert after[: len(before) - 1] == before[:-1]
        assert wrap(text, width, before[-1][0]) == after[len(before) - 1 :]


def test_wide_text_breaks_between_characters_and_not_before_its_punctuation() -> None:
    text = "これは長い文です。次の文も長いです。"
    rows = [text[begin:end] for begin, end in wrap(text, 16)]
    assert rows == ["これは長い文で", "す。次の文も長い", "です。"]


def test_a_row_narrower_than_a_character_still_ends() -> None:
    assert wrap("漢字", 1) == [(0, 1), (1, 2)]


@pytest.mark.parametrize("width", range(9))
def test_what_is_elided_fits(width: int) -> None:
    for text in ("src/package/module.py", "漢字/漢字.py", "❤\ufe0f❤\ufe0f❤\ufe0f❤\ufe0f"):
        assert cell_len(elide(text, width)) <= width
        assert cell_len(elide_start(text, width)) <= width
    assert elide_start("src/package/module.py", 10) == "…module.py"


def test_the_end_of_a_growing_text_is_shown_on_one_line() -> None:
    assert last_line("one two\nthree", 9) == "…wo three"
    assert last_line("short", 9) == "short"
    assert cell_len(last_line("word " * 500, 30)) <= 30


@pytest.mark.parametrize(("text", "query"), [("STRASSE", "strasse"), ("İstanbul", "STANBUL"), ("ΟΔΟΣ", "οδος")])
def test_case_is_no_matter_and_places_stay(text: str, query: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(query) in fold(text)


def test_json_is_readable_with_content_last_and_its_newlines_real() -> None:
    value = {
        "ok": True, "content": "a\nb", "path": "x.py", "note": "one\ntwo", "topics": ["a", "b"],
        "empty": [], "none": None,
        "by_extension": {".py": {"files": 2, "size": 9}}, "entries": [{"name": "src", "type": "dir"}, {"name": "t"}],
    }  # fmt: skip
    assert readable(value).split("\n") == [
        "ok: true", "path: x.py", "note:", "  one", "  two", "topics: a, b", "empty: []", "none: null",
        "by_extension:", "  .py: files: 2, size: 9", "entries:", "  - name: src, type: dir", "  - name: t",
        "content:", "a", "b",
    ]  # fmt: skip


# -- the tree -------------------------------------------------------------------------------


def test_every_row_is_found_where_it_stands_whatever_was_done_before() -> None:
    rnd = random.Random(3)
    for _ in range(80):
        tree = Tree()
        nodes = [tree.root]
        for _ in range(60):
            what, some = rnd.random(), rnd.choice(nodes)
            if what < 0.6:
                text = "word " * rnd.randint(0, 60) if rnd.random() < 0.5 else None
                nodes.append(tree.add(some, Node("x", source=text)))
            elif what < 0.9 and some is not tree.root:
                tree.set_open(some, not some.open)
                tree.settle(some, rnd.choice([10, 20, 40]))
            elif what < 0.95:
                tree.set_all(rnd.random() < 0.5)
            else:
                tree.cut(some)
                nodes = [tree.root, *(node for node in nodes if node.parent is not None)]
        rows = list(rows_one_by_one(tree.root))
        assert len(rows) == tree.height
        for row, (node, inner) in enumerate(rows):
            assert tree.at(row) == (node, inner)
            assert inner or tree.line_of(node) == row
        shown = {node for node, _ in rows}
        assert all(tree.shown(node) == (node in shown) for node in nodes[1:])


def test_hits_are_walked_in_the_order_of_the_rows_both_ways_and_round() -> None:
    rnd = random.Random(4)
    for _ in range(60):
        tree = Tree()
        nodes = [tree.root]
        for _ in range(40):
            words = rnd.choice(["needle", "needle hay needle", "hay", ""])
            source = words if rnd.random() < 0.5 else None
            nodes.append(tree.add(rnd.choice(nodes), Node("x", "" if source else words, source)))
        search = Search(tree)
        search.start("NEEDLE")
        expected = [
            (node, nth) for node in walk(tree.root) for nth in range((node.text() or node.line).count("needle"))
        ]
        assert search.count == len(expected)
        forth = [search.step(None) for _ in expected]
        assert [(hit.node, hit.nth) for hit in forth if hit is not None] == expected
        places = []
        for _ in expected:
            places.append(search.place())
            search.step(None, backwards=True)
        assert places == list(range(len(expected), 0, -1))


@pytest.mark.parametrize(
    ("result", "note"),
    [
        ({"ok": True, "path": "", "dirs": {"src": 3}, "files": {"a.py": 1}}, "2 entries: src/, a.py"),
        ({"ok": True, "path": "", "files": {"a.py": 1}, "total_entries": 900}, "900 files: a.py"),
        ({"ok": True, "total": 1, "files": {"src/a.py": 1}}, "1 files: src/a.py"),
        ({"ok": True, "commits": [["abc", "2024-01-02", None, "Fix it"]], "total": 1}, "1 commits: Fix it"),
        ({"ok": True, "repeated": "Before.", "call_id": "a"}, "Before."),
        ({"ok": True, "path": "", "note": "Empty."}, "path: , note: Empty."),
    ],
)
def test_a_folded_observation_shows_what_it_lists(result: dict[str, Any], note: str) -> None:
    assert result_note(result) == note

"""The trace pane: its lines, what opens and folds, what is followed, found and copied, and what it costs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.color import Color
from textual.pilot import Pilot
from textual.strip import Strip

from tui_agent import events as ev
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets.trace import TracePane
from tui_agent.tui.widgets.trace_search import Search
from tui_agent.tui.widgets.trace_text import display, elide, elide_start, fold, last_line, readable, wrap
from tui_agent.tui.widgets.trace_tree import Node, Tree, walk
from tui_agent.tui.widgets.trace_view import TraceView

RUN = "run-1"
HERE: dict[str, Any] = {"owner": "o", "repo": "r"}
PROGRAM = "".join(f"def function_{n}():\n    return {n}\n\n" for n in range(150))[:6000]
HOSTILE = {
    "markup": "[red]not red[/red]",
    "action": "[@click=app.quit]do not click[/]",
    "escapes": "\x1b]0;title\x07 and \x1b[31mred\x1b[0m",
    "bidi": "right to left \u202eoverride\u202c",
    "wide": "漢字と仮名、そして全角文字" * 9,
    "emoji": "👩\u200d💻 ❤\ufe0f 🇩🇪 e\u0301\u0302 \u200b\ufeff",
    "long": "x" * 20_000,
    "controls": "a\r\nb\rc\x00\x9b31m\tz\ud800",
    "empty": "",
}


def at(cls: type[ev.Event], when: float, run_id: str | None = RUN, **fields: Any) -> ev.Event:
    return cls(at=when, run_id=run_id, **fields)


def start(run_id: str = RUN, question: str = "What is it?") -> list[ev.Event]:
    begun = at(
        ev.RunStarted, 0.0, run_id, repo="o/r", source="github", ref=None, question=question, engine="llm", model="m"
    )
    return [begun, at(ev.Snapshot, 0.5, run_id, repo="o/r", ref="main", commit="a1b2c3d" * 5, files=3, truncated=False)]


def turn(number: int, when: float) -> ev.Event:
    return at(ev.TurnStarted, when, turn=number, max_turns=15)


def called(number: int, call_id: str, when: float, tool: str = "read_file", **arguments: Any) -> ev.Event:
    return at(ev.ToolStarted, when, turn=number, call_id=call_id, tool=tool, arguments={**HERE, **arguments})


def ended(
    number: int,
    call_id: str,
    when: float,
    result: dict[str, Any],
    tool: str = "read_file",
    outcome: str = "ok",
    attempts: int = 1,
    cache: str = "miss",
    elapsed: float = 0.21,
    **arguments: Any,
) -> ev.Event:
    return at(
        ev.ToolFinished, when, turn=number, call_id=call_id, tool=tool, arguments={**HERE, **arguments},
        outcome=outcome, result=result, attempts=attempts, cache=cache, elapsed=elapsed,
    )  # fmt: skip


def a_file(path: str, content: str) -> dict[str, Any]:
    return {"ok": True, "path": path, "size": len(content), "content": content, "truncated": False}


def finished(when: float, outcome: str = "completed", error: str | None = None) -> ev.Event:
    return at(
        ev.RunFinished, when, outcome=outcome, report="", error=error, turns=1, tool_calls=1, requests=2, elapsed=when
    )


def two_turns() -> list[ev.Event]:
    return [
        *start(),
        turn(1, 1.0),
        at(ev.Reasoning, 1.1, turn=1, text="The root shows what to read next."),
        at(ev.Thought, 1.2, turn=1, text="First the root."),
        called(1, "a", 1.3, "list_directory", path=""),
        ended(1, "a", 1.5, {"ok": True, "path": "", "entries": [{"name": "src", "type": "dir"}]}, "list_directory"),
        turn(2, 2.0),
        called(2, "b", 2.1, path="src/app.py"),
        called(2, "c", 2.1, path="src/nope.py"),
        ended(2, "b", 2.4, a_file("src/app.py", PROGRAM), path="src/app.py"),
    ]


def long_run(count: int) -> Iterator[ev.Event]:
    yield from start()
    made, number = 2, 0
    while made < count:
        number += 1
        when, call_id, path = float(number), f"c{number}", f"src/part_{number}.py"
        yield turn(number, when)
        yield at(ev.ReasoningDelta, when + 0.1, turn=number, text=f"Part {number} is next, ")
        yield at(ev.ReasoningDelta, when + 0.2, turn=number, text="since it is imported.")
        yield called(number, call_id, when + 0.3, path=path)
        yield ended(number, call_id, when + 0.5, a_file(path, f"# part {number}\nimport os\n"), path=path)
        made += 5


class TraceApp(App[None]):
    """The pane alone, fed with events."""

    def __init__(self) -> None:
        super().__init__()
        self.pane = TracePane()
        self.state = DashboardState()

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_mount(self) -> None:
        self.pane.focus()

    @property
    def view(self) -> TraceView:
        return self.pane.view

    @property
    def width(self) -> int:
        return self.view.scrollable_content_region.width

    def draw(self, now: float | None = None) -> None:
        self.pane.update_from(self.state, self.state.at if now is None else now)

    def feed(self, *events: ev.Event) -> None:
        for event in events:
            self.state.apply(event)
        self.draw()

    def strips(self) -> list[Strip]:
        return [self.view.render_line(y) for y in range(self.view.size.height)]

    def rows(self) -> list[str]:
        return [strip.text.rstrip() for strip in self.strips()]

    def screen_text(self) -> str:
        return "\n".join(self.rows())

    def row(self, words: str) -> str:
        return next(row for row in self.rows() if words in row)

    def node(self, kind: str, nth: int = 0) -> Node:
        return [node for node in walk(self.view.tree_.root) if node.kind == kind][nth]

    async def go_to(self, pilot: Pilot[None], words: str) -> None:
        """Put the cursor on the row that shows the words, with the keys."""
        await pilot.press("home")
        for _ in range(self.view.tree_.height):
            row = next(y for y, strip in enumerate(self.strips()) if strip.text.startswith("▌"))
            if words in self.rows()[row]:
                return
            await pilot.press("down")
        raise AssertionError(f"{words!r} is on no row")

    def under_cursor(self) -> str:
        return next(row for row in self.rows() if row.startswith("▌"))


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


def _rows_one_by_one(node: Node) -> Iterator[tuple[Node, int]]:
    for child in node.children:
        yield from ((child, row) for row in range(child.rows if not child.open else 1 + child.text_rows))
        if child.open:
            yield from _rows_one_by_one(child)


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
        rows = list(_rows_one_by_one(tree.root))
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


# -- lines ----------------------------------------------------------------------------------


async def test_an_empty_pane_says_what_comes_here() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.draw()
        await pilot.press("enter", "up", "right", "left", "end", "asterisk", "minus", "n", "c")
        assert "Nothing to trace yet" in app.screen_text()


@pytest.mark.parametrize(
    ("outcome", "attempts", "cache", "result", "words"),
    [
        ("ok", 2, "memory", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s · 2 attempts · memory"),
        ("ok", 1, "miss", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s"),
        ("ok", 0, "hit", {"ok": True}, "✓ read_file src/app.py  ok 0.21 s · cache"),
        ("error", 1, "miss", {"ok": False, "error": "No such file."}, "✗ read_file src/app.py  error 0.21 s · No such"),
        (
            "fallback", 4, "miss", {"ok": False, "error": "GitHub is down."},
            "↯ read_file src/app.py  fallback 0.21 s · 4 attempts · GitHub is down.",
        ),
    ],
)  # fmt: skip
async def test_a_call_says_how_it_stands_in_shape_and_word(
    outcome: str, attempts: int, cache: str, result: dict[str, Any], words: str
) -> None:
    app = TraceApp()
    async with app.run_test(size=(120, 20)):
        app.feed(*start(), turn(1, 1.0), called(1, "a", 1.1, path="src/app.py"))
        assert "▶ read_file src/app.py … running" in app.screen_text()
        app.feed(ended(1, "a", 1.3, result, "read_file", outcome, attempts, cache, path="src/app.py"))
        assert words in app.screen_text()


async def test_what_runs_when_a_run_is_cancelled_says_cancelled() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*start(), turn(1, 1.0), called(1, "a", 1.1, path="x.py"), finished(2.0, "cancelled"))
        assert "■ read_file x.py  cancelled 0.90 s" in app.screen_text()
        assert "■ cancelled" in app.rows()[app.rows().index(app.row("read_file x.py")) + 1]


async def test_a_failed_run_keeps_its_trace_and_says_why() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*two_turns(), finished(3.0, "failed", "The model's key was refused."))
        assert "failed The model's key was refused." in app.screen_text()
        assert "read_file src/app.py" in app.screen_text()


async def test_the_snapshot_shows_its_trouble_while_it_is_fetched() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.feed(
            start()[0],
            at(ev.AttemptFailed, 0.1, call_id=None, name="snapshot", attempt=1, reason="Bad Gateway", status=502),
            at(ev.RetryScheduled, 0.1, call_id=None, name="snapshot", attempt=2, of=4, delay=2.0),
        )
        assert "▶ snapshot o/r … retry 2 of 4, in 2 s" in app.screen_text()
        app.feed(start()[1])
        assert "✓ snapshot main @ a1b2c3d  3 files" in app.screen_text()
        await app.go_to(pilot, "snapshot")
        await pilot.press("right")
        assert "✗ attempt 1 failed 502 Bad Gateway" in app.screen_text()


async def test_waits_count_down_and_are_told_as_past_when_they_are_over() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.feed(
            *start(),
            turn(1, 1.0),
            called(1, "a", 1.0, path="x.py"),
            called(1, "b", 1.0, path="y.py"),
            at(ev.AttemptFailed, 2.0, call_id="a", name="read_file", attempt=1, reason="time-out", status=None),
            at(ev.RetryScheduled, 2.0, call_id="a", name="read_file", attempt=2, of=4, delay=3.0),
            at(ev.RateLimitWait, 2.0, call_id="b", name="read_file", kind="primary", seconds=34.0, until=9e9),
        )
        assert app.pane.tick(2.0) == pytest.approx(1.0)
        assert "▶ read_file x.py … retry 2 of 4, in 3 s" in app.screen_text()
        assert "▶ read_file y.py … rate limit, 34 s left" in app.screen_text()
        assert app.pane.tick(3.5) == pytest.approx(0.5)
        assert "in 2 s" in app.screen_text()
        assert "33 s left" in app.screen_text()
        app.pane.tick(5.5)
        assert "▶ read_file x.py … running, attempt 2" in app.screen_text()
        await app.go_to(pilot, "x.py")
        await pilot.press("right")
        assert "↻ attempt 2 of 4  after 3.0 s" in app.screen_text()
        app.feed(ended(1, "b", 37.0, {"ok": True}, path="y.py"), ended(1, "a", 37.0, {"ok": True}, path="x.py"))
        assert app.pane.tick(37.0) is None
        await app.go_to(pilot, "y.py")
        await pilot.press("right")
        assert "◷ rate limit  waited 34 s" in app.screen_text()


async def test_a_turn_that_starts_over_shows_why_and_not_what_is_void() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="half a tho"))
        app.feed(at(ev.Notice, 1.15, level="warning", text="The line is weak."))
        app.feed(at(ev.TurnRestarted, 1.2, turn=1, reason="the connection was reset"))
        assert "half a tho" not in app.screen_text()
        app.feed(at(ev.ReasoningDelta, 1.3, turn=1, text="a whole thought"))
        rows = app.screen_text()
        assert "↺ the stream broke, the turn starts over the connection was reset" in rows
        assert "a whole thought" in rows
        assert rows.count("The line is weak.") == 1


async def test_notices_stand_where_they_were_given() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)):
        events = two_turns()
        notices = [
            at(ev.Notice, when, level="info", text=f"notice {when}")  # before, within and after the turns
            for when in (0.7, 1.25, 2.2, 9.5)
        ]
        app.feed(*sorted([*events, *notices[:3], finished(9.0)], key=lambda event: event.at))
        app.feed(notices[3], at(ev.Notice, 0.0, None, level="error", text="between runs"))
        live = [node.subject for node in walk(app.view.tree_.root) if node.kind == "notice"]
        assert live == ["notice 0.7", "notice 1.25", "notice 2.2", "notice 9.5", "between runs"]
        parents = [node.parent and node.parent.name for node in walk(app.view.tree_.root) if node.kind == "notice"]
        assert parents == ["", "Turn 1", "Turn 2", "", ""]


async def test_the_model_s_own_troubles_stand_in_its_turn() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(
            *start(),
            turn(1, 1.0),
            at(ev.AttemptFailed, 1.2, call_id=None, name="llm", attempt=1, reason="overloaded", status=503),
            at(ev.RetryScheduled, 1.2, call_id=None, name="llm", attempt=2, of=4, delay=1.0),
        )
        assert "Turn 1 of 15 … model: retry 2 of 4, in 1 s" in app.screen_text()
        assert "✗ model: attempt 1 failed 503 overloaded" in app.screen_text()
        app.feed(at(ev.ReasoningDelta, 2.3, turn=1, text="So."))
        assert "Turn 1 of 15 … thinking" in app.screen_text()


# -- opening and folding --------------------------------------------------------------------


async def test_the_running_turn_is_open_and_those_before_fold() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 20)):
        app.feed(*two_turns()[:6])
        assert "▶ list_directory … running" in app.screen_text()
        app.feed(*two_turns()[6:])
        assert "▸ ✓ Turn 1 list_directory  1 ok · 1.0 s" in app.screen_text()
        assert "▾ ▶ Turn 2 of 15 read_file ×2 … 1 running, 1 done" in app.screen_text()
        assert "First the root." not in app.screen_text()


async def test_a_turn_that_the_user_folded_or_looked_into_stays_so() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns()[:6])
        await app.go_to(pilot, "thought")
        await pilot.press("enter", "end")
        app.feed(*two_turns()[6:])
        assert "│ First the root." in app.screen_text()
        await app.go_to(pilot, "Turn 2")
        await pilot.press("left", "end")
        app.feed(ended(2, "c", 2.6, {"ok": True}, path="src/nope.py"))
        assert "▸ ▶ Turn 2" in app.screen_text()


async def test_nothing_folds_under_the_eyes_of_who_reads_above_the_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns()[:6])
        await pilot.press("up", "up")
        app.feed(*two_turns()[6:])
        assert "▾ ✓ Turn 1" in app.screen_text()
        assert "First the root." in app.screen_text()


async def test_an_observation_opens_to_the_file_as_it_is() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "read_file src/app.py")
        await pilot.press("enter")
        assert "▸ arguments  path: src/app.py, owner: o, repo: r" in app.screen_text()
        await app.go_to(pilot, "observation")
        await pilot.press("space")
        rows = app.rows()
        begin = next(at for at, row in enumerate(rows) if row.endswith("│ content:"))
        assert [row.split("│ ")[-1] for row in rows[begin + 1 : begin + 4]] == [
            "def function_0():", "    return 0", "     │",
        ]  # fmt: skip
        assert any(row.endswith("│ path: src/app.py") for row in rows)


async def test_reasoning_streams_open_and_folds_when_the_calls_come() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="I look at the root. "))
        app.feed(at(ev.ReasoningDelta, 1.2, turn=1, text="Then at the manifest."))
        assert "│ I look at the root. Then at the manifest." in app.screen_text()
        app.feed(called(1, "a", 1.4, path="x"))
        assert "▸ reasoning  I look at the root. Then at the manif" in app.screen_text()


async def test_what_streams_folded_shows_its_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(60, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReportDelta, 1.1, turn=1, text="word " * 60 + "the end"))
        assert app.row("writing  …").endswith("word the end")
        app.feed(at(ev.Thought, 1.2, turn=1, text="It was no report."))
        assert "▸ thought  It was no report." in app.screen_text()
        assert "writing" not in app.screen_text().replace("… writing", "")


async def test_right_goes_in_and_left_comes_out() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("right", "right")
        assert "reasoning" in app.under_cursor()
        await pilot.press("right", "right")
        assert "│ The root shows" in app.under_cursor()
        await pilot.press("left")
        assert "▸ reasoning" in app.under_cursor()
        await pilot.press("left")
        assert "▾ ✓ Turn 1" in app.under_cursor()
        await pilot.press("left")
        assert "▸ ✓ Turn 1" in app.under_cursor()
        await pilot.press("left")
        assert "▸ ✓ Turn 1" in app.under_cursor()


async def test_everything_opens_and_folds_at_once_and_the_cursor_keeps_its_line() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("asterisk")
        assert "Turn 1" in app.under_cursor()
        assert "│ First the root." in app.screen_text()
        await pilot.press("minus")
        assert [row for row in app.rows() if "▾" in row] == []
        assert "Turn 1" in app.under_cursor()


async def test_a_click_on_a_line_opens_and_folds_it_and_takes_the_focus() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        app.set_focus(None)
        await pilot.pause()
        row = app.rows().index(app.row("Turn 1"))
        await pilot.click(app.view, offset=(9, row))
        assert "▾ ✓ Turn 1" in app.rows()[row]
        assert "Turn 1" in app.under_cursor()
        await pilot.click(app.view, offset=(9, row + 1))
        assert "│ The root shows" in app.rows()[row + 2]
        await pilot.click(app.view, offset=(9, row + 2))
        assert "│ The root shows" in app.under_cursor()
        await pilot.click(app.view, offset=(9, row))
        assert "▸ ✓ Turn 1" in app.rows()[row]


# -- following ------------------------------------------------------------------------------


async def test_the_end_is_followed_until_the_user_goes_up_and_again_when_they_come_back() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        events = list(long_run(200))
        app.feed(*events[:100])
        assert app.view.is_vertical_scroll_end
        await pilot.press("up", "up")
        above = app.rows()[:-3]
        app.feed(*events[100:150])
        assert app.rows()[: len(above)] == above
        assert app.pane.border_subtitle == "f follows the end"
        await pilot.press("f")
        assert "part_2" in app.screen_text()
        app.feed(*events[150:])
        assert app.view.is_vertical_scroll_end
        assert app.pane.border_subtitle == ""
        await pilot.press("up", "down")
        assert app.view.following


async def test_the_wheel_ends_and_begins_the_following() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.feed(*long_run(200))
        app.view._on_mouse_scroll_up(_wheel(app))
        await pilot.pause()
        assert not app.view.following
        app.view._on_mouse_scroll_down(_wheel(app))
        await pilot.pause()
        assert app.view.following


def _wheel(app: TraceApp) -> Any:
    from textual.events import MouseScrollDown

    return MouseScrollDown(app.view, 1, 1, 0, 0, 0, False, False, False)


async def test_pages_and_home_move_the_cursor_and_the_window() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.feed(*long_run(200))
        await pilot.press("home")
        assert app.rows()[0].startswith("▌")
        await pilot.press("pagedown", "pagedown")
        before = app.under_cursor()
        await pilot.press("pageup", "pagedown")
        assert app.under_cursor() == before
        await pilot.press("end")
        assert app.view.following


async def test_another_width_keeps_the_words_that_are_read() -> None:
    app = TraceApp()
    async with app.run_test(size=(160, 14)) as pilot:
        words = " ".join(f"word{n}" for n in range(2000))
        app.feed(*start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text=words), called(1, "a", 1.2, path="x"))
        await app.go_to(pilot, "reasoning")
        await pilot.press("enter", *["pagedown"] * 4)
        first = int(app.rows()[0].split("│ word")[1].split()[0])
        for width in (80, 40, 20, 160):
            await pilot.resize_terminal(width, 14)
            await pilot.pause()
            now_first = int(app.rows()[0].split("│ word")[1].split()[0])
            assert abs(now_first - first) < 25
            assert all(cell_len(strip.text) == app.width for strip in app.strips())


# -- search ---------------------------------------------------------------------------------


async def test_folded_texts_are_searched_and_a_jump_opens_them() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        assert app.pane.search("FUNCTION_7()") == 1
        assert "(1 hit)" in app.row("read_file src/app.py")
        await pilot.press("n")
        assert "def function_7():" in app.under_cursor()
        assert app.pane.border_subtitle == "1 of 1 · f follows the end"
        app.pane.clear_search()
        assert "hit" not in app.screen_text()


async def test_hits_are_marked_where_they_are_seen_also_across_rows() -> None:
    app = TraceApp()
    async with app.run_test(size=(40, 30)) as pilot:
        words = "a row of words that is cut where the needle lies"
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text=words))
        assert app.pane.search("the needle") == 1
        marked = [
            segment.text
            for strip in app.strips()
            for segment in strip
            if segment.style is not None and (segment.style.underline or segment.style.reverse)
        ]
        assert "".join(marked).replace(" ", "") == "theneedle"
        await pilot.press("n")
        assert any(segment.style and segment.style.reverse for strip in app.strips() for segment in strip)


async def test_the_search_bar_finds_steps_and_gives_the_focus_back() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.press("slash", *"function_1")
        assert app.focused is not app.view
        hits = PROGRAM.count("function_1")
        assert str(app.pane.query_one("#trace-hits").render()) == f"{hits} hits"
        await pilot.press("enter", "enter")
        assert str(app.pane.query_one("#trace-hits").render()) == f"2 of {hits}"
        assert "def function_10():" in app.under_cursor()
        await pilot.press("up")
        assert "def function_1():" in app.under_cursor()
        await pilot.press("escape")
        assert app.focused is app.view
        assert not app.pane.query_one("#trace-search").display
        assert "def function_1():" in app.under_cursor()
        await pilot.press("N", "n", "n")
        assert "def function_10():" in app.under_cursor()


async def test_words_that_are_nowhere_are_said_to_be() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.press("n", "slash", *"[red]", "enter")
        assert str(app.pane.query_one("#trace-hits").render()) == "no hits"
        said = [notification.message for notification in app._notifications]
        assert said == ["Nothing was searched for yet: press / first.", "“[red]” is nowhere in the trace."]


async def test_what_comes_while_searching_counts_too() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)):
        app.feed(*start(), turn(1, 1.0), at(ev.ReasoningDelta, 1.1, turn=1, text="a needle, "))
        assert app.pane.search("needle") == 1
        app.feed(at(ev.ReasoningDelta, 1.2, turn=1, text="another needle and a nee"))
        app.feed(at(ev.ReasoningDelta, 1.3, turn=1, text="dle"))
        assert app.view.told == "3 hits"
        app.feed(at(ev.TurnRestarted, 1.4, turn=1, reason="reset"))
        assert app.view.told == "no hits"


async def test_a_long_trace_is_searched_in_slices_and_wholly() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*long_run(10_000))
        found = app.pane.search("imported")
        assert 0 < found < 2000
        await pilot.pause()
        while not app.view.search.done:
            await pilot.pause()
        assert app.view.told == "2,000 hits"


# -- copying --------------------------------------------------------------------------------


async def test_a_node_is_copied_whole_with_all_below_it() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "read_file src/app.py")
        await pilot.press("c")
        assert app.clipboard.startswith("✓ read_file src/app.py ok 0.21 s\n  arguments")
        assert "    def function_140():\n        return 140\n" in app.clipboard
        await pilot.press("right")
        await app.go_to(pilot, "observation")
        assert app.pane.copy_text() == readable(a_file("src/app.py", PROGRAM))


async def test_what_is_copied_cannot_act_where_it_is_pasted() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 30)) as pilot:
        app.feed(*start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text="\x1b[31m\tx\ud800"))
        await app.go_to(pilot, "reasoning")
        await pilot.press("c")
        assert app.clipboard == "␛[31m\tx⟨U+D800⟩"


# -- text from outside ----------------------------------------------------------------------


@pytest.mark.parametrize("width", [160, 80, 40, 20, 5])
@pytest.mark.parametrize("kind", HOSTILE)
async def test_text_from_outside_is_shown_and_never_acts(kind: str, width: int) -> None:
    text = HOSTILE[kind]
    app = TraceApp()
    async with app.run_test(size=(width, 30)) as pilot:
        app.feed(
            *start(question=text),
            at(ev.Notice, 0.6, level="warning", text=text),
            turn(1, 1.0),
            at(ev.Reasoning, 1.1, turn=1, text=text),
            at(ev.Thought, 1.2, turn=1, text=text),
            called(1, "a", 1.3, text or "tool", path=text),
            at(ev.AttemptFailed, 1.4, call_id="a", name="read_file", attempt=1, reason=text, status=None),
            ended(1, "a", 1.5, {"ok": False, "error": text, text: [text]}, text or "tool", "error", path=text),
            finished(2.0, "failed", text),
        )
        await pilot.press("asterisk", "home")
        app.pane.search(text[:9])
        for key in (*["pagedown"] * 5, "end", "pageup", "home"):
            for strip in app.strips():
                assert cell_len(strip.text) == app.width
                assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or c in "\u202e\u200b\ufeff" for c in strip.text)
                assert not any(segment.style and segment.style.meta for segment in strip)
            await pilot.press(key)
        await pilot.click(app.view, offset=(min(6, app.width - 1), 2))
        assert app.is_running
        assert app.export_screenshot()


async def test_markup_stands_on_the_screen_as_it_was_written() -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 20)):
        app.feed(*start(question="[red]x[/red] [@click=app.quit]y[/]"), turn(1, 1.0))
        assert "[red]x[/red] [@click=app.quit]y[/]" in app.screen_text()


# -- what it costs --------------------------------------------------------------------------


async def test_only_what_is_seen_is_laid_out_however_much_is_opened() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        events = [*start(), turn(1, 1.0)]
        for n in range(400):
            events += [called(1, f"c{n}", 2.0, path=f"f{n}"), ended(1, f"c{n}", 2.0, a_file(f"f{n}", PROGRAM))]
        app.feed(*events)
        assert app.view.tree_.wrapped == 0
        await pilot.press("home", "asterisk")
        await pilot.pause()
        assert app.view.tree_.height > 5_000
        assert app.view.tree_.wrapped < 700
        before = app.view.tree_.wrapped
        await pilot.press(*["pagedown"] * 3)
        assert app.view.tree_.wrapped - before < 700


async def test_a_line_of_20_000_characters_opens_at_once() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(
            *start(), turn(1, 1.0), at(ev.Reasoning, 1.1, turn=1, text="y" * 20_000), called(1, "a", 1.2, path="x")
        )
        await app.go_to(pilot, "reasoning")
        drawn = app.view.lines_drawn
        await pilot.press("enter")
        assert 20_000 / 100 < app.view.tree_.wrapped < 20_000 / 80
        assert app.view.lines_drawn - drawn <= 3 * app.view.size.height
        assert "│ yyyy" in app.screen_text()


async def test_text_that_streams_is_laid_out_from_its_last_row_on() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)):
        app.feed(*start(), turn(1, 1.0))
        for n in range(1500):
            app.feed(at(ev.ReasoningDelta, 1.1, turn=1, text=f"word{n} "))
        rows = app.node("reasoning").text_rows
        assert rows > 120
        # a piece lays out the row that it grows and at most the one that it begins
        assert app.view.tree_.wrapped <= 1500 + 2 * rows


async def test_what_streams_out_of_sight_is_not_laid_out() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.feed(*long_run(200), turn(99, 500.0))
        await pilot.press("home")
        await pilot.pause()
        wrapped, drawn = app.view.tree_.wrapped, app.view.lines_drawn
        for n in range(200):
            app.feed(at(ev.ReasoningDelta, 501.0, turn=99, text=f"word{n} "))
        await pilot.pause()
        assert (app.view.tree_.wrapped, app.view.lines_drawn) == (wrapped, drawn)


async def test_the_ten_thousandth_event_costs_what_the_hundredth_did() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        events = list(long_run(10_000))
        looked, touched = [], []
        for n, event in enumerate(events):
            before = app.view.sync.looked_at
            app.state.apply(event)
            app.view.sync.update(app.state, app.state.at)
            looked.append(app.view.sync.looked_at - before)
            touched.append(len(app.view.tree_.dirty))
            app.draw()
            if n % 1000 == 0:
                await pilot.pause()
        assert max(looked[9000:]) <= max(looked[90:110])
        assert max(touched[9000:]) <= max(touched[90:110])
        await pilot.pause()
        drawn = app.view.lines_drawn
        app.feed(called(2001, "z", 3000.0, path="last"))
        await pilot.pause()
        assert app.view.lines_drawn - drawn <= app.view.size.height


async def test_a_change_on_one_line_draws_that_line_alone() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await pilot.pause()
        drawn = app.view.lines_drawn
        app.feed(ended(2, "c", 2.6, {"ok": False, "error": "No."}, outcome="error", path="src/nope.py"))
        await pilot.pause()
        assert app.view.lines_drawn - drawn <= 3


# -- runs -----------------------------------------------------------------------------------


async def test_a_new_run_begins_with_an_empty_trace_at_its_end() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 12)) as pilot:
        app.feed(*long_run(200), finished(900.0))
        await pilot.press("home")
        app.pane.search("part")
        app.feed(*start("run-2", "Another question"))
        assert "Another question" in app.screen_text()
        assert "Turn" not in app.screen_text()
        assert app.view.following
        assert app.view.told == ""
        app.state = DashboardState()
        app.draw()
        assert "Nothing to trace yet" in app.screen_text()


async def test_a_run_that_is_stepped_back_keeps_what_the_user_opened() -> None:
    app = TraceApp()
    async with app.run_test(size=(100, 30)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        await pilot.press("right")
        await app.go_to(pilot, "thought")
        await pilot.press("enter")
        before = app.screen_text()
        for events in (two_turns()[:-1], two_turns()[:7], two_turns()):
            app.state = DashboardState()
            app.feed(*events)
            assert "│ First the root." in app.screen_text()
            assert "thought" in app.under_cursor()
        assert app.screen_text() == before


async def test_a_run_seen_at_once_looks_as_it_did_when_it_was_watched() -> None:
    watched, replayed = TraceApp(), TraceApp()
    events = [*two_turns(), at(ev.Notice, 2.5, level="info", text="said"), finished(3.0)]
    async with watched.run_test(size=(100, 30)):
        for event in events:
            watched.feed(event)
        rows = watched.rows()
    async with replayed.run_test(size=(100, 30)):
        replayed.feed(*events)
        assert replayed.rows() == rows


# -- the look -------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [160, 80, 40])
async def test_every_width_shows_the_tool_and_its_state(width: int) -> None:
    app = TraceApp()
    async with app.run_test(size=(width, 20)):
        app.feed(*two_turns())
        assert "✓ read_file" in app.row("read_file") or "▶ Turn 2" in app.row("read_file")
        done = next(row for row in app.rows() if "✓ read_file" in row)
        assert "app.py" in done
        assert "ok" in done
        assert "running" in next(row for row in app.rows() if "▶ read_file" in row)


async def test_without_colours_shapes_and_words_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TraceApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.feed(*two_turns())
        await app.go_to(pilot, "Turn 1")
        assert app.under_cursor().startswith("▌")
        assert "✓ read_file src/app.py  ok" in app.screen_text()
        assert app.export_screenshot()


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "nord", "solarized-light"])
async def test_every_style_can_be_read_in_dark_and_light_themes(theme: str) -> None:
    app = TraceApp()
    async with app.run_test(size=(80, 20)) as pilot:
        app.theme = theme
        await pilot.pause()
        for name in sorted(app.view.COMPONENT_CLASSES - {"trace--bar", "trace--cursor", "trace--guide"}):
            style = app.view.get_component_rich_style(name)
            assert style.color is not None
            assert style.bgcolor is not None
            ink, paper = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            assert ink.get_contrast_text is not None
            assert _contrast(ink, paper) >= 3, (theme, name)


def _contrast(one: Color, other: Color) -> float:
    """Contrast ratio by WCAG 2."""

    def luminance(color: Color) -> float:
        parts = [value / 12.92 if value <= 0.03928 else ((value + 0.055) / 1.055) ** 2.4 for value in color.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)

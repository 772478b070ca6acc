"""The trace pane in an app of its own, and the events of a run to feed it with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip

from tui_agent import events as ev
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets.trace import TracePane
from tui_agent.tui.widgets.trace_tree import Node, walk
from tui_agent.tui.widgets.trace_view import TraceView

RUN = "run-1"
HERE: dict[str, Any] = {"owner": "o", "repo": "r"}
PROGRAM = "".join(f"def function_{n}():\n    return {n}\n\n" for n in range(150))[:6000]


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


def rows_one_by_one(node: Node) -> Iterator[tuple[Node, int]]:
    """Every row of a tree as it should stand, counted one by one."""
    for child in node.children:
        yield from ((child, row) for row in range(child.rows if not child.open else 1 + child.text_rows))
        if child.open:
            yield from rows_one_by_one(child)


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

"""The dashboard as it is measured: the real one, with a counter of the keys that it has seen on its screen."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

from rich.console import RenderableType
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Markdown

from tests.tui_session import ScriptedSession
from tui_agent import events as ev
from tui_agent.resilience.clock import SystemClock
from tui_agent.tui import app
from tui_agent.tui.app import DashboardApp

RUN = "bench"
BEAT_KEY = Binding("ctrl+g", "beat", show=False, priority=True)


class Beat(Widget):
    """How many keys were seen; drawn again by itself alone."""

    DEFAULT_CSS = "Beat { dock: bottom; height: 1; width: 10; }"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._asked = False

    def ask(self) -> None:
        """Have keys pressed from now on."""
        self._asked = True
        self.refresh()

    def beat(self) -> None:
        """One more."""
        self.count += 1
        self.refresh()

    def render(self) -> str:
        """The counter, as the benchmark looks for it."""
        return f"<{self.count}>" if self._asked else ""


class Board(DashboardApp):
    """The dashboard, whose events a benchmark makes.

    Args:
        work: what is done once everything stands on the screen; the process ends with it.
    """

    CSS_PATH = Path(app.__file__).with_name("app.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [BEAT_KEY]

    def __init__(self, work: Callable[[Board], Awaitable[None]]) -> None:
        super().__init__(ScriptedSession(), clock=SystemClock())
        self.counter = Beat()
        self.painted = asyncio.Event()
        self._work_to_do = work

    async def on_dashboard_screen_ready(self) -> None:
        """Begin when all is drawn."""
        super().on_dashboard_screen_ready()
        await self.board.mount(self.counter)
        self.set_timer(0.5, self._start_work)

    def _start_work(self) -> None:
        gc.freeze()  # as the program does when everything is imported
        self.run_worker(self._do())

    async def _do(self) -> None:
        await self._work_to_do(self)
        self.exit(0)

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        self.painted.set()

    def action_beat(self) -> None:
        """A key was pressed."""
        self.counter.beat()

    def begin(self, **fields: object) -> None:
        """A run begins."""
        begun = ev.RunStarted(
            run_id=RUN, repo="octo/bench", source="github", ref=None, question="What is it?", engine="llm", model="m"
        )
        self.take(begun)
        self.board.focus_pane(0)

    def take(self, event: ev.Event) -> None:
        """The run emits an event."""
        self.show(self.stamped(event))

    def stamped(self, event: ev.Event) -> ev.Event:
        """An event as the run emits it now."""
        return ev.stamp(event, self.run_time(), RUN)

    def show(self, event: ev.Event) -> None:
        """Take in a stamped event, as the session hands it over."""
        self._emit(event)

    def draw(self) -> None:
        """Draw what came, now."""
        self._refresher.flush()


class Bare(App[None]):
    """Textual's own: a box with Markdown in the place of the report, or a word alone.

    Args:
        work: what is done once everything stands on the screen; the process ends with it.
        markdown: whether there is the box; as large as the report's pane on the same terminal.
    """

    CSS = """
    #box { border: round $border; dock: right; width: 60; height: 23; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [BEAT_KEY]

    def __init__(self, work: Callable[[Bare], Awaitable[None]], *, markdown: bool) -> None:
        super().__init__()
        self.counter = Beat()
        self.markdown = Markdown() if markdown else None
        self._work_to_do = work

    def compose(self) -> ComposeResult:
        """What is measured."""
        yield self.counter
        if self.markdown is not None:
            with VerticalScroll(id="box") as box:
                yield self.markdown
            box.anchor()

    def on_mount(self) -> None:
        """Begin when all is drawn."""
        self.set_timer(0.5, self._start_work)

    def _start_work(self) -> None:
        gc.freeze()
        self.run_worker(self._do())

    async def _do(self) -> None:
        await self._work_to_do(self)
        self.exit()

    def action_beat(self) -> None:
        """A key was pressed."""
        self.counter.beat()


async def calm() -> None:
    """Let everything that follows from what was done happen."""
    await asyncio.sleep(0.02)

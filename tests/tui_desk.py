"""One dashboard under test: its session, its clock, and what stands on its screen."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.events import Key, Paste
from textual.pilot import Pilot

from tests.tui_session import ScriptedSession
from tui_agent.request import RunRequest
from tui_agent.tui.app import DashboardApp

WIDE = (130, 36)
SIZES = [(160, 48), (100, 30), (80, 24), (60, 20), (20, 5)]
REQUEST = RunRequest(repo="pallets/flask")


class Desk:
    """One dashboard under test with its session, its clock and its screen."""

    def __init__(self, app: DashboardApp, session: ScriptedSession, pilot: Pilot[int]) -> None:
        self.app = app
        self.session = session
        self.pilot = pilot
        self.clock = session.clock

    @property
    def screen(self) -> str:
        """What stands on the terminal."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    @property
    def told(self) -> list[str]:
        """What was said in answer to keys."""
        return [notification.message for notification in self.app._notifications]

    @property
    def focused(self) -> str:
        """The title of the pane that has the focus, or the id of what has it."""
        pane = next((pane for pane in self.app.board.panes if pane.has_focus_within or pane.has_focus), None)
        if pane is not None:
            return str(pane.border_title)
        return (self.app.focused and self.app.focused.id) or ""

    async def press(self, *keys: str) -> None:
        """Press keys, and let everything that follows happen."""
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str) -> None:
        """Put a text into the field that has the focus, in one go as a paste does."""
        self.app.post_message(Paste(text))
        await self.pilot.pause()

    async def burst(self, text: str) -> None:
        """Type a text faster than anything can follow, as a terminal hands over what was typed in one go."""
        for letter in text:
            self.app.post_message(Key({"/": "slash", " ": "space"}.get(letter, letter), letter))
        await self.settle()

    async def settle(self) -> None:
        """Let what was emitted be drawn."""
        await self.pilot.pause()
        self.app._refresher.flush()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something that happens by itself."""
        for _ in range(200):
            if holds():
                return
            await self.pilot.pause(0.01)
        raise AssertionError(f"never came true; the screen:\n{self.screen}")


def names_in(folder: Path) -> list[str]:
    """The names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


@asynccontextmanager
async def dashboard(
    request: RunRequest | None = REQUEST,
    size: tuple[int, int] = WIDE,
    session: ScriptedSession | None = None,
    **options: object,
) -> AsyncIterator[Desk]:
    session = session or ScriptedSession()
    app = DashboardApp(session, request, clock=session.clock, **options)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=True) as pilot:
        desk = Desk(app, session, pilot)
        await desk.until(lambda: session.prepared)
        if request is not None:
            await desk.until(lambda: bool(session.requests))
        await desk.settle()
        yield desk

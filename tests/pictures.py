"""Make the README's pictures: `python -m tests.pictures FOLDER FOLDER`. The program exports them itself, in its demo.

The two folders are compared with each other; without them, and without git history in them, that picture stays.
Everything else comes from the demo and from `tests/records.py`; nothing is read from or kept in the user's folders.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from tests.records import some_records
from tui_agent import i18n
from tui_agent.events import BreakerChanged, Event, RateLimitWait, RunFinished
from tui_agent.request import RunRequest
from tui_agent.runs.store import RunStore
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.tui.app import DashboardApp
from tui_agent.tui.preferences import Preferences
from tui_agent.tui.saving import picture_of

FOLDER = Path(__file__).parents[1] / ".github"
WIDE, LIST, NARROW = (150, 40), (110, 28), (60, 20)
DEMO = RunRequest(repo="demo")


class Watched(Session):
    """A session whose events are kept, so that a picture can wait for its moment."""

    def __init__(self, settings: Settings, *, demo: bool = False) -> None:
        super().__init__(settings, demo=demo)
        self.seen: list[Event] = []

    async def run(self, request: RunRequest, emit):  # type: ignore[no-untyped-def]
        """A run of the session."""

        def watched(event: Event) -> None:
            emit(event)
            self.seen.append(event)

        return await super().run(request, watched)

    async def until(self, holds: Callable[[Event], bool]) -> None:
        """Wait for an event."""
        async with asyncio.timeout(60):
            while not any(holds(event) for event in self.seen):
                await asyncio.sleep(0.05)


def small(svg: str) -> str:
    """The same picture in fewer bytes: the long name that each part carries is cut, blanks are written as they are."""
    return re.sub(r"terminal-\d+", "t", svg).replace("&#160;", "\u00a0")


def take(app: DashboardApp, name: str) -> None:
    """Write a picture of the screen."""
    file = FOLDER / f"{name}.svg"
    file.write_text(small(picture_of(app)), encoding="utf-8")
    print(f"{file} {file.stat().st_size // 1000} kB", flush=True)


@asynccontextmanager
async def desk(
    session: Watched, request: RunRequest | None, size: tuple[int, int] = WIDE, theme: str = "dark"
) -> AsyncIterator[tuple[DashboardApp, Pilot[int]]]:
    """A dashboard."""
    settings = session.settings
    app = DashboardApp(
        session,
        request,
        threshold=settings.breaker_threshold,
        theme=theme,
        preferences=Preferences(settings),
        context_limit=settings.context_limit,
    )
    async with app.run_test(size=size) as pilot:
        yield app, pilot


async def in_the_demo() -> None:
    """The demo's moments, its report, and the evidence for that."""
    session = Watched(Settings(), demo=True)
    async with desk(session, DEMO) as (app, pilot):
        await session.until(lambda event: isinstance(event, BreakerChanged) and event.state == "open")
        await pilot.pause(1.5)
        take(app, "breaker")
        await session.until(lambda event: isinstance(event, RateLimitWait))
        await pilot.pause(1.5)
        take(app, "waiting")
        await session.until(lambda event: isinstance(event, RunFinished))
        await pilot.pause(1.0)
        take(app, "dashboard")
        await pilot.press("5", "v")
        await pilot.pause(0.5)
        take(app, "evidence")


async def of_records() -> None:
    """The list of records, and the demo's played again."""
    some_records(RunStore().folder)
    session = Watched(Settings())
    async with desk(session, None, LIST) as (app, pilot):
        await pilot.press("escape", "h")
        await pilot.pause(1.0)
        take(app, "history")
        await pilot.resize_terminal(*WIDE)
        await pilot.press("enter")
        await pilot.pause(1.0)
        await pilot.press("e", "less_than_sign", *["n"] * 5)
        await pilot.pause(0.5)
        take(app, "replay")


async def on_a_narrow_terminal() -> None:
    """The demo where panes are tabs."""
    session = Watched(Settings(record=False), demo=True)
    async with desk(session, DEMO, NARROW) as (app, pilot):
        await session.until(lambda event: isinstance(event, BreakerChanged) and event.state == "open")
        await pilot.press("2")
        await pilot.pause(1.0)
        take(app, "narrow")


async def in_chinese() -> None:
    """The demo in the other language."""
    i18n.use("zh")
    session = Watched(Settings(record=False, lang="zh"), demo=True)
    async with desk(session, RunRequest(repo="demo", lang="zh")) as (app, pilot):
        await session.until(lambda event: isinstance(event, RunFinished))
        await pilot.pause(1.0)
        take(app, "chinese")
    i18n.use("en")


async def of_settings() -> None:
    """The settings, in the light theme."""
    async with desk(Watched(Settings()), None, LIST, theme="light") as (app, pilot):
        await pilot.press("escape", "o")
        await pilot.pause(1.0)
        take(app, "settings")


async def of_a_comparison(one: str, other: str) -> None:
    """Two local repositories side by side, and what is computed of them."""
    session = Watched(Settings(record=False))
    asked = RunRequest(repo=one, others=(other,), engine="survey")
    async with desk(session, asked) as (app, pilot):
        while sum(isinstance(event, RunFinished) for event in session.seen) < 3:
            await asyncio.sleep(0.1)
        await pilot.pause(1.0)
        take(app, "compare")


async def main(folders: list[str]) -> None:
    """Write them all."""
    FOLDER.mkdir(exist_ok=True)
    i18n.use("en")
    await in_the_demo()
    await of_records()
    await of_settings()
    if len(folders) == 2:
        await of_a_comparison(*folders)
    await on_a_narrow_terminal()
    await in_chinese()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {f"XDG_{kind}_HOME": home for kind in ("STATE", "CACHE", "CONFIG")}
        os.environ["TZ"] = "UTC"
        time.tzset()
        asyncio.run(main(sys.argv[1:]))

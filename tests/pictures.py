"""Make the README's pictures: `python tests/pictures.py`. The program exports them itself, in the midst of its demo."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tui_agent.events import Event, RateLimitWait, RunFinished
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.tui.app import DashboardApp

FOLDER = Path(__file__).parents[1] / ".github"
SIZE = (160, 44)


class Watched(Session):
    """The demo, with a signal at the moments that are worth a picture."""

    def __init__(self) -> None:
        super().__init__(Settings(), demo=True)
        self.waiting = asyncio.Event()
        self.finished = asyncio.Event()

    async def run(self, request: RunRequest, emit):  # type: ignore[no-untyped-def]
        """The demo's run."""

        def watched(event: Event) -> None:
            emit(event)
            if isinstance(event, RateLimitWait):
                self.waiting.set()
            if isinstance(event, RunFinished):
                self.finished.set()

        return await super().run(request, watched)


async def main() -> None:
    """Write `dashboard.svg` (at the end) and `waiting.svg` (at the rate limit)."""
    FOLDER.mkdir(exist_ok=True)
    session = Watched()
    app = DashboardApp(session, RunRequest(repo="demo"), threshold=session.settings.breaker_threshold)
    async with app.run_test(size=SIZE) as pilot:
        for moment, name in ((session.waiting, "waiting.svg"), (session.finished, "dashboard.svg")):
            await moment.wait()
            await pilot.pause(1.0)
            (FOLDER / name).write_text(app.export_screenshot(title="repo-agent-tui"), encoding="utf-8")
            print(FOLDER / name)


if __name__ == "__main__":
    asyncio.run(main())

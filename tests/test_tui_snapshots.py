"""Whole screens as text, at four widths: what changes on one is seen in a diff.

`UPDATE_SNAPSHOTS=1 pytest tests/test_tui_snapshots.py` writes them anew.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.records import some_records, story
from tests.tui_desk import Desk, dashboard
from tests.tui_session import breaker, ended, quota, started
from tui_agent import events as ev
from tui_agent.request import RunRequest
from tui_agent.tui.replay import Player, Reel
from tui_agent.tui.replaying import Opened

FOLDER = Path(__file__).parent / "snapshots"
WIDTHS = {40: 14, 80: 24, 120: 36, 160: 44}
HEIGHTS = {**WIDTHS, 60: 20}
REPORT = """# Flask

A micro **web framework**, built on Werkzeug and Jinja.

## Tech stack

- Python 3.9 and newer (`pyproject.toml`)
- `werkzeug`, `jinja2`, `click`

## Risks

None that follow from the facts.
"""


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def explore(desk: Desk) -> None:
    """Half a run: calls side by side, retries, a breaker that opens, a wait for a limit."""
    tell, clock = desk.session.tell, desk.clock
    clock.pass_(0.8)
    tell(ev.Snapshot(repo="pallets/flask", ref="main", commit="1a2b3c4d" * 5, files=221, truncated=False))
    tell(quota(4830, 170, reset=1_800_001_800))
    tell(ev.TurnStarted(turn=1, max_turns=15))
    tell(ev.Reasoning(turn=1, text="I begin with the overview, the root and the README."))
    tell(ev.Thought(turn=1, text="Let me look around."))
    tell(
        ev.Usage(
            prompt_tokens=9000,
            completion_tokens=300,
            cached_tokens=7000,
            reasoning_tokens=90,
            context_tokens=12_345,
            cost=0.0042,
            currency="CNY",
        )
    )
    tell(started("a", "get_repo_info"))
    tell(started("b", "list_directory", path=""))
    tell(started("c", "read_file", path="README.md"))
    tell(ended("b", "list_directory", attempts=0, cache="memory", elapsed=0.0))
    clock.pass_(0.9)
    tell(ended("a", "get_repo_info", elapsed=0.9))
    tell(quota(4821, 179, reset=1_800_001_800))
    tell(ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="HTTP 503", status=503))
    tell(ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=1.2))
    clock.pass_(2.0)
    tell(ended("c", attempts=2, elapsed=2.9))
    tell(ev.TurnStarted(turn=2, max_turns=15))
    tell(started("d", "read_file", turn=2, path="src/flask/app.py"))
    tell(started("e", "read_file", turn=2, path="src/flask/nope.py"))
    tell(started("f", "get_commits", turn=2, per_page=30))
    clock.pass_(0.4)
    tell(ended("e", outcome="error", turn=2, elapsed=0.4))
    tell(ev.RateLimitWait(call_id="f", name="get_commits", kind="secondary", seconds=9, until=1_800_000_015))
    tell(breaker("read_file", "open", failures=5, retry_in=30))
    tell(ev.AttemptFailed(call_id="d", name="read_file", attempt=1, reason="HTTP 500", status=500))
    tell(ended("d", outcome="fallback", turn=2, elapsed=0.4))
    tell(quota(4812, 188, reset=1_800_001_800))
    tell(ev.Notice(level="warning", text="The breaker of read_file is open: calls fall back at once."))
    clock.pass_(3.0)


async def frame(width: int, state: str) -> str:
    """The screen in one of its states."""
    request = None if state == "idle" else RunRequest(repo="pallets/flask")
    async with dashboard(request, size=(width, HEIGHTS[width]), context_limit=128_000) as desk:
        if request is not None:
            explore(desk)
        if state == "completed":
            desk.session.tell(ev.TurnStarted(turn=3, max_turns=15))
            desk.session.tell(ev.ReportDelta(turn=3, text=REPORT))
            desk.session.finish("completed", REPORT)
        if state == "failed":
            desk.session.finish("failed", error="The model was lost before anything was observed: HTTP 500.")
        await desk.settle()
        if state == "completed" and width < 100:
            await desk.press("5")
        await desk.settle()
        return seen_on(desk)


def seen_on(desk: Desk) -> str:
    """The screen without blanks at the lines' ends."""
    return "\n".join(line.rstrip() for line in desk.screen.splitlines()) + "\n"


def compare(seen: str, name: str) -> None:
    """The screen is the one in the file."""
    file = FOLDER / name
    if os.environ.get("UPDATE_SNAPSHOTS"):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(seen, encoding="utf-8")
    assert seen == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("state", ["idle", "running", "completed", "failed"])
@pytest.mark.parametrize("width", WIDTHS)
async def test_the_screen_looks_as_it_did(width: int, state: str) -> None:
    compare(await frame(width, state), f"{state}-{width}.txt")


@pytest.mark.parametrize("width", WIDTHS)
async def test_a_replay_in_its_middle_looks_as_it_did(width: int) -> None:
    player = Player([Reel(1_790_000_000.0, story())])
    player.go(8)
    shown = Opened(player, RunRequest(repo="pallets/flask"), "r1")
    async with dashboard(None, size=(width, WIDTHS[width]), replay=shown) as desk:
        await desk.until(lambda: desk.app._stage.player is not None)
        await desk.press("space", "e")
        compare(seen_on(desk), f"replay-{width}.txt")


@pytest.mark.parametrize("width", [40, 160])
async def test_the_recorded_runs_look_as_they_did(width: int, tmp_path: Path) -> None:
    async with dashboard(None, size=(width, WIDTHS[width]), store=some_records(tmp_path)) as desk:
        await desk.press("escape", "h")
        await desk.until(lambda: "pallets" in desk.screen)
        await desk.settle()
        compare(seen_on(desk), f"history-{width}.txt")


async def test_without_colours_the_same_words_and_shapes_stand_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    seen = await frame(120, "running")
    assert seen == (FOLDER / "running-120.txt").read_text(encoding="utf-8")

"""What a dashboard costs in which nothing happens, a countdown runs, or a model is awaited; beside a bare Textual app.

Run as `python -m tests.benchmarks.idle KIND SECONDS FILE` it is one of the measured processes.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time

from tests.benchmarks.board import Bare, Board
from tests.benchmarks.terminal import Seen, told, watch
from tui_agent import events as ev

WHOLE, CHECK = 20.0, 1.0
MOST_ROUNDS = 5
SETTLED = 1.0
"""Seconds after the last thing that happened."""
LIMITS = {"idle": 1.2, "countdown": 5.0, "waiting": 20.0}
"""Times a bare app's; what happens nothing in may be a fifth above for the noise of so small numbers."""


async def _spent(seconds: float) -> None:
    await asyncio.sleep(min(SETTLED, seconds / 2))
    gc.collect()
    before, began = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    told({"share": (time.process_time() - before) / (time.monotonic() - began)})


async def idle(board: Board, seconds: float) -> None:
    """Nothing happens."""
    await _spent(seconds)


async def countdown(board: Board, seconds: float) -> None:
    """Between runs, a breaker is open: the seconds until its probe are counted down."""
    board.take(
        ev.BreakerChanged(name="read_file", state="open", failures=5, threshold=5, retry_in=300.0, cause="failures")
    )
    await _spent(seconds)


async def waiting(board: Board, seconds: float) -> None:
    """The model was asked and has not answered yet: the run's clock goes on, and whatever else says so."""
    board.begin()
    board.take(ev.Quota(resource="core", limit=5000, remaining=4812, used=188, reset=int(time.time()) + 1800))
    board.take(ev.TurnStarted(turn=1, max_turns=15))
    await asyncio.sleep(SETTLED)
    await _spent(seconds)


async def bare(app: Bare, seconds: float) -> None:
    """Textual alone."""
    await _spent(seconds)


KINDS = {"idle": idle, "countdown": countdown, "waiting": waiting}


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    seconds = CHECK if rounds == 1 else WHOLE
    seen: dict[str, list[Seen]] = {kind: [] for kind in ("bare", *KINDS)}
    for _ in range(min(rounds, MOST_ROUNDS)):
        for kind, processes in seen.items():
            processes.append(watch("tests.benchmarks.idle", kind, seconds))
    share = {kind: statistics.median(one.told["share"] for one in processes) for kind, processes in seen.items()}
    print("  CPU in % of a core: " + ", ".join(f"{kind} {value * 100:.2f}" for kind, value in share.items()))
    return [
        (f"CPU of the dashboard, {kind} / of a bare app", share[kind] / share["bare"], LIMITS[kind]) for kind in KINDS
    ]


def main() -> None:
    """One measured process."""
    kind, seconds = sys.argv[1], float(sys.argv[2])
    if kind == "bare":
        Bare(lambda app: bare(app, seconds), markdown=False).run()
    else:
        Board(lambda board: KINDS[kind](board, seconds)).run()


if __name__ == "__main__":
    main()

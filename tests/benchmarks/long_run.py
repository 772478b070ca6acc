"""A run of 10,000 events in the dashboard: what an event costs early and late, in time and in memory, and a key.

Run as `python -m tests.benchmarks.long_run KIND EVENTS FILE` it is one of the measured processes.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from tests.benchmarks.board import Board, calm
from tests.benchmarks.terminal import Seen, told, watch
from tui_agent import events as ev

WHOLE, CHECK = 10_000, 2_000
MOST_ROUNDS = 5
A_TURN = 20
"""Events of one turn."""
ALONE, FEW = 100, 40
"""Events that are added one by one, early and late; how many for a check."""
FRAME = 1 / 15
BUNCH = 300
"""Events in a fifteenth of a second, while the run goes fast; the app draws as often as it finds right."""
KEYS_FOR, SHORTLY = 4.0, 0.7
"""Seconds (in a check) for which keys are pressed, with `RATE` events a second coming in besides."""
RATE = 200
TRIES = 20
TWO_FRAMES = 2 / 60
LATE, DRAWING, DELAY, MEMORY = 1.5, 50e-6, 2.0, 10_000
SOURCE = "".join(f"    line_{n} = value_{n}  # of the part\n" for n in range(200))[:5900]


def run_of(count: int) -> Iterator[ev.Event]:
    """The events of a long run: turns that think aloud, then call four tools side by side."""
    made = number = 0
    while made < count:
        number += 1
        turn: list[ev.Event] = [ev.TurnStarted(turn=number, max_turns=500)]
        turn += [ev.ReasoningDelta(turn=number, text=f" Part {number} is next, step {n}.") for n in range(9)]
        calls = [(f"c{number}-{n}", {"owner": "o", "repo": "r", "path": f"src/part_{number}/{n}.py"}) for n in range(4)]
        for call_id, arguments in calls:
            turn.append(ev.ToolStarted(turn=number, call_id=call_id, tool="read_file", arguments=dict(arguments)))
        for call_id, arguments in calls:
            content = f"# {call_id}\n{SOURCE}"
            result = {"ok": True, "path": arguments["path"], "size": len(content), "content": content}
            turn.append(
                ev.ToolFinished(
                    turn=number, call_id=call_id, tool="read_file", arguments=dict(arguments), outcome="ok",
                    result=result, attempts=1, cache="miss", elapsed=0.1,
                )
            )  # fmt: skip
        turn.append(ev.Quota(resource="core", limit=5000, remaining=4000 - number, used=number, reset=2_000_000_000))
        turn.append(
            ev.Usage(
                prompt_tokens=900,
                completion_tokens=90,
                cached_tokens=0,
                reasoning_tokens=9,
                context_tokens=9000,
                cost=None,
            )
        )
        yield from turn
        made += A_TURN


async def _one_by_one(board: Board, events: Iterator[ev.Event], count: int) -> float:
    """CPU seconds of an event that is added and drawn by itself."""
    spent = []
    for _ in range(count):
        event = board.stamped(next(events))
        before = time.process_time()
        board.show(event)
        board.draw()
        await calm()
        spent.append(time.process_time() - before)
    return statistics.mean(spent)


async def _in_bunches(board: Board, events: Iterator[ev.Event], count: int) -> float:
    """CPU seconds of an event while the app draws by itself what came until then."""
    gc.collect()
    before, due, making = time.process_time(), time.monotonic(), 0.0
    for _ in range(count // BUNCH):
        began = time.process_time()
        bunch = [board.stamped(event) for event in islice(events, BUNCH)]
        making += time.process_time() - began
        for event in bunch:
            board.show(event)
        due = max(due + FRAME, time.monotonic())
        await asyncio.sleep(due - time.monotonic())
    await calm()
    return (time.process_time() - before - making) / (count // BUNCH * BUNCH)


def _memory() -> float:
    """Resident bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096.0


async def _keys(board: Board, events: Iterator[ev.Event] | None, seconds: float) -> tuple[int, int]:
    """Let keys be pressed for a while; the numbers of the first and the last of them."""
    board.counter.ask()
    gc.collect()
    await asyncio.sleep(0.5)
    first, end = board.counter.count, time.monotonic() + seconds
    while time.monotonic() < end:
        await asyncio.sleep(1 / RATE)
        if events is not None:
            board.take(next(events))
    return first, board.counter.count


async def _moves(board: Board, tries: int) -> dict[str, float]:
    """The longest CPU seconds of what a reader does, until it is drawn; the second longest of all tries."""
    pane, view = board.board.trace, board.board.trace.view

    def opened() -> None:
        view.action_open_all(True)

    def folded() -> None:
        view.action_open_all(False)

    def toggled() -> None:
        view.action_move(-1)
        view.action_toggle_node()

    def searched() -> None:
        pane.search("part_7")

    def jumped() -> None:
        pane.jump()

    def unsearched() -> None:
        pane.clear_search()

    moves: dict[str, list[Callable[[], None]]] = {
        "opening and folding one": [toggled],
        "opening and folding all": [opened, folded],
        "searching": [searched, unsearched],
        "jumping to a hit": [searched, jumped],
    }
    longest = {}
    for name, steps in moves.items():
        spent = []
        for turn in range(tries):
            while not view.search.done:
                await calm()
            await calm()
            board.painted.clear()
            before = time.process_time()
            steps[turn % len(steps)]()
            await board.painted.wait()
            spent.append(time.process_time() - before)
        longest[name] = sorted(spent)[-2]
    return longest


async def filled(board: Board, count: int) -> None:
    """A run of so many events, and what it costs."""
    events = run_of(2 * count)
    whole = count == WHOLE
    alone, seconds = (ALONE, KEYS_FOR) if whole else (FEW, SHORTLY)
    before = _memory()
    board.begin()
    await asyncio.sleep(0.5)
    for event in islice(events, ALONE):
        board.take(event)
    early = await _one_by_one(board, events, alone)
    drawing = await _in_bunches(board, events, count - ALONE - 2 * alone)
    late = await _one_by_one(board, events, alone)
    memory = (_memory() - before) / count
    moves = await _moves(board, TRIES if whole else 4)
    board.board.trace.view.action_follow()
    keys = {"rest": await _keys(board, None, seconds), "run": await _keys(board, events, seconds)}
    told({"early": early, "late": late, "drawing": drawing, "memory": memory, "keys": keys, **moves})


async def empty(board: Board, count: int) -> None:
    """A dashboard in which nothing happened yet, and the beginning of a run."""
    seconds = KEYS_FOR if count == WHOLE else SHORTLY
    rest = await _keys(board, None, seconds)
    board.begin()
    told({"keys": {"rest": rest, "run": await _keys(board, run_of(count), seconds)}})


KINDS = {"filled": filled, "empty": empty}


def _p99(seen: Seen, when: str) -> float:
    first, last = seen.told["keys"][when]
    return Seen(delays=seen.delays[first:last]).p99


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    count = CHECK if rounds == 1 else WHOLE
    seen: dict[str, list[Seen]] = {kind: [] for kind in KINDS}
    for _ in range(min(rounds, MOST_ROUNDS)):
        for kind in KINDS:
            seen[kind].append(watch("tests.benchmarks.long_run", kind, count, every=0.02))

    def median(name: str) -> float:
        return statistics.median(one.told[name] for one in seen["filled"])

    p99 = {
        (kind, when): statistics.median(_p99(one, when) for one in seen[kind])
        for kind in KINDS
        for when in ("rest", "run")
    }
    print(
        f"  {count} events: alone {median('early') * 1e6:.0f} µs early, {median('late') * 1e6:.0f} µs late; in bunches "
        f"{median('drawing') * 1e6:.0f} µs each; {median('memory'):.0f} bytes each"
    )
    print(
        "  key to screen p99: "
        + ", ".join(f"{kind}, at {when} {value * 1000:.1f} ms" for (kind, when), value in p99.items())
    )
    moves = ("opening and folding one", "opening and folding all", "searching", "jumping to a hit")
    print("  until drawn: " + ", ".join(f"{name} {median(name) * 1000:.1f} ms" for name in moves))
    return [
        ("CPU of adding the last event / the hundredth", median("late") / median("early"), LATE),
        (f"CPU of an event, {BUNCH / FRAME:,.0f} a second / 50 µs", median("drawing") / DRAWING, 1.0),
        ("key to screen at p99, at rest / in an empty dashboard", p99["filled", "rest"] / p99["empty", "rest"], DELAY),
        ("key to screen at p99, in a run / at a run's beginning", p99["filled", "run"] / p99["empty", "run"], DELAY),
        ("memory of an event / 10 kB", median("memory") / MEMORY, 1.0),
        *((f"{name}, until drawn / two frames", median(name) / TWO_FRAMES, 1.0) for name in moves),
    ]


def main() -> None:
    """One measured process."""
    work, count = KINDS[sys.argv[1]], int(sys.argv[2])
    Board(lambda board: work(board, count)).run()


if __name__ == "__main__":
    main()

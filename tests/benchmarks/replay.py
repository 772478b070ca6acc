"""A record of 10,000 events walked through: a pass forwards, and a step back from its end, beside reading it at all.

What each costs is measured against `json.loads` of the record's lines, in turns: a pass through the reducer, and then
one step back, which makes the state anew.
"""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice

from tests.benchmarks.long_run import run_of
from tests.tui_session import finished, stamped
from tui_agent import events as ev
from tui_agent.tui.replay import Player, Reel

EVENTS, CHECK = 10_000, 1_000
PASS, BACK, LATE = 1.0, 1.0, 1.5
"""Limits: a pass / reading the lines; a step back from the end / reading the lines; an event late / early."""


def _record(count: int) -> list[ev.Event]:
    begin = ev.RunStarted(repo="o/r", source="github", ref=None, question="?", engine="llm", model="m")
    told = islice(run_of(count), count - 2)
    return stamped(
        (0.0, begin), *((n / 10, event) for n, event in enumerate(told)), (count / 10, finished("completed"))
    )


def _seconds(work: Callable[[], object]) -> float:
    gc.collect()
    before = time.process_time()
    work()
    return time.process_time() - before


def run(rounds: int) -> Iterator[tuple[str, float, float]]:
    """What is measured, the ratio, and its limit."""
    events = _record(CHECK if rounds == 1 else EVENTS)
    lines = [json.dumps(ev.to_json(event)) for event in events]
    half = len(events) // 2
    player = Player([Reel(0.0, events)])

    def go(position: int) -> object:
        player.go(position)
        return player.state

    reading, passing, stepping, early, late = [], [], [], [], []
    for _ in range(rounds):
        reading.append(_seconds(lambda: [json.loads(line) for line in lines]))
        go(0)
        early.append(_seconds(lambda: go(half)))
        late.append(_seconds(lambda: go(len(events))))
        passing.append(early[-1] + late[-1])
        stepping.append(_seconds(lambda: go(len(events) - 1)))
    whole = statistics.median(passing)
    print(
        f"  {len(events):,} events: {whole:.3f} s of CPU a pass, {statistics.median(reading):.3f} s to parse the lines"
    )
    read = statistics.median(reading)
    yield "a pass forwards / json.loads of the record", whole / read, PASS
    yield "a step back from its end / json.loads of the record", statistics.median(stepping) / read, BACK
    yield "the second half of a pass / the first", statistics.median(late) / statistics.median(early), LATE

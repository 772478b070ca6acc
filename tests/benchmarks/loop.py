"""CPU of one turn of the loop, streaming, four calls a turn, against a loop of httpx and json alone (the limit).

What is counted goes from the first turn to the last piece of the report: getting to know the repository (all read the
same tree) and checking the report's claims are done once a run, and printed apart. A process first runs the whole once
to be warm, then puts what is imported out of the collector's way, as the program does. Ours redacts a key of a real
length; "recorded" is by the program's recorder.

Run as `python -m tests.benchmarks.loop KIND URL [stall]` it is one of the measured processes. The peers are measured
where they can be imported (`pip install --group bench`).
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.benchmarks import peers
from tests.benchmarks.wire import END, serving

ROOT = Path(__file__).parents[2]
OURS = {"emitted": 1.6, "recorded": 2.0}
STALL, CHUNK = 10.0, 0.03
"""Milliseconds that nothing may hold up the event loop, and that a streamed chunk may take."""
TURNS = (10, 50)
MOST_PIECES = 10_000
ROUNDS_OF_PEERS = 3
"""They are far enough away, and slow."""
QUERY = "Analyse octo/bench"
KEY = "sk-0123456789abcdef0123456789abcdef"


@dataclass
class Count:
    """CPU seconds of this process: of the turns, and of what a run does before and after them."""

    began: float = field(default_factory=time.process_time)
    turns: float = 0.0

    def first_turn(self) -> None:
        """The first turn begins."""
        self.turns = -time.process_time()

    def last_piece(self) -> None:
        """The report is there."""
        self.turns += time.process_time()

    def around(self) -> float:
        """All of the run but its turns."""
        return time.process_time() - self.began - self.turns


async def limit(url: str, count: Count) -> None:
    """The least that a streaming loop does: httpx, json, a dict of answers."""
    import httpx

    from tui_agent.tools.schemas import SCHEMAS

    messages: list[dict[str, object]] = [
        {"role": "system", "content": "x" * 3000},
        {"role": "user", "content": QUERY},
    ]
    async with httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as http:
        listing = await peers.fetch_listing(http, url)
        count.first_turn()
        while True:
            calls: list[dict[str, str]] = []
            content: list[str] = []
            body = {"model": "bench", "messages": messages, "tools": SCHEMAS, "stream": True}
            async with http.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if not line.startswith("data: ") or line == "data: [DONE]":
                        continue
                    for choice in json.loads(line[6:])["choices"]:
                        delta = choice["delta"]
                        if delta.get("content"):
                            content.append(delta["content"])
                        for call in delta.get("tool_calls", ()):
                            if "id" in call:
                                calls.append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
                            calls[call["index"]]["arguments"] += call["function"]["arguments"]
            if not calls:
                assert content
                count.last_piece()
                return
            functions = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in calls
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": functions})

            async def answer(call: dict[str, str]) -> str:
                return json.dumps(listing[json.loads(call["arguments"])["path"]])

            answers = await asyncio.gather(*(answer(call) for call in calls))
            messages += [
                {"role": "tool", "tool_call_id": c["id"], "content": a} for c, a in zip(calls, answers, strict=True)
            ]


async def emitted(url: str, count: Count, record: Path | None = None) -> None:
    """The agent's whole run, every event emitted, and recorded where a folder is given."""
    import httpx
    import openai

    from tui_agent import Settings, run_agent
    from tui_agent.events import Event, ReportDelta, TurnStarted
    from tui_agent.request import RunRequest
    from tui_agent.runs.record import Recorder

    events: list[Event] = []

    def heard(event: Event) -> None:
        events.append(event)
        if isinstance(event, ReportDelta):
            if event.text == END:
                count.last_piece()
        elif isinstance(event, TurnStarted) and event.turn == 1:
            count.first_turn()

    recorder = Recorder(record, RunRequest(repo="octo/bench", question=QUERY)) if record else None
    # One client for both, and no certificates to load: setting up is no part of a turn.
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        client: Any = http
        llm = openai.AsyncOpenAI(api_key=KEY, base_url=url, http_client=client)
        await run_agent(
            llm,
            http,
            QUERY,
            model="bench",
            max_turns=500,
            on_event=recorder.before(heard) if recorder else heard,
            settings=Settings(github_api_url=url),
        )
    assert not recorder or recorder.trouble is None


async def recorded(url: str, count: Count) -> None:
    """The same, every event written to the disk as it happens."""
    with tempfile.TemporaryDirectory() as folder:
        await emitted(url, count, Path(folder))


KINDS: dict[str, Callable[[str, Count], Awaitable[None]]] = {"limit": limit, "emitted": emitted, "recorded": recorded}


def _measure(kind: str, url: str, *more: str) -> tuple[float, float]:
    """What a measured process tells: CPU seconds of the turns, with `stall` milliseconds instead; and of the rest."""
    command = [sys.executable, "-m", "tests.benchmarks.loop", kind, url, *more]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    turns, around = map(float, done.stdout.split()[-2:])
    return turns, around


def _turns(rounds: int) -> list[tuple[str, float, float]]:
    there = peers.importable()
    if missing := [name for name in peers.PEERS if name not in there]:
        print(f"  not installed here, and not measured: {', '.join(missing)}")
    kinds, rows = [*KINDS, *there], []
    for turns in TURNS if rounds > 1 else TURNS[:1]:
        cpu: dict[str, list[float]] = {kind: [] for kind in kinds}
        around: dict[str, list[float]] = {kind: [] for kind in kinds}
        with serving(turns) as url:
            for number in range(rounds):
                for kind in kinds if number < ROUNDS_OF_PEERS else KINDS:
                    seconds, rest = _measure(kind, url)
                    cpu[kind].append(seconds / (turns + 1) * 1000)
                    around[kind].append(rest * 1000)
        medians = {kind: statistics.median(values) for kind, values in cpu.items()}
        print(f"  {turns} turns, CPU in ms a turn: " + _named(medians))
        print("    before and after, in ms: " + _named({kind: statistics.median(around[kind]) for kind in KINDS}))
        rows += [
            (f"CPU of a turn at {turns} turns, {kind} / httpx and json alone", medians[kind] / medians["limit"], most)
            for kind, most in OURS.items()
        ]
        rows += [(f"the same / {peer}", medians["emitted"] / medians[peer], 1.0) for peer in there]
    return rows


def _stalls(rounds: int) -> list[tuple[str, float, float]]:
    rows = []
    for turns in TURNS if rounds > 1 else TURNS[:1]:
        with serving(turns) as url:
            longest = [_measure("recorded", url, "stall")[0] for _ in range(rounds)]
        rows.append((f"ms that the event loop stood still at most, {turns} turns", statistics.median(longest), STALL))
    return rows


def _chunks(rounds: int) -> list[tuple[str, float, float]]:
    pieces = MOST_PIECES if rounds > 1 else 1000
    with serving(0, pieces) as long, serving(0, 1) as short:
        each = [
            (_measure("emitted", long)[0] - _measure("emitted", short)[0]) / (pieces - 1) * 1000 for _ in range(rounds)
        ]
    return [(f"ms of CPU a streamed chunk, of {pieces:,}", statistics.median(each), CHUNK)]


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio or milliseconds, limit)."""
    return [*_turns(rounds), *_stalls(rounds), *_chunks(rounds)]


def _named(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in values.items())


def _watch_stalls() -> list[float]:
    """From now on every callback of every event loop is timed; CPU seconds of each, lest others' load be counted."""
    taken: list[float] = []
    run_handle = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run_handle(handle)
        taken.append(time.thread_time() - began)

    asyncio.Handle._run = timed  # type: ignore[method-assign]
    return taken


def main() -> None:
    """One measured process: a run to warm up, a run that counts."""
    kind, url, *more = sys.argv[1:]
    work = KINDS.get(kind) or peers.PEERS[kind].run
    asyncio.run(work(url, Count()))
    gc.collect()
    gc.freeze()
    stalls = _watch_stalls() if more else []
    count = Count()
    asyncio.run(work(url, count))
    print(max(stalls) * 1000 if stalls else count.turns, count.around())


if __name__ == "__main__":
    main()

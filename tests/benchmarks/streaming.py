"""A report that streams in at 200 tokens a second: the dashboard beside Textual's own `MarkdownStream`.

Both write to a terminal of the same size, the Markdown in a box of the same size; the dashboard shows its other panes
besides, and the trace follows too. Run as `python -m tests.benchmarks.streaming KIND TOKENS FILE` it is one of the
measured processes.
"""

from __future__ import annotations

import asyncio
import gc
import random
import re
import resource
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise

from tests.benchmarks.board import RUN, Bare, Board
from tests.benchmarks.terminal import Seen, told, watch
from tui_agent import events as ev

RATE = 200
WHOLE, CHECK = 20_000, 500
MOST_ROUNDS = 3
"""A round takes more than three minutes."""
KINDS = ("ours", "textual")
CPU, DELAY, MEMORY, SECOND_HALF = 0.35, 0.15, 0.5, 1.5
WORDS = (
    "request response session cookie header router view template context blueprint signal handler error config "
    "loader extension middleware server client stream buffer encoder decoder cache token retry breaker snapshot"
).split()


def report(tokens: int) -> list[str]:
    """A report of so many tokens, of about four characters each: headings, prose, lists, code, tables, links."""
    pieces: list[str] = []
    for block in _blocks(random.Random(20_000)):
        pieces += re.findall(r"\s*\w{1,5}|\s*[^\w\s]{1,3}|\s+", block)
        if len(pieces) >= tokens:
            break
    return pieces[:tokens]


def _blocks(chance: random.Random) -> Iterator[str]:
    def sentence() -> str:
        words = [chance.choice(WORDS) for _ in range(chance.randint(8, 18))]
        words[2] = f"**{words[2]}**"
        words[5] = f"`{words[5]}`"
        if chance.random() < 0.3:
            words[-1] = f"[{words[-1]}](https://example.org/{words[-1]})"
        return " ".join(words).capitalize() + ". "

    number = 0
    while True:
        number += 1
        yield f"## Part {number}: the {chance.choice(WORDS)}\n\n"
        for _ in range(chance.randint(2, 4)):
            yield "".join(sentence() for _ in range(chance.randint(2, 5))) + "\n\n"
        yield "".join(f"- {sentence()}\n" for _ in range(chance.randint(3, 6))) + "\n"
        if number % 2:
            lines = [f"    {chance.choice(WORDS)} = {chance.choice(WORDS)}({n}, key='{n}')" for n in range(8)]
            yield "```python\ndef run(app):\n" + "\n".join(lines) + "\n```\n\n"
        else:
            rows = [f"| {chance.choice(WORDS)} | {n} | `{chance.choice(WORDS)}` |" for n in range(6)]
            yield "| name | size | kind |\n| --- | ---: | --- |\n" + "\n".join(rows) + "\n\n"


async def _pour(pieces: list[str], write: Callable[[str], Awaitable[None]]) -> list[float]:
    """Write the pieces at their times; CPU seconds of each half."""
    gc.collect()
    marks = [time.process_time()]
    began = time.monotonic()
    for number, piece in enumerate(pieces):
        wait = began + number / RATE - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        await write(piece)
        if number + 1 == len(pieces) // 2:
            marks.append(time.process_time())
    await asyncio.sleep(0.3)
    marks.append(time.process_time())
    return [after - before for before, after in pairwise(marks)]


def _tell(halves: list[float]) -> None:
    told({"halves": halves, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024})


async def ours(board: Board, pieces: list[str]) -> None:
    """The run emits each token as its event."""

    async def write(piece: str) -> None:
        board.take(ev.ReportDelta(turn=1, text=piece))

    board.counter.ask()
    board.begin()
    board.take(ev.TurnStarted(turn=1, max_turns=15))
    await asyncio.sleep(0.5)
    halves = await _pour(pieces, write)
    text = "".join(pieces)
    assert board.board.report.markdown_text == text
    board.take(
        ev.RunFinished(
            run_id=RUN, outcome="completed", report=text, error=None, turns=1, tool_calls=0, requests=0, elapsed=1.0
        )
    )
    _tell(halves)


async def textual(app: Bare, pieces: list[str]) -> None:
    """Textual's stream takes each token."""
    assert app.markdown is not None
    app.counter.ask()
    stream = app.markdown.get_stream(app.markdown)
    halves = await _pour(pieces, stream.write)
    before = time.process_time()
    await stream.stop()
    halves[1] += time.process_time() - before
    _tell(halves)


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    tokens = CHECK if rounds == 1 else WHOLE
    seen: dict[str, list[Seen]] = {kind: [] for kind in KINDS}
    for _ in range(min(rounds, MOST_ROUNDS)):
        for kind in KINDS:
            seen[kind].append(watch("tests.benchmarks.streaming", kind, tokens, every=0.09, timeout=400))
    cpu = {kind: statistics.median(sum(one.told["halves"]) for one in seen[kind]) for kind in KINDS}
    p99 = {kind: statistics.median(one.p99 for one in seen[kind]) for kind in KINDS}
    peak = {kind: statistics.median(one.told["peak"] for one in seen[kind]) for kind in KINDS}
    for kind in KINDS:
        halves = " + ".join(f"{half:.1f}" for half in seen[kind][-1].told["halves"])
        print(
            f"  {tokens} tokens, {kind}: {cpu[kind]:.1f} s of CPU ({halves}), "
            f"key to screen p99 {p99[kind] * 1000:.0f} ms of {len(seen[kind][-1].delays)}, {peak[kind]:.0f} MiB"
        )
    second = statistics.median(one.told["halves"][1] / one.told["halves"][0] for one in seen["ours"])
    return [
        ("CPU of the streaming dashboard / of MarkdownStream", cpu["ours"] / cpu["textual"], CPU),
        ("key to screen at p99 / with MarkdownStream", p99["ours"] / p99["textual"], DELAY),
        ("peak memory / with MarkdownStream", peak["ours"] / peak["textual"], MEMORY),
        ("CPU of the second half / of the first", second, SECOND_HALF),
    ]


def main() -> None:
    """One measured process."""
    kind, pieces = sys.argv[1], report(int(sys.argv[2]))
    if kind == "ours":
        Board(lambda board: ours(board, pieces)).run()
    else:
        Bare(lambda app: textual(app, pieces), markdown=True).run()


if __name__ == "__main__":
    main()

"""Hundreds of runs with random faults in one process: flat memory, no stuck task, no handle left.

    python tests/benchmarks/soak.py --runs 500 [--seed 1] [--at-once 4]

Both servers are real ones on loopback in the same process. Every run gets faults by chance at every place: statuses,
limits, redirects, broken connections and bodies on GitHub's side; refusals, broken and silent streams, odd dialects on
the model's. Some runs are cancelled at a random moment, some meet a hand on a breaker. All of them share one session,
as a dashboard's do, so that what one leaves behind adds up.

Exit 1 where a run did not end as it should, where anything is left, or where memory has grown.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import random
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.servers import dialects, faults
from tests.servers.expect import WHO, check_events
from tests.servers.faults import Step
from tests.servers.github import ROUTES, GitHubServer
from tests.servers.http import Answer, Request
from tests.servers.inside import open_handles, settings_for
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, cut, error_in_stream, failure, keep_alive, pause, say, stall, think
from tui_agent.events import Event, to_json
from tui_agent.request import RunRequest
from tui_agent.session import Session

FILES = {f"src/f{n}.py": f"x = {n}\n" * 50 for n in range(40)} | {"README.md": "# Tool\n\nA tool.\n" * 40}
TOOLS = ("get_repo_info", "read_file", "get_commits")
SETTINGS: dict[str, Any] = {
    # the records of whoever runs this are worth more than these
    "record": False,
    "base_delay": 0.005,
    "max_delay": 0.02,
    "max_retries": 3,
    "breaker_threshold": 8,
    "breaker_reset": 0.2,
    "request_timeout": 0.3,
    "llm_timeout": 0.5,
    "llm_queue_timeout": 1.0,
    "max_rate_wait": 3.0,
    "max_turns": 6,
}
LONGEST = 60.0
"""Seconds after which a run counts as stuck."""
MOST_TASKS = 50
"""Tasks between runs: the servers have one for each connection that the clients keep (20 each at most)."""
WARM = 50
"""Runs before memory is looked at: caches fill, modules load."""
GROWTH = 1.10
"""How much more memory may be in use at the end than after the warm-up."""

TROUBLE: list[Callable[[], Step]] = [
    lambda: faults.refuse(500),
    lambda: faults.html(502),
    lambda: faults.refuse(503),
    faults.drop,
    faults.reset,
    faults.cut,
    lambda: faults.cut(7, by_reset=True),
    faults.hold,
    faults.html_page,
    faults.broken_json,
    faults.wrong_json,
    faults.compressed_garbage,
    faults.declared_huge,
    lambda: faults.refuse(401, "Bad credentials"),
    lambda: faults.refuse(403, "No"),
    lambda: faults.refuse(404, "Not Found"),
    lambda: faults.refuse(422, "No commit found"),
    lambda: faults.refuse(451, "Blocked"),
    lambda: faults.secondary_limit("1"),
    lambda: faults.secondary_limit("0", status=429),
    lambda: faults.primary_limit(1),
    lambda: faults.redirect("https://elsewhere.example/x", 302),
    lambda: faults.elsewhere(lambda request: request.target, 307),
    lambda: faults.elsewhere(lambda request: f"/api/v3{request.target}", 301),
]


class FaultyGitHub(GitHubServer):
    """Meets a share of its requests with a fault by chance."""

    def __init__(self, chance: random.Random, share: float) -> None:
        super().__init__(FILES, limit=10**9)
        self._chance, self._share = chance, share

    async def answer(self, request: Request) -> Answer:
        if self._chance.random() >= self._share:
            return await self._plain(request)
        self.on(ROUTES["snapshot"] + "|.*", self._chance.choice(TROUBLE)())
        try:
            return await super().answer(request)
        finally:
            self._script.clear()


class ForgetfulModel(ModelServer):
    """Many runs at once use the same ids: whose reasoning has to come back cannot be told here."""

    def _wrong_reasoning(self, message: dict[str, Any], call_ids: list[str]) -> str | None:
        return None


class FaultyModel:
    """Gives turns by chance: calls in some dialect, then a report; or something broken."""

    def __init__(self, chance: random.Random, share: float) -> None:
        self._chance, self._share = chance, share

    def __call__(self, body: dict[str, Any]) -> Turn:
        chance = self._chance
        if chance.random() < self._share:
            return chance.choice(
                [
                    lambda: failure(chance.choice([500, 503, 529]), "Down"),
                    lambda: failure(429, "Slow", retry_after="0"),
                    lambda: failure(chance.choice([400, 401, 402, 422]), "No"),
                    lambda: [think("Hm"), say("# Half"), cut()],
                    lambda: [say("# Half"), stall()],
                    lambda: [say("# Half"), error_in_stream("Died", "server_error")],
                    lambda: [keep_alive(3), pause(0.1), say("# Late report")],
                    lambda: faults.html_page(),
                    lambda: [say(" " * 500)],
                ]
            )()
        if not body.get("tools") or chance.random() < 0.3:
            return [think("Enough."), say("# Report\n\n" + "It is a tool. " * 60, by=40)]
        numbers = chance.sample(range(60), chance.randint(1, 6))
        calls = [call("read_file", {**WHO, "path": f"src/f{n}.py"}) for n in numbers]
        calls += [call(chance.choice(TOOLS[::2]), WHO), call("list_directory", {**WHO, "path": "src"})]
        return chance.choice(list(dialects.DIALECTS.values()))(calls)


class Soak:
    """One session, many runs.

    Args:
        seed: of all chance.
        share: of requests and turns that go wrong.
    """

    def __init__(self, seed: int, share: float) -> None:
        self.chance = random.Random(seed)
        self.share = share
        self.outcomes: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.longest = 0.0
        self.wrong: list[str] = []

    async def run(self, runs: int, at_once: int) -> list[tuple[int, float, int, int]]:
        """All runs; after every tenth part of them (runs, MiB in use, tasks, handles)."""
        marks: list[tuple[int, float, int, int]] = []
        async with FaultyGitHub(self.chance, self.share) as github:
            model = ForgetfulModel(by_function=FaultyModel(self.chance, self.share))
            async with model:
                session = Session(settings_for(github, model, **SETTINGS))
                step = max(1, runs // 10)
                tracemalloc.start()
                for start in [0, *range(WARM, runs, step)]:
                    end = WARM if start == 0 else min(runs, start + step)
                    await self._some(session, end - start, at_once)
                    # what the servers remember is no leak of the program's
                    github.exchanges.clear()
                    model.exchanges.clear()
                    model.bodies.clear()
                    gc.collect()
                    mark = (
                        end,
                        tracemalloc.get_traced_memory()[0] / 2**20,
                        len(asyncio.all_tasks()),
                        len(open_handles()),
                    )
                    marks.append(mark)
                    print("  {:5d} runs: {:7.2f} MiB in use, {:3d} tasks, {:3d} handles".format(*mark), flush=True)
                tracemalloc.stop()
                await session.aclose()
                self.wrong += [f"the model's server was sent nonsense: {error}" for error in model.errors]
        return marks

    async def _some(self, session: Session, runs: int, at_once: int) -> None:
        places = asyncio.Semaphore(at_once)

        async def one() -> None:
            async with places:
                await self._one(session)

        await asyncio.gather(*(one() for _ in range(runs)))

    async def _one(self, session: Session) -> None:
        events: list[dict[str, Any]] = []

        def hear(event: Event) -> None:
            events.append(to_json(event))
            self.seen[event.type] += 1
            if event.type == "breaker_changed" and self.chance.random() < 0.3:
                session.reset_breaker()

        started = time.monotonic()
        task = asyncio.create_task(session.run(RunRequest(repo="team/tool", no_cache=True), hear))
        if self.chance.random() < 0.1:
            await asyncio.sleep(self.chance.random())
            task.cancel()
        try:
            await asyncio.wait_for(task, LONGEST)
        except TimeoutError:
            self.wrong.append(f"a run was stuck for {LONGEST} s")
            return
        except asyncio.CancelledError:
            pass
        self.longest = max(self.longest, time.monotonic() - started)
        try:
            check_events([event for event in events if event["run_id"] == events[0]["run_id"]])
        except AssertionError as error:
            self.wrong.append(f"events that do not hold: {error}")
        finished = events[-1]
        self.outcomes[finished["outcome"]] += 1
        if "fault of this program" in (finished["error"] or ""):
            self.wrong.append(finished["error"])
        if finished["outcome"] in ("completed", "partial") and not finished["report"]:
            self.wrong.append("no report where there should be one")


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--share", type=float, default=0.15, help="of requests and turns that go wrong")
    options = parser.parse_args()
    print(f"{options.runs} runs, {options.at_once} at once, seed {options.seed}; Python {platform.python_version()}")
    soak, started = Soak(options.seed, options.share), time.monotonic()

    async def go() -> list[tuple[int, float, int, int]]:
        marks = await soak.run(options.runs, options.at_once)
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        soak.wrong.extend(f"a task is left: {task}" for task in left)
        return marks

    before = len(open_handles())
    marks = asyncio.run(go())
    print(f"  {time.monotonic() - started:.0f} s in all; the longest run took {soak.longest:.1f} s")
    print(f"  ends: {dict(soak.outcomes)}")
    print(f"  events: {dict(soak.seen.most_common())}")
    first, last = marks[0], marks[-1]
    growth = last[1] / first[1]
    print(f"  memory in use at the end / after {first[0]} runs: {growth:.3f} (limit {GROWTH:g})")
    if growth > GROWTH:
        soak.wrong.append(f"memory has grown by {growth:.2f}")
    if max(mark[2] for mark in marks) > MOST_TASKS:
        soak.wrong.append(f"more than {MOST_TASKS} tasks between runs: connections are kept, but not so many")
    if len(open_handles()) > before:
        soak.wrong.append(f"handles have grown from {before} to {len(open_handles())}")
    for what in soak.wrong[:20]:
        print(f"  WRONG: {what}")
    print("  ok" if not soak.wrong else f"  {len(soak.wrong)} things are wrong")
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

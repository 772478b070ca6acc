"""Run the benchmarks: `python tests/benchmarks/run.py [--check] [--rounds N] [NAME …]`.

`--check` only shows that each of them starts and ends; it measures once and judges nothing, so that they may run side
by side.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks import (
    idle,
    long_run,
    loop,
    parallel,
    replay,
    startup,
    streaming,
    survey_scale,
    tokens,
    whole_process,
)

BENCHMARKS = {
    "whole process": whole_process.run,
    "start-up": startup.run,
    "loop": loop.run,
    "parallel calls": parallel.run,
    "tokens": tokens.run,
    "streamed report": streaming.run,
    "long run": long_run.run,
    "idle": idle.run,
    "replay": replay.run,
    "survey on large repositories": survey_scale.run,
}
AT_A_TIME = 4
"""Most of their time they wait."""
PATIENCE = 300.0


def main() -> int:
    """Exit 1 where a ratio is above its limit; with `--check` only where a benchmark fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}; none means all")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(f"no benchmark: {', '.join(sorted(unknown))}")
    if options.check and not options.names:
        return _check_all()
    missed = 0
    for name in options.names or BENCHMARKS:
        print(name, flush=True)
        for what, ratio, limit in BENCHMARKS[name](1 if options.check else options.rounds):
            verdict = "measured once" if options.check else "ok" if ratio <= limit else "MISSED"
            missed += ratio > limit
            print(f"  {what}: {ratio:.2f} (limit {limit:g}) {verdict}")
    return 1 if missed and not options.check else 0


def _check_all() -> int:
    """Each in a process of its own, several at a time."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        ends = list(pool.map(_check, BENCHMARKS))
    return max(ends)


def _check(name: str) -> int:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--check", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    print(f"{done.stdout}  ({name}: exit {done.returncode} after {time.perf_counter() - started:.0f} s)", flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())

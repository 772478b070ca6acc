"""Run the benchmarks: `python tests/benchmarks/run.py [--check] [--rounds N]`.

`--check` only shows that each of them starts and ends; it measures once and judges nothing.
"""

from __future__ import annotations

import argparse
import sys
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


def main() -> int:
    """Exit 1 where a ratio is above its limit (never with `--check`)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    missed = 0
    for name, benchmark in BENCHMARKS.items():
        print(name)
        for what, ratio, limit in benchmark(1 if options.check else options.rounds):
            verdict = "measured once" if options.check else "ok" if ratio <= limit else "MISSED"
            missed += ratio > limit
            print(f"  {what}: {ratio:.2f} (limit {limit:g}) {verdict}")
    return 1 if missed and not options.check else 0


if __name__ == "__main__":
    sys.exit(main())

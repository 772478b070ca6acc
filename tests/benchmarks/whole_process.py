"""The main job as a whole process, against one that only imports what the job is built on.

Limits: 4 times the wall time, twice the memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.benchmarks.measure import side_by_side

ROOT = Path(__file__).parents[2]
IMPORTS = "import textual.app, textual.widgets, openai, httpx, dulwich.repo"
LIMITS = (4.0, 2.0)


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    commands = {
        "imports": [sys.executable, "-c", IMPORTS],
        "survey": [sys.executable, "-m", "tui_agent", "--print", "--no-record", "--engine", "survey", str(ROOT)],
    }
    results = side_by_side(commands, rounds, ROOT)
    base, job = results["imports"], results["survey"]
    print(f"  imports alone {base.wall:.2f} s, {base.peak:.0f} MiB; the main job {job.wall:.2f} s, {job.peak:.0f} MiB")
    return [
        ("wall time of the main job / of its imports", job.wall / base.wall, LIMITS[0]),
        ("peak memory of the main job / of its imports", job.peak / base.peak, LIMITS[1]),
    ]

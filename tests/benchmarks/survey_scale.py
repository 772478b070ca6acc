"""The survey on large repositories: files by the ten thousand, commits by the ten thousand.

The repositories are made by `git fast-import` in a temporary folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.measure import side_by_side

ROOT = Path(__file__).parents[2]
QUIETLY = ("--print", "--no-record", "--engine", "survey")
GIT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
TIME_LIMIT = 2.0
"""Process time on 1,700 files / on 70."""
MEMORY_LIMIT = 1.15
"""Memory on 50,000 commits / on 500."""
FILES_LIMIT = 4.0
"""Memory on 100,000 files / on 70: what the tree itself takes, and no more."""


def _stream(files: int, commits: int) -> Iterator[bytes]:
    def commit(number: int, message: str) -> bytes:
        who = b"A. Author <a@example.org> %d +0000" % (1_700_000_000 + number * 600)
        return b"commit refs/heads/main\nauthor %s\ncommitter %s\n%s" % (who, who, _data(message.encode()))

    yield b"blob\nmark :1\n" + _data(b"# Generated\n\nMade by a script.\n")
    yield b"blob\nmark :2\n" + _data(b"x = 1\n")
    yield commit(0, "First")
    yield b"M 100644 :1 README.md\n"
    for i in range(files - 1):
        yield b"M 100644 :2 src/part%d/module%d.py\n" % (i // 100, i)
    for i in range(1, commits):
        text = b"%d\n" % i
        yield commit(i, f"Change {i}") + b"M 100644 inline src/counter.txt\n" + _data(text)


def _data(text: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(text), text)


def make(path: Path, *, files: int, commits: int) -> Path:
    """A bare repository with so many files and commits."""
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(path)], check=True, env=GIT)
    with subprocess.Popen(
        ["git", "-C", str(path), "fast-import", "--quiet"], stdin=subprocess.PIPE, env=GIT
    ) as process:
        assert process.stdin is not None
        process.stdin.writelines(_stream(files, commits))
        process.stdin.close()
        if process.wait():
            raise RuntimeError("git fast-import failed")
    return path


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit). With one round (the check) the large ones are smaller."""
    full = rounds > 1
    sizes = {
        "70 files": (70, 5),
        "1,700 files": (1700, 5),
        "100,000 files": (100_000 if full else 5000, 5),
        "500 commits": (70, 500),
        "50,000 commits": (70, 50_000 if full else 2000),
    }
    with tempfile.TemporaryDirectory() as folder:
        commands = {}
        for name, (files, commits) in sizes.items():
            path = make(Path(folder) / name.replace(" ", "-").replace(",", ""), files=files, commits=commits)
            commands[name] = [sys.executable, "-m", "tui_agent", *QUIETLY, str(path)]
        results = side_by_side(commands, rounds, ROOT)
    for name, measured in results.items():
        print(f"  {name}: {measured.cpu_time:.2f} s of CPU, {measured.peak:.0f} MiB")
    return [
        (
            "process time on 1,700 files / on 70",
            results["1,700 files"].cpu_time / results["70 files"].cpu_time,
            TIME_LIMIT,
        ),
        (
            "memory on 50,000 commits / on 500",
            results["50,000 commits"].peak / results["500 commits"].peak,
            MEMORY_LIMIT,
        ),
        ("memory on 100,000 files / on 70", results["100,000 files"].peak / results["70 files"].peak, FILES_LIMIT),
    ]

"""A benchmark's process on a terminal of its own: keys are sent on a fixed beat, and seen to arrive on the screen.

The keys do not wait for each other, so that a screen that stands still for a second is a second late for all of them.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
COLUMNS, ROWS = 120, 40
KEY = b"\x07"
BEAT = re.compile(rb"<(\d+)>")
"""What the process shows: how many of the keys it has seen."""


@dataclass
class Seen:
    """What came of one process: the numbers it told at its end, and seconds from each key to the screen."""

    told: dict[str, Any] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)

    @property
    def p99(self) -> float:
        """The delay that 99 of 100 keys stay below, in seconds."""
        return sorted(self.delays)[min(len(self.delays) - 1, int(len(self.delays) * 0.99))] if self.delays else 0.0


def watch(module: str, *arguments: object, every: float = 0.1, timeout: float = 300.0) -> Seen:
    """Run `python -m MODULE ARGUMENTS FILE` on a terminal until it ends; it writes its numbers to FILE as JSON.

    Args:
        module: what is run.
        arguments: its arguments.
        every: seconds between two keys, which begin once the process shows its counter; it shows none for none.
        timeout: seconds after which it is ended.

    Raises:
        RuntimeError: it failed, or took too long.
    """
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "told.json"
        parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", "HOME": folder}
        process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments), str(file)],
            cwd=ROOT, env=environment, stdin=child, stdout=child, stderr=child, start_new_session=True,
        )  # fmt: skip
        os.close(child)
        try:
            screen = _press(process, parent, seen.delays, every, time.monotonic() + timeout)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            os.close(parent)
        if process.returncode or not file.exists():
            raise RuntimeError(f"{module} {arguments}: exit {process.returncode}: {screen[-2000:]!r}")
        seen.told = json.loads(file.read_text())
    return seen


def _press(
    process: subprocess.Popen[bytes], terminal: int, delays: list[float], every: float, deadline: float
) -> bytes:
    """Press keys until the process closes its terminal; the end of what it wrote."""
    sent: list[float] = []
    arrived, tail, due = -1, b"", 0.0
    while time.monotonic() < deadline:
        wait = max(0.0, due - time.monotonic()) if arrived >= 0 else 1.0
        readable, _, _ = select.select([terminal], [], [], wait)
        now = time.monotonic()
        if readable:
            try:
                tail += os.read(terminal, 1 << 16)
            except OSError:  # Linux's way to say that nobody writes any more
                break
            for match in BEAT.finditer(tail):
                number = int(match[1])
                delays.extend(now - moment for moment in sent[max(0, arrived) : number])
                arrived = max(arrived, number)
            tail = tail[-4000:]
        elif process.poll() is not None:
            break
        if arrived >= 0 and now >= due and process.poll() is None:
            sent.append(now)
            os.write(terminal, KEY)
            due = max(now, due + every) if due else now + every
    return tail


def told(numbers: dict[str, Any]) -> None:
    """The measured process tells its numbers."""
    Path(sys.argv[-1]).write_text(json.dumps(numbers))

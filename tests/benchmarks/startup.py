"""From the start of the process to what a person sees, on a terminal of its own, beside a bare Textual app.

Limits: the first picture 0.2, every pane and a key answered 1.7, ready to call a model 4.0 times the bare app's first
frame; a key within 50 ms at p99 while the rest is imported; `--help` and `--version` 5 times `python -c pass`; the
second start of a clone, which came without byte code, as fast as any (1.1 is noise).
"""

from __future__ import annotations

import fcntl
import os
import pty
import random
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from operator import truediv
from pathlib import Path

ROOT = Path(__file__).parents[2]
COLUMNS, ROWS = 160, 48
PATIENCE = 60.0
MARK = b"HELLO-MARK"
HELLO = f"""
from textual.app import App, ComposeResult
from textual.widgets import Static

class Hello(App):
    def compose(self) -> ComposeResult:
        yield Static("{MARK.decode()}")

Hello().run()
"""
READY = b"\x1b]7;ready\x07"
# The program as `tui_agent.start` runs it, with a session that says when it is prepared.
PROBED = f"""
import gc, os, sys
from tui_agent.splash import show

def probed(settings, **how):
    from tui_agent.session import Session

    class Probed(Session):
        async def prepare(self):
            await super().prepare()
            os.write(2, {READY!r})

    return Probed(settings, **how)

gc.disable()
with show(sys.argv[1:]) as splash:
    from tui_agent.cli import main
    sys.exit(main(splash=splash, make_session=probed))
"""
PICTURE = "starting …".encode()
PANES = (b"Trace", b"Tool calls", b"Breakers", b"Rate limit", b"Report")
TYPED = b"zqx"
BEAT = 1 / 30
"""Seconds between two keys: as a keyboard repeats a key that is held down."""
LIMITS = {"picture": 0.2, "dashboard": 1.7, "ready": 4.0, "key": 50.0, "command": 5.0, "second": 1.1}

Seen = Callable[[bytes], bool]


def _dashboard_answers(raw: bytes) -> bool:
    """All panes stand, and what was typed before stands in the input (the terminal's own echo came earlier)."""
    first = raw.find(PANES[0])
    return first >= 0 and all(pane in raw for pane in PANES) and raw.rfind(TYPED) > first


class Process:
    """A command on a terminal, and what it has written there.

    Args:
        command: what is run.
        home: its user's folder.
        more: variables besides.
    """

    def __init__(self, command: Sequence[str], home: Path, **more: str) -> None:
        self.raw = b""
        environment = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "PYTHONPATH": str(ROOT)}
        environment |= {"LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor"} | more
        self.started = time.perf_counter()
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
            os.chdir(home)
            os.execve(command[0], list(command), environment)

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self._terminal, keys)

    def read(self, seconds: float) -> bool:
        """Take in what comes within a time; False where nothing more can come."""
        if not select.select([self._terminal], [], [], max(seconds, 0))[0]:
            return True
        try:
            piece = os.read(self._terminal, 1 << 16)
        except OSError:
            return False
        self.raw += piece
        return bool(piece)

    def wait(self, seen: Seen) -> float:
        """Seconds from the start until it is seen; RuntimeError where it never is."""
        while not seen(self.raw):
            if not self.read(0.5) or time.perf_counter() - self.started > PATIENCE:
                raise RuntimeError(f"never seen; the screen's end: {self.raw[-1000:]!r}")
        return time.perf_counter() - self.started

    def end(self) -> None:
        """Be rid of it."""
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


def _times(command: Sequence[str], home: Path, *marks: Seen, keys: bytes = b"", **more: str) -> list[float]:
    """Seconds to each mark, in their order."""
    process = Process(command, home, **more)
    try:
        process.send(keys)
        return [process.wait(mark) for mark in marks]
    finally:
        process.end()


def _delays(command: Sequence[str], home: Path) -> list[float]:
    """Seconds from each key to the screen, from the first frame on until everything is imported."""
    process = Process(command, home)
    text = bytes(random.Random(4).choices(b"abcdefghijklmnopqrstuvwxyz", k=COLUMNS - 20))
    sent: list[float] = []
    shown: list[float] = []
    try:
        process.wait(lambda raw: all(pane in raw for pane in PANES))
        while len(sent) < len(text) and not (READY in process.raw and len(sent) >= 10):
            process.send(text[len(sent) : len(sent) + 1])
            sent.append(time.perf_counter())
            while (left := sent[-1] + BEAT - time.perf_counter()) > 0:
                process.read(left)
                _note(process.raw, text, shown, len(sent))
        while len(shown) < len(sent):
            if not process.read(0.5) or time.perf_counter() - sent[-1] > PATIENCE:
                raise RuntimeError("a key was never answered")
            _note(process.raw, text, shown, len(sent))
    finally:
        process.end()
    return [seen - pressed for pressed, seen in zip(sent, shown, strict=True)]


def _note(raw: bytes, text: bytes, shown: list[float], sent: int) -> None:
    now = time.perf_counter()
    while len(shown) < sent and text[: len(shown) + 1] in raw:
        shown.append(now)


def _command(*arguments: str) -> float:
    """Seconds of a command of Python's that ends by itself."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit); the keys' delay in milliseconds."""
    hello, ours = [sys.executable, "-c", HELLO], [sys.executable, "-m", "tui_agent"]
    probed = [sys.executable, "-c", PROBED]
    seconds: dict[str, list[float]] = {}
    slowest: list[float] = []
    keys = 0

    def note(**measured: float) -> None:
        for name, value in measured.items():
            seconds.setdefault(name, []).append(value)

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        # A clone has no byte code; its first start writes it, however that start ends.
        clone = {"PYTHONPATH": str(home / "clone")}
        shutil.copytree(ROOT / "tui_agent", home / "clone" / "tui_agent", ignore=shutil.ignore_patterns("__pycache__"))
        first = _times(ours, home, _dashboard_answers, keys=TYPED, **clone)[0]
        for turn in range(rounds == 1, rounds + 1):
            if turn == 1:
                seconds.clear()  # the first was to warm up; a single round judges nothing
            note(hello=_times(hello, home, lambda raw: MARK in raw)[0])
            picture, dashboard = _times(ours, home, lambda raw: PICTURE in raw, _dashboard_answers, keys=TYPED)
            note(picture=picture, dashboard=dashboard)
            note(second=_times(ours, home, _dashboard_answers, keys=TYPED, **clone)[0])
            note(ready=_times(probed, home, lambda raw: READY in raw)[0])
            note(bare=_command("-c", "pass"), help=_command("-m", "tui_agent", "--help"))
            note(version=_command("-m", "tui_agent", "--version"))
            delays = sorted(_delays(probed, home))
            keys += len(delays)
            slowest.append(delays[min(len(delays) - 1, int(len(delays) * 0.99))] * 1000)
    middle = {name: statistics.median(values) for name, values in seconds.items()}
    print("  medians in ms: " + ", ".join(f"{name} {value * 1000:.0f}" for name, value in middle.items()))
    print(f"  the first start of a clone {first * 1000:.0f}")

    def ratio(what: str, base: str) -> float:
        """The median of the rounds' own ratios: what was measured within seconds is fair to both."""
        return statistics.median(map(truediv, seconds[what], seconds[base]))

    return [
        ("first picture / a bare Textual app's first frame", ratio("picture", "hello"), LIMITS["picture"]),
        ("every pane, and a key answered / the same", ratio("dashboard", "hello"), LIMITS["dashboard"]),
        ("ready to call a model / the same", ratio("ready", "hello"), LIMITS["ready"]),
        (f"ms from key to screen at a start's p99, {keys} keys in all", statistics.median(slowest), LIMITS["key"]),
        ("--help / python -c pass", ratio("help", "bare"), LIMITS["command"]),
        ("--version / python -c pass", ratio("version", "bare"), LIMITS["command"]),
        ("second start of a clone / any start", ratio("second", "dashboard"), LIMITS["second"]),
    ]


if __name__ == "__main__":
    for what, ratio, limit in run(int(sys.argv[1]) if len(sys.argv) > 1 else 9):
        print(f"  {what}: {ratio:.2f} (limit {limit:g})")

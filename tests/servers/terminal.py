"""A terminal for the program: a pty, and the screen that a person would see on it."""

from __future__ import annotations

import re
import signal
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pexpect
import pyte

from tests.servers.program import LIMIT, command

_MODES = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_KITTY = re.compile(rb"\x1b\[([<>])[0-9;]*u")
MOUSE = frozenset({9, 1000, 1001, 1002, 1003, 1005, 1006, 1015, 1016})
ALTERNATE, CURSOR, PASTE, FOCUS = 1049, 25, 2004, 1004


class Terminal:
    """The program on a terminal of its own; whatever waits, waits for what is seen.

    Args:
        args: the program's.
        env: its whole environment.
        cwd: where it starts.
        columns, rows: of the terminal.
    """

    def __init__(self, *args: str, env: Mapping[str, str], cwd: Path, columns: int = 160, rows: int = 48) -> None:
        program, *rest = command(*args)
        self.raw = b""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.child = pexpect.spawn(
            program, rest, env=dict(env), cwd=str(cwd), dimensions=(rows, columns), timeout=LIMIT, echo=True
        )
        self.child.delayafterclose = self.child.delayafterterminate = 0.05
        self.before = self.line_discipline()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.child.isalive():
            self.child.kill(signal.SIGKILL)
        if error is not None:
            error.add_note("The screen at that time:\n" + self.text)
        self.child.close(force=True)

    @property
    def text(self) -> str:
        """What stands on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, words: str) -> str:
        """The first line on the screen that holds some words."""
        return next((line for line in self.text.splitlines() if words in line), "")

    def read(self, seconds: float = 0.05) -> bool:
        """Take in what comes within a time; whether the program still holds the terminal."""
        try:
            piece = self.child.read_nonblocking(65536, seconds)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += piece
        self._stream.feed(piece)
        return True

    def see(self, *words: str | re.Pattern[str] | Callable[[str], Any], seconds: float = LIMIT) -> None:
        """Wait until all of it stands on the screen at the same time."""
        deadline = time.monotonic() + seconds
        while missing := [word for word in words if not _stands(word, self.text)]:
            if not self.read():
                raise AssertionError(f"the program ended, and {missing} was never seen")
            if time.monotonic() > deadline:
                raise AssertionError(f"{missing} was not seen within {seconds} s")

    def send(self, keys: str) -> None:
        """Type."""
        self.child.send(keys)

    def signal(self, number: signal.Signals) -> None:
        self.child.kill(number)

    def end(self, seconds: float = LIMIT) -> int:
        """Wait for the program's end; the exit code, or minus the signal's number."""
        deadline = time.monotonic() + seconds
        while self.read():
            if time.monotonic() > deadline:
                raise AssertionError(f"the program did not end within {seconds} s")
        self.child.wait()
        return self.child.exitstatus if self.child.exitstatus is not None else -(self.child.signalstatus or 0)

    def line_discipline(self) -> list[Any]:
        """The terminal's own settings: echo, lines, signals."""
        return termios.tcgetattr(self.child.child_fd)[:4]

    def modes(self) -> set[int]:
        """The private modes that are switched on at the end of what was written."""
        on = {CURSOR}
        for numbers, switch in _MODES.findall(self.raw):
            for number in map(int, numbers.split(b";")):
                (on.add if switch == b"h" else on.discard)(number)
        return on

    def assert_restored(self) -> None:
        """Nothing of the program is left on the terminal."""
        assert self.modes() & (MOUSE | {ALTERNATE, PASTE, FOCUS}) == set()
        assert CURSOR in self.modes(), "the cursor is hidden"
        pushed: list[bytes] = _KITTY.findall(self.raw)
        assert pushed.count(b"<") >= pushed.count(b">"), "the keyboard's protocol was not given back"
        assert self.line_discipline() == self.before


def _stands(word: str | re.Pattern[str] | Callable[[str], Any], text: str) -> bool:
    if isinstance(word, str):
        return word in text
    return bool(word.search(text) if isinstance(word, re.Pattern) else word(text))

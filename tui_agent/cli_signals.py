"""SIGINT, SIGTERM and SIGHUP as one polite request to stop, and a second Ctrl-C as none."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

INTERRUPTED = 130
PATIENCE = 10.0
"""Seconds that a polite end may take; then the process ends at once."""
PATIENCE_WITHOUT_TERMINAL = 3.0
"""The same where the terminal is gone: whoever still writes to it waits for ever."""
# SIGHUP is not known everywhere.
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupts:
    """While entered, the first signal calls `stop` on the event loop; a Ctrl-C after it ends the process at once.

    Plain handlers, not the loop's: they also run while a blocked write or a long import holds the loop up.

    Args:
        stop: called once, on the running loop.
        leave: called before the process ends at once; puts back what must be put back, such as a terminal.

    Attributes:
        received: whether a signal came.
    """

    def __init__(self, stop: Callable[[], object], leave: Callable[[], object] = lambda: None) -> None:
        self._stop = stop
        self._leave = leave
        self._before: dict[signal.Signals, Any] = {}
        self.received = False

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        for name in _NAMES:
            number = getattr(signal, name, None)
            # `nohup` asks to outlive the terminal.
            if number is None or (name == "SIGHUP" and signal.getsignal(number) is signal.SIG_IGN):
                continue
            # Only the main thread can take signals; elsewhere whoever embeds the program does.
            with contextlib.suppress(ValueError):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self.received:
            # The process is ending; while it waits for a thread that still reads, a Ctrl-C ends it.
            return
        for number, handler in self._before.items():
            # None: it was set by no Python code and cannot be put back from here.
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if not self.received:
            self.received = True
            self._loop.call_soon_threadsafe(self._stop)
            gone = number == getattr(signal, "SIGHUP", None)
            end = (lambda: os._exit(INTERRUPTED)) if gone else self._end_at_once
            watchdog = threading.Timer(PATIENCE_WITHOUT_TERMINAL if gone else PATIENCE, end)
            watchdog.daemon = True
            watchdog.start()
        elif number == signal.SIGINT:
            self._end_at_once()

    def _end_at_once(self) -> None:
        self._leave()
        # Threads may still import, read, or write to a terminal that is gone; `sys.exit` would wait for them.
        os._exit(INTERRUPTED)

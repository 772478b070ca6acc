"""Importing in a thread beside a dashboard that answers keys: the collector rests, and whoever types goes first."""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder

SWITCH_INTERVAL = 0.001
"""Seconds after which a thread that imports lets another in that wants to go on."""
PAUSE = 0.025
"""Seconds that importing waits after a key: about what it takes to draw its answer."""
LONGEST = 2.0
"""Seconds that it waits in all, however much is typed."""
# The HTTP clients' command line brings click, Pygments and a progress bar: a tenth of the time until a model can be
# called. The SDK's bridge to aiohttp brings that, where it happens to be installed: another tenth.
SPARED = frozenset({"httpx._main", "httpx2._main", "openai._vendor.httpx_aiohttp"})


class Courtesy(MetaPathFinder):
    """A finder that finds nothing: it is asked before each module, and waits there while somebody types.

    Only other threads than the main one wait; the main one draws the answers.
    """

    def __init__(self) -> None:
        self._until = 0.0
        self._left = LONGEST

    def typed(self) -> None:
        """A key came; called from any thread."""
        self._until = time.monotonic() + PAUSE

    def find_spec(self, name: str, *_: object) -> None:
        """Wait, and find nothing.

        Raises:
            ModuleNotFoundError: for what is not used here, and which its importer does without where it is not there.
        """
        if name in SPARED:
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)
        if threading.current_thread() is threading.main_thread():
            return
        while self._left > 0 and (pause := min(self._until - time.monotonic(), self._left)) > 0:
            self._left -= pause
            time.sleep(pause)


@contextmanager
def polite(courtesy: Courtesy) -> Iterator[None]:
    """While entered, threads import politely; afterwards the collector works, on what comes from then on."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    sys.meta_path.insert(0, courtesy)
    try:
        yield
    finally:
        sys.meta_path.remove(courtesy)
        sys.setswitchinterval(interval)
        if not gc.isenabled():
            # What was imported stays anyway.
            gc.freeze()
            gc.enable()

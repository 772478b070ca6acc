"""Time as something that is handed in, so that an hour of waiting can be tested in a millisecond."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What the layers need of time."""

    def monotonic(self) -> float:
        """Seconds that never run backwards; only differences mean anything."""

    def time(self) -> float:
        """Seconds since the epoch (UTC), as rate limits are told."""

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""


class SystemClock:
    """The machine's own time."""

    def monotonic(self) -> float:
        """Seconds of the machine's monotonic clock."""
        return time.monotonic()

    def time(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass on the event loop."""
        await asyncio.sleep(seconds)

"""When the screen is drawn: events in bunches, countdowns only while something counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from textual.timer import Timer

from tui_agent.tui.state import Area, DashboardState

INTERVAL = 1 / 15
"""Seconds between two drawings of events at least."""
LEAST_TICK = 0.05


class Drawn(Protocol):
    """What draws a part of the state (a pane, the header)."""

    AREAS: ClassVar[tuple[Area, ...]]

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the state."""

    def tick(self, now: float) -> float | None:
        """Draw what changes by time alone; answer when it changes next."""


class Refresher:
    """Draws what changed and can be seen.

    Args:
        state: what is drawn.
        now: the run's time in seconds.
        visible: who can be seen at the moment.
        set_timer: Textual's one-shot timer.
    """

    def __init__(
        self,
        state: DashboardState,
        now: Callable[[], float],
        visible: Callable[[], Sequence[Drawn]],
        set_timer: Callable[[float, Callable[[], None]], Timer],
    ) -> None:
        self._state = state
        self._now = now
        self._visible = visible
        self._set_timer = set_timer
        self._drawn: dict[Drawn, tuple[int, ...]] = {}
        self._last = 0.0
        self._flushing: Timer | None = None
        self._ticking: Timer | None = None

    @property
    def resting(self) -> bool:
        """Whether no timer runs."""
        return self._flushing is None and self._ticking is None

    def wake(self) -> None:
        """Something changed: draw it soon, with whatever else changes until then."""
        if self._flushing is None:
            wait = self._last + INTERVAL - time.monotonic()
            self._flushing = self._set_timer(max(0.001, wait), self.flush)

    def flush(self) -> None:
        """Draw what changed, now."""
        if self._flushing is not None:
            self._flushing.stop()
            self._flushing = None
        self._last = time.monotonic()
        now = self._now()
        for part in self._visible():
            revisions = self._state.revisions.of(*part.AREAS)
            if self._drawn.get(part) != revisions:
                self._drawn[part] = revisions
                part.update_from(self._state, now)
        self.tick()

    def tick(self) -> None:
        """Draw what time changed, and wait until it changes more."""
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        now = self._now()
        waits = [wait for part in self._visible() if (wait := part.tick(now)) is not None]
        if waits:
            self._ticking = self._set_timer(max(LEAST_TICK, min(waits)), self.tick)

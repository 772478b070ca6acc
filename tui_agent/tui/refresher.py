"""When the screen is drawn: events in bunches, countdowns only while something counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from tui_agent.tui.state import Area, DashboardState
from tui_agent.tui.timers import Stoppable

INTERVAL = 1 / 15
"""Seconds between two drawings of events at least."""
SHARE = 5
"""How many times longer than what a drawing cost, in CPU, the time until the next: at most a fifth of a core."""
LONGEST = 0.25
"""Seconds between two drawings at most, however much they cost."""
LEAST_TICK = 0.05


class Drawn(Protocol):
    """What draws a part of the state (a pane, the header)."""

    AREAS: ClassVar[tuple[Area, ...]]
    REST: ClassVar[float]
    """Seconds between two drawings of this part at least; its numbers need not follow every event."""

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the state."""

    def tick(self, now: float) -> float | None:
        """Draw what changes by time alone; answer when it changes next."""


class Refresher:
    """Draws what changed and can be seen.

    Args:
        state: what is drawn, as it is now.
        now: the run's time in seconds.
        visible: who can be seen at the moment.
        set_timer: a timer that goes off once.
        passes: whether the run's time passes by itself, so that countdowns have to be drawn anew.
        clock: monotonic seconds.
        cpu: seconds of CPU that this thread has taken.
    """

    def __init__(
        self,
        state: Callable[[], DashboardState],
        now: Callable[[], float],
        visible: Callable[[], Sequence[Drawn]],
        set_timer: Callable[[float, Callable[[], None]], Stoppable],
        passes: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.monotonic,
        cpu: Callable[[], float] = time.thread_time,
    ) -> None:
        self._state = state
        self._now = now
        self._visible = visible
        self._set_timer = set_timer
        self._passes = passes
        self._clock = clock
        self._cpu = cpu
        self._cpu_at_last = cpu()
        self._interval = INTERVAL
        self._drawn: dict[Drawn, tuple[int, ...]] = {}
        self._drawn_at: dict[Drawn, float] = {}
        self._due: dict[Drawn, float | None] = {}
        self._last = self._flush_at = 0.0
        self._flushing: Stoppable | None = None
        self._ticking: Stoppable | None = None

    @property
    def resting(self) -> bool:
        """Whether no timer runs."""
        return self._flushing is None and self._ticking is None

    def forget(self) -> None:
        """Another state, or another moment of it, takes the place of what was drawn."""
        self._drawn.clear()
        self._due.clear()

    def wake(self) -> None:
        """Something changed: draw it soon, with whatever else changes until then."""
        self._draw_at(self._last + self._interval)

    def _draw_at(self, moment: float) -> None:
        if self._flushing is not None:
            if self._flush_at <= moment:
                return
            self._flushing.stop()
        self._flush_at = moment
        self._flushing = self._set_timer(max(0.0, moment - self._clock()), self._flush_rested)

    def flush(self) -> None:
        """Draw all that changed, now."""
        self._flush(None)

    def _flush_rested(self) -> None:
        """Draw what changed, and was not drawn just before; the rest of it later."""
        self._flush(self._clock())

    def _flush(self, moment: float | None) -> None:
        if self._flushing is not None:
            self._flushing.stop()
            self._flushing = None
        self._pace()
        state, now = self._state(), self._now()
        later: list[float] = []
        for part in self._visible():
            revisions = state.revisions.of(*part.AREAS)
            if self._drawn.get(part) == revisions:
                continue
            rested = self._drawn_at.get(part, 0.0) + part.REST
            if moment is not None and moment < rested:
                later.append(rested)
                continue
            self._drawn[part], self._drawn_at[part] = revisions, self._last
            self._due.pop(part, None)
            part.update_from(state, now)
        self.tick()
        if later:
            self._draw_at(max(self._last + self._interval, min(later)))

    def _pace(self) -> None:
        """Draw less often where drawing costs much: Textual paints later, so what the last one cost is known now."""
        clock, cpu = self._clock(), self._cpu()
        cost = cpu - self._cpu_at_last if clock - self._last <= LONGEST + INTERVAL else 0.0
        self._interval = max(INTERVAL, min(LONGEST, SHARE * cost))
        self._last, self._cpu_at_last = clock, cpu

    def tick(self) -> None:
        """Draw what time changed, and wait until it changes more."""
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None
        now = self._now()
        waits: list[float] = []
        for part in self._visible():
            due = self._due.get(part, now)
            if due is not None and due <= now + LEAST_TICK / 2:
                wait = part.tick(now)
                self._due[part] = due = None if wait is None else now + wait
            if due is not None:
                waits.append(due - now)
        if waits and self._passes():
            self._ticking = self._set_timer(max(LEAST_TICK, min(waits)), self.tick)

"""What stands on the panes: the session's run as it goes on, or a recorded one at a moment of its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent import events as ev
from tui_agent.resilience.clock import Clock
from tui_agent.tui.state import DashboardState

if TYPE_CHECKING:
    from tui_agent.tui.replay import Player


class Stage:
    """The live state, which takes in every event whatever is shown, and the replay that may stand before it.

    Args:
        clock: the live run's time.
        threshold: failures that open a breaker, until an event says so.
    """

    def __init__(self, clock: Clock, threshold: int) -> None:
        self.live = DashboardState(threshold=threshold)
        self.player: Player | None = None
        self._threshold = threshold
        self._clock = clock
        self._origin = clock.monotonic()

    @property
    def state(self) -> DashboardState:
        """What is shown."""
        return self.live if self.player is None else self.player.state

    def now(self) -> float:
        """The shown run's seconds since it began, of the same kind as its events' `at`."""
        return self.live_time() if self.player is None else self.player.now

    def epoch(self) -> float:
        """The time of day that goes with what is shown, in epoch seconds."""
        return self._clock.time() if self.player is None else self.player.epoch

    def live_time(self) -> float:
        """Seconds since the live run began."""
        return self._clock.monotonic() - self._origin

    def passes(self) -> bool:
        """Whether time passes by itself: in a replay only whoever plays it moves it."""
        return self.player is None

    def take(self, event: ev.Event) -> None:
        """Take in an event of the session."""
        if event.run_id is None or isinstance(event, ev.RunStarted):
            self.live.advance(self.live_time())
        if isinstance(event, ev.RunStarted):
            self._origin = self._clock.monotonic() - event.at
        self.live.apply(event)

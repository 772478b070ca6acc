"""A recorded run as something to walk through in time: forwards, backwards, step by step, at any speed.

No Textual and no clock: whoever plays says how much time has passed. The state at a position is what the dashboard's
own reducer makes of the events up to there; going back makes it anew from the first event, so that there is only one
way to a state. It is made when it is asked for: steps in quick succession cost one making, not one each.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui_agent import events as ev
from tui_agent.tui.state import DEFAULT_THRESHOLD, DashboardState

SPEEDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
LONGEST_PAUSE = 3.0
"""Seconds in which a longer pause passes (at speed 1): its countdowns run, only faster."""
BETWEEN_RUNS = 1.0
"""Seconds between a run and the one that follows it; the hours that may lie between are not shown."""


@dataclass(frozen=True, slots=True)
class Reel:
    """One recorded run.

    `began` is when it began, in epoch seconds; `events` are in the order in which they were recorded.
    """

    began: float
    events: Sequence[ev.Event]


def is_failure(event: ev.Event) -> bool:
    """Whether something went wrong here."""
    match event:
        case ev.AttemptFailed() | ev.TurnRestarted():
            return True
        case ev.ToolFinished():
            return event.outcome != "ok"
        case ev.BreakerChanged():
            return event.state == "open"
        case ev.RunFinished():
            return event.outcome == "failed"
    return False


class Player:
    """A place in a sequence of events, and the state there.

    `position` counts the events that have happened; `time` is in seconds since the first run began, along all runs.
    `playing` is whether `pass_` moves it.

    Args:
        reels: a run and those that follow it, oldest first.
        threshold: failures that open a breaker, until an event says so.
    """

    def __init__(self, reels: Sequence[Reel], *, threshold: int = DEFAULT_THRESHOLD) -> None:
        self._threshold = threshold
        self.events: list[ev.Event] = []
        self._times: list[float] = []
        self._began = [reel.began for reel in reels]
        self._firsts: list[int] = []
        """Each run's first event, and the second in which the run began."""
        self._origins: list[float] = []
        at = -BETWEEN_RUNS
        for reel in reels:
            origin = at + BETWEEN_RUNS
            self._firsts.append(len(self.events))
            self._origins.append(origin)
            at = origin
            for event in reel.events:
                at = max(at, origin + event.at)
                self.events.append(event)
                self._times.append(at)
        self._turns = self._places(lambda event: isinstance(event, ev.RunStarted | ev.TurnStarted | ev.RunFinished))
        self._turn_starts = self._places(lambda event: isinstance(event, ev.RunStarted | ev.TurnStarted))
        self._failures = self._places(is_failure)
        self.position = 0
        self.time = 0.0
        self.playing = False
        self.speed = 1.0
        self._state = DashboardState(threshold=threshold)
        self._made = 0

    def _places(self, wanted: Callable[[ev.Event], bool]) -> list[int]:
        """The positions just behind the events that are wanted."""
        return [place for place, event in enumerate(self.events, 1) if wanted(event)]

    # -- what is there ----------------------------------------------------------------------

    @property
    def state(self) -> DashboardState:
        """The state here; another object than before where one has gone back since."""
        if self._made > self.position:
            self._state, self._made = DashboardState(threshold=self._threshold), 0
        apply = self._state.apply
        for event in self.events[self._made : self.position]:
            apply(event)
        self._made = self.position
        return self._state

    @property
    def run(self) -> int:
        """Which of the runs this is, from 0."""
        return max(0, bisect_right(self._firsts, max(0, self.position - 1)) - 1)

    @property
    def now(self) -> float:
        """Seconds since the run here began, as its events tell them."""
        return self.time - (self._origins[self.run] if self._origins else 0.0)

    @property
    def epoch(self) -> float:
        """The time of day then, in epoch seconds."""
        return (self._began[self.run] if self._began else 0.0) + self.now

    @property
    def turn(self) -> tuple[int, int]:
        """The turn here and how many there may be; zeros before the first."""
        place = bisect_right(self._turn_starts, self.position) - 1
        event = self.events[self._turn_starts[place] - 1] if place >= 0 else None
        return (event.turn, event.max_turns) if isinstance(event, ev.TurnStarted) else (0, 0)

    @property
    def length(self) -> float:
        """Seconds from the first event to the last."""
        return self._times[-1] if self._times else 0.0

    @property
    def last(self) -> ev.Event | None:
        """What happened last."""
        return self.events[self.position - 1] if self.position else None

    @property
    def next(self) -> ev.Event | None:
        """What happens next."""
        return None if self.at_end else self.events[self.position]

    @property
    def at_end(self) -> bool:
        """Whether nothing more happens."""
        return self.position >= len(self.events)

    @property
    def failures(self) -> list[float]:
        """When something went wrong, along all runs."""
        return [self._times[place - 1] for place in self._failures]

    # -- moves ------------------------------------------------------------------------------

    def go(self, position: int) -> None:
        """Go to just behind an event, counted from 1; 0 is before the first."""
        position = min(max(position, 0), len(self.events))
        self._move(position, self._times[position - 1] if position else 0.0)

    def seek(self, seconds: float) -> None:
        """Go to a time along all runs; what happened in that very moment has happened."""
        time = min(max(seconds, 0.0), self.length)
        self._move(bisect_right(self._times, time), time)

    def _move(self, position: int, time: float) -> None:
        if time < self.time:
            # a state that was drawn at a later time is not drawn again at an earlier one
            self._state, self._made = DashboardState(threshold=self._threshold), 0
        self.position, self.time = position, time

    def step(self, events: int) -> None:
        """Go on by some events, or back (negative)."""
        self.go(self.position + events)

    def step_turn(self, forward: bool) -> None:
        """Go to where the next turn begins, or the one before; both ends of a run count."""
        self.go(self._next_of(self._turns, forward, len(self.events) if forward else 0))

    def step_failure(self, forward: bool) -> bool:
        """Go to the next failure, or the one before; False where there is none."""
        place = self._next_of(self._failures, forward, -1)
        if place < 0:
            return False
        self.go(place)
        return True

    def _next_of(self, places: list[int], forward: bool, otherwise: int) -> int:
        index = bisect_right(places, self.position) if forward else bisect_left(places, self.position) - 1
        return places[index] if 0 <= index < len(places) else otherwise

    def start(self) -> None:
        """Go before the first event."""
        self.go(0)

    def end(self) -> None:
        """Go behind the last event."""
        self.go(len(self.events))

    # -- playing ----------------------------------------------------------------------------

    def toggle(self) -> None:
        """Play or pause; at the end, play from the start."""
        if not self.playing and self.at_end:
            self.start()
        self.playing = not self.playing and bool(self.events)

    def faster(self, steps: int) -> None:
        """Take the next higher speed (1), or the next lower one (-1); the last one stays."""
        self.speed = SPEEDS[min(max(SPEEDS.index(self.speed) + steps, 0), len(SPEEDS) - 1)]

    def pass_(self, seconds: float) -> None:
        """Let time pass, in the watcher's seconds: it goes on where it plays, and stops at the end."""
        budget = seconds * self.speed
        while self.playing:
            if self.at_end:
                self.playing = False
                return
            due = self._times[self.position]
            pause = due - (self._times[self.position - 1] if self.position else 0.0)
            rate = max(1.0, pause / LONGEST_PAUSE)
            if (due - self.time) > budget * rate:
                self.time += budget * rate
                return
            budget -= (due - self.time) / rate
            self.time = due
            self.position += 1

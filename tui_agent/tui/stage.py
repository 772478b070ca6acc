"""What stands on the panes: one of the session's runs as it goes on, or a recorded one at a moment of its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui_agent import events as ev
from tui_agent.i18n import mark, say
from tui_agent.request import RunRequest
from tui_agent.resilience.clock import Clock
from tui_agent.tui.state import DashboardState, RunWord

if TYPE_CHECKING:
    from tui_agent.tui.replay import Player

COMPARISON = mark("comparison")
"""What the run is called that compares the others."""


@dataclass(slots=True, eq=False)
class Live:
    """A run of the session.

    `origin` is the clock's second in which it began, `asked` what a question would go on with, `again` what running it
    again means, `compares` whether it reads what other runs have found.
    """

    state: DashboardState
    origin: float
    name: str = ""
    asked: RunRequest | None = None
    again: RunRequest | None = None
    compares: bool = False


@dataclass(frozen=True, slots=True)
class Tab:
    """One of several runs, as a line of tabs shows it."""

    name: str
    outcome: RunWord
    shown: bool


class Stage:
    """The session's runs, each of which takes in every event whatever is shown, and the replay that may stand there.

    There is one run, or there are those of a comparison: the repositories', in the order in which they were named, and
    the comparison itself. Breakers and limits belong to the process: all of them hear of those.

    `shown` is the number of the one that is shown, from 0; `waiting` is whether a request has been made of which no run
    has begun yet.

    Args:
        clock: the session's time.
        threshold: failures that open a breaker, until an event says so.
    """

    def __init__(self, clock: Clock, threshold: int) -> None:
        self.player: Player | None = None
        self.waiting = False
        self._threshold = threshold
        self._clock = clock
        self._runs = [Live(DashboardState(threshold=threshold), clock.monotonic())]
        self.shown = 0
        self._chosen = False
        self._request: RunRequest | None = None
        self._names: Sequence[str] = ()

    # -- what is shown ----------------------------------------------------------------------

    @property
    def run(self) -> Live:
        """The run of the session that is shown, or stands behind the replay."""
        return self._runs[self.shown]

    @property
    def live(self) -> DashboardState:
        """Its state."""
        return self.run.state

    @property
    def state(self) -> DashboardState:
        """What is shown."""
        return self.live if self.player is None else self.player.state

    def now(self) -> float:
        """The shown run's seconds since it began, of the same kind as its events' `at`."""
        return self._time_of(self.run) if self.player is None else self.player.now

    def epoch(self) -> float:
        """The time of day that goes with what is shown, in epoch seconds."""
        return self._clock.time() if self.player is None else self.player.epoch

    def passes(self) -> bool:
        """Whether time passes by itself: in a replay only whoever plays it moves it."""
        return self.player is None

    def tabs(self) -> list[Tab]:
        """The runs to choose from; none where there is only one."""
        if len(self._runs) == 1:
            return []
        return [Tab(run.name, run.state.run.outcome, run is self.run) for run in self._runs]

    def of(self, run_id: str | None) -> Live | None:
        """The run of the session that has this id; None where it has given way to another."""
        return next((run for run in self._runs if run.state.run.run_id == run_id), None)

    def more_to_come(self, run: Live) -> bool:
        """Whether a run is one of several of which the last, the comparison, is still to end."""
        return self._request is not None and bool(self._request.others) and not run.compares

    def choose(self, index: int) -> None:
        """Show one of several runs, counted from 0 and round about; it stays until another one is chosen."""
        self.shown, self._chosen = index % len(self._runs), True

    # -- what happens -----------------------------------------------------------------------

    def begin(self, request: RunRequest, names: Sequence[str] = ()) -> None:
        """Something is asked of the session; what was shown stays until its first event.

        Args:
            request: what was asked.
            names: of its repositories, as their first events will tell them, where there are several.
        """
        self._request, self._names, self.waiting = request, names, True

    def take(self, event: ev.Event) -> None:
        """Take in an event of the session."""
        if isinstance(event, ev.RunStarted):
            self._start(event)
            return
        for run in self._runs:
            if event.run_id is None or event.run_id != run.state.run.run_id:
                run.state.advance(self._time_of(run))
            run.state.apply(event)

    def unfinished(self) -> list[tuple[DashboardState, float]]:
        """The runs that go on, each with its time in seconds."""
        return [(run.state, self._time_of(run)) for run in self._runs if run.state.run.running]

    def _time_of(self, run: Live) -> float:
        return self._clock.monotonic() - run.origin

    def _start(self, event: ev.RunStarted) -> None:
        """A run begins: in place of the one that it follows, in its own place of a comparison, or in place of all."""
        run, request = self._followed(event), self._request
        if run is not None:
            run.asked = run.again = request
            self.shown = self._runs.index(run)
        else:
            if self.waiting:
                self._runs = self._places(event, request)
                self.shown, self._chosen = 0, False
            run = self._place(event)
        self.waiting = False
        if run.compares and not self._chosen:
            self.shown = self._runs.index(run)
        run.state.advance(self._time_of(run))
        run.origin = self._clock.monotonic() - event.at
        run.state.apply(event)

    def _followed(self, event: ev.RunStarted) -> Live | None:
        if event.follows is None:
            return None
        for run in self._runs:
            if event.follows == run.state.run.run_id or event.follows in run.state.report.runs:
                return run
        return None

    def _places(self, event: ev.RunStarted, request: RunRequest | None) -> list[Live]:
        """A place for each run that a request leads to; they begin with the services as they stand."""
        before = self.run
        if request is None or not request.others:
            state = self._replayed(event) or before.state
            return [Live(state, before.origin, event.repo, request, request)]
        before.state.advance(self._time_of(before))
        addresses = (request.repo, *request.others)
        places = [
            Live(self._new(before.state), before.origin, name, _alone(request, address), request)
            for address, name in zip(addresses, self._names or addresses, strict=True)
        ]
        return [*places, Live(self._new(before.state), before.origin, say(COMPARISON), request, request, compares=True)]

    def _new(self, before: DashboardState) -> DashboardState:
        state = DashboardState(threshold=self._threshold)
        state.take_over(before)
        return state

    def _replayed(self, event: ev.RunStarted) -> DashboardState | None:
        """The end of the replay, where the new run goes on with it: its reports stand before the new one's."""
        if self.player is None or event.follows is None:
            return None
        self.player.end()
        state = self.player.state
        if event.follows != state.run.run_id and event.follows not in state.report.runs:
            return None
        self.live.advance(self._time_of(self.run))
        state.take_over(self.live)
        return state

    def _place(self, event: ev.RunStarted) -> Live:
        """Where a run belongs that has just begun."""
        *members, last = self._runs
        idle = [run for run in members if run.state.run.outcome == "idle"]
        return next((run for run in idle if run.name.lower() == event.repo.lower()), idle[0] if idle else last)


def _alone(request: RunRequest, address: str) -> RunRequest:
    """The request of one repository of a comparison."""
    return replace(request, repo=address, others=())

"""The replay on the dashboard: opened, walked through by keys, played by a timer, left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.timer import Timer

from tui_agent.events import BreakerChanged
from tui_agent.i18n import say
from tui_agent.request import RunRequest
from tui_agent.resilience.clock import Clock
from tui_agent.tui.refresher import INTERVAL, Refresher
from tui_agent.tui.replay import Player, Reel
from tui_agent.tui.screens.dashboard import DashboardScreen
from tui_agent.tui.stage import Stage

if TYPE_CHECKING:
    from tui_agent.runs.store import Record


@dataclass(frozen=True, slots=True)
class Opened:
    """A recorded run, ready to be walked through.

    `request` is what it had been asked; `run_id` the run's, None where it has no report that a question could go on
    with.
    """

    player: Player
    request: RunRequest
    run_id: str | None


def opened(records: Sequence[Record], threshold: int) -> Opened:
    """Make a run and those that it goes on with ready.

    Args:
        records: oldest first, at least one.
        threshold: failures that open a breaker, where no event says so.
    """
    last = records[-1].summary
    changes = (event for record in records for event in record.events if isinstance(event, BreakerChanged))
    threshold = next((event.threshold for event in changes), threshold)  # what held then, from the first event on
    return Opened(
        player=Player([Reel(record.summary.began, record.events) for record in records], threshold=threshold),
        request=records[-1].request or RunRequest(repo=last.repo, question=last.question, ref=last.ref),
        run_id=last.run_id if last.outcome in ("completed", "partial") else None,
    )


class ReplayControl:
    """What the keys of a replay do.

    `shown` is the run that stands there, `over` whether the next run that starts takes its place.

    Args:
        stage: where it stands.
        board: the panes around it.
        refresher: draws them.
        clock: the watcher's time.
        every: starts a timer.
        explain: says why a key did nothing.
    """

    def __init__(
        self,
        stage: Stage,
        board: DashboardScreen,
        refresher: Refresher,
        clock: Clock,
        every: Callable[[float, Callable[[], None]], Timer],
        explain: Callable[[str], None],
    ) -> None:
        self.shown: Opened | None = None
        self.over = False
        self._stage = stage
        self._board = board
        self._refresher = refresher
        self._clock = clock
        self._every = every
        self._explain = explain
        self._timer: Timer | None = None
        self._played_until = 0.0

    def show(self, opened: Opened, *, play: bool = False) -> None:
        """Put a recorded run on the panes.

        Args:
            opened: the run, standing where it is to be seen first.
            play: whether it goes on from there.
        """
        self.shown, self._stage.player, self.over = opened, opened.player, False
        self._board.message.clear()
        if play and not opened.player.playing:
            opened.player.toggle()
        self._moved()

    def leave(self) -> bool:
        """Give the panes back to the session's run; answers whether there was a replay."""
        if self.shown is None:
            return False
        self.shown = self._stage.player = None
        self._moved()
        return True

    def do(self, what: str, how: int = 1) -> None:
        """Do what a key means: `play`, `event`, `turn`, `failure`, `speed`, `start` or `end`.

        Args:
            what: the move.
            how: how far, and in which direction.
        """
        player = self._stage.player
        if player is None:
            self._explain(say("No replay stands here: h opens a recorded run."))
            return
        if what in ("event", "turn", "failure", "start", "end"):
            # whoever steps wants to look
            player.playing = False
        match what:
            case "play":
                player.toggle()
            case "event":
                player.step(how)
            case "turn":
                player.step_turn(forward=how > 0)
            case "speed":
                player.faster(how)
            case "start":
                player.start()
            case "end":
                player.end()
            case "failure":
                if not player.step_failure(forward=how > 0):
                    self._explain(
                        say("No further failure in this run.") if how > 0 else say("No earlier failure in this run.")
                    )
        self._moved()

    def seek(self, seconds: float) -> None:
        """Go to a moment, in seconds along all runs."""
        if self._stage.player is not None:
            self._stage.player.seek(seconds)
            self._moved()

    def accept_time(self, text: str) -> str | None:
        """Go to a moment as it was typed; None where it was one, else one sentence."""
        try:
            seconds = 0.0
            for part in text.split(":"):
                seconds = seconds * 60 + float(part)
        except ValueError:
            return say("Write seconds, or minutes and seconds: 42, 1:05.")
        if not 0 <= seconds < 1e9:
            return say("Before the start there is nothing.")
        self.seek(seconds)
        return None

    def _moved(self) -> None:
        """Everything may be other than it was drawn."""
        player = self._stage.player
        self._board.show_replay(player)
        self._refresher.forget()
        self._refresher.wake()
        self._keep_time(player is not None and player.playing)

    def _keep_time(self, playing: bool) -> None:
        if playing and self._timer is None:
            self._played_until = self._clock.monotonic()
            self._timer = self._every(INTERVAL, self._play_on)
        elif not playing and self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _play_on(self) -> None:
        player, now = self._stage.player, self._clock.monotonic()
        seconds, self._played_until = now - self._played_until, now
        if player is None:
            return
        player.pass_(seconds)
        self._board.show_replay(player)
        self._refresher.wake()
        self._keep_time(player.playing)

"""What an event of the session does to the screen, and which of several runs stands on it."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent import events as ev
from tui_agent.tui.refresher import Refresher
from tui_agent.tui.replaying import ReplayControl
from tui_agent.tui.screens.dashboard import DashboardScreen
from tui_agent.tui.stage import Stage
from tui_agent.tui.telling import Teller


class Receiver:
    """Lets events reach the stage, and what follows from them the screen.

    Args:
        stage: the runs.
        board: the panes.
        refresher: draws them.
        replays: the replay that may stand there.
        teller: says what deserves a sentence.
        rebind: other keys mean something than before.
    """

    def __init__(
        self,
        stage: Stage,
        board: DashboardScreen,
        refresher: Refresher,
        replays: ReplayControl,
        teller: Teller,
        rebind: Callable[[], None],
    ) -> None:
        self._stage = stage
        self._board = board
        self._refresher = refresher
        self._replays = replays
        self._teller = teller
        self._rebind = rebind

    def take(self, event: ev.Event) -> None:
        """Take in an event of the session; it is drawn with others that come soon after."""
        begins, before = isinstance(event, ev.RunStarted) and self._stage.waiting, self._stage.live
        self._stage.take(event)
        if begins and self._replays.over:
            self.leave_replay()
        if isinstance(event, ev.RunStarted | ev.RunFinished):
            self._show_tabs()
        if self._stage.live is not before:
            self._refresher.forget()
        if self._stage.player is not None:
            self._teller.tell_behind(event)
            return
        if begins:
            self._board.message.clear()
            self._board.leave_input()
        else:
            self._teller.tell(event)
        self._refresher.wake()

    def leave_replay(self) -> None:
        """Give the panes back to the session's run."""
        if self._replays.leave():
            self._rebind()

    @property
    def has_tabs(self) -> bool:
        """Whether there are several runs to choose from."""
        return self._replays.shown is None and bool(self._stage.tabs())

    def choose(self, index: int) -> None:
        """Show one of several runs, counted from 0, and say how it has ended."""
        self._stage.choose(index)
        self._show_tabs()
        if not self._teller.tell_shown():
            self._board.message.clear()
        self._refresher.forget()
        self._refresher.wake()

    def choose_next(self, by: int) -> None:
        """Show the next of several runs, or the one before."""
        self.choose(self._stage.shown + by)

    def _show_tabs(self) -> None:
        if self._board.show_runs(self._stage.tabs()):
            self._rebind()

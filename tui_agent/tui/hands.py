"""A user's hands on the breakers and on what is to come: reset, hold open, put a fault in the way."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App

from tui_agent.i18n import mark, say
from tui_agent.tui.session_like import SessionLike
from tui_agent.tui.stage import Stage
from tui_agent.tui.widgets.breakers import BreakersPane

RECORDED = mark("This is a replay: what happened stays as it was. r runs it again for real, esc leaves it.")


class Hands:
    """What the breakers' keys do; a key that can do nothing says why.

    Args:
        app: where the question for a fault is asked.
        session: whose breakers they are.
        stage: what is shown.
        pane: where one is chosen.
        explain: says a sentence.
    """

    def __init__(
        self,
        app: App[int],
        session: SessionLike,
        stage: Stage,
        pane: BreakersPane,
        explain: Callable[[str], None],
    ) -> None:
        self._app = app
        self._session = session
        self._stage = stage
        self._pane = pane
        self._explain = explain

    def do(self, what: str) -> None:
        """Do what a key means: `reset`, `reset_all`, `isolate` or `fault`."""
        if self._stage.player is not None:
            self._explain(RECORDED)
            return
        {"reset": self._reset, "reset_all": self._reset_all, "isolate": self._isolate, "fault": self._fault}[what]()

    def _reset(self) -> None:
        """Close the chosen breaker, or the first that is not closed."""
        name = self._pane.chosen
        if name is None:
            self._explain(say("Nothing to reset: all breakers are closed."))
        elif self._stage.live.breakers[name].calm:
            self._explain(say("Nothing to reset: {name} is closed.", name=name))
        else:
            self._session.reset_breaker(name)

    def _reset_all(self) -> None:
        """Close all breakers."""
        if all(row.calm for row in self._stage.live.breakers.values()):
            self._explain(say("Nothing to reset: all breakers are closed."))
        else:
            self._session.reset_breaker()

    def _isolate(self) -> None:
        """Hold the chosen breaker open, or let it go."""
        name = self._pane.chosen
        if name is None:
            self._explain(say("Choose a breaker first: 3 goes to them, ↑ and ↓ choose."))
        elif self._stage.live.breakers[name].isolated:
            self._session.release_breaker(name)
        else:
            self._session.isolate_breaker(name)

    def _fault(self) -> None:
        """Ask for a fault and inject it."""
        from tui_agent.tui.screens.fault import fault_screen

        def injected(spec: str | None) -> None:
            if spec is not None:
                self._explain(say("Injected {spec}.", spec=spec))

        self._app.push_screen(fault_screen(self._stage.live.breakers, self._inject), injected)

    def _inject(self, spec: str) -> str | None:
        try:
            self._session.inject(spec)
        except ValueError as error:
            return str(error)
        return None

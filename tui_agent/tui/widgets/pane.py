"""What all panes have in common: a title, a number key, and how the app tells them what is new."""

from __future__ import annotations

from typing import ClassVar

from textual.widget import Widget

from tui_agent.i18n import say
from tui_agent.tui.state import Area, DashboardState


class Pane(Widget):
    """One titled pane of the dashboard.

    The app calls `update_from` when one of `AREAS` has changed and the pane is visible, at most
    about 15 times a second, and once when it becomes visible with changes it has not drawn.
    `tick` is called when the pane asked for it and time alone passed.
    """

    TITLE: ClassVar[str] = ""
    """The pane's name, in English exactly as it stands in its border."""
    AREAS: ClassVar[tuple[Area, ...]] = ()
    """The parts of the state that the pane draws."""
    REST: ClassVar[float] = 0.0
    """Seconds between two drawings of events at least, where 15 times a second is more than it needs."""

    def on_mount(self) -> None:
        """Show the pane's name in its border."""
        self.border_title = say(self.TITLE)

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the state.

        Args:
            state: what is known; it is changed in place, so keep no parts of it as "old" values.
            now: run seconds, of the same kind as the events' `at`.
        """
        raise TypeError(f"{type(self).__name__} does not say how it is drawn")

    def tick(self, now: float) -> float | None:
        """Draw what changes by time alone.

        Args:
            now: run seconds.

        Returns:
            Seconds until time alone changes the picture again; None where nothing counts.
        """
        return None

"""What the latest event is, explained to whoever learns by watching."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content

from tui_agent import events as ev
from tui_agent.explanations import explain
from tui_agent.i18n import mark, say
from tui_agent.safe_text import visible
from tui_agent.tui.state import Area, DashboardState
from tui_agent.tui.widgets.prose import Prose

NOTHING = mark("Nothing has happened yet: each event is explained here as it comes.")


class ExplanationPanel(Prose):
    """A title and a few sentences on the last event."""

    AREAS: ClassVar[tuple[Area, ...]] = (
        "run", "trace", "calls", "breakers", "quota", "report", "notices", "grounding",
    )  # fmt: skip
    REST: ClassVar[float] = 0.25

    def __init__(self) -> None:
        super().__init__(id="explanation")
        self.display = False
        self._event: ev.Event | None = None

    def update_from(self, state: DashboardState, now: float) -> None:
        """Explain the last event that the state took in."""
        event = state.last
        if event is self._event and event is not None:
            return
        self._event = event
        if event is None:
            self.update(Content.styled(say(NOTHING), "$foreground-muted"))
            return
        title, text = (visible(" ".join(part.split()), keep="") for part in explain(event))
        self.update(Content.assemble((title, "bold $text-accent"), ("  ", ""), (text, "$foreground")))

    def tick(self, now: float) -> float | None:
        """Time alone changes nothing here."""
        return None

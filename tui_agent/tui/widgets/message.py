"""One sentence above the input: the latest notice, or what is wrong with what was asked."""

from __future__ import annotations

from textual.content import Content

from tui_agent.events import Level
from tui_agent.i18n import told
from tui_agent.safe_text import visible
from tui_agent.tui.widgets.prose import Prose
from tui_agent.tui.words import Sign

SIGNS: dict[Level, Sign] = {
    "info": Sign("ℹ", "$text-primary"),
    "warning": Sign("▲", "$text-warning"),
    "error": Sign("✘", "$text-error"),
}


class MessageLine(Prose):
    """The latest sentence; takes no room while there is none."""

    def __init__(self) -> None:
        super().__init__(id="message")
        self.display = False
        self.text = ""

    def say(self, level: Level, text: str) -> None:
        """Show a sentence in place of the one before."""
        self.text = text
        sign = SIGNS[level]
        style = "" if level == "info" else sign.style
        words = visible(" ".join(told(text).split()), keep="")
        self.update(Content.assemble((f"{sign.shape} ", f"bold {sign.style}"), (words, style)))
        self.display = True

    def clear(self) -> None:
        """Take the sentence away."""
        self.text = ""
        self.display = False

"""The input at the bottom, which takes a repository or a question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from tui_agent.i18n import mark, say
from tui_agent.safe_text import typeable

HINT = mark("ask or name a repository …")


class AskInput(Input):
    """The field itself; it remembers what was asked."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", mark("start")),
        # Enter, typed before anything had taken the terminal out of its lines
        Binding("ctrl+j", "submit", show=False),
        Binding("escape", "leave", mark("leave")),
        Binding("up", "recall(-1)", "earlier", show=False),
        Binding("down", "recall(1)", "later", show=False),
    ]

    @dataclass
    class Left(Message):
        """The person wants to leave the field."""

    def __init__(self) -> None:
        super().__init__(placeholder=say(HINT), id="ask", compact=True, select_on_focus=False)
        self.cursor_blink = False
        self._asked: list[str] = []
        self._recalled = 0

    def remember(self, text: str) -> None:
        """Keep a text for `up`, and empty the field."""
        if text and text not in self._asked[-1:]:
            self._asked.append(text)
        self._recalled = len(self._asked)
        self.value = ""

    def restore(self, text: str) -> None:
        """Bring the last text back to be corrected; `text` where nothing was typed here."""
        self.value = self._asked.pop() if self._asked else typeable(text)
        self._recalled = len(self._asked)
        self.cursor_position = len(self.value)

    def action_leave(self) -> None:
        """Give the focus back to the panes."""
        self.post_message(self.Left())

    def action_recall(self, step: int) -> None:
        """Bring back an earlier text (`step` -1) or go on to a later one (1)."""
        if not self._asked:
            return
        self._recalled = min(max(self._recalled + step, 0), len(self._asked))
        self.value = self._asked[self._recalled] if self._recalled < len(self._asked) else ""
        self.cursor_position = len(self.value)


class Prompt(Horizontal):
    """The input with a sign before it."""

    def __init__(self) -> None:
        super().__init__(id="prompt")
        self.field = AskInput()

    def compose(self) -> ComposeResult:
        """A sign, then the field."""
        yield Static("❯", id="prompt-sign", markup=False)
        yield self.field

"""What the small screens over the dashboard have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tui_agent.i18n import mark, say, told
from tui_agent.safe_text import visible


class AskScreen(ModalScreen[str | None]):
    """Asks for one line and hands it to `accept`; stays open while that says what is wrong with it.

    Args:
        title: what is asked.
        hint: how to answer, a few lines.
        value: what stands in the field at first.
        placeholder: an example.
        accept: takes the line; answers None where it was good, else one sentence.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", mark("close")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(
        self, title: str, hint: Content, accept: Callable[[str], str | None], *, value: str = "", placeholder: str = ""
    ) -> None:
        super().__init__(classes="dialog")
        self._title = title
        self._hint = hint
        self._accept = accept
        self._value = value
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        """The hint, the field, and room for what is wrong."""
        with Vertical(id="dialog") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = Content(say("enter accepts · esc closes"))
            yield Static(self._hint, id="dialog-hint")
            field = Input(self._value, self._placeholder, id="dialog-field", compact=True, select_on_focus=False)
            field.cursor_blink = False
            yield field
            yield Static(id="dialog-wrong", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Hand the line over; close if it was good."""
        event.stop()
        wrong = self._accept(event.value.strip())
        if wrong is None:
            self.dismiss(event.value.strip())
            return
        self.query_one("#dialog-wrong", Static).update(Content(f"✘ {visible(told(wrong), keep='')}"))

    def on_input_changed(self) -> None:
        """What was wrong may be right now."""
        self.query_one("#dialog-wrong", Static).update("")

"""What the keys do, and what the shapes mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen, Screen

from tui_agent.i18n import mark, say
from tui_agent.tui.keys import HELP
from tui_agent.tui.widgets.prose import Prose
from tui_agent.tui.words import padded

SHAPES: tuple[tuple[str, str, str], ...] = (
    ("━━╸", "$text-primary", mark("an attempt under way")),
    ("━━━", "$text-success", mark("answered")),
    ("━✗503", "$text-error", mark("an attempt that failed, with its status")),
    ("┄┄┄···", "$text-warning", mark("waiting to try again (dots: still to come)")),
    ("▒▒▒···", "$text-accent", mark("waiting for a rate limit")),
    ("◆", "$text-accent", mark("from the run's memory or the cache: nothing was sent")),
    ("◇", "$text-success", mark("asked whether it had changed; it had not")),
    ("!", "$text-warning", mark("an error of the request itself, told to the model")),
    ("▾", "$text-error", mark("fell back without asking (again): the breaker is open")),
    ("○ ● ◐ ■", "$text-error", mark("a breaker closed, open, half-open, held open by hand")),
)
_Keys = tuple[tuple[str, str], ...]
WIDEST = 15
"""Cells of the longest keys, and the gap behind them."""


def own_keys(screen: Screen[Any]) -> list[tuple[str, str]]:
    """The keys of what has the focus on a screen, with what they do."""
    app, own = screen.app, dict[str, tuple[list[str], str]]()
    for node, binding, _, _ in screen.active_bindings.values():
        if node not in (app, screen) and binding.description:
            names = own.setdefault(binding.action, ([], binding.description))[0]
            names.append(binding.key_display or app.get_key_display(binding))
    return [(" ".join(names), text) for names, text in own.values()]


class HelpScreen(ModalScreen[None]):
    """The keys by purpose, then the legend of shapes.

    Args:
        own: keys of the pane that has the focus, with what they do.
        told: a key as it was at first → as the user has bound it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "dismiss(None)", mark("close")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(self, own: Iterable[tuple[str, str]] = (), told: Callable[[str], str] = str) -> None:
        super().__init__(classes="dialog")
        self._told = told
        self._own = tuple(own)

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(id="help") as box:
            box.border_title = say("Help")
            box.border_subtitle = say("esc closes")
            yield Prose(self._text())

    def on_mount(self) -> None:
        """Let the keys scroll it."""
        self.query_one("#help").focus()

    def _now(self, title: str, keys: _Keys) -> _Keys:
        # The trace's are its own, whatever they are called elsewhere.
        return keys if title == "Trace" else tuple((self._told(key), text) for key, text in keys)

    def _text(self) -> Content:
        parts: list[Content] = []
        groups = [
            *((title, self._now(title, keys)) for title, keys in HELP),
            *(((mark("In this pane"), self._own),) if self._own else ()),
        ]
        for title, keys in groups:
            parts.append(Content.styled(say(title), "bold $text-primary"))
            parts.extend(
                Content.assemble("  ", (padded(key, WIDEST), "bold"), (say(text), "$foreground-muted"))
                for key, text in keys
            )
            parts.append(Content(""))
        parts.append(Content.styled(say("Shapes"), "bold $text-primary"))
        parts.extend(
            Content.assemble("  ", (padded(shape, WIDEST), style), (say(text), "$foreground-muted"))
            for shape, style, text in SHAPES
        )
        return Content("\n").join(parts)

"""Where one pane fills the screen: a line with the names of all, the shown one marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui_agent.i18n import say


class PaneTabs(Widget):
    """The panes' names with their number keys.

    Args:
        titles: the panes' titles, in the order of their keys.
    """

    ALLOW_SELECT = False

    @dataclass
    class Chosen(Message):
        """A tab was clicked; `index` counts from 0."""

        index: int

    def __init__(self, titles: Sequence[str]) -> None:
        super().__init__(id="tabs")
        self._titles = tuple(titles)
        self._current = 0
        self._alarms: frozenset[int] = frozenset()
        self._spots: list[tuple[int, int, int]] = []

    def show(self, current: int, alarms: frozenset[int] = frozenset()) -> None:
        """Mark the shown tab, and put `!` behind those that ask for attention (indices from 0)."""
        if (current, alarms) != (self._current, self._alarms):
            self._current, self._alarms = current, alarms
            self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        for begin, end, index in self._spots:
            if begin <= event.x < end:
                self.post_message(self.Chosen(index))

    def render(self) -> Content:
        """The line; where not all names fit, the numbers of the others alone."""
        width = self.content_size.width
        line = self._line(short=False)
        return line if line.cell_length <= width else self._line(short=True)

    def _line(self, *, short: bool) -> Content:
        line = Content()
        self._spots = []
        for index, title in enumerate(self._titles):
            current = index == self._current
            text = f"{index + 1} {say(title)}" if current or not short else f"{index + 1}"
            if index in self._alarms:
                text += "!"
            begin = line.cell_length
            style = "bold reverse" if current else "$text-error" if index in self._alarms else "$foreground-muted"
            # The marks around the name tell the shown tab where there are no colours.
            line = Content.assemble(line, (f"▏{text}▕" if current else f" {text} ", style))
            self._spots.append((begin, line.cell_length, index))
        return line

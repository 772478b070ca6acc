"""Where several runs go on side by side: a line with all of them, the shown one marked, each with its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.stage import Tab
from tui_agent.tui.words import RUN_SIGNS

LEAST = 4
"""Cells of a name below which a tab does without one."""


class RunTabs(Widget):
    """The runs of a comparison. Where they do not fit, words go first, then owners, then the names' ends."""

    ALLOW_SELECT = False

    @dataclass
    class Chosen(Message):
        """A tab was clicked; `index` counts from 0."""

        index: int

    def __init__(self) -> None:
        super().__init__(id="runs")
        self._tabs: tuple[Tab, ...] = ()
        self._spots: list[tuple[int, int, int]] = []

    def show(self, tabs: Sequence[Tab]) -> bool:
        """Draw these; answers whether there are any now and were none before, or the other way round."""
        before, self._tabs = self._tabs, tuple(tabs)
        if self._tabs != before:
            self.refresh()
        return bool(self._tabs) is not bool(before)

    def on_click(self, event: events.Click) -> None:
        """Choose the tab under the mouse."""
        for begin, end, index in self._spots:
            if begin <= event.x < end:
                self.post_message(self.Chosen(index))

    def render(self) -> Content:
        """The line."""
        return self.line(self.content_size.width)

    def line(self, width: int) -> Content:
        """The line in the fullest way that fits into so many cells."""
        ways: list[Callable[[Tab], str]] = [
            lambda tab: f"{one_line(tab.name)} {say(tab.outcome)}",
            lambda tab: one_line(tab.name),
            lambda tab: one_line(tab.name).rpartition("/")[2],
        ]
        for way in ways:
            line = self._line([way(tab) for tab in self._tabs])
            if line.cell_length <= width:
                return line
        names = [ways[-1](tab) for tab in self._tabs]
        longest = max(map(cell_width, names), default=0)
        for room in range(longest - 1, LEAST - 1, -1):
            line = self._line([one_line(name, room) for name in names])
            if line.cell_length <= width:
                return line
        return self._line(
            [one_line(name, LEAST) if tab.shown else "" for name, tab in zip(names, self._tabs, strict=True)]
        )

    def _line(self, names: Sequence[str]) -> Content:
        line = Content()
        self._spots = []
        for index, (tab, name) in enumerate(zip(self._tabs, names, strict=True)):
            sign = RUN_SIGNS[tab.outcome]
            begin = line.cell_length
            style = "bold reverse" if tab.shown else "$foreground-muted"
            # The marks around the name tell the shown tab where there are no colours.
            left, right = ("▏", "▕") if tab.shown else (" ", " ")
            shape = f"bold reverse {sign.style}" if tab.shown else sign.style
            behind = f" {name}{right}" if name else right
            line = Content.assemble(line, (left, style), (sign.shape, shape), (behind, style))
            self._spots.append((begin, line.cell_length, index))
        return line

"""The headings of a report as a list beside it: where one is, and where one may go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui_agent.i18n import mark
from tui_agent.tui.widgets.markdown_place import Heading


class Contents(OptionList):
    """A line a heading, indented by its level."""

    DEFAULT_CSS = """
    Contents {
        background: transparent;
        border: none;
        padding: 0;
        height: 1fr;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
        &:focus { background-tint: $foreground 0%; border: none; }
        & > .option-list--option { padding: 0 1 0 0; color: $foreground 75%; }
        & > .option-list--option-highlighted {
            color: $block-cursor-blurred-foreground;
            background: $block-cursor-blurred-background;
            text-style: bold;
        }
        &:focus > .option-list--option-highlighted {
            color: $block-cursor-foreground;
            background: $block-cursor-background;
            text-style: bold;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,right", "leave", mark("Back to the report"), show=False)]

    class Left(Message):
        """Back to the text, without going anywhere in it."""

    def __init__(self) -> None:
        super().__init__(markup=False, compact=True)
        self._headings: list[Heading] = []

    def show(self, headings: Sequence[Heading]) -> None:
        """Show these headings; those that were there before stay as they are."""
        known = len(self._headings)
        least = min((heading.level for heading in headings), default=1)
        if list(headings[:known]) != self._headings or least < min((h.level for h in self._headings), default=least):
            self.clear_options()
            known = 0
        self._headings = list(headings)
        self.add_options(Option(Content("  " * (h.level - least) + h.title)) for h in headings[known:])

    def mark(self, index: int | None) -> None:
        """Mark the section that is being read, unless somebody chooses one just now."""
        if not self.has_focus and (index is None or index < self.option_count):
            self.highlighted = index

    def action_leave(self) -> None:
        """Go back to the text."""
        self.post_message(self.Left())

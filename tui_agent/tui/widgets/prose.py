"""Sentences that may break between any two Chinese characters, where Textual knows only blanks."""

from __future__ import annotations

from textual.content import Content
from textual.geometry import Size
from textual.widgets import Static

from tui_agent.tui.widgets.trace_text import wrap


class Prose(Static):
    """A text that is wrapped by cells; what is ASCII alone is Textual's."""

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows of the text at a width."""
        content = self.content
        if not isinstance(content, Content) or content.plain.isascii():
            return super().get_content_height(container, viewport, width)
        return len(wrap(content.plain, max(1, width)))

    def render(self) -> Content:
        """The rows that fit the width."""
        content = self.content
        if not isinstance(content, Content):
            content = Content(str(content))
        width = self.content_size.width
        if content.plain.isascii() or not width:
            return content
        return Content("\n").join(content[start:end] for start, end in wrap(content.plain, width))

"""A scrolling view of lines that are drawn as they are, without what Textual does to each of them."""

from __future__ import annotations

from math import ceil

from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.strip import Strip

EIGHTHS = 8
"""In how many steps of a cell Textual draws the thumb of a scroll bar."""


class LinesView(ScrollView):
    """Lines from `line_strip`; a subclass keeps the strips that did not change, and has neither border nor padding."""

    _thumb = (0, 0, False)

    def line_strip(self, y: int) -> Strip:
        """One line of the window, `y` from its top; the same strip as before where nothing changed in it."""
        return self.render_line(y)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw lines for the screen.

        Textual would take every line apart, put it together anew and filter it again for each new position. Here a
        line that only scrolls is the very strip that it was, with all that Textual keeps in it.
        """
        if self.styles.gutter or self.styles.opacity != 1.0 or self.styles.tint.a:
            return super().render_lines(crop)
        _, background = self.background_colors
        filters = self.get_line_filters()
        left, right = crop.column_span
        strips: list[Strip] = []
        for y in crop.line_range:
            strip = self.line_strip(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip.crop(left, right))
        return strips

    def resize_lines(self, width: int, height: int) -> None:
        """There are `height` lines now. The screen is not laid out again for it: the bar, always there, is told."""
        size = Size(width, height)
        if size != self.virtual_size:
            self.set_reactive(ScrollView.virtual_size, size)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Draw the other lines."""
        if self.show_vertical_scrollbar:
            self.move_bar(round(new_value), self.virtual_size.height)
        if round(old_value) != round(new_value):
            self.refresh(self.size.region)

    def move_bar(self, top: int, height: int) -> None:
        """Tell the scroll bar; it is drawn only where its thumb is seen to change, which is seldom in a long text.

        Args:
            top: the first line in the window.
            height: all lines.
        """
        bar, page = self.vertical_scrollbar, max(1, self.scrollable_content_region.height)
        bar.set_reactive(ScrollBar.position, float(top))
        bar.set_reactive(ScrollBar.window_virtual_size, height)
        size = max(1.0, page * page / max(height, page))
        start = int((page - size) * top / max(1, height - page) * EIGHTHS)
        thumb = (start, ceil(size * EIGHTHS), height > page)
        if thumb != self._thumb:
            self._thumb = thumb
            bar.refresh()

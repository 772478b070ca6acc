"""A streaming Markdown view: finished blocks are laid out once, only the open end is drawn again."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from time import perf_counter
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.selection import Selection
from textual.strip import Strip

from tui_agent.i18n import mark
from tui_agent.tui.timers import Once, once
from tui_agent.tui.widgets import markdown_style
from tui_agent.tui.widgets.markdown_document import Document
from tui_agent.tui.widgets.markdown_links import LinkedView
from tui_agent.tui.widgets.markdown_paint import Painter
from tui_agent.tui.widgets.markdown_place import Heading, Placement

FRAME = 1 / 15
"""Seconds between two looks at a text that streams in."""
SOON = 0.005
"""Seconds that are not worth a timer."""
SHARE = 4
"""How many times longer than a look took the pause after it is at least, so that no text takes the whole CPU."""
SLICE = 0.006
"""Seconds of layout at a time, for what is not seen yet."""

LinePlace = tuple[int, int]
"""A block's number and which of its lines."""


class MarkdownView(LinkedView, can_focus=True):
    """Markdown that may still be streaming in; it follows the end until the reader scrolls away from it.

    Nothing in the text can act: links are data, and only http(s) addresses open.
    """

    ALLOW_SELECT = True
    COMPONENT_CLASSES: ClassVar[set[str]] = markdown_style.COMPONENT_CLASSES
    DEFAULT_CSS = (
        """
    MarkdownView {
        overflow: hidden auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """
        + markdown_style.CSS
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end", "scroll_end", mark("Follow the end"), show=False),
    ]

    following: var[bool] = var(True)
    """Whether the view stays at the end of a text that grows."""

    placeholder: var[str] = var("")
    """What is shown while there is no text; safe text, in lines."""

    class HeadingsChanged(Message):
        """There are other headings than before."""

        def __init__(self, headings: list[Heading]) -> None:
            super().__init__()
            self.headings = headings

    class SectionChanged(Message):
        """Another section is being read: the number of its heading, None before the first."""

        def __init__(self, index: int | None) -> None:
            super().__init__()
            self.index = index

    def __init__(self, text: str = "", *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._painter = Painter(self)
        self._streaming = False
        self._dirty = bool(text)
        self._headings: list[Heading] = []
        self._section: int | None = None
        self._chosen: int | None = None
        self._moving = False
        self._timer: Once | None = None
        self._slices: Once | None = None
        self._next_look = 0.0
        self._placement.document.append(text)

    # -- the text ---------------------------------------------------------------------------

    @property
    def markdown_text(self) -> str:
        """The whole text, as it came."""
        return self._placement.document.text

    @property
    def streaming(self) -> bool:
        """Whether more text is to come."""
        return self._streaming

    @property
    def headings(self) -> list[Heading]:
        """The headings of the text."""
        return self._headings

    def append(self, text: str) -> None:
        """Add a piece of a text that streams in; it is seen within a fifteenth of a second."""
        if not text:
            return
        self._placement.document.append(text)
        self._streaming = self._dirty = True
        if self._timer is None:
            wait = self._next_look - perf_counter()
            if wait < SOON:
                self.flush()
            elif self.is_attached:
                self._timer = once(self, wait, self.flush)

    def set_text(self, text: str) -> None:
        """Show another text, which is whole, from its beginning."""
        self.clear()
        self._placement.document.append(text)
        self._dirty, self.following = True, False
        self.flush()

    def finish(self) -> None:
        """Say that nothing more is to come for now."""
        if self._streaming:
            self._streaming, self._dirty = False, True
        self.flush()

    def link(self, targets: Mapping[str, str]) -> None:
        """Have code that names something lead there: once, when the text is whole.

        Args:
            targets: addresses by code span; only http(s) ones open.
        """
        if self._placement.document.link(targets):
            place = self._place()
            self._active = self._hovered = None
            self._placement.again()
            self._lay_out_seen(place)
            self._show(place)

    def scroll_to_text(self, start: int) -> None:
        """Put what stands at a character of the text at the top of the screen.

        Args:
            start: characters before it.
        """
        block = 0
        for block, one in enumerate(self._placement.document.blocks):  # noqa: B007
            start -= len(one.source)
            if start < 0:
                break
        self.following, self._chosen = False, None
        self._lay_out_seen((block, 0))
        self._show((block, 0))
        self._tell_section()

    def clear(self) -> None:
        """Show nothing, and follow what will come."""
        self._placement = Placement(Document(), self._placement.width)
        self._streaming, self._dirty = False, True
        self._active = self._hovered = self._chosen = None
        self._select_nothing()
        self.following = True
        self.flush()

    def flush(self) -> None:
        """Read and draw what was appended, without waiting for the next look."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        placement = self._placement
        if not self._dirty or placement.width <= 0:
            return
        started = perf_counter()
        self._dirty = False
        document = placement.document
        open_from, height, place = document.finished, placement.height, self._place()
        top, before = placement.top(open_from), placement.lines_from(open_from)
        changed = document.update(streaming=self._streaming)
        placement.renew(changed)
        self._lay_out_seen(place)
        if changed < open_from or placement.top(open_from) != top:
            top = 0
        else:
            for was, now in zip(before, placement.lines_from(open_from), strict=False):
                if was != now:
                    break
                top += 1
        self._show(place, redraw=(top, max(height, placement.height)))
        self._tell_headings()
        ended = perf_counter()
        self._next_look = ended + max(FRAME, SHARE * (ended - started))

    # -- where things stand -----------------------------------------------------------------

    def _place(self) -> LinePlace:
        """What stands at the top of the screen: a block, and which of its lines."""
        y = round(self.scroll_y)
        index = self._placement.block_at(y)
        return index, y - self._placement.top(index)

    def _show(self, place: LinePlace, redraw: tuple[int, int] | None = None) -> None:
        """Draw lines again (all by default), with what stood at the top of the screen still there."""
        first, last = redraw if redraw is not None else (0, max(self.virtual_size.height, self._placement.height))
        self._painter.forget(first, last)
        top, rows = round(self.scroll_y), self.scrollable_content_region.height
        first, last = max(first, top), min(last, top + rows)
        if first < last:
            self.refresh_lines(first, last - first)
        self._moving = True
        try:
            self._set_height(self._placement.height)
            index, row = place
            y = self.max_scroll_y if self.following else self._placement.top(index) + row
            if round(self.scroll_y) != min(y, self.max_scroll_y):
                # forced: the scrollbar that allows it may only come with the next layout
                self.scroll_to(y=y, animate=False, force=True)
        finally:
            self._moving = False

    def _set_height(self, height: int) -> None:
        size = Size(self._placement.width, height)
        if size == self.virtual_size:
            return
        if self.show_vertical_scrollbar and height > self.scrollable_content_region.height:
            self.resize_lines(*size)
            self.move_bar(round(self.scroll_y), height)
        else:
            self.virtual_size = size

    def _lay_out_seen(self, place: LinePlace) -> bool:
        """Lay out what is on the screen below `place`, and have the rest follow; returns whether anything moved."""
        placement, rows = self._placement, self.scrollable_content_region.height
        moved = False
        if self.following:
            placement.lay_out_end(rows)
        else:
            top = placement.top(place[0])
            moved = placement.lay_out(top, top + place[1] + rows)
        if placement.unfinished:
            moved = placement.lay_out_more(SLICE) or moved
        if placement.unfinished and self._slices is None:
            self._slices = once(self, SLICE, self._lay_out_slice)
        return moved

    def _lay_out_slice(self) -> None:
        self._slices = None
        place = self._place()
        if self._lay_out_seen(place):
            self._show(place)
            self._tell_section()

    def on_resize(self) -> None:
        """Lay the text out for the new width, what is seen first."""
        placement, (block, row) = self._placement, self._place()
        width = self.scrollable_content_region.width
        if width <= 0:
            return
        if width != placement.width:
            share = row / max(1, placement.height_of(block))
            placement.resize(width)
            self._lay_out_seen((block, row))
            row = round(share * placement.height_of(block))
            self._select_nothing()
        self._lay_out_seen((block, row))
        self._show((block, row))
        self.flush()
        self._tell_section()

    def watch_placeholder(self) -> None:
        """Draw it."""
        if not self._placement.height:
            self.redraw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Follow the end only while the reader is there, and lay out what comes into view."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or round(old_value) == round(new_value):
            return
        self.following = new_value >= self.max_scroll_y
        self._chosen = None
        if self._placement.unfinished:
            place = self._place()
            if self._lay_out_seen(place):
                self._show(place)
        self._tell_section()

    def action_scroll_up(self) -> None:
        """Go up a line, and stay there."""
        self._let_go()
        super().action_scroll_up()

    def action_page_up(self) -> None:
        """Go up a screen, and stay there."""
        self._let_go()
        super().action_page_up()

    def action_scroll_home(self) -> None:
        """Go to the beginning, and stay there."""
        self._let_go()
        super().action_scroll_home()

    def _let_go(self) -> None:
        # at once: the scrolling is animated, and text that comes meanwhile would take the view back to the end
        if self.scroll_y > 0:
            self.following, self._chosen = False, None

    def action_scroll_end(self) -> None:
        """Go to the end and stay there."""
        self.follow()

    def follow(self) -> None:
        """Go to the end and stay there while the text grows."""
        self.following, self._chosen = True, None
        place = self._place()
        self._lay_out_seen(place)
        self._show(place)
        self._tell_section()

    # -- headings ---------------------------------------------------------------------------

    def scroll_to_heading(self, index: int) -> None:
        """Put a heading at the top of the screen, or as near as the text's end allows."""
        if not 0 <= index < len(self._headings):
            return
        block = self._headings[index].block
        place = block, 1 if block else 0  # below the blank line above it
        self.following, self._chosen = False, index
        self._lay_out_seen(place)
        self._show(place)
        self._tell_section()

    @property
    def section(self) -> int | None:
        """The number of the heading whose section is being read."""
        return self._section

    def _tell_headings(self) -> None:
        headings = self._placement.headings(whole=not self._streaming)
        if headings != self._headings:
            self._headings = headings
            self.post_message(self.HeadingsChanged(headings))
        self._tell_section()

    def _tell_section(self) -> None:
        section = self._chosen
        if section is None or section >= len(self._headings):
            y = round(self.scroll_y) + 1
            at_end = self.following and (self._streaming or self.max_scroll_y > 0)
            here = len(self._placement.document.blocks) if at_end else self._placement.block_at(y)
            section = bisect_right(self._headings, here, key=lambda heading: heading.block) - 1
        new = section if section >= 0 else None
        if new != self._section:
            self._section = new
            self.post_message(self.SectionChanged(new))

    # -- selection --------------------------------------------------------------------------

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, as it would be written without line breaks that only make it fit."""
        place = self._place()
        text = self._placement.text(selection)
        self._show(place)
        return text, "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self.redraw()

    def _select_nothing(self) -> None:
        if self.is_attached and self in self.screen.selections:
            self.screen.selections = {key: value for key, value in self.screen.selections.items() if key is not self}

    # -- drawing ----------------------------------------------------------------------------

    def redraw(self) -> None:
        """Draw all that is seen again."""
        self._painter.forget()
        self.refresh()

    def notify_style_update(self) -> None:
        """Take the colours of the theme that now holds."""
        super().notify_style_update()
        self._painter.new_colours()

    def render_line(self, y: int) -> Strip:
        """One line of the screen, its segments saying where in the text they stand (for selection)."""
        return self.line_strip(y).apply_offsets(0, y + self.scroll_offset.y)

    def line_strip(self, y: int) -> Strip:
        """One line of the screen."""
        if not self._placement.height:
            return self._painter.placeholder(self.placeholder, y, self.size)
        at = y + self.scroll_offset.y
        return self._painter.strip(self._placement, at, self.size.width, self.active_link)

"""Links by keyboard and mouse, for a view of placed Markdown: pointed at, told where they lead, opened."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui_agent.i18n import mark
from tui_agent.tui.widgets.lines import LinesView
from tui_agent.tui.widgets.markdown_document import Document
from tui_agent.tui.widgets.markdown_inline import Link, openable
from tui_agent.tui.widgets.markdown_place import Placement

LinkPlace = tuple[int, int]
"""A block's number and which of its links. It outlives the reading of a block that still grows."""


class LinkedView(LinesView):
    """A view whose links open when they lead to http(s); all it does is by data, never by an action in the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "next_link", mark("Next link"), show=False),
        Binding("shift+tab", "previous_link", mark("Previous link"), show=False),
        Binding("enter", "open_link", mark("Open link")),
    ]

    class LinkShown(Message):
        """The address of the link that is pointed at; None when none is any more."""

        def __init__(self, href: str | None) -> None:
            super().__init__()
            self.href = href

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._placement = Placement(Document())
        self._active: LinkPlace | None = None
        self._hovered: LinkPlace | None = None

    def redraw(self) -> None:
        """Draw all that is seen again."""
        self.refresh()

    @property
    def active_link(self) -> Link | None:
        """The link that tab chose."""
        return self._link(self._active)

    def _link(self, place: LinkPlace | None) -> Link | None:
        if place is None:
            return None
        links = self._placement.links(place[0])
        return links[place[1]] if place[1] < len(links) else None

    # -- by keyboard ------------------------------------------------------------------------

    def action_next_link(self) -> None:
        """Go to the next link on the screen; behind the last one, to the next widget."""
        if not self._walk(1):
            self.screen.focus_next()

    def action_previous_link(self) -> None:
        """Go to the link before; before the first one, to the widget before."""
        if not self._walk(-1):
            self.screen.focus_previous()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter means something only on a link."""
        return action != "open_link" or self.active_link is not None

    def action_open_link(self) -> None:
        """Open the link that tab chose."""
        self._open(self.active_link)

    def _walk(self, step: int) -> bool:
        links = self._seen_links()
        if self._active in links:
            index = links.index(self._active) + step
        else:
            index = 0 if step > 0 else len(links) - 1
        inside = 0 <= index < len(links)
        self.point_at(links[index] if inside else None)
        return inside

    def _seen_links(self) -> list[LinkPlace]:
        top = self.scroll_offset.y
        found: dict[LinkPlace, None] = {}
        for block, line in self._placement.lines(top, top + self.scrollable_content_region.height):
            for run in line.runs:
                if run.link is not None:
                    found[block, self._placement.links(block).index(run.link)] = None
        return list(found)

    def point_at(self, place: LinkPlace | None) -> None:
        """Choose a link, or none."""
        if place != self._active:
            self._active = place
            self.redraw()
            self.refresh_bindings()
            self._tell_link()

    def on_blur(self) -> None:
        """Forget the chosen link: tab begins anew."""
        self.point_at(None)

    def _tell_link(self) -> None:
        link = self._link(self._hovered) or self.active_link
        self.post_message(self.LinkShown(None if link is None else link.href))

    def _open(self, link: Link | None) -> None:
        if link is not None and openable(link.href):
            self.app.open_url(link.href)

    # -- by mouse ---------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Open the link under the mouse; the end of a selection is no click."""
        if event.button == 1 and self.text_selection is None:
            self._open(self._link(self._link_under(event)))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell where the link under the mouse leads."""
        self._hover(self._link_under(event))

    def on_leave(self) -> None:
        """No link is under the mouse any more."""
        self._hover(None)

    def _hover(self, place: LinkPlace | None) -> None:
        if place != self._hovered:
            self._hovered = place
            self.styles.pointer = "default" if place is None else "pointer"
            self._tell_link()

    def _link_under(self, event: events.MouseEvent) -> LinkPlace | None:
        offset = event.get_content_offset(self)
        if offset is None:
            return None
        block, line = self._placement.line(offset.y + self.scroll_offset.y)
        end = 0
        for run in line.runs:
            end += cell_len(run.text)
            if offset.x < end:
                return (block, self._placement.links(block).index(run.link)) if run.link is not None else None
        return None

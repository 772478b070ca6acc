"""How a row of the trace is drawn: words become styled segments, the hits of a search marked in them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache
from textual.strip import Strip

from tui_agent.tui.widgets.trace_line import Piece, head
from tui_agent.tui.widgets.trace_search import Search
from tui_agent.tui.widgets.trace_text import Span, fold, occurrences, wrap
from tui_agent.tui.widgets.trace_tree import Node

OPEN, FOLDED, LEAF = "▾ ", "▸ ", "  "
BAR, GUIDE = "▌", "│ "
INDENT: Final = 2
Mark = tuple[int, int, bool]
"""Where a hit begins and ends, and whether it is the current one."""


def room(width: int, node: Node) -> int:
    """The cells of a row of `width` that a node's words may take: without bar, indent and arrow."""
    return max(4, width - len(BAR) - len(OPEN) - INDENT * node.depth)


class Painter:
    """Draws rows.

    Args:
        style_of: the style of a component class, such as "trace--ok".
        search: whose hits are marked.
    """

    def __init__(self, style_of: Callable[[str], Style], search: Search) -> None:
        self._style_of = style_of
        self._search = search
        self._styles: dict[tuple[str, bool], Style] = {}
        self._hits: LRUCache[Node, tuple[str, list[int]]] = LRUCache(64)
        self._blank: Strip | None = None
        self._hint: tuple[object, int, list[Strip]] = (None, 0, [])

    def forget(self) -> None:
        """Styles or the search are others now."""
        self._styles.clear()
        self._hits.clear()
        self._blank, self._hint = None, (None, 0, [])

    def line(self, node: Node, width: int, on_cursor: bool) -> Strip:
        """A node's line."""
        segments = self._start(node, on_cursor)
        arrow = (OPEN if node.open else FOLDED) if node.opens else LEAF
        segments.append(Segment(arrow, self._style("trace--guide", on_cursor)))
        hit = self._search.hit
        current = hit is not None and hit.node is node and hit.span is None
        for piece in head(node, room(width, node)):
            segments += self._marked(piece, on_cursor, current)
        return self._whole(segments, width, on_cursor)

    def text(self, node: Node, text: str, span: Span, width: int, on_cursor: bool) -> Strip:
        """A row of a node's text."""
        segments = self._start(node, on_cursor)
        segments.append(Segment(GUIDE, self._style("trace--guide", on_cursor)))
        style = self._style("trace--text", on_cursor)
        segments += self._cut(text[slice(*span)], style, self._marks(node, text, *span))
        return self._whole(segments, width, on_cursor)

    def blank(self, width: int) -> Strip:
        """A row with nothing in it."""
        if self._blank is None or self._blank.cell_length != width:
            self._blank = Strip.blank(width, self._style("trace--plain"))
        return self._blank

    def hint(self, words: str, y: int, width: int, height: int) -> Strip:
        """Row `y` of an empty pane that says what comes here."""
        key = (words, width, height)
        if self._hint[0] != key:
            rows = wrap(words, max(1, width - 4))
            self._hint = (
                key,
                max(0, (height - len(rows)) // 3),
                [self._hinted(words[slice(*row)], width) for row in rows],
            )
        _, first, strips = self._hint
        return strips[y - first] if 0 <= y - first < len(strips) else self.blank(width)

    def _hinted(self, text: str, width: int) -> Strip:
        left = max(0, width - cell_len(text)) // 2
        return self._whole([Segment(" " * left + text, self._style("trace--muted"))], width, False)

    def _whole(self, segments: list[Segment], width: int, on_cursor: bool) -> Strip:
        return Strip(segments).extend_cell_length(width, self._style("trace--plain", on_cursor)).crop(0, width)

    def _style(self, name: str, on_cursor: bool = False) -> Style:
        key = (name, on_cursor)
        style = self._styles.get(key)
        if style is None:
            style = self._style_of(name)
            if on_cursor and "hit" not in name:
                style += Style(bgcolor=self._style_of("trace--cursor").bgcolor)
            self._styles[key] = style
        return style

    def _start(self, node: Node, on_cursor: bool) -> list[Segment]:
        bar = BAR if on_cursor else " "
        return [
            Segment(bar, self._style("trace--bar", on_cursor)),
            Segment(" " * (INDENT * node.depth), self._style("trace--plain", on_cursor)),
        ]

    def _marked(self, piece: Piece, on_cursor: bool, current: bool) -> list[Segment]:
        """Words with the hits of the search in them marked."""
        text, name = piece
        style, query = self._style(name, on_cursor), self._search.query
        if not query or name == "trace--label":
            return [Segment(text, style)]
        spans = [(at, at + len(query)) for at in occurrences(fold(text), query)]
        return self._cut(text, style, [(a, b, current) for a, b in spans])

    def _cut(self, text: str, style: Style, marks: list[Mark]) -> list[Segment]:
        segments, at = [], 0
        for begin, end, current in marks:
            if begin > at:
                segments.append(Segment(text[at:begin], style))
            segments.append(Segment(text[begin:end], self._style("trace--current-hit" if current else "trace--hit")))
            at = end
        if at < len(text):
            segments.append(Segment(text[at:], style))
        return segments

    def _marks(self, node: Node, text: str, begin: int, end: int) -> list[Mark]:
        """The hits in a row of a text, also those that the row's ends cut."""
        query, hit = self._search.query, self._search.hit
        if not query:
            return []
        known = self._hits.get(node)
        if known is None or known[0] is not text:
            known = self._hits[node] = (text, list(occurrences(fold(text), query)))
        places, size = known[1], len(query)
        current = hit.span[0] if hit is not None and hit.node is node and hit.span is not None else -1
        first, last = bisect_right(places, begin - size), bisect_left(places, end)
        return [(max(at, begin) - begin, min(at + size, end) - begin, at == current) for at in places[first:last]]

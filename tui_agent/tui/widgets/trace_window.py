"""The trace as it is seen: a window on the tree that draws its visible rows and nothing else (Textual's Line API)."""

from __future__ import annotations

from typing import ClassVar, Final

from textual import events
from textual.cache import LRUCache
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip

from tui_agent.i18n import count, mark, say
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets.lines import LinesView
from tui_agent.tui.widgets.trace_paint import Painter, room
from tui_agent.tui.widgets.trace_search import Search
from tui_agent.tui.widgets.trace_sync import Address, TraceSync, addresses
from tui_agent.tui.widgets.trace_tree import Node, Tree

HINT: Final = mark(
    "Nothing to trace yet. Name a repository below and press Enter: every step of the agent appears here."
)
MANY: Final = 100
"""Where more nodes than this changed at once, the whole pane is drawn."""
FEW: Final = 8
"""So many nodes are looked for one by one; of more, those on the page are found row by row."""
Place = tuple[Node, int]
"""A row: 0 is a node's line, 1… its text."""


class TraceWindow(LinesView):
    """The rows, the cursor, and the end that is followed.

    `lines_drawn` counts the rows ever made of words: the work done.
    """

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "trace--text",
        "trace--muted",
        "trace--label",
        "trace--turn",
        "trace--tool",
        "trace--plain",
        "trace--running",
        "trace--ok",
        "trace--error",
        "trace--fallback",
        "trace--waiting",
        "trace--guide",
        "trace--bar",
        "trace--cursor",
        "trace--hit",
        "trace--current-hit",
    }
    DEFAULT_CSS = """
    TraceWindow {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .trace--muted, & > .trace--guide { color: $text-muted; }
        & > .trace--label { color: $text-secondary; }
        & > .trace--turn, & > .trace--tool { text-style: bold; }
        & > .trace--running { color: $text-primary; text-style: bold; }
        & > .trace--ok { color: $text-success; }
        & > .trace--error { color: $text-error; }
        & > .trace--fallback, & > .trace--waiting { color: $text-warning; }
        & > .trace--bar { color: $primary; }
        & > .trace--cursor { background: $primary 18%; }
        & > .trace--hit { background: $warning 25%; text-style: underline; }
        & > .trace--current-hit { color: $text-warning; text-style: bold reverse; }
    }
    """

    following: reactive[bool] = reactive(True, repaint=False, bindings=True)
    """Whether the end is kept in view, with the cursor on it."""
    live: reactive[bool] = reactive(False, repaint=False)
    """Whether more is to come."""
    told: reactive[str] = reactive("", repaint=False)
    """How the search stands, in words."""

    def __init__(self) -> None:
        super().__init__()
        self.tree_ = Tree()
        self.search = Search(self.tree_)
        self.sync = TraceSync(self.tree_)
        self.lines_drawn = 0
        self.cursor_shown = False
        self.hint = say(HINT)
        self._cursor: Place | None = None
        self._drawn_cursor = -1
        self._place = 0
        self._width, self._page = 0, 1
        self._painter = Painter(self.get_component_rich_style, self.search)
        self._strips: LRUCache[Place, tuple[object, Strip]] = LRUCache(512)

    # -- from the state ---------------------------------------------------------------------

    def update_from(self, state: DashboardState, now: float) -> None:
        """Bring the tree, and what is seen of it, to what the state says at `now` (run seconds)."""
        tree, outdated = self.tree_, self.sync.outdated(state)
        anchor = self._anchor()
        kept: dict[Address, Node] = {}
        if outdated == "new run":
            self.search.clear()
            self._tell()
            self._cursor, self.following = None, True
        elif outdated:
            marked = {place[0] for place in (anchor, self._cursor) if place is not None}
            kept = addresses(tree.root, lambda node: node.chosen is not None or node in marked)
        if outdated:
            self._strips.clear()
        self.sync.update(state, now, tidy=self.following)
        self.live = state.run.running
        if kept:
            anchor = self._recall(kept, anchor)
        self._arrange(anchor)

    def tick(self, now: float) -> float | None:
        """Count waits down; seconds until a number changes again."""
        step = self.sync.tick(now)
        if self.tree_.dirty:
            self._arrange(self._anchor())
        return step

    def _recall(self, kept: dict[Address, Node], anchor: Place | None) -> Place | None:
        """What the user opened and where they were, in a tree that was made anew."""
        found = addresses(self.tree_.root, lambda _: True)
        moved: dict[Node, Node] = {}
        for address, old in kept.items():
            node = found.get(address)
            if node is None:
                continue
            moved[old] = node
            if old.chosen is not None:
                self._choose(node, old.chosen)
        if self._cursor is not None:
            cursor = moved.get(self._cursor[0])
            self._cursor = None if cursor is None else (cursor, self._cursor[1])
        if anchor is None or anchor[0] not in moved:
            return None
        return moved[anchor[0]], anchor[1]

    # -- where things are -------------------------------------------------------------------

    @property
    def _top(self) -> int:
        return round(self.scroll_y)

    def _room(self, node: Node) -> int:
        return room(self._width, node)

    def _anchor(self) -> Place | None:
        """What stands in the first visible row."""
        return self.tree_.at(min(self._top, self.tree_.height - 1)) if self.tree_.height else None

    def _row_of(self, place: Place) -> int:
        """The row of a place, or of the nearest line above it that is shown."""
        node, row = place
        if node.parent is None:
            return 0
        if not self.tree_.shown(node):
            for above in node.ancestors():
                node, row = above, 0
                if self.tree_.shown(above):
                    break
        return self.tree_.line_of(node) + (min(row, node.text_rows) if node.open else 0)

    @property
    def cursor(self) -> Place | None:
        """The selected row; None where there is nothing."""
        tree = self.tree_
        if not tree.height:
            return None
        if self.following or self._cursor is None or self._cursor[0].parent is None:
            return tree.at(tree.height - 1 if self.following else min(self._top, tree.height - 1))
        node, row = self._cursor
        return node, min(row, node.text_rows) if node.open else 0

    @property
    def selected(self) -> Node | None:
        """The node of the selected row."""
        place = self.cursor
        return None if place is None else place[0]

    # -- bringing the picture up to date ----------------------------------------------------

    def _arrange(self, anchor: Place | None) -> None:
        """Lay out what is visible now, keep the anchor in the first row or the end in the last, and draw."""
        if self.search.query and self.tree_.dirty:
            self.search.look_again()
            self._tell()
        if not self._width:
            return
        top = 0 if anchor is None else self._row_of(anchor)
        self._commit(self._settle(top))

    def _settle(self, top: int) -> int:
        """Wrap the open texts that the page beginning at `top` shows; where that page begins then."""
        tree = self.tree_
        top = self._clamped(top)
        while (place := self._loose_on(top)) is not None:
            node, inner = place
            before = node.text_rows
            if tree.settle(node, self._room(node)):
                if inner:
                    # The rest of the text stays where it is: what was above the page was a guess.
                    top += max(1 - inner, node.text_rows - before)
                top = self._clamped(top)
        return top

    def _loose_on(self, top: int) -> Place | None:
        """The first node on the page whose rows are a guess, with its first row there."""
        tree, end = self.tree_, top + self._page
        if not tree.loose:
            return None
        if len(tree.loose) <= FEW:
            for node in tree.loose:
                if tree.shown(node) and (row := tree.line_of(node)) < end and row + node.text_rows >= top:
                    return node, max(0, top - row)
            return None
        at: Node | None
        at, inner = tree.at(top)
        row = top - inner
        while at is not None and row < end:
            if at in tree.loose:
                return at, max(0, top - row)
            row += 1 + at.text_rows if at.open else 1
            at = tree.line_after(at)
        return None

    def _clamped(self, top: int) -> int:
        last = max(0, self.tree_.height - self._page)
        return last if self.following else max(0, min(top, last))

    def _commit(self, top: int) -> None:
        """Scroll to `top` and draw what changed."""
        height = self.tree_.height
        self.resize_lines(self._width, height)
        dirty, self.tree_.dirty = self.tree_.dirty, {}
        cursor, before = self.cursor, self._drawn_cursor
        self._drawn_cursor = -1 if cursor is None else self._row_of(cursor)
        if top != self._top or self.scroll_target_y > self.max_scroll_y:
            # Not by `scroll_to`, which is what the user does: it would end the following, and costs five times as much.
            self.set_scroll(None, top)
            self.set_reactive(TraceWindow.scroll_target_y, float(top))
            self.refresh()
        else:
            self._paint(top, dirty, {before, self._drawn_cursor} if before != self._drawn_cursor else set())
        self.move_bar(top, height)

    def _paint(self, top: int, dirty: dict[Node, bool], rows: set[int]) -> None:
        """Draw the rows of what changed, and `rows`."""
        tree, page = self.tree_, self._page
        if len(dirty) > MANY or tree.root in dirty or (dirty and self.search.query):
            self.refresh()
            return
        first = top + page
        for node, moved in dirty.items():
            if not tree.shown(node):
                continue
            row = tree.line_of(node)
            if moved:
                first = min(first, row)
            else:
                rows.add(row)
        if first < top + page:
            first = max(first, top)
            self.refresh(Region(0, first - top, self._width, top + page - first))
        for row in rows:
            if top <= row < first:
                self.refresh(Region(0, row - top, self._width, 1))

    def _repaint(self) -> None:
        self._painter.forget()
        self._strips.clear()
        self.refresh()

    def _choose(self, node: Node, is_open: bool) -> None:
        """The user wants it open or folded, from now on."""
        node.chosen = is_open
        for above in (node, *node.ancestors()):
            above.touched = True
        self.tree_.set_open(node, is_open)

    def _tell(self) -> None:
        search = self.search
        if not search.query:
            self.told = ""
        elif not search.count:
            self.told = say("no hits") if search.done else say("searching")
        else:
            hits = f"{search.count:,}" if search.done else f"{search.count:,}+"
            self.told = (
                say("{place} of {hits}", place=f"{self._place:,}", hits=hits)
                if self._place
                else count("{hits} hit", "{hits} hits", search.count, hits=hits)
            )

    # -- what moves the window ---------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Rows come into view: those that were never laid out are now."""
        super().watch_scroll_y(old_value, new_value)
        if self._width:
            self._commit(self._settle(round(new_value)))

    def watch_scroll_target_y(self, value: float) -> None:
        """The user scrolls: away from the end ends the following, back at the end it begins again."""
        if self.following:
            self._cursor = self.cursor
        self.following = value >= self.max_scroll_y

    def on_resize(self, event: events.Resize) -> None:
        """Another width wraps otherwise; the same words stay in the first row."""
        region, anchor = self.scrollable_content_region, self._anchor()
        places = [anchor, self._cursor]
        words = [None if place is None else self.tree_.word_at(*place) for place in places]
        self._width, self._page = region.width, max(1, region.height)
        self.tree_.loosen()
        self._strips.clear()
        for at, place in enumerate(places):
            word = words[at]
            if place is not None and word is not None:
                self.tree_.settle(place[0], self._room(place[0]))
                places[at] = (place[0], self.tree_.row_with(place[0], word))
        anchor, self._cursor = places
        self._arrange(anchor)
        self.refresh()

    def notify_style_update(self) -> None:
        """Another theme, or the focus came or went."""
        super().notify_style_update()
        self._painter.forget()
        self._strips.clear()

    def show_cursor(self, shown: bool) -> None:
        """Show or hide the cursor."""
        self.cursor_shown = shown
        self.refresh()

    # -- drawing ----------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Draw one row of the window."""
        width, row = self._width, self._top + y
        tree = self.tree_
        if not tree.height:
            return self._painter.hint(self.hint, y, width, self._page)
        if row >= tree.height:
            return self._painter.blank(width)
        node, inner = place = tree.at(row)
        on_cursor = self.cursor_shown and row == self._drawn_cursor
        stamp: object = (node.version, node.hits_below, on_cursor)
        span = (0, 0)
        if inner:
            layout = tree.layout(node, self._room(node))
            span = layout.rows[min(inner, len(layout.rows)) - 1]
            # Text that still grows changes its last row alone; where hits are marked, a row may change with the next.
            stamp = (layout.text[slice(*span)], on_cursor, self.search.query and node.version)
        known = self._strips.get(place)
        if known is not None and known[0] == stamp:
            return known[1]
        self.lines_drawn += 1
        if inner:
            strip = self._painter.text(node, layout.text, span, width, on_cursor)
        else:
            strip = self._painter.line(node, width, on_cursor)
        self._strips[place] = (stamp, strip)
        return strip

"""The trace under the user's hands: the cursor, opening and folding, following the end, going from hit to hit."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tui_agent.i18n import mark
from tui_agent.tui.timers import once
from tui_agent.tui.widgets.trace_tree import Node
from tui_agent.tui.widgets.trace_window import TraceWindow

PAUSE = 0.01
"""Seconds between two slices of a search, in which hits are drawn and keys answered."""


class TraceView(TraceWindow, can_focus=True):
    """The trace's rows with the keys and clicks that they understand."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle_node", mark("Open/fold")),
        Binding("up", "move(-1)", mark("Up"), show=False),
        Binding("down", "move(1)", mark("Down"), show=False),
        Binding("pageup", "page(-1)", mark("Page up"), show=False),
        Binding("pagedown", "page(1)", mark("Page down"), show=False),
        Binding("home", "first", mark("To the start"), show=False),
        Binding("end", "follow", mark("To the end, and follow"), show=False),
        Binding("f", "follow", mark("Follow")),
        Binding("right", "deeper", mark("Open, go in"), show=False),
        Binding("left", "higher", mark("Fold, go out"), show=False),
        Binding("asterisk", "open_all(True)", mark("Open all"), show=False, key_display="*"),
        Binding("minus", "open_all(False)", mark("Fold all"), show=False, key_display="-"),
    ]
    # -- what the user does -----------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; a click on a line opens or folds it."""
        row = self._top + event.y
        if row >= self.tree_.height:
            return
        event.stop()
        node, inner = self.tree_.at(row)
        self._select(node, inner)
        if not inner:
            self._toggle(node)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Following is offered where it does not go on already."""
        return not (action == "follow" and self.following)

    def action_move(self, by: int) -> None:
        """Move the cursor by rows; a cursor out of sight comes into sight first."""
        place = self.cursor
        if place is not None:
            row = self._row_of(place)
            self._go(max(self._top, min(row, self._top + self._page - 1)) + by, upwards=by < 0)

    def action_page(self, pages: int) -> None:
        """Move the cursor by pages."""
        self.action_move(pages * max(1, self._page - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self._go(0, upwards=True)

    def action_follow(self) -> None:
        """Go to the end and stay there as more comes."""
        self.following = True
        self._arrange(None)

    def action_toggle_node(self) -> None:
        """Open or fold the selected node."""
        place = self.cursor
        if place is not None:
            self._select(place[0], 0)
            self._toggle(place[0])

    def action_deeper(self) -> None:
        """Open the selected node, or go into it."""
        place = self.cursor
        if place is None:
            return
        node = place[0]
        if node.opens and not node.open:
            self._select(node, 0)
            self._toggle(node)
        elif node.open:
            self.action_move(1)
        else:
            self._reveal()

    def action_higher(self) -> None:
        """Fold the selected node, or go to what it hangs on."""
        place = self.cursor
        if place is None:
            return
        node = place[0]
        if node.open and node.opens:
            self._select(node, 0)
            self._toggle(node)
        else:
            self._select(next(node.ancestors(), node), 0)

    def action_open_all(self, is_open: bool) -> None:
        """Open or fold everything there is; the selected line stays where it is."""
        place = self.cursor
        if place is None:
            return
        below = self._row_of(place) - self._top
        self.tree_.set_all(is_open)
        self._cursor = tree_place = (self._shown_or_above(place[0]), 0)
        self._commit(self._settle(self._row_of(tree_place) - below))
        self._reveal()

    def _shown_or_above(self, node: Node) -> Node:
        return next((above for above in (node, *node.ancestors()) if self.tree_.shown(above)), node)

    def _toggle(self, node: Node) -> None:
        if node.opens:
            anchor = self._anchor()
            self._choose(node, not node.open)
            self._arrange(anchor)
            self._reveal(node)
            self.following = self._at_end()

    def _at_end(self) -> bool:
        place = self.cursor
        return place is not None and not place[0].open and self._row_of(place) == self.tree_.height - 1

    def _go(self, row: int, *, upwards: bool) -> None:
        """Put the cursor into a row."""
        tree = self.tree_
        if not tree.height:
            return
        node, inner = tree.at(max(0, min(row, tree.height - 1)))
        if inner:
            before = node.text_rows
            tree.settle(node, self._room(node))
            inner = max(1, inner + node.text_rows - before) if upwards else min(inner, node.text_rows)
        self._select(node, inner)

    def _select(self, node: Node, inner: int) -> None:
        self._cursor = (node, inner)
        self.following = self._row_of(self._cursor) == self.tree_.height - 1
        self._reveal()

    def _reveal(self, whole: Node | None = None, *, amid: bool = False) -> None:
        """Scroll until the cursor is in sight.

        Args:
            whole: a node of which as much as possible shall be in sight.
            amid: keep some rows above and below.
        """
        place = self.cursor
        if place is None or not self._width:
            return
        top, page = self._top, self._page
        spare = page // 3 if amid else 0
        for _ in range(3):  # laying out what comes into sight may move it
            row = self._row_of(place)
            last = row + whole.rows - 1 if whole is not None else row
            if amid and top <= row < top + page:
                break
            wanted = max(min(max(top, last + spare - page + 1), row - spare), 0)
            settled = self._settle(wanted)
            if settled == top:
                break
            top = settled
        self._commit(top)

    # -- search -----------------------------------------------------------------------------

    def find(self, query: str) -> int:
        """Look for another query and mark its hits; how many were found so far."""
        count = self.search.start(query)
        self._place = 0
        self._repaint()
        self._tell()
        if not self.search.done:
            self._go_on(self.search.query)
        return count

    def _go_on(self, query: str) -> None:
        # By a timer: a callback behind a callback would leave no moment in which what was found is drawn.
        once(self, PAUSE, lambda: self._find_more(query))

    def _find_more(self, query: str) -> None:
        if query != self.search.query:
            return
        if self.search.go_on():
            self._go_on(query)
        else:
            self._repaint()
        self._tell()

    def jump(self, *, backwards: bool = False) -> bool:
        """Go to the next or previous hit and open what hides it; whether there is one."""
        hit = self.search.step(None if self.following else self.selected, backwards=backwards)
        if hit is None:
            return False
        anchor = self._anchor()
        self.following = False
        for above in hit.node.ancestors():
            self.tree_.set_open(above, True)
        inner = 0
        if hit.span is not None:
            self.tree_.set_open(hit.node, True)
            self.tree_.settle(hit.node, self._room(hit.node))
            rows = self.tree_.layout(hit.node, self._room(hit.node)).rows
            inner = next((at for at, (_, end) in enumerate(rows, 1) if hit.span[0] < end), len(rows))
        self._cursor = (hit.node, inner)
        self._arrange(anchor)
        self._reveal(amid=True)
        self._place = self.search.place()
        self._repaint()
        self._tell()
        return True

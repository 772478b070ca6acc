"""Finding words in the whole trace, folded texts included, in slices that never hold up a frame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_agent.tui.widgets.trace_text import Readable, Span, display, fold, occurrences
from tui_agent.tui.widgets.trace_tree import Node, Tree, walk

FIRST, SLICE = 2_000_000, 1_000_000
"""What is looked through at once, in characters: half a frame's time at first, a fifth of one afterwards."""
WIDE, A_NODE, A_RESULT = 20, 400, 3_000
"""What counts as so many characters: one that is not ASCII, a node, JSON that is made readable for it."""


@dataclass(frozen=True, slots=True)
class Hit:
    """The `nth` occurrence in a node, from 0; `span` is its place in the text, None on the node's line."""

    node: Node
    nth: int
    span: Span | None


def searched(node: Node) -> str:
    """What a search looks through in a node: its whole text, or its line where it has none."""
    if node.source is not None:
        return display(node.text())
    return display(" ".join(part for part in (node.name, node.subject, node.status) if part))


class Search:
    """One query over a tree.

    `count` is the number of hits found so far, `done` whether that is all.

    Args:
        tree: where to look.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.query = ""
        self.count = 0
        self.done = True
        self.hit: Hit | None = None
        self._todo: Iterator[Node] = iter(())
        self._found: dict[Node, None] = {}
        self._cuts = 0

    def start(self, query: str) -> int:
        """Look for another query, without regard to case; the hits of the first slice."""
        self.clear()
        self.query = fold(display(query))
        if self.query:
            self.done = False
            self._todo = walk(self._tree.root)
            self.go_on(FIRST)
        return self.count

    def clear(self) -> None:
        """Look for nothing."""
        for node in self._found:
            node.hits = 0
            for above in (*node.ancestors(), self._tree.root):
                above.hits_below = 0
        self._found = {}
        self.query, self.count, self.done, self.hit = "", 0, True, None
        self._todo = iter(())

    def go_on(self, budget: int = SLICE) -> bool:
        """Look through one slice more; whether there is more to do."""
        for node in self._todo:
            budget -= self._look(node)
            if budget < 0:
                return True
        self.done = True
        return False

    def look_again(self) -> None:
        """Look at what is new or changed in the tree since it was drawn."""
        if not self.query:
            return
        for node in self._tree.dirty:
            self._look(node)
        if self._cuts != self._tree.cuts:
            self._cuts = self._tree.cuts
            for node in [node for node in self._found if node.parent is None]:
                del self._found[node]
                self.count -= node.hits
                node.hits = 0
            if self.hit is not None and self.hit.node.parent is None:
                self.hit = None

    def resume(self, hit: Hit | None) -> None:
        """Go on from a hit of an earlier search for the same, where it is still one."""
        if hit is not None and hit.node.parent is not None and hit.nth < hit.node.hits:
            self.hit = hit

    def _look(self, node: Node) -> int:
        if node.parent is None:
            return 1
        text = searched(node)
        hits = fold(text).count(self.query)
        if hits != node.hits:
            self._tree.count_hits(node.parent, hits - node.hits)
            self.count += hits - node.hits
            node.hits = hits
            node.version += 1
            if hits:
                self._found[node] = None
            else:
                self._found.pop(node, None)
        made = A_RESULT if isinstance(node.source, Readable) else 0
        return A_NODE + made + len(text) * (1 if text.isascii() else WIDE)

    # -- from hit to hit --------------------------------------------------------------------

    def step(self, start: Node | None, *, backwards: bool = False) -> Hit | None:
        """Go to the next or previous hit, over the end to the beginning; None where there is none.

        Args:
            start: where to begin when no hit is the current one; None for the top.
            backwards: towards the top.
        """
        if not self.count:
            self.hit = None
            return None
        hit = self.hit
        if hit is not None and hit.node.parent is not None:
            nth = hit.nth + (-1 if backwards else 1)
            if 0 <= nth < hit.node.hits:
                return self._to(hit.node, nth)
            start, inclusive = hit.node, False
        else:
            inclusive = True
        root = self._tree.root
        node: Node | None = None
        if start is not None and start.parent is not None:
            if inclusive and start.hits:
                node = start
            else:
                node = _previous(start) if backwards else _next(start)
        if node is None:
            node = _last_in(root) if backwards else _first_in(root)
        return self._to(node, node.hits - 1 if backwards else 0)

    def place(self) -> int:
        """The number of the current hit among all, from 1; 0 where there is none."""
        if self.hit is None:
            return 0
        node, before = self.hit.node, self.hit.nth + 1
        while node.parent is not None:
            siblings = node.parent.children
            before += sum(siblings[at].hits + siblings[at].hits_below for at in range(node.index))
            node = node.parent
            before += node.hits
        return before

    def _to(self, node: Node, nth: int) -> Hit:
        span = None
        if node.source is not None:
            for at, begin in enumerate(occurrences(fold(searched(node)), self.query)):
                if at == nth:
                    span = (begin, begin + len(self.query))
                    break
        self.hit = Hit(node, nth, span)
        return self.hit


def _first_in(node: Node) -> Node:
    while not node.hits:
        node = next(child for child in node.children if child.hits or child.hits_below)
    return node


def _last_in(node: Node) -> Node:
    while node.hits_below:
        node = next(child for child in reversed(node.children) if child.hits or child.hits_below)
    return node


def _next(node: Node) -> Node | None:
    """The first node with hits behind this one, in the order of the rows."""
    if node.hits_below:
        return _first_in(next(child for child in node.children if child.hits or child.hits_below))
    while node.parent is not None:
        siblings = node.parent.children
        for at in range(node.index + 1, len(siblings)):
            if siblings[at].hits or siblings[at].hits_below:
                return _first_in(siblings[at])
        node = node.parent
    return None


def _previous(node: Node) -> Node | None:
    """The last node with hits before this one, in the order of the rows."""
    while node.parent is not None:
        siblings = node.parent.children
        for at in range(node.index - 1, -1, -1):
            if siblings[at].hits or siblings[at].hits_below:
                return _last_in(siblings[at])
        node = node.parent
        if node.hits:
            return node
    return None

"""A tree of which only the visible rows are ever laid out: where a row is, and which row is there, in O(log n)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Literal

from tui_agent.tui.widgets import trace_sums as sums
from tui_agent.tui.widgets.trace_text import Span, display, estimate, wrap

Tone = Literal["plain", "muted", "running", "ok", "error", "fallback", "waiting"]
Source = str | Callable[[], str]
"""A node's whole text, or what makes it when it is asked for."""

LAYOUTS: Final = 64
"""How many wrapped texts are kept."""
UNKNOWN_ROWS: Final = 8
"""How many rows a text is taken for that has not been made yet."""


class Node:
    """One line of the trace, which opens to its text and its children.

    `mark name subject status note` stand on the line; `name` and `status` are never left out.
    `chosen` is the user's wish to see it open or folded, `open` how it stands. `laid` is the
    width for which `text_rows` was counted, 0 where it is a guess. `depth` is 0 below the root.
    """

    __slots__ = (
        "children",
        "chosen",
        "depth",
        "hits",
        "hits_below",
        "index",
        "kind",
        "laid",
        "live",
        "mark",
        "name",
        "note",
        "open",
        "parent",
        "path",
        "source",
        "status",
        "subject",
        "sums",
        "text_rows",
        "tone",
        "touched",
        "version",
        "visible_below",
    )

    def __init__(self, kind: str, name: str = "", source: Source | None = None) -> None:
        self.kind = kind
        self.mark = ""
        self.name = name
        self.subject = ""
        self.status = ""
        self.note = ""
        self.tone: Tone = "plain"
        self.path = False
        self.live = False
        self.source = source
        self.parent: Node | None = None
        self.index = 0
        self.depth = 0
        self.children: list[Node] = []
        self.sums: list[int] = []
        self.visible_below = 0
        self.open = False
        self.chosen: bool | None = None
        self.touched = False
        self.text_rows = 0
        self.laid = 0
        self.version = 0
        self.hits = 0
        self.hits_below = 0

    @property
    def rows(self) -> int:
        """How many rows it takes where its parent is open."""
        return 1 + self.text_rows + self.visible_below if self.open else 1

    @property
    def opens(self) -> bool:
        """Whether there is anything to open."""
        return self.source is not None or bool(self.children)

    @property
    def line(self) -> str:
        """The line's own words."""
        return " ".join(part for part in (self.name, self.subject, self.status, self.note) if part)

    def text(self) -> str:
        """The whole text, as it came."""
        source = self.source
        return "" if source is None else source if isinstance(source, str) else source()

    def ancestors(self) -> Iterator[Node]:
        """Its parent, that one's parent, and so on, the root excepted."""
        node = self.parent
        while node is not None and node.parent is not None:
            yield node
            node = node.parent


@dataclass(slots=True)
class Layout:
    """A node's text as it was wrapped for one width."""

    raw: str
    text: str
    width: int
    rows: list[Span]


@dataclass(slots=True)
class Tree:
    """The nodes, their rows, and the texts laid out last.

    `dirty` holds what changed since the view last drew: True where rows came or went. `loose` holds
    the open nodes whose rows are a guess. `wrapped` counts the rows ever laid out: the work done;
    `cuts` how often nodes were taken away.
    """

    root: Node = field(default_factory=lambda: Node("root"))
    dirty: dict[Node, bool] = field(default_factory=dict)
    loose: dict[Node, None] = field(default_factory=dict)
    wrapped: int = 0
    cuts: int = 0
    _layouts: OrderedDict[Node, Layout] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.root.open = True

    @property
    def height(self) -> int:
        """All rows."""
        return self.root.visible_below

    # -- shape ------------------------------------------------------------------------------

    def add(self, parent: Node, node: Node) -> Node:
        """Hang a node below the last child of `parent`."""
        node.parent, node.index = parent, len(parent.children)
        node.depth = 0 if parent is self.root else parent.depth + 1
        parent.children.append(node)
        sums.append(parent.sums, node.rows)
        self._grow(parent, node.rows)
        self.dirty[node] = True
        if node.index == 0:
            self.dirty.setdefault(parent, False)
            parent.version += 1
        return node

    def cut(self, parent: Node) -> None:
        """Take all children of `parent` away."""
        self.cuts += 1
        for child in parent.children:
            for node in walk(child):
                self.dirty.pop(node, None)
                self.loose.pop(node, None)
                self._layouts.pop(node, None)
                node.parent = None
            self.count_hits(parent, -child.hits - child.hits_below)
        gone = parent.visible_below
        parent.children, parent.sums = [], []
        self._grow(parent, -gone)
        self._changed(parent, True)

    def set_open(self, node: Node, is_open: bool) -> None:
        """Open or fold a node."""
        if node.open == is_open:
            return
        before = node.rows
        self._open(node, is_open)
        self._resize(node, node.rows - before)
        self._changed(node, True)

    def set_all(self, is_open: bool) -> None:
        """Open or fold every node, as the user's wish."""
        self._set_below(self.root, is_open)
        self.dirty[self.root] = True

    def _set_below(self, parent: Node, is_open: bool) -> None:
        rows: list[int] = []
        for node in parent.children:
            if node.children:
                self._set_below(node, is_open)
            if node.source is not None or node.children:
                node.chosen, node.touched = is_open, True
                node.version += 1
                self._open(node, is_open)
            rows.append(node.rows)
        parent.visible_below = sum(rows)
        parent.sums = sums.built(rows)

    def touch(self, node: Node, *, text: bool = False) -> None:
        """Something on the node's line, or (with `text`) its text, is another now."""
        if text:
            node.laid = 0
            if node.open:
                self.loose[node] = None
        self._changed(node, text and node.open)

    def shown(self, node: Node) -> bool:
        """Whether the node's line is among the rows: everything above it is open."""
        at: Node | None = node.parent
        while at is not None:
            if not at.open:
                return False
            if at is self.root:
                return True
            at = at.parent
        return False

    def loosen(self) -> None:
        """Another width: every open text has to be laid out anew where it is seen."""
        self.loose.update((node, None) for node in walk(self.root) if node.open and node.source is not None)

    def _open(self, node: Node, is_open: bool) -> None:
        node.open = is_open
        if not is_open:
            self.loose.pop(node, None)
        elif node.source is not None:
            self.loose[node] = None
            if not node.laid:
                node.text_rows = self._guess(node)

    def _changed(self, node: Node, rows: bool) -> None:
        node.version += 1
        self.dirty[node] = self.dirty.get(node, False) or rows

    def _resize(self, node: Node, delta: int) -> None:
        """The rows of `node` became more or fewer: tell everything above."""
        if delta and node.parent is not None:
            sums.add(node.parent.sums, node.index, delta)
            self._grow(node.parent, delta)

    def _grow(self, parent: Node, delta: int) -> None:
        while delta:
            parent.visible_below += delta
            above = parent.parent
            if not parent.open or above is None:
                return
            sums.add(above.sums, parent.index, delta)
            parent = above

    # -- rows -------------------------------------------------------------------------------

    def line_of(self, node: Node) -> int:
        """The row of a shown node's line."""
        row = 0
        while node.parent is not None:
            row += sums.before(node.parent.sums, node.index)
            node = node.parent
            if node.parent is not None:
                row += 1 + node.text_rows
        return row

    def at(self, row: int) -> tuple[Node, int]:
        """What is in a row: a node, and 0 for its line or 1… for its text.

        Raises:
            IndexError: there is no such row.
        """
        if not 0 <= row < self.height:
            raise IndexError(row)
        node = self.root
        while True:
            index, row = sums.find(node.sums, row)
            node = node.children[index]
            if row <= node.text_rows:
                return node, row
            row -= 1 + node.text_rows

    def line_after(self, node: Node) -> Node | None:
        """The node whose line comes after a shown node's line and text."""
        if node.open and node.children:
            return node.children[0]
        while node.parent is not None:
            siblings = node.parent.children
            if node.index + 1 < len(siblings):
                return siblings[node.index + 1]
            node = node.parent
        return None

    # -- texts ------------------------------------------------------------------------------

    def settle(self, node: Node, width: int) -> bool:
        """Count an open node's rows for `width` where that is not done; whether their number changed."""
        self.loose.pop(node, None)
        if not node.open or node.source is None or node.laid == width:
            return False
        rows = len(self.layout(node, width).rows)
        node.laid = width
        delta, node.text_rows = rows - node.text_rows, rows
        self._resize(node, delta)
        self._changed(node, True)
        return delta != 0

    def layout(self, node: Node, width: int) -> Layout:
        """A node's text wrapped to `width` cells; only what was added since is wrapped again."""
        known = self._layouts.get(node)
        if known is not None and known.width != width:
            known = None
        if known is not None:
            self._layouts.move_to_end(node)
            if node.laid == width:
                return known
        raw = node.text()
        if known is not None:
            if known.raw == raw:
                return known
            if raw.startswith(known.raw):
                self._extend(known, raw)
                return known
        text = display(raw)
        rows = wrap(text, width)
        self.wrapped += len(rows)
        known = self._layouts[node] = Layout(raw, text, width, rows)
        if len(self._layouts) > LAYOUTS:
            self._layouts.popitem(last=False)
        return known

    def word_at(self, node: Node, row: int) -> int | None:
        """Where in the node's text a row of it begins, as far as that is known."""
        known = self._layouts.get(node)
        return None if known is None or not 0 < row <= len(known.rows) else known.rows[row - 1][0]

    def row_with(self, node: Node, word: int) -> int:
        """The row, from 1, in which a place in the node's text stands."""
        known = self._layouts.get(node)
        return 1 if known is None else max(1, bisect_right(known.rows, (word, len(known.text))))

    def _extend(self, known: Layout, raw: str) -> None:
        # What a character looks like depends on its neighbours, never on those of another line.
        raw_line = known.raw.rfind("\n") + 1
        line = known.text.rfind("\n") + 1
        text = known.text[:line] + display(raw[raw_line:])
        keep = len(known.rows) - 1
        start = known.rows[keep][0]
        if start > line and text[line:start] != known.text[line:start]:
            keep, start = bisect_left(known.rows, (line, line)), line
        fresh = wrap(text, known.width, start)
        known.rows[keep:] = fresh
        known.raw, known.text = raw, text
        self.wrapped += len(fresh)

    def _guess(self, node: Node) -> int:
        source = node.source
        return estimate(source, 80) if isinstance(source, str) else UNKNOWN_ROWS

    # -- search -----------------------------------------------------------------------------

    def count_hits(self, node: Node | None, delta: int) -> None:
        """There are `delta` more hits below a node: tell it and everything above."""
        while node is not None and delta:
            node.hits_below += delta
            node = node.parent


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, in the order of the rows; what is added meanwhile comes too."""
    yield node
    at = 0
    while at < len(node.children):
        yield from walk(node.children[at])
        at += 1

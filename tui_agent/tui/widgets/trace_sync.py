"""Keeps the trace's tree in step with the state: an update costs what changed, not what there is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from tui_agent import events as ev
from tui_agent.i18n import say, told
from tui_agent.tui.calls import Call
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets import trace_words as words
from tui_agent.tui.widgets.trace_tree import Node, Tree, walk
from tui_agent.tui.widgets.trace_turn import TurnRow, Waits, put, sentence

RECENT: Final = 8
"""How many of the last turns an update looks at; those before only while a call of theirs runs."""
Address = tuple[tuple[str, int], ...]
"""Where a node stands, told so that a tree of the same run made anew has it too."""


class TraceSync:
    """The state of one run on one side, the tree on the other.

    `looked_at` counts the turns that updates looked at: the work done.

    Args:
        tree: where the nodes go.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.looked_at = 0
        self._forget(None)

    def _forget(self, state: DashboardState | None) -> None:
        self._state = state
        self._run_id = None if state is None else state.run.run_id
        self._turns: list[TurnRow] = []
        self._calling: dict[TurnRow, None] = {}
        self._waits = Waits()
        self._snapshot: Node | None = None
        self._snapshot_call: Call | None = None
        self._snapshot_troubles = 0
        self._end: Node | None = None
        self._last_notice: ev.Notice | None = None
        self._first = True

    def outdated(self, state: DashboardState) -> Literal["", "rewound", "new run"]:
        """Whether the tree has to be made anew: for another run, or since this one was stepped back."""
        if state.run.run_id != self._run_id:
            return "new run"
        known = len(self._turns)
        if self._state is None:
            return ""
        stepped_back = len(state.turns) < known or (self._end is not None and state.run.running)
        stepped_back = stepped_back or (self._snapshot is not None and _has_none(state))
        if state is not self._state or stepped_back or (known and state.turns[known - 1] is not self._turns[-1].turn):
            return "rewound"
        return ""

    def update(self, state: DashboardState, now: float, *, tidy: bool = True) -> None:
        """Bring the tree to what the state says.

        Args:
            state: what is known.
            now: run seconds.
            tidy: fold what is over by itself; not while the user reads elsewhere than at the end.
        """
        outdated = self.outdated(state)
        if outdated:
            self.tree.cut(self.tree.root)
            self._forget(state)
            if state.run.question:
                line = words.Words("?", say("question"), state.run.question)
                node = sentence(self.tree, self.tree.root, "question", line, state.run.question)
                node.source = state.run.question
        if state.run.outcome == "idle":
            return
        self._sync_snapshot(state, now)
        self._sync_turns(state, now, tidy=tidy)
        self._waits.tick(self.tree, now)
        if self._end is None and not state.run.running:
            self._finish(state)

    def tick(self, now: float) -> float | None:
        """Count the waits down; seconds until a number changes, None where nothing waits."""
        state = self._state
        if state is None or not self._waits.phases:
            return None
        ends = [phase.until for phase, _ in self._waits.phases.values() if phase.end is None]
        self._waits.tick(self.tree, now)
        if self._snapshot is not None and state.run.files is None:
            put(self.tree, self._snapshot, words.snapshot_words(state, now), live=state.run.running)
        for row in {**self._calling, **dict.fromkeys(self._turns[-1:])}:
            row.sync(state, now, (), tidy=False)
        due = [until for until in ends if until is not None and until > now]
        return min((until - now - words.seconds_left(until, now) + 1 for until in due), default=None)

    # -- the parts --------------------------------------------------------------------------

    def _sync_snapshot(self, state: DashboardState, now: float) -> None:
        node, call = self._snapshot, state.snapshot_call
        if node is None and _has_none(state):
            return
        if node is None:
            node = self._snapshot = self.tree.add(self.tree.root, Node("snapshot"))
        elif not node.live and call is self._snapshot_call:
            return
        put(self.tree, node, words.snapshot_words(state, now), live=state.run.running and state.run.files is None)
        if call is None:
            return
        if call is not self._snapshot_call:
            self._snapshot_call, self._snapshot_troubles = call, 0
        self._snapshot_troubles = self._waits.troubles(self.tree, node, call, self._snapshot_troubles, now)

    def _sync_turns(self, state: DashboardState, now: float, *, tidy: bool) -> None:
        known, notices = len(self._turns), self._new_notices(state)
        recent = self._turns[-RECENT:] if state.run.running else self._turns
        last = self._turns[-1] if self._turns else None
        for row in {**self._calling, **dict.fromkeys(recent)}:
            self.looked_at += 1
            inside = self._take(notices, row) if row is last and notices else []
            if row.changed or inside:
                self._sync_row(row, state, now, inside, tidy=tidy)
        for turn in state.turns[known:]:
            self._tell(notices, turn.started_at)
            if last is not None and tidy and last.node.chosen is None and not last.node.touched:
                self.tree.set_open(last.node, False)
            last = TurnRow(self.tree, turn, self.tree.add(self.tree.root, Node("turn")), self._waits)
            self._turns.append(last)
            self._sync_row(last, state, now, self._take(notices, last), tidy=tidy)
            self.tree.set_open(last.node, turn is state.turns[-1])
        self._tell(notices, float("inf"))

    @staticmethod
    def _take(notices: list[ev.Notice], row: TurnRow) -> list[ev.Notice]:
        inside = [notice for notice in notices if row.tells(notice)]
        notices[:] = [notice for notice in notices if not row.tells(notice)]
        return inside

    def _tell(self, notices: list[ev.Notice], until: float) -> None:
        """Put the notices of before `until` between the turns."""
        while notices and (notices[0].at < until or notices[0].run_id is None):
            notice = notices.pop(0)
            line = words.notice_words(notice.level, notice.text)
            sentence(self.tree, self.tree.root, "notice", line, line.subject)

    def _sync_row(
        self, row: TurnRow, state: DashboardState, now: float, notices: list[ev.Notice], *, tidy: bool
    ) -> None:
        row.sync(state, now, notices, tidy=tidy)
        if row.calling:
            self._calling[row] = None
        else:
            self._calling.pop(row, None)

    def _new_notices(self, state: DashboardState) -> list[ev.Notice]:
        new: list[ev.Notice] = []
        for notice in reversed(state.notices):
            if notice is self._last_notice:
                break
            new.append(notice)
        if new:
            self._last_notice = new[0]
        if self._first:
            # What was said between runs before this one began is none of its story.
            self._first = False
            new = [notice for notice in new if notice.run_id is not None]
        return new[::-1]

    def _finish(self, state: DashboardState) -> None:
        error = told(state.run.error or "")
        self._end = sentence(self.tree, self.tree.root, "end", words.end_words(state), error)


# -- a tree made anew -----------------------------------------------------------------------


def addresses(root: Node, wanted: Callable[[Node], bool]) -> dict[Address, Node]:
    """The nodes below `root` that are wanted, by where they stand."""
    found: dict[Address, Node] = {}
    places: dict[Node, Address] = {root: ()}
    counts: dict[tuple[Node, str], int] = {}
    for node in walk(root):
        parent = node.parent
        if parent is None:
            continue
        key = (parent, node.kind)
        nth = counts[key] = counts.get(key, -1) + 1
        places[node] = (*places[parent], (node.kind, nth))
        if wanted(node):
            found[places[node]] = node
    return found


def _has_none(state: DashboardState) -> bool:
    """Whether the run does without a snapshot of its own, as a comparison does: it thinks and has asked for none."""
    return state.run.files is None and state.snapshot_call is None and bool(state.turns)

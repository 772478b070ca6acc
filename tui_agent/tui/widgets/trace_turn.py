"""One turn of the trace: its row of the state beside its nodes, and what has to change in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_agent import events as ev
from tui_agent.i18n import say
from tui_agent.tui.calls import Call, Phase
from tui_agent.tui.state import DashboardState, Turn
from tui_agent.tui.widgets import trace_words as words
from tui_agent.tui.widgets.trace_text import Readable
from tui_agent.tui.widgets.trace_tree import Node, Tree
from tui_agent.tui.widgets.trace_words import Words

LONG = 60
"""A sentence of more characters than this opens to its whole text."""


def put(tree: Tree, node: Node, line: Words, *, live: bool = False) -> None:
    """Write a line; nothing happens where it says that already."""
    now = (node.mark, node.name, node.subject, node.status, node.note, node.tone, node.live)
    new = (line.mark, line.name, line.subject, line.status, line.note, line.tone, live)
    if now != new:
        node.mark, node.name, node.subject, node.status, node.note, node.tone, node.live = new
        tree.touch(node)


def sentence(tree: Tree, parent: Node, kind: str, line: Words, text: str) -> Node:
    """A line of one sentence, which opens where the sentence is long."""
    node = Node(kind, source=text if len(text) > LONG or "\n" in text else None)
    put(tree, node, line)
    return tree.add(parent, node)


@dataclass(slots=True)
class Waits:
    """The waits that are counted down: each phase's node, and whose it is."""

    phases: dict[Node, tuple[Phase, str]] = field(default_factory=dict)

    def tick(self, tree: Tree, now: float) -> None:
        """Write them anew; what is over counts no more."""
        for node, (phase, who) in list(self.phases.items()):
            if node.parent is not None:
                put(tree, node, words.phase_words(phase, now, who))
            if node.parent is None or phase.end is not None or phase.until is None or phase.until <= now:
                del self.phases[node]

    def troubles(self, tree: Tree, parent: Node, call: Call, known: int, now: float, who: str = "") -> int:
        """Add what went wrong with a call since `known` of its troubles were told; how many there are."""
        told = [phase for phase in call.phases if phase.failed or phase.kind != "attempt"]
        for phase in told[known:]:
            kind = "attempt" if phase.failed else phase.kind
            reason = phase.reason if phase.failed else ""
            node = sentence(tree, parent, kind, words.phase_words(phase, now, who), reason)
            if not phase.failed:
                self.phases[node] = (phase, who)
        return len(told)


@dataclass(slots=True, eq=False)
class CallRow:
    """A call beside its node."""

    call: Call
    node: Node
    revision: int = -1
    troubles: int = 0
    waiting: bool = False

    def sync(self, tree: Tree, waits: Waits, now: float) -> None:
        """Bring the node to what is known of the call."""
        call, node = self.call, self.node
        self.waiting = call.waiting(now) is not None
        put(tree, node, words.call_words(call, now), live=call.running)
        if call.revision == self.revision:
            return
        self.revision = call.revision
        self.troubles = waits.troubles(tree, node, call, self.troubles, now)
        if call.result is not None and not call.running:
            seen = Node("observation", say("observation"), Readable(call.result))
            seen.subject = words.result_note(call.result)
            tree.add(node, seen)


class TurnRow:
    """A turn beside its node.

    Args:
        tree: where the node is.
        turn: the turn.
        node: its node, with nothing below it.
        waits: where the waits of its calls are counted down.
    """

    __slots__ = (
        "_calls", "_ends", "_live", "_model", "_model_troubles", "_notices", "_reasoning", "_restarts", "_revision",
        "_said", "_seen", "_tools", "_tree", "_waits", "node", "turn",
    )  # fmt: skip

    def __init__(self, tree: Tree, turn: Turn, node: Node, waits: Waits) -> None:
        self.turn, self.node = turn, node
        self._tree, self._waits = tree, waits
        self._revision = -1
        self._restarts = 0
        self._notices: list[ev.Notice] = []
        self._reset()

    def _reset(self) -> None:
        self._reasoning: Node | None = None
        self._said: Node | None = None
        self._seen: dict[Node, tuple[object, int]] = {}
        self._model: Call | None = None
        self._model_troubles = 0
        self._calls = 0
        self._live: list[CallRow] = []
        self._tools: dict[str, int] = {}
        self._ends: dict[str, int] = {}

    def tells(self, notice: ev.Notice) -> bool:
        """Whether a notice belongs to it: it was given while the turn went on."""
        end = self.turn.finished_at
        return notice.run_id is not None and self.turn.started_at <= notice.at and (end is None or notice.at <= end)

    @property
    def calling(self) -> bool:
        """Whether a call of it has not ended yet."""
        return bool(self._live)

    @property
    def changed(self) -> bool:
        """Whether there may be anything to do."""
        return bool(self._live) or self.turn.revision != self._revision

    def sync(self, state: DashboardState, now: float, notices: Sequence[ev.Notice], *, tidy: bool) -> None:
        """Bring the nodes to what is known of the turn.

        Args:
            state: the run that it belongs to.
            now: run seconds.
            notices: what was said in it since.
            tidy: whether what is over may fold by itself.
        """
        turn, tree = self.turn, self._tree
        running = turn.finished_at is None and state.run.running
        if len(turn.restarts) != self._restarts:
            notices = [*self._notices, *notices]
            self._start_over()
        self._revision = turn.revision
        self._model_said(now)
        self._texts(running, tidy)
        ended = False
        for row in self._live:
            if row.waiting or row.revision != row.call.revision:
                row.sync(tree, self._waits, now)
                ended = ended or not row.call.running
        if ended:
            self._count_ended()
        new_calls = turn.calls[self._calls :]
        if notices:
            self._notices.extend(notices)
            items: list[Call | ev.Notice] = [*new_calls, *notices]
            for item in sorted(items, key=_when):
                if isinstance(item, Call):
                    self._add_call(item, now)
                else:
                    line = words.notice_words(item.level, item.text)
                    sentence(tree, self.node, "notice", line, line.subject)
        else:
            for call in new_calls:
                self._add_call(call, now)
        if new_calls:
            self._count_ended()
        put(tree, self.node, words.turn_words(turn, state, now, self._tools, self._ends), live=running)

    def _start_over(self) -> None:
        tree, turn = self._tree, self.turn
        tree.cut(self.node)
        self._reset()
        self._notices = []
        self._restarts = len(turn.restarts)
        for reason in turn.restarts:
            line = Words("↺", say("the stream broke, the turn starts over"), reason, tone="waiting")
            sentence(tree, self.node, "restart", line, reason)

    def _model_said(self, now: float) -> None:
        call = self.turn.model_call
        if call is None:
            return
        if call is not self._model:
            self._model, self._model_troubles = call, 0
        self._model_troubles = self._waits.troubles(
            self._tree, self.node, call, self._model_troubles, now, who=say("model: ")
        )

    def _texts(self, running: bool, tidy: bool) -> None:
        turn, tree = self.turn, self._tree
        speaking = bool(turn.thought) or len(turn.content) > 0
        if len(turn.reasoning):
            live = running and not speaking and not turn.calls
            if self._reasoning is None:
                self._reasoning = tree.add(self.node, Node("reasoning", say("reasoning"), lambda: turn.reasoning.text))
            self._text(self._reasoning, turn.reasoning, len(turn.reasoning), live)
            if self._reasoning.chosen is None and (live or tidy):
                tree.set_open(self._reasoning, live)
        if speaking:
            live = running and not turn.thought and not turn.calls
            if self._said is None:
                self._said = tree.add(self.node, Node("said", "", lambda: turn.thought or turn.content.text))
            name = say("thought") if turn.thought else say("writing") if live else say("report")
            if name != self._said.name:
                self._said.name = name
                tree.touch(self._said)
            text: object = turn.thought if turn.thought else turn.content
            self._text(self._said, text, len(turn.thought) or len(turn.content), live)

    def _text(self, node: Node, text: object, length: int, live: bool) -> None:
        known = self._seen.get(node)
        if known is None or known[0] is not text or known[1] != length:
            self._seen[node] = (text, length)
            self._tree.touch(node, text=True)
        if node.live != live:
            node.live = live
            self._tree.touch(node)

    def _add_call(self, call: Call, now: float) -> None:
        tree = self._tree
        node = Node("call")
        node.path = True
        row = CallRow(call, tree.add(self.node, node))
        tree.add(node, _arguments(call))
        row.sync(tree, self._waits, now)
        self._calls += 1
        self._tools[call.tool] = self._tools.get(call.tool, 0) + 1
        self._live.append(row)

    def _count_ended(self) -> None:
        for row in self._live:
            if row.call.outcome is not None:
                self._ends[row.call.outcome] = self._ends.get(row.call.outcome, 0) + 1
        self._live = [row for row in self._live if row.call.running]


def _arguments(call: Call) -> Node:
    node = Node("arguments", say("arguments"), Readable(call.arguments))
    node.subject = words.arguments_note(call.arguments)
    return node


def _when(item: Call | ev.Notice) -> float:
    return item.started_at if isinstance(item, Call) else item.at

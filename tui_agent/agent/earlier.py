"""What a run leaves behind for one that goes on: its conversation and what it observed.

A process that still has the run hands over the very objects; one that has only the run's events (a record) puts the
conversation together again. What is said next then stands at the end of the same history, and what was observed is
remembered rather than asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tui_agent.agent.context import ENDLESS, Conversation
from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.loop import SCHEMA_TOKENS
from tui_agent.agent.prompts import SYSTEM, follow_up, preset_of, task
from tui_agent.events import (
    Event,
    Reasoning,
    ReportDelta,
    RunFinished,
    RunStarted,
    Snapshot,
    Thought,
    ToolFinished,
    ToolStarted,
    TurnRestarted,
    TurnStarted,
)
from tui_agent.github.client import GitHubClient
from tui_agent.github.snapshot import take_snapshot
from tui_agent.request import RunRequest
from tui_agent.resilience.call import Call
from tui_agent.tools.toolbox import ToolCall
from tui_agent.tools.workspace import Workspace


class NothingToFollow(ValueError):
    """The run came to no snapshot, so there is nothing to go on with; the text is one sentence."""


@dataclass(frozen=True)
class Earlier:
    """A run that a follow-up goes on with.

    Args:
        run_id: the run.
        conversation: its history; never changed, the follow-up branches it within its own window.
        observed: every tool call that has ended, of the run and of those before it.
        ref: what the snapshot is called.
        commit: the snapshot's commit, or None where there is none.
        work: the snapshot and its files, where the process still has them.
    """

    run_id: str
    conversation: Conversation
    observed: Sequence[ToolFinished]
    ref: str
    commit: str | None
    work: Workspace | None = None

    @property
    def stays(self) -> bool:
        """Whether its very snapshot is there to go on with; a folder without history may be another by now."""
        return self.work is not None or self.commit is not None

    async def workspace(self, client: GitHubClient, call: Call, owner: str, name: str) -> Workspace:
        """Its snapshot and what reads it: as the process still has them, else fetched once more.

        Args:
            client: asks GitHub.
            call: whose requests they are.
            owner, name: the repository.

        Raises:
            GitHubError, Trouble, Unavailable: it is not to be had.
        """
        if self.work is not None:
            return self.work
        snapshot, _ = await take_snapshot(client, call, owner, name, ref=self.commit, tail=None)
        snapshot.ref = self.ref
        return Workspace(client, snapshot)


@dataclass
class _Turn:
    """One turn of the model, as its events tell it."""

    reasoning: str = ""
    thought: str = ""
    streamed: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    results: dict[str, ToolFinished] = field(default_factory=dict)


def from_events(runs: Sequence[tuple[RunRequest, Sequence[Event]]]) -> Earlier:
    """What the last of some runs left behind, each of which goes on with the one before it.

    Args:
        runs: each with its request and its events, in order.

    Raises:
        NothingToFollow: the first of them has no snapshot.
    """
    conversation = Conversation(ENDLESS, SCHEMA_TOKENS)
    observed: list[ToolFinished] = []
    snapshot: Snapshot | None = None
    run_id = ""
    for request, events in runs:
        started = next((event for event in events if isinstance(event, RunStarted)), None)
        snapshot = next((event for event in events if isinstance(event, Snapshot)), snapshot)
        if started is None or snapshot is None:
            raise NothingToFollow("That run ended before it had seen the repository; start a new one.")
        run_id = started.run_id or ""
        if conversation.messages:
            conversation.say("user", follow_up(started.question, request.lang))
        else:
            conversation.say("system", SYSTEM)
            conversation.say("user", _task(request, started, snapshot))
        observed += _replay(conversation, events)
    if snapshot is None:
        raise NothingToFollow("There is no run to go on with.")
    return Earlier(run_id, conversation, observed, snapshot.ref, snapshot.commit)


def _task(request: RunRequest, started: RunStarted, snapshot: Snapshot) -> str:
    preset = preset_of(started.question)
    return task(
        repo=started.repo,
        ref=snapshot.ref,
        commit=snapshot.commit,
        files=snapshot.files,
        question=None if preset else started.question,
        preset=preset or request.preset,
        lang=request.lang,
    )


def _replay(conversation: Conversation, events: Sequence[Event]) -> list[ToolFinished]:
    """Put a run's turns at the end of a conversation; answers what was observed in it."""
    turns = _turns(events)
    # A server that thinks wants the field back with every turn that has calls, also where it was empty.
    thinks = any(turn.reasoning for turn in turns)
    observed: list[ToolFinished] = []
    for turn in turns:
        if turn.calls:
            conversation.add_turn(ModelTurn(turn.thought, turn.reasoning, thinks, turn.calls, None, None), turn.calls)
            finished = [turn.results[call.call_id] for call in turn.calls if call.call_id in turn.results]
            conversation.add_answers(turn.calls, {event.call_id: event.result for event in finished})
            observed += finished
    report = "".join(turns[-1].streamed).strip() if turns and not turns[-1].calls else ""
    last = next((event for event in reversed(events) if isinstance(event, RunFinished)), None)
    # Where the model was lost, the survey has written the report.
    conversation.say_report(report or (last.report if last else ""))
    return observed


def _turns(events: Iterable[Event]) -> list[_Turn]:
    turns: dict[int, _Turn] = {}
    for event in events:
        if isinstance(event, TurnStarted):
            turns[event.turn] = _Turn()
        elif isinstance(event, Reasoning | Thought | ReportDelta | TurnRestarted | ToolStarted | ToolFinished):
            turn = turns.setdefault(event.turn, _Turn())
            if isinstance(event, Reasoning):
                turn.reasoning = event.text
            elif isinstance(event, Thought):
                turn.thought = event.text
            elif isinstance(event, ReportDelta):
                turn.streamed.append(event.text)
            elif isinstance(event, TurnRestarted):
                turn.streamed.clear()
            elif isinstance(event, ToolStarted):
                turn.calls.append(ToolCall(event.call_id, event.tool, event.arguments))
            else:
                turn.results[event.call_id] = event
    return list(turns.values())

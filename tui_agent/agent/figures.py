"""A repository in figures: computed from what its run observed, and from what still had to be looked up."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.earlier import Earlier
from tui_agent.events import Emit, JsonObject
from tui_agent.resilience.clock import Clock
from tui_agent.tools.toolbox import Toolbox, ToolCall
from tui_agent.tools.workspace import Workspace
from tui_agent.transports.survey.profile import lookups, profile

_ROUNDS = 3
"""Times that one answer may lead to further lookups."""


class Lookup:
    """Asks further about a run's snapshot, as a run of its own; what the run knows is not asked for again.

    Args:
        left: what the run left behind.
        work: its snapshot.
        emit: where events go.
        clock: all time.
        name: what the ids of the calls begin with.
    """

    def __init__(self, left: Earlier, work: Workspace, emit: Emit, clock: Clock, name: str) -> None:
        self.calls = 0
        self._clock = clock
        self._name = name
        self._client = work.client
        self._before = work.client.requests
        self._place = {"owner": work.snapshot.owner, "repo": work.snapshot.name}
        self._toolbox = Toolbox(work, emit, clock)
        self._toolbox.remember(left.observed)
        self._conversation = left.conversation.branch()

    @property
    def requests(self) -> int:
        """Requests sent so far."""
        return self._client.requests - self._before

    @property
    def messages(self) -> list[JsonObject]:
        """The run's history, with what was looked up behind it."""
        return self._conversation.whole()

    async def figures(self) -> JsonObject:
        """The figures."""
        for _ in range(_ROUNDS):
            wishes = await asyncio.to_thread(lookups, self._conversation.whole())
            if not wishes:
                break
            await self.ask([(wish.name, wish.arguments) for wish in wishes])
        return await asyncio.to_thread(profile, self._conversation.whole(), self._clock.time())

    async def ask(self, wanted: Sequence[tuple[str, JsonObject]]) -> None:
        """Calls of tools, side by side, each with its name and its arguments beside the repository."""
        calls = [
            ToolCall(f"{self._name}_{self.calls + i}", name, {**self._place, **arguments})
            for i, (name, arguments) in enumerate(wanted, 1)
        ]
        self.calls += len(calls)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._toolbox.execute(1, call)) for call in calls]
        self._conversation.add_turn(ModelTurn("", "", False, calls, None, None), calls)
        results = {call.call_id: task.result().result for call, task in zip(calls, tasks, strict=True)}
        self._conversation.add_answers(calls, results)

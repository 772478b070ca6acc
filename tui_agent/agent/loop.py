"""The ReAct loop: reason, act, observe, again, until the model reports.

It reads from top to bottom: ask the model; if it calls tools, carry all of them out side by side
and tell it what came back; if it calls none, what it said is the report. The model alone decides.
What bounds it: turns, tokens, and a model that goes round in circles; then it is asked, without
tools, to report from what it knows.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field

from tui_agent.agent.context import estimate
from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.prompts import NOTHING_SAID, REPORT_NOW
from tui_agent.agent.reasons import TOKENS, Reason, turns_used_up
from tui_agent.agent.turns import Turns
from tui_agent.events import JsonObject, Notice
from tui_agent.tools.schemas import SCHEMAS
from tui_agent.tools.toolbox import Toolbox, ToolCall

OUTPUT_RESERVE = 4096
"""Tokens that are kept free for an answer."""
SHORTEST_REPORT = 256
"""Tokens below which a report is not worth asking for."""
MAX_CIRCLES = 2
"""Turns in a row that only repeat earlier calls, or say nothing, before the report is asked for."""

_ID = re.compile(r"[!-~]{1,64}")
"""What an id looks like; anything else is none."""
SCHEMA_TOKENS = estimate(json.dumps(SCHEMAS))


class OutOfTokens(Exception):
    """Not even a report can be asked for within the bound."""


@dataclass(kw_only=True)
class Loop(Turns):
    """One run's loop: turns of the model, and between them what it asked for.

    Args:
        toolbox: carries out its calls.
    """

    toolbox: Toolbox
    _used_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        # A follow-up's history has calls in it already.
        self._used_ids |= self.conversation.call_ids

    async def run(self) -> str:
        """The report.

        Raises:
            ModelRefused, Trouble, Unavailable: the model was lost.
            OutOfTokens: the bound leaves no room for a report.
        """
        circles = 0
        while self.progress.turns < self.max_turns:
            # A turn with tools, and after it a report, have to fit into the bound.
            room = self.room(prompts=2)
            if room is not None and room < OUTPUT_RESERVE:
                return await self._report_now(TOKENS)
            turn = await self._ask(SCHEMAS, room)
            if turn.calls:
                repeated = await self._act(turn)
                circles = circles + 1 if repeated else 0
                if circles >= MAX_CIRCLES:
                    self._notice("The model repeats the same calls; it is asked for its report now.")
                    return await self._report_now(None)
            elif turn.content.strip():
                return self._reported(turn)
            else:
                circles += 1
                if circles >= MAX_CIRCLES:
                    what = "reasons until its output limit cuts it off" if turn.cut else "says nothing"
                    self._notice(f"The model {what}; it is asked for its report now.")
                    return await self._report_now(None)
                self.conversation.say("user", NOTHING_SAID)
        return await self._report_now(turns_used_up(self.max_turns))

    async def _ask(self, tools: list[JsonObject] | None, max_tokens: int | None) -> ModelTurn:
        """One turn of the model, within its window."""
        self._fit()
        return await self.ask(tools, max_tokens=max_tokens)

    async def _act(self, turn: ModelTurn) -> bool:
        """Carry out all calls of a turn side by side: act, observe. Returns whether all only repeated."""
        calls = [self._with_own_id(call, i) for i, call in enumerate(turn.calls)]
        self.progress.streamed.clear()
        self.conversation.add_turn(turn, calls)
        results: dict[str, JsonObject] = {}
        repeated: list[bool] = []

        async def execute(call: ToolCall) -> None:
            answer = await self.toolbox.execute(self.progress.turns, call)
            results[call.call_id] = answer.result
            repeated.append(answer.repeated)
            self.progress.tool_calls += 1
            self.progress.observed += answer.outcome == "ok"

        try:
            async with asyncio.TaskGroup() as group:
                for call in calls:
                    group.create_task(execute(call))
        finally:
            # also when cancelled: the history is valid at every moment
            self.conversation.add_answers(calls, results)
        return all(repeated)

    def _with_own_id(self, call: ToolCall, position: int) -> ToolCall:
        # Servers leave ids out or use the same ones in every turn; within a run they are unique.
        call_id = call.call_id if _ID.fullmatch(call.call_id) else ""
        while not call_id or call_id in self._used_ids:
            call_id = f"call_{self.progress.turns}_{position}" if not call_id else f"{call_id}_again"
        self._used_ids.add(call_id)
        return ToolCall(call_id, call.tool, call.arguments, call.problem)

    async def _report_now(self, reason: Reason | None) -> str:
        """One more request, without tools, for a report from what is known."""
        self.progress.reason = reason
        self.conversation.say("user", REPORT_NOW)
        room = self.room(prompts=1)
        if room is not None and room < SHORTEST_REPORT:
            raise OutOfTokens
        turn = await self._ask(None, room)
        if not turn.content.strip():
            self._notice("The model has written no report.")
        return self._reported(turn)

    def _reported(self, turn: ModelTurn) -> str:
        if turn.cut:
            self.progress.reason = turn.cut
        if turn.content.strip():
            self.conversation.add_turn(turn, [])
        return turn.content.strip()

    def _fit(self) -> None:
        shortened = self.conversation.fit(min(OUTPUT_RESERVE, self.conversation.window // 4))
        if shortened:
            self.toolbox.forget_told(shortened)
            self._notice(
                f"The context window is full: the {len(shortened)} oldest observations were shortened in the history."
            )

    def _notice(self, text: str) -> None:
        self.emit(Notice(level="warning", text=text))

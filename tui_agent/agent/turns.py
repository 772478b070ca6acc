"""The turns of a model: asks it, hands on what it says as it says it, counts what it costs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from tui_agent.agent.context import Conversation, estimate
from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.agent.prices import Price, cost
from tui_agent.agent.reasons import Reason
from tui_agent.events import (
    Emit,
    JsonObject,
    Reasoning,
    ReasoningDelta,
    ReportDelta,
    Thought,
    TurnRestarted,
    TurnStarted,
    Usage,
)
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock

LARGEST_ANSWER = 32_768
"""Tokens that any answer of a bounded run may take."""


@dataclass
class Progress:
    """How far a run has come; readable at any moment, also when the loop was left by an exception.

    Args:
        turns: turns begun.
        tool_calls: calls carried out.
        observed: calls that brought something.
        spent: tokens, in and out together.
        streamed: content of the turn that is under way.
        reason: why the report is partial; None where it is whole.
    """

    turns: int = 0
    tool_calls: int = 0
    observed: int = 0
    spent: int = 0
    streamed: list[str] = field(default_factory=list)
    reason: Reason | None = None


@dataclass(kw_only=True)
class Turns:
    """One run's turns with a model.

    Args:
        model: who is asked.
        conversation: what it is told.
        emit: where events go.
        clock: the epoch, for prices.
        max_turns: turns that the run may take.
        max_tokens: bound on tokens, in and out together; None for none.
        price: of the model, where known.
        progress: filled as it goes.
    """

    model: LanguageModel
    conversation: Conversation
    emit: Emit
    clock: Clock
    max_turns: int
    max_tokens: int | None
    price: Price | None
    progress: Progress = field(default_factory=Progress)

    async def ask(self, tools: list[JsonObject] | None, *, max_tokens: int | None = None, lead: str = "") -> ModelTurn:
        """One turn of the model: reason.

        Args:
            tools: the schemas of what it may call; None asks for text alone.
            max_tokens: bound on its answer.
            lead: what stands before its text as the report streams.

        Raises:
            ModelRefused, Trouble, Unavailable: the model was lost.
        """
        progress = self.progress
        progress.turns += 1
        number = progress.turns
        self.emit(TurnStarted(turn=number, max_turns=self.max_turns))

        def open_report() -> None:
            progress.streamed.clear()
            if lead:
                on_piece("content", lead)

        def on_piece(kind: str, text: str) -> None:
            if kind == "content":
                progress.streamed.append(text)
                self.emit(ReportDelta(turn=number, text=text))
            else:
                self.emit(ReasoningDelta(turn=number, text=text))

        def on_restart(reason: str) -> None:
            self.emit(TurnRestarted(turn=number, reason=reason))
            open_report()

        open_report()
        call = Call("llm", self.emit)
        history = self.conversation

        async def asked() -> ModelTurn:
            return await self.model.ask(call, history.encoded, tools, on_piece, on_restart, max_tokens)

        try:
            turn = await asked()
        except ModelRefused as refusal:
            # Another server's model may have made the history: what the one wants back, the other does not know.
            if "reasoning_content" not in str(refusal) or not history.call_ids:
                raise
            history.carry_reasoning(not history.has_reasoning)
            turn = await asked()
        if turn.reasoning:
            self.emit(Reasoning(turn=number, text=turn.reasoning))
        if turn.calls and (turn.content or progress.streamed):
            self.emit(Thought(turn=number, text=turn.content))
        self._count(turn)
        return turn

    def room(self, prompts: int) -> int | None:
        """Tokens that an answer may take, when so many prompts of this size are still to be paid; None: any number."""
        if self.max_tokens is None:
            return None
        # No answer needs more than this, and a server refuses a bound above its own limit.
        return min(LARGEST_ANSWER, self.max_tokens - self.progress.spent - prompts * self.conversation.tokens)

    def _count(self, turn: ModelTurn) -> None:
        used = turn.usage
        if used is None:
            prompt_estimate = self.conversation.tokens
            answer_estimate = estimate(turn.content + turn.reasoning) + sum(
                estimate(json.dumps(call.arguments)) for call in turn.calls
            )
            self.progress.spent += prompt_estimate + answer_estimate
            return
        self.conversation.learn(used)
        self.progress.spent += used.prompt + used.completion
        self.emit(
            Usage(
                prompt_tokens=used.prompt,
                completion_tokens=used.completion,
                cached_tokens=used.cached,
                reasoning_tokens=used.reasoning,
                context_tokens=used.prompt + used.completion,
                cost=cost(self.price, used, self.clock.time()) if self.price else None,
                currency=self.price.currency if self.price else None,
            )
        )

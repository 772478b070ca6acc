"""Several repositories side by side: figures that the program computes, then the model's reading of them.

Each repository has had a run of its own. What their models did not happen to ask for is asked here, of the same
snapshots; then one more turn of the model, without tools, reads figures and reports.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tui_agent.agent.context import Conversation, estimate
from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.earlier import Earlier
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.agent.loop import SHORTEST_REPORT
from tui_agent.agent.plan import Plan
from tui_agent.agent.prompts import COMPARE, COMPARE_QUESTION, comparison, is_chinese
from tui_agent.agent.reasons import NO_REPORT, NO_TOKENS_LEFT, Reason, by_survey, model_lost
from tui_agent.agent.telling import without_secrets
from tui_agent.agent.turns import Turns
from tui_agent.events import (
    Emit,
    Event,
    JsonObject,
    Outcome,
    RunFinished,
    RunStarted,
    TurnStarted,
    stamp,
)
from tui_agent.redact import Redactor
from tui_agent.report.appendix import partial_line
from tui_agent.report.compare import Column, table
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.tools.toolbox import Toolbox, ToolCall
from tui_agent.transports.survey.model import decide
from tui_agent.transports.survey.profile import lookups, profile

_ROUNDS = 3
"""Times that one answer may lead to further lookups."""
_REPORT_SHARE = 0.6
"""Of the model's window, for the reports that are compared."""


@dataclass(frozen=True)
class Member:
    """One repository's run, as it ended.

    Args:
        repo: `owner/name` as it was asked for.
        web: its address for people, or None.
        finished: its last event.
        left: what it observed; None where it came to no snapshot.
    """

    repo: str
    web: str | None
    finished: RunFinished
    left: Earlier | None


@dataclass
class Comparison:
    """One comparison.

    Args:
        plan: question, language and bounds; its owner and name are no one's.
        members: the runs that are compared.
        model: who reads the figures.
        clock: all time.
        sink: takes the stamped events.
        redact: takes secrets out of what is told.
        run_id: of this run.
    """

    plan: Plan
    members: Sequence[Member]
    model: LanguageModel
    clock: Clock
    sink: Emit
    redact: Redactor
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _began: float = 0.0
    _requests: int = 0
    _calls: int = 0
    _turns: Turns | None = None

    def emit(self, event: Event) -> None:
        """Stamp an event as this run's and hand it on."""
        self.sink(stamp(without_secrets(event, self.redact), self.clock.monotonic() - self._began, self.run_id))

    async def execute(self) -> RunFinished:
        """The whole of it, from `run_started` to `run_finished`, also when it is cancelled.

        Raises:
            asyncio.CancelledError: it was cancelled; the last event has been emitted.
        """
        self._began = self.clock.monotonic()
        self.emit(
            RunStarted(
                repo=enumerated(member.repo for member in self.members),
                source=self.plan.source,
                ref=None,
                question=self.plan.question or COMPARE_QUESTION,
                engine=self.plan.engine,
                model=self.model.options.name,
            )
        )
        try:
            return await self._main()
        except asyncio.CancelledError:
            streamed = "".join(self._turns.progress.streamed) if self._turns else ""
            self._finish("cancelled", streamed.strip(), "The comparison was cancelled.")
            raise
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            return self._finish("failed", "", f"A fault of this program ended the comparison ({what}).")

    async def _main(self) -> RunFinished:
        seen = [member for member in self.members if member.left is not None and member.finished.report]
        if not seen:
            why = "".join(f" {member.finished.error}" for member in self.members if member.finished.error)
            return self._finish(
                "failed", "", f"None of the repositories could be analysed, so nothing is compared.{why}"
            )
        self.emit(TurnStarted(turn=1, max_turns=2))
        figures = dict(
            zip(
                (member.repo for member in seen),
                await asyncio.gather(*(self._figures(member, i) for i, member in enumerate(seen))),
                strict=True,
            )
        )
        columns = [self._column(member, figures.get(member.repo)) for member in self.members]
        above = table(columns, chinese=self._chinese)
        lost = [member.repo for member in self.members if member not in seen]
        if len(seen) == 1:
            return self._finish(
                "partial", above, f"Only {seen[0].repo} could be analysed; {enumerated(lost)} could not."
            )
        reading, reason = await self._read(seen, figures, above)
        report = f"{above}\n\n{reading.strip()}"
        if reason is not None:
            report += f"\n\n---\n\n- {partial_line(reason, chinese=self._chinese)}"
            return self._finish("partial", report, f"The comparison is partial: {reason.en}.")
        if lost:
            return self._finish("partial", report, f"{enumerated(lost)} could not be analysed.")
        return self._finish("completed", report, None)

    async def _figures(self, member: Member, index: int) -> JsonObject:
        """A repository's figures, from what its run observed and what is still to be looked up."""
        left = member.left
        assert left is not None and left.work is not None
        owner, name = member.repo.split("/", 1)
        client = left.work.client
        before = client.requests
        toolbox = Toolbox(left.work, self.emit, self.clock)
        toolbox.remember(left.observed)
        conversation = left.conversation.branch()
        for round_ in range(_ROUNDS):
            wishes = await asyncio.to_thread(lookups, conversation.whole())
            if not wishes:
                break
            calls = [
                ToolCall(f"figures_{index}_{round_}_{i}", wish.name, {"owner": owner, "repo": name, **wish.arguments})
                for i, wish in enumerate(wishes)
            ]
            answers = await asyncio.gather(*(toolbox.execute(1, call) for call in calls))
            conversation.add_turn(ModelTurn("", "", False, calls, None, None), calls)
            results = {call.call_id: answer.result for call, answer in zip(calls, answers, strict=True)}
            conversation.add_answers(calls, results)
            self._calls += len(calls)
        if self.plan.source == "github":
            self._requests += client.requests - before
        return await asyncio.to_thread(profile, conversation.whole(), self.clock.time())

    def _column(self, member: Member, figures: JsonObject | None) -> Column:
        if figures is None:
            return Column(member.repo, error=member.finished.error or "no report was made")
        commit = member.left.commit if member.left else None
        return Column(member.repo, figures, None, commit, member.web)

    async def _read(self, seen: Sequence[Member], figures: JsonObject, above: str) -> tuple[str, Reason | None]:
        """The model's reading, and why it is not the model's where it was lost."""
        plan = self.plan
        room = int(plan.window * _REPORT_SHARE / len(seen))
        reports = [(member.repo, _cut(member.finished.report, room)) for member in seen]
        told = json.dumps(figures, ensure_ascii=False, separators=(",", ":"))
        conversation = Conversation(plan.window, 0)
        conversation.say("system", COMPARE)
        conversation.say("user", comparison(plan.question, plan.lang, told, reports))
        turns = self._turns = Turns(
            model=self.model,
            conversation=conversation,
            emit=self.emit,
            clock=self.clock,
            max_turns=2,
            max_tokens=plan.max_tokens,
            price=plan.price,
        )
        turns.progress.turns = 1
        answer = turns.room(prompts=1)
        reason = NO_REPORT
        if answer is not None and answer < SHORTEST_REPORT:
            reason = NO_TOKENS_LEFT
        else:
            try:
                turn = await turns.ask(None, max_tokens=answer, lead=f"{above}\n\n")
                if turn.content.strip():
                    return turn.content, turn.cut
            except (ModelRefused, Trouble, Unavailable) as error:
                reason = model_lost(str(error))
        by_rule = await asyncio.to_thread(decide, conversation.messages, (), self.clock.time())
        return by_rule.content, by_survey(reason)

    @property
    def _chinese(self) -> bool:
        return is_chinese(self.plan.lang, self.plan.question)

    def _finish(self, outcome: Outcome, report: str, error: str | None) -> RunFinished:
        finished = RunFinished(
            outcome=outcome,
            report=self.redact(report),
            error=None if error is None else self.redact(error),
            turns=self._turns.progress.turns if self._turns else 1,
            tool_calls=self._calls,
            requests=self._requests,
            elapsed=self.clock.monotonic() - self._began,
        )
        self.emit(finished)
        return finished


def enumerated(repos: Iterable[str]) -> str:
    """The repositories' names, one after another."""
    return ", ".join(repos)


def _cut(report: str, tokens: int) -> str:
    """As much of a report as some tokens hold."""
    needed = estimate(report)
    return report if needed <= tokens else report[: len(report) * tokens // needed]

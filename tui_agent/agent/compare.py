"""Several repositories side by side: figures that the program computes, then the model's reading of them.

Each repository has had a run of its own. What their models did not happen to ask for is asked here, of the same
snapshots; then one more turn of the model, without tools, reads figures and reports.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tui_agent.agent.context import Conversation, estimate
from tui_agent.agent.earlier import Earlier
from tui_agent.agent.figures import Lookup
from tui_agent.agent.grounds import ground_among
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.agent.loop import SHORTEST_REPORT
from tui_agent.agent.plan import Plan
from tui_agent.agent.prompts import COMPARE, compare_question, comparison, is_chinese
from tui_agent.agent.reasons import NO_REPORT, NO_TOKENS_LEFT, Reason, by_survey, model_lost
from tui_agent.agent.telling import Ended, Undertaking
from tui_agent.agent.turns import Turns
from tui_agent.events import Event, Grounding, JsonObject, RunFinished, RunStarted, ToolFinished, TurnStarted
from tui_agent.report.appendix import partial_line
from tui_agent.report.compare import Column, table
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.transports.survey.model import decide

_REPORT_SHARE = 0.6
"""Of the model's window, for the reports that are compared."""


@dataclass(frozen=True)
class Member:
    """One repository's run, as it ended.

    Args:
        repo: `owner/name` as it was asked for.
        plan: what it was to do; None where it could not even begin.
        finished: its last event.
        left: what it observed; None where it came to no snapshot.
    """

    repo: str
    plan: Plan | None
    finished: RunFinished
    left: Earlier | None

    @property
    def web(self) -> str | None:
        """The repository's address for people, or None for a local one."""
        return self.plan.web if self.plan else None


@dataclass(kw_only=True)
class Comparison(Undertaking):
    """One comparison.

    Args:
        plan: question, language and bounds; its owner and name are no one's.
        members: the runs that are compared.
        model: who reads the figures.
    """

    plan: Plan
    members: Sequence[Member]
    model: LanguageModel
    _reading: Turns | None = None
    _looked_up: dict[str, list[ToolFinished]] = field(default_factory=dict)
    _lookups: list[Lookup] = field(default_factory=list)
    """Those that ask GitHub."""

    @property
    def streamed(self) -> str:
        """What of the report has streamed so far."""
        return "".join(self._reading.progress.streamed) if self._reading else ""

    @property
    def requests(self) -> int:
        """Requests sent to GitHub so far."""
        return sum(lookup.requests for lookup in self._lookups)

    def started(self) -> RunStarted:
        """The first event; it names all repositories."""
        return RunStarted(
            repo=enumerated(member.repo for member in self.members),
            source=self.plan.source,
            ref=None,
            question=self.plan.question or compare_question(self.plan.lang),
            engine=self.plan.engine,
            model=self.model.options.name,
        )

    async def main(self) -> Ended:
        """Figures, then a reading."""
        seen = [member for member in self.members if member.left is not None and member.finished.report]
        if not seen:
            why = "".join(f" {member.finished.error}" for member in self.members if member.finished.error)
            sentence = "None of the repositories could be analysed, so nothing is compared."
            return Ended("failed", error=sentence + why)
        self.emit(TurnStarted(turn=1, max_turns=2))
        async with asyncio.TaskGroup() as group:
            # where one fails, none goes on behind the run's last event
            tasks = {member.repo: group.create_task(self._figures(member, i)) for i, member in enumerate(seen, 1)}
        figures = {repo: task.result() for repo, task in tasks.items()}
        above = table(
            [self._column(member, figures.get(member.repo)) for member in self.members], chinese=self._chinese
        )
        lost = [member.repo for member in self.members if member not in seen]
        if len(seen) == 1:
            return Ended("partial", above, f"Only {seen[0].repo} could be analysed; {enumerated(lost)} could not.")
        reading, reason = await self._read(seen, figures, above)
        self.emit(await self._ground(seen, reading, len(above) + 2))
        report = f"{above}\n\n{reading.strip()}"
        if reason is not None:
            report += f"\n\n---\n\n- {partial_line(reason, chinese=self._chinese)}"
            return Ended("partial", report, f"The comparison is partial: {reason.en}.")
        if lost:
            return Ended("partial", report, f"{enumerated(lost)} could not be analysed.")
        return Ended("completed", report)

    async def _figures(self, member: Member, number: int) -> JsonObject:
        assert member.left is not None and member.left.work is not None
        seen = self._looked_up[member.repo] = []

        def note(event: Event) -> None:
            if isinstance(event, ToolFinished):
                seen.append(event)
            self.emit(event)

        lookup = Lookup(member.left, member.left.work, note, self.clock, f"figures_{number}")
        if member.plan is not None and member.plan.source == "github":
            self._lookups.append(lookup)
        figures = await lookup.figures()
        seen.append(_as_observed(figures))
        return figures

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
        turns = self._reading = Turns(
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

    async def _ground(self, seen: Sequence[Member], reading: str, before: int) -> Event:
        """Tell which claims of the reading some repository's observations or figures support.

        Args:
            seen: the repositories.
            reading: what was made of them.
            before: characters of the report in front of the reading.
        """
        known = [
            ([*one.left.observed, *self._looked_up[one.repo]], one.left.work.snapshot, one.plan)
            for one in seen
            if one.left is not None and one.left.work is not None and one.plan is not None
        ]
        event = await ground_among(reading.strip(), known, self.clock.time())
        if not isinstance(event, Grounding):
            return event
        for item in (*event.supported, *event.unsupported):
            item["start"] += before
        return event

    @property
    def _chinese(self) -> bool:
        return is_chinese(self.plan.lang, self.plan.question)


def enumerated(repos: Iterable[str]) -> str:
    """The repositories' names, one after another."""
    return ", ".join(repos)


def _cut(report: str, tokens: int) -> str:
    """As much of a report as some tokens hold."""
    needed = estimate(report)
    return report if needed <= tokens else report[: len(report) * tokens // needed]


def _as_observed(figures: JsonObject) -> ToolFinished:
    """The figures in the form of an observation, for the check of what is said of them."""
    return ToolFinished(
        turn=1,
        call_id="figures",
        tool="figures",
        arguments={},
        outcome="ok",
        result={"ok": True, **figures},
        attempts=0,
        cache="memory",
        elapsed=0.0,
    )

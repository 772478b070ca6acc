"""The reducer: a run's events become the state that every pane draws.

`DashboardState.apply` is a deterministic function of the events applied so far: no clock, no I/O,
no Textual, amortised O(1) an event. All times are run seconds (an event's `at`); an event between
runs (`run_id=None`) happens at the latest time the state knows of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tui_agent import events as ev
from tui_agent.tui.calls import Call, Phase
from tui_agent.tui.services import BREAKER_NAMES, Services
from tui_agent.tui.stream import Stream
from tui_agent.tui.views import (
    DEFAULT_THRESHOLD,
    Area,
    BreakerRow,
    GroundingState,
    QuotaRow,
    ReportState,
    Revisions,
    RunInfo,
    RunWord,
    Tokens,
    Turn,
)

__all__ = [
    "BREAKER_NAMES",
    "DEFAULT_THRESHOLD",
    "Area",
    "BreakerRow",
    "Call",
    "DashboardState",
    "GroundingState",
    "Phase",
    "QuotaRow",
    "ReportState",
    "Revisions",
    "RunInfo",
    "RunWord",
    "Stream",
    "Tokens",
    "Turn",
]

NOTICES = 200
"""How many notices are kept."""
CONCURRENT = 16
"""So many calls may go on at once before it is looked which of them ended meanwhile."""


@dataclass(slots=True)
class DashboardState(Services):
    """Everything that the dashboard shows, as a function of the events applied so far.

    Args:
        threshold: the failures of a breaker that no event has named yet.
    """

    last: ev.Event | None = None
    tokens: Tokens = field(default_factory=Tokens)
    turns: list[Turn] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    lanes: list[Call] = field(default_factory=list)
    snapshot_call: Call | None = None
    notices: list[ev.Notice] = field(default_factory=list)
    report: ReportState = field(default_factory=ReportState)
    grounding: GroundingState | None = None
    _turns: dict[int, Turn] = field(default_factory=dict)
    _under_way: list[Call] = field(default_factory=list)

    def under_way(self) -> list[Call]:
        """The calls that have not ended yet, found without looking through all that ever were."""
        self._under_way = [call for call in self._under_way if call.running]
        return self._under_way

    def apply(self, event: ev.Event) -> None:
        """Take in one event.

        Types that are not known here change nothing; those of another run, only what belongs to the process.
        """
        if isinstance(event, ev.RunStarted):
            self.last = event
            self._start(event)
            return
        if self._is_own(event):
            self.at = max(self.at, event.at)
        elif event.run_id is not None:
            self.overhear(event)
            return
        elif not isinstance(event, ev.BreakerChanged | ev.Notice):
            return
        handler: Callable[[ev.Event], None] | None = getattr(self, f"_on_{event.type}", None)
        if handler is not None:
            self.last = event
            handler(event)

    def _start(self, event: ev.RunStarted) -> None:
        # Breakers, limits and gates belong to the process: they go over into the new run's time.
        for breaker in self.breakers.values():
            if breaker.retry_at is not None:
                breaker.retry_at += event.at - self.at
        for row in self.quota.values():
            row.spent, row.counted = 0, False
        self.at = event.at
        self.report.begin(self.run.run_id, event.follows, event.question)
        goes_on = event.follows is not None and event.follows in self.report.runs
        self.run = RunInfo(
            run_id=event.run_id,
            follows=event.follows,
            previous=self.run.previous if goes_on else event.previous,
            repo=event.repo,
            source=event.source,
            ref=event.ref,
            question=event.question,
            engine=event.engine,
            model=event.model,
            outcome="running",
        )
        self.tokens, self.grounding, self.snapshot_call = Tokens(), None, None
        self.turns, self._turns, self.calls, self.lanes, self._under_way = [], {}, {}, [], []
        self.notices = [notice for notice in self.notices if notice.run_id is None]
        self.revisions.raise_("run", "trace", "calls", "breakers", "quota", "report", "notices", "grounding")

    # -- the run ----------------------------------------------------------------------------

    def _on_snapshot(self, event: ev.Snapshot) -> None:
        run = self.run
        run.ref, run.commit, run.files, run.truncated = event.ref, event.commit, event.files, event.truncated
        self._succeeded("snapshot")
        if self.snapshot_call is not None:
            self.snapshot_call.finish(event.at, "ok")
            self.revisions.raise_("calls")
        self.revisions.raise_("run", "trace")

    def _on_run_finished(self, event: ev.RunFinished) -> None:
        run = self.run
        run.outcome, run.error = event.outcome, event.error
        if event.outcome == "completed":
            self._succeeded("llm")
        run.tool_calls, run.requests, run.elapsed = event.tool_calls, event.requests, event.elapsed
        for call in self.under_way():
            # a tool call was cut short; the model's or the snapshot's request is what the run failed on
            lost = call.call_id is None and event.outcome != "cancelled"
            call.finish(event.at, "error" if lost else "cancelled")
        for turn in self.turns[-1:]:
            turn.finished_at = event.at
            turn.revision += 1
        self._finish_report(event.report)
        self.revisions.raise_("run", "trace", "calls", "report")

    def _finish_report(self, text: str) -> None:
        report = self.report
        if not text:
            return  # what had streamed of a run that was cut short stays readable, not `final`
        written = report.stream.text
        if not text.startswith(written):
            report.generation += 1
        report.stream, report.final = Stream(text), True

    def _on_usage(self, event: ev.Usage) -> None:
        tokens = self.tokens
        tokens.prompt += event.prompt_tokens
        tokens.completion += event.completion_tokens
        tokens.cached += event.cached_tokens
        tokens.reasoning += event.reasoning_tokens
        tokens.context = event.context_tokens
        self._succeeded("llm")
        if event.cost is not None:
            tokens.cost = (tokens.cost or 0.0) + event.cost
            tokens.currency = event.currency
        if self.turns:
            turn = self.turns[-1]
            turn.usage = event
            self._touch(turn)
        self.revisions.raise_("run")

    def _on_notice(self, event: ev.Notice) -> None:
        self.notices.append(event)
        if len(self.notices) > 2 * NOTICES:
            del self.notices[:-NOTICES]
        self.revisions.raise_("notices")

    def _on_grounding(self, event: ev.Grounding) -> None:
        self.grounding = GroundingState(list(event.supported), list(event.unsupported))
        self.revisions.raise_("grounding")

    # -- turns ------------------------------------------------------------------------------

    def _turn(self, number: int, at: float) -> Turn:
        turn = self._turns.get(number)
        if turn is None:
            if self.turns and self.turns[-1].finished_at is None:
                self.turns[-1].finished_at = at
                self.turns[-1].revision += 1
            turn = self._turns[number] = Turn(number, started_at=at)
            self.turns.append(turn)
        return turn

    def _touch(self, turn: Turn) -> None:
        turn.revision += 1
        self.revisions.raise_("trace")

    def _model_answers(self, turn: Turn, at: float) -> None:
        if turn.model_call is not None and turn.model_call.finished_at is None:
            turn.model_call.finish(at, "ok")
            self.revisions.raise_("calls")

    def _on_turn_started(self, event: ev.TurnStarted) -> None:
        self.run.turn, self.run.max_turns = event.turn, event.max_turns
        self._touch(self._turn(event.turn, event.at))
        self.revisions.raise_("run")

    def _on_reasoning_delta(self, event: ev.ReasoningDelta) -> None:
        turn = self._turn(event.turn, event.at)
        self._model_answers(turn, event.at)
        turn.reasoning.append(event.text)
        self._touch(turn)

    def _on_reasoning(self, event: ev.Reasoning) -> None:
        turn = self._turn(event.turn, event.at)
        self._model_answers(turn, event.at)
        turn.reasoning = Stream(event.text)
        self._touch(turn)

    def _on_report_delta(self, event: ev.ReportDelta) -> None:
        turn = self._turn(event.turn, event.at)
        self._model_answers(turn, event.at)
        if self.report.stream is not turn.content:
            self.report.show(turn.content, turn.number)
        turn.content.append(event.text)
        self._touch(turn)
        self.revisions.raise_("report")

    def _void(self, turn: Turn) -> None:
        turn.content = Stream()
        if self.report.turn == turn.number:
            self.report.show(Stream(), None)
            self.revisions.raise_("report")

    def _on_thought(self, event: ev.Thought) -> None:
        turn = self._turn(event.turn, event.at)
        self._model_answers(turn, event.at)
        turn.thought = event.text
        self._void(turn)
        self._touch(turn)

    def _on_turn_restarted(self, event: ev.TurnRestarted) -> None:
        turn = self._turn(event.turn, event.at)
        turn.restarts.append(event.reason)
        turn.reasoning = Stream()
        turn.thought = ""
        self._void(turn)
        self._touch(turn)

    # -- calls ------------------------------------------------------------------------------

    def _on_tool_started(self, event: ev.ToolStarted) -> None:
        turn = self._turn(event.turn, event.at)
        self._model_answers(turn, event.at)
        self._succeeded("llm")  # not every server tells its usage
        self._add_call(turn, Call(event.tool, event.turn, event.at, event.call_id, event.arguments))

    def _add_call(self, turn: Turn, call: Call) -> None:
        # Some servers give the ids of one turn again in the next: the latest call of an id is meant.
        if call.call_id is not None:
            self.calls[call.call_id] = call
        self._open_lane(call)
        turn.calls.append(call)
        self.run.tool_calls += 1
        self._touch(turn)
        self.revisions.raise_("calls", "run")

    def _open_lane(self, call: Call) -> Call:
        self.lanes.append(call)
        if len(self._under_way) > 2 * CONCURRENT:
            self.under_way()
        self._under_way.append(call)
        return call

    def _on_tool_finished(self, event: ev.ToolFinished) -> None:
        turn = self._turn(event.turn, event.at)
        call = self.calls.get(event.call_id)
        if call is None or call.finished_at is not None:
            call = Call(event.tool, event.turn, max(0.0, event.at - event.elapsed), event.call_id, event.arguments)
            self._add_call(turn, call)
        call.result, call.attempts, call.cache = event.result, event.attempts, event.cache
        call.elapsed = event.elapsed
        self.run.cache_hits += event.cache == "hit"
        self.run.revalidated += event.cache == "revalidated"
        call.finish(event.at, "cancelled" if event.result.get("cancelled") is True else event.outcome)
        if event.outcome == "ok" and event.attempts:
            self._succeeded(event.tool)
        self._touch(turn)
        self.revisions.raise_("calls")

    def _request(self, call_id: str | None, name: str) -> Call | None:
        """The request that an event of the pipeline speaks of: a tool call's, the model's, or the snapshot's."""
        if call_id is not None:
            return self.calls.get(call_id)
        if name == "llm" and self.turns:
            turn = self.turns[-1]
            if turn.model_call is None or turn.model_call.finished_at is not None:
                turn.model_call = self._open_lane(Call(name, turn.number, turn.started_at))
            return turn.model_call
        if self.snapshot_call is None or self.snapshot_call.finished_at is not None:
            self.snapshot_call = self._open_lane(Call(name, 0, 0.0))
        return self.snapshot_call

    def _touch_request(self, call: Call) -> None:
        turn = self._turns.get(call.turn)
        if turn is not None:
            turn.revision += 1
        self.revisions.raise_("calls", "trace")

    def _on_attempt_failed(self, event: ev.AttemptFailed) -> None:
        call = self._request(event.call_id, event.name)
        if call is not None:
            call.fail(event.at, event.attempt, event.reason, event.status)
            self._touch_request(call)
        self._failed(event.name)

    def _on_retry_scheduled(self, event: ev.RetryScheduled) -> None:
        call = self._request(event.call_id, event.name)
        if call is not None:
            call.wait(event.at, "retry", event.delay, attempt=event.attempt, of=event.of)
            self._touch_request(call)

    def _on_rate_limit_wait(self, event: ev.RateLimitWait) -> None:
        call = self._request(event.call_id, event.name)
        if call is not None:
            call.wait(event.at, "limit", event.seconds, reason=event.kind)
            self._touch_request(call)

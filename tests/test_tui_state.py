"""The dashboard's state is a function of the events: nothing here needs a terminal."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui_session import breaker, ended, finished, quota, stamped, started
from tui_agent import events as ev
from tui_agent.agent.guards import GUARDED
from tui_agent.tui.state import BREAKER_NAMES, DashboardState


def begun(run_id: str = "r", repo: str = "o/n") -> ev.Event:
    event = ev.RunStarted(repo=repo, source="github", ref=None, question="Q?", engine="llm", model="m")
    return ev.stamp(event, 0.0, run_id)


def state_after(*events: tuple[float, ev.Event]) -> DashboardState:
    state = DashboardState()
    for event in (begun(), *stamped(*events)):
        state.apply(event)
    return state


def usage(context: int, cost: float | None = None) -> ev.Usage:
    return ev.Usage(
        prompt_tokens=100,
        completion_tokens=20,
        cached_tokens=50,
        reasoning_tokens=5,
        context_tokens=context,
        cost=cost,
        currency="CNY" if cost is not None else None,
    )


RECORDED: list[ev.Event] = [
    begun(),
    *stamped(
        (0.5, ev.Snapshot(repo="o/n", ref="main", commit="a" * 40, files=3, truncated=False)),
        (0.6, quota(4999, 1)),
        (0.7, ev.TurnStarted(turn=1, max_turns=15)),
        (0.8, ev.ReasoningDelta(turn=1, text="hm")),
        (0.9, ev.TurnRestarted(turn=1, reason="cut")),
        (1.0, ev.ReasoningDelta(turn=1, text="hm again")),
        (1.1, ev.Reasoning(turn=1, text="hm again.")),
        (1.2, ev.ReportDelta(turn=1, text="I look ")),
        (1.3, ev.ReportDelta(turn=1, text="around.")),
        (1.4, ev.Thought(turn=1, text="I look around.")),
        (1.4, usage(500, 0.01)),
        (1.5, started("c1", path="a.py")),
        (1.5, started("c2", "list_directory")),
        (1.5, ended("c2", "list_directory", attempts=0, cache="memory", elapsed=0.0)),
        (2.0, ev.AttemptFailed(call_id="c1", name="read_file", attempt=1, reason="x", status=503)),
        (2.0, ev.RetryScheduled(call_id="c1", name="read_file", attempt=2, of=4, delay=0.5)),
        (2.8, ev.RateLimitWait(call_id="c1", name="read_file", kind="primary", seconds=3, until=1_800_000_005)),
        (6.0, breaker("read_file", "open", failures=5, retry_in=30)),
        (6.1, ended("c1", outcome="fallback", attempts=2, elapsed=4.6)),
        (6.2, ev.Notice(level="warning", text="n")),
        (6.3, ev.TurnStarted(turn=2, max_turns=15)),
        (6.4, ev.AttemptFailed(call_id=None, name="llm", attempt=1, reason="busy", status=503)),
        (6.5, ev.ReportDelta(turn=2, text="# Report")),
        (6.6, ev.Grounding(supported=[{"claim": "a", "source": "b"}], unsupported=[])),
        (7.0, finished("completed", "# Report\n", elapsed=7.0)),
    ),
]


def test_the_same_events_give_the_same_state() -> None:
    one, two = DashboardState(), DashboardState()
    for event in RECORDED:
        one.apply(event)
    for event in RECORDED:
        two.apply(event)
    assert one == two


@given(st.lists(st.sampled_from(RECORDED), max_size=60))
def test_events_in_any_order_never_break_the_state_and_always_give_the_same(events: list[ev.Event]) -> None:
    one, two = DashboardState(), DashboardState()
    for event in events:
        one.apply(event)
        two.apply(event)
    assert one == two


def test_a_recorded_list_is_covered_by_every_type_of_event() -> None:
    assert {type(event) for event in RECORDED} == set(ev.EVENT_TYPES.values())


def test_nothing_has_run_at_first_and_all_breakers_are_there_closed() -> None:
    state = DashboardState(threshold=3)
    assert state.run.outcome == "idle"
    assert list(state.breakers) == list(BREAKER_NAMES)
    assert sorted(state.breakers) == sorted(GUARDED)
    assert all((row.state, row.failures, row.threshold) == ("closed", 0, 3) for row in state.breakers.values())


def test_the_start_and_the_snapshot_tell_what_is_read() -> None:
    state = state_after((0.5, ev.Snapshot(repo="o/n", ref="main", commit="b" * 40, files=12, truncated=True)))
    run = state.run
    assert (run.repo, run.source, run.question, run.engine, run.model) == ("o/n", "github", "Q?", "llm", "m")
    assert (run.ref, run.commit, run.files, run.truncated) == ("main", "b" * 40, 12, True)
    assert run.running


@pytest.mark.parametrize("outcome", ["completed", "partial", "failed", "cancelled"])
def test_the_runs_word_is_that_of_its_outcome(outcome: ev.Outcome) -> None:
    state = state_after((3.0, finished(outcome, error="why", elapsed=3.0)))
    assert (state.run.outcome, state.run.error, state.run.elapsed) == (outcome, "why", 3.0)
    assert not state.run.running


def test_tokens_add_up_while_the_context_is_the_latest() -> None:
    state = state_after(
        (1, ev.TurnStarted(turn=1, max_turns=2)), (2, usage(300, 0.01)), (3, usage(700)), (4, usage(900, 0.02))
    )
    tokens = state.tokens
    assert (tokens.prompt, tokens.completion, tokens.cached, tokens.reasoning) == (300, 60, 150, 15)
    assert tokens.context == 900
    assert tokens.cost == pytest.approx(0.03)


def test_a_cost_that_no_one_told_is_unknown_not_nothing() -> None:
    assert state_after((1, usage(300))).tokens.cost is None


def test_a_turn_keeps_its_reasoning_thought_usage_and_calls_in_order() -> None:
    state = state_after(
        (1, ev.TurnStarted(turn=1, max_turns=9)),
        (1.1, ev.ReasoningDelta(turn=1, text="one ")),
        (1.2, ev.ReasoningDelta(turn=1, text="two")),
        (1.3, ev.Thought(turn=1, text="said")),
        (1.4, usage(10)),
        (1.5, started("a", "get_repo_info")),
        (1.5, started("b", "read_file")),
        (1.9, ended("b")),
        (2.0, ended("a", "get_repo_info")),
        (2.1, ev.TurnStarted(turn=2, max_turns=9)),
    )
    first, second = state.turns
    assert (first.number, first.reasoning.text, first.thought) == (1, "one two", "said")
    assert first.usage is not None
    assert [call.tool for call in first.calls] == ["get_repo_info", "read_file"]
    assert (first.started_at, first.finished_at) == (1, 2.1)
    assert (state.run.turn, state.run.max_turns) == (2, 9)
    assert second.finished_at is None


def test_the_whole_reasoning_takes_the_place_of_its_pieces() -> None:
    state = state_after((1, ev.ReasoningDelta(turn=1, text="par")), (2, ev.Reasoning(turn=1, text="partial no more")))
    assert state.turns[0].reasoning.text == "partial no more"


def test_content_is_the_report_until_a_thought_takes_it_over() -> None:
    state = state_after((1, ev.ReportDelta(turn=1, text="I will ")), (2, ev.ReportDelta(turn=1, text="look.")))
    assert state.report.text == "I will look."
    before = state.report.generation
    state.apply(ev.Thought(at=3, run_id="r", turn=1, text="I will look."))
    assert state.report.text == ""
    assert state.report.generation > before
    assert state.turns[0].thought == "I will look."
    assert state.turns[0].content.text == ""


def test_a_report_that_only_grows_keeps_its_generation() -> None:
    state = state_after((1, ev.ReportDelta(turn=1, text="# A")))
    generation = state.report.generation
    state.apply(ev.ReportDelta(at=2, run_id="r", turn=1, text="\nb"))
    state.apply(ev.stamp(finished("completed", "# A\nb\n\n## Sources"), 3, "r"))
    assert (state.report.text, state.report.generation, state.report.final) == (
        "# A\nb\n\n## Sources",
        generation,
        True,
    )


def test_a_final_report_that_differs_from_what_streamed_is_another_generation() -> None:
    state = state_after((1, ev.ReportDelta(turn=1, text="# A")))
    generation = state.report.generation
    state.apply(ev.stamp(finished("partial", "# B"), 3, "r"))
    assert (state.report.text, state.report.generation > generation) == ("# B", True)


def test_a_restart_voids_what_the_turn_had_streamed() -> None:
    state = state_after(
        (1, ev.ReasoningDelta(turn=1, text="void")),
        (1, ev.ReportDelta(turn=1, text="void")),
        (2, ev.TurnRestarted(turn=1, reason="stream broke")),
        (3, ev.ReportDelta(turn=1, text="good")),
    )
    turn = state.turns[0]
    assert (turn.reasoning.text, turn.content.text, turn.restarts) == ("", "good", ["stream broke"])
    assert state.report.text == "good"


def test_what_had_streamed_of_a_cancelled_report_stays_readable() -> None:
    state = state_after((1, ev.ReportDelta(turn=1, text="half a rep")), (2, finished("cancelled")))
    assert (state.report.text, state.report.final) == ("half a rep", False)


def test_a_call_has_phases_attempt_failure_wait_and_attempt_again() -> None:
    state = state_after(
        (1.0, started("c")),
        (2.0, ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="server error", status=503)),
        (2.0, ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=1.5)),
        (5.0, ended("c", attempts=2, elapsed=4.0)),
    )
    call = state.calls["c"]
    assert [(p.kind, p.start, p.end, p.failed, p.status) for p in call.phases] == [
        ("attempt", 1.0, 2.0, True, 503),
        ("retry", 2.0, 3.5, False, None),
        ("attempt", 3.5, 5.0, False, None),
    ]
    assert call.phases[-1].attempt == 2
    assert (call.outcome, call.attempts, call.cache, call.elapsed) == ("ok", 2, "miss", 4.0)


def test_a_wait_counts_down_and_then_gives_way_to_an_attempt() -> None:
    state = state_after(
        (1.0, started("c")),
        (2.0, ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="x", status=None)),
        (2.0, ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=1.5)),
    )
    call = state.calls["c"]
    waiting = call.waiting(3.0)
    assert waiting is not None
    assert waiting.until == 3.5
    assert call.waiting(3.6) is None
    assert [(p.kind, p.start, p.end) for p in call.phases_at(4.0)][-1] == ("attempt", 3.5, None)


def test_a_call_that_falls_back_when_its_wait_is_over_was_not_tried_again() -> None:
    state = state_after(
        (1.0, started("c")),
        (2.0, ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="x", status=503)),
        (2.0, ev.RetryScheduled(call_id="c", name="read_file", attempt=2, of=4, delay=1.5)),
        (3.6, ended("c", outcome="fallback", attempts=1, elapsed=2.6)),
    )
    assert [(p.kind, p.end) for p in state.calls["c"].phases] == [("attempt", 2.0), ("retry", 3.5)]


def test_a_call_that_waits_for_a_limit_at_once_never_shows_an_attempt_before() -> None:
    state = state_after(
        (1.0, started("c")),
        (1.0, ev.RateLimitWait(call_id="c", name="read_file", kind="secondary", seconds=9, until=1_800_000_010)),
    )
    assert [(p.kind, p.reason) for p in state.calls["c"].phases] == [("limit", "secondary")]


def test_an_id_that_a_server_gives_again_is_another_call() -> None:
    state = state_after(
        (1, started("call_0", turn=1)),
        (2, ended("call_0", turn=1)),
        (3, started("call_0", "get_commits", turn=2)),
        (4, ended("call_0", "get_commits", "error", turn=2)),
    )
    assert [(call.tool, call.outcome) for call in state.lanes] == [("read_file", "ok"), ("get_commits", "error")]


def test_trouble_of_the_model_is_a_lane_of_its_turn_and_ends_when_it_speaks() -> None:
    state = state_after(
        (1, ev.TurnStarted(turn=1, max_turns=2)),
        (2, ev.AttemptFailed(call_id=None, name="llm", attempt=1, reason="busy", status=503)),
        (2, ev.RetryScheduled(call_id=None, name="llm", attempt=2, of=4, delay=1)),
        (5, ev.ReasoningDelta(turn=1, text="at last")),
    )
    call = state.turns[0].model_call
    assert call is not None
    assert call in state.lanes
    assert (call.tool, call.outcome, call.finished_at) == ("llm", "ok", 5)


def test_trouble_of_the_snapshot_is_a_lane_that_the_snapshot_ends() -> None:
    state = state_after(
        (1, ev.AttemptFailed(call_id=None, name="snapshot", attempt=1, reason="x", status=502)),
        (3, ev.Snapshot(repo="o/n", ref="HEAD", commit=None, files=0, truncated=False)),
    )
    assert [(call.tool, call.outcome) for call in state.lanes] == [("snapshot", "ok")]


def test_calls_under_way_end_with_the_run() -> None:
    state = state_after((1, started("c")), (2, finished("cancelled", elapsed=2.0)))
    assert (state.calls["c"].outcome, state.calls["c"].finished_at) == ("cancelled", 2)


def test_a_breakers_probe_is_told_in_run_time() -> None:
    state = state_after((10, breaker("read_file", "open", failures=5, retry_in=30)))
    row = state.breakers["read_file"]
    assert (row.state, row.failures, row.retry_at) == ("open", 5, 40)
    assert row.seconds_left(17.5) == 22.5
    assert row.seconds_left(99) == 0
    assert not row.isolated


def test_a_breaker_that_the_user_holds_open_counts_down_to_nothing() -> None:
    state = state_after((10, breaker("read_file", "open", cause="user")))
    row = state.breakers["read_file"]
    assert row.isolated
    assert row.seconds_left(12) is None
    state.apply(ev.stamp(breaker("read_file", "closed", cause="user"), 11, "r"))
    assert not state.breakers["read_file"].isolated


def test_the_threshold_that_one_breaker_tells_holds_for_those_that_told_none() -> None:
    event = ev.BreakerChanged(name="llm", state="open", failures=3, threshold=3, retry_in=6, cause="failures")
    assert {row.threshold for row in state_after((1, event)).breakers.values()} == {3}


def test_failures_in_a_row_are_counted_while_closed_and_forgotten_with_a_success() -> None:
    failed = ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="x", status=500)
    state = state_after((1, started("c")), (2, failed), (3, failed))
    assert state.breakers["read_file"].failures == 2
    state.apply(ev.stamp(ended("c", attempts=3), 4, "r"))
    assert state.breakers["read_file"].failures == 0


def test_an_error_or_an_answer_from_memory_is_no_success() -> None:
    failed = ev.AttemptFailed(call_id="c", name="read_file", attempt=1, reason="x", status=500)
    state = state_after(
        (1, started("c")), (2, failed), (3, ended("c", outcome="error")), (4, started("d")),
        (5, ended("d", attempts=0, cache="memory")),
    )  # fmt: skip
    assert state.breakers["read_file"].failures == 1


def test_between_runs_only_breakers_change_and_at_the_latest_time() -> None:
    state = state_after((7, ev.TurnStarted(turn=1, max_turns=2)))
    state.apply(finished("completed", "no run's report"))
    state.apply(ev.TurnStarted(turn=9, max_turns=9))
    assert (state.run.outcome, state.run.turn, state.report.text) == ("running", 1, "")
    state.advance(20)
    state.apply(breaker("llm", "open", failures=5, retry_in=10))
    assert state.breakers["llm"].retry_at == 30


def test_a_new_run_begins_anew_and_keeps_what_belongs_to_the_process() -> None:
    state = state_after(
        (1, quota(4000, 1000)),
        (2, quota(3998, 1002)),
        (2, ev.TurnStarted(turn=1, max_turns=2)),
        (3, started("c")),
        (4, ev.ReportDelta(turn=1, text="old")),
        (5, breaker("read_file", "open", failures=5, retry_in=30)),
        (6, ev.Notice(level="info", text="old")),
        (7, finished("failed", error="e", elapsed=7.0)),
    )
    assert state.quota["core"].spent == 3
    state.advance(15)
    state.apply(begun("r2", "p/q"))
    assert (state.run.repo, state.run.outcome, state.run.error) == ("p/q", "running", None)
    assert (state.turns, state.lanes, state.calls, state.notices, state.report.text) == ([], [], {}, [], "")
    row = state.breakers["read_file"]
    assert (row.state, row.seconds_left(0)) == ("open", 20)
    assert (state.quota["core"].remaining, state.quota["core"].spent) == (3998, 0)


def test_stragglers_of_an_earlier_run_change_nothing_but_the_process() -> None:
    state = state_after((1, ev.TurnStarted(turn=1, max_turns=2)))
    state.apply(begun("r2"))
    state.apply(ev.stamp(finished("cancelled"), 9, "r"))
    state.apply(ev.stamp(breaker("llm", "half_open"), 9, "r"))
    assert state.run.outcome == "running"
    assert state.breakers["llm"].state == "half_open"


def test_the_quota_tells_what_remains_and_what_this_run_spent() -> None:
    state = state_after((1, quota(4000, 1000)), (2, quota(3990, 1010)), (3, quota(3995, 1005)))
    row = state.quota["core"]
    assert (row.remaining, row.used, row.limit) == (3990, 1010, 5000)
    assert row.spent == 11
    assert row.history == [4000, 3990, 3990]


def test_a_new_window_of_the_limit_counts_on_and_late_replies_of_the_old_one_do_not() -> None:
    state = state_after((1, quota(1, 59, reset=1000, limit=60)), (2, quota(59, 1, reset=4600, limit=60)))
    state.apply(ev.stamp(quota(0, 60, reset=1000, limit=60), 3, "r"))
    row = state.quota["core"]
    assert (row.remaining, row.used, row.reset, row.spent) == (59, 1, 4600, 2)


def test_notices_are_kept_but_not_without_end() -> None:
    state = DashboardState()
    state.apply(begun())
    for number in range(1000):
        state.apply(ev.Notice(run_id="r", level="info", text=str(number)))
    assert len(state.notices) <= 400
    assert state.notices[-1].text == "999"


def test_grounding_is_kept() -> None:
    state = state_after((1, ev.Grounding(supported=[{"claim": "a"}], unsupported=[{"claim": "b"}])))
    assert state.grounding is not None
    assert (state.grounding.supported, state.grounding.unsupported) == ([{"claim": "a"}], [{"claim": "b"}])


def test_events_of_a_type_that_is_not_known_are_ignored() -> None:
    class Later(ev.Event):
        type = "later"

    state, same = (
        state_after((1, ev.TurnStarted(turn=1, max_turns=2))),
        state_after((1, ev.TurnStarted(turn=1, max_turns=2))),
    )
    state.apply(Later(run_id="r", at=1))
    assert state == same


def test_a_change_raises_the_counters_of_its_areas_alone() -> None:
    state = state_after((1, ev.TurnStarted(turn=1, max_turns=2)))
    before = state.revisions.of("run", "trace", "calls", "breakers", "quota", "report")
    state.apply(ev.stamp(quota(1, 1), 2, "r"))
    after = state.revisions.of("run", "trace", "calls", "breakers", "quota", "report")
    assert [new - old for old, new in zip(before, after, strict=True)] == [0, 0, 0, 0, 1, 0]


def test_an_event_costs_the_same_after_many() -> None:
    state = DashboardState()
    state.apply(begun())
    piece = ev.ReportDelta(run_id="r", turn=1, text="word ")

    def cost(number: int) -> float:
        began = time.perf_counter()
        for _ in range(number):
            state.apply(piece)
        return time.perf_counter() - began

    cost(2000)
    early = min(cost(2000) for _ in range(3))
    cost(60_000)
    late = min(cost(2000) for _ in range(3))
    assert late < 5 * early + 0.01


def chain(*runs: tuple[str, str | None, str, str]) -> DashboardState:
    """The state after some runs, each with its id, the run that it follows, its question and its report."""
    state = DashboardState()
    for run_id, follows, question, report in runs:
        first = ev.RunStarted(
            repo="o/n", source="github", ref=None, question=question, engine="llm", model="m", follows=follows
        )
        for event in (first, ev.TurnStarted(turn=1, max_turns=5), ev.ReportDelta(turn=1, text=report)):
            state.apply(ev.stamp(event, 0.0, run_id))
        state.apply(ev.stamp(finished("completed" if report else "failed", report), 1.0, run_id))
    return state


def test_a_follow_up_keeps_the_reports_before_it_as_chapters_under_their_questions() -> None:
    state = chain(("a", None, "All?", "# One"), ("b", "a", "Why *now*?", "Because."), ("c", "b", "So?", "Yes."))
    assert state.report.text == "# One\n\n---\n\n## Why \\*now\\*\\?\n\nBecause.\n\n---\n\n## So\\?\n\nYes."
    assert len(state.report) == len(state.report.text)


def test_a_follow_up_on_an_earlier_report_takes_only_that_one_along() -> None:
    state = chain(("a", None, "All?", "# One"), ("b", "a", "Why?", "Because."), ("c", "a", "So?", "Yes."))
    assert state.report.text == "# One\n\n---\n\n## So\\?\n\nYes."


def test_a_follow_up_that_failed_leaves_no_chapter_and_a_new_run_none_at_all() -> None:
    state = chain(("a", None, "All?", "# One"), ("b", "a", "Why?", ""), ("c", "a", "So?", "Yes."))
    assert state.report.text == "# One\n\n---\n\n## So\\?\n\nYes."
    assert chain(("a", None, "All?", "# One"), ("b", None, "All?", "# Two")).report.text == "# Two"

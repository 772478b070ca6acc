"""Walking through a recorded run in time: one way to a state, whatever way one came."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.benchmarks.long_run import run_of
from tests.fakes import VirtualClock
from tests.tui_session import breaker, ended, finished, quota, stamped, started
from tui_agent import events as ev
from tui_agent.explanations import EXPLANATIONS, explain
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.tui.replay import BETWEEN_RUNS, LONGEST_PAUSE, SPEEDS, Player, Reel
from tui_agent.tui.state import DashboardState

BEGIN = ev.RunStarted(repo="a/b", source="github", ref=None, question="?", engine="llm", model="m")
FAILED = ev.AttemptFailed(call_id="c1", name="read_file", attempt=1, reason="HTTP 503", status=503)
RETRY = ev.RetryScheduled(call_id="c1", name="read_file", attempt=2, of=4, delay=1.2)
LIMIT = ev.RateLimitWait(call_id="c1", name="read_file", kind="primary", seconds=60, until=2e9)
USAGE = ev.Usage(
    prompt_tokens=900, completion_tokens=9, cached_tokens=800, reasoning_tokens=1, context_tokens=909, cost=0.01
)  # fmt: skip
GROUNDS = ev.Grounding(supported=[{"claim": "a", "source": "b"}], unsupported=[{"claim": "c", "source": None}])
STORY = stamped(
    (0.0, BEGIN),
    (0.5, ev.Snapshot(repo="a/b", ref="main", commit="1" * 40, files=3, truncated=False)),
    (0.6, ev.TurnStarted(turn=1, max_turns=15)),
    (0.9, ev.Reasoning(turn=1, text="First the README.")),
    (1.0, started()),
    (1.5, FAILED),
    (1.5, RETRY),
    (1.5, breaker("read_file", "open", failures=5, retry_in=30)),
    (31.5, breaker("read_file", "half_open", failures=5, cause="probe")),
    (32.0, breaker("read_file", "closed", cause="probe")),
    (32.0, ended()),
    (33.0, ev.TurnStarted(turn=2, max_turns=15)),
    (34.0, ev.ReportDelta(turn=2, text="# A")),
    (34.2, ev.TurnRestarted(turn=2, reason="the stream broke")),
    (35.0, ev.ReportDelta(turn=2, text="# All is")),
    (35.1, ev.ReportDelta(turn=2, text=" well")),
    (36.0, finished("completed", "# All is well", elapsed=36.0)),
)


def player_of(*runs: Sequence[ev.Event]) -> Player:
    return Player([Reel(1_000_000.0 * number, run) for number, run in enumerate(runs, 1)])


def forwards(events: Sequence[ev.Event], position: int) -> DashboardState:
    state = DashboardState()
    for event in events[:position]:
        state.apply(event)
    return state


# -- the same state, whatever way one came ------------------------------------------------------

_TURN = st.integers(1, 3)
_CALL = st.sampled_from(["c1", "c2"])
_TEXT = st.sampled_from(["", "a", "# b\n\n", "\x1b[31m"])
_NAME = st.sampled_from(["read_file", "llm", "snapshot"])
_EVENT = st.one_of(
    st.builds(ev.TurnStarted, turn=_TURN, max_turns=st.just(15)),
    st.builds(ev.ReasoningDelta, turn=_TURN, text=_TEXT),
    st.builds(ev.ReportDelta, turn=_TURN, text=_TEXT),
    st.builds(ev.Thought, turn=_TURN, text=_TEXT),
    st.builds(ev.TurnRestarted, turn=_TURN, reason=_TEXT),
    st.builds(started, _CALL, turn=_TURN),
    st.builds(ended, _CALL, outcome=st.sampled_from(["ok", "error", "fallback"]), turn=_TURN),
    st.builds(dataclasses.replace, st.just(FAILED), call_id=st.none() | _CALL, name=_NAME),
    st.builds(dataclasses.replace, st.just(RETRY), call_id=st.none() | _CALL, name=_NAME),
    st.builds(breaker, _NAME, st.sampled_from(["closed", "open", "half_open"]), retry_in=st.just(9.0)),
    st.builds(quota, st.integers(0, 9), st.integers(0, 9)),
    st.builds(ev.Notice, level=st.just("info"), text=_TEXT),
    st.sampled_from([LIMIT, USAGE, GROUNDS, BEGIN]),
    st.builds(finished, st.sampled_from(["completed", "failed"]), _TEXT),
)
_MOVE = st.one_of(
    st.tuples(st.just("step"), st.integers(-5, 5)),
    st.tuples(st.just("step_turn"), st.booleans()),
    st.tuples(st.just("step_failure"), st.booleans()),
    st.tuples(st.just("seek"), st.floats(0, 40)),
    st.tuples(st.just("pass_"), st.floats(0, 40)),
    st.tuples(st.just("go"), st.integers(0, 60)),
)


@st.composite
def _run(draw: st.DrawFn) -> list[ev.Event]:
    timed = sorted(draw(st.lists(st.tuples(st.floats(0, 20), _EVENT), max_size=40)), key=lambda pair: pair[0])
    return stamped((0.0, BEGIN), *timed, run_id=draw(st.sampled_from(["r", "s"])))


@settings(max_examples=60)
@given(st.lists(_run(), min_size=1, max_size=3), st.lists(st.tuples(_MOVE, st.booleans()), max_size=25))
def test_whatever_way_one_came_the_state_is_the_one_of_going_straight_there(runs, moves) -> None:  # type: ignore[no-untyped-def]
    player = player_of(*runs)
    player.playing = True
    for (name, how), looked_at in moves:
        getattr(player, name)(how)
        if looked_at:
            assert player.state == forwards(player.events, player.position)
    assert player.state == forwards(player.events, player.position)
    assert 0.0 <= player.time <= player.length


@pytest.fixture(scope="module")
def recorded() -> list[ev.Event]:
    """The demo's run as a record gives it back."""
    import asyncio

    heard: list[ev.Event] = []

    async def run() -> None:
        session = Session(Settings(), clock=VirtualClock(), demo=True)
        await session.run(RunRequest(repo=""), heard.append)
        await session.aclose()

    asyncio.run(run())
    lines = [json.dumps(ev.to_json(event)) for event in heard]
    return [event for line in lines if (event := ev.from_json(json.loads(line))) is not None]


def test_a_real_record_is_the_same_backwards_as_forwards_at_every_event(recorded: list[ev.Event]) -> None:
    player = player_of(recorded)
    seen = []
    while not player.at_end:
        player.step(1)
        # what is compared later must not move on with the player
        seen.append((player.time, player.now, repr(player.state)))
    assert player.state.run.outcome == "completed"
    for before in reversed(seen):
        assert (player.time, player.now, repr(player.state)) == before
        player.step(-1)
    assert player.position == 0 and player.state == DashboardState()


def test_thousands_of_events_are_the_same_backwards(recorded: list[ev.Event]) -> None:
    long = stamped((0.0, BEGIN), *((n / 9, event) for n, event in enumerate(itertools.islice(run_of(4000), 4000))))
    player = player_of(recorded, long, recorded)
    player.end()
    assert player.state == forwards(player.events, len(player.events))
    for _ in range(12):
        player.step(-397)
        assert player.state == forwards(player.events, player.position)
    assert player.position < len(player.events) - 4000


def test_steps_that_nobody_looks_at_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    applied = []
    apply = DashboardState.apply
    monkeypatch.setattr(DashboardState, "apply", lambda self, event: (applied.append(event), apply(self, event)))
    player = player_of(STORY)
    player.end()
    for _ in range(10):
        player.step(-1)
    assert applied == []
    assert player.state.turns and len(applied) == len(STORY) - 10


# -- moves --------------------------------------------------------------------------------------


def test_a_step_goes_to_the_event_and_its_moment() -> None:
    player = player_of(STORY)
    assert (player.position, player.time, player.last, player.next) == (0, 0.0, None, STORY[0])
    player.step(6)
    assert (player.last, player.next, player.time) == (STORY[5], STORY[6], 1.5)
    player.step(-100)
    assert player.position == 0
    player.step(100)
    assert player.at_end and player.next is None and player.time == 36.0


def test_turns_begin_with_the_run_with_each_turn_and_end_with_the_run() -> None:
    player, places = player_of(STORY), []
    while not player.at_end:
        player.step_turn(forward=True)
        places.append(type(player.last).__name__)
    assert places == ["RunStarted", "TurnStarted", "TurnStarted", "RunFinished"]
    for _ in places:
        player.step_turn(forward=False)
    assert player.position == 0


def test_failures_are_found_in_both_directions() -> None:
    player, found = player_of(STORY), []
    while player.step_failure(forward=True):
        found.append(type(player.last).__name__)
    assert found == ["AttemptFailed", "BreakerChanged", "TurnRestarted"]
    assert player.step_failure(forward=False) and isinstance(player.last, ev.BreakerChanged)
    player.start()
    assert not player.step_failure(forward=False) and player.position == 0


def test_every_kind_of_failure_counts_and_nothing_else() -> None:
    failures = [
        FAILED,
        ended(outcome="error"),
        ended(outcome="fallback"),
        breaker("read_file", "open"),
        ev.TurnRestarted(turn=1, reason="x"),
        finished("failed"),
    ]
    calm = [ended(), breaker("read_file", "half_open"), RETRY, LIMIT, finished("partial"), finished("cancelled")]
    player = player_of(stamped((0.0, BEGIN), *((1.0, event) for event in [*failures, *calm])))
    count = 0
    while player.step_failure(forward=True):
        count += 1
    assert count == len(failures) == len(player.failures)


def test_seeking_goes_to_what_had_happened_by_then() -> None:
    player = player_of(STORY)
    player.seek(1.5)
    assert player.last == STORY[7]
    player.seek(11.5)
    assert (player.last, player.time) == (STORY[7], 11.5)
    assert player.state.breakers["read_file"].seconds_left(player.now) == 20.0
    player.seek(6.5)
    assert player.state.breakers["read_file"].seconds_left(player.now) == 25.0
    player.seek(1e9)
    assert player.at_end
    player.seek(-1)
    assert (player.position, player.time) == (1, 0.0)


def test_runs_that_follow_each_other_are_one_sequence_each_with_its_own_time() -> None:
    player = player_of(STORY, stamped((0.0, BEGIN), (2.0, finished("completed")), run_id="s"))
    player.end()
    assert player.time == 36.0 + BETWEEN_RUNS + 2.0
    assert (player.run, player.now, player.epoch) == (1, 2.0, 2_000_002.0)
    player.go(len(STORY))
    assert (player.run, player.now, player.epoch) == (0, 36.0, 1_000_036.0)


def test_a_record_of_nothing_can_be_opened_too() -> None:
    for player in (player_of([]), Player([])):
        player.toggle()
        player.end()
        player.step_turn(forward=True)
        assert (player.position, player.playing, player.now, player.epoch % 1e6) == (0, False, 0.0, 0.0)


# -- playing ------------------------------------------------------------------------------------


def test_it_plays_as_it_happened_and_stops_at_the_end() -> None:
    player = player_of(STORY)
    player.toggle()
    player.pass_(0.55)
    assert player.last == STORY[1] and player.time == pytest.approx(0.55)
    player.pass_(0.06)
    assert player.last == STORY[2]
    player.pass_(100)
    assert player.at_end and not player.playing
    player.pass_(5)
    assert player.time == 36.0
    player.toggle()
    assert player.playing and player.position == 0


@pytest.mark.parametrize("speed", SPEEDS)
def test_at_any_speed_time_passes_so_much_faster(speed: float) -> None:
    player = player_of(STORY)
    while player.speed != speed:
        player.faster(1 if player.speed < speed else -1)
    player.toggle()
    player.pass_(0.5 / speed)
    assert player.time == pytest.approx(0.5)


def test_a_long_pause_passes_in_three_seconds_and_its_countdown_runs() -> None:
    player = player_of(STORY)
    player.go(8)
    player.toggle()
    player.pass_(LONGEST_PAUSE / 2)
    assert player.state.breakers["read_file"].seconds_left(player.now) == pytest.approx(15.0)
    player.pass_(LONGEST_PAUSE / 2 + 1e-6)
    assert player.state.breakers["read_file"].state == "half_open"


def test_paused_nothing_moves_and_speeds_end_at_both_ends() -> None:
    player = player_of(STORY)
    player.pass_(10)
    assert player.position == 0
    player.faster(100)
    assert player.speed == SPEEDS[-1]
    player.faster(-100)
    assert player.speed == SPEEDS[0]


# -- explanations -------------------------------------------------------------------------------


def test_every_event_explains_itself() -> None:
    assert set(EXPLANATIONS) == set(ev.EVENT_TYPES.values())


ALL = [
    *STORY,
    LIMIT,
    dataclasses.replace(LIMIT, kind="secondary"),
    USAGE,
    GROUNDS,
    quota(4812, 188),
    ev.ReasoningDelta(turn=1, text="x"),
    ev.Thought(turn=1, text="x"),
    ev.Notice(level="info", text="x"),
    breaker("llm", "open", cause="user"),
    breaker("llm", "closed", cause="user"),
    breaker("llm", "open", cause="probe", retry_in=30),
    ended(outcome="error"),
    ended(outcome="fallback", attempts=0),
    ended(cache="memory"),
    ended(cache="hit"),
    ended(cache="revalidated"),
    finished("failed"),
    finished("partial"),
    finished("cancelled"),
]


def test_an_explanation_is_a_few_words_and_a_few_sentences() -> None:
    assert {type(event) for event in ALL} == set(EXPLANATIONS)
    for event in ALL:
        title, text = explain(event)
        assert 0 < len(title) <= 40, title
        assert 30 < len(text) <= 330 and text.endswith("."), text


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (FAILED, ("Attempt 1 failed", "HTTP 503", "read_file")),
        (RETRY, ("1.2 s", "Attempt 2 of 4")),
        (LIMIT, ("60 s", "no retry")),
        (breaker("read_file", "open", failures=5, retry_in=30), ("5 failures in a row", "for 30 s", "probe")),
        (breaker("read_file", "half_open", cause="probe"), ("Half-open", "one request")),
        (started(path="README.md"), ("Action: read_file", "README.md")),
        (ended(attempts=2), ("Observation", "2 requests", "0.50 s")),
        (USAGE, ("900 in", "800", "909", "0.0100")),
        (GROUNDS, ("1 of 2 claims",)),
        (quota(4812, 188), ("4,812 left", "188 of 5,000")),
    ],
)
def test_an_explanation_tells_the_events_own_numbers(event: ev.Event, words: tuple[str, ...]) -> None:
    told = " ".join(explain(event))
    assert [word for word in words if word not in told] == []

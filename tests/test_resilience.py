"""Retry, time-out, fallback and their composition, one rule a test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from tests.fakes import VirtualClock, settle
from tests.resilience_bench import DOWN, NO, Bench, quota_of
from tui_agent.events import AttemptFailed, RetryScheduled
from tui_agent.resilience.fallback import with_fallback
from tui_agent.resilience.outcome import Answered, BreakerOpen, LimitTooFar, Trouble, Unavailable
from tui_agent.resilience.retry import Retry

# -- retry ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "seconds"), [(0, 0.5), (1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 8.0), (50, 8.0), (5000, 8.0)]
)
def test_the_delay_doubles_up_to_its_bound(retry: int, seconds: float) -> None:
    policy = Retry(VirtualClock(), base_delay=0.5, max_delay=8.0, chance=lambda: 0.0)
    assert policy.delay(retry) == seconds


@pytest.mark.parametrize(("chance", "factor"), [(0.0, 1.0), (0.5, 1.15), (0.999, 1.2997)])
def test_jitter_adds_up_to_thirty_percent_and_takes_nothing_away(chance: float, factor: float) -> None:
    policy = Retry(VirtualClock(), base_delay=0.5, max_delay=8.0, chance=lambda: chance)
    assert policy.delay(3) == pytest.approx(4.0 * factor)
    assert policy.delay(9) == pytest.approx(8.0 * factor)


def test_a_delay_of_nothing_stays_nothing() -> None:
    assert Retry(VirtualClock(), base_delay=0.0, chance=lambda: 0.9).delay(7) == 0.0


async def test_every_failed_attempt_and_every_retry_is_told_with_its_number() -> None:
    bench = Bench(DOWN, Trouble("timed out"), DOWN)
    assert await bench.ask() == "fine"
    assert bench.heard == [
        AttemptFailed(call_id="call_1", name="read_file", attempt=1, reason="HTTP 503", status=503),
        RetryScheduled(call_id="call_1", name="read_file", attempt=2, of=4, delay=0.5),
        AttemptFailed(call_id="call_1", name="read_file", attempt=2, reason="timed out", status=None),
        RetryScheduled(call_id="call_1", name="read_file", attempt=3, of=4, delay=1.0),
        AttemptFailed(call_id="call_1", name="read_file", attempt=3, reason="HTTP 503", status=503),
        RetryScheduled(call_id="call_1", name="read_file", attempt=4, of=4, delay=2.0),
    ]
    assert bench.service.sent == [0.0, 0.5, 1.5, 3.5]


async def test_after_the_last_retry_the_last_trouble_is_the_outcome() -> None:
    bench = Bench(DOWN, DOWN, DOWN, Trouble("the last"))
    call = bench.call()
    with pytest.raises(Trouble, match="the last"):
        await bench.ask(call)
    assert call.attempts == len(bench.service.sent) == 4
    assert [event.attempt for event in bench.heard.of(AttemptFailed)] == [1, 2, 3, 4]
    assert len(bench.heard.of(RetryScheduled)) == 3


async def test_without_retries_there_is_one_attempt() -> None:
    bench = Bench(otherwise=DOWN, max_retries=0)
    with pytest.raises(Trouble):
        await bench.ask()
    assert bench.heard.told() == ["attempt_failed"]


async def test_an_answer_that_says_no_is_never_retried() -> None:
    bench = Bench(NO)
    with pytest.raises(Answered):
        await bench.ask()
    assert len(bench.service.sent) == 1 and bench.heard == []


async def test_a_fault_of_our_own_is_neither_retried_nor_counted() -> None:
    bench = Bench(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        await bench.ask()
    assert len(bench.service.sent) == 1 and bench.heard == [] and bench.breaker.failures == 0


# -- attempt time-out, fallback ------------------------------------------------------------------------


async def test_an_attempt_that_does_not_end_is_ended_retried_and_counted() -> None:
    bench = Bench((1e9, "never"))
    assert await bench.ask() == "fine"
    assert bench.service.sent == [0.0, 15.5]
    assert bench.heard.of(AttemptFailed)[0].reason == "no whole answer within 15 s"
    assert bench.service.open == 0


async def test_a_probe_that_hangs_ends_too() -> None:
    bench = Bench((1e9, "never"))
    await bench.open()
    bench.clock.advance(30.0)
    with pytest.raises(Trouble):
        await bench.ask()
    assert bench.states() == [("half_open", "probe"), ("open", "probe")]
    assert bench.clock.now == 45.0


async def test_the_time_at_the_gate_is_not_the_attempts() -> None:
    bench = Bench((14.0, "fine"))
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 60.0))
    assert await bench.ask() == "fine"
    assert bench.heard.of(AttemptFailed) == []


@pytest.mark.parametrize("trouble", [DOWN, BreakerOpen("open"), LimitTooFar("far")])
async def test_trouble_and_an_unasked_service_end_as_the_fallback(trouble: Exception) -> None:
    async def fail() -> str:
        raise trouble

    assert await with_fallback(fail, lambda error: f"instead of {type(error).__name__}") == (
        f"instead of {type(trouble).__name__}"
    )


@pytest.mark.parametrize("error", [NO, KeyError("x")])
async def test_the_fallback_leaves_everything_else_alone(error: Exception) -> None:
    async def fail() -> str:
        raise error

    with pytest.raises(type(error)):
        await with_fallback(fail, lambda _: "instead")


# -- cancellation, in each layer -----------------------------------------------------------------------


async def _in_the_attempt(bench: Bench) -> None:
    bench.service.script = [(1e9, "never")]


async def _waiting_for_a_limit(bench: Bench) -> None:
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 60.0))


async def _waiting_for_room(bench: Bench) -> None:
    bench.service.script = [(10.0, "fine")] * 8
    bench.start(8)
    await settle()


async def _before_a_retry(bench: Bench) -> None:
    bench.service.script = [DOWN]


@pytest.mark.parametrize("place", [_in_the_attempt, _waiting_for_a_limit, _waiting_for_room, _before_a_retry])
async def test_a_cancelled_call_leaves_nothing_behind(place: Callable[[Bench], Awaitable[None]]) -> None:
    bench = Bench()
    await place(bench)
    before = asyncio.all_tasks()
    (task,) = bench.start()
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    await asyncio.sleep(100.0)
    # all eight places are there again, and the breaker lets pass
    bench.service.script, bench.service.otherwise, bench.service.most = [], (1.0, "fine"), 0
    assert await bench.outcomes(16) == ["fine"] * 16
    assert bench.service.most == 8 and bench.breaker.state == "closed"


async def test_a_cancelled_waiter_takes_no_place_from_those_behind_it() -> None:
    bench = Bench(otherwise=(1.0, "fine"))
    tasks = bench.start(12)
    await settle()
    tasks[8].cancel()
    tasks[9].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert outcomes[:8] == ["fine"] * 8 and outcomes[10:] == ["fine"] * 2
    assert len(bench.service.sent) == 10


def test_unavailable_tells_its_reason_and_time() -> None:
    error: Unavailable = BreakerOpen("it is open", 3.0)
    assert (str(error), error.reason, error.retry_in) == ("it is open", "it is open", 3.0)

"""Retry, breaker, rate-limit gate, and their composition, one rule a test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.fakes import Layers, Recorder, VirtualClock, quota_headers, settle
from tui_agent.events import AttemptFailed, BreakerChanged, Quota, RateLimitWait, RetryScheduled
from tui_agent.github.limits import quota
from tui_agent.resilience.breaker import Breaker
from tui_agent.resilience.call import Call
from tui_agent.resilience.fallback import with_fallback
from tui_agent.resilience.outcome import Answered, BreakerOpen, LimitTooFar, RateLimited, Trouble, Unavailable
from tui_agent.resilience.pipeline import Pipeline
from tui_agent.resilience.rate_limit import MAX_REFUSALS
from tui_agent.resilience.retry import Retry

Step = Any


class Service:
    """Does one step of its script a request: a value to give, an exception to raise, seconds to take first."""

    def __init__(self, clock: VirtualClock, *script: Step, otherwise: Step = "fine") -> None:
        self.clock = clock
        self.script = list(script)
        self.otherwise = otherwise
        self.sent: list[float] = []
        self.open = 0
        self.most = 0

    async def __call__(self) -> str:
        self.sent.append(self.clock.now)
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            step = self.script.pop(0) if self.script else self.otherwise
            seconds, step = step if isinstance(step, tuple) else (0.0, step)
            await asyncio.sleep(seconds)
            if isinstance(step, Exception):
                raise step
            return str(step)
        finally:
            self.open -= 1


class Bench:
    """One service behind the layers, and what is heard of it."""

    def __init__(self, *script: Step, otherwise: Step = "fine", **numbers: Any) -> None:
        self.clock = VirtualClock()
        self.layers = Layers(self.clock, **numbers)
        self.service = Service(self.clock, *script, otherwise=otherwise)
        self.heard = Recorder()
        self.breaker = self.layers.breakers["read_file"]
        self.pipeline = Pipeline(self.layers.retry, self.breaker, self.layers.gate, self.layers.timeout)

    def call(self) -> Call:
        return Call("read_file", self.heard, "call_1")

    async def ask(self, call: Call | None = None) -> str:
        return await self.pipeline.run(call or self.call(), self.service)

    def start(self, number: int = 1) -> list[asyncio.Task[str]]:
        return [asyncio.create_task(self.ask()) for _ in range(number)]

    async def outcomes(self, number: int) -> list[object]:
        return list(await asyncio.gather(*self.start(number), return_exceptions=True))

    def states(self) -> list[tuple[str, str]]:
        return [(event.state, event.cause) for event in self.heard.of(BreakerChanged)]

    async def open(self) -> None:
        """Let the breaker open by failures, and forget what was heard of it."""
        before = self.service.script
        self.service.script = [Trouble("down", 503)] * self.layers.threshold
        while self.breaker.state == "closed":
            with pytest.raises(Trouble):
                await Pipeline(Retry(self.clock, max_retries=0), self.breaker, self.layers.gate).run(
                    self.call(), self.service
                )
        self.service.script = before
        self.service.sent.clear()
        self.heard.clear()


DOWN = Trouble("HTTP 503", 503)
NO = Answered("not there")


def slow_down(seconds: float | None = None, bench: Bench | None = None) -> RateLimited:
    until = None if seconds is None or bench is None else bench.clock.time() + seconds
    return RateLimited("secondary", until, "too fast")


# -- retry ------------------------------------------------------------------------------------------


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


# -- breaker ----------------------------------------------------------------------------------------


async def test_it_opens_after_the_threshold_of_consecutive_failures_and_ends_the_retries() -> None:
    bench = Bench(otherwise=DOWN)
    for _ in range(2):
        with pytest.raises(Trouble):
            await bench.ask()
    # 4 attempts of the first call, 1 of the second; no retry follows the fifth failure
    assert len(bench.service.sent) == 5
    assert bench.heard.of(BreakerChanged) == [
        BreakerChanged(name="read_file", state="open", failures=5, threshold=5, retry_in=30.0, cause="failures")
    ]
    assert isinstance(bench.heard[-1], AttemptFailed)


async def test_an_open_breaker_sends_nothing_and_says_for_how_long() -> None:
    bench = Bench()
    await bench.open()
    bench.clock.advance(7.0)
    call = bench.call()
    with pytest.raises(BreakerOpen, match="open after 5 failures in a row; nothing is sent for another 23 s") as caught:
        await bench.ask(call)
    assert caught.value.retry_in == 23.0
    assert call.attempts == 0 and bench.service.sent == [] and bench.heard == []


@pytest.mark.parametrize("seconds", [0.0, 29.999])
async def test_no_probe_is_admitted_before_the_time(seconds: float) -> None:
    bench = Bench()
    await bench.open()
    bench.clock.advance(seconds)
    with pytest.raises(BreakerOpen):
        await bench.ask()
    assert bench.breaker.state == "open"


async def test_half_open_is_told_when_a_probe_is_admitted_not_when_the_time_is_up() -> None:
    bench = Bench()
    await bench.open()
    bench.clock.advance(300.0)
    await settle()
    assert bench.heard == [] and bench.breaker.state == "open" and bench.breaker.retry_in == 0.0
    await bench.ask()
    assert bench.states() == [("half_open", "probe"), ("closed", "probe")]
    assert bench.breaker.failures == 0


async def test_a_failed_probe_opens_it_again_for_the_whole_time_and_is_not_retried() -> None:
    bench = Bench(DOWN)
    await bench.open()
    bench.clock.advance(30.0)
    with pytest.raises(Trouble):
        await bench.ask()
    assert bench.states() == [("half_open", "probe"), ("open", "probe")]
    assert bench.breaker.retry_in == 30.0 and len(bench.service.sent) == 1
    assert bench.heard.of(BreakerChanged)[-1].failures == 5


async def test_an_answer_below_500_proves_life_and_closes() -> None:
    bench = Bench(NO)
    await bench.open()
    bench.clock.advance(30.0)
    with pytest.raises(Answered):
        await bench.ask()
    assert bench.states() == [("half_open", "probe"), ("closed", "probe")]


async def test_a_rate_limit_proves_life_at_once_not_after_the_wait() -> None:
    bench = Bench()
    await bench.open()
    bench.clock.advance(30.0)
    bench.service.script = [slow_down(20.0, bench)]
    (task,) = bench.start()
    await settle()
    assert bench.states() == [("half_open", "probe"), ("closed", "probe")]
    assert await task == "fine"


async def test_one_probe_at_a_time_and_the_rest_fall_back_at_once() -> None:
    bench = Bench((5.0, "fine"))
    await bench.open()
    bench.clock.advance(30.0)
    outcomes = await bench.outcomes(6)
    assert outcomes[0] == "fine"
    assert all(isinstance(outcome, BreakerOpen) for outcome in outcomes[1:])
    assert "its probe is under way" in str(outcomes[1])
    assert len(bench.service.sent) == 1


async def test_a_cancelled_probe_gives_its_place_to_the_next_caller() -> None:
    bench = Bench((5.0, "never"))
    await bench.open()
    bench.clock.advance(30.0)
    (probe,) = bench.start()
    await settle()
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert bench.states() == [("half_open", "probe"), ("open", "probe")]
    assert bench.breaker.retry_in == 0.0
    assert await bench.ask() == "fine"
    assert bench.breaker.state == "closed"


async def test_a_probe_that_the_limit_keeps_from_being_sent_gives_its_place_back() -> None:
    bench = Bench()
    await bench.open()
    bench.clock.advance(30.0)
    bench.layers.gate.observe(bench.call(), Quota(resource="core", limit=60, remaining=0, used=60, reset=2**33))
    with pytest.raises(LimitTooFar):
        await bench.ask()
    assert bench.states() == [("half_open", "probe"), ("open", "probe")]
    assert bench.service.sent == []


@pytest.mark.parametrize("between", [NO, asyncio.CancelledError(), "limit"], ids=["4xx", "cancellation", "rate limit"])
async def test_what_says_nothing_about_the_service_counts_neither_way(between: Any) -> None:
    bench = Bench(max_retries=0)
    for _ in range(4):
        bench.service.script = [DOWN]
        with pytest.raises(Trouble):
            await bench.ask()
    if between == "limit":
        bench.service.script = [slow_down(30.0, bench), slow_down(95.0, bench)]
        with pytest.raises(LimitTooFar):
            await bench.ask()
    else:
        bench.service.script = [(1.0, between) if between is NO else (1e9, "never")]
        (task,) = bench.start()
        await settle()
        if between is not NO:
            task.cancel()
        with pytest.raises(type(between)):
            await task
    assert bench.breaker.failures == 4 and bench.breaker.state == "closed"
    bench.clock.advance(100.0)
    bench.service.script = [DOWN]
    with pytest.raises(Trouble):
        await bench.ask()
    assert bench.states() == [("open", "failures")]


async def test_a_success_starts_the_count_anew() -> None:
    bench = Bench(DOWN, DOWN, DOWN, DOWN, "fine", DOWN, DOWN, DOWN, DOWN, max_retries=0)
    await bench.outcomes(1)
    for _ in range(8):
        await bench.outcomes(1)
    assert bench.breaker.failures == 4 and bench.breaker.state == "closed"


async def test_parallel_failures_open_it_once_and_never_count_past_the_threshold() -> None:
    bench = Bench(otherwise=(1.0, DOWN), max_retries=0)
    outcomes = await bench.outcomes(8)
    assert all(isinstance(outcome, Trouble) for outcome in outcomes)
    assert bench.states() == [("open", "failures")]
    assert bench.breaker.failures == 5


async def test_what_was_sent_before_it_opened_no_longer_decides_anything() -> None:
    bench = Bench((100.0, DOWN), (100.0, "fine"))
    bench.layers.timeout = 200.0
    bench.pipeline = Pipeline(bench.layers.retry, bench.breaker, bench.layers.gate, 200.0)
    late = bench.start(2)
    await settle()
    await bench.open()
    bench.clock.advance(30.0)
    bench.service.script = [(200.0, "fine")]
    (probe,) = bench.start()
    await settle()
    assert bench.breaker.state == "half_open"
    outcomes = await asyncio.gather(*late, return_exceptions=True)
    assert isinstance(outcomes[0], Trouble) and outcomes[1] == "fine"
    assert bench.breaker.state == "half_open"
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)


async def test_calls_that_wait_for_room_are_not_sent_once_it_has_opened() -> None:
    bench = Bench(otherwise=(1.0, DOWN), max_retries=0)
    outcomes = await bench.outcomes(20)
    assert [type(outcome) for outcome in outcomes] == [Trouble] * 8 + [BreakerOpen] * 12
    assert len(bench.service.sent) == 8


async def test_calls_that_wait_for_a_limit_are_not_sent_once_it_has_opened() -> None:
    bench = Bench()
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 40.0))
    tasks = bench.start(3)
    await settle()
    bench.breaker.isolate(bench.heard)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BreakerOpen] * 3
    assert bench.service.sent == []


async def test_an_attempt_after_a_long_wait_counts_in_the_state_that_it_was_sent_in() -> None:
    bench = Bench(DOWN, max_retries=0)
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 40.0))
    (task,) = bench.start()
    await settle()
    bench.breaker.isolate(bench.heard)
    bench.breaker.close(bench.heard)
    with pytest.raises(Trouble):
        await task
    assert bench.breaker.failures == 1


async def test_a_retry_does_not_follow_once_the_user_holds_it_open() -> None:
    bench = Bench(DOWN)
    (task,) = bench.start()
    await settle()
    assert bench.heard.told() == ["attempt_failed", "retry_scheduled"]
    bench.breaker.isolate(bench.heard)
    with pytest.raises(BreakerOpen, match="held open by the user"):
        await task
    assert len(bench.service.sent) == 1


async def test_held_open_it_admits_no_probe_until_it_is_let_go() -> None:
    bench = Bench()
    bench.breaker.isolate(bench.heard)
    bench.breaker.isolate(bench.heard)
    bench.clock.advance(86400.0)
    with pytest.raises(BreakerOpen, match="held open by the user") as caught:
        await bench.ask()
    assert caught.value.retry_in is None and bench.breaker.retry_in is None
    bench.breaker.close(bench.heard)
    assert await bench.ask() == "fine"
    assert bench.states() == [("open", "user"), ("closed", "user")]


async def test_a_probe_does_not_close_what_the_user_holds_open() -> None:
    bench = Bench((5.0, "fine"))
    await bench.open()
    bench.clock.advance(30.0)
    (probe,) = bench.start()
    await settle()
    bench.breaker.isolate(bench.heard)
    assert await probe == "fine"
    assert bench.breaker.state == "open" and bench.breaker.isolated
    assert bench.states() == [("half_open", "probe"), ("open", "user")]


async def test_a_probe_that_fails_after_the_user_closed_it_opens_nothing() -> None:
    bench = Bench((5.0, DOWN), max_retries=0)
    await bench.open()
    bench.clock.advance(30.0)
    (probe,) = bench.start()
    await settle()
    bench.breaker.close(bench.heard)
    with pytest.raises(Trouble):
        await probe
    assert bench.breaker.state == "closed" and bench.breaker.failures == 0
    assert bench.states() == [("half_open", "probe"), ("closed", "user")]


async def test_closed_by_hand_it_counts_from_zero() -> None:
    bench = Bench(DOWN, DOWN)
    await bench.ask()
    bench.service.script = [DOWN, DOWN]
    bench.breaker.failures = 2
    bench.breaker.close(bench.heard)
    assert bench.breaker.failures == 0
    assert bench.heard.of(BreakerChanged)[-1] == BreakerChanged(
        name="read_file", state="closed", failures=0, threshold=5, retry_in=None, cause="user"
    )


async def test_closing_what_is_closed_says_nothing() -> None:
    bench = Bench()
    bench.layers.breakers.close(None, bench.heard)
    assert bench.heard == []


async def test_closing_all_closes_each_that_is_open() -> None:
    bench = Bench()
    for name in ("read_file", "llm"):
        bench.layers.breakers[name].isolate(bench.heard)
    bench.heard.clear()
    bench.layers.breakers.close(None, bench.heard)
    assert [event.name for event in bench.heard.of(BreakerChanged)] == ["read_file", "llm"]


async def test_each_name_has_a_breaker_of_its_own() -> None:
    bench = Bench()
    await bench.open()
    other = Pipeline(bench.layers.retry, bench.layers.breakers["get_commits"], bench.layers.gate)
    assert await other.run(Call("get_commits", bench.heard), bench.service) == "fine"


async def test_a_threshold_of_one_opens_at_the_first_failure() -> None:
    bench = Bench(DOWN, threshold=1)
    with pytest.raises(Trouble):
        await bench.ask()
    assert len(bench.service.sent) == 1 and bench.breaker.state == "open"


async def test_with_a_reset_of_nothing_the_next_call_is_the_probe() -> None:
    clock, heard = VirtualClock(), Recorder()
    breaker = Breaker("llm", 1, 0.0, clock)

    async def fail(_: object) -> str:
        raise DOWN

    for _ in range(2):
        with pytest.raises(Trouble):
            await breaker.run(Call("llm", heard), fail)
    assert [event.state for event in heard.of(BreakerChanged)] == ["open", "half_open", "open"]


# -- rate-limit gate --------------------------------------------------------------------------------


def _quota(bench: Bench, remaining: int, reset_in: float, **more: Any) -> Quota:
    known = quota(quota_headers(remaining, bench.clock.time() + reset_in, **more))
    assert known is not None
    return known


async def test_while_a_limit_is_known_to_be_spent_nothing_is_sent_until_a_second_after_the_reset() -> None:
    bench = Bench()
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 40.0))
    assert await bench.outcomes(3) == ["fine"] * 3
    assert bench.service.sent == [41.0] * 3
    waits = bench.heard.of(RateLimitWait)
    assert [(wait.kind, wait.seconds, wait.until) for wait in waits] == [
        ("primary", 41.0, bench.clock.epoch + 41.0)
    ] * 3
    assert waits[0].call_id == "call_1" and waits[0].name == "read_file"


async def test_the_gate_is_one_for_all_tools() -> None:
    bench = Bench()
    bench.layers.gate.observe(Call("get_commits", bench.heard), _quota(bench, 0, 5.0))
    other = Pipeline(bench.layers.retry, bench.layers.breakers["get_repo_info"], bench.layers.gate)
    await asyncio.gather(bench.ask(), other.run(Call("get_repo_info", bench.heard), bench.service))
    assert {event.name for event in bench.heard.of(RateLimitWait)} == {"read_file", "get_repo_info"}
    assert bench.service.sent == [6.0, 6.0]


async def test_an_hour_of_waiting_takes_no_time_here() -> None:
    bench = Bench(max_wait=7200.0)
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 3600.0))
    assert await bench.ask() == "fine"
    assert bench.clock.now == 3601.0


async def test_a_limit_farther_away_than_a_call_may_wait_is_said_at_once_and_when_it_ends() -> None:
    bench = Bench()
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 1799.0))
    call = bench.call()
    with pytest.raises(LimitTooFar) as caught:
        await bench.ask(call)
    # the epoch 1,700,000,000 is 22:13:20 UTC
    assert str(caught.value) == ("The primary rate limit ends in 30 min (at 22:43:20 UTC); a call may wait 90 s.")
    assert caught.value.retry_in == 1800.0
    assert bench.clock.now == 0.0 and call.attempts == 0 and bench.heard.of(RateLimitWait) == []


@pytest.mark.parametrize(("seconds", "waits"), [(90.0, True), (90.001, False)])
async def test_a_call_waits_exactly_as_long_as_it_may(seconds: float, waits: bool) -> None:
    bench = Bench()
    bench.service.script = [slow_down(seconds, bench)]
    (outcome,) = await bench.outcomes(1)
    assert (outcome == "fine") is waits
    assert isinstance(outcome, LimitTooFar) is not waits


async def test_all_waits_of_one_call_count_together() -> None:
    bench = Bench()
    bench.service.script = [slow_down(50.0, bench), RateLimited("secondary", bench.clock.time() + 95.0, "again")]
    call = bench.call()
    with pytest.raises(LimitTooFar):
        await bench.ask(call)
    assert call.waited == 50.0 and bench.clock.now == 50.0
    # another call has its own time to wait
    assert await bench.ask() == "fine"
    assert bench.clock.now == 95.0


async def test_a_wait_spends_no_retry_and_trips_no_breaker() -> None:
    bench = Bench(threshold=2)
    bench.service.script = [slow_down(1.0, bench), slow_down(2.0, bench), DOWN, slow_down(9.0, bench), "fine"]
    call = bench.call()
    assert await bench.ask(call) == "fine"
    assert [event.attempt for event in bench.heard.of(AttemptFailed)] == [1]
    assert [(event.attempt, event.of) for event in bench.heard.of(RetryScheduled)] == [(2, 4)]
    assert bench.states() == [] and call.attempts == 5


async def test_where_a_refusal_does_not_say_how_long_the_wait_is_a_minute_and_doubles() -> None:
    bench = Bench(*[slow_down()] * 3, max_wait=10_000.0)
    assert await bench.ask() == "fine"
    assert bench.service.sent == [0.0, 60.0, 180.0, 420.0]


async def test_a_success_ends_the_doubling() -> None:
    bench = Bench(slow_down(), slow_down(), "fine", slow_down(), max_wait=10_000.0)
    await bench.ask()
    await bench.ask()
    assert bench.service.sent == [0.0, 60.0, 180.0, 180.0, 240.0]


async def test_an_answer_that_says_no_ends_the_doubling_too() -> None:
    bench = Bench(slow_down(), slow_down(), NO, slow_down(), max_wait=10_000.0)
    with pytest.raises(Answered):
        await bench.ask()
    await bench.ask()
    assert bench.service.sent[-1] - bench.service.sent[-2] == 60.0


async def test_refusals_of_calls_in_flight_at_once_count_once_for_the_doubling() -> None:
    bench = Bench(*[(1.0, slow_down())] * 8, max_wait=10_000.0)
    assert await bench.outcomes(8) == ["fine"] * 8
    assert bench.service.sent == [0.0] * 8 + [61.0] * 8


async def test_a_late_refusal_of_an_earlier_request_does_not_close_the_gate_again() -> None:
    bench = Bench((70.0, slow_down()), slow_down(), max_wait=10_000.0)
    bench.pipeline = Pipeline(bench.layers.retry, bench.breaker, bench.layers.gate, None)
    assert await bench.outcomes(2) == ["fine"] * 2
    assert bench.service.sent == [0.0, 0.0, 60.0, 70.0]


async def test_a_late_success_of_an_earlier_request_does_not_end_the_doubling() -> None:
    bench = Bench((5.0, "fine"), slow_down(), slow_down(), max_wait=10_000.0)
    await bench.outcomes(2)
    assert bench.service.sent == [0.0, 0.0, 60.0, 180.0]


async def test_a_call_that_is_refused_again_and_again_gives_up() -> None:
    bench = Bench()
    bench.service.otherwise = RateLimited("secondary", bench.clock.time() - 5.0, "at once")
    call = bench.call()
    with pytest.raises(LimitTooFar, match="again and again"):
        await bench.ask(call)
    assert call.refusals == call.attempts == MAX_REFUSALS
    # a server that always says "at once" is not hammered
    assert bench.service.sent == [0.0, 0.0, 1.0, 3.0, 7.0]


async def test_replies_out_of_order_never_raise_what_remains() -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    for remaining in (5, 3, 4, 3, 2):
        gate.observe(call, _quota(bench, remaining, 600.0))
    assert [event.remaining for event in bench.heard.of(Quota)] == [5, 3, 3, 2]


async def test_a_new_window_replaces_the_old_and_a_late_reply_of_the_old_is_no_news() -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, _quota(bench, 1, 10.0))
    late = _quota(bench, 0, 10.0)
    bench.clock.advance(12.0)
    gate.observe(call, _quota(bench, 59, 3600.0))
    gate.observe(call, late)
    assert [event.remaining for event in bench.heard.of(Quota)] == [1, 59]
    assert await bench.ask() == "fine" and bench.clock.now == 12.0


@pytest.mark.parametrize("drift", [-3.0, -1.0, 1.0, 3.0])
async def test_a_reset_that_wanders_a_little_is_the_same_window(drift: float) -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, _quota(bench, 2, 60.0))
    gate.observe(call, _quota(bench, 5, 60.0 + drift))
    gate.observe(call, _quota(bench, 0, 60.0 + drift))
    assert [event.remaining for event in bench.heard.of(Quota)] == [2, 0]
    await bench.ask()
    assert bench.service.sent == [61.0 + drift]


async def test_limits_of_different_resources_do_not_hide_each_other() -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, _quota(bench, 3, 60.0))
    gate.observe(call, _quota(bench, 9, 60.0, resource="search"))
    gate.observe(call, _quota(bench, 2, 60.0))
    assert [(event.resource, event.remaining) for event in bench.heard.of(Quota)] == [
        ("core", 3),
        ("search", 9),
        ("core", 2),
    ]


async def test_at_most_eight_requests_are_under_way() -> None:
    bench = Bench(otherwise=(1.0, "fine"))
    assert await bench.outcomes(30) == ["fine"] * 30
    assert bench.service.most == 8 and bench.clock.now == 4.0


async def test_no_more_are_under_way_than_the_limit_has_left() -> None:
    bench = Bench(otherwise=(1.0, "fine"))
    bench.layers.gate.observe(bench.call(), _quota(bench, 3, 600.0))
    await bench.outcomes(9)
    assert bench.service.most == 3


async def test_once_the_window_is_over_all_places_are_there_again() -> None:
    bench = Bench(otherwise=(1.0, "fine"))
    bench.layers.gate.observe(bench.call(), _quota(bench, 1, 5.0))
    bench.clock.advance(6.0)
    await bench.outcomes(8)
    assert bench.service.most == 8


async def test_a_wait_that_grows_meanwhile_is_told_again() -> None:
    bench = Bench()
    gate = bench.layers.gate
    gate.observe(bench.call(), _quota(bench, 0, 9.0))
    (task,) = bench.start()
    await settle()
    gate.observe(bench.call(), _quota(bench, 0, 29.0))
    assert await task == "fine"
    assert [wait.seconds for wait in bench.heard.of(RateLimitWait)] == [10.0, 20.0]


async def test_between_two_requests_of_one_step_the_limit_is_looked_at_again() -> None:
    bench = Bench()
    gate = bench.layers.gate
    gate.check()
    gate.observe(bench.call(), _quota(bench, 0, 9.0))
    with pytest.raises(RateLimited) as caught:
        gate.check()
    assert caught.value.until == bench.clock.time() + 10.0


# -- attempt time-out, fallback ---------------------------------------------------------------------


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
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 60.0))
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


# -- cancellation, in each layer --------------------------------------------------------------------


async def _in_the_attempt(bench: Bench) -> None:
    bench.service.script = [(1e9, "never")]


async def _waiting_for_a_limit(bench: Bench) -> None:
    bench.layers.gate.observe(bench.call(), _quota(bench, 0, 60.0))


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

"""The rate-limit gate: who waits for how long, and what is never sent."""

from __future__ import annotations

import asyncio

import pytest

from tests.fakes import settle
from tests.resilience_bench import DOWN, NO, Bench, quota_of, slow_down
from tui_agent.events import AttemptFailed, Quota, RateLimitWait, RetryScheduled
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Answered, LimitTooFar, RateLimited
from tui_agent.resilience.pipeline import Pipeline
from tui_agent.resilience.rate_limit import MAX_REFUSALS


async def test_while_a_limit_is_known_to_be_spent_nothing_is_sent_until_a_second_after_the_reset() -> None:
    bench = Bench()
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 40.0))
    assert await bench.outcomes(3) == ["fine"] * 3
    assert bench.service.sent == [41.0] * 3
    waits = bench.heard.of(RateLimitWait)
    assert [(wait.kind, wait.seconds, wait.until) for wait in waits] == [
        ("primary", 41.0, bench.clock.epoch + 41.0)
    ] * 3
    assert waits[0].call_id == "call_1" and waits[0].name == "read_file"


async def test_the_gate_is_one_for_all_tools() -> None:
    bench = Bench()
    bench.layers.gate.observe(Call("get_commits", bench.heard), quota_of(bench, 0, 5.0))
    other = Pipeline(bench.layers.retry, bench.layers.breakers["get_repo_info"], bench.layers.gate)
    await asyncio.gather(bench.ask(), other.run(Call("get_repo_info", bench.heard), bench.service))
    assert {event.name for event in bench.heard.of(RateLimitWait)} == {"read_file", "get_repo_info"}
    assert bench.service.sent == [6.0, 6.0]


async def test_an_hour_of_waiting_takes_no_time_here() -> None:
    bench = Bench(max_wait=7200.0)
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 3600.0))
    assert await bench.ask() == "fine"
    assert bench.clock.now == 3601.0


async def test_a_limit_farther_away_than_a_call_may_wait_is_said_at_once_and_when_it_ends() -> None:
    bench = Bench()
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 1799.0))
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
        gate.observe(call, quota_of(bench, remaining, 600.0))
    assert [event.remaining for event in bench.heard.of(Quota)] == [5, 3, 3, 2]


async def test_a_new_window_replaces_the_old_and_a_late_reply_of_the_old_is_no_news() -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, quota_of(bench, 1, 10.0))
    late = quota_of(bench, 0, 10.0)
    bench.clock.advance(12.0)
    gate.observe(call, quota_of(bench, 59, 3600.0))
    gate.observe(call, late)
    assert [event.remaining for event in bench.heard.of(Quota)] == [1, 59]
    assert await bench.ask() == "fine" and bench.clock.now == 12.0


@pytest.mark.parametrize("drift", [-3.0, -1.0, 1.0, 3.0])
async def test_a_reset_that_wanders_a_little_is_the_same_window(drift: float) -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, quota_of(bench, 2, 60.0))
    gate.observe(call, quota_of(bench, 5, 60.0 + drift))
    gate.observe(call, quota_of(bench, 0, 60.0 + drift))
    assert [event.remaining for event in bench.heard.of(Quota)] == [2, 0]
    await bench.ask()
    assert bench.service.sent == [61.0 + drift]


async def test_limits_of_different_resources_do_not_hide_each_other() -> None:
    bench = Bench()
    gate, call = bench.layers.gate, bench.call()
    gate.observe(call, quota_of(bench, 3, 60.0))
    gate.observe(call, quota_of(bench, 9, 60.0, resource="search"))
    gate.observe(call, quota_of(bench, 2, 60.0))
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
    bench.layers.gate.observe(bench.call(), quota_of(bench, 3, 600.0))
    await bench.outcomes(9)
    assert bench.service.most == 3


async def test_once_the_window_is_over_all_places_are_there_again() -> None:
    bench = Bench(otherwise=(1.0, "fine"))
    bench.layers.gate.observe(bench.call(), quota_of(bench, 1, 5.0))
    bench.clock.advance(6.0)
    await bench.outcomes(8)
    assert bench.service.most == 8


async def test_a_wait_that_grows_meanwhile_is_told_again() -> None:
    bench = Bench()
    gate = bench.layers.gate
    gate.observe(bench.call(), quota_of(bench, 0, 9.0))
    (task,) = bench.start()
    await settle()
    gate.observe(bench.call(), quota_of(bench, 0, 29.0))
    assert await task == "fine"
    assert [wait.seconds for wait in bench.heard.of(RateLimitWait)] == [10.0, 20.0]


async def test_between_two_requests_of_one_step_the_limit_is_looked_at_again() -> None:
    bench = Bench()
    gate = bench.layers.gate
    gate.check()
    gate.observe(bench.call(), quota_of(bench, 0, 9.0))
    with pytest.raises(RateLimited) as caught:
        gate.check()
    assert caught.value.until == bench.clock.time() + 10.0

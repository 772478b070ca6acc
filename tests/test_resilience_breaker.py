"""The breaker: when it opens, whom it lets pass, and what counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes import Recorder, VirtualClock, settle
from tests.resilience_bench import DOWN, NO, Bench, quota_of, slow_down
from tui_agent.events import AttemptFailed, BreakerChanged, Quota
from tui_agent.resilience.breaker import Breaker
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Answered, BreakerOpen, LimitTooFar, Trouble
from tui_agent.resilience.pipeline import Pipeline


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
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 40.0))
    tasks = bench.start(3)
    await settle()
    bench.breaker.isolate(bench.heard)
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [BreakerOpen] * 3
    assert bench.service.sent == []


async def test_an_attempt_after_a_long_wait_counts_in_the_state_that_it_was_sent_in() -> None:
    bench = Bench(DOWN, max_retries=0)
    bench.layers.gate.observe(bench.call(), quota_of(bench, 0, 40.0))
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
    bench = Bench(DOWN, DOWN, max_retries=0)
    for _ in range(2):
        await bench.outcomes(1)
    assert bench.breaker.failures == 2
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

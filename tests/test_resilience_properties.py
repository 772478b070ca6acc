"""What holds for every interleaving of parallel calls, users' hands and cancellations."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fakes import Layers, Recorder, VirtualClock
from tui_agent.events import BreakerChanged, Quota, RetryScheduled
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Answered, LimitTooFar, RateLimited, Trouble, Unavailable
from tui_agent.resilience.pipeline import Pipeline
from tui_agent.resilience.rate_limit import MAX_REFUSALS

TOOLS = ("read_file", "get_commits")
THRESHOLD = 3
WIDTH = 8
MAX_WAIT = 90.0
TIMEOUT = 15.0


@dataclass(frozen=True)
class Step:
    """What the service does with one request."""

    seconds: float
    kind: str
    number: float = 0.0


@dataclass(frozen=True)
class Caller:
    """One call: when it comes, of which tool, what its requests meet, and when it is cancelled."""

    at: float
    tool: str
    steps: list[Step]
    cancelled_after: float | None


@dataclass(frozen=True)
class Hand:
    """What a user does to a breaker."""

    at: float
    tool: str
    deed: str


_seconds = st.sampled_from([0.0, 0.0, 0.25, 1.0, 6.0, 14.0, 20.0])
_steps = st.builds(
    Step,
    _seconds,
    st.sampled_from(["fine", "fine", "trouble", "trouble", "trouble", "no", "limit", "limit without end", "quota"]),
    st.sampled_from([0.0, 1.0, 2.0, 5.0, 30.0, 200.0]),
)
_callers = st.builds(
    Caller,
    st.sampled_from([0.0, 0.0, 0.5, 20.0, 31.0, 31.0, 31.2, 31.5, 70.0]),
    st.sampled_from(TOOLS),
    st.lists(_steps, max_size=6),
    st.none() | st.sampled_from([0.0, 0.137, 1.0113, 10.0717, 40.0331]),
)
_hands = st.builds(
    Hand,
    st.sampled_from([0.1, 0.6, 2.0, 15.0, 31.5, 61.0]),
    st.sampled_from(TOOLS),
    st.sampled_from(["close", "isolate"]),
)


@dataclass
class World:
    """The layers, the service behind them, and an eye on every request."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    heard: Recorder = field(default_factory=Recorder)
    in_flight: int = 0
    sent: int = 0
    spent_until: float = 0.0
    probes: Counter[tuple[str, int]] = field(default_factory=Counter)
    in_a_row: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.layers = Layers(self.clock, threshold=THRESHOLD, max_wait=MAX_WAIT)

    def era(self, tool: str) -> int:
        """How often this breaker has changed."""
        return sum(1 for event in self.heard.of(BreakerChanged) if event.name == tool)

    def check_counts(self) -> None:
        """The breaker's count is that of consecutive failures, as an onlooker counts them."""
        for tool in TOOLS:
            breaker = self.layers.breakers[tool]
            assert 0 <= breaker.failures <= THRESHOLD
            assert breaker.state != "half_open", "a probe's place was lost"
            if breaker.state == "closed":
                assert breaker.failures == self.in_a_row[tool] < THRESHOLD

    def hear(self, event: object) -> None:
        if isinstance(event, BreakerChanged):
            assert not (event.state == "closed" and event.failures)
            if event.cause == "failures":
                assert self.in_a_row[event.name] + 1 == THRESHOLD == event.failures
            self.in_a_row[event.name] = 0
        if isinstance(event, RetryScheduled):
            assert self.layers.breakers[event.name].state == "closed"
        if isinstance(event, BreakerChanged | Quota):
            self.heard(event)

    async def request(self, caller: Caller, steps: list[Step]) -> str:
        """One request, and everything that must hold at the moment of sending it."""
        now, tool = self.clock.time(), caller.tool
        breaker = self.layers.breakers[tool]
        assert breaker.state != "open" and not breaker.isolated, "sent while open"
        assert now >= self.spent_until - 1e-6, "sent while the limit is known to be spent"
        assert self.in_flight < WIDTH
        era, is_probe = self.era(tool), breaker.state == "half_open"
        if is_probe:
            assert self.probes[tool, era] == 0, "two probes"
            self.probes[tool, era] += 1
        self.in_flight += 1
        self.sent += 1
        step = steps.pop(0) if steps else Step(0.0, "fine")
        failed = True
        try:
            await asyncio.sleep(step.seconds)
            failed = step.kind == "trouble"
            return self._reply(step, caller)
        except asyncio.CancelledError:
            # the layers' own time-out is a failure, a cancelled call is none
            failed, step = self.clock.time() >= now + TIMEOUT - 1e-6, Step(0.0, "cancelled")
            raise
        finally:
            self.in_flight -= 1
            if is_probe:
                self.probes[tool, era] -= 1
            if not is_probe and era == self.era(tool):
                self._count(tool, step, failed)

    def _count(self, tool: str, step: Step, failed: bool) -> None:
        if failed and self.in_a_row[tool] + 1 < THRESHOLD:
            self.in_a_row[tool] += 1
        elif not failed and step.kind in ("fine", "quota"):
            self.in_a_row[tool] = 0

    def _reply(self, step: Step, caller: Caller) -> str:
        now = self.clock.time()
        if step.kind == "trouble":
            raise Trouble("down", 503)
        if step.kind == "no":
            raise Answered("no")
        if step.kind == "limit":
            self.spent_until = max(self.spent_until, now + step.number)
            raise RateLimited("secondary", now + step.number, "too fast")
        if step.kind == "limit without end":
            raise RateLimited("secondary", None, "too fast")
        if step.kind == "quota":
            reset = int(now + 40.0)
            remaining = int(step.number)
            self.layers.gate.observe(
                Call(caller.tool, self.hear),
                Quota(resource="core", limit=60, remaining=remaining, used=60 - remaining, reset=reset),
            )
            if remaining == 0:
                self.spent_until = max(self.spent_until, reset + 1.0)
        return "fine"

    async def call(self, caller: Caller, layers: Layers | None = None) -> None:
        await asyncio.sleep(caller.at)
        call, steps = Call(caller.tool, self.hear), list(caller.steps)
        retry = (layers or self.layers).retry
        pipeline = Pipeline(retry, self.layers.breakers[caller.tool], self.layers.gate, TIMEOUT)
        outcome = "cancelled"
        try:
            outcome = await pipeline.run(call, lambda: self.request(caller, steps))
        except LimitTooFar as error:
            assert call.refusals >= MAX_REFUSALS or call.waited + (error.retry_in or 0.0) > MAX_WAIT
            outcome = "limit too far"
        except (Trouble, Answered, Unavailable) as error:
            outcome = type(error).__name__
        finally:
            assert call.waited <= MAX_WAIT
            self.outcomes[outcome] += 1

    async def hand(self, hand: Hand) -> None:
        await asyncio.sleep(hand.at)
        getattr(self.layers.breakers[hand.tool], hand.deed)(self.hear)

    async def open(self) -> None:
        """All breakers have just opened by failures."""
        for tool in TOOLS:
            for _ in range(THRESHOLD):
                await self.call(Caller(0.0, tool, [Step(0.0, "trouble")], None), Layers(self.clock, max_retries=0))
            assert self.layers.breakers[tool].state == "open"

    async def live(self, callers: list[Caller], hands: list[Hand]) -> None:
        tasks = [asyncio.create_task(self.call(caller)) for caller in callers]
        others = [asyncio.create_task(self.hand(hand)) for hand in hands]
        for task, caller in zip(tasks, callers, strict=True):
            if caller.cancelled_after is not None:
                asyncio.get_running_loop().call_later(caller.at + caller.cancelled_after, task.cancel)
        done, lost = await asyncio.wait([*tasks, *others], timeout=10_000.0)
        assert not lost, "a waiter was lost"
        for task in done:
            if not task.cancelled():
                task.result()


def _run(opened: bool, callers: list[Caller], hands: list[Hand]) -> World:
    async def main() -> World:
        world = World()
        if opened:
            await world.open()
        await world.live(callers, hands)
        world.check_counts()
        await _all_places_are_free(world)
        return world

    return asyncio.run(main())


async def _all_places_are_free(world: World) -> None:
    """After everything, as many as ever get through, side by side."""
    assert world.in_flight == 0
    for tool in TOOLS:
        world.layers.breakers[tool].close(world.hear)
    await asyncio.sleep(100_000.0)
    world.sent = 0
    again = [Caller(0.0, TOOLS[0], [Step(1.0, "fine")], None) for _ in range(WIDTH)]
    before = world.clock.now
    await world.live(again, [])
    assert world.sent == WIDTH and world.clock.now == before + 1.0


def _both(seconds: float, kind: str, number: int) -> list[Caller]:
    return [Caller(0.0, TOOLS[0], [Step(seconds, kind)] * 6, None) for _ in range(number)]


@settings(max_examples=200, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(st.booleans(), st.lists(_callers, min_size=1, max_size=24), st.lists(_hands, max_size=4))
@example(False, _both(1.0, "trouble", 24), [])
@example(False, _both(1.0, "limit without end", 24), [])
@example(False, _both(20.0, "fine", 12), [Hand(0.6, TOOLS[0], "isolate"), Hand(2.0, TOOLS[0], "close")])
def test_no_interleaving_breaks_what_the_layers_promise(opened: bool, callers: list[Caller], hands: list[Hand]) -> None:
    world = _run(opened, callers, hands)
    closed_by = [event.cause for event in world.heard.of(BreakerChanged) if event.state == "closed"]
    assert set(closed_by) <= {"probe", "user"}


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(-8, 8)), min_size=1, max_size=40),
)
def test_what_remains_of_a_window_never_rises_and_zero_is_never_forgotten(replies: list[tuple[int, int]]) -> None:
    clock, heard = VirtualClock(), Recorder()
    gate = Layers(clock).gate
    for remaining, drift in replies:
        reset = int(clock.time()) + 600 + drift // 4
        gate.observe(
            Call("read_file", heard),
            Quota(resource="core", limit=60, remaining=remaining, used=60 - remaining, reset=reset),
        )
    told = [event.remaining for event in heard.of(Quota)]
    assert told == sorted(told, reverse=True)
    assert min(remaining for remaining, _ in replies) == told[-1]

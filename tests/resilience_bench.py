"""One service behind the layers, and what is heard of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.fakes import Layers, Recorder, VirtualClock, quota_headers
from tui_agent.events import BreakerChanged, Quota
from tui_agent.github.limits import quota
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Answered, RateLimited, Trouble
from tui_agent.resilience.pipeline import Pipeline
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


def quota_of(bench: Bench, remaining: int, reset_in: float, **more: Any) -> Quota:
    known = quota(quota_headers(remaining, bench.clock.time() + reset_in, **more))
    assert known is not None
    return known

"""The layers put together: retry( breaker( rate-limit gate( attempt time-out( attempt )))).

The breaker sits inside the retry, so that it sees every attempt and, once open, ends the retries;
the gate sits inside the breaker, so that a wait for a limit is no failure; the time-out sits
innermost, so that every attempt, a probe too, comes to an end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from tui_agent.events import Emit
from tui_agent.resilience.breaker import Admission, Breaker
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import RateLimited, Trouble
from tui_agent.resilience.rate_limit import RateLimitGate
from tui_agent.resilience.retry import Retry

T = TypeVar("T")


@dataclass(frozen=True)
class Pipeline:
    """The way of a call to one service.

    Args:
        retry: how often, how long between.
        breaker: whether to ask at all.
        gate: when.
        timeout: seconds for one attempt; None where the attempt watches its own time.
    """

    retry: Retry
    breaker: Breaker
    gate: RateLimitGate
    timeout: float | None = None

    async def run(self, call: Call, attempt: Callable[[], Awaitable[T]]) -> T:
        """The attempt's result, through all layers.

        Raises:
            Trouble: the service failed, as often as it was asked.
            Unavailable: it was not asked (any more): the breaker is open or the limit too far away.
            Answered: it said no.
        """

        async def timed() -> T:
            call.attempts += 1
            try:
                async with asyncio.timeout(self.timeout):
                    return await attempt()
            except TimeoutError as error:
                limit = "" if self.timeout is None else f" within {self.timeout:g} s"
                raise Trouble(f"no whole answer{limit}") from error

        async def gated(admission: Admission) -> T:
            async def admitted() -> T:
                # While it waited at the gate the breaker may have opened.
                admission.renew()
                try:
                    return await timed()
                except RateLimited:
                    # A probe is proved by the refusal itself, before the wait.
                    admission.answered()
                    raise

            return await self.gate.run(call, admitted)

        async def guarded() -> T:
            return await self.breaker.run(call, gated)

        return await self.retry.run(call, guarded, lambda: self.breaker.state == "closed")


class Breakers:
    """All breakers of the process, by name.

    Args:
        names: those that exist from the start.
        threshold: consecutive failures that open one.
        reset: seconds from opening until a probe.
        clock: their time.
    """

    def __init__(self, names: Iterable[str], threshold: int, reset: float, clock: Clock) -> None:
        self._by_name = {name: Breaker(name, threshold, reset, clock) for name in names}

    def __getitem__(self, name: str) -> Breaker:
        return self._by_name[name]

    def close(self, name: str | None, emit: Emit) -> None:
        """By hand: close one, or all (`name` None)."""
        for breaker in self._by_name.values():
            if name in (None, breaker.name):
                breaker.close(emit)

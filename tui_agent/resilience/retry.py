"""Retry with exponential backoff and jitter."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tui_agent.events import AttemptFailed, RetryScheduled
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Trouble

T = TypeVar("T")


@dataclass(frozen=True)
class Retry:
    """Does a step again while it meets trouble of the service.

    Args:
        clock: who lets the delays pass.
        max_retries: retries after the first attempt.
        base_delay: seconds before the first retry.
        max_delay: seconds that no delay exceeds, jitter apart.
        jitter: the largest share of the delay that chance adds.
        chance: a number in [0, 1) at each call.
    """

    clock: Clock
    max_retries: int = 3
    base_delay: float = 0.5
    max_delay: float = 8.0
    jitter: float = 0.3
    chance: Callable[[], float] = field(default=random.random, repr=False)

    def delay(self, retry: int) -> float:
        """Seconds before retry number `retry` (from 0): min(base * 2^retry, max), plus up to `jitter` of it."""
        # 2.0**1024 overflows; no delay is that long
        backoff = min(self.base_delay * 2.0 ** min(retry, 1000), self.max_delay)
        return backoff * (1.0 + self.jitter * self.chance())

    async def run(self, call: Call, step: Callable[[], Awaitable[T]], worth_it: Callable[[], bool]) -> T:
        """The step's result, after as many attempts as it takes and is allowed.

        Args:
            call: whose attempts they are.
            step: one attempt.
            worth_it: asked after each failure; False (the breaker has opened) ends the retries.

        Raises:
            Trouble: that of the last attempt.
        """
        attempt = 1
        while True:
            try:
                return await step()
            except Trouble as trouble:
                call.emit(
                    AttemptFailed(
                        call_id=call.call_id,
                        name=call.name,
                        attempt=attempt,
                        reason=trouble.reason,
                        status=trouble.status,
                    )
                )
                if attempt > self.max_retries or not worth_it():
                    raise
            delay = self.delay(attempt - 1)
            attempt += 1
            call.emit(
                RetryScheduled(
                    call_id=call.call_id, name=call.name, attempt=attempt, of=self.max_retries + 1, delay=delay
                )
            )
            await self.clock.sleep(delay)

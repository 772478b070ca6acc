"""The layers of a process: what outlives a run and is shared by all of them."""

from __future__ import annotations

import random
from collections.abc import Callable

from tui_agent.resilience.clock import Clock
from tui_agent.resilience.pipeline import Breakers, Pipeline
from tui_agent.resilience.rate_limit import RateLimitGate
from tui_agent.resilience.retry import Retry
from tui_agent.settings import Settings
from tui_agent.tools.schemas import TOOL_NAMES

GUARDED = (*TOOL_NAMES, "llm", "snapshot")
"""Every name that has a breaker."""
MODEL_PAUSE = 2.0
"""Seconds to wait where a model's server asks to slow down without saying for how long; doubles each time."""


class Guards:
    """One retry policy, the breakers, a rate-limit gate for each token.

    Args:
        settings: their numbers.
        clock: their time.
        chance: the jitter's randomness.
    """

    def __init__(self, settings: Settings, clock: Clock, chance: Callable[[], float] = random.random) -> None:
        self.clock = clock
        self.retry = Retry(clock, settings.max_retries, settings.base_delay, settings.max_delay, chance=chance)
        self.breakers = Breakers(GUARDED, settings.breaker_threshold, settings.breaker_reset, clock)
        self._max_wait = settings.max_rate_wait
        self._gates: dict[str, RateLimitGate] = {}

    def gate(self, endpoint: str) -> RateLimitGate:
        """The gate in front of an endpoint; the token for it is the process's only one."""
        if endpoint not in self._gates:
            self._gates[endpoint] = RateLimitGate(self.clock, max_wait=self._max_wait)
        return self._gates[endpoint]

    def model_pipeline(self, endpoint: str) -> Pipeline:
        """The layers of the model. Its attempts watch their own time, since a turn may stream for long."""
        key = f"llm {endpoint}"
        if key not in self._gates:
            self._gates[key] = RateLimitGate(self.clock, max_wait=self._max_wait, pause=MODEL_PAUSE)
        return Pipeline(self.retry, self.breakers["llm"], self._gates[key])

"""The demo: a server that behaves like GitHub on a busy day, on the embedded repository.

Nothing of the agent knows of it. It answers after a moment, counts a small quota down, and the
script of faults makes one of the tools fail until its breaker opens. A narrator tells what happens.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import httpx

from tui_agent.events import BreakerChanged, Event, Notice, RateLimitWait, RetryScheduled, RunFinished, ToolFinished
from tui_agent.resilience.clock import Clock
from tui_agent.transports.local_git import LocalTransport
from tui_agent.transports.local_memory import memory_repository

REPO = "demo/tidepool"
FAULTS = "get_repo_info:503x1,read_file:503x4"
"""One passing failure that a retry heals; then enough of them, side by side, to open a breaker."""
WELCOME = (
    "Demo: an embedded repository, an embedded model, and a server that fails on purpose; no key, no network. "
    "Watch the breaker of read_file."
)
PACE = 0.12
"""Seconds between two pieces that the embedded model streams."""
_LIMIT = 60
_FIRST_WINDOW = 6
"""Requests that the demo's quota has left at the beginning."""
_WINDOW = 6.0
"""Seconds until that quota is full again, from the request that spent it."""
_LATENCIES = (0.5, 0.9, 0.7, 1.2, 0.6, 1.0)


class BusyServer(httpx.AsyncBaseTransport):
    """Another transport with latency and a quota, as GitHub has them.

    Args:
        inner: what answers.
        clock: lets the latency pass and tells when the quota is full again.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._served = 0
        self._remaining = _FIRST_WINDOW
        self._reset = clock.time() + 1800.0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The inner answer, a moment later, with what is left of the quota in its headers."""
        latency = _LATENCIES[self._served % len(_LATENCIES)]
        self._served += 1
        await self._clock.sleep(latency)
        now = self._clock.time()
        if now >= self._reset:
            self._remaining, self._reset = _LIMIT, now + 1800.0
        if self._remaining == 0:
            response = httpx.Response(403, json={"message": "API rate limit exceeded"})
        else:
            self._remaining -= 1
            if self._remaining == 0:
                self._reset = math.ceil(now + _WINDOW)
            response = await self._inner.handle_async_request(request)
        response.headers.update(
            {
                "x-ratelimit-limit": str(_LIMIT),
                "x-ratelimit-remaining": str(self._remaining),
                "x-ratelimit-used": str(_LIMIT - self._remaining),
                "x-ratelimit-reset": str(int(self._reset)),
                "x-ratelimit-resource": "core",
            }
        )
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def server(clock: Clock) -> BusyServer:
    """The demo's GitHub."""
    return BusyServer(LocalTransport.from_repo(memory_repository(), REPO), clock)


class Narrator:
    """Explains what happens, in a sentence each, as it happens the first time.

    Args:
        say: takes each sentence as a notice.
    """

    def __init__(self, say: Callable[[Notice], None]) -> None:
        self._say = say
        self._told: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Look at an event; perhaps say something about it."""
        text = self._about(event)
        kind = text.partition(":")[0]
        if kind and kind not in self._told:
            self._told.add(kind)
            self._say(Notice(level="info", text=text))

    def _about(self, event: Event) -> str:
        match event:
            case BreakerChanged(state="open", cause="failures", name=name, failures=failures, retry_in=seconds):
                return (
                    f"Breaker: {name} has failed {failures} times in a row, so its breaker opens. For {seconds:.0f} s "
                    "nothing is sent; calls fall back at once instead of waiting for a service that is down."
                )
            case BreakerChanged(state="half_open", name=name):
                return f"Probe: the pause is over, so one single call to {name} may pass (half-open)."
            case BreakerChanged(state="closed", cause="probe", name=name):
                return f"Recovered: the probe came back, so the breaker of {name} closes and calls pass again."
            case RateLimitWait(kind="primary", seconds=seconds):
                return (
                    f"Rate limit: the quota is spent, so every tool waits at the same gate for {seconds:.0f} s. "
                    "Waiting is no failure: it spends no retry and trips no breaker."
                )
            case RetryScheduled(delay=delay, name=name):
                return (
                    f"Retry: {name} failed once; it is tried again after a backoff of {delay:.1f} s, jitter included."
                )
            case ToolFinished(outcome="fallback", tool=tool):
                return f"Fallback: {tool} cannot be had, so the agent is told why and what is known, and goes on."
            case RunFinished(outcome="completed"):
                return "Done: despite every fault the report is whole. In the dashboard r plays it again, q leaves."
        return ""

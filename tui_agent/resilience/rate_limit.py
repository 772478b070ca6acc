"""The rate-limit gate: one for each token, in front of every request that spends it.

The gate reads every reply. While a limit is known to be spent nothing passes; whoever waits sees
until when. Waiting spends no retry and trips no breaker.

Rules: GitHub's "Rate limits for the REST API" (primary: nothing before `x-ratelimit-reset`;
secondary: `retry-after`, else a minute, doubling) and "Best practices" (modest concurrency).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

from tui_agent.events import LimitKind, Quota, RateLimitWait
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import LimitTooFar, RateLimited

T = TypeVar("T")

MAX_REFUSALS = 5
"""A call that was refused this often gives up, however short each wait was."""


class RateLimitGate:
    """Lets requests pass while their limit has room.

    Args:
        clock: waits and tells the epoch time.
        max_wait: seconds that one call may wait in all.
        width: requests under way at a time.
        pause: seconds to wait where a refusal does not say how long; doubles with each refusal in a row.
    """

    def __init__(self, clock: Clock, *, max_wait: float, width: int = 8, pause: float = 60.0) -> None:
        self._clock = clock
        self._max_wait = max_wait
        self._max_width = width
        self._pause = pause
        self._until = 0.0
        self._kind: LimitKind = "primary"
        self._refusals_in_a_row = 0
        self._remaining: int | None = None
        self._reset = 0.0
        self._under_way = 0
        self._waiting_for_room: set[asyncio.Future[None]] = set()

    async def run(self, call: Call, step: Callable[[], Awaitable[T]]) -> T:
        """The step's result, once the limit lets it pass.

        Raises:
            LimitTooFar: the limit ends later than the call may wait, or refuses it again and again.
        """
        while True:
            await self._enter(call)
            try:
                result = await step()
            except RateLimited as refusal:
                self._refused(call, refusal)
            else:
                self._refusals_in_a_row = 0
                return result
            finally:
                self._leave()

    def observe(self, call: Call, quota: Quota) -> None:
        """Take in what a reply said of the limit, and tell it.

        Replies can arrive out of order: within one window `remaining` only falls.
        """
        same_window = self._remaining is not None and quota.reset == self._reset
        if same_window and self._remaining is not None and quota.remaining > self._remaining:
            return
        if quota.reset < self._reset:
            return
        self._remaining, self._reset = quota.remaining, float(quota.reset)
        if quota.remaining <= 0:
            self._close("primary", quota.reset + 1.0)
        call.emit(quota)

    def _refused(self, call: Call, refusal: RateLimited) -> None:
        call.refusals += 1
        was_open = self._until <= self._clock.time()
        if was_open:
            self._refusals_in_a_row += 1
        if refusal.until is not None:
            # one second for the clocks' difference
            until = max(refusal.until, self._clock.time()) + (1.0 if refusal.kind == "primary" else 0.0)
        elif was_open:
            until = self._clock.time() + self._pause * 2.0 ** min(self._refusals_in_a_row - 1, 20)
        else:
            until = self._until
        self._close(refusal.kind, until)
        if call.refusals >= MAX_REFUSALS:
            raise self._too_far(call, "it refused this call again and again") from refusal

    def _close(self, kind: LimitKind, until: float) -> None:
        if until > self._until:
            self._until, self._kind = until, kind

    async def _enter(self, call: Call) -> None:
        while True:
            seconds = self._until - self._clock.time()
            if seconds > 0:
                await self._wait(call, seconds)
            elif self._under_way >= self._width():
                await self._room()
            else:
                self._under_way += 1
                return

    async def _wait(self, call: Call, seconds: float) -> None:
        if call.waited + seconds > self._max_wait:
            raise self._too_far(call, f"a call may wait {self._max_wait:.0f} s")
        call.emit(
            RateLimitWait(call_id=call.call_id, name=call.name, kind=self._kind, seconds=seconds, until=self._until)
        )
        call.waited += seconds
        await self._clock.sleep(seconds)

    def _too_far(self, call: Call, why: str) -> LimitTooFar:
        seconds = max(0.0, self._until - self._clock.time())
        when = _utc(self._until)
        return LimitTooFar(
            f"The {self._kind} rate limit ends in {_span(seconds)} (at {when}); {why}.",
            seconds,
            refused=call.refusals > 0,
        )

    def _width(self) -> int:
        # Never more under way than the limit has left, while its window lasts.
        if self._remaining is None or self._reset <= self._clock.time():
            return self._max_width
        return min(self._max_width, max(1, self._remaining))

    async def _room(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting_for_room.add(turn)
        try:
            await turn
        finally:
            self._waiting_for_room.discard(turn)

    def _leave(self) -> None:
        self._under_way -= 1
        # All are woken and look again: none can be lost, and they are few.
        for turn in self._waiting_for_room:
            if not turn.done():
                turn.set_result(None)


def _utc(epoch: float) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%H:%M:%S UTC")


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

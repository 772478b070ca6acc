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
from tui_agent.resilience.outcome import Answered, LimitTooFar, RateLimited

T = TypeVar("T")

MAX_REFUSALS = 5
"""A call that was refused this often gives up, however short each wait was."""
CLOCK_SKEW = 1.0
"""Seconds that a reset is waited past, since the service's clock is not ours."""
_SAME_WINDOW = 10.0
"""Seconds by which one window's reset may differ from reply to reply: the servers behind one address disagree."""


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
        self._quotas: dict[str, Quota] = {}
        # What was sent before a refusal came says nothing about the time after it.
        self._refusals_in_a_row = 0
        self._series = 0
        self._under_way = 0
        self._waiting_for_room: dict[asyncio.Future[None], None] = {}

    async def run(self, call: Call, step: Callable[[], Awaitable[T]]) -> T:
        """The step's result, once the limit lets it pass.

        Raises:
            LimitTooFar: the limit ends later than the call may wait, or refuses it again and again.
        """
        while True:
            await self._enter(call)
            series = self._series
            try:
                result = await step()
            except RateLimited as refusal:
                self._refused(call, refusal, is_news=series == self._series)
            except Answered:
                self._admitted(series)
                raise
            else:
                self._admitted(series)
                return result
            finally:
                self._leave()

    def check(self) -> None:
        """To be called between two requests of one step (redirects).

        Raises:
            RateLimited: the first has used the limit up; the step begins again when there is a new one.
        """
        if self._until > self._clock.time():
            raise RateLimited(self._kind, self._until, "the limit was used up on the way")

    def observe(self, call: Call, quota: Quota) -> None:
        """Take in what a reply said of a limit, and tell it.

        Replies can arrive out of order: within one window `remaining` only falls, and a window that
        is over is not news once the next one is known.
        """
        known = self._quotas.get(quota.resource)
        if known is not None:
            if abs(quota.reset - known.reset) <= _SAME_WINDOW:
                if quota.remaining > known.remaining:
                    return
            elif quota.reset < known.reset and quota.reset <= self._clock.time():
                return
        self._quotas[quota.resource] = quota
        if quota.remaining <= 0:
            self._close("primary", quota.reset + CLOCK_SKEW)
        call.emit(quota)

    def _admitted(self, series: int) -> None:
        if series == self._series:
            self._refusals_in_a_row = 0

    def _refused(self, call: Call, refusal: RateLimited, *, is_news: bool) -> None:
        call.refusals += 1
        now = self._clock.time()
        if is_news:
            self._refusals_in_a_row += 1
            self._series += 1
        if refusal.until is not None and (refusal.until > now or not is_news):
            self._close(refusal.kind, refusal.until)
        elif is_news:
            self._close(refusal.kind, now + self._pause_after(refusal))
        if call.refusals >= MAX_REFUSALS:
            raise self._too_far("it refused this call again and again") from refusal

    def _pause_after(self, refusal: RateLimited) -> float:
        """Seconds to wait where the refusal names no time to come."""
        if refusal.until is None:
            return self._pause * 2.0 ** min(self._refusals_in_a_row - 1, 20)
        # It said "at once": so be it the first time.
        return 0.0 if self._refusals_in_a_row == 1 else 2.0 ** min(self._refusals_in_a_row - 2, 20)

    def _close(self, kind: LimitKind, until: float) -> None:
        if until > self._until:
            self._until, self._kind = until, kind

    async def _enter(self, call: Call) -> None:
        told = 0.0
        while True:
            until = self._until
            seconds = until - self._clock.time()
            if seconds > 0:
                await self._wait(call, seconds, tell=until != told)
                told = until
            elif self._under_way >= self._width():
                await self._room()
            else:
                self._under_way += 1
                return

    async def _wait(self, call: Call, seconds: float, *, tell: bool) -> None:
        if call.waited + seconds > self._max_wait:
            raise self._too_far(f"a call may wait {self._max_wait:.0f} s")
        if tell:
            call.emit(
                RateLimitWait(call_id=call.call_id, name=call.name, kind=self._kind, seconds=seconds, until=self._until)
            )
        call.waited += seconds
        await self._clock.sleep(seconds)

    def _too_far(self, why: str) -> LimitTooFar:
        seconds = max(0.0, self._until - self._clock.time())
        when = datetime.fromtimestamp(self._until, UTC).strftime("%H:%M:%S UTC")
        return LimitTooFar(f"The {self._kind} rate limit ends in {_span(seconds)} (at {when}); {why}.", seconds)

    def _width(self) -> int:
        # Never more under way than a limit has left, while its window lasts.
        now = self._clock.time()
        left = [quota.remaining for quota in self._quotas.values() if quota.reset > now]
        return max(1, min([self._max_width, *left]))

    async def _room(self) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting_for_room[turn] = None
        try:
            await turn
        finally:
            del self._waiting_for_room[turn]

    def _leave(self) -> None:
        self._under_way -= 1
        # All are woken, in the order of their coming, and look again: none can be lost, and they are few.
        for turn in self._waiting_for_room:
            if not turn.done():
                turn.set_result(None)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"

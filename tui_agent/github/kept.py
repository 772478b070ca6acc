"""What the client and a cache under it say to each other about one request and its reply.

The client asks such a cache first, by `Cache-Control: only-if-cached`, and is answered 504 where nothing
is there that may be used as it is (RFC 9111, 5.2.1.7). What it is given carries a `Kept`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx

from tui_agent.events import CacheState

ONLY_IF_CACHED = "only-if-cached"
REVALIDATE = "no-cache"
"""Directives of a request's `Cache-Control` (RFC 9111, 5.2.1)."""
_NOTE = "kept"
_TELL = "tell"

Tell = Callable[[str], None]
"""Takes one sentence for the person who watches."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a cache says of a reply.

    Args:
        state: where the reply comes from.
        settle: to be called with the verdict: whether the reply could be made out. Only then is it kept; one that
            could not is forgotten, however it came to be kept.
        sent: requests that went to the network for it.
    """

    state: CacheState
    settle: Callable[[bool], Awaitable[None]]
    sent: int = 1


async def _nothing_to_settle(good: bool) -> None:
    """No cache has to do with the reply."""


async def forget(kept: Kept) -> Kept:
    """See to it that a reply is not kept, whatever is settled later."""
    await kept.settle(False)
    return replace(kept, settle=_nothing_to_settle)


FRESH = Kept("miss", _nothing_to_settle)
"""A reply that no cache has to do with."""
_BY_COST: tuple[CacheState, ...] = ("hit", "revalidated", "miss")


def costliest(*states: CacheState) -> CacheState:
    """What several replies together have cost."""
    return max(states, key=_BY_COST.index)


def wishes(request: httpx.Request) -> frozenset[str]:
    """The directives of a request's `Cache-Control`."""
    named = request.headers.get("cache-control", "").split(",")
    return frozenset(directive.strip().lower() for directive in named)


def note(response: httpx.Response, kept: Kept) -> httpx.Response:
    """The response with what a cache says of it."""
    response.extensions[_NOTE] = kept
    return response


def noted(response: httpx.Response) -> Kept:
    """What a cache says of a response; `FRESH` where no cache had to do with it."""
    kept = response.extensions.get(_NOTE)
    return kept if isinstance(kept, Kept) else FRESH


def listening(tell: Tell) -> dict[str, Any]:
    """Extensions of a request that let a cache tell what went wrong with it."""
    return {_TELL: tell}


def listener(request: httpx.Request) -> Tell:
    """Where a cache tells what went wrong with it."""
    tell: Tell = request.extensions.get(_TELL, lambda _: None)
    return tell

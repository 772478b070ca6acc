"""The outermost layer: when the service cannot be had, answer something all the same."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tui_agent.resilience.outcome import Trouble, Unavailable

T = TypeVar("T")


async def with_fallback(step: Callable[[], Awaitable[T]], otherwise: Callable[[Trouble | Unavailable], T]) -> T:
    """The step's result; where the service failed or was not asked, what `otherwise` makes of that."""
    try:
        return await step()
    except (Trouble, Unavailable) as trouble:
        return otherwise(trouble)

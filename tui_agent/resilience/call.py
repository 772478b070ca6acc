"""One guarded call on its way through the layers."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.events import CacheState, Emit


@dataclass(slots=True)
class Call:
    """What the layers know of the call that they guard.

    Args:
        name: whose breaker it is: a tool's name, `llm` or `snapshot`.
        emit: where its events go.
        call_id: the tool call it belongs to, or None.
        attempts: network attempts made so far.
        waited: seconds spent waiting for rate limits so far.
        refusals: rate-limit refusals met so far.
        cache: where its replies have come from, the costliest of them; None where there was none.
    """

    name: str
    emit: Emit
    call_id: str | None = None
    attempts: int = 0
    waited: float = 0.0
    refusals: int = 0
    cache: CacheState | None = None

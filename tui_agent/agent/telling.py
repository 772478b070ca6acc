"""What a run tells: its events, without the secrets that somebody has repeated in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_agent.events import Event, ReasoningDelta, ReportDelta
from tui_agent.redact import Redactor


def without_secrets(event: Event, redact: Redactor) -> Event:
    """The event, whoever repeats a key or a token in it.

    Not a call's arguments and result, and not what streams: the model's client and the toolbox have seen to it.
    """
    if isinstance(event, ReportDelta | ReasoningDelta):
        return event
    changes: dict[str, Any] = {}
    for name in type(event).__slots__:
        value = getattr(event, name)
        if isinstance(value, str):
            clean: Any = redact(value)
        elif isinstance(value, list):
            clean = redact.deep(value)
        else:
            continue
        if clean is not value:
            changes[name] = clean
    return replace(event, **changes) if changes else event

"""How a call can end other than well, as the layers tell it apart.

Only trouble of the service is retried and counted. What the service answered (a 404, a refusal)
is an answer; a rate limit is neither: it waits.
"""

from __future__ import annotations

from tui_agent.events import LimitKind


class Trouble(Exception):
    """The service, or the way to it, failed: 5xx, time-out, broken connection or body.

    Args:
        reason: one short phrase for people.
        status: the HTTP status, where one came.
    """

    def __init__(self, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


class Answered(Exception):
    """The service is alive and said no; asking again would change nothing."""


class RateLimited(Exception):
    """The service asks to wait.

    Args:
        kind: "primary" (a quota is spent) or "secondary" (too fast).
        until: epoch seconds when the limit ends, where the service said so.
        message: the server's own words.
    """

    def __init__(self, kind: LimitKind, until: float | None, message: str) -> None:
        super().__init__(message)
        self.kind: LimitKind = kind
        self.until = until
        self.message = message


class Unavailable(Exception):
    """The call was not (or no longer) made: its layer said so at once.

    Args:
        reason: one sentence for people and for the model.
        retry_in: seconds until asking again makes sense, where known.
    """

    def __init__(self, reason: str, retry_in: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_in = retry_in


class BreakerOpen(Unavailable):
    """The breaker is open: nothing was sent."""


class LimitTooFar(Unavailable):
    """The rate limit ends later than this call may wait; `retry_in` is the seconds until then."""

"""What GitHub's replies say about its rate limits.

Rules: "Rate limits for the REST API" and "Best practices for using the REST API" in GitHub's documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from tui_agent.events import Quota
from tui_agent.resilience.outcome import RateLimited


def retry_after(value: str | None, now: float) -> float | None:
    """Epoch seconds that a `Retry-After` header asks to wait for; None for nonsense or none.

    Args:
        value: seconds, or an HTTP date (RFC 9110, 10.2.3).
        now: epoch seconds.
    """
    if value is None:
        return None
    text = value.strip()
    try:
        if text.isascii() and text.lstrip("-").isdigit():
            return now + max(0.0, float(text))
        return max(now, parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def quota(headers: Mapping[str, str]) -> Quota | None:
    """What `x-ratelimit-*` say; None where they are not all there or no numbers."""
    try:
        limit = int(headers["x-ratelimit-limit"])
        remaining = int(headers["x-ratelimit-remaining"])
        reset = int(headers["x-ratelimit-reset"])
        used = int(headers.get("x-ratelimit-used", limit - remaining))
    except (KeyError, ValueError):
        return None
    return Quota(
        resource=headers.get("x-ratelimit-resource", "core"),
        limit=max(0, limit),
        remaining=max(0, remaining),
        used=max(0, used),
        reset=max(0, reset),
    )


def refusal(
    status: int, headers: Mapping[str, str], message: str, documentation_url: str, now: float
) -> RateLimited | None:
    """The rate limit that a 403 or 429 speaks of; None where it is another matter.

    Args:
        status: the reply's status.
        headers: its headers, names in lower case or a case-insensitive mapping.
        message: `message` of its body.
        documentation_url: `documentation_url` of its body.
        now: epoch seconds.
    """
    if status not in (403, 429):
        return None
    asked = retry_after(headers.get("retry-after"), now)
    known = quota(headers)
    if "secondary rate limit" in message.lower() or documentation_url.rstrip("/").endswith(
        ("secondary-rate-limits", "#abuse-rate-limits")
    ):
        return RateLimited("secondary", asked, message)
    if known is not None and known.remaining == 0:
        return RateLimited("primary", max(float(known.reset), asked or 0.0), message)
    if asked is not None or status == 429:
        return RateLimited("secondary", asked, message)
    if headers.get("x-ratelimit-remaining", "").strip() == "0" or "rate limit exceeded" in message.lower():
        return RateLimited("primary", None, message)
    return None

"""What GitHub's replies say about its rate limits.

Rules: "Rate limits for the REST API" and "Best practices for using the REST API" in GitHub's documentation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from tui_agent.events import Quota
from tui_agent.resilience.outcome import RateLimited
from tui_agent.resilience.rate_limit import CLOCK_SKEW

_SECONDS = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?")
_COUNT = re.compile(r"-?[0-9]{1,12}")
"""Longer is no count; as an epoch it would be far beyond the calendar."""
_RESOURCE = re.compile(r"[a-z_]{1,40}")
_LONGEST = 366 * 86400.0
_LAST_RESET = 100_000_000_000
_SECONDARY = ("secondary rate limit", "abuse detection mechanism")
_SECONDARY_PAGES = ("secondary-rate-limits", "#abuse-rate-limits")


def retry_after(value: str | None, now: float) -> float | None:
    """Epoch seconds that a `Retry-After` header asks to wait for; None for nonsense or none.

    Args:
        value: seconds, or an HTTP date (RFC 9110, 10.2.3); what lies in the past means at once.
        now: epoch seconds.
    """
    if value is None:
        return None
    text = value.strip()
    if _SECONDS.fullmatch(text):
        return now + min(max(0.0, float(text)), _LONGEST)
    try:
        when = parsedate_to_datetime(text)
        # A date without a zone: HTTP's are all in GMT.
        epoch = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return min(max(now, epoch), now + _LONGEST)


def quota(headers: Mapping[str, str]) -> Quota | None:
    """What `x-ratelimit-*` say; None where they are not all there or no sensible numbers."""
    limit = _count(headers.get("x-ratelimit-limit"))
    remaining = _count(headers.get("x-ratelimit-remaining"))
    reset = _count(headers.get("x-ratelimit-reset"))
    if limit is None or remaining is None or reset is None or reset > _LAST_RESET:
        return None
    used = _count(headers.get("x-ratelimit-used"))
    resource = headers.get("x-ratelimit-resource", "")
    return Quota(
        resource=resource if _RESOURCE.fullmatch(resource) else "core",
        limit=limit,
        remaining=remaining,
        used=max(0, limit - remaining) if used is None else used,
        reset=reset,
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
    said = message.lower()
    asked = retry_after(headers.get("retry-after"), now)
    if any(sign in said for sign in _SECONDARY) or documentation_url.rstrip("/").endswith(_SECONDARY_PAGES):
        return RateLimited("secondary", asked, message)
    if _count(headers.get("x-ratelimit-remaining")) == 0:
        known = quota(headers)
        reset = None if known is None else known.reset + CLOCK_SKEW
        times = [time for time in (reset, asked) if time is not None]
        return RateLimited("primary", max(times, default=None), message)
    if asked is None and "rate limit exceeded" in said:
        return RateLimited("primary", None, message)
    return RateLimited("secondary", asked, message) if asked is not None or status == 429 else None


def _count(text: str | None) -> int | None:
    """A header's number, at least 0; None for none or nonsense."""
    if text is None or not _COUNT.fullmatch(text.strip()):
        return None
    return max(0, int(text))

"""What models cost, as published; costs shown are estimates.

Source: DeepSeek's price page, as of 2026-11 (CNY per million tokens; peak hours, Monday to Friday
9-12 and 14-18 in Beijing, cost double).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import urlsplit

from tui_agent.agent.dialects import TokenCount

AS_OF = "2026-11"
_BEIJING = timezone(timedelta(hours=8))


@dataclass(frozen=True, slots=True)
class Price:
    """A model's price per million tokens."""

    currency: str
    cached: float
    prompt: float
    completion: float


_PRICES = {
    ("api.deepseek.com", "deepseek-flash"): Price("CNY", 0.02, 1.0, 4.0),
    ("api.deepseek.com", "deepseek-v4-flash"): Price("CNY", 0.02, 1.0, 4.0),
    ("api.deepseek.com", "deepseek-v4-pro"): Price("CNY", 0.15, 4.5, 13.5),
}


def price_of(base_url: str, model: str) -> Price | None:
    """The price of a model at an endpoint; None where it is not known."""
    return _PRICES.get((urlsplit(base_url).hostname or "", model))


def cost(price: Price, used: TokenCount, now: float) -> float:
    """What a turn has cost, in the price's currency.

    Args:
        price: the model's.
        used: the turn's tokens.
        now: epoch seconds.
    """
    fresh = used.prompt - used.cached
    amount = (used.cached * price.cached + fresh * price.prompt + used.completion * price.completion) / 1e6
    return amount * (2.0 if _peak(now) else 1.0)


def _peak(now: float) -> bool:
    local = datetime.fromtimestamp(now, UTC).astimezone(_BEIJING)
    return local.weekday() < 5 and (9 <= local.hour < 12 or 14 <= local.hour < 18)

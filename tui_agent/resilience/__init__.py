"""The three layers that protect a call: retry, breaker and rate-limit gate, with a fallback outside them."""

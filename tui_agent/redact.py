"""Keeps secrets out of whatever a server says back."""

from __future__ import annotations

from collections.abc import Iterable


class Redactor:
    """Takes known secrets out of texts.

    Args:
        secrets: what must not be repeated; empty and very short ones are ignored.
    """

    def __init__(self, secrets: Iterable[str | None]) -> None:
        self._secrets = sorted({s for s in secrets if s and len(s) >= 6}, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text with each secret replaced by `[secret]`."""
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text

"""Keeps secrets out of whatever a server says back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

REDACTED = "[secret]"


class Redactor:
    """Takes known secrets out of texts.

    Args:
        secrets: what must not be repeated; empty and very short ones are ignored.
    """

    def __init__(self, secrets: Iterable[str | None]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret) if len(form) >= 6}
        longest_first = sorted(forms, key=len, reverse=True)
        # a pattern that never matches where there is nothing to hide
        self._pattern = re.compile("|".join(map(re.escape, longest_first)) if forms else r"(?!)")

    def __call__(self, text: str) -> str:
        """The text with each secret replaced by `[secret]`."""
        return self._pattern.sub(REDACTED, text)

    def deep(self, value: Any) -> Any:
        """A JSON value with each secret replaced in all of its strings, names of fields included."""
        # One search through the text of it; the walk is for the rare value that needs it.
        return self._walk(value) if self._pattern.search(json.dumps(value, ensure_ascii=False)) else value

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {self(name): self._walk(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        return value


def _forms(secret: str) -> set[str]:
    """The secret as it stands in a text: plain, in a URL, in JSON, in Python's words for an error."""
    plain = secret.strip()
    return {secret, plain, quote(plain, safe=""), json.dumps(plain)[1:-1], repr(plain)[1:-1]}

"""Keeps secrets out of whatever a server says back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

REDACTED = "[secret]"


class Redactor:
    """Takes known secrets out of texts.

    Args:
        secrets: what must not be repeated; words that no key could be (`ollama`, `not-needed`) are left alone.
    """

    def __init__(self, secrets: Iterable[str | None]) -> None:
        forms = {form for secret in secrets if secret and _is_credential(secret) for form in _forms(secret)}
        self.forms = tuple(sorted(forms, key=len, reverse=True))
        self._bytes = tuple(form.encode("utf-8", "surrogatepass") for form in self.forms)
        # a pattern that never matches where there is nothing to hide
        self.pattern = re.compile("|".join(map(re.escape, self.forms)) if forms else r"(?!)")

    def __call__(self, text: str) -> str:
        """The text with each secret replaced by `[secret]`."""
        return self.pattern.sub(REDACTED, text)

    def found_in(self, *texts: bytes) -> bool:
        """Whether a secret stands in one of the texts, which are UTF-8."""
        return any(form in text for form in self._bytes for text in texts)

    def deep(self, value: Any) -> Any:
        """A JSON value with each secret replaced in all of its strings, names of fields included."""
        # `--help` does without.
        import json

        # One search through the text of it; the walk is for the rare value that needs it.
        if not self.forms:
            return value
        return self._walk(value) if self.pattern.search(json.dumps(value, ensure_ascii=False)) else value

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self(value)
        if isinstance(value, dict):
            return {self(name): self._walk(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        return value


class StreamRedactor:
    """Takes known secrets out of a text that comes in pieces, wherever it was cut.

    Args:
        redact: knows the secrets.
    """

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._longest = max(map(len, redact.forms), default=0)
        self._held = ""

    def feed(self, piece: str) -> str:
        """What of the text can be handed on; the beginning of what may become a secret is held back."""
        if not self._longest:
            return piece
        text, done, at = self._held + piece, "", 0
        while True:
            secret, held = self._redact.pattern.search(text, at), self._may_become_one(text, at)
            if secret is None or held <= secret.start():
                self._held = text[held:]
                return done + text[at:held]
            done, at = f"{done}{text[at : secret.start()]}{REDACTED}", secret.end()

    def end(self) -> str:
        """The rest of the text."""
        held, self._held = self._held, ""
        return self._redact(held)

    def _may_become_one(self, text: str, start: int) -> int:
        """Where the end of the text begins that is the beginning, and not the whole, of a secret; else its length."""
        earliest = len(text)
        for form in self._redact.forms:
            at = text.find(form[0], max(start, len(text) - len(form) + 1), earliest)
            while at >= 0 and not form.startswith(text[at:]):
                at = text.find(form[0], at + 1, earliest)
            earliest = at if at >= 0 else earliest
        return earliest


def _is_credential(text: str) -> bool:
    """Whether a text can be a key: servers that need none are given a word, which may stand anywhere by itself."""
    text = text.strip()
    return len(text) >= 16 or (len(text) >= 8 and any(char.isdigit() for char in text))


def _forms(secret: str) -> set[str]:
    """The secret as it stands in a text: plain, in a URL, as a host's name, in JSON, in Python's words for an error."""
    plain = secret.strip()
    import json
    from urllib.parse import quote

    return {secret, plain, quote(plain, safe=""), plain.lower(), json.dumps(plain)[1:-1], repr(plain)[1:-1]}

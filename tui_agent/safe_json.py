"""JSON that any reader takes and no terminal acts on: the invisible is escaped, what JSON cannot say replaced."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# DEL and C1 controls, bidi and zero-width controls, separators, tags; C0 controls are escaped by json itself. All stand
# within strings, where an escape means the same as the character.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_DEEPEST = 50


def dumps(value: object, *, indent: int | None = None) -> str:
    """The value as JSON text (RFC 8259): one line, or indented.

    Lone surrogates become U+FFFD (strict readers refuse them even as escapes), NaN and infinity null; anything that
    has no place in JSON becomes its text.
    """
    try:
        text = _encode(value, indent)
    except (TypeError, ValueError, RecursionError):
        text = _encode(_plain(value, 0), indent)
    if text.isascii() and "\x7f" not in text:
        # Most texts, and three quarters of the time: in ASCII, json itself escapes all else that is invisible.
        return text
    return _INVISIBLE.sub(_escape, text)


_ON_ONE_LINE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode(value: object, indent: int | None) -> str:
    if indent is None:
        return _ON_ONE_LINE.encode(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=(",", ": "))


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if 0xD800 <= code <= 0xDFFF:
        return "\\ufffd"
    if code > 0xFFFF:
        # RFC 8259, section 7: beyond the basic plane as a surrogate pair.
        code -= 0x10000
        return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
    return f"\\u{code:04x}"


def _plain(value: Any, depth: int) -> Any:
    """The value with everything replaced that JSON, or a reader's stack, cannot take."""
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, depth + 1) for item in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)

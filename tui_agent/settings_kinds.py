"""What a setting can be: each kind reads its text, knows its range and says what it must be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

LONGEST_WAIT = 1e9
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


class Kind(NamedTuple):
    """One sort of value.

    Args:
        read: text to value; ValueError where it is none.
        holds: whether a value has the type and the range.
        must: completes the sentence "NAME must be …".
        echo: whether that sentence may repeat what was given.
    """

    read: Callable[[str], Any]
    holds: Callable[[object], bool]
    must: str
    echo: bool = True


def whole(least: int, most: int | None = None) -> Kind:
    """Whole numbers within bounds, both included."""

    def holds(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int):
            return False
        return value >= least and (most is None or value <= most)

    return Kind(int, holds, f"a whole number of at least {least}" + (f" and at most {most}" if most else ""))


def seconds(*, zero: bool) -> Kind:
    """Lengths of time in seconds, 0 included or not; NaN and infinity are none."""

    def holds(value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        return (value >= 0 if zero else value > 0) and value <= LONGEST_WAIT

    lower = "of at least 0" if zero else "above 0"
    return Kind(float, holds, f"a number of seconds {lower} and at most {LONGEST_WAIT:.0f}")


def matching(pattern: str, must: str, *, echo: bool = True) -> Kind:
    """Text that a pattern describes as a whole."""
    shape = re.compile(pattern)
    return Kind(
        str,
        lambda value: isinstance(value, str) and value.isprintable() and shape.fullmatch(value) is not None,
        must,
        echo,
    )


def read_url(text: str) -> str:
    """An http(s) address in one spelling (case, default port, last slash), so that equal ones are equal texts.

    Raises:
        ValueError: no such address, or one with a user name, a query or a fragment.
    """
    if not text.isprintable() or re.search(r"[\s\\@?#]", text):
        raise ValueError("not a plain address")
    # 10 ms that `--help` need not pay.
    from urllib.parse import urlsplit

    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not an http address")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def _is_url(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(read_url(value))
    except ValueError:
        return False


def _read_switch(text: str) -> bool:
    word = text.lower()
    if word not in _YES | _NO:
        raise ValueError(text)
    return word in _YES


# A key travels in an HTTP header, where neither blanks nor other than ASCII have a place.
SECRET = matching(r"[!-~]+", "a key of plain ASCII characters without blanks", echo=False)
# Never repeated: what was meant as an address may hold a password.
URL = Kind(read_url, _is_url, "an http(s) address without user name, query or fragment", echo=False)
SWITCH = Kind(_read_switch, lambda value: isinstance(value, bool), "1 or 0")
MODEL = matching(r"\S(?:.{0,198}\S)?", "the name of a model, on one line")
# It stands in the prompt: a `.env` in a cloned folder must not be able to write sentences there.
LANGUAGE = matching(r"[^\W\d_]{2,20}(?:[-_][0-9A-Za-z]{1,8}){0,4}", "a language such as en, zh or pt-BR")
THEME = matching(r"[\w.-]{1,60}", "the name of a theme")
PROFILE = matching(r"[A-Za-z0-9][\w.-]{0,59}", "the name of a profile")
VARIABLE = matching(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "the name of a variable", echo=False)

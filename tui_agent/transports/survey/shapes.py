"""Values of unknown shape, taken only where they are what they should be: tool results may come from anywhere."""

from __future__ import annotations

import json
from typing import Any

Json = dict[str, Any]


def clean(text: str) -> str:
    """The text without lone surrogates, which JSON may carry and UTF-8 cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def text_of(value: object) -> str:
    """A string as it is; "" for anything else."""
    return clean(value) if isinstance(value, str) else ""


def number_of(value: object) -> int | None:
    """A whole number of 0 or more (also one that came as a decimal string); None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 0 <= value < 10**15 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < 1e15 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= 15:
        return int(value)
    return None


def list_of(value: object) -> list[Any]:
    """A list as it is; an empty one for anything else."""
    return value if isinstance(value, list) else []


def dict_of(value: object) -> Json:
    """A JSON object as it is; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def strings_of(value: object) -> list[str]:
    """The strings of a list, in order; a single string is a list of one."""
    if isinstance(value, str):
        return [clean(value)]
    return [clean(item) for item in list_of(value) if isinstance(item, str)]


def object_from(text: object) -> Json | None:
    """The JSON object that a text holds; None where it holds none (cut off, not JSON, nested without end)."""
    if isinstance(text, dict):
        return text
    if not isinstance(text, str):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def plain_path(value: object) -> str:
    """A path inside the repository without the slashes and dots around it; "" for the root."""
    parts = [part for part in text_of(value).split("/") if part not in ("", ".")]
    return "/".join(parts)

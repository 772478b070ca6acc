"""The trace's texts: made safe, wrapped and elided by terminal cells, compared without case, results made readable."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any, Final

from rich.cells import cell_len, get_character_cell_size

from tui_agent.safe_text import ELLIPSIS, one_line, visible

TAB: Final = 4
Span = tuple[int, int]
"""Where a row of wrapped text begins and ends in its text."""

_CONTROLS: Final = bytes(code for code in (*range(32), 127) if code != 10)
_JOINER, _EMOJI_FORM = "\u200d", "\ufe0f"
_NEVER_FIRST: Final = frozenset("、。，．！？：；）」』】》〉〕％ー々…")
_LATE_KEYS: Final = ("content",)
_FLAT_WIDTH: Final = 100
KEPT_LENGTH: Final = 800


def display(text: str) -> str:
    """The text as the trace shows it: nothing in it can act on the terminal, tabs are blanks."""
    if text.isascii() and not _has_controls(text):
        return text
    text = visible(text)
    return text.expandtabs(TAB) if "\t" in text else text


def _has_controls(text: str) -> bool:
    # Four times as fast as a search by pattern, and most of what is shown is plain.
    raw = text.encode("ascii")
    return len(raw.translate(None, _CONTROLS)) != len(raw)


def fold(text: str) -> str:
    """The text without case, character by character, so that positions stay what they were."""
    folded = text.casefold()
    if len(folded) == len(text):
        return folded
    return "".join(c if len(f := c.casefold()) != 1 else f for c in text)


def occurrences(folded: str, query: str) -> Iterator[int]:
    """Where a folded query stands in a folded text, without overlaps."""
    at = folded.find(query)
    while at >= 0:
        yield at
        at = folded.find(query, at + len(query))


# -- wrapping -------------------------------------------------------------------------------


def wrap(text: str, width: int, start: int = 0) -> list[Span]:
    """The rows of a text, each at most `width` cells wide, broken at blanks where there are any.

    Where a row ends depends only on the characters up to the first that no longer fits: text that is
    added at the end never changes another row than the last.

    Args:
        text: a text from `display`.
        width: terminal cells, at least 1.
        start: where to begin: 0, or where a row begins.
    """
    rows: list[Span] = []
    length, narrow = len(text), text.isascii()
    while True:
        end = text.find("\n", start)
        if end < 0:
            end = length
        if narrow or text[start:end].isascii():
            _wrap_narrow(text, start, end, width, rows)
        else:
            _wrap_wide(text, start, end, width, rows)
        if end == length:
            return rows
        start = end + 1


def _wrap_narrow(text: str, start: int, end: int, width: int, rows: list[Span]) -> None:
    """One line in which every character takes one cell."""
    while end - start > width:
        stop = start + width
        if text[stop] != " ":
            blank = text.rfind(" ", start + 1, stop)
            if blank > 0 and not text[start:blank].isspace():
                stop = blank
        rows.append((start, stop))
        start = _past_blanks(text, stop, end)
        if start == end:
            return
    rows.append((start, end))


def _wrap_wide(text: str, start: int, end: int, width: int, rows: list[Span]) -> None:
    """One line with characters of two cells or none."""
    if 2 * (end - start) <= width:
        rows.append((start, end))
        return
    origin, line = start, text[start:end]
    cells = map(_cells if _EMOJI_FORM in line else get_character_cell_size, line)
    edges = list(accumulate(cells, initial=0))
    while edges[-1] - edges[start - origin] > width and end - start > 1:
        fitting = origin + bisect_right(edges, edges[start - origin] + width) - 1
        stop = _break_before(text, start, max(fitting, start + 1))
        rows.append((start, stop))
        start = _past_blanks(text, stop, end)
        if start == end:
            return
    rows.append((start, end))


def _break_before(text: str, start: int, stop: int) -> int:
    """Where to begin a new row, at or before `stop`, the first character that does not fit."""
    hard = 0
    for at in range(stop, start, -1):
        if _is_mark(text[at]) or text[at - 1] == _JOINER:
            continue
        hard = hard or at
        if text[at] == " " or (text[at] not in _NEVER_FIRST and (_is_wide(text[at]) or _is_wide(text[at - 1]))):
            if not text[start:at].isspace():
                return at
            break
    return hard or stop


def _past_blanks(text: str, start: int, end: int) -> int:
    while start < end and text[start] == " ":
        start += 1
    return start


def _cells(char: str) -> int:
    # One more for the emoji form, which widens the character before it.
    return 1 if char == _EMOJI_FORM else get_character_cell_size(char)


def _is_mark(char: str) -> bool:
    return char in (_JOINER, _EMOJI_FORM) or get_character_cell_size(char) == 0


def _is_wide(char: str) -> bool:
    return get_character_cell_size(char) == 2


def estimate(text: str, width: int) -> int:
    """About how many rows a text takes, without wrapping it."""
    return text.count("\n") + 1 + len(text) // max(1, width)


# -- one line -------------------------------------------------------------------------------


def elide(text: str, width: int) -> str:
    """The text within `width` cells, its end left out where it is longer."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    return text[: _fitting(text, width - 1)].rstrip() + ELLIPSIS


def elide_start(text: str, width: int) -> str:
    """The text within `width` cells, its beginning left out where it is longer: a path keeps its file."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return text
    room, at = width - 1, len(text)
    while at > 0 and room >= _cells(text[at - 1]):
        at -= 1
        room -= _cells(text[at])
    while at < len(text) and _is_mark(text[at]):
        at += 1
    return ELLIPSIS + text[at:].lstrip()


def _fitting(text: str, width: int) -> int:
    used = 0
    for index, char in enumerate(text):
        used += _cells(char)
        if used > width:
            while index > 0 and (_is_mark(text[index]) or text[index - 1] == _JOINER):
                index -= 1
            return index
    return len(text)


def first_line(text: str, width: int) -> str:
    """The beginning of a text on one line of `width` cells."""
    return one_line(text, width)


def last_line(text: str, width: int) -> str:
    """The end of a text that is still being written, on one line of `width` cells."""
    if width <= 0:
        return ""
    tail = one_line(text[-4 * width - 16 :])
    return elide_start(tail, width) if len(text) <= 4 * width + 16 else elide_start(ELLIPSIS + tail, width)


# -- JSON for people ------------------------------------------------------------------------


def readable(value: Mapping[str, Any]) -> str:
    """A tool's arguments or result as `key: value` lines, nothing left out; `content` last, with its real newlines."""
    lines: list[str] = []
    for key, item in value.items():
        if key not in _LATE_KEYS or not isinstance(item, str):
            _field(lines, "", str(key), item)
    for key in _LATE_KEYS:
        item = value.get(key)
        if isinstance(item, str):
            lines.append(f"{key}:")
            lines.append(item)
    return "\n".join(lines)


class Readable:
    """JSON as `readable` text, made when it is asked for, kept where it is short."""

    __slots__ = ("_text", "_value")

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value
        self._text = ""

    def __call__(self) -> str:
        if self._text:
            return self._text
        text = readable(self._value)
        if len(text) <= KEPT_LENGTH:
            self._text = text
        return text


def _field(lines: list[str], indent: str, key: str, value: Any) -> None:
    if isinstance(value, dict) and value:
        flat = _flat(value)
        if flat is not None and len(flat) + len(key) < _FLAT_WIDTH:
            lines.append(f"{indent}{key}: {flat}")
            return
        lines.append(f"{indent}{key}:")
        for name, item in value.items():
            _field(lines, indent + "  ", str(name), item)
    elif isinstance(value, (list, tuple)) and value:
        _items(lines, indent, key, value)
    elif isinstance(value, str) and "\n" in value:
        lines.append(f"{indent}{key}:")
        lines.extend(f"{indent}  {line}" for line in value.split("\n"))
    else:
        lines.append(f"{indent}{key}: {_scalar(value)}")


def _items(lines: list[str], indent: str, key: str, values: list[Any] | tuple[Any, ...]) -> None:
    if not any(isinstance(item, (dict, list, tuple)) for item in values):
        joined = ", ".join(map(_scalar, values))
        if "\n" not in joined and len(joined) + len(key) < _FLAT_WIDTH:
            lines.append(f"{indent}{key}: {joined}")
            return
    lines.append(f"{indent}{key}:")
    for item in values:
        flat = _flat(item) if isinstance(item, dict) and item else None
        if flat is not None:
            lines.append(f"{indent}  - {flat}")
        elif isinstance(item, (dict, list, tuple)) and item:
            _field(lines, indent + "  ", "-", item)
        else:
            lines.append(f"{indent}  - {_scalar(item)}")


def _flat(value: Mapping[str, Any]) -> str | None:
    """An object of scalars on one line; None where something in it needs lines of its own."""
    parts = []
    for key, item in value.items():
        if isinstance(item, (dict, list, tuple)) or (isinstance(item, str) and "\n" in item):
            return None
        parts.append(f"{key}: {_scalar(item)}")
    return ", ".join(parts)


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)

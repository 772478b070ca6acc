"""Glob patterns over paths of a tree: `*`, `?` and `[…]` within a name, `**` across directories, `{a,b}`.

Names are matched by the standard library's fnmatch, whose patterns cannot backtrack without end;
directories by the table below, whose cost is the pattern's length times the path's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

_MAX_LENGTH = 500
_MAX_ALTERNATIVES = 64
_Segment = re.Pattern[str] | None
"""A name's pattern; None for `**`."""


def compile_glob(pattern: str) -> Callable[[str], bool]:
    """A test for paths. A pattern without a slash matches the last part of a path, at any depth.

    Args:
        pattern: such as `**/*.py`, `docs/**`, `*.{yml,yaml}`.

    Raises:
        ValueError: the pattern is empty, too long, or has too many alternatives.
    """
    text = pattern.strip().removeprefix("./").lstrip("/")
    if not text:
        raise ValueError("The pattern is empty.")
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"The pattern is longer than {_MAX_LENGTH} characters.")
    alternatives = [_segments(one) for one in _expand(text)]

    def matches(path: str) -> bool:
        names = path.split("/")
        return any(_matches(segments, names) for segments in alternatives)

    return matches


def _expand(text: str) -> list[str]:
    done: list[str] = []
    todo = [text]
    while todo:
        one = todo.pop()
        match = re.search(r"\{([^{}]*,[^{}]*)\}", one)
        if match is None:
            done.append(one)
        else:
            todo += [one[: match.start()] + part + one[match.end() :] for part in match[1].split(",")]
        if len(done) + len(todo) > _MAX_ALTERNATIVES:
            raise ValueError(f"The pattern has more than {_MAX_ALTERNATIVES} alternatives.")
    return done


def _segments(text: str) -> list[_Segment]:
    if text.endswith("/"):
        text += "**"
    if "/" not in text:
        text = "**/" + text
    return [None if part == "**" else re.compile(translate(part)) for part in text.split("/")]


def _matches(segments: list[_Segment], names: list[str]) -> bool:
    # reach[i]: the segments so far match the first i names
    reach = [True] + [False] * len(names)
    for segment in segments:
        if segment is None:
            first = reach.index(True) if True in reach else len(reach)
            reach = [i >= first for i in range(len(reach))]
        else:
            reach = [False] + [reach[i] and segment.match(names[i]) is not None for i in range(len(names))]
    return reach[-1]

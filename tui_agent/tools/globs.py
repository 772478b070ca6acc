"""Glob patterns over paths of a tree: `*`, `?` and `[…]` within a name, `**` across directories, `{a,b}`.

Names are matched by the standard library's fnmatch, whose patterns cannot backtrack without end;
paths name by name by the automaton below, which looks at each folder once however many files it has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate

_MAX_LENGTH = 500
_MAX_ALTERNATIVES = 64
_Segment = re.Pattern[str] | None
"""A name's pattern; None for `**`."""
_State = tuple[int, int]
_Match = Callable[[str], object]


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
    return _Automaton([_segments(one) for one in _expand(text)]).matches


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
    parts = text.split("/")
    # `**/**` says no more than `**`
    once = [part for i, part in enumerate(parts) if part != "**" or parts[i + 1 : i + 2] != ["**"]]
    return [None if part == "**" else re.compile(translate(part)) for part in once]


def _anything(_: str) -> bool:
    return True


class _Automaton:
    """Alternatives walked side by side. A state is an alternative, and how many of its segments are done.

    Args:
        alternatives: their segments.
    """

    def __init__(self, alternatives: list[list[_Segment]]) -> None:
        self._alternatives = alternatives
        self._folders: dict[str, list[_State]] = {}
        self._names: dict[str, list[_Match]] = {}
        self._enter("", ((number, 0) for number in range(len(alternatives))))

    def matches(self, path: str) -> bool:
        """Whether a path is one that the pattern means."""
        folder, _, name = path.rpartition("/")
        if folder not in self._names:
            self._inside(folder)
        return any(match(name) for match in self._names[folder])

    def _enter(self, folder: str, states: Iterable[_State]) -> None:
        """Note what a folder's names begin with, and which of them are meant."""
        reached = self._folders[folder] = self._with_skips(states)
        last = {self._alternatives[number][done] for number, done in reached if self._is_last(number, done)}
        self._names[folder] = [_anything] if None in last else [segment.match for segment in last if segment]

    def _is_last(self, number: int, done: int) -> bool:
        segments = self._alternatives[number]
        return done < len(segments) and not any(segments[done + 1 :])

    def _inside(self, folder: str) -> None:
        unknown = []
        while folder not in self._folders:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        for below in reversed(unknown):
            above, _, name = below.rpartition("/")
            self._enter(below, self._after(self._folders[above], name))

    def _after(self, states: list[_State], name: str) -> Iterator[_State]:
        for number, done in states:
            segments = self._alternatives[number]
            if done < len(segments):
                segment = segments[done]
                if segment is None:
                    yield number, done
                elif segment.match(name):
                    yield number, done + 1

    def _with_skips(self, states: Iterable[_State]) -> list[_State]:
        """`**` may also stand for nothing."""
        found: dict[_State, None] = {}
        for number, done in states:
            segments = self._alternatives[number]
            found[number, done] = None
            while done < len(segments) and segments[done] is None:
                done += 1
                found[number, done] = None
        return list(found)

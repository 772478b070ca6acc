"""What every manifest says, whatever its language: one shape for all parsers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Group = tuple[str, str]
Span = tuple[int, int]
RUNTIME: Group = ("runtime", "")
DEV: Group = ("dev", "")
TEST: Group = ("test", "")
BUILD: Group = ("build", "")
INDIRECT: Group = ("indirect", "")
_MOST_LINES = 1000


class ManifestError(ValueError):
    """A manifest that is not what its name promises; the text is the parser's own sentence."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """One declared dependency: its name and what is asked of its version, both as written."""

    name: str
    constraint: str = ""
    marker: str = ""

    @property
    def written(self) -> str:
        """The declaration on one line."""
        text = f"{self.name} {self.constraint}".strip()
        return f"{text}; {self.marker}" if self.marker else text

    @property
    def constrained(self) -> bool:
        """Whether anything narrows the version (or pins a place to take it from)."""
        return self.constraint not in ("", "*")


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to say about a manifest: a phrase's key and what goes into it."""

    key: str
    values: dict[str, str | int] = field(default_factory=dict)


@dataclass(slots=True)
class Manifest:
    """The facts of one manifest; "" and empty where it does not say.

    `groups` keeps dependencies by kind and name of their group, `spans` the lines (from 1) where each group stands,
    `commands` name and target, `members` the workspace's patterns or modules as written, `entry_files` paths relative
    to the manifest's folder that it names as code to start or import.
    """

    path: str
    ecosystem: str
    name: str = ""
    version: str = ""
    description: str = ""
    licence: str = ""
    build: str = ""
    requires: list[tuple[str, str]] = field(default_factory=list)
    groups: dict[Group, list[Dependency]] = field(default_factory=dict)
    spans: dict[Group, Span] = field(default_factory=dict)
    commands: list[tuple[str, str]] = field(default_factory=list)
    entry_files: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    parsed: bool = True

    @property
    def folder(self) -> str:
        """The directory that the manifest stands in; "" for the root."""
        return self.path.rpartition("/")[0]

    def add(self, group: Group, dependencies: Iterable[Dependency], span: Span | None = None) -> None:
        """Put dependencies into a group; groups that stay empty are not kept."""
        found = list(dependencies)
        if not found:
            return
        self.groups.setdefault(group, []).extend(found)
        old = self.spans.get(group)
        if span is not None and (old is not None or len(self.groups[group]) == len(found)):
            self.spans[group] = (min(span[0], old[0]), max(span[1], old[1])) if old else span
        elif span is None:
            self.spans.pop(group, None)

    def remark(self, key: str, **values: str | int) -> None:
        """Note something that a reader should know about this manifest; numbers of the same kind are added up."""
        for index, old in enumerate(self.remarks):
            if old.key == key and values.keys() == {"n"}:
                self.remarks[index] = Remark(key, {"n": int(old.values["n"]) + int(values["n"])})
                return
        self.remarks.append(Remark(key, values))


class Lines:
    """The lines of a text, searched for where a fact stands."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")

    def find(self, pattern: str, start: int = 0, stop: str = "") -> int | None:
        """The index of the first line from `start` on that matches; None where one matches `stop` before."""
        wanted, end = re.compile(pattern), re.compile(stop) if stop else None
        for index in range(start, len(self._lines)):
            if wanted.match(self._lines[index]):
                return index
            if end and end.match(self._lines[index]):
                return None
        return None

    def span(self, start: int | None, needles: Sequence[str]) -> Span | None:
        """From line index `start` to the last needle, found one after another; None unless all are found.

        Returns:
            First and last line, counted from 1.
        """
        if start is None:
            return None
        index = start
        for needle in needles:
            while needle not in self._lines[index]:
                index += 1
                if index >= min(len(self._lines), start + _MOST_LINES):
                    return None
        return start + 1, index + 1

    def table(self, header: str, names: Iterable[str]) -> Span | None:
        """The lines of a TOML table from its header to its last name; None unless all names stand there, in order."""
        start = self.find(rf"\s*\[{re.escape(header)}\]\s*(?:#.*)?$")
        if start is None:
            return None
        index = start
        for name in names:
            found = self.find(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[.=]", index + 1, r"\s*\[")
            if found is None:
                return None
            index = found
        return (start + 1, index + 1) if index > start else None

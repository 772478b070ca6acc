"""What was observed in a run, laid out so that many claims can be looked up in it at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from tui_agent.events import JsonObject, ToolFinished
from tui_agent.report.spelled import spelled_out

BUDGET = 400_000_000
"""Characters that are searched for all claims of a report together; behind that a claim is left unchecked."""
FAILED = "the failure of"
"""How the source begins of what a call said that failed."""
_WORD = re.compile(r"[A-Za-z0-9_]+|[\u4e00-\u9fff]+")
_DEEP = 40


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a run knows of its repository besides what tools told.

    Args:
        repo: the repository's name.
        asked: the name that was asked for.
        ref, commit: the snapshot.
        files: how many files it has.
        today: the day of the run.
        tree: every path of the snapshot that is known, folders among them.
        web: the repository's address for people; None for a local one.
    """

    repo: str
    asked: str = ""
    ref: str = "HEAD"
    commit: str | None = None
    files: int = 0
    today: date
    tree: Collection[str] = ()
    web: str | None = None


class Passage(NamedTuple):
    """A text that was observed: a window of a file, or what else a tool told.

    `source` is for people; `path` and `first_line` are of a file.
    """

    text: str
    source: str
    path: str | None = None
    first_line: int = 1


class Hit(NamedTuple):
    """Where something was found."""

    passage: Passage
    at: int
    length: int

    @property
    def line(self) -> str:
        """The line of the text that it stands in."""
        text = self.passage.text
        end = text.find("\n", self.at)
        return text[text.rfind("\n", 0, self.at) + 1 : end if end >= 0 else len(text)]

    def around(self, before: int, behind: int) -> str:
        """The text about it."""
        return self.passage.text[max(0, self.at - before) : self.at + self.length + behind]

    @property
    def line_number(self) -> int:
        """Which line of the file it is on."""
        return self.passage.first_line + self.passage.text.count("\n", 0, self.at)


class BudgetSpent(Exception):
    """So much has been searched that the rest stays unchecked."""


@dataclass
class Evidence:
    """Everything observed.

    Args:
        scene: the repository.
        observations: calls of tools that ended well.
        needed: the words that will be looked for; others are not indexed.
    """

    scene: Scene
    observations: Sequence[ToolFinished]
    needed: Iterable[str]
    passages: list[Passage] = field(default_factory=list)
    read: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)
    commits: dict[str, JsonObject] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    _names: dict[str, list[str]] = field(default_factory=dict)
    _tree_names: dict[str, list[str]] | None = None
    _index: dict[str, list[int]] = field(default_factory=dict)
    _flat: dict[int, str] = field(default_factory=dict)
    _searched: int = 0

    def __post_init__(self) -> None:
        scene = self.scene
        about = (scene.repo, scene.asked, f"ref {scene.ref}", f"commit {scene.commit or 'none'}")
        self.passages.append(Passage("\n".join((*about, f"files: {scene.files}")), "snapshot"))
        for event in self.observations:
            if event.outcome == "ok":
                self._take(event)
            else:
                # what a failure says may be quoted; it makes nothing seen
                asked = " ".join(str(value) for value in event.arguments.values())
                text = f"{event.tool} {_asked(event)}\n{asked}\n{event.result.get('error', '')}"
                self.passages.append(Passage(text, f"{FAILED} {event.tool}"))
        for path in list(self.places):
            while (path := path.rpartition("/")[0]) and path not in self.folders:
                self.folders.add(path)
                self.places.setdefault(path, "listed")
        for path in self.places:
            self._names.setdefault(path.rpartition("/")[2], []).append(path)
        needed = frozenset(self.needed)
        for number, passage in enumerate(self.passages):
            for word in needed.intersection(_WORD.findall(passage.text)):
                self._index.setdefault(word, []).append(number)

    # -- taking in --------------------------------------------------------------------------

    def _take(self, event: ToolFinished) -> None:
        result = spelled_out(event.tool, event.result)
        content, path = result.get("content"), result.get("path")
        if event.tool == "read_file" and isinstance(content, str) and isinstance(path, str):
            # what is shown whole has no window
            first, lines = _int(result.get("first_line"), 1), _int(result.get("lines"), 0)
            self.read.setdefault(path, []).append((first, _int(result.get("last_line"), lines)))
            self.lines[path] = max(self.lines.get(path, 0), lines)
            self.places[path] = "read"
            self.passages.append(Passage(content, "read_file", path, first))
            result = {key: value for key, value in result.items() if key != "content"}
            asked = event.arguments.get("path")
            if isinstance(asked, str):
                self.places.setdefault(asked.strip("./"), "read")
        folder = path if event.tool == "list_directory" and isinstance(path, str) else ""
        if folder:
            self._see(folder, "dir")
        for key in ("entries", "files", "largest"):
            items = result.get(key)
            for item in items if isinstance(items, list | dict) else ():
                if isinstance(item, str):
                    self._see(item, "file")
                elif isinstance(item, dict):
                    name = item.get("path") or f"{folder}/{item.get('name')}".lstrip("/")
                    self._see(str(name), str(item.get("type", "file")))
        commits = result.get("commits")
        for item in commits if isinstance(commits, list) else ():
            if isinstance(item, dict) and isinstance(item.get("sha"), str):
                self.commits[item["sha"]] = item
        asked = _asked(event)[:80]
        source = f"{event.tool}({asked})" if asked else event.tool
        self.passages.append(Passage("\n".join(_scalars(result)), source))

    def _see(self, path: str, kind: str) -> None:
        if kind == "dir":
            self.folders.add(path)
        self.places.setdefault(path, "listed")

    # -- paths ------------------------------------------------------------------------------

    def resolve(self, text: str) -> tuple[str, str]:
        """The path that is meant, and how it is known: "read", "listed", "tree" or "".

        A path may be told by its end, as people do; the longest way that was observed counts.
        """
        path = text.removeprefix("./").strip("/")
        if path in self.places:
            return path, self.places[path]
        name = path.rpartition("/")[2]
        ends = [known for known in self._names.get(name, ()) if known.endswith("/" + path)]
        if ends:
            return min(ends, key=lambda known: (self.places[known] != "read", len(known))), (
                "read" if any(self.places[known] == "read" for known in ends) else "listed"
            )
        if path in self.scene.tree:
            return path, "tree"
        if self._tree_names is None:
            self._tree_names = {}
            for known in self.scene.tree:
                self._tree_names.setdefault(known.rpartition("/")[2], []).append(known)
        in_tree = [known for known in self._tree_names.get(name, ()) if known.endswith("/" + path)]
        return (min(in_tree, key=len), "tree") if in_tree else ("", "")

    def is_unique(self, text: str) -> bool:
        """Whether a path told by its end can mean only one that was observed."""
        path = text.removeprefix("./").strip("/")
        if path in self.places:
            return True
        return sum(known.endswith("/" + path) for known in self._names.get(path.rpartition("/")[2], ())) == 1

    def was_read(self, path: str, first: int, last: int) -> bool:
        """Whether every one of these lines was in some window."""
        at = first
        for begin, end in sorted(self.read.get(path, ())):
            if begin <= at <= end:
                at = end + 1
        return at > last >= first

    def text_of(self, path: str, first: int, last: int) -> str:
        """Lines that were read, of the first window that holds them."""
        for passage in self.passages:
            if passage.path == path:
                rows = passage.text.split("\n")
                begin = first - passage.first_line
                if 0 <= begin < len(rows):
                    return "\n".join(rows[begin : begin + last - first + 1])
        return ""

    # -- texts ------------------------------------------------------------------------------

    def find(self, needle: str) -> Iterator[Hit]:
        """Where a text stands, as whole words, in the order of observing.

        Raises:
            BudgetSpent: too much was searched already.
        """
        for number in self._candidates(needle):
            passage = self.passages[number]
            at = self._search(passage.text, needle, 0)
            while at >= 0:
                if _is_whole(passage.text, at, needle):
                    yield Hit(passage, at, len(needle))
                at = self._search(passage.text, needle, at + len(needle))

    def find_flat(self, needle: str) -> Hit | None:
        """Where a text stands when blanks and quotes do not count."""
        wanted = flat(needle)
        for number in self._candidates(needle):
            if number not in self._flat:
                self._flat[number] = flat(self.passages[number].text)
            text = self._flat[number]
            at = self._search(text, wanted, 0)
            if at >= 0 and not (wanted[-1:].isalnum() and text[at + len(wanted) : at + len(wanted) + 1].isalnum()):
                return Hit(self.passages[number]._replace(text=text), at, len(wanted))
        return None

    def together(self, needle: str) -> Passage | None:
        """A passage in which all words of a text stand, wherever."""
        found = self._candidates(needle)
        return self.passages[found[0]] if found else None

    def _candidates(self, needle: str) -> list[int]:
        lists = sorted((self._index.get(word, []) for word in words_of(needle)), key=len)
        if not lists or not lists[0]:
            return []
        kept = set(lists[0]).intersection(*lists[1:])
        return sorted(kept)

    def _search(self, text: str, needle: str, start: int) -> int:
        at = text.find(needle, start)
        self._searched += (at if at >= 0 else len(text)) - start
        if self._searched > BUDGET:
            raise BudgetSpent
        return at


def _asked(event: ToolFinished) -> str:
    """What a call asked for, the repository left out."""
    return ", ".join(str(value) for key, value in event.arguments.items() if key not in ("owner", "repo"))


def words_of(text: str) -> list[str]:
    """The words by which a text is looked up."""
    return _WORD.findall(text)


def flat(text: str) -> str:
    """A text without blanks, quotes and backticks; line ends stay."""
    for sign in " \t\r'\"`\\":
        text = text.replace(sign, "")
    return text


def _is_whole(text: str, at: int, needle: str) -> bool:
    """Whether a find does not cut a word or a number into pieces."""
    end = at + len(needle)
    before, behind = text[at - 1 : at] if at else "", text[end : end + 1]
    first, last = needle[0], needle[-1]
    if _joins(first) and (
        _joins(before) or (first.isdigit() and before in {".", ","} and text[at - 2 : at - 1].isdigit())
    ):
        return False
    if _joins(last) and _joins(behind):
        return False
    return not (last.isdigit() and behind in {".", ","} and text[end + 1 : end + 2].isdigit())


def _joins(sign: str) -> bool:
    """Whether a sign would be part of the same Latin word or number."""
    return sign == "_" or (sign.isalnum() and sign.isascii())


def _scalars(value: Any, key: str = "", depth: int = 0) -> Iterator[str]:
    """Every scalar of a JSON value as a line `key: value`; what stands in one small object stays on one line."""
    if depth > _DEEP:
        return
    if isinstance(value, Mapping):
        flat_items = [f"{name}: {item}" for name, item in value.items() if not isinstance(item, Mapping | list)]
        if flat_items:
            yield f"{key} " + " · ".join(flat_items) if key else "\n".join(flat_items)
        for name, item in value.items():
            if isinstance(item, Mapping | list):
                yield from _scalars(item, str(name), depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item, key, depth + 1)
    else:
        yield f"{key}: {value}"


def _int(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default

"""What to ask next: the survey's rules, each a function of what is known so far.

The first rule that still wants something fires; its calls go out side by side. Beside them, what fell back a turn ago
is asked again, and what fell back twice once more at the very end. Every bound below is there so that a hostile or
huge repository, or a service in trouble, costs a handful of turns and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tui_agent.transports.survey.history import History, call_key
from tui_agent.transports.survey.languages import by_language
from tui_agent.transports.survey.layout import (
    Layout,
    build_layout,
    common_folder,
    descents,
    entry_points,
    in_vendored,
    jvm_searches,
    read_manifests,
)
from tui_agent.transports.survey.listing import FileView
from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.manifests import FORMATS, format_of, rank
from tui_agent.transports.survey.papers import FORGES, WORKFLOWS, find_licences, find_readmes, is_readme
from tui_agent.transports.survey.purposes import purpose_of_name

MOST_TURNS = 10
MOST_CALLS = 20  # a turn
MOST_READ = 12  # files in all
MOST_ROOT_MANIFESTS = 6
MOST_WORKFLOWS = 2
MOST_ROOMS = 8
MOST_FURTHER = 4  # manifests below the root
MOST_DEEPER = 6
MOST_ENTRIES = 3
MOST_WINDOWS = 10  # of one file
MOST_PAGES = 5  # of the root's listing
MOST_ASKS = 3  # of the same question, the first included
COMMITS = 100
TEST_PATTERNS: dict[str, tuple[str, ...]] = {
    "Python": ("test_*.py", "*_test.py"),
    "Go": ("*_test.go",),
    "JavaScript": ("*.test.*", "*.spec.*"),
    "TypeScript": ("*.test.*", "*.spec.*"),
    "Java": ("*Test.java",),
    "Kotlin": ("*Test.kt",),
    "C#": ("*Tests.cs",),
    "Ruby": ("*_spec.rb", "*_test.rb"),
    "PHP": ("*Test.php",),
    "Elixir": ("*_test.exs",),
    "Dart": ("*_test.dart",),
    "C++": ("*_test.cc", "*_test.cpp"),
}
ANYWHERE = "**/tests/**"
_ECOSYSTEMS: dict[str, tuple[str, ...]] = {
    "Python": ("Python",),
    "JavaScript": ("Node.js",),
    "TypeScript": ("Node.js",),
    "Go": ("Go",),
    "Rust": ("Rust",),
    "Java": ("Maven", "Gradle"),
    "Kotlin": ("Gradle", "Maven"),
    "PHP": ("PHP",),
    "C#": (".NET",),
    "Elixir": ("Elixir",),
    "Dart": ("Dart",),
    "Ruby": ("Ruby",),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """One call that a rule would make; the repository's name is put in where it is sent."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The same key as that of the call in the history."""
        return call_key(self.name, self.arguments)


@dataclass(frozen=True, slots=True)
class Plan:
    """The next turn: which rule fires, its calls, and how many of them are asked again. No calls: write the report."""

    rule: str
    calls: tuple[Wish, ...] = ()
    again: int = 0


def plan(history: History, offered: Collection[str]) -> Plan:
    """The next turn by rule.

    Args:
        history: everything asked and answered so far.
        offered: names of the tools that this request offers; no others are called.
    """
    if history.turn >= MOST_TURNS:
        return Plan("enough")
    retries = _retries(history, offered, soon=True)
    rules = _Rules(history)
    for name, rule in rules.all:
        wishes = _new(history, offered, rule())
        if wishes:
            again = retries[:MOST_CALLS]
            return Plan(name, (*again, *wishes)[:MOST_CALLS], len(again))
    if retries:
        return Plan("again", tuple(retries[:MOST_CALLS]), len(retries[:MOST_CALLS]))
    last = _retries(history, offered, soon=False)[:MOST_CALLS]
    return Plan("last_try", tuple(last), len(last)) if last else Plan("write")


def _new(history: History, offered: Collection[str], wishes: Iterator[Wish]) -> list[Wish]:
    """Those of the wishes that can be asked and were never asked, each once."""
    found: dict[str, Wish] = {}
    for wish in wishes:
        if wish.name in offered and wish.key not in history.by_key:
            found.setdefault(wish.key, wish)
    return list(islice(found.values(), MOST_CALLS))


def _retries(history: History, offered: Collection[str], soon: bool) -> list[Wish]:
    """What fell back and is asked again: `soon` a turn after its first time, else whatever has a try left."""
    wishes = []
    for calls in history.by_key.values():
        last = calls[-1]
        if last.status != "fallback" or last.name not in offered or len(calls) >= MOST_ASKS:
            continue
        if not soon or (len(calls) == 1 and last.turn == history.turn):
            arguments = {key: value for key, value in last.arguments.items() if key not in ("owner", "repo")}
            wishes.append(Wish(last.name, arguments))
    return wishes


class _Rules:
    """The rules over one history; what several of them need is worked out once."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.root = history.listings.get("")
        self.read = history.read_paths()
        self._manifests: list[Manifest] | None = None
        self._layout: Layout | None = None
        self.all: tuple[tuple[str, Callable[[], Iterator[Wish]]], ...] = (
            ("first_look", self.first_look),
            ("papers", self.papers),
            ("rooms", self.rooms),
            ("deeper", self.deeper),
            ("entries", self.entries),
        )

    @property
    def manifests(self) -> list[Manifest]:
        """The manifests read so far, parsed."""
        if self._manifests is None:
            self._manifests = read_manifests(self.history)
        return self._manifests

    @property
    def layout(self) -> Layout:
        """The tree as far as it was listed."""
        if self._layout is None:
            self._layout = build_layout(self.history, self.manifests)
        return self._layout

    def _read(self, path: str) -> Iterator[Wish]:
        """A file, as long as not too many were read."""
        if path not in self.read:
            if len(self.read) >= MOST_READ:
                return
            self.read[path] = 1
        yield Wish("read_file", {"path": path})

    def first_look(self) -> Iterator[Wish]:
        """Nothing is known yet, no name either: the repository's facts, its root, its history."""
        yield Wish("get_repo_info")
        yield Wish("list_directory")
        yield Wish("get_commits", {"per_page": COMMITS})

    def papers(self) -> Iterator[Wish]:
        """The root's names are known: what it says of itself."""
        if self.root is None:
            if self.history.status("list_directory") == "fallback":
                yield from self._papers_unseen()
            return
        for page in range(1, MOST_PAGES):
            if 0 < page * self.root.page < self.root.total:
                yield Wish("list_directory", {"offset": page * self.root.page})
        for readme in find_readmes(self.root).paths[:1]:
            yield from self._read(readme)
        names = [entry.name for entry in self.root.entries if entry.kind in ("file", "symlink")]
        for name in sorted(filter(format_of, names), key=lambda name: (rank(name), name))[:MOST_ROOT_MANIFESTS]:
            yield from self._read(name)
        licences = set(find_licences(self.root).paths) & set(names)
        for name in sorted(licences, key=lambda name: (len(name), name))[:1]:
            yield from self._read(name)
        for forge in FORGES:
            if forge in self.root.names():
                yield Wish("find_files", {"pattern": f"{forge}/{WORKFLOWS}"})

    def _papers_unseen(self) -> Iterator[Wish]:
        """The listing cannot be had now: a search may find what it would have shown."""
        for pattern in ("README*", "LICEN*", "pyproject.toml", "package.json"):
            yield Wish("find_files", {"pattern": pattern})
        for search in self.history.searches.values():
            for path in search.paths:
                if "/" not in path and (is_readme(path) or format_of(path)):
                    yield from self._read(path)

    def rooms(self) -> Iterator[Wish]:
        """Source, tests, documents: the root's directories, and where tests and further manifests lie."""
        if self.root is None:
            return
        for path in self._rooms_to_list():
            yield Wish("list_directory", {"path": path})
        languages = list(by_language(self.root.by_extension))[:2]
        patterns = [pattern for language in languages for pattern in TEST_PATTERNS.get(language, ())]
        if languages:
            patterns.append(ANYWHERE)
        ecosystems = {manifest.ecosystem for manifest in self.manifests}
        ecosystems.update(name for language in languages for name in _ECOSYSTEMS.get(language, ()))
        patterns += [kind.search for kind in FORMATS if kind.search and kind.ecosystem in ecosystems]
        for pattern in patterns:
            yield Wish("find_files", {"pattern": pattern})
        for path in self._workflows():
            yield from self._read(path)

    def _rooms_to_list(self) -> list[str]:
        """The root's directories in the order of what they promise; of vendored ones two, to be left out."""
        assert self.root is not None
        order = {"source": 0, "tests": 1, "docs": 2, "other": 4}
        ranked: list[tuple[int, int, str]] = []
        vendored: list[str] = []
        for entry in self.root.of_kind("dir"):
            purpose = purpose_of_name(entry.name, self.layout.packages)
            if purpose and purpose.role in ("vendored", "generated"):
                vendored.append(entry.name)
            elif not entry.name.startswith("."):
                ranked.append((order[purpose.role] if purpose else 3, -(entry.files or 0), entry.name))
        return [name for _, _, name in sorted(ranked)[:MOST_ROOMS]] + vendored[:2]

    def _workflows(self) -> list[str]:
        found = [
            path
            for forge in FORGES
            if (search := self.history.searches.get(f"{forge}/{WORKFLOWS}"))
            for path in search.paths
            if path.endswith((".yml", ".yaml"))
        ]
        # A workflow named for tests or CI says most.
        telling = ("ci", "test", "build")
        return sorted(found, key=lambda path: (not any(word in path.lower() for word in telling), path))[
            :MOST_WORKFLOWS
        ]

    def deeper(self) -> Iterator[Wish]:
        """What the first answers led to: the rest of long manifests, workspaces, source further down."""
        for manifest in self.manifests:
            yield from self._rest(self.history.files[manifest.path])
        for path in self._further_manifests():
            yield from self._read(path)
        listed = len([path for path in self.history.listings if "/" in path])
        for pattern in jvm_searches(self.layout):
            yield Wish("find_files", {"pattern": pattern})
            search = self.history.searches.get(pattern)
            folder = common_folder(search.paths) if search else ""
            if folder and listed < MOST_DEEPER:
                yield Wish("list_directory", {"path": folder})
        for path in descents(self.layout)[: max(MOST_DEEPER - listed, 0)]:
            yield Wish("list_directory", {"path": path})

    def entries(self) -> Iterator[Wish]:
        """Every directory on the way is listed: the files where the code is entered."""
        for entry in entry_points(self.history, self.layout, self.manifests)[:MOST_ENTRIES]:
            yield from self._read(entry.path)

    def _further_manifests(self) -> list[str]:
        """Manifests below the root, the shallow ones first; those of tests, documents and examples are left alone."""
        known = {kind.search for kind in FORMATS if kind.search}
        found = {
            path
            for pattern, search in self.history.searches.items()
            if pattern in known
            for path in search.paths
            if "/" in path and format_of(path) and not in_vendored(path) and not _aside(path)
        }
        return sorted(found, key=lambda path: (path.count("/"), rank(path), path))[:MOST_FURTHER]

    def _rest(self, view: FileView) -> Iterator[Wish]:
        """The windows of a file that are still missing, all of them at once, as far as the bound allows."""
        if view.complete or not view.window or view.characters is None:
            return
        left = MOST_WINDOWS - self.read[view.path]
        for offset in range(len(view.text), view.characters, view.window)[: max(left, 0)]:
            yield Wish("read_file", {"path": view.path, "offset": offset})


def _aside(path: str) -> bool:
    """Whether a file belongs to tests, documents or examples."""
    purposes = (purpose_of_name(part) for part in path.split("/")[:-1])
    return any(purpose and (purpose.role in ("tests", "docs") or purpose.key == "examples") for purpose in purposes)

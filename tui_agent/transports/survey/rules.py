"""What to ask next: the survey's rules, each a function of what is known so far.

The first rule that still wants something fires; its calls go out side by side. Beside them, what fell back a turn ago
is asked again, and what fell back twice once more at the very end. A tool whose breaker is open is left alone until
all else is done; then it is waited for, and a single call probes whether it is back. Every bound below is there so
that a hostile or huge repository, or a service in trouble, costs a handful of turns and no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, takewhile
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
    package_docs,
    package_searches,
    read_manifests,
)
from tui_agent.transports.survey.listing import FileView
from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.manifests import FORMATS, format_of, rank
from tui_agent.transports.survey.papers import FORGES, WORKFLOWS, find_licences, find_readmes, is_readme
from tui_agent.transports.survey.purposes import purpose_of_name
from tui_agent.transports.survey.shapes import text_of

MOST_TURNS = 12
MOST_CALLS = 20  # a turn
MOST_READ = 12  # files in all
MOST_ROOT_MANIFESTS = 6
MOST_WORKFLOWS = 2
MOST_ROOMS = 8
MOST_FURTHER = 4  # manifests below the root
MOST_DEEPER = 6
MOST_ENTRIES = 3
MOST_PACKAGES = 2  # Python packages whose inner packages are looked at
MOST_DOCS = 6
MOST_WINDOWS = 10  # of one file
MOST_PAGES = 5  # of the root's listing
MOST_ASKS = 3  # of the same question, the first included
MOST_BARREN = 4  # turns in which a tool whose breaker is open answered nothing
LONGEST_WAIT = 60.0  # seconds for a breaker
COMMITS = 100
_HINT = re.compile(r"\banother (\d+(?:\.\d+)?) s\b")
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
    """The next turn: which rule fires, its calls, and how many of them are asked again. No calls: write the report.

    `wait` is how many seconds the calls should wait.
    """

    rule: str
    calls: tuple[Wish, ...] = ()
    again: int = 0
    wait: float = 0.0


def plan(history: History, offered: Collection[str]) -> Plan:
    """The next turn by rule.

    Args:
        history: everything asked and answered so far.
        offered: names of the tools that this request offers; no others are called.
    """
    if history.turn >= MOST_TURNS:
        return Plan("enough")
    health = Health(history)
    free = {tool for tool in offered if tool not in health.waits and not health.given_up(tool)}
    retries = _retries(history, free, health)
    waiting: list[Wish] = []
    for name, rule in _Rules(history).all:
        wanted = _new(history, rule())
        waiting += [wish for wish in wanted if wish.name in offered and wish.name not in free]
        wishes = [wish for wish in wanted if wish.name in free]
        if wishes:
            again = retries[:MOST_CALLS]
            return Plan(name, (*again, *wishes)[:MOST_CALLS], len(again))
    if retries:
        return Plan("again", tuple(retries[:MOST_CALLS]), len(retries[:MOST_CALLS]))
    probes = _probes(history, offered, health, waiting)
    if probes:
        wait = max(health.waits[wish.name] for wish in probes)
        return Plan("probe", tuple(probes), len(probes), wait=wait)
    last = [wish for wish in _unanswered(history) if wish.name in free][:MOST_CALLS]
    return Plan("last_try", tuple(last), len(last)) if last else Plan("write")


def _new(history: History, wishes: Iterator[Wish]) -> list[Wish]:
    """Those of the wishes that were never asked, each once."""
    found = {wish.key: wish for wish in wishes if wish.key not in history.by_key}
    return list(islice(found.values(), MOST_CALLS))


def _unanswered(history: History) -> list[Wish]:
    """What fell back every time and has a try left."""
    wishes = []
    for calls in history.by_key.values():
        if calls[-1].status == "fallback" and len(calls) < MOST_ASKS:
            arguments = {key: value for key, value in calls[-1].arguments.items() if key not in ("owner", "repo")}
            wishes.append(Wish(calls[-1].name, arguments))
    return wishes


def _retries(history: History, free: Collection[str], health: Health) -> list[Wish]:
    """What is asked again now: what fell back for the first time a turn ago, or before the service came back."""
    wishes = []
    for wish in _unanswered(history):
        calls = history.by_key[wish.key]
        first_time = len(calls) == 1 and calls[-1].turn == history.turn
        if wish.name in free and (first_time or health.back_since(wish.name, calls[-1].turn)):
            wishes.append(wish)
    return wishes


def _probes(history: History, offered: Collection[str], health: Health, waiting: list[Wish]) -> list[Wish]:
    """One call for each tool whose breaker is open: in half-open, all but one would fall back."""
    found: dict[str, Wish] = {}
    # Whatever was asked least often, so that no call uses up its tries on probes.
    for wish in sorted((*_unanswered(history), *waiting), key=lambda wish: len(history.by_key.get(wish.key, ()))):
        if wish.name in health.waits and wish.name in offered and not health.given_up(wish.name):
            found.setdefault(wish.name, wish)
    return list(found.values())


class Health:
    """How each tool has fared, turn by turn: which are held up by an open breaker, and for how long.

    A fallback by an open breaker says for how many more seconds nothing is sent. `waits` keeps, for each tool that
    got no answer at all in the last turn that it was called in and that has spoken of such a time since it last
    answered, the seconds to wait before it is asked again.
    """

    def __init__(self, history: History) -> None:
        self._turns: dict[str, dict[int, bool]] = {}
        told: dict[tuple[str, int], float] = {}
        for call in history.calls:
            turns = self._turns.setdefault(call.name, {})
            turns[call.turn] = turns.get(call.turn, False) or call.status in ("ok", "error")
            hint = _HINT.search(text_of(call.result.get("error"))) if call.status == "fallback" else None
            if hint:
                told[call.name, call.turn] = max(told.get((call.name, call.turn), 0.0), float(hint[1]))
        waits = ((tool, self._wait(tool, told)) for tool in self._turns)
        self.waits = {tool: min(wait, LONGEST_WAIT) + 1 for tool, wait in waits if wait is not None}

    def _wait(self, tool: str, told: Mapping[tuple[str, int], float]) -> float | None:
        """How long a tool's breaker stays open; None where it is not known to be open."""
        turns = sorted(self._turns[tool], reverse=True)
        barren = list(takewhile(lambda turn: not self._turns[tool][turn], turns))
        hints = [told[tool, turn] for turn in barren if (tool, turn) in told]
        if not hints:
            return None
        # Where the last turn told nothing, a probe failed and the breaker opened anew; hints tell what was left.
        return told.get((tool, barren[0]), max(hints) * 1.5)

    def given_up(self, tool: str) -> bool:
        """Whether a tool got no answer in so many turns running that it is left alone."""
        turns = sorted(self._turns.get(tool, {}), reverse=True)
        barren = list(takewhile(lambda turn: not self._turns[tool][turn], turns))
        return tool in self.waits and len(barren) >= MOST_BARREN

    def back_since(self, tool: str, turn: int) -> bool:
        """Whether the tool has answered in a later turn than `turn`, after one in which it answered nothing."""
        turns = self._turns.get(tool, {})
        return not turns.get(turn, True) and any(answered for later, answered in turns.items() if later > turn)


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
            elif not entry.name.startswith(".") or (purpose and purpose.key == "ci"):
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
        for pattern in package_searches(self.layout)[:MOST_PACKAGES]:
            yield Wish("find_files", {"pattern": pattern})

    def entries(self) -> Iterator[Wish]:
        """Every directory on the way is listed: the files where the code is entered, and inner packages' own words."""
        for entry in entry_points(self.history, self.layout, self.manifests)[:MOST_ENTRIES]:
            yield from self._read(entry.path)
        for path in package_docs(self.history, self.layout)[:MOST_DOCS]:
            yield from self._read(path)

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

"""A history, worked out: every fact that the report may state, and what could not be known.

A thing is `missing` only where it was looked for and could be seen; where a listing or a search is lacking it is
`unknown`, and the report says so in those words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_agent.transports.survey.activity import Activity, read_activity
from tui_agent.transports.survey.history import History
from tui_agent.transports.survey.languages import Languages, count_languages
from tui_agent.transports.survey.layout import (
    EntryPoint,
    Layout,
    Room,
    build_layout,
    entry_points,
    in_vendored,
    read_manifests,
    source_rooms,
)
from tui_agent.transports.survey.listing import FileView, Found, Listing
from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.manifests import format_of
from tui_agent.transports.survey.manifests_yaml import Workflow, parse_workflow
from tui_agent.transports.survey.papers import (
    CI,
    CI_BY_NAME,
    FORGES,
    LOCKS,
    NOTES,
    TOOLS,
    WORKFLOWS,
    Finding,
    find_in_root,
    find_licences,
    find_readmes,
    is_licence,
    is_readme,
    named_in_root,
)
from tui_agent.transports.survey.prose import Passage, first_line, first_paragraph, opening_comment
from tui_agent.transports.survey.purposes import purpose_of_name
from tui_agent.transports.survey.rules import ANYWHERE, TEST_PATTERNS
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, number_of, text_of

HUGE_BYTES = 1_000_000
_TEST_FILE = re.compile(
    r"(?:test_.+|.+_test|.+[.-](?:test|spec)|.+_spec|tests?)\.\w+|.+(?:Test|Tests|Spec)\.(?:java|kt|cs|php|scala)"
)


@dataclass(slots=True)
class Info:
    """What the service says of the repository as a whole; None and "" where it does not."""

    full_name: str = ""
    description: str = ""
    homepage: str = ""
    language: str = ""
    topics: list[str] = field(default_factory=list)
    licence: str = ""
    licence_known: bool = False
    default_branch: str = ""
    stars: int | None = None
    forks: int | None = None
    open_issues: int | None = None
    created_at: str = ""
    archived: bool | None = None
    fork: bool = False
    parent: str = ""
    private: bool = False
    local: bool = False
    folder: bool = False
    bare: bool = False
    detached: bool = False


@dataclass(slots=True)
class Tests:
    """Where tests are: directories with their files, names matched by searches, test files in the root."""

    state: str
    rooms: list[Room] = field(default_factory=list)
    matches: list[tuple[str, int, bool]] = field(default_factory=list)
    root_files: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Continuous:
    """Continuous integration: systems by their files, workflows by path, those that were read."""

    state: str
    systems: list[tuple[str, str]] = field(default_factory=list)
    workflows: list[str] = field(default_factory=list)
    parsed: list[Workflow] = field(default_factory=list)


@dataclass(slots=True)
class Facts:
    """Everything that the report may state."""

    history: History
    info: Info | None
    layout: Layout
    manifests: list[Manifest]
    unread_manifests: list[str]
    further_manifests: list[str]
    readme: Finding
    readme_view: FileView | None
    prose: Passage | None
    licences: Finding
    licence_line: tuple[str, Passage] | None
    notes: dict[str, Finding]
    languages: Languages | None
    tests: Tests
    ci: Continuous
    docs: Finding
    locks: list[str]
    tools: list[tuple[str, str]]
    entries: list[EntryPoint]
    comments: dict[str, Passage]
    activity: Activity | None
    huge: list[tuple[str, int]]

    @property
    def root(self) -> Listing | None:
        """The root's listing."""
        return self.layout.root

    @property
    def counted(self) -> bool:
        """Whether the tool counted the tree; a tree that came cut is not."""
        return self.root is not None and self.root.files is not None

    @property
    def empty(self) -> bool:
        """Whether the root was seen and holds nothing."""
        return self.root is not None and self.root.total == 0

    @property
    def source_rooms(self) -> list[Room]:
        """Listed directories with code of the project's own."""
        return source_rooms(self.layout)

    def unseen(self, what: str, tool: str) -> str:
        """The phrase for what is not known: it could not be had, or nobody asked for it."""
        return what if any(call.name == tool for call in self.history.calls) else f"{what}_unasked"


def gather(history: History, now: float) -> Facts:
    """Work out the facts.

    Args:
        history: what was observed.
        now: seconds since the epoch, for what depends on today.
    """
    manifests = read_manifests(history)
    layout = build_layout(history, manifests)
    root = layout.root
    readme = _or_read(find_readmes(root), (path for path in history.files if "/" not in path and is_readme(path)))
    licences = _or_read(find_licences(root), (path for path in history.files if "/" not in path and is_licence(path)))
    readme_view = next((history.files[path] for path in readme.paths if path in history.files), None)
    entries = entry_points(history, layout, manifests)
    return Facts(
        history=history,
        info=_info(history.info),
        layout=layout,
        manifests=manifests,
        unread_manifests=_unread(history, root),
        further_manifests=_further(history),
        readme=readme,
        readme_view=readme_view,
        prose=first_paragraph(readme_view.path, readme_view.text) if readme_view else None,
        licences=licences,
        licence_line=_licence_line(history, licences),
        notes={kind: find_in_root(root, pattern) for kind, pattern in NOTES.items()},
        languages=_languages(layout),
        tests=_tests(history, layout),
        ci=_continuous(history, root),
        docs=_docs(layout),
        locks=named_in_root(root, LOCKS),
        tools=[(name, TOOLS[name]) for name in named_in_root(root, TOOLS)],
        entries=entries,
        comments=_comments(history),
        activity=read_activity(history.calls, now),
        huge=_huge(layout),
    )


def _or_read(finding: Finding, read: Iterable[str]) -> Finding:
    """The finding; where the root was not seen, what was read all the same."""
    paths = list(read)
    return Finding("found", paths) if not finding.paths and paths else finding


def _info(data: Json | None) -> Info | None:
    if data is None:
        return None
    local = dict_of(data.get("local"))
    archived = data.get("archived")
    return Info(
        full_name=text_of(data.get("full_name")),
        description=text_of(data.get("description")),
        homepage=text_of(data.get("homepage")),
        language=text_of(data.get("language")),
        topics=[text_of(topic) for topic in list_of(data.get("topics")) if text_of(topic)],
        licence=text_of(data.get("license")),
        licence_known="license" in data,
        default_branch=text_of(data.get("default_branch")),
        stars=number_of(data.get("stars")),
        forks=number_of(data.get("forks")),
        open_issues=number_of(data.get("open_issues")),
        created_at=text_of(data.get("created_at")),
        archived=archived if isinstance(archived, bool) else None,
        fork=data.get("fork") is True,
        parent=text_of(data.get("parent")),
        private=data.get("private") is True,
        local=bool(local),
        folder=local.get("kind") == "folder",
        bare=local.get("bare") is True,
        detached=local.get("detached") is True,
    )


def _unread(history: History, root: Listing | None) -> list[str]:
    """Manifests that the root shows and that were not read."""
    names = [entry.name for entry in root.entries if entry.kind in ("file", "symlink")] if root else []
    return [name for name in names if format_of(name) and name not in history.files]


def _further(history: History) -> list[str]:
    """Manifests below the root that a search or a listing named, vendored ones left out."""
    found = {path for search in history.searches.values() for path in search.paths}
    for listing in history.listings.values():
        found.update(listing.join(entry.name) for entry in listing.of_kind("file"))
    return sorted(path for path in found if "/" in path and format_of(path) and not in_vendored(path))


def _licence_line(history: History, licences: Finding) -> tuple[str, Passage] | None:
    for path in licences.paths:
        view = history.files.get(path)
        line = first_line(view.text) if view else None
        if line:
            return path, line
    return None


def _languages(layout: Layout) -> Languages | None:
    if layout.root is None or layout.root.files is None:
        return None
    aside = [room.listing for room in layout.rooms if room.role in ("vendored", "generated") and room.listing]
    return count_languages(layout.root, aside)


def _tests(history: History, layout: Layout) -> Tests:
    """Tests by the habits of names: `missing` only where the root was seen whole and every search answered."""
    rooms = [room for room in (*layout.rooms, *layout.inner) if room.role == "tests" and room.files != 0]
    outer = {room.path for room in rooms}
    rooms = [room for room in rooms if not any(room.path.startswith(f"{path}/") for path in outer)]
    for listing in history.listings.values():
        if listing.path and not any(listing.path == p or listing.path.startswith(f"{p}/") for p in outer):
            for entry in listing.of_kind("dir"):
                purpose = purpose_of_name(entry.name, layout.packages)
                path = listing.join(entry.name)
                if purpose and purpose.role == "tests" and entry.files and path not in outer and not in_vendored(path):
                    rooms.append(Room(path, entry.files, purpose, None))
    patterns = {ANYWHERE, *(pattern for patterns in TEST_PATTERNS.values() for pattern in patterns)}
    tests = Tests("unknown", rooms)
    for pattern, search in history.searches.items():
        if pattern not in patterns:
            continue
        tests.searched.append(pattern)
        files, exact = own_matches(search)
        if files and (pattern != ANYWHERE or not rooms):
            tests.matches.append((pattern, files, exact))
    root = layout.root
    if root is not None:
        tests.root_files = [entry.name for entry in root.of_kind("file") if _TEST_FILE.fullmatch(entry.name)]
    asked = {call.key for call in history.calls if call.name == "find_files"}
    answered = all(history.by_key[key][-1].status == "ok" for key in asked)
    limited = any(search.limited for search in history.searches.values())
    if tests.rooms or tests.matches or tests.root_files:
        tests.state = "found"
    elif (
        root is not None and root.complete and answered and not limited and (ANYWHERE in tests.searched or _flat(root))
    ):
        tests.state = "missing"
    return tests


def _flat(root: Listing) -> bool:
    """Whether the root's own names are all there is."""
    return not root.of_kind("dir")


def own_matches(search: Found) -> tuple[int, bool]:
    """How many of a search's files are the project's own, and whether that is exact (else: at least)."""
    own = sum(1 for path in search.paths if not in_vendored(path))
    return own, search.complete


def _continuous(history: History, root: Listing | None) -> Continuous:
    """CI by the files that set it up in the root or in a forge's workflows directory."""
    ci = Continuous("unknown")
    if root is None:
        return ci
    ci.systems = [(name, CI[name]) for name in named_in_root(root, CI)]
    ci.systems += [
        (name, "") for name in named_in_root(root, CI_BY_NAME) if name in {e.name for e in root.of_kind("dir")}
    ]
    certain = root.complete
    for forge, system in FORGES.items():
        if forge not in {entry.name for entry in root.of_kind("dir")}:
            continue
        search = history.searches.get(f"{forge}/{WORKFLOWS}")
        listing = history.listings.get(f"{forge}/workflows")
        if search is None and listing is None:
            certain = False
            continue
        paths = (
            list(search.paths) if search else [listing.join(e.name) for e in listing.of_kind("file")] if listing else []
        )
        certain &= search is None or not search.limited
        workflows = [path for path in paths if path.endswith((".yml", ".yaml"))]
        if workflows:
            ci.systems.append((f"{forge}/workflows", system))
            ci.workflows += workflows
    ci.parsed = [
        parse_workflow(path, history.files[path].text)
        for path in ci.workflows
        if path in history.files and history.files[path].complete
    ]
    ci.state = "found" if ci.systems else "missing" if certain else "unknown"
    return ci


def _docs(layout: Layout) -> Finding:
    rooms = [
        room.path for room in layout.with_role("docs") if room.purpose and room.purpose.by_name and room.files != 0
    ]
    if rooms:
        return Finding("found", rooms)
    return Finding("missing" if layout.root is not None and layout.root.complete else "unknown")


def _comments(history: History) -> dict[str, Passage]:
    """What the source files that were read say of themselves first."""
    found = {}
    for path, view in history.files.items():
        if not format_of(path) and not is_readme(path) and not is_licence(path):
            comment = opening_comment(path, view.text)
            if comment:
                found[path] = comment
    return found


def _huge(layout: Layout) -> list[tuple[str, int]]:
    """The largest files of the tree that are huge, vendored ones left out."""
    largest = layout.root.largest if layout.root else []
    return [(path, size) for path, size in largest if size >= HUGE_BYTES and not in_vendored(path)]

"""Where things stand in the tree: the root's directories with their purposes, source rooms, entry points."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tui_agent.languages import LANGUAGE
from tui_agent.transports.survey.history import History
from tui_agent.transports.survey.languages import language_of
from tui_agent.transports.survey.listing import Listing
from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.manifests import format_of, parse_manifest, rank
from tui_agent.transports.survey.purposes import (
    VENDORED,
    Purpose,
    normal_name,
    purpose_of_contents,
    purpose_of_name,
)

_JVM = (".java", ".kt", ".scala", ".groovy")
_DEEPEST = 8
_SAYING = 20  # bytes: the shortest docstring that says anything
# Files whose names say that a program starts or a package opens there, the telling ones first; those of the second list
# only in the root, since inside a package they may be any module.
_ENTRY_NAMES = tuple(
    "__main__.py main.go main.rs Program.cs main.ts main.tsx index.ts index.tsx index.js index.mjs server.js server.ts"
    " Main.java Main.kt main.c main.cpp main.cc main.dart main.swift lib.rs __init__.py".split()
)
_ROOT_ENTRY_NAMES = tuple("main.py app.py manage.py wsgi.py asgi.py main.js app.js index.php index.html".split())
_NAMED_AFTER = (".rb", ".ex", ".dart", ".jl", ".lua", ".php")


@dataclass(slots=True)
class Room:
    """One directory: files counted recursively by the tool, its purpose, and its own listing where it was seen."""

    path: str
    files: int | None
    purpose: Purpose | None
    listing: Listing | None

    @property
    def role(self) -> str:
        """What kind of room it is; "other" where nothing says."""
        return self.purpose.role if self.purpose else "other"


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A file where the code is entered: `command` is the program that starts there, "" where its name alone says so."""

    path: str
    command: str = ""
    source: str = ""


@dataclass(slots=True)
class Layout:
    """The tree as far as it is known."""

    root: Listing | None
    rooms: list[Room] = field(default_factory=list)
    inner: list[Room] = field(default_factory=list)
    packages: frozenset[str] = frozenset()

    def with_role(self, role: str) -> list[Room]:
        """The root's directories of one kind."""
        return [room for room in self.rooms if room.role == role]


def read_manifests(history: History) -> list[Manifest]:
    """Every manifest that was read, parsed; the root's first, then in the order in which they are worth reading."""
    found = []
    for path, view in history.files.items():
        if format_of(path) and not in_vendored(path):
            manifest = parse_manifest(path, view.text, view.complete)
            if manifest:
                found.append(manifest)
    return sorted(found, key=lambda manifest: (manifest.path.count("/"), rank(manifest.path), manifest.path))


def in_vendored(path: str) -> bool:
    """Whether a directory of copied code holds the file."""
    return any(part.lower() in VENDORED for part in path.split("/")[:-1])


def build_layout(history: History, manifests: Sequence[Manifest]) -> Layout:
    """The tree's rooms, from the listings that were seen.

    Args:
        history: what was observed.
        manifests: they name the packages that directories may be called after.
    """
    root = history.listings.get("")
    names = {normal_name(manifest.name) for manifest in manifests if manifest.name}
    names.add(normal_name(history.request.name))
    layout = Layout(root=root, packages=frozenset(names - {""}))
    listed = history.listings
    for entry in root.of_kind("dir") if root else ():
        layout.rooms.append(_room(entry.name, entry.files, listed.get(entry.name), layout.packages))
    for path, listing in listed.items():
        if "/" in path:
            layout.inner.append(_room(path, listing.files, listing, layout.packages))
        elif path and root is None:
            layout.rooms.append(_room(path, listing.files, listing, layout.packages))
    layout.inner.sort(key=lambda room: room.path)
    return layout


def _room(path: str, files: int | None, listing: Listing | None, packages: frozenset[str]) -> Room:
    purpose = purpose_of_name(path.rpartition("/")[2], packages)
    contents = purpose_of_contents(listing) if listing is not None else None
    if purpose is None or (contents is not None and contents.says_more_than(purpose)):
        purpose = contents
    if listing is not None and listing.files is not None:
        files = listing.files
    return Room(path, files, purpose, listing)


def source_rooms(layout: Layout) -> list[Room]:
    """Listed directories that hold code of the project's own: the root's and the deeper ones."""
    return [room for room in (*layout.rooms, *layout.inner) if room.listing and room.role == "source"]


def descents(layout: Layout) -> list[str]:
    """Directories worth listing next: where a source room holds no code itself but one way down."""
    found = []
    for room in source_rooms(layout):
        listing = room.listing
        if listing is None or room.path.count("/") >= _DEEPEST:
            continue
        if any(language_of(entry.name) for entry in listing.of_kind("file")):
            continue
        dirs = [entry.name for entry in listing.of_kind("dir") if not entry.name.startswith(".")]
        own = [name for name in dirs if normal_name(name) in layout.packages]
        if len(dirs) == 1:
            found.append(listing.join(dirs[0]))
        elif own:
            found.append(listing.join(own[0]))
    return found


def jvm_searches(layout: Layout) -> list[str]:
    """Patterns that find the sources under Maven's standard layout, whose packages are deep chains of directories."""
    patterns = []
    for room in source_rooms(layout):
        listing = room.listing
        if listing is None or "main" not in listing.names() or room.path.rpartition("/")[2] != "src":
            continue
        extension = next((known for known in listing.by_extension if known in _JVM), None)
        if extension:
            patterns.append(f"{room.path}/main/**/*{extension}")
    return patterns


def package_searches(layout: Layout) -> list[str]:
    """Patterns that find the inner packages of listed Python packages, the larger ones first."""
    rooms = [room for room in source_rooms(layout) if room.listing and "__init__.py" in room.listing.names()]
    rooms = [room for room in rooms if room.listing and room.listing.of_kind("dir")]
    return [f"{room.path}/*/__init__.py" for room in sorted(rooms, key=lambda room: (-(room.files or 0), room.path))]


def package_docs(history: History, layout: Layout) -> list[str]:
    """The `__init__.py` of inner packages that are long enough to say what they are for, large packages first."""
    sized: dict[str, int | None] = {}
    for pattern in package_searches(layout):
        search = history.searches.get(pattern)
        sized.update(search.paths if search else {})
    listings = (room.listing for room in source_rooms(layout) if room.listing)
    files = {listing.join(entry.name): entry.files or 0 for listing in listings for entry in listing.of_kind("dir")}
    saying = [path for path, size in sized.items() if size is None or size >= _SAYING]
    return sorted(saying, key=lambda path: (-files.get(posixpath.dirname(path), 0), path))


def common_folder(paths: Iterable[str]) -> str:
    """The deepest directory that holds all of the files."""
    common: list[str] | None = None
    for path in paths:
        parts = path.split("/")[:-1]
        if common is None:
            common = parts
        same = next((i for i, (a, b) in enumerate(zip(common, parts, strict=False)) if a != b), None)
        common = common[: min(len(common), len(parts)) if same is None else same]
    return "/".join(common or ())


def _known_files(history: History) -> Iterator[str]:
    for listing in history.listings.values():
        for entry in listing.of_kind("file"):
            yield listing.join(entry.name)


def entry_points(history: History, layout: Layout, manifests: Sequence[Manifest]) -> list[EntryPoint]:
    """Listed files where the code is entered: those that a manifest names, then those known by their own names."""
    known = set(_known_files(history))
    found: dict[str, EntryPoint] = {}
    for manifest in manifests:
        for command, target in manifest.commands:
            for path in _targets(manifest, target):
                if path in known:
                    found.setdefault(path, EntryPoint(path, command, manifest.path))
                    break
        for target in manifest.entry_files:
            path = posixpath.normpath(posixpath.join(manifest.folder, target))
            if path in known:
                found.setdefault(path, EntryPoint(path, "", manifest.path))
    by_name = sorted(
        (path for path in known if _opens(path, layout)),
        key=lambda path: (_name_rank(path), path.count("/"), path),
    )
    for path in by_name:
        found.setdefault(path, EntryPoint(path))
    return list(found.values())


def _targets(manifest: Manifest, target: str) -> Iterator[str]:
    """The paths that a command's target may stand for: a file as written, or a Python module."""
    if "/" in target or target.endswith((".js", ".mjs", ".cjs", ".rb", ".php", ".ts", ".rs")):
        yield posixpath.normpath(posixpath.join(manifest.folder, target))
        return
    module = re.fullmatch(r"([\w.]+)(?::[\w.]+)?(?:\s*\[.*\])?", target)
    if module:
        path = module[1].replace(".", "/")
        for base in ("", "src/", "lib/"):
            for ending in (".py", "/__init__.py"):
                yield posixpath.normpath(posixpath.join(manifest.folder, f"{base}{path}{ending}"))


def _opens(path: str, layout: Layout) -> bool:
    """Whether a file's name says that code is entered there, and its directory is one of the project's source."""
    folder, _, name = path.rpartition("/")
    top = path.partition("/")[0]
    room = next((room for room in layout.rooms if room.path == top), None)
    if "/" in path and (room is None or room.role != "source"):
        return False
    if name in _ENTRY_NAMES:
        return bool(folder) or name != "__init__.py"
    if not folder and name in _ROOT_ENTRY_NAMES:
        return True
    stem, dot, ending = name.rpartition(".")
    return (
        bool(folder)
        and dot + ending in _NAMED_AFTER
        and dot + ending in LANGUAGE
        and normal_name(stem) in layout.packages
    )


def _name_rank(path: str) -> int:
    name = path.rpartition("/")[2]
    return _ENTRY_NAMES.index(name) if name in _ENTRY_NAMES else 0

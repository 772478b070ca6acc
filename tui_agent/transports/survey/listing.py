"""What the tools said of the tree and of its files, put together from their pages and windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from tui_agent.transports.survey.shapes import (
    Json,
    dict_of,
    list_of,
    number_of,
    plain_path,
    strings_of,
    text_of,
)

Answer = tuple[Json, Json]
Kind = Literal["file", "dir", "symlink", "submodule"]
_NAMED: dict[str, Kind] = {"symlinks": "symlink", "submodules": "submodule"}
_LARGEST = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory: `size` in bytes for files, `files` counted recursively for directories."""

    name: str
    kind: Kind
    size: int | None = None
    files: int | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """How many files and bytes something makes up."""

    files: int
    size: int


@dataclass(slots=True)
class Listing:
    """One directory as far as it was seen; the counts are the tool's own, over the whole subtree.

    `page` is how many entries its first page brought.
    """

    path: str
    entries: list[Entry]
    total: int
    page: int = 0
    files: int | None = None
    size: int | None = None
    by_extension: dict[str, Share] = field(default_factory=dict)
    largest: list[tuple[str, int]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether every entry was seen."""
        return len(self.entries) >= self.total

    def of_kind(self, kind: Kind) -> list[Entry]:
        """The entries of one kind, in the listing's order."""
        return [entry for entry in self.entries if entry.kind == kind]

    def names(self) -> set[str]:
        """The names that were seen."""
        return {entry.name for entry in self.entries}

    def join(self, name: str) -> str:
        """The path of one of its entries."""
        return f"{self.path}/{name}" if self.path else name


@dataclass(slots=True)
class Found:
    """What a search over the tree found: `total` matches, the first of them by path with their sizes.

    `limited` is True where the tool says that it could not search the whole tree.
    """

    pattern: str
    total: int
    paths: dict[str, int | None]
    limited: bool = False

    @property
    def complete(self) -> bool:
        """Whether every match was named."""
        return len(self.paths) >= self.total and not self.limited


@dataclass(slots=True)
class FileView:
    """One file as far as it was read: `text` is whole from its first character on.

    `window` is how many characters its first answer brought; a number that was not told is None.
    """

    path: str
    text: str
    size: int | None = None
    characters: int | None = None
    lines: int | None = None
    complete: bool = False
    symlink_to: str = ""
    window: int = 0

    @property
    def name(self) -> str:
        """The last part of its path."""
        return PurePosixPath(self.path).name


def listings(answers: Iterable[Answer]) -> dict[str, Listing]:
    """Directories by path, their pages joined."""
    found: dict[str, Listing] = {}
    for arguments, result in answers:
        path = _path(arguments, result)
        entries = list(_entries(result))
        listing = found.get(path)
        if listing is None:
            listing = found[path] = Listing(path=path, entries=[], total=0)
        if not number_of(arguments.get("offset")):
            listing.page = len(entries)
        seen = listing.names()
        listing.entries.extend(entry for entry in entries if entry.name not in seen)
        total = number_of(result.get("total_entries"))
        listing.total = total if total is not None else max(listing.total, len(listing.entries))
        if "below" in result:
            _count(listing, dict_of(result["below"]))
        elif listing.complete and not listing.of_kind("dir"):
            _count_flat(listing)
    return found


def _count(listing: Listing, below: Json) -> None:
    """Take the tool's own counts of the whole subtree."""
    listing.files, listing.size = number_of(below.get("files")), number_of(below.get("size"))
    listing.by_extension = _shares(below.get("by_extension"))
    # What stands in the directory itself is not named again.
    named = {**_own_sizes(listing), **{path: size or 0 for path, size in _sized(below.get("largest")).items()}}
    listing.largest = sorted(named.items(), key=lambda item: (-item[1], item[0]))[:_LARGEST]


def _count_flat(listing: Listing) -> None:
    """Count what the entries alone say of a directory without directories."""
    sizes = _own_sizes(listing)
    shares: dict[str, Share] = {}
    for path, size in sizes.items():
        extension = PurePosixPath(path).suffix.lower()
        old = shares.get(extension, Share(0, 0))
        shares[extension] = Share(old.files + 1, old.size + size)
    listing.files, listing.size = len(sizes), sum(sizes.values())
    listing.by_extension = dict(sorted(shares.items(), key=lambda item: (-item[1].size, -item[1].files, item[0])))
    listing.largest = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:_LARGEST]


def _own_sizes(listing: Listing) -> dict[str, int]:
    return {listing.join(entry.name): entry.size or 0 for entry in listing.of_kind("file")}


def searches(answers: Iterable[Answer]) -> dict[str, Found]:
    """Searches by pattern, their pages joined."""
    found: dict[str, Found] = {}
    for arguments, result in answers:
        pattern = text_of(result.get("pattern")) or text_of(arguments.get("pattern"))
        paths = _sized(result.get("files"))
        total = number_of(result.get("total"))
        search = found.setdefault(pattern, Found(pattern=pattern, total=0, paths={}))
        search.paths.update(paths)
        search.total = max(total or 0, len(search.paths))
        search.limited |= bool(result.get("note"))
    return found


def file_views(answers: Iterable[Answer]) -> dict[str, FileView]:
    """Files by path, their windows joined as far as they are whole from the beginning."""
    windows: dict[str, list[tuple[int, str]]] = {}
    last: dict[str, Json] = {}
    for arguments, result in answers:
        path = _path(arguments, result)
        content = result.get("content")
        if not path or not isinstance(content, str):
            continue
        last[path] = result
        offset = number_of(arguments.get("offset")) or 0
        by_lines = arguments.get("start_line") not in (None, "", 1, "1") and not offset
        windows.setdefault(path, []).append((-1 if by_lines else offset, text_of(content)))
    return {path: _view(path, parts, last[path]) for path, parts in windows.items()}


def _view(path: str, parts: list[tuple[int, str]], result: Json) -> FileView:
    text = ""
    for offset, content in sorted(parts, key=lambda part: part[0]):
        if 0 <= offset <= len(text) < offset + len(content):
            text = text[:offset] + content
    characters = number_of(result.get("characters"))
    whole = len(text) >= characters if characters is not None else result.get("truncated") is False
    return FileView(
        path=path,
        text=text,
        size=number_of(result.get("size")),
        characters=characters,
        lines=number_of(result.get("lines")),
        complete=whole,
        symlink_to=text_of(result.get("symlink_to")),
        window=next((len(content) for offset, content in parts if offset == 0), 0),
    )


def _path(arguments: Json, result: Json) -> str:
    """The path that an answer speaks of: its own word for it before the question's."""
    own = result.get("path")
    return plain_path(own if isinstance(own, str) else arguments.get("path"))


def _entries(result: Json) -> Iterator[Entry]:
    """`{"dirs": {name: files}, "files": {name: bytes}, "symlinks": [name…], "submodules": [name…]}`, in that order."""
    for name, files in _sized(result.get("dirs")).items():
        yield Entry(name, "dir", files=files)
    for name, size in _sized(result.get("files")).items():
        yield Entry(name, "file", size=size)
    for key, kind in _NAMED.items():
        for name in strings_of(result.get(key)):
            if name:
                yield Entry(name, kind)


def _sized(value: object) -> dict[str, int | None]:
    """Names with numbers, a number that is none as None."""
    return {text_of(name): number_of(size) for name, size in dict_of(value).items() if text_of(name)}


def _shares(value: object) -> dict[str, Share]:
    shares: dict[str, Share] = {}
    for extension, item in dict_of(value).items():
        files, size = (number_of(part) for part in (*list_of(item), None, None)[:2])
        if files is not None and size is not None:
            shares[text_of(extension)] = Share(files=files, size=size)
    return shares

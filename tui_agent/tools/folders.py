"""`list_directory` and `find_files`: what the tree holds, folded where it is long. Both cost no request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tui_agent.events import JsonObject
from tui_agent.github.tree import Entry, RepositorySnapshot
from tui_agent.resilience.call import Call
from tui_agent.tools.globs import compile_glob
from tui_agent.tools.workspace import Found, ToolError, Workspace, find, instead, quoted

LIST_LIMIT = 200
"""Entries of a list in one answer."""
_EXTENSIONS = 15
T = TypeVar("T")


async def list_directory(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """What a directory holds, folded where it is long.

    Raises:
        ToolError: there is no such directory.
        GitHubError, Trouble, Unavailable: the tree was cut, and the directory could not be had.
    """
    snapshot = work.snapshot
    found = await find(work, call, arguments.get("path", ""))
    entry = found.entry
    if entry.kind != "dir":
        raise ToolError(f"{quoted(found.path)} is a {entry.kind}, no directory{instead(entry)}.")
    children = await snapshot.children(call, entry.path)
    return await _aside(snapshot, lambda: _listing(snapshot, found, children, int(arguments.get("offset", 0))))


async def _aside(snapshot: RepositorySnapshot, work: Callable[[], T]) -> T:
    """Work that goes through many entries, where the screen does not feel it."""
    return await asyncio.to_thread(work) if snapshot.is_large else work()


def _listing(snapshot: RepositorySnapshot, found: Found, children: list[Entry], offset: int) -> JsonObject:
    children = sorted(children, key=lambda child: (child.kind != "dir", child.path))
    shown = children[offset : offset + LIST_LIMIT]
    result: JsonObject = {"ok": True, "path": found.path}
    if found.symlink_to is not None:
        result["symlink_to"] = found.symlink_to
    result.update(_entries(snapshot, shown))
    rest = len(children) - offset - len(shown)
    if len(shown) < len(children):
        result["total_entries"] = len(children)
    if shown and rest > 0:
        result["more"] = f"{rest:,} more entries: call list_directory with offset={offset + len(shown)}."
    if not shown:
        result["note"] = _nothing(found.entry, len(children))
    elif snapshot.truncated:
        result["note"] = "The tree is too large to be counted; what lies below directories is not known."
    # Where all entries are shown and none is a directory, they say all of this themselves.
    if offset == 0 and (rest > 0 or any(child.kind == "dir" for child in children)):
        result.update(_below(snapshot, found.entry.path, {child.path for child in shown}))
    return result


def _nothing(entry: Entry, total: int) -> str:
    if total:
        return f"The directory has only {total:,} entries."
    return "The directory is empty." if entry.path else "The repository is empty."


def _below(snapshot: RepositorySnapshot, path: str, shown: set[str]) -> JsonObject:
    """All files below a directory, counted; the largest are named where they are not `shown` already."""
    summary = snapshot.summary(path)
    if summary is None:
        return {}
    extensions = list(summary.by_extension.items())
    by_extension = {name: [files, size] for name, (files, size) in extensions[:_EXTENSIONS]}
    others = [counted for _, counted in extensions[_EXTENSIONS:]]
    if others:
        by_extension["(other)"] = [sum(files for files, _ in others), sum(size for _, size in others)]
    below: JsonObject = {"files": summary.files, "size": summary.size, "by_extension": by_extension}
    largest = {name: size for name, size in summary.largest if name not in shown}
    return {"below": {**below, "largest": largest} if largest else below}


def _entries(snapshot: RepositorySnapshot, shown: list[Entry]) -> JsonObject:
    """Entries by kind: directories with the files below them, files with their bytes, links, submodules."""
    dirs: dict[str, int | None] = {}
    for child in shown:
        if child.kind == "dir":
            counts = snapshot.counts(child.path)
            dirs[child.name] = counts[0] if counts else None
    kinds: JsonObject = {
        "dirs": dirs,
        "files": {child.name: child.size for child in shown if child.kind == "file"},
        "symlinks": [child.name for child in shown if child.kind == "symlink"],
        "submodules": [child.name for child in shown if child.kind == "submodule"],
    }
    return {kind: entries for kind, entries in kinds.items() if entries}


async def find_files(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """Files of the whole tree by a glob pattern.

    Raises:
        ToolError: the pattern is none.
    """
    pattern = arguments["pattern"].strip()
    try:
        matches = compile_glob(pattern)
    except ValueError as error:
        raise ToolError(str(error)) from None
    files = work.snapshot.all_files()

    found = await _aside(work.snapshot, lambda: [entry for entry in files if matches(entry.path)])
    offset = arguments.get("offset", 0)
    shown = found[offset : offset + LIST_LIMIT]
    result: JsonObject = {
        "ok": True,
        "pattern": pattern,
        "total": len(found),
        "files": {entry.path: entry.size for entry in shown},
    }
    rest = len(found) - offset - len(shown)
    if shown and rest > 0:
        result["more"] = f"{rest:,} more files: call find_files with offset={offset + len(shown)}."
    if work.snapshot.truncated:
        result["note"] = f"The tree is too large to be known whole: {len(files):,} files of it were searched."
    return result

"""Observations with their short forms spelt out, for whoever looks things up in them.

What the model gets is dense (`tools/`): a directory's entries by kind, sizes as mappings, commits as rows. Here each
entry and each commit is an object of its own again, and what entries imply is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tui_agent.events import JsonObject

_COMMIT = ("sha", "date", "author", "message")


def spelled_out(tool: str, result: JsonObject) -> JsonObject:
    """A tool's result in the long form; what is in no short form stays as it is."""
    if tool == "list_directory":
        return _listing(result)
    commits = result.get("commits")
    if tool == "get_commits" and isinstance(commits, list):
        rows = [dict(zip(_COMMIT, row, strict=False)) if isinstance(row, list) else row for row in commits]
        return {**result, "commits": rows}
    return result


def _listing(result: JsonObject) -> JsonObject:
    entries = list(_entries(result))
    if not entries and "entries" in result:
        return result
    kinds = ("dirs", "files", "symlinks", "submodules", "below")
    long = {key: value for key, value in result.items() if key not in kinds} | {"entries": entries}
    below = result.get("below")
    if isinstance(below, dict):
        return long | below
    if "dirs" in result or "total_entries" in result:
        return long
    sizes = [(entry["name"], entry["size"] or 0) for entry in entries if entry["type"] == "file"]
    files, size = Counter[str](), Counter[str]()
    for name, number in sizes:
        stem, dot, ending = name.rpartition(".")
        extension = f".{ending.lower()}" if dot and stem and ending else ""
        files[extension] += 1
        size[extension] += number
    by_extension = {extension: [files[extension], size[extension]] for extension in files}
    return long | {"files": len(sizes), "size": sum(number for _, number in sizes), "by_extension": by_extension}


def _entries(result: JsonObject) -> Iterator[JsonObject]:
    for kind, type_, number in (("dirs", "dir", "files"), ("files", "file", "size")):
        named: Any = result.get(kind)
        for name, value in named.items() if isinstance(named, dict) else ():
            yield {"name": str(name), "type": type_, number: value}
    for kind in ("symlinks", "submodules"):
        names: Any = result.get(kind)
        for name in names if isinstance(names, list) else ():
            yield {"name": str(name), "type": kind.removesuffix("s")}

"""The one state of the code that a run sees: a commit and its tree, and what can be told from them.

The whole tree comes in one request, so that every later listing is answered from memory. Where
GitHub cuts the tree (over 100,000 entries or 7 MB: "Get a tree" in its documentation) folders are
asked for one by one, when somebody wants them.
"""

from __future__ import annotations

import asyncio
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from heapq import nsmallest
from posixpath import basename
from typing import Any, Literal, NamedTuple

from tui_agent.github.client import GitHubClient, Reply, as_list, route
from tui_agent.resilience.call import Call

Kind = Literal["file", "dir", "symlink", "submodule"]
_KINDS: dict[str, Kind] = {"040000": "dir", "120000": "symlink", "160000": "submodule"}
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST = 5
_MANY = 5_000


def is_sha(text: str) -> bool:
    """Whether a text is the full name of a git object."""
    return _SHA.fullmatch(text) is not None


class Entry(NamedTuple):
    """One entry of the tree. `size` is in bytes, None where there is none to tell."""

    path: str
    kind: Kind
    sha: str
    size: int | None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return basename(self.path)


ROOT = Entry("", "dir", "", None)


@dataclass(frozen=True, slots=True)
class Summary:
    """What lies below a folder, at any depth: files, their bytes, by extension, the largest."""

    files: int
    size: int
    by_extension: dict[str, tuple[int, int]]
    largest: list[tuple[str, int]]


class RepositorySnapshot:
    """A repository at one commit.

    Args:
        client: asks GitHub, for folders of a tree that was cut.
        owner, name: as asked.
        full_name: the repository's name after any redirect.
        ref: what was resolved.
        commit: its full SHA; None where the repository has no commits.
        entries: of the whole tree, or as many as came where it is `truncated`.
        truncated: whether the tree was cut.
        about: the reply of `/repos/{owner}/{repo}`, where it had to be asked for.
    """

    def __init__(
        self,
        client: GitHubClient,
        owner: str,
        name: str,
        *,
        full_name: str,
        ref: str,
        commit: str | None,
        entries: list[Entry],
        truncated: bool,
        about: dict[str, Any] | None = None,
    ) -> None:
        self.owner, self.name = owner, name
        self.full_name = full_name
        self.ref = ref
        self.commit = commit
        self.truncated = truncated
        self.about = about
        self._client = client
        self._entries = {entry.path: entry for entry in entries}
        # What a folder holds, whole. Of a tree that was cut nothing is known to be whole.
        self._children: dict[str, list[Entry]] = {}
        if not truncated:
            self._children[""] = []
            for path, entry in self._entries.items():
                self._children.setdefault(_folder(path), []).append(entry)
        self._fetching: dict[str, asyncio.Lock] = {}
        self._counts: dict[str, tuple[int, int]] | None = None
        self._summaries: dict[str, Summary] = {}

    @property
    def files(self) -> int:
        """How many files, links included, are known."""
        return sum(1 for entry in self._entries.values() if entry.kind in ("file", "symlink"))

    @property
    def is_large(self) -> bool:
        """Whether going through all entries would be felt on the screen: to be done in a thread."""
        return len(self._entries) > _MANY

    @property
    def paths(self) -> Collection[str]:
        """Every path that is known, folders among them."""
        return self._entries.keys()

    def all_files(self) -> list[Entry]:
        """Every file that is known, in the tree's order; links and submodules are none."""
        return [entry for entry in self._entries.values() if entry.kind == "file"]

    def known(self, path: str) -> Entry | None:
        """What stands at a path, as far as it is known without asking."""
        return self._entries.get(path) if path else ROOT

    async def entry(self, call: Call, path: str) -> Entry | None:
        """What stands at a path; None where nothing does. The root is a folder without a SHA."""
        known = self.known(path)
        if known is None and self.truncated:
            parent = await self.entry(call, _folder(path))
            if parent is not None and parent.kind == "dir":
                await self.children(call, parent.path)
            known = self.known(path)
        return known

    async def children(self, call: Call, path: str) -> list[Entry]:
        """What a folder holds; empty for what is no folder.

        Raises:
            GitHubError, Trouble, Unavailable: it had to be asked for, and could not be had.
        """
        if not self.truncated:
            return self._children.get(path, [])
        folder = await self.entry(call, path)
        if folder is None or folder.kind != "dir":
            return []
        async with self._fetching.setdefault(path, asyncio.Lock()):
            if path not in self._children:
                sha = folder.sha or self.commit or "HEAD"
                entries, _ = await fetch_tree(self._client, call, self.owner, self.name, sha, prefix=path)
                self._entries.update((entry.path, entry) for entry in entries)
                self._children[path] = entries
        return self._children[path]

    def counts(self, path: str) -> tuple[int, int] | None:
        """Files and bytes below a folder, at any depth; None where the tree was cut."""
        if self.truncated:
            return None
        if self._counts is None:
            self._counts = _count(self._entries.values())
        return self._counts.get(path, (0, 0))

    def summary(self, path: str) -> Summary | None:
        """What lies below a folder; None where the tree was cut and nobody can know."""
        if self.truncated:
            return None
        if path not in self._summaries:
            self._summaries[path] = _summarise(self._below(path))
        return self._summaries[path]

    def _below(self, path: str) -> Iterator[Entry]:
        """Every file below a folder."""
        folders = [path]
        while folders:
            for entry in self._children.get(folders.pop(), ()):
                if entry.kind == "dir":
                    folders.append(entry.path)
                elif entry.kind == "file":
                    yield entry


def _folder(path: str) -> str:
    """The folder that a path lies in; plainer, and faster, than `posixpath.dirname`."""
    return path[: max(0, path.rfind("/"))]


def _count(entries: Iterable[Entry]) -> dict[str, tuple[int, int]]:
    """Files and bytes by folder: first of each folder alone, then handed up, the deepest first."""
    files: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    for path, kind, _, size in entries:
        if kind == "file":
            folder = _folder(path)
            files[folder] += 1
            sizes[folder] += size or 0
        elif kind == "dir":
            files[path] += 0
    for folder in sorted(files, key=lambda path: path.count("/"), reverse=True):
        if folder:
            files[_folder(folder)] += files[folder]
            sizes[_folder(folder)] += sizes[folder]
    return {folder: (number, sizes[folder]) for folder, number in files.items()}


def _summarise(entries: Iterable[Entry]) -> Summary:
    files: dict[str, int] = defaultdict(int)
    sizes: dict[str, int] = defaultdict(int)
    sized: list[tuple[int, str]] = []
    for path, _, _, known in entries:
        extension, size = _extension(path), known or 0
        files[extension] += 1
        sizes[extension] += size
        sized.append((-size, path))
    by_size = sorted(sizes, key=lambda extension: (-sizes[extension], -files[extension], extension))
    return Summary(
        files=len(sized),
        size=sum(sizes.values()),
        by_extension={extension: (files[extension], sizes[extension]) for extension in by_size},
        largest=[(path, -size) for size, path in nsmallest(_LARGEST, sized)],
    )


def _extension(path: str) -> str:
    """`.py` of `src/App.PY`; "" of `Makefile`, `.gitignore` and `odd.`."""
    dot = path.rfind(".")
    start = path.rfind("/") + 1
    return path[dot:].lower() if start < dot < len(path) - 1 else ""


async def fetch_tree(
    client: GitHubClient, call: Call, owner: str, name: str, sha: str, *, prefix: str = "", recursive: bool = False
) -> tuple[list[Entry], bool]:
    """A tree's entries, and whether it was cut.

    Args:
        client: asks GitHub.
        call: whose request it is.
        owner, name: the repository.
        sha: of a commit or a tree, or `HEAD`.
        prefix: the folder's path.
        recursive: the whole tree below it.

    Raises:
        GitHubError, Trouble, Unavailable: it could not be had.
    """

    def read(_: Reply, data: Any) -> tuple[list[Entry], bool]:
        lead = prefix + "/" if prefix else ""
        return [_entry(lead, item) for item in as_list(data["tree"])], data.get("truncated") is True

    params = {"recursive": "1"} if recursive else None
    return await client.get(call, route("repos", owner, name, "git", "trees", sha), read, params=params)


def _entry(lead: str, item: Any) -> Entry:
    path, sha, size = item["path"], item["sha"], item.get("size")
    if not isinstance(path, str) or not path or not is_sha(sha):
        raise ValueError(item)
    size = size if isinstance(size, int) and size >= 0 else None
    return Entry(lead + path, _KINDS.get(item["mode"], "file"), sha, size)

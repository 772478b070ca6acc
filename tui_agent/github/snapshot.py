"""The one state of the code that a run sees: a ref resolved to a commit, and that commit's tree.

The ref is resolved once; the whole tree comes in one request, so that every later listing is
answered from memory. Where GitHub cuts the tree (over 100,000 entries or 7 MB: "Get a tree" in
its documentation) folders are asked for one by one, when somebody wants them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from posixpath import basename, dirname
from typing import Any, Literal

from tui_agent.github.client import SHA, GitHubClient, Reply, route
from tui_agent.github.errors import GitHubError
from tui_agent.resilience.call import Call

Kind = Literal["file", "dir", "symlink", "submodule"]
_KINDS: dict[str, Kind] = {"040000": "dir", "120000": "symlink", "160000": "submodule"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the tree. `size` is in bytes, None where there is none to tell."""

    path: str
    kind: Kind
    sha: str
    size: int | None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return basename(self.path)


@dataclass(slots=True)
class Summary:
    """What lies below a folder, at any depth: files, their bytes, by extension, the largest."""

    files: int = 0
    size: int = 0
    by_extension: dict[str, tuple[int, int]] = field(default_factory=dict)
    largest: list[tuple[str, int]] = field(default_factory=list)


class RepositorySnapshot:
    """A repository at one commit.

    Args:
        client: asks GitHub, for folders of a tree that was cut.
        owner, name: as asked.
        full_name: the repository's name after any redirect.
        ref: what was resolved.
        commit: its full SHA; None where the repository has no commits.
        entries: of the whole tree, or of its root where `truncated`.
        truncated: whether the tree came whole.
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
        self._children: dict[str, list[Entry]] = {"": []}
        for entry in entries:
            self._children.setdefault(dirname(entry.path), []).append(entry)
        self._counts: dict[str, tuple[int, int]] | None = None

    @property
    def files(self) -> int:
        """How many files, links included, are known."""
        return sum(1 for entry in self._entries.values() if entry.kind in ("file", "symlink"))

    def all_files(self) -> list[Entry]:
        """Every file that is known, in the tree's order; links and submodules are none."""
        return [entry for entry in self._entries.values() if entry.kind == "file"]

    async def entry(self, call: Call, path: str) -> Entry | None:
        """What stands at a path; None where nothing does. The root is a folder without a SHA."""
        if path == "":
            return Entry("", "dir", "", None)
        if self.truncated and path not in self._entries and await self.entry(call, dirname(path)) is not None:
            await self.children(call, dirname(path))
        return self._entries.get(path)

    async def children(self, call: Call, path: str) -> list[Entry]:
        """What a folder holds; empty for what is no folder."""
        known = self._children.get(path)
        if known is not None or not self.truncated:
            return known or []
        folder = await self.entry(call, path)
        if folder is None or folder.kind != "dir":
            return []
        entries, _ = await _tree(self._client, call, self.owner, self.name, folder.sha, prefix=path, recursive=False)
        for entry in entries:
            self._entries.setdefault(entry.path, entry)
        self._children[path] = entries
        return entries

    def counts(self, path: str) -> tuple[int, int] | None:
        """Files and bytes below a folder, at any depth; None where the tree was cut."""
        if self.truncated:
            return None
        if self._counts is None:
            self._counts = self._count()
        return self._counts.get(path, (0, 0))

    def summary(self, path: str) -> Summary | None:
        """What lies below a folder; None where the tree was cut and nobody can know."""
        if self.truncated:
            return None
        prefix = path + "/" if path else ""
        files, sizes = Counter[str](), Counter[str]()
        largest: list[tuple[str, int]] = []
        for entry in self._entries.values():
            if entry.kind == "file" and entry.path.startswith(prefix):
                extension = _extension(entry.name)
                files[extension] += 1
                sizes[extension] += entry.size or 0
                largest.append((entry.path, entry.size or 0))
        largest.sort(key=lambda item: (-item[1], item[0]))
        by_extension = {name: (files[name], size) for name, size in sizes.most_common()}
        return Summary(files.total(), sizes.total(), by_extension, largest[:5])

    def _count(self) -> dict[str, tuple[int, int]]:
        counts: dict[str, list[int]] = {}
        for entry in self._entries.values():
            if entry.kind == "file":
                folder = entry.path
                while folder:
                    folder = dirname(folder)
                    total = counts.setdefault(folder, [0, 0])
                    total[0] += 1
                    total[1] += entry.size or 0
        return {folder: (files, size) for folder, (files, size) in counts.items()}


def _extension(name: str) -> str:
    stem, dot, extension = name.rpartition(".")
    return f".{extension.lower()}" if dot and stem else ""


async def take_snapshot(
    client: GitHubClient, call: Call, owner: str, name: str, *, ref: str | None, tail: str | None
) -> tuple[RepositorySnapshot, str]:
    """Resolve the ref and fetch the tree: the few requests that every run begins with.

    Args:
        client: asks GitHub.
        call: under whose name (`snapshot`) the requests run.
        owner, name: the repository.
        ref: branch, tag or commit; None for the default branch.
        tail: `REF/PATH` of an address, whose parts are told apart by the repository's branches and tags.

    Returns:
        the snapshot, and the path that `tail` named ("" for none).

    Raises:
        GitHubError: the repository or the ref is not there.
        Trouble, Unavailable: the service failed.
    """
    path = ""
    if ref is None and tail:
        ref, path = await _split_tail(client, call, owner, name, tail)
    about: dict[str, Any] | None = None
    moved: str | None = None
    try:
        commit, moved = await _commit(client, call, owner, name, ref or "HEAD")
    except GitHubError as error:
        if error.status == 409:
            commit = None
        elif ref is None and error.status in (404, 422):
            # Not every server resolves HEAD; the repository itself tells its default branch (or that it is not there).
            about = await describe(client, call, owner, name)
            ref = str(about["default_branch"])
            commit, moved = await _commit(client, call, owner, name, ref)
        elif ref is not None and error.status in (404, 422):
            about = await describe(client, call, owner, name)
            raise GitHubError(error.status, f"{owner}/{name} has no branch, tag or commit “{ref}”.") from error
        else:
            raise
    if moved is not None and about is None:
        about = await describe(client, call, owner, name)
    full_name = str((about or {}).get("full_name") or f"{owner}/{name}")
    entries: list[Entry] = []
    truncated = False
    try:
        entries, truncated = await _tree(client, call, owner, name, commit or "HEAD", recursive=True)
        if truncated:
            entries, _ = await _tree(client, call, owner, name, commit or "HEAD", recursive=False)
    except GitHubError as error:
        # A repository without commits has no tree; a commit whose tree is empty has one that cannot be found.
        if not (error.status == 409 or (error.status == 404 and commit is not None)):
            raise
    snapshot = RepositorySnapshot(
        client,
        owner,
        name,
        full_name=full_name,
        ref=ref or "HEAD",
        commit=commit,
        entries=entries,
        truncated=truncated,
        about=about,
    )
    return snapshot, path


async def describe(client: GitHubClient, call: Call, owner: str, name: str) -> dict[str, Any]:
    """What GitHub says of the repository: the reply of `/repos/{owner}/{repo}`."""

    def read(_: Reply, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict) or not isinstance(data["default_branch"], str):
            raise TypeError(data)
        return data

    return await client.get(call, route("repos", owner, name), read)


async def _commit(client: GitHubClient, call: Call, owner: str, name: str, ref: str) -> tuple[str, str | None]:
    def read(reply: Reply, _: Any) -> tuple[str, str | None]:
        sha = reply.body.decode("ascii").strip()
        if len(sha) not in (40, 64) or not all(c in "0123456789abcdef" for c in sha):
            raise ValueError(sha)
        return sha, reply.moved

    parts = [part for part in ref.split("/") if part]
    try:
        path = route("repos", owner, name, "commits", *parts)
    except ValueError:
        raise GitHubError(422, f"“{ref}” cannot be the name of a branch, tag or commit.") from None
    return await client.get(call, path, read, accept=SHA)


async def _tree(
    client: GitHubClient, call: Call, owner: str, name: str, sha: str, *, prefix: str = "", recursive: bool
) -> tuple[list[Entry], bool]:
    def read(_: Reply, data: Any) -> tuple[list[Entry], bool]:
        lead = prefix + "/" if prefix else ""
        entries = [
            Entry(lead + item["path"], _KINDS.get(item["mode"], "file"), item["sha"] or "", item.get("size"))
            for item in data["tree"]
        ]
        return entries, bool(data.get("truncated", False))

    params = {"recursive": "1"} if recursive else None
    return await client.get(call, route("repos", owner, name, "git", "trees", sha), read, params=params)


async def _split_tail(client: GitHubClient, call: Call, owner: str, name: str, tail: str) -> tuple[str, str]:
    """`REF/PATH` → (ref, path): the longest branch or tag that the text begins with; else its first part."""
    parts = [part for part in tail.split("/") if part]
    if not parts:
        return "HEAD", ""
    best = 1
    if len(parts) > 1:
        for kind in ("heads", "tags"):
            for ref in await _matching_refs(client, call, owner, name, kind, parts[0]):
                wanted = ref.split("/")
                if parts[: len(wanted)] == wanted:
                    best = max(best, len(wanted))
    return "/".join(parts[:best]), "/".join(parts[best:])


async def _matching_refs(client: GitHubClient, call: Call, owner: str, name: str, kind: str, prefix: str) -> list[str]:
    def read(_: Reply, data: Any) -> list[str]:
        return [item["ref"].removeprefix(f"refs/{kind}/") for item in data]

    try:
        return await client.get(call, route("repos", owner, name, "git", "matching-refs", kind, prefix), read)
    except GitHubError as error:
        if error.status in (404, 409, 422):
            return []
        raise

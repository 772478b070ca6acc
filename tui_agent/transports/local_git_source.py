"""A git repository as a source of answers: refs resolved, objects found, history walked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

from tui_agent.transports.local_files import read_small
from tui_agent.transports.local_git_history import COUNT_LIMIT, Extent, History
from tui_agent.transports.local_git_objects import ObjectDamaged, ObjectMissing, Objects, tree_entries
from tui_agent.transports.local_git_refs import HEAD, RefStore, follow, is_ref_name
from tui_agent.transports.local_licences import find_licence
from tui_agent.transports.local_source import (
    MAX_BLOB,
    Commit,
    Facts,
    Kind,
    Page,
    Ref,
    Refusal,
    Stop,
    TreeEntry,
)
from tui_agent.transports.local_text import decode_name, encode_name

CHEAP_COUNT = 10_000
"""Commits that are visited to tell when the first one was made."""
_HEADS, _TAGS, _ORIGIN = b"refs/heads/", b"refs/tags/", b"refs/remotes/origin/"
_SHA = re.compile(r"[0-9a-f]{40}")
_SHORT = re.compile(r"[0-9a-f]{4,39}")
_MAX_TAGS = 32
_NO_DESCRIPTION = b"Unnamed repository"


class GitSource:
    """Answers from a git repository.

    Args:
        objects, refs: where they are.
        git_dir: where its other files are; None for a repository in memory.
        bare: whether it has no working tree.
    """

    kind: Kind = "git"

    def __init__(self, objects: Objects, refs: RefStore, *, git_dir: str | None = None, bare: bool = False) -> None:
        self._objects = objects
        self._refs = refs
        self._git_dir = git_dir
        self._bare = bare
        shallow = read_small(f"{git_dir}/shallow") if git_dir else None
        self._history = History(objects, frozenset((shallow or b"").decode("ascii", "replace").split()))
        self._extents: dict[str, tuple[int, Extent | None]] = {}
        self._counting = threading.Lock()

    def facts(self, stop: Stop) -> Facts:
        """See `Source`."""
        name, head = follow(self._refs, HEAD)
        changed = created = licence = None
        branch = name.removeprefix(_HEADS) if name.startswith(_HEADS) else None
        default = self._default_branch(branch, head)
        tip = head or (self._tip(_HEADS + default) if default else None)
        if tip is not None:
            commit = self.commit(self._peel(tip))
            changed = commit.committer.time
            extent = self._extent(commit.sha, CHEAP_COUNT, stop)
            if extent is not None and not self._history.shallow:
                created = extent.first
            licence = find_licence(self.tree(commit.tree), self._small_blob)
        description = read_small(f"{self._git_dir}/description") if self._git_dir else None
        if description is None or description.startswith(_NO_DESCRIPTION):
            description = b""
        return Facts(
            kind="git",
            default_branch=decode_name(default) if default else None,
            created=created,
            changed=changed,
            size=self._objects.disk_size(),
            licence=licence,
            description=description.decode("utf-8", "replace").strip() or None,
            local={
                "bare": self._bare,
                "detached": name == HEAD,
                "branch": decode_name(branch) if branch is not None else None,
            },
        )

    def resolve(self, ref: str) -> str:
        """See `Source`; a branch goes before a tag of the same name, a whole SHA before both.

        Raises:
            Refusal: 409 where there is no commit at all, 422 where this is none.
        """
        if ref in ("", "@", "HEAD"):
            return self._head()
        sha = ref.lower()
        if _SHA.fullmatch(sha) and self._objects.size(sha) is not None:
            return self._peel(sha)
        raw = encode_name(ref)
        names = [_HEADS + raw, _TAGS + raw, b"refs/remotes/" + raw]
        if raw.startswith((b"refs/", b"heads/", b"tags/", b"remotes/")):
            names.insert(0, raw if raw.startswith(b"refs/") else b"refs/" + raw)
        for name in names:
            found = self._tip(name)
            if found is not None:
                return self._peel(found)
        if _SHORT.fullmatch(sha):
            commits = {found for name in self._objects.with_prefix(sha) if (found := self._commit_behind(name))}
            if len(commits) > 1:
                raise Refusal(422, f"The short SHA {ref} is ambiguous: {', '.join(sorted(commits)[:4])}.")
            if commits:
                return commits.pop()
        # A clone has branches of which it never made one of its own; GitHub has them all.
        found = self._tip(_ORIGIN + raw)
        if found is not None:
            return self._peel(found)
        self._refuse_empty()
        raise Refusal(422, f"No commit found for SHA: {ref}")

    def commit(self, sha: str) -> Commit:
        """See `Source`."""
        try:
            return self._history.commit(sha)
        except (ObjectMissing, ObjectDamaged) as error:
            raise _refused(error) from None

    def history(self, sha: str, path: str, start: int, count: int, stop: Stop) -> Page:
        """See `Source`."""
        try:
            page = self._history.page(sha, encode_name(path).strip(b"/"), start, count, stop)
        except (ObjectMissing, ObjectDamaged) as error:
            raise _refused(error) from None
        if page.total is None and not path.strip("/"):
            extent = self._extent(sha, COUNT_LIMIT, stop)
            return Page(page.commits, page.more, extent.commits if extent else None)
        return page

    def root(self, name: str, stop: Stop) -> str:
        """See `Source`.

        Raises:
            Refusal: 409 where there is no commit at all, 404 where this names no tree.
        """
        if _SHA.fullmatch(name.lower()):
            sha = name.lower()
            try:
                kind, _ = self._objects.header(sha)
            except (ObjectMissing, ObjectDamaged) as error:
                self._refuse_empty()
                raise Refusal(404, f"Not Found: {error}") from None
            if kind == "tree":
                return sha
        try:
            return self.commit(self.resolve(name)).tree
        except Refusal as refusal:
            if refusal.status == 422 and refusal.message.startswith("No commit found"):
                raise Refusal(404, "Not Found") from None
            raise

    def tree(self, sha: str) -> list[TreeEntry]:
        """See `Source`."""
        kind, raw = self._read(sha)
        if kind != "tree":
            raise Refusal(404, "Not Found")
        try:
            return tree_entries(sha, raw)
        except ObjectDamaged as error:
            raise _refused(error) from None

    def size(self, sha: str) -> int | None:
        """See `Source`."""
        return self._objects.size(sha)

    def blob(self, sha: str) -> bytes:
        """See `Source`."""
        try:
            kind, size = self._objects.header(sha)
        except ObjectMissing as error:
            raise Refusal(404, f"Not Found: {error}") from None
        except ObjectDamaged as error:
            raise _refused(error) from None
        if kind != "blob":
            raise Refusal(404, "Not Found")
        if size > MAX_BLOB:
            raise Refusal(403, f"This blob has {size:,} bytes; up to {MAX_BLOB:,} are answered.")
        return self._read(sha)[1]

    def refs(self, prefix: bytes) -> Iterator[Ref]:
        """See `Source`."""
        for name in self._refs.names(prefix):
            sha = self._tip(name)
            if sha is not None:
                try:
                    kind, _ = self._objects.header(sha)
                except (ObjectMissing, ObjectDamaged):
                    continue
                yield Ref(name, sha, kind, self._commit_behind(sha))

    def incomplete(self) -> bool:
        """See `Source`: a commit's tree is told whole."""
        return False

    def close(self) -> None:
        """See `Source`."""
        self._objects.close()

    def head_tree(self) -> str | None:
        """The tree of the commit that is checked out; None where there is none."""
        _, sha = follow(self._refs, HEAD)
        return self.commit(self._peel(sha)).tree if sha else None

    def _head(self) -> str:
        name, sha = follow(self._refs, HEAD)
        if sha is not None:
            return self._peel(sha)
        self._refuse_empty()
        branches = ", ".join(decode_name(ref.removeprefix(_HEADS)) for ref in self._refs.names(_HEADS)[:4])
        others = f"; there are others: {branches}" if branches else ""
        raise Refusal(422, f"The current branch {decode_name(name.removeprefix(_HEADS))} has no commit{others}.")

    def _refuse_empty(self) -> None:
        if follow(self._refs, HEAD)[1] is None and not self._refs.names(b"refs/"):
            raise Refusal(409, "Git Repository is empty.")

    def _default_branch(self, branch: bytes | None, head: str | None) -> bytes | None:
        """The branch that HEAD names; where it names none that exists, the one that its origin thinks of, or else."""
        if branch is not None and head is not None:
            return branch
        origin, _ = follow(self._refs, _ORIGIN + HEAD)
        for candidate in (origin.removeprefix(_ORIGIN), b"main", b"master"):
            if self._tip(_HEADS + candidate) is not None:
                return candidate
        names = self._refs.names(_HEADS)
        return names[0].removeprefix(_HEADS) if names else branch

    def _tip(self, name: bytes) -> str | None:
        return follow(self._refs, name)[1] if is_ref_name(name) else None

    def _peel(self, sha: str) -> str:
        """The commit behind a tag, or the commit itself."""
        start = sha
        for _ in range(_MAX_TAGS):
            try:
                kind, _ = self._objects.header(sha)
            except (ObjectMissing, ObjectDamaged) as error:
                raise _refused(error) from None
            if kind == "commit":
                return sha
            target = re.match(rb"object ([0-9a-f]{40})\n", self._read(sha)[1]) if kind == "tag" else None
            if target is None:
                break
            sha = target[1].decode()
        raise Refusal(422, f"No commit found for SHA: {start}")

    def _commit_behind(self, sha: str) -> str | None:
        try:
            return self._peel(sha)
        except Refusal:
            return None

    def _read(self, sha: str) -> tuple[str, bytes]:
        try:
            return self._objects.read(sha)
        except (ObjectMissing, ObjectDamaged) as error:
            raise _refused(error) from None

    def _small_blob(self, sha: str) -> bytes:
        size = self._objects.size(sha)
        return self.blob(sha) if size is not None and size < 200_000 else b""

    def _extent(self, sha: str, limit: int, stop: Stop) -> Extent | None:
        """How long the history is, counted once; None where it is longer than `limit`."""
        with self._counting:
            tried, extent = self._extents.get(sha, (0, None))
            if extent is None and tried < limit:
                extent = self._history.extent(sha, limit, stop)
                self._extents = {sha: (limit, extent)}
            return extent


def _refused(error: ObjectMissing | ObjectDamaged) -> Refusal:
    return Refusal(422, str(error))

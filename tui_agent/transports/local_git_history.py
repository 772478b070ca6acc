"""Git's history, walked from a commit backwards, one commit at a time, in the order of `git log`."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tui_agent.transports.local_git_objects import ObjectDamaged, ObjectMissing, Objects, find_entry
from tui_agent.transports.local_source import COMMIT_HEAD, TREE, Commit, Page, Stop, epoch, parse_commit

COUNT_LIMIT = 25_000
"""Commits that are visited to say how many there are."""
PATH_COUNT_LIMIT = 5_000
"""Commits that are visited, beyond the page that was asked for, to say how many touch a path."""
_KEPT_TRAILS = 8

Trace = tuple[int, str] | None
"""What stands at a path: mode and SHA; None for nothing."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How long a history is: its commits, and the epoch seconds of the first one."""

    commits: int
    first: int


@dataclass(slots=True)
class _Links:
    tree: str
    parents: list[str]
    time: int


class _Trail:
    """A walk that goes on where the last question left it: who turns pages, or asks again, walks no step twice."""

    def __init__(self, walk: Iterator[tuple[str, bool]]) -> None:
        self._walk = walk
        self._lock = threading.Lock()
        self._visited = 0
        self.found: list[str] = []
        self.ended = False
        self.error: ObjectMissing | ObjectDamaged | None = None

    def reach(self, wanted: int, beyond: int, stop: Stop) -> None:
        """Walk until more than `wanted` commits are found, then `beyond` steps more, or to the end."""
        with self._lock:
            end: int | None = None
            while not self.ended:
                if len(self.found) > wanted:
                    end = self._visited + beyond if end is None else end
                    if self._visited >= end:
                        return
                if self._visited & 63 == 0:
                    stop.check()
                try:
                    sha, belongs = next(self._walk)
                except StopIteration:
                    self.ended = True
                    return
                except (ObjectMissing, ObjectDamaged) as error:
                    self.ended, self.error = True, error
                    return
                self._visited += 1
                if belongs:
                    self.found.append(sha)


class History:
    """The commits of a repository, in their order.

    Args:
        objects: where they are.
        shallow: commits whose parents were not fetched (a shallow clone's boundary).
    """

    def __init__(self, objects: Objects, shallow: frozenset[str] = frozenset()) -> None:
        self._objects = objects
        self.shallow = shallow
        self._trails: dict[tuple[str, bytes], _Trail] = {}
        self._entry = lru_cache(maxsize=8192)(self._find)

    def page(self, tip: str, path: bytes, start: int, count: int, stop: Stop) -> Page:
        """Some commits of the history of a path.

        Args:
            tip: the commit to begin with, by its full SHA.
            path: of a file or folder; b"" for the whole history.
            start, count: how many commits to skip, and how many to tell.
            stop: ends the walk early.

        Raises:
            ObjectMissing, ObjectDamaged: the history cannot be read as far as that.
        """
        trail = self._trails.pop((tip, path), None) or _Trail(self._walk(tip, path))
        self._trails[tip, path] = trail
        while len(self._trails) > _KEPT_TRAILS:
            self._trails.pop(next(iter(self._trails)), None)
        # How long a whole history is, `extent` tells faster.
        trail.reach(start + count, PATH_COUNT_LIMIT if path else 0, stop)
        shas = trail.found[start : start + count]
        if trail.error is not None and not shas:
            raise trail.error
        commits = [self.commit(sha) for sha in shas]
        # Of a damaged history what can be read is told; who asks for the rest learns why it cannot.
        more = len(trail.found) > start + count or trail.error is not None
        return Page(commits, more, len(trail.found) if trail.ended and trail.error is None else None)

    def commit(self, sha: str) -> Commit:
        """A commit by its full SHA.

        Raises:
            ObjectMissing, ObjectDamaged: it cannot be read, or is none.
        """
        kind, raw = self._objects.read(sha)
        try:
            return parse_commit(sha, raw if kind == "commit" else b"")
        except ValueError as error:
            raise ObjectDamaged(sha) from error

    def extent(self, tip: str, limit: int, stop: Stop) -> Extent | None:
        """How long the history is; None where it is longer than `limit`, or cannot be read to its end."""
        seen = {bytes.fromhex(tip)}
        todo = [tip]
        first: int | None = None
        while todo:
            sha = todo.pop()
            try:
                links = self._links(sha)
            except (ObjectMissing, ObjectDamaged):
                return None
            if len(seen) & 255 == 0:
                stop.check()
            if not links.parents and (first is None or links.time < first):
                first = links.time
            for parent in links.parents:
                oid = bytes.fromhex(parent)
                if oid not in seen:
                    if len(seen) >= limit:
                        return None
                    seen.add(oid)
                    todo.append(parent)
        return Extent(len(seen), first or 0)

    def _walk(self, tip: str, path: bytes) -> Iterator[tuple[str, bool]]:
        """Each commit, latest first, and whether it belongs to the path's history.

        The order is that of git's queue (by the committer's date; of the same date, first come first out);
        the choice that of `git log -- path` (revision.c, try_to_simplify_commit): of a merge that
        brought nothing new for the path only the parent that had it already is followed.
        """
        segments = [part for part in path.split(b"/") if part]
        seen = {bytes.fromhex(tip)}
        links = self._links(tip)
        queue = [(-links.time, 0, tip, links, self._at(links.tree, segments))]
        pushed = 0
        while queue:
            _, _, sha, links, here = heapq.heappop(queue)
            if not segments:
                yield sha, True
            # (parent, its links, what it has at the path)
            parents: list[tuple[str, _Links, Trace]] = []
            for parent in links.parents:
                known = self._links(parent)
                there = here if known.tree == links.tree else self._at(known.tree, segments)
                if segments and there == here:
                    parents = [(parent, known, there)]
                    break
                parents.append((parent, known, there))
            if segments:
                yield sha, here is not None if not parents else all(there != here for _, _, there in parents)
            for parent, known, there in parents:
                oid = bytes.fromhex(parent)
                if oid not in seen:
                    seen.add(oid)
                    pushed += 1
                    heapq.heappush(queue, (-known.time, pushed, parent, known, there))

    def _links(self, sha: str) -> _Links:
        kind, raw = self._objects.read(sha)
        head = COMMIT_HEAD.match(raw)
        if kind != "commit" or head is None:
            raise ObjectDamaged(sha)
        parents = [] if sha in self.shallow else head[2].decode("ascii").split()[1::2]
        begin = raw.find(b"\ncommitter ", head.end() - 1)
        line = raw[begin + 1 : raw.find(b"\n", begin + 1)] if begin >= 0 else b""
        return _Links(head[1].decode("ascii"), parents, epoch(line[line.rfind(b">") + 1 :]))

    def _at(self, tree: str, segments: list[bytes]) -> Trace:
        found: Trace = None
        for number, segment in enumerate(segments):
            if number:
                if found is None or found[0] != TREE:
                    return None
                tree = found[1]
            found = self._entry(tree, segment)
        return found

    def _find(self, tree: str, name: bytes) -> Trace:
        kind, raw = self._objects.read(tree)
        return find_entry(tree, raw, name) if kind == "tree" else None

"""How many files of a working tree differ from its last commit, found without git and without its filters.

What counts is what `git status --porcelain -uall --no-renames` would name: staged, changed, deleted
and untracked files, each path once. No filter, hook or command of the repository is run; where
git's own conversions (line ends, Git LFS) explain a difference, it is none.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

from tui_agent.transports.local_files import open_regular, read_small
from tui_agent.transports.local_git_index import IndexEntry, UnreadableIndex, parse_index
from tui_agent.transports.local_git_objects import ObjectDamaged, ObjectMissing, Objects, tree_entries
from tui_agent.transports.local_git_place import GitPlace, user_excludes
from tui_agent.transports.local_git_refs import HEAD, DiskRefs, follow
from tui_agent.transports.local_ignore import Ignores
from tui_agent.transports.local_source import EXECUTABLE, FILE, LINK, MAX_BLOB, SUBMODULE, TREE, Stop

_INDEX_LIMIT = 1 << 30
_MAX_FILES = 2_000_000
_PIECE = 1024 * 1024
_TRUE = ("true", "yes", "on", "1")
_MAX_PATH = 4096
# Paths that git never writes into an index: they would lead out of the working tree.
_ODD_PATH = re.compile(rb"(?:^|/)(?:\.{0,2}|\.git)(?:/|$)")
_POINTER = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d+)\n")
_LINE_ENDS = re.compile(rb"\b(?:text|eol|crlf)\b")

_Tree = dict[bytes, tuple[int, str]]


class _Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...


def count_changes(place: GitPlace, objects: Objects, head_tree: str | None, stop: Stop) -> int:
    """The number of paths that differ from the last commit.

    Args:
        place: the repository, with a working tree.
        objects: where its objects are.
        head_tree: the tree of the commit that is checked out; None where there is no commit yet.
        stop: ends the work early.
    """
    return len(_WorkTree(place, objects, stop).changed(_flat(objects, head_tree, stop) if head_tree else {}))


class _WorkTree:
    def __init__(self, place: GitPlace, objects: Objects, stop: Stop) -> None:
        self._place = place
        self._objects = objects
        self._stop = stop
        self._root = os.fsencode(place.work_tree or "")
        self._file_mode = place.config.get("core.filemode", "true").lower() in _TRUE
        self._links = place.config.get("core.symlinks", "true").lower() in _TRUE
        self._index_time = (0, 0)
        self._real_folders: dict[bytes, bool] = {b"": True}
        self._converts = False

    def changed(self, head: _Tree) -> set[bytes]:
        """The paths that differ."""
        entries = self._entries(head)
        self._converts = self._has_line_end_rules(entries)
        staged = {entry.path: (entry.mode, entry.sha) for entry in entries if entry.stage == 0}
        changed = {entry.path for entry in entries if entry.stage}
        sparse = tuple(path + b"/" if not path.endswith(b"/") else path for path, (m, _) in staged.items() if m == TREE)
        changed |= {path for path, what in staged.items() if head.get(path) != what and what[0] != TREE}
        changed |= {path for path in head if path not in staged and not (sparse and path.startswith(sparse))}
        for number, entry in enumerate(entries):
            if number & 255 == 0:
                self._stop.check()
            if not entry.fixed and not entry.stage and entry.path not in changed and self._differs(entry):
                changed.add(entry.path)
        changed.update(self._untracked({entry.path: entry.mode for entry in entries}))
        return changed

    def _entries(self, head: _Tree) -> list[IndexEntry]:
        path = Path(self._place.git_dir) / "index"
        data = read_small(str(path), limit=_INDEX_LIMIT)
        if data is None:
            return []
        state = path.stat()
        self._index_time = (state.st_mtime_ns // 10**9 & 0xFFFFFFFF, state.st_mtime_ns % 10**9)
        try:
            return parse_index(data)
        except UnreadableIndex:
            # Then the working tree is compared with the commit itself: slower, and blind to what is only staged.
            return [IndexEntry(path, mode, sha, (0, 0), (0, 0), 0, 0, 0, False) for path, (mode, sha) in head.items()]

    def _differs(self, entry: IndexEntry) -> bool:
        folder, _, _ = entry.path.rpartition(b"/")
        if len(entry.path) > _MAX_PATH or _ODD_PATH.search(entry.path) or not self._is_real(folder):
            return True
        place = self._root + b"/" + entry.path
        try:
            state = os.lstat(place)
        except OSError:
            return True
        if entry.mode == SUBMODULE:
            return self._submodule_differs(place, state, entry.sha)
        if stat.S_ISLNK(state.st_mode):
            if entry.mode != LINK:
                return True
            return _sha(os.readlink(place)) != entry.sha  # noqa: PTH115 - the path is bytes
        if not stat.S_ISREG(state.st_mode) or (entry.mode == LINK and self._links):
            return True
        runs = EXECUTABLE if state.st_mode & 0o100 else FILE
        if self._file_mode and entry.mode not in (LINK, runs):
            return True
        return not self._looks_same(entry, state) and self._content_differs(place, entry.sha, state.st_size)

    def _is_real(self, folder: bytes) -> bool:
        """Whether a folder is one all the way from the root: behind a symbolic link lies something else."""
        known = self._real_folders.get(folder)
        if known is None:
            known = True
            for match in re.finditer(rb"/|$", folder):
                above = folder[: match.start()]
                if above not in self._real_folders:
                    try:
                        state = os.lstat(self._root + b"/" + above)
                    except OSError:
                        known = False
                    else:
                        known = stat.S_ISDIR(state.st_mode)
                    self._real_folders[above] = known
                if not self._real_folders[above]:
                    known = False
                    break
            self._real_folders[folder] = known
        return known

    def _looks_same(self, entry: IndexEntry, state: os.stat_result) -> bool:
        """Whether a file is as git left it. What was written with or after the index may have changed unseen."""
        mtime = state.st_mtime_ns // 10**9 & 0xFFFFFFFF, state.st_mtime_ns % 10**9
        ctime = state.st_ctime_ns // 10**9 & 0xFFFFFFFF, state.st_ctime_ns % 10**9
        return (
            _same_time(entry.mtime, mtime)
            and _same_time(entry.ctime, ctime)
            and entry.size == state.st_size & 0xFFFFFFFF
            and entry.inode in (0, state.st_ino & 0xFFFFFFFF)
            and (entry.mtime < self._index_time if entry.mtime[1] else entry.mtime[0] < self._index_time[0])
        )

    def _content_differs(self, place: bytes, sha: str, size: int) -> bool:
        try:
            with open_regular(place, follow=False) as file:
                digest = hashlib.sha1(b"blob %d\0" % size)
                returns = self._feed(file, digest)
                if digest.hexdigest() == sha:
                    return False
                if returns and self._converts and size <= MAX_BLOB:
                    file.seek(0)
                    if _sha(file.read().replace(b"\r\n", b"\n")) == sha:
                        return False
                return not self._is_lfs(file, sha, size)
        except OSError:
            return True

    def _is_lfs(self, file: BinaryIO, sha: str, size: int) -> bool:
        """Whether the repository holds a pointer to just this content."""
        if (self._objects.size(sha) or 1024) >= 1024:
            return False
        try:
            pointer = _POINTER.match(self._objects.read(sha)[1])
        except (ObjectMissing, ObjectDamaged):
            return False
        if pointer is None or int(pointer[2]) != size:
            return False
        file.seek(0)
        digest = hashlib.sha256()
        self._feed(file, digest)
        return digest.hexdigest() == pointer[1].decode()

    def _feed(self, file: BinaryIO, digest: _Digest) -> bool:
        """Hash a file; whether there is a carriage return in it."""
        returns = False
        while piece := file.read(_PIECE):
            self._stop.check()
            digest.update(piece)
            returns = returns or b"\r" in piece
        return returns

    def _submodule_differs(self, place: bytes, state: os.stat_result, sha: str) -> bool:
        """Whether a submodule is at another commit; one that was never checked out is as it should be."""
        if not stat.S_ISDIR(state.st_mode):
            return True
        git_dir = os.fsdecode(place) + "/.git"
        link = read_small(git_dir)
        if link is not None and link.startswith(b"gitdir:"):
            target = os.fsdecode(link[len(b"gitdir:") :].strip())
            git_dir = os.path.join(os.fsdecode(place), target)  # noqa: PTH118 - keeps bytes that are no UTF-8
        _, head = follow(DiskRefs(git_dir, git_dir), HEAD)
        return head is not None and head != sha

    def _untracked(self, tracked: dict[bytes, int]) -> Iterator[bytes]:
        folders: set[bytes] = set()
        for path in tracked:
            folder = path.rpartition(b"/")[0]
            while folder and folder not in folders:
                folders.add(folder)
                folder = folder.rpartition(b"/")[0]
        ignore_case = self._place.config.get("core.ignorecase", "false").lower() in _TRUE
        ignores = Ignores(ignore_case=ignore_case)
        for content in (user_excludes(self._place.config), read_small(f"{self._place.common_dir}/info/exclude")):
            if content:
                ignores = ignores.plus(content)
        todo = [(b"", ignores)]
        while todo:
            self._stop.check()
            base, above = todo.pop()
            place = self._root + b"/" + base
            here = above.within(place.rstrip(b"/"), base)
            try:
                with os.scandir(place) as found:
                    items = list(found)
            except OSError:
                continue
            for item in items:
                path = base + item.name
                if item.name == b".git":
                    continue
                try:
                    is_folder = item.is_dir(follow_symlinks=False)
                    if not (is_folder or item.is_symlink() or item.is_file(follow_symlinks=False)):
                        continue
                except OSError:
                    continue
                if path in tracked and (not is_folder or tracked[path] == SUBMODULE):
                    continue
                if here.ignored(path, item.name, is_folder):
                    continue
                if not is_folder:
                    yield path
                elif path not in folders and os.path.lexists(place + item.name + b"/.git"):
                    # A repository of its own: git names it, and does not look inside.
                    yield path
                else:
                    todo.append((path + b"/", here))

    def _has_line_end_rules(self, entries: list[IndexEntry]) -> bool:
        """Whether git may change line ends when it checks files out."""
        if os.name == "nt" or self._place.config.get("core.autocrlf", "false").lower() in (*_TRUE, "input"):
            return True
        files = [entry.path for entry in entries if entry.path.rpartition(b"/")[2] == b".gitattributes"]
        contents = [read_small(self._root + b"/" + path, follow=False) for path in files[:64]]
        contents.append(read_small(f"{self._place.common_dir}/info/attributes"))
        return any(content and _LINE_ENDS.search(content) for content in contents)


def _flat(objects: Objects, root: str, stop: Stop) -> _Tree:
    """Every file of a tree: path to mode and SHA. What cannot be read is left out."""
    flat: _Tree = {}
    todo = [(b"", root)]
    while todo and len(flat) < _MAX_FILES:
        stop.check()
        base, sha = todo.pop()
        try:
            entries = tree_entries(sha, objects.read(sha)[1])
        except (ObjectMissing, ObjectDamaged):
            continue
        for name, mode, oid in entries:
            if mode == TREE:
                todo.append((base + name + b"/", oid))
            else:
                flat[base + name] = mode, oid
    return flat


def _same_time(kept: tuple[int, int], now: tuple[int, int]) -> bool:
    # Some builds of git keep no nanoseconds.
    return kept[0] == now[0] and kept[1] in (0, now[1])


def _sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()

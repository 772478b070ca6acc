"""A plain folder as one snapshot without history: its files named by the hashes that git would give them."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from tui_agent.transports.local_files import open_regular
from tui_agent.transports.local_ignore import Ignores
from tui_agent.transports.local_licences import find_licence
from tui_agent.transports.local_source import (
    EXECUTABLE,
    FILE,
    LINK,
    MAX_BLOB,
    TREE,
    Commit,
    Facts,
    Kind,
    Page,
    Ref,
    Refusal,
    Stop,
    TreeEntry,
)
from tui_agent.transports.local_text import decode_name

MAX_ENTRIES = 100_000
"""Files and folders that are listed, as many as GitHub lists of a tree."""
_PIECE = 1024 * 1024
_NO_HISTORY = "This folder has no git history."

# Path, size, modification and change time in ns, inode: while they stay, so does the content.
_State = tuple[bytes, int, int, int, int]


@dataclass(slots=True)
class _File:
    path: bytes
    name: bytes
    mode: int
    size: int
    state: _State
    sha: str = ""


@dataclass(slots=True)
class _Folder:
    path: bytes
    name: bytes
    parent: int
    files: list[_File] = field(default_factory=list)
    folders: list[TreeEntry] = field(default_factory=list)


@dataclass(slots=True)
class _Listing:
    root: str
    trees: dict[str, list[TreeEntry]]
    size: int
    incomplete: bool


class FolderSource:
    """Answers from a folder that is in no git repository.

    Every file is hashed when the folder is listed, and read again when it is asked for: what has
    changed meanwhile is refused, never passed off as what was listed.

    Args:
        root: the folder, resolved.
        max_entries: where a listing ends.
    """

    kind: Kind = "folder"

    def __init__(self, root: str, *, max_entries: int = MAX_ENTRIES) -> None:
        self._root = os.fsencode(root)
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._listing: _Listing | None = None
        self._known: dict[_State, str] = {}
        self._blobs: dict[str, list[_File]] = {}
        self._unread: dict[str, str] = {}

    def facts(self, stop: Stop) -> Facts:
        """See `Source`."""
        listing = self._list(stop)
        return Facts(
            kind="folder",
            default_branch=None,
            created=None,
            changed=None,
            size=listing.size,
            licence=find_licence(listing.trees[listing.root], self._text),
            description=None,
            local={"bare": False, "detached": False, "branch": None},
        )

    def resolve(self, ref: str) -> str:
        """See `Source`: nothing here is a commit."""
        raise Refusal(409, _NO_HISTORY)

    def commit(self, sha: str) -> Commit:
        """See `Source`: nothing here is a commit."""
        raise Refusal(409, _NO_HISTORY)

    def history(self, sha: str, path: str, start: int, count: int, stop: Stop) -> Page:
        """See `Source`: there is none."""
        raise Refusal(409, _NO_HISTORY)

    def root(self, name: str, stop: Stop) -> str:
        """See `Source`: `HEAD` lists the folder anew; the tree of a listing is known by its SHA.

        Raises:
            Refusal: 409 where the folder holds no file, 404 where this names no tree.
        """
        if name == "HEAD":
            listing = self._list(stop)
            if not listing.trees[listing.root]:
                raise Refusal(409, "This folder is empty.")
            return listing.root
        sha = name.lower()
        if self._listing is None or sha not in self._listing.trees:
            raise Refusal(404, "Not Found")
        return sha

    def tree(self, sha: str) -> list[TreeEntry]:
        """See `Source`."""
        if self._listing is None or sha not in self._listing.trees:
            raise Refusal(404, "Not Found")
        return self._listing.trees[sha]

    def size(self, sha: str) -> int | None:
        """See `Source`."""
        files = self._blobs.get(sha)
        return files[0].size if files else None

    def blob(self, sha: str) -> bytes:
        """See `Source`.

        Raises:
            Refusal: 404 for what was not listed, 403 for what cannot be read, 409 for what has changed since.
        """
        if self._listing is None:
            self._list(Stop())
        if sha in self._unread:
            raise Refusal(403, self._unread[sha])
        files = self._blobs.get(sha)
        if not files:
            raise Refusal(404, "Not Found")
        for file in files:
            content = _read(self._root + b"/" + file.path, file)
            if content is not None and _blob_sha(content) == sha:
                return content
        raise Refusal(409, f"{decode_name(files[0].path)} has changed since the folder was listed.")

    def refs(self, prefix: bytes) -> Iterator[Ref]:
        """See `Source`: there are none."""
        return iter(())

    def incomplete(self) -> bool:
        """See `Source`: the folder was too large, or some folder in it could not be read."""
        return self._listing is not None and self._listing.incomplete

    def close(self) -> None:
        """See `Source`: nothing is held open."""

    def _list(self, stop: Stop) -> _Listing:
        with self._lock:
            folders, incomplete = _walk(self._root, self._max_entries, stop)
            for folder in folders:
                for file in folder.files:
                    stop.check()
                    file.sha = self._sha(file)
            trees: dict[str, list[TreeEntry]] = {}
            root = ""
            # From the leaves to the root: a folder's hash is made of those of what it holds.
            for folder in reversed(folders):
                entries = [TreeEntry(file.name, file.mode, file.sha) for file in folder.files] + folder.folders
                if not entries and folder.parent >= 0:
                    continue
                entries.sort(key=lambda entry: entry.name + b"/" if entry.mode == TREE else entry.name)
                root = _tree_sha(entries)
                trees[root] = entries
                if folder.parent >= 0:
                    folders[folder.parent].folders.append(TreeEntry(folder.name, TREE, root))
            size = sum(file.size for folder in folders for file in folder.files)
            self._listing = _Listing(root, trees, size, incomplete)
            return self._listing

    def _sha(self, file: _File) -> str:
        known = self._known.get(file.state)
        if known is None:
            known = self._hash(file)
            self._known[file.state] = known
            self._blobs.setdefault(known, []).append(file)
        return known

    def _hash(self, file: _File) -> str:
        """The hash that git would give; for what cannot be read one that stands for it and for nothing else."""
        shown = decode_name(file.path)
        try:
            if file.mode != LINK and file.size > MAX_BLOB:
                reason = f"{shown} has {file.size:,} bytes; up to {MAX_BLOB:,} are answered."
            else:
                sha = _stream_sha(self._root + b"/" + file.path, file)
                if sha is not None:
                    return sha
                reason = f"{shown} was changing while the folder was listed."
        except OSError as error:
            reason = f"{shown} cannot be read: {error.strerror or 'no regular file'}."
        stand_in = hashlib.sha1(b"unread\0" + repr(file.state).encode()).hexdigest()
        self._unread[stand_in] = reason
        return stand_in

    def _text(self, sha: str) -> bytes:
        try:
            return self.blob(sha) if (self.size(sha) or 0) < 200_000 else b""
        except Refusal:
            return b""


def _walk(root: bytes, max_entries: int, stop: Stop) -> tuple[list[_Folder], bool]:
    """The folders with their files, each after its parent, and whether something had to be left out."""
    folders = [_Folder(b"", b"", -1)]
    todo: list[tuple[int, Ignores]] = [(0, Ignores())]
    entries = 0
    incomplete = False
    while todo:
        stop.check()
        number, ignores = todo.pop()
        folder = folders[number]
        base = folder.path + b"/" if folder.path else b""
        place = root + b"/" + folder.path if folder.path else root
        try:
            with os.scandir(place) as found:
                items = sorted(islice(found, max_entries + 1), key=lambda item: item.name)
        except OSError:
            incomplete = True
            continue
        ignores = ignores.within(place, base)
        below: list[tuple[int, Ignores]] = []
        for item in items:
            if item.name == b".git":
                continue
            path = base + item.name
            try:
                state = item.stat(follow_symlinks=False)
            except OSError:
                continue
            is_folder = stat.S_ISDIR(state.st_mode)
            if not (is_folder or stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode)):
                continue
            if ignores.ignored(path, item.name, is_folder):
                continue
            if entries >= max_entries:
                return folders, True
            entries += 1
            if is_folder:
                folders.append(_Folder(path, item.name, number))
                below.append((len(folders) - 1, ignores))
            else:
                folder.files.append(_file(path, item.name, state))
        todo.extend(reversed(below))
    return folders, incomplete


def _file(path: bytes, name: bytes, state: os.stat_result) -> _File:
    if stat.S_ISLNK(state.st_mode):
        mode = LINK
    else:
        mode = EXECUTABLE if state.st_mode & 0o100 else FILE
    size = state.st_size
    return _File(path, name, mode, size, (path, size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino))


def _stream_sha(place: bytes, file: _File) -> str | None:
    """The hash of a file piece by piece; None where it is not as long as it was said to be."""
    if file.mode == LINK:
        target = os.readlink(place)  # noqa: PTH115 - the path is bytes
        file.size = len(target)
        return _blob_sha(target)
    digest = hashlib.sha1(b"blob %d\0" % file.size)
    # What says that it is empty is not opened: files of /proc say so, and reading some of them waits for ever.
    if file.size:
        rest = file.size
        with open_regular(place, follow=False) as opened:
            while rest and (piece := opened.read(min(rest, _PIECE))):
                digest.update(piece)
                rest -= len(piece)
        if rest:
            return None
    return digest.hexdigest()


def _read(place: bytes, file: _File) -> bytes | None:
    try:
        if file.mode == LINK:
            return os.readlink(place)  # noqa: PTH115 - the path is bytes
        if not file.size:
            return b"" if os.lstat(place).st_size == 0 else None
        with open_regular(place, follow=False) as opened:
            return opened.read(file.size + 1)
    except OSError:
        return None


def _blob_sha(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _tree_sha(entries: list[TreeEntry]) -> str:
    body = b"".join(b"%o %s\0" % (entry.mode, entry.name) + bytes.fromhex(entry.sha) for entry in entries)
    return hashlib.sha1(b"tree %d\0" % len(body) + body).hexdigest()

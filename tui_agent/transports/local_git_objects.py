"""Git's objects, read one by one out of packs and loose files; never written, never more than asked for."""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
import zlib
from binascii import unhexlify
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar

from dulwich.objects import ObjectID, parse_tree

from tui_agent.transports.local_files import open_regular, read_small
from tui_agent.transports.local_git_pack import MAX_OBJECT, TYPES, OpenPack
from tui_agent.transports.local_source import TreeEntry, canonical_mode

if TYPE_CHECKING:
    from dulwich.object_store import BaseObjectStore

T = TypeVar("T")

_MAX_ALTERNATES = 32


class ObjectMissing(LookupError):
    """The repository does not hold this object: never fetched (a partial clone), or lost."""

    def __init__(self, sha: str) -> None:
        super().__init__(f"The object {sha} is not in this repository (a partial clone, or a damaged one).")


class ObjectDamaged(Exception):
    """The object is there and cannot be read."""

    def __init__(self, sha: str) -> None:
        super().__init__(f"The object {sha} is damaged: git fsck would say more.")


class Objects(Protocol):
    """Where git's objects are."""

    def read(self, sha: str) -> tuple[str, bytes]:
        """An object's type and content; raises ObjectMissing or ObjectDamaged."""

    def header(self, sha: str) -> tuple[str, int]:
        """An object's type and size, without reading it; raises ObjectMissing or ObjectDamaged."""

    def size(self, sha: str) -> int | None:
        """An object's size, without reading it; None where it cannot be had."""

    def with_prefix(self, prefix: str) -> Iterator[str]:
        """The objects whose SHA begins with some hexadecimal digits (at least two)."""

    def disk_size(self) -> int:
        """Bytes that the objects take."""

    def close(self) -> None:
        """Give back what is held open."""


def tree_entries(sha: str, raw: bytes) -> list[TreeEntry]:
    """What a tree object holds.

    Raises:
        ObjectDamaged: it is no tree's content.
    """
    try:
        return [TreeEntry(name, canonical_mode(mode), oid.decode()) for name, mode, oid in parse_tree(raw, 20)]
    except Exception as error:  # whatever a damaged tree makes the parser raise
        raise ObjectDamaged(sha) from error


def find_entry(sha: str, raw: bytes, name: bytes) -> tuple[int, str] | None:
    """Mode and SHA of one entry of a tree object, None where it has none of that name.

    Raises:
        ObjectDamaged: it is no tree's content.
    """
    if b" " + name + b"\0" not in raw:
        return None
    try:
        for found, mode, oid in parse_tree(raw, 20):
            if found == name:
                return canonical_mode(mode), oid.decode()
    except Exception as error:  # as above
        raise ObjectDamaged(sha) from error
    return None


class StoredObjects:
    """The objects of a dulwich store, such as one in memory."""

    def __init__(self, store: BaseObjectStore) -> None:
        self._store = store
        self._lock = threading.Lock()

    def read(self, sha: str) -> tuple[str, bytes]:
        """See `Objects`."""
        with self._lock:
            try:
                number, content = self._store.get_raw(_oid(sha))
            except KeyError:
                raise ObjectMissing(sha) from None
            except Exception as error:  # whatever a damaged store makes dulwich raise
                raise ObjectDamaged(sha) from error
        return TYPES[number], content

    def header(self, sha: str) -> tuple[str, int]:
        """See `Objects`."""
        kind, content = self.read(sha)
        return kind, len(content)

    def size(self, sha: str) -> int | None:
        """See `Objects`."""
        try:
            return self.header(sha)[1]
        except (ObjectMissing, ObjectDamaged):
            return None

    def with_prefix(self, prefix: str) -> Iterator[str]:
        """See `Objects`."""
        with self._lock:
            found = [oid.decode() for oid in self._store.iter_prefix(prefix.encode())]
        return iter(found)

    def disk_size(self) -> int:
        """See `Objects`."""
        with self._lock:
            names = [oid.decode() for oid in self._store]
        return sum(self.size(name) or 0 for name in names)

    def close(self) -> None:
        """The store belongs to whoever made it."""


class DiskObjects:
    """The objects of a repository on disk: its own folder, and those that it borrows from (alternates).

    Args:
        folder: the repository's `objects`.
    """

    def __init__(self, folder: str) -> None:
        self._folders = _with_alternates(folder)
        self._packs: dict[str, OpenPack] = {}
        self._order: list[OpenPack] = []
        self._scanned = False
        self._lock = threading.RLock()
        # dulwich complains of packs that are still open when the interpreter ends.
        weakref.finalize(self, _close_all, self._packs)

    def read(self, sha: str) -> tuple[str, bytes]:
        """See `Objects`."""
        kind, content = self._ask(sha, OpenPack.read, _loose_content)
        if hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest() != sha:
            raise ObjectDamaged(sha)
        return kind, content

    def header(self, sha: str) -> tuple[str, int]:
        """See `Objects`."""
        return self._ask(sha, OpenPack.header, _loose_header)

    def size(self, sha: str) -> int | None:
        """See `Objects`."""
        try:
            return self._ask(sha, OpenPack.size, lambda file: _loose_header(file)[1])
        except (ObjectMissing, ObjectDamaged):
            return None

    def with_prefix(self, prefix: str) -> Iterator[str]:
        """See `Objects`."""
        found: set[str] = set()
        with self._lock:
            self._scan()
            for pack in self._order:
                with suppress(Exception):  # a damaged pack holds nothing that could be asked for
                    found.update(pack.with_prefix(prefix))
            for folder in self._folders:
                try:
                    names = os.listdir(f"{folder}/{prefix[:2]}")  # noqa: PTH208 - only the names
                except OSError:
                    continue
                found.update(prefix[:2] + name for name in names if len(name) == 38)
        return iter(sorted(name for name in found if name.startswith(prefix)))

    def disk_size(self) -> int:
        """See `Objects`."""
        total = 0
        for folder in self._folders:
            for part in ["pack", *(f"{number:02x}" for number in range(256))]:
                try:
                    with os.scandir(f"{folder}/{part}") as entries:
                        total += sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
                except OSError:
                    continue
        return total

    def close(self) -> None:
        """See `Objects`."""
        with self._lock:
            _close_all(self._packs)
            self._order.clear()
            self._scanned = False

    def _ask(self, sha: str, packed: Callable[[OpenPack, int], T], loose: Callable[[BinaryIO], T]) -> T:
        """What is asked of an object, wherever it is.

        Raises:
            ObjectMissing, ObjectDamaged: see `Objects`.
        """
        oid = unhexlify(sha)
        with self._lock:
            if not self._scanned:
                self._scan()
            try:
                found = self._search(oid)
                if found is None:
                    file = self._open_loose(sha)
                    if file is not None:
                        with file:
                            return loose(file)
                    # A pack may have come since: `git gc` runs beside us.
                    found = self._search(oid) if self._scan() else None
                if found is not None:
                    return packed(*found)
            except Exception as error:  # whatever a damaged object makes zlib and dulwich raise
                raise ObjectDamaged(sha) from error
        raise ObjectMissing(sha)

    def _search(self, oid: bytes) -> tuple[OpenPack, int] | None:
        for position, pack in enumerate(self._order):
            try:
                offset = pack.find(oid)
            except Exception:  # a damaged index: as for git, the other packs still count
                self._order.remove(pack)
                return self._search(oid)
            if offset is not None:
                if position:
                    # What was found here once, its neighbours are likely to be found here too.
                    self._order.insert(0, self._order.pop(position))
                return pack, offset
        return None

    def _open_loose(self, sha: str) -> BinaryIO | None:
        for folder in self._folders:
            with suppress(FileNotFoundError, NotADirectoryError):
                return open_regular(f"{folder}/{sha[:2]}/{sha[2:]}")
        return None

    def _scan(self) -> bool:
        """Look for packs; whether any came or went."""
        self._scanned = True
        names: set[str] = set()
        for folder in self._folders:
            try:
                files = set(os.listdir(f"{folder}/pack"))  # noqa: PTH208 - only the names
            except OSError:
                continue
            names.update(
                f"{folder}/pack/{name[:-5]}" for name in files if name.endswith(".pack") and name[:-5] + ".idx" in files
            )
        gone, come = set(self._packs) - names, names - set(self._packs)
        for name in gone:
            self._packs.pop(name).close()
        for name in sorted(come):
            with suppress(OSError):  # gone again, or no regular file: its objects are missing then
                self._packs[name] = OpenPack(name)
        if gone or come:
            self._order[:] = self._packs.values()
        return bool(gone or come)


def _loose_header(file: BinaryIO) -> tuple[str, int]:
    start = zlib.decompressobj().decompress(file.read(4096), 64)
    return _parsed_header(start[: start.index(b"\0")])


def _loose_content(file: BinaryIO) -> tuple[str, bytes]:
    kind, size = _loose_header(file)
    if size > MAX_OBJECT:
        raise ValueError(f"an object of {size} bytes")
    file.seek(0)
    # Deflate makes nothing longer than a few bytes a block.
    content = zlib.decompressobj().decompress(file.read(size + (size >> 10) + 128), size + 64)
    return kind, content[content.index(b"\0") + 1 :]


def _parsed_header(header: bytes) -> tuple[str, int]:
    kind, _, size = header.partition(b" ")
    if kind.decode("ascii") not in TYPES.values():
        raise ValueError(f"an object of type {kind!r}")
    return kind.decode("ascii"), int(size)


def _with_alternates(folder: str) -> list[str]:
    """A folder of objects and those that it borrows from (gitrepository-layout(5)), each once."""
    found = {os.path.realpath(folder): folder}
    todo = [folder]
    while todo and len(found) < _MAX_ALTERNATES:
        here = todo.pop()
        for line in (read_small(f"{here}/info/alternates") or b"").splitlines():
            if line and not line.startswith(b"#"):
                there = os.path.join(here, os.fsdecode(line))  # noqa: PTH118 - keeps bytes that are no UTF-8
                if os.path.realpath(there) not in found:
                    found[os.path.realpath(there)] = there
                    todo.append(there)
    return list(found.values())


def _close_all(packs: dict[str, OpenPack]) -> None:
    for pack in packs.values():
        pack.close()
    packs.clear()


def _oid(sha: str) -> ObjectID:
    return ObjectID(sha.encode("ascii"))

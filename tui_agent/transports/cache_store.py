"""Replies kept in one SQLite file: each whole or not at all, by any number of processes, within a bound.

A reply is one transaction in a write-ahead log, so a process that is killed in the middle leaves it out
("Atomic Commit In SQLite", "Write-Ahead Logging").

A file that is damaged, or is not ours, is set aside by leaving it where it is: what comes goes into a next
file, whose number is one higher, and which every later process finds. Nothing is ever renamed or deleted that
another process may have open ("How To Corrupt An SQLite Database File", 2.3 and 2.4 in SQLite's documentation).
"""

from __future__ import annotations

import re
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tui_agent.private_folder import make_private

LIMIT = 500_000_000
"""Bytes that the replies may have on disk."""
BUSY_SECONDS = 5.0
"""How long another process's write is waited for."""
USED_SECONDS = 60.0
"""How exactly the last use of a reply is known."""
_APPLICATION = 0x52415443
_TABLES = {
    "replies": "CREATE TABLE replies (key BLOB PRIMARY KEY, id BLOB NOT NULL, used REAL NOT NULL,"
    " checksum INTEGER NOT NULL, head BLOB NOT NULL, body BLOB NOT NULL)",
    "replies_by_use": "CREATE INDEX replies_by_use ON replies (used)",
}
_NAME = "replies-v1.{}.sqlite"
"""With another form of the tables comes another number behind the v: each version keeps to its own."""
_NUMBERED = re.compile(r"replies-v1\.(\d{1,6})\.sqlite")
_COMPANIONS = ("", "-wal", "-shm", "-journal")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_FULL_AT = 0.95
_EMPTIED_TO = 0.94
"""Of the limit. By so much at a time making room is rare, and takes no longer than 50 ms: deleting 50 MB at once took
500, and left a log of that size beside the file. What is left above is room for the log."""


class ForeignFile(Exception):
    """The file in the cache's place is none of ours."""


@dataclass(frozen=True, slots=True)
class Record:
    """One reply as it is kept.

    Args:
        id: names this very body; another body under the same key has another.
        head: what the rules of caching need to know of it.
        body: as it came over the wire.
        used: epoch seconds of its last use, about.
    """

    id: bytes
    head: bytes
    body: bytes
    used: float = 0.0


@dataclass(frozen=True, slots=True)
class Totals:
    """How many replies are kept, and the bytes of all files in their place."""

    entries: int
    size: int


def cache_folder() -> Path:
    """Where this user's replies are kept."""
    # 30 ms that a run pays, and `--help` does not.
    from platformdirs import user_cache_path

    from tui_agent.settings import APP_NAME

    return user_cache_path(APP_NAME, appauthor=False)


def is_damage(error: Exception) -> bool:
    """Whether an error means that the file can be used no more, by anybody."""
    if isinstance(error, sqlite3.Error):
        # What Python's module finds out by itself has no code.
        return (getattr(error, "sqlite_errorcode", 0) & 0xFF) in _DAMAGED
    return isinstance(error, ForeignFile)


class Store:
    """The replies, for one thread at a time; the file is made or opened on first use.

    Every method may raise `sqlite3.Error`, `OSError` or `ForeignFile`.

    Args:
        folder: the place; made, for the user alone, where it is not there.
        now: epoch seconds.
        limit: bytes that the replies may have on disk.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time, limit: int = LIMIT) -> None:
        self.folder = folder
        self._now = now
        self._limit = limit
        self._number = 1
        self._connection: sqlite3.Connection | None = None

    def read(self, key: bytes) -> Record | None:
        """The reply of a key; one whose bytes have changed on the disk is not there."""
        found = self._open().execute("SELECT id, head, body, used, checksum FROM replies WHERE key = ?", (key,))
        row = found.fetchone()
        if row is None or [type(value) for value in row] != [bytes, bytes, bytes, float, int]:
            return None
        record = Record(*row[:4])
        return record if row[4] == _checksum(record) else None

    def is_long_unused(self, record: Record) -> bool:
        """Whether its last use should be noted anew."""
        return abs(self._now() - record.used) > USED_SECONDS

    def touch(self, key: bytes) -> None:
        """Note that a reply has been used."""
        self._open().execute("UPDATE replies SET used = ? WHERE key = ?", (self._now(), key))

    def write(self, key: bytes, record: Record) -> None:
        """Keep a reply in the place of the key's former one; what was used longest ago makes room."""
        size = len(record.head) + len(record.body)
        if size > self._limit // 4:
            return
        with self._change() as connection:
            self._make_room(connection, size)
            connection.execute(
                "INSERT OR REPLACE INTO replies (key, id, used, checksum, head, body) VALUES (?, ?, ?, ?, ?, ?)",
                (key, record.id, self._now(), _checksum(record), record.head, record.body),
            )

    def amend(self, key: bytes, record: Record) -> None:
        """Give a reply another head, unless another process has replaced it meanwhile."""
        self._open().execute(
            "UPDATE replies SET head = ?, checksum = ?, used = ? WHERE key = ? AND id = ?",
            (record.head, _checksum(record), self._now(), key, record.id),
        )

    def remove(self, key: bytes) -> None:
        """Forget a reply."""
        self._open().execute("DELETE FROM replies WHERE key = ?", (key,))

    def set_aside(self) -> str:
        """Leave the file as it lies and go on in the next one; its name."""
        self.close()
        aside = self._number
        self._number += 1
        for number in self._numbers():
            if number < aside:
                self._delete(number)
        return _NAME.format(aside)

    def totals(self) -> Totals:
        """What is kept; nothing is made where nothing is there."""
        if not self._numbers():
            return Totals(0, 0)
        # Measured before looking, which makes files of its own.
        size = self._size_on_disk()
        return Totals(int(self._open().execute("SELECT count(*) FROM replies").fetchone()[0]), size)

    def is_whole(self) -> bool:
        """Whether the file is sound in its structure, which is read as a whole; no file is."""
        return not self._numbers() or self._open().execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"

    def clear(self) -> None:
        """Forget everything, give the space back, and delete what was set aside."""
        if not self._numbers():
            return
        with self._change() as connection:
            connection.execute("DELETE FROM replies")
        # While other processes are at it, the space stays with the file, to be used again.
        with suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for number in self._numbers():
            if number < self._number:
                self._delete(number)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            make_private(self.folder)
            self._number = max([self._number, *self._numbers()])
            self._connection = _connect(self._path(self._number))
        return self._connection

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction: whole, or as if nothing had been."""
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise

    def _make_room(self, connection: sqlite3.Connection, size: int) -> None:
        """Delete what was used longest ago where the limit is reached; else it costs nothing: SQLite counts pages."""
        used = _pages_size(connection) + size
        if used <= self._limit * _FULL_AT:
            return
        too_much, oldest = used - self._limit * _EMPTIED_TO, []
        for row, length in connection.execute("SELECT rowid, length(head) + length(body) FROM replies ORDER BY used"):
            if too_much <= 0:
                break
            oldest.append((row,))
            too_much -= length
        connection.executemany("DELETE FROM replies WHERE rowid = ?", oldest)

    def _path(self, number: int) -> Path:
        return self.folder / _NAME.format(number)

    def _numbers(self) -> list[int]:
        """The numbers of the files that are there."""
        with suppress(FileNotFoundError):
            found = (_NUMBERED.fullmatch(path.name) for path in self.folder.iterdir())
            return [int(match[1]) for match in found if match]
        return []

    def _size_on_disk(self) -> int:
        size = 0
        for path in (self._beside(number, companion) for number in self._numbers() for companion in _COMPANIONS):
            with suppress(OSError):
                size += path.lstat().st_size
        return size

    def _delete(self, number: int) -> None:
        for companion in _COMPANIONS:
            with suppress(OSError):
                self._beside(number, companion).unlink()

    def _beside(self, number: int, companion: str) -> Path:
        return self.folder / (_NAME.format(number) + companion)


def _connect(path: Path) -> sqlite3.Connection:
    """A connection to our own file, made if it is not there, for the user alone."""
    # A pipe would be waited for, a link lead elsewhere.
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ForeignFile(path.name)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        # The folder is closed to others already; SQLite gives the files beside this one the same mode. The file is
        # never opened by another way, since closing it would drop this process's locks on it (POSIX).
        for companion in _COMPANIONS:
            with suppress(FileNotFoundError):
                path.with_name(path.name + companion).chmod(0o600)
        connection.execute("BEGIN")
        is_ours = _is_ours(connection)
        connection.execute("COMMIT")
        if not is_ours:
            _initialise(connection)
        # Nothing of ours is text; what a damaged file calls one need not be any.
        connection.text_factory = bytes
        # Safe with a write-ahead log, and does not wait for the disk each time.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA journal_size_limit = 4000000")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_ours(connection: sqlite3.Connection) -> bool:
    """Whether the file is one of ours; False for an empty one.

    To be asked within a transaction: another process may be about to make it, and both answers are of one moment.

    Raises:
        ForeignFile: it holds something else.
    """
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
    if application == 0 and not tables:
        return False
    if application != _APPLICATION or tables != _TABLES:
        raise ForeignFile("other tables")
    return True


def _initialise(connection: sqlite3.Connection) -> None:
    _switch_to_log(connection)
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have been faster.
    if not _is_ours(connection):
        for statement in _TABLES.values():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute("COMMIT")


def _switch_to_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; the one thing in SQLite that does not wait for others by itself."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _pages_size(connection: sqlite3.Connection) -> int:
    """Bytes of the pages in use."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _checksum(record: Record) -> int:
    """Notices a byte that the disk has changed, which SQLite does not."""
    return zlib.crc32(record.body, zlib.crc32(record.head, zlib.crc32(record.id)))

"""Refs in git's reftable format (gitformat-reftable(5), versions 1 and 2): read, never written.

A stack of tables, oldest first, each sorted; what a later table says of a ref holds. Only the
blocks of refs are read: they come first in a table, and the rest serves faster look-ups and logs.
"""

from __future__ import annotations

import os
import struct

from tui_agent.transports.local_files import read_small
from tui_agent.transports.local_git_refs import is_per_worktree, is_ref_name
from tui_agent.transports.local_source import LocalRepositoryError

_LIMIT = 256 * 1024 * 1024
_HEADERS = {1: 24, 2: 28}
_DELETED, _VALUE, _PEELED, _SYMBOLIC = range(4)


class ReftableRefs:
    """Refs in reftables, those of a linked worktree (its HEAD) in tables of its own.

    Args:
        git_dir: the repository's, or the linked worktree's own.
        common_dir: the repository's that a linked worktree belongs to; else the same.
    """

    def __init__(self, git_dir: str, common_dir: str) -> None:
        self._own = _Stack(git_dir)
        self._shared = self._own if git_dir == common_dir else _Stack(common_dir)

    def read(self, name: bytes) -> bytes | None:
        """See `RefStore`."""
        return self._stack(name).refs().get(name)

    def names(self, prefix: bytes) -> list[bytes]:
        """See `RefStore`."""
        return sorted(name for name in self._stack(prefix).refs() if name.startswith(prefix) and is_ref_name(name))

    def _stack(self, name: bytes) -> _Stack:
        return self._own if is_per_worktree(name) else self._shared


class _Stack:
    """The tables of one folder, read again when their list changes."""

    def __init__(self, git_dir: str) -> None:
        self._folder = f"{git_dir}/reftable"
        self._list: bytes | None = None
        self._refs: dict[bytes, bytes] = {}

    def refs(self) -> dict[bytes, bytes]:
        """Every ref's value, as `RefStore.read` tells it.

        Raises:
            LocalRepositoryError: a table cannot be read.
        """
        # The list may change between reading it and its tables: git compacts them.
        for _ in range(3):
            listed = read_small(f"{self._folder}/tables.list") or b""
            if listed == self._list:
                return self._refs
            tables = [read_small(f"{self._folder}/{name}", limit=_LIMIT) for name in _table_names(listed)]
            if None not in tables:
                break
        refs: dict[bytes, bytes | None] = {}
        try:
            for table in tables:
                refs.update(_read_table(table or b""))
        except (ValueError, IndexError, struct.error) as error:
            raise LocalRepositoryError(f"The refs in {self._folder} cannot be read: {error}.") from error
        self._list = listed
        self._refs = {name: value for name, value in refs.items() if value is not None}
        return self._refs


def _table_names(listed: bytes) -> list[str]:
    names = [os.fsdecode(line) for line in listed.split(b"\n") if line]
    if any(name in (".", "..") or "/" in name or os.sep in name for name in names):
        raise LocalRepositoryError("The list of reftables names files outside of their folder.")
    return names


def _read_table(data: bytes) -> dict[bytes, bytes | None]:
    """The refs of one table; None for one that it deletes."""
    if data[:4] != b"REFT" or data[4] not in _HEADERS:
        raise ValueError("no reftable")
    header = _HEADERS[data[4]]
    if data[4] == 2 and data[24:28] != b"sha1":
        raise ValueError("hashes that are not SHA-1")
    block_size = int.from_bytes(data[5:8], "big")
    refs: dict[bytes, bytes | None] = {}
    start, position = 0, header
    while data[position : position + 1] == b"r":
        length = int.from_bytes(data[position + 1 : position + 4], "big")
        end = start + length
        (restarts,) = struct.unpack_from(">H", data, end - 2)
        records = end - 2 - 3 * restarts
        if records <= position + 4:
            raise ValueError("a block without refs")
        _read_block(data, position + 4, records, refs)
        # A block that is shorter than the table's is padded with NULs, or the next one follows at once.
        padded = start + block_size
        start = padded if end < padded and data[end : end + 1] == b"\0" else end
        position = start
    return refs


def _read_block(data: bytes, position: int, end: int, refs: dict[bytes, bytes | None]) -> None:
    name = b""
    while position < end:
        shared, position = _varint(data, position)
        packed, position = _varint(data, position)
        length, kind = packed >> 3, packed & 7
        if shared > len(name) or position + length > end:
            raise ValueError("a name that goes beyond its block")
        name = name[:shared] + data[position : position + length]
        position += length
        _, position = _varint(data, position)
        value: bytes | None = None
        if kind in (_VALUE, _PEELED):
            value = data[position : position + 20].hex().encode()
            position += 20 * kind
        elif kind == _SYMBOLIC:
            length, position = _varint(data, position)
            value = b"ref: " + data[position : position + length]
            position += length
        elif kind != _DELETED:
            raise ValueError(f"a ref of type {kind}")
        refs[name] = value


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = data[position] & 0x7F
    while data[position] & 0x80:
        position += 1
        value = (value + 1) << 7 | data[position] & 0x7F
        if value > _LIMIT * 256:
            raise ValueError("a number without end")
    return value, position + 1

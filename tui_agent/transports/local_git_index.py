"""Git's index: what is staged, and what each file looked like when it was (gitformat-index(5), versions 2 to 4)."""

from __future__ import annotations

import struct
from typing import NamedTuple

_FIXED = struct.Struct(">10I20sH")
_ASSUME_VALID, _EXTENDED, _SKIP_WORKTREE = 0x8000, 0x4000, 0x4000
_NAME_MASK = 0x0FFF
_LIMIT = 1 << 31


class IndexEntry(NamedTuple):
    """One path of the index; times are (seconds, nanoseconds), the numbers as 32 bits hold them.

    `stage` is above 0 for the sides of a conflict; `fixed` says that the working tree is not to be
    looked at (assume-unchanged, or outside of a sparse checkout).
    """

    path: bytes
    mode: int
    sha: str
    ctime: tuple[int, int]
    mtime: tuple[int, int]
    inode: int
    size: int
    stage: int
    fixed: bool


class UnreadableIndex(ValueError):
    """The index has a form that is not known here."""


def parse_index(data: bytes) -> list[IndexEntry]:
    """The entries of an index file.

    Raises:
        UnreadableIndex: it is damaged, or of a kind that is not known here (a split index).
    """
    try:
        return _parse(data)
    except (struct.error, IndexError, ValueError) as error:
        raise UnreadableIndex(str(error)) from error


def _parse(data: bytes) -> list[IndexEntry]:
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise UnreadableIndex(f"version {version}")
    entries: list[IndexEntry] = []
    position = 12
    previous = b""
    for _ in range(count):
        start = position
        c_s, c_ns, m_s, m_ns, _, inode, mode, _, _, size, sha, flags = _FIXED.unpack_from(data, position)
        position += _FIXED.size
        fixed = bool(flags & _ASSUME_VALID)
        if flags & _EXTENDED:
            fixed = fixed or bool(struct.unpack_from(">H", data, position)[0] & _SKIP_WORKTREE)
            position += 2
        if version == 4:
            cut, position = _offset(data, position)
            end = data.index(b"\0", position)
            if cut > len(previous):
                raise UnreadableIndex("a path that cuts more than there is")
            path = previous[: len(previous) - cut] + data[position:end]
            position = end + 1
        else:
            length = flags & _NAME_MASK
            end = position + length if length < _NAME_MASK else data.index(b"\0", position)
            path = data[position:end]
            # One to eight NULs, so that the next entry begins at a multiple of eight.
            position = start + (end - start + 8) // 8 * 8
        previous = path
        stage = flags >> 12 & 3
        entries.append(IndexEntry(path, mode, sha.hex(), (c_s, c_ns), (m_s, m_ns), inode, size, stage, fixed))
    while position < len(data) - 20:
        name, size = struct.unpack_from(">4sI", data, position)
        if name == b"link":
            raise UnreadableIndex("a split index")
        position += 8 + size
    return entries


def _offset(data: bytes, position: int) -> tuple[int, int]:
    """A number as packs write the distance to a delta's base."""
    value = data[position] & 0x7F
    while data[position] & 0x80:
        position += 1
        value = (value + 1) << 7 | data[position] & 0x7F
        if value > _LIMIT:
            raise UnreadableIndex("a number without end")
    return value, position + 1

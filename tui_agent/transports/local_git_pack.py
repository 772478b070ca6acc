"""One pack of git's objects: what is in it by dulwich, how large it is by its own headers.

Sizes come from the headers alone (gitformat-pack(5): a delta tells the size of its result in its
first bytes), so that a tree of 100,000 files is listed without inflating one of them.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from binascii import unhexlify
from bisect import bisect_left
from collections.abc import Iterator
from typing import cast

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import RawObjectID
from dulwich.pack import Pack

from tui_agent.transports.local_files import open_regular

TYPES = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
MAX_OBJECT = 512 * 1024 * 1024
"""Bytes of an object that is inflated; git's own core.bigFileThreshold."""
_OFS_DELTA, _REF_DELTA = 6, 7
_DELTA_HEADER = 20
"""Bytes of the two sizes that a delta begins with, at most."""
_CACHE = 16 * 1024 * 1024
"""Bytes of delta bases that a pack keeps at hand."""
_KNOWN_CHAINS = 50_000
"""Objects of a pack whose chain of deltas is known to be sound."""


class OpenPack:
    """One pack: its index and its objects by dulwich, its headers by its own eyes."""

    def __init__(self, base: str) -> None:
        self._base = base
        for suffix in (".idx", ".pack"):
            # Refuses what is no regular file: mapping a FIFO would wait for ever.
            open_regular(base + suffix).close()
        self.dulwich = Pack(base, object_format=DEFAULT_OBJECT_FORMAT, delta_base_cache_limit=_CACHE)
        self._map: mmap.mmap | None = None
        self._index: _Index | None = None
        self._bottoms: dict[int, int] = {}

    def find(self, oid: bytes) -> int | None:
        """The offset of an object, None where this pack has it not."""
        index = self._indexed()
        if index.known:
            return index.find(oid)
        try:
            return self.dulwich.index.object_offset(RawObjectID(oid))
        except KeyError:
            return None

    def with_prefix(self, prefix: str) -> Iterator[str]:
        """The objects whose SHA begins with some hexadecimal digits."""
        index = self._indexed()
        if index.known:
            return index.with_prefix(prefix)
        return (sha.decode() for sha in self.dulwich.index if sha.startswith(prefix.encode()))

    def header(self, offset: int) -> tuple[str, int]:
        """An object's type and size, its deltas applied."""
        return self.type(offset), self.size(offset)

    def read(self, offset: int) -> tuple[str, bytes]:
        """An object, its deltas applied."""
        number, size, start, base = self._header(offset)
        if base is None and size <= MAX_OBJECT:
            # Deflate makes nothing longer than a few bytes a block; what lies beyond belongs to the next object.
            deflated = self._mapped()[start : start + size + (size >> 10) + 64]
            content = zlib.decompressobj().decompress(deflated, size + 1)
            if len(content) != size:
                raise ValueError(f"an object that is not as long as it says at {offset}")
            return TYPES[number], content
        self._check(offset)
        number, chunks = self.dulwich.resolve_object(offset, *self.dulwich.data.get_object_at(offset))
        return TYPES[number], b"".join(cast("list[bytes]", chunks))

    def type(self, offset: int) -> str:
        """An object's type, found at the bottom of its chain of deltas."""
        return TYPES[self._header(self._check(offset))[0]]

    def size(self, offset: int) -> int:
        """An object's size, its deltas applied."""
        number, size, start, _ = self._header(offset)
        if number in TYPES:
            return size
        stream = zlib.decompressobj()
        begin = stream.decompress(self._mapped()[start : start + 64], _DELTA_HEADER)
        if len(begin) < _DELTA_HEADER and not stream.eof:
            # The tables of a deflated block may take some hundred bytes before the first byte comes out.
            begin = zlib.decompressobj().decompress(self._mapped()[start : start + 4096], _DELTA_HEADER)
        _, position = _varint(begin, 0)
        size, _ = _varint(begin, position)
        return size

    def _check(self, offset: int) -> int:
        """Where the chain of deltas ends; nothing on the way may be too large to be inflated.

        Raises:
            ValueError: something is, or the chain has no end.
        """
        chain: dict[int, None] = {}
        here = offset
        while (bottom := self._bottoms.get(here)) is None:
            chain[here] = None
            _, size, _, base = self._header(here)
            if size > MAX_OBJECT or base in chain:
                raise ValueError(f"a chain of deltas that cannot be followed at {offset}")
            if base is None:
                bottom = here
                break
            here = base
        if bottom != offset:
            if self.size(offset) > MAX_OBJECT:
                raise ValueError(f"an object of more than {MAX_OBJECT} bytes at {offset}")
            if len(self._bottoms) > _KNOWN_CHAINS:
                self._bottoms.clear()
            self._bottoms.update(dict.fromkeys(chain, bottom))
        return bottom

    def close(self) -> None:
        """Unmap the pack."""
        self.dulwich.close()
        if self._map is not None:
            self._map.close()
            self._map = None
        if self._index is not None:
            self._index.close()
            self._index = None

    def _header(self, offset: int) -> tuple[int, int, int, int | None]:
        """Type number, size as stored, where the deflated data begins, and the offset of a delta's base."""
        data = self._mapped()[offset : offset + 64]
        number = data[0] >> 4 & 7
        size, shift, position = data[0] & 15, 4, 1
        while data[position - 1] & 0x80:
            size |= (data[position] & 0x7F) << shift
            shift += 7
            position += 1
        if number == _OFS_DELTA:
            back = data[position] & 0x7F
            while data[position] & 0x80:
                position += 1
                back = (back + 1) << 7 | data[position] & 0x7F
            if not 0 < back < offset:
                raise ValueError(f"a delta against nothing at {offset}")
            return number, size, offset + position + 1, offset - back
        if number == _REF_DELTA:
            base = self.find(data[position : position + 20])
            if base is None:
                raise ValueError(f"a delta against what is not in this pack at {offset}")
            return number, size, offset + position + 20, base
        return number, size, offset + position, None

    def _indexed(self) -> _Index:
        if self._index is None:
            self._index = _Index(_map(self._base + ".idx"))
        return self._index

    def _mapped(self) -> mmap.mmap:
        if self._map is None:
            self._map = _map(self._base + ".pack")
        return self._map


class _Index:
    """A pack's index of version 2 (gitformat-pack(5)): where each object is. Others are left to dulwich.

    A tree of 100,000 files asks 100,000 times: dulwich's own search costs four times this one.
    """

    _HEADER = b"\xfftOc\x00\x00\x00\x02"
    _FAR = 0x80000000

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.known = data[:8] == self._HEADER
        self._fan = (0, *struct.unpack_from(">256I", data, 8))
        self._names = 8 + 1024
        self._offsets = self._names + self._fan[256] * 24
        self._far = self._offsets + self._fan[256] * 4

    def find(self, oid: bytes) -> int | None:
        """The offset of an object, None where there is none."""
        low, high = self._fan[oid[0]], self._fan[oid[0] + 1]
        place = bisect_left(range(low, high), oid, key=self._name) + low
        if place >= high or self._name(place) != oid:
            return None
        (offset,) = struct.unpack_from(">I", self._data, self._offsets + place * 4)
        if offset & self._FAR:
            (offset,) = struct.unpack_from(">Q", self._data, self._far + (offset ^ self._FAR) * 8)
        return int(offset)

    def with_prefix(self, prefix: str) -> Iterator[str]:
        """The objects whose SHA begins with some hexadecimal digits."""
        first = unhexlify(prefix.ljust(40, "0"))
        low, high = self._fan[first[0]], self._fan[first[0] + 1]
        for place in range(bisect_left(range(low, high), first, key=self._name) + low, high):
            name = self._name(place).hex()
            if not name.startswith(prefix):
                return
            yield name

    def close(self) -> None:
        """Unmap the index."""
        self._data.close()

    def _name(self, place: int) -> bytes:
        start = self._names + place * 20
        return self._data[start : start + 20]


def _map(path: str) -> mmap.mmap:
    with open_regular(path) as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[position]
        value |= (byte & 0x7F) << shift
        shift += 7
        position += 1
        if not byte & 0x80:
            return value, position

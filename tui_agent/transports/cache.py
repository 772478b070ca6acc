"""A private cache around the network, by the rules of HTTP (RFC 9111), for this user and this token alone.

hishel decides by those rules what a kept reply is good for. Around it stands what it leaves open:

- GitHub names blobs, trees and commits by the hash of what they are: such a reply never changes, and is kept
  as long as there is room. What a branch points to is asked every time: a run speaks of the newest commit.
- The token is added below the cache and stands in no file; what is kept is found by a hash of it alone.
- A reply is written once whoever asked has made it out (`tui_agent.github.kept`), so that no broken one is ever
  given out again, and as one row for each request, so that no 304 is ambiguous.
- Headers that speak of the moment (`x-ratelimit-*`) are not kept.

hishel's own storage would keep a reply while it is read, whole or not; keep two where one has changed, for which a
weak ETag's 304 is no answer; and tell its troubles to a log. So what it decides is stored by `cache_store`.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from email.utils import formatdate
from pathlib import Path

import hishel
import httpx
from hishel.httpx import AsyncCacheTransport

from tui_agent.events import CacheState
from tui_agent.github.kept import ONLY_IF_CACHED, REVALIDATE, Kept, Tell, listener, note, wishes
from tui_agent.resilience.clock import Clock
from tui_agent.transports.cache_shelf import Shelf
from tui_agent.transports.cache_store import LIMIT, Record, Store, cache_folder

__all__ = ["LIMIT", "CacheTransport", "cache_folder", "is_immutable"]

LARGEST = 16 * 1024 * 1024
"""Bytes of a body that is kept, as it comes over the wire."""
_RULES = hishel.CacheOptions(shared=False, supported_methods=["GET"])
# The first one of the path: behind it a branch may be called anything.
_REPOSITORY = r"(?:/(?!repos/|repositories/)[^/]+)*/(?:repos/[^/]+/[^/]+|repositories/\d+)"
_SHA = r"(?:[0-9a-f]{40}|[0-9a-f]{64})"
_BY_HASH = re.compile(rf"{_REPOSITORY}/(?:git/(?:blobs|trees)|commits)/{_SHA}")
_HISTORY = re.compile(rf"{_REPOSITORY}/commits")
_REFS = re.compile(rf"{_REPOSITORY}/(?:commits/|git/trees/|git/matching-refs/|branches|tags).*")
_FOR_EVER = "private, max-age=2147483647, immutable"
"""The longest time that RFC 9111 (1.2.2) knows, which it takes for all time."""
_CONTENT = (200, 304)
_MOVED = (301, 308)
_OF_THE_MOMENT = re.compile(r"x-ratelimit-.*|retry-after|set-cookie|x-github-request-id|age")


def is_immutable(url: httpx.URL) -> bool:
    """Whether the address names, by its hash, something that never changes."""
    if _HISTORY.fullmatch(_path(url)):
        return re.fullmatch(_SHA, url.params.get("sha", "")) is not None
    return _BY_HASH.fullmatch(_path(url)) is not None


class CacheTransport(httpx.AsyncBaseTransport):
    """Another transport, with a cache around it; each reply says by `kept.noted` where it comes from.

    Args:
        inner: the network.
        folder: where the replies are kept.
        clock: the epoch.
        limit: bytes that they may have on disk.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, folder: Path, clock: Clock, *, limit: int = LIMIT) -> None:
        self._inner = inner
        self._clock = clock
        self._shelf = Shelf(Store(folder, clock.time, limit))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer from the cache, or let the inner transport answer."""
        asked = wishes(request)
        network = _Network(self._inner, request, self._clock, is_allowed=ONLY_IF_CACHED not in asked)
        bare = _without(request, "authorization", "cache-control")
        if request.method != "GET" or not self._shelf.is_open:
            return await network.handle_async_request(bare)
        if REVALIDATE in asked and not is_immutable(request.url):
            bare.headers["cache-control"] = REVALIDATE
        slot = _Slot(self._shelf, _key(request), str(request.url), listener(request))
        response = await AsyncCacheTransport(network, slot, _RULES).handle_async_request(bare)
        return note(response, Kept(slot.state(response), slot.settle, network.sent))

    async def aclose(self) -> None:
        """Close the inner transport and the file."""
        await self._inner.aclose()
        await self._shelf.aclose()


class _Network(httpx.AsyncBaseTransport):
    """The way down for one request: with its token, and back with what its reply's kind means for keeping it."""

    def __init__(
        self, inner: httpx.AsyncBaseTransport, original: httpx.Request, clock: Clock, *, is_allowed: bool
    ) -> None:
        self._inner = inner
        self._original = original
        self._clock = clock
        self._is_allowed = is_allowed
        self.sent = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self._is_allowed:
            return httpx.Response(504)
        sent = _without(request, "cache-control")
        if "authorization" in self._original.headers:
            sent.headers["authorization"] = self._original.headers["authorization"]
        self.sent += 1
        response = await self._inner.handle_async_request(sent)
        # Ages are told by this machine's clock, so they are counted from it, too.
        response.headers["date"] = formatdate(self._clock.time(), usegmt=True)
        rule = self._rule(response)
        if rule is not None:
            response.headers["cache-control"] = rule
        return response

    def _rule(self, response: httpx.Response) -> str | None:
        """How long the reply holds; None where what the server says goes."""
        url, said = self._original.url, response.headers.get("cache-control", "").lower()
        if response.status_code not in (*_CONTENT, *_MOVED) or "no-store" in said:
            return "no-store"
        if response.status_code in _CONTENT and is_immutable(url):
            return _FOR_EVER
        if _REFS.fullmatch(_path(url)):
            return "private, no-cache"
        # Nothing is guessed from the age of what it speaks of; a 304 that says nothing leaves what was said before.
        is_silent = "max-age" not in said and "expires" not in response.headers
        return "private, no-cache" if is_silent and response.status_code != 304 else None


@dataclass(frozen=True, slots=True)
class _Head:
    """What the rules need to know of a kept reply, as JSON on the disk."""

    status: int
    asked: dict[str, list[str]]
    headers: dict[str, list[str]]

    def pack(self) -> bytes:
        return json.dumps([self.status, self.asked, self.headers], separators=(",", ":")).encode()

    @classmethod
    def unpack(cls, data: bytes) -> _Head:
        """Raises ValueError, TypeError: it is none."""
        return cls(*json.loads(data))


class _Slot(hishel.AsyncBaseStorage):
    """The cache as one request sees it: at most one kept reply, and no change before the verdict."""

    def __init__(self, shelf: Shelf, key: bytes, url: str, tell: Tell) -> None:
        super().__init__()
        self._shelf = shelf
        self._key = key
        self._url = url
        self._tell = tell
        self._found: Record | None = None
        self._new: Record | None = None
        self._amended: Record | None = None
        self._is_old = False
        self._is_served = False

    async def get_entries(self, key: str) -> list[hishel.Entry]:
        record = await self._shelf.read(self._key, self._tell)
        if record is None:
            return []
        try:
            head = _Head.unpack(record.head)
            entry = hishel.Entry(
                uuid.UUID(bytes=record.id),
                hishel.Request("GET", self._url, hishel.Headers(head.asked)),
                hishel.Response(head.status, hishel.Headers(head.headers), _once(record.body)),
            )
        except (ValueError, TypeError, AttributeError):
            return []
        self._found = record
        return [entry]

    async def create_entry(
        self,
        request: hishel.Request,
        response: hishel.Response,
        key: str,
        *,
        ttl: float | None = None,
        tti: float | None = None,
    ) -> hishel.Entry:
        name = uuid.uuid4()
        stream = response.stream
        assert isinstance(stream, AsyncIterator)
        head = _Head(response.status_code, _told_apart_by(request, response), _lasting(response.headers))
        return hishel.Entry(name, request, replace(response, stream=self._collected(stream, name.bytes, head.pack())))

    async def update_headers(self, id: uuid.UUID, headers: hishel.Headers) -> None:  # noqa: A002 - hishel's name
        found = self._found
        if found is not None and found.id == id.bytes:
            head = replace(_Head.unpack(found.head), headers=_lasting(headers))
            self._amended = replace(found, head=head.pack())

    async def remove_entry(self, id: uuid.UUID) -> None:  # noqa: A002 - hishel's name
        self._is_old = True

    def state(self, response: httpx.Response) -> CacheState:
        """Where the reply comes from."""
        status: hishel.CacheStatus = response.extensions["caching"]
        self._is_served = status["from_cache"]
        if not self._is_served:
            return "miss"
        return "revalidated" if status["revalidated"] else "hit"

    async def settle(self, good: bool) -> None:
        """Carry out what the request has changed; a kept reply that could not be made out is removed."""
        if good and self._new is not None:
            await self._shelf.write(self._key, self._new, self._tell)
        elif good and self._amended is not None:
            await self._shelf.amend(self._key, self._amended, self._tell)
        elif self._found is not None and (self._is_old or (self._is_served and not good)):
            await self._shelf.remove(self._key, self._tell)

    async def _collected(self, stream: AsyncIterator[bytes], name: bytes, head: bytes) -> AsyncIterator[bytes]:
        """The body as it passes by; once it has ended well it is there to be kept."""
        body = bytearray()
        async for piece in stream:
            if len(body) <= LARGEST:
                body += piece
            yield piece
        if len(body) <= LARGEST:
            self._new = Record(name, head, bytes(body))


def _key(request: httpx.Request) -> bytes:
    """What one reply is kept under: who asks, for what, in which form. Nobody can tell the token from it."""
    parts = (request.headers.get("authorization", ""), request.headers.get("accept", ""), str(request.url))
    hashes = (hashlib.sha256(part.encode()).digest() for part in parts)
    return hashlib.sha256(b"".join(hashes)).digest()


def _path(url: httpx.URL) -> str:
    """The path as it is sent, without the query."""
    return url.raw_path.decode("ascii").partition("?")[0]


def _without(request: httpx.Request, *names: str) -> httpx.Request:
    """The same request without some of its headers."""
    headers = request.headers.copy()
    for name in names:
        headers.pop(name, None)
    return httpx.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def _told_apart_by(request: hishel.Request, response: hishel.Response) -> dict[str, list[str]]:
    """The request's headers that `Vary` names: no other is of use later."""
    named = {name.strip().lower() for name in response.headers.get("vary", "").split(",")}
    return {name: values for name, values in _lists(request.headers).items() if name in named - {"authorization"}}


def _lasting(headers: hishel.Headers) -> dict[str, list[str]]:
    return {name: values for name, values in _lists(headers).items() if not _OF_THE_MOMENT.fullmatch(name)}


def _lists(headers: hishel.Headers) -> dict[str, list[str]]:
    return {name.lower(): headers.get_list(name) or [] for name in headers}


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body

"""What a script tells a server to do instead of the plain reply, or to the plain reply."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import json
import time
import zlib
from collections.abc import AsyncIterator, Callable

from tests.servers.http import Answer, Gate, Request

Change = Callable[[Answer], Answer]
"""Takes the plain reply and gives back what is sent."""


@dataclasses.dataclass(frozen=True, slots=True)
class ByRequest:
    """A reply of its own that depends on what was asked."""

    reply: Callable[[Request], Answer]


Step = Answer | Change | ByRequest
"""One step of a script: a whole reply of its own, or a change of the plain one."""

DOCS = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api"


def plain() -> Change:
    """The plain reply, untouched."""
    return lambda answer: answer


def slow(seconds: float) -> Change:
    """The plain reply, later."""
    return lambda answer: dataclasses.replace(answer, delay=seconds)


def gated(gate: Gate) -> Change:
    """The plain reply, when the gate opens."""
    return lambda answer: dataclasses.replace(answer, gate=gate)


def hold() -> Change:
    """No reply, and the connection stays open: the client has to give up."""
    return lambda answer: dataclasses.replace(answer, ending="hold")


def drop() -> Change:
    """The connection is closed before the reply."""
    return lambda answer: dataclasses.replace(answer, ending="drop")


def reset() -> Change:
    """The connection is reset (RST) before the reply."""
    return lambda answer: dataclasses.replace(answer, ending="reset")


def cut(at: int | None = None, *, by_reset: bool = False) -> Change:
    """The plain reply's headers and a part of its body (None: half), then nothing more."""
    return lambda answer: dataclasses.replace(answer, ending="cut_reset" if by_reset else "cut", cut_at=at)


def refuse(status: int, message: str = "", **headers: str) -> Answer:
    """A status with GitHub's JSON; `retry_after="5"` becomes a header of that name."""
    body = json.dumps({"message": message or f"Status {status}", "documentation_url": DOCS, "status": str(status)})
    return Answer(status, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode())


def html(status: int = 502) -> Answer:
    """A page of a proxy that stands before the service."""
    body = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
    return Answer(status, {"content-type": "text/html"}, body)


def broken_json() -> Answer:
    """JSON that ends in the middle, though the reply is whole."""
    return Answer(200, {}, b'{"sha": "0a1b", "tree": [{"path": ')


def wrong_json() -> Answer:
    """JSON of another shape than the documented one."""
    return Answer(200, {}, b'["not", "what", "was", "asked", "for"]')


def compressed_garbage() -> Answer:
    """Says gzip and is none."""
    return Answer(200, {"content-encoding": "gzip"}, b"\x1f\x8b\x08\x00this is no gzip stream at all")


def huge(size: int = 40 * 1024 * 1024) -> Answer:
    """A body that no reply of the service has, in pieces."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"content": "'
        for _ in range(size // 65536):
            yield b"A" * 65536
        yield b'"}'

    return Answer(200, {}, pieces)


def redirect(location: str, status: int = 301) -> Answer:
    """To another place, with the body that GitHub sends."""
    body = json.dumps({"message": "Moved Permanently", "url": location, "documentation_url": DOCS})
    return Answer(status, {"location": location}, body.encode())


def elsewhere(to: Callable[[Request], str], status: int = 301) -> ByRequest:
    """To a place that depends on what was asked."""
    return ByRequest(lambda request: redirect(to(request), status))


def html_page(status: int = 200) -> Answer:
    """What a hotel's network answers for everything: a good status, and a page to sign in."""
    return Answer(status, {"content-type": "text/html"}, b"<!doctype html><title>Sign in</title><h1>Welcome</h1>")


@functools.cache
def bomb(size: int = 32 * 1024 * 1024) -> Answer:
    """A small body that unpacks to one that no reply of the service has."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    body = b"".join(packer.compress(b" " * 65536) for _ in range(size // 65536)) + packer.flush()
    return Answer(200, {"content-encoding": "gzip"}, body)


def declared_huge(size: int = 10**12) -> Change:
    """The plain reply, that says it is absurdly long."""
    return lambda answer: dataclasses.replace(
        answer, headers={**answer.headers, "content-length": str(size)}, ending="cut"
    )


def trickle(pause: float = 1.0) -> Answer:
    """A body that never ends, byte by byte."""

    async def pieces() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(pause)

    return Answer(200, {}, pieces)


def primary_limit(seconds: float = 60.0, *, status: int = 403, limit: int = 60) -> Answer:
    """The hourly limit is used up; it comes back in `seconds`."""
    headers = {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-used": str(limit),
        "x-ratelimit-reset": str(int(time.time() + seconds)),
        "x-ratelimit-resource": "core",
    }
    message = (
        "API rate limit exceeded for 127.0.0.1. (But here's the good news: Authenticated requests get a higher limit.)"
    )
    return dataclasses.replace(refuse(status, message), headers=headers)


def secondary_limit(retry_after: str | None = "1", *, status: int = 403) -> Answer:
    """Too many requests at once; `retry_after=None` leaves the header out."""
    headers = {} if retry_after is None else {"retry-after": retry_after}
    message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return dataclasses.replace(refuse(status, message), headers=headers)

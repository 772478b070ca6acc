"""The body of a reply, read within bounds: whatever a server sends, memory stays small.

httpx decompresses a chunk whole before anybody can count it, and takes a compressed body that ends
in the middle for a whole one; so the chunks are taken raw and decompressed here.
"""

from __future__ import annotations

import zlib

import httpx

from tui_agent.resilience.outcome import Trouble

ACCEPT_ENCODING = "gzip"
"""What `read_body` can decompress; to be sent with the request."""
_GZIP = zlib.MAX_WBITS | 16
_CUT = "the body was cut short"


async def read_body(response: httpx.Response, limit: int) -> bytes:
    """The body of an open response, decompressed.

    Args:
        response: sent with `stream=True`; not closed here.
        limit: bytes, after decompression, that a body may have.

    Raises:
        Trouble: it is larger, ends too early, or cannot be decompressed.
        httpx.HTTPError: the connection broke.
    """
    # a good status says nothing about what went wrong
    status = response.status_code if response.status_code >= 400 else None
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip"):
        raise Trouble("the body is compressed in a way that was not asked for", status)
    unzip = zlib.decompressobj(_GZIP) if "gzip" in encoding else None
    declared = response.headers.get("content-length", "")
    expected = int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 19 else 0
    if expected > limit:
        raise _too_large(limit)
    body, came = bytearray(), 0
    assert isinstance(response.stream, httpx.AsyncByteStream)
    async for chunk in response.stream:
        came += len(chunk)
        if unzip is not None and unzip.eof:
            break
        try:
            # one byte more than there is room for tells that it is too much
            body += chunk if unzip is None else unzip.decompress(chunk, limit - len(body) + 1)
        except zlib.error as error:
            raise Trouble("the body is garbled (its compression is broken)", status) from error
        # compressed nothing can go on for ever, too
        if len(body) > limit or came > 2 * limit:
            raise _too_large(limit)
    if came < expected or (unzip is not None and came and not unzip.eof):
        raise Trouble(_CUT, status)
    return bytes(body)


def _too_large(limit: int) -> Trouble:
    return Trouble(f"the reply is larger than {limit // 2**20} MB")

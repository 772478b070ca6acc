"""The network as a transport, so that other transports can be put around it."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache

import httpx

from tui_agent.request import UsageError


class NetworkTransport(httpx.AsyncBaseTransport):
    """Sends requests as httpx itself does, with the environment's proxies and certificates.

    A client that is given a transport of its own ignores `HTTPS_PROXY` and `NO_PROXY`; so the
    network is a whole client inside.

    A request that is cancelled (by its time-out, too) while httpcore holds or waits for one of its locks leaves a
    connection behind that is neither used nor closed, and of these a pool has only so many. So a client that has met
    a cancellation is given up: what is under way in it ends, then it is closed with all that is left in it.

    Raises:
        UsageError: the environment names certificates or a proxy that cannot be used.
    """

    def __init__(self) -> None:
        self._connections = _Connections(_client())
        self._given_up: list[_Connections] = []
        self._closing: set[asyncio.Task[None]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; its own time-outs, if it brings any, hold."""
        used = self._connections
        used.under_way += 1
        try:
            response = await used.client.send(request, stream=True)
        except BaseException as error:
            self._left(used, cancelled=isinstance(error, asyncio.CancelledError))
            raise
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Watched(response.stream, lambda cancelled: self._left(used, cancelled=cancelled))
        return response

    def _left(self, used: _Connections, *, cancelled: bool) -> None:
        """A request has ended."""
        used.under_way -= 1
        if cancelled and used is self._connections:
            self._given_up.append(used)
            self._connections = _Connections(_client())
        if used in self._given_up and used.under_way == 0:
            self._given_up.remove(used)
            # in a task of its own: whoever was cancelled may be cancelled again
            closing = asyncio.get_running_loop().create_task(used.client.aclose())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Close the connections."""
        given_up, self._given_up = self._given_up, []
        for connections in (self._connections, *given_up):
            await connections.client.aclose()
        await asyncio.gather(*self._closing, return_exceptions=True)


@dataclass(eq=False)
class _Connections:
    """A client, and how many of its requests are under way."""

    client: httpx.AsyncClient
    under_way: int = 0


class _Watched(httpx.AsyncByteStream):
    """Another stream, whose end is told once, and whether a cancellation came before it."""

    def __init__(self, inner: httpx.AsyncByteStream, ended: Callable[[bool], None]) -> None:
        self._inner = inner
        self._ended: Callable[[bool], None] | None = ended
        self._cancelled = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._inner:
                yield piece
        except asyncio.CancelledError:
            self._cancelled = True
            raise

    async def aclose(self) -> None:
        try:
            await self._inner.aclose()
        except asyncio.CancelledError:
            self._cancelled = True
            raise
        finally:
            ended, self._ended = self._ended, None
            if ended is not None:
                ended(self._cancelled)


def _client() -> httpx.AsyncClient:
    certificates = _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    try:
        return httpx.AsyncClient(timeout=None, follow_redirects=False, verify=certificates)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        # not in httpx's words, which repeat the address: it may hold a password
        is_socks = isinstance(error, ImportError)
        what = "SOCKS needs: pip install 'httpx[socks]'" if is_socks else "it is no valid address"
        raise UsageError(
            f"The proxy of the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; NO_PROXY) cannot be used: {what}."
        ) from error


@lru_cache(maxsize=4)
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """The authorities that are trusted, found by httpx through these two variables.

    Read once in a process, since that takes 40 ms.
    """
    try:
        return httpx.create_ssl_context()
    except OSError as error:
        name = "SSL_CERT_FILE" if file else "SSL_CERT_DIR" if folder else "The certificates of this machine"
        raise UsageError(f"{name} cannot be read: {error.strerror or type(error).__name__}.") from error


_PLAIN = frozenset(
    (
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    )
)


BRIEF = 64 * 1024
"""Bytes of a refusal's body that are read."""


class PlainTransport(httpx.AsyncBaseTransport):
    """Another transport that is told what a request needs, and no header more, and refuses in few words.

    The SDK reads the body of a refusal whole, however long that is.

    Args:
        inner: what answers.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The inner answer to the plain request."""
        headers = [(name, value) for name, value in request.headers.raw if name.lower().decode("ascii") in _PLAIN]
        plain = httpx.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        response = await self._inner.handle_async_request(plain)
        if response.status_code >= 400:
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = _Brief(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class _Brief(httpx.AsyncByteStream):
    """The beginning of another stream."""

    def __init__(self, inner: httpx.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = BRIEF
        async for piece in self._inner:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._inner.aclose()

"""The MCP server over streamable HTTP, for whoever reaches its port."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from tui_agent.frontends.listening import Endpoint
from tui_agent.frontends.mcp_server import Service
from tui_agent.frontends.mcp_work import GONE

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/mcp"
"""Where the server is found."""
PATIENCE = 2
"""Seconds that open connections have to end when the server does."""


async def serve(service: Service, endpoint: Endpoint, listening: socket.socket, stop: asyncio.Event) -> None:
    """Serve whoever comes, until told to stop.

    Args:
        service: what is served.
        endpoint: where it was asked to listen: by these names a client may ask for it.
        listening: the socket; it is closed in the end.
        stop: ends it, when it is set.
    """
    # A client leaves the port out where it is the usual one.
    hosts = [name for host in endpoint.hosts for name in (host, f"{host}:*")]
    security = TransportSecuritySettings(
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )
    app = service.server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    config = uvicorn.Config(
        Departures(app),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        timeout_graceful_shutdown=PATIENCE,
    )
    server = _Quiet(config)

    async def end() -> None:
        await stop.wait()
        service.stop()
        server.handle_exit(signal.SIGTERM, None)

    ending = asyncio.ensure_future(end())
    try:
        await server.serve(sockets=[listening])
    finally:
        ending.cancel()
        listening.close()


class Departures:
    """An ASGI application around another: tells the work for a request when its client has left.

    A client of an older protocol that breaks off is not taken for one that cancels (the SDK keeps its session, so that
    it could come back for what it missed). Nothing is kept for it here, so that the work would be for nobody.

    Args:
        app: the one around which this is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        gone = scope[GONE] = asyncio.Event()

        async def watched() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        await self._app(scope, watched, send)


class _Quiet(uvicorn.Server):
    """A server that leaves the signals to whoever runs it."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take none."""
        yield

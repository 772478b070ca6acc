"""The dashboard in a browser: one page, and for each tab that shows it a dashboard of its own.

The page, its font and its script come from here and nothing comes from elsewhere. The server asks nobody who they are;
what keeps other web sites out is that neither their pages nor their names are answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import socket
from collections.abc import Awaitable, Callable, Sequence
from html import escape
from pathlib import Path
from string import Template

from aiohttp import web
from textual_serve.server import Server

from tui_agent.frontends.browser_process import BrowserProcess
from tui_agent.frontends.listening import Endpoint
from tui_agent.i18n import language, say

PAGE = Path(__file__).with_name("browser")
_SOCKET = "/ws"
_DEFAULT_PORTS = (80, 443)
# Source: OWASP, "HTTP Headers Cheat Sheet". xterm.js writes styles of its own.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class BrowserServer(Server):
    """Serves dashboards.

    Args:
        argv: what a dashboard's process executes.
        found: where the server listens.
        tell: called with a sentence for whoever started the server.
    """

    def __init__(self, argv: Sequence[str], found: Endpoint, tell: Callable[[str], None]) -> None:
        super().__init__(shlex.join(argv), found.host, found.port, title="repo-agent-tui", templates_path=PAGE)
        self._argv = argv
        self._tell = tell
        self._found = found
        names = [f"{host}:{found.port}" for host in found.hosts]
        if found.port in _DEFAULT_PORTS:
            names += found.hosts
        self._hosts = frozenset(name.lower() for name in names)
        self._page = (PAGE / "page.html").read_text(encoding="utf-8")
        self._dashboards: set[BrowserProcess] = set()

    async def serve_on(self, listening: socket.socket, stop: asyncio.Event) -> None:
        """Serve until told to stop; every dashboard has ended when this returns.

        Args:
            listening: the socket, listening already.
            stop: set when it is enough.
        """
        runner = web.AppRunner(await self._make_app(), access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.SockSite(runner, listening).start()
            await stop.wait()
        finally:
            await runner.cleanup()

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._only_from_here)
        app.on_response_prepare.append(self._harden)
        app.router.add_static("/page", PAGE)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Nothing: who started it says where it listens."""

    async def on_shutdown(self, app: web.Application) -> None:
        """End every dashboard."""
        await asyncio.gather(*(dashboard.stop() for dashboard in self._dashboards))

    @web.middleware
    async def _only_from_here(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer no name but the server's own (DNS rebinding), and no other site's page (cross-site WebSockets)."""
        host = request.host.lower()
        if host not in self._hosts:
            raise web.HTTPMisdirectedRequest(text=f"The dashboard is at http://{self._found}/ only.\n")
        # A browser always names the page that opens a WebSocket, and lets it open one anywhere.
        origin = request.headers.get("Origin", "").lower()
        if request.path == _SOCKET and origin not in (f"http://{host}", f"https://{host}"):
            raise web.HTTPForbidden(text="Only the dashboard's own page may open this.\n")
        return await handler(request)

    async def _harden(self, request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(_HEADERS)
        host = request.host if request.host.lower() in self._hosts else str(self._found)
        response.headers["Content-Security-Policy"] = _POLICY.format(host=host)

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page, in the interface's language."""
        words = {
            "starting": say("repo-agent-tui is starting …"),
            "script": say("The dashboard needs JavaScript; all of it comes from this address."),
            "ended": say("This dashboard has ended, or its server has. What the server said stands in its terminal."),
            "again": say("Start again"),
        }
        page = Template(self._page).substitute(
            {name: escape(text) for name, text in words.items()}, language=language()
        )
        return web.Response(text=page, content_type="text/html")

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """A dashboard for as long as the tab is there."""
        tab = web.WebSocketResponse(heartbeat=15)
        await tab.prepare(request)
        dashboard = BrowserProcess(
            self._argv,
            self._tell,
            write_bytes=tab.send_bytes,
            write_str=tab.send_str,
            close=tab.close,
            download_manager=self.download_manager,
        )
        self._dashboards.add(dashboard)
        try:
            # What is no message of the page ends the connection.
            with contextlib.suppress(ValueError, TypeError, LookupError, AssertionError):
                await dashboard.start(int(request.query.get("width", 80)), int(request.query.get("height", 24)))
                await self._process_messages(tab, dashboard)
        finally:
            await dashboard.stop()
            self._dashboards.discard(dashboard)
            await tab.close()
        return tab

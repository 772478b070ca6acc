"""The command `mcp`: a server for clients of the Model Context Protocol, on stdin and stdout or over HTTP."""

from __future__ import annotations

import asyncio
import gc
import os
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_agent.cli_runs import take_only
from tui_agent.cli_signals import INTERRUPTED, Interrupts
from tui_agent.cli_streams import complain, quiet_logs
from tui_agent.frontends.extras import imported
from tui_agent.frontends.listening import Endpoint, endpoint
from tui_agent.frontends.mcp_streams import protocol_streams
from tui_agent.request import UsageError
from tui_agent.settings import Settings

if TYPE_CHECKING:
    import socket

    from tui_agent.frontends.mcp_server import Service
    from tui_agent.session import Session

_TAKEN = {
    "http", "allow_remote", "model", "base_url", "max_turns", "max_tokens", "lang", "no_cache", "no_record", "chaos",
    "env_file", "profile",
}  # fmt: skip


def mcp(options: Namespace, settings: Settings, make_session: Callable[..., Any]) -> int:
    """Serve until the client goes, or until a signal comes; the exit code.

    Args:
        options: what was typed; behind the command stand the local folders that clients may read.
        settings: what holds.
        make_session: builds the session.

    Raises:
        UsageError: it cannot be served like this, or not with what is installed.
    """
    take_only(options, _TAKEN, "mcp")
    if options.http is None:
        if options.allow_remote:
            raise UsageError("--allow-remote goes with --http HOST:PORT.")
        return _on_stdio(options, settings, make_session)
    return _over_http(
        endpoint(options.http, "--http", allow_remote=options.allow_remote), options, settings, make_session
    )


def _on_stdio(options: Namespace, settings: Settings, make_session: Callable[..., Any]) -> int:
    if os.isatty(0):
        complain("`mcp` speaks with a client on stdin and stdout, which starts it; Ctrl-C ends it (see the README).")
    # Before anything is imported: a library may print even then.
    with protocol_streams() as (lines, output):
        service, session = _service(options, settings, make_session)

        async def serve() -> int:
            task = asyncio.ensure_future(service.serve_stdio(lines, output))
            try:
                with Interrupts(task.cancel) as interrupts:
                    await asyncio.wait([task])
                    if not task.cancelled():
                        task.result()
                    return INTERRUPTED if interrupts.received else 0
            finally:
                await session.aclose()

        return asyncio.run(serve())


def _over_http(asked: Endpoint, options: Namespace, settings: Settings, make_session: Callable[..., Any]) -> int:
    service, session = _service(options, settings, make_session)
    http: Any = imported("tui_agent.frontends.mcp_http", "mcp")
    try:
        listening = asked.listen()
    except OSError as error:
        complain(f"--http {asked}: nothing can listen there: {(error.strerror or str(error)).lower()}.")
        return 1
    found = Endpoint(asked.host, listening.getsockname()[1])

    async def serve(listening: socket.socket) -> int:
        stop = asyncio.Event()
        try:
            with Interrupts(stop.set):
                complain(f"MCP server at http://{found}{http.PATH}; Ctrl-C ends it.")
                await http.serve(service, found, listening, stop)
            return INTERRUPTED
        finally:
            await session.aclose()

    return asyncio.run(serve(listening))


def _service(options: Namespace, settings: Settings, make_session: Callable[..., Any]) -> tuple[Service, Session]:
    """The server and what reads for it."""
    quiet_logs()
    server: Any = imported("tui_agent.frontends.mcp_server", "mcp")
    from tui_agent.frontends.mcp_repositories import served

    folders: dict[str, Path] = served(options.repo[1:])
    # What was imported stays anyway.
    gc.freeze()
    gc.enable()
    session = make_session(settings, chaos=options.chaos, demo=False)
    return server.Service(session, folders, no_cache=options.no_cache), session

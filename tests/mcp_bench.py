"""The MCP server for its tests: in this process over memory streams, with the SDK's own client at the other end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, types

from tests.servers.http import HttpServer, until
from tests.servers.inside import TOKEN
from tui_agent.frontends.mcp_repositories import served
from tui_agent.frontends.mcp_server import Service
from tui_agent.resilience.clock import Clock
from tui_agent.runs.store import RunStore, RunSummary
from tui_agent.session import Session
from tui_agent.settings import Settings

MODES = ("legacy", "auto")
"""The handshake of older protocols over streams of messages; the newest one, without."""
TOOL = {"owner": "team", "repo": "tool"}
FILES = {"README.md": "# Tool\n\nA tool that hammers.\n", "LICENSE": "MIT License\n", "src/tool.py": "print('hi')\n"}


@asynccontextmanager
async def connected(
    github: HttpServer | None = None,
    *folders: Path,
    mode: str = "legacy",
    clock: Clock | None = None,
    **changes: Any,
) -> AsyncIterator[Client]:
    """A client of a server of its own.

    Args:
        github: what is asked; None for none.
        folders: local repositories.
        mode: one of `MODES`.
        clock: tells how long snapshots rest.
        changes: of the settings.
    """
    given = {"github_token": TOKEN, "base_delay": 0.01, "max_delay": 0.02, **changes}
    if github is not None:
        given["github_api_url"] = github.url
    session = Session(Settings(**given))
    service = Service(session, served(map(str, folders)), clock=clock)
    try:
        async with Client(service.server, mode=mode) as client:
            yield client
    finally:
        await session.aclose()


def said(result: types.CallToolResult) -> str:
    """The first text of an answer."""
    assert isinstance(result.content[0], types.TextContent)
    return result.content[0].text


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a repository tool answers about `team/tool`, or about what the arguments name."""
    result = await client.call_tool(tool, {**TOOL, **arguments})
    assert not result.is_error, said(result)
    assert result.structured_content is not None
    return result.structured_content


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """The sentence in which a tool refuses."""
    result = await client.call_tool(tool, arguments if tool == "analyze_repository" else {**TOOL, **arguments})
    assert result.is_error and result.structured_content is None
    return said(result)


class Ears:
    """Hears progress."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, float | None, str]] = []

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.heard.append((progress, total, message or ""))

    @property
    def text(self) -> str:
        return "\n".join(message for _, _, message in self.heard)


async def begun(server: HttpServer, work: asyncio.Task[Any], requests: int = 1) -> None:
    """Wait until so many requests have come to a server, for a call that is under way."""
    await until(lambda: len(server.requests) >= requests or work.done(), what="a request")
    assert not work.done(), work


async def cancelled(server: HttpServer, folder: Path | None = None, runs: int = 1) -> list[RunSummary]:
    """Wait until nothing asks a server any more and every run is recorded as cancelled; the runs."""
    store = RunStore(folder)
    await until(lambda: [run.outcome for run in store.list()] == ["cancelled"] * runs, seconds=10, what="a record")
    await until(lambda: server.idle, what="the end of all requests")
    return store.list()


def names(tools: Sequence[types.Tool]) -> list[str]:
    return [tool.name for tool in tools]

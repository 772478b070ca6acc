"""A whole run within this process, over real sockets, and what it has left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.github import GitHubServer
from tests.servers.http import HttpServer, until
from tests.servers.model import ModelServer
from tui_agent.events import Event, to_json
from tui_agent.request import RunRequest
from tui_agent.resilience.clock import Clock
from tui_agent.session import Session
from tui_agent.settings import Settings

KEY = "sk-key-of-the-model-0123456789"
TOKEN = "ghp_tokenOfGitHub0123456789abcdefABCDEF"
_HANDLES = Path("/proc/self/fd")


@dataclass(slots=True)
class Heard:
    """Everything that a run has told."""

    events: list[dict[str, Any]] = field(default_factory=list)
    on_event: Callable[[Event], object] | None = None

    def __call__(self, event: Event) -> None:
        self.events.append(to_json(event))
        if self.on_event is not None:
            self.on_event(event)

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one type, in order."""
        return [event for event in self.events if event["type"] == kind]

    @property
    def finished(self) -> dict[str, Any]:
        """The last event, which is `run_finished`."""
        assert self.events[-1]["type"] == "run_finished"
        return self.events[-1]

    @property
    def calls(self) -> dict[str, dict[str, Any]]:
        """`tool_finished` by the tool's name; of several calls of a tool the last."""
        return {event["tool"]: event for event in self.of("tool_finished")}


def settings_for(github: HttpServer | str, model: HttpServer | str, **changes: Any) -> Settings:
    """Settings that point at two servers."""
    urls = [server if isinstance(server, str) else server.url for server in (github, model)]
    given = {"api_key": KEY, "github_token": TOKEN, "base_delay": 0.01, "max_delay": 0.05, **changes}
    return Settings(github_api_url=urls[0], base_url=urls[1], **given)


async def run_inside(
    github: HttpServer | str,
    model: HttpServer | str,
    *,
    clock: Clock | None = None,
    request: RunRequest | None = None,
    on_event: Callable[[Event], object] | None = None,
    **changes: Any,
) -> Heard:
    """One run of a session of its own, which is closed afterwards.

    Args:
        github, model: where they are; a URL for one that is not there.
        clock: the run's time.
        request: None for `team/tool`.
        on_event: is handed each event after it was kept.
        changes: of the settings.
    """
    heard = Heard(on_event=on_event)
    session = Session(settings_for(github, model, **changes), clock=clock)
    try:
        finished = await session.run(request or RunRequest(repo="team/tool", no_cache=True), heard)
        assert (finished.outcome, finished.report) == (heard.finished["outcome"], heard.finished["report"])
    finally:
        await session.aclose()
    return heard


def open_handles() -> dict[str, str]:
    """What this process holds open, by number; nothing where the system does not tell."""
    if not _HANDLES.is_dir():
        return {}
    handles = {}
    for name in os.listdir(_HANDLES):  # noqa: PTH208 - the listing's own handle is told apart by its being gone
        try:
            handles[name] = os.readlink(_HANDLES / name)  # noqa: PTH115
        except OSError:
            continue
    return handles


@asynccontextmanager
async def nothing_left_behind() -> AsyncIterator[None]:
    """Asserts that the block leaves no task, no handle, and nothing that was never closed."""
    # what was there before is left out of the search, which would else take longer than the block
    gc.freeze()
    tasks, handles = asyncio.all_tasks(), open_handles()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ResourceWarning)
        yield
        for _ in range(20):
            await asyncio.sleep(0)
        gc.collect()
    gc.unfreeze()
    left = [task for task in asyncio.all_tasks() if task not in tasks]
    assert not left, f"tasks are left: {left}"
    assert [str(warning.message) for warning in heard if issubclass(warning.category, ResourceWarning)] == []
    assert open_handles() == handles


async def assert_quiet(*servers: HttpServer) -> None:
    """No server has a request under way or a connection open, nor has met trouble of its own."""
    for server in servers:
        await until(lambda server=server: server.idle, what="the client's closing of its connections")  # type: ignore[misc]
        assert all(exchange.ended is not None for exchange in server.exchanges)
        assert server.errors == []


__all__ = [
    "KEY",
    "TOKEN",
    "GitHubServer",
    "Heard",
    "ModelServer",
    "assert_quiet",
    "nothing_left_behind",
    "open_handles",
    "run_inside",
    "settings_for",
]

"""GitHub's client on a cache on a server that answers by script; each `run` is a process of its own to the cache."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.fakes import API, Layers, Recorder, Reply, Server, VirtualClock
from tui_agent.events import CacheState, Notice
from tui_agent.github.client import GitHubClient, route
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.transports.cache import CacheTransport
from tui_agent.transports.cache_store import LIMIT
from tui_agent.transports.faults import FaultScript, FaultTransport

REPO = route("repos", "octo", "demo")
SHA = "c0ffee" + "0" * 34
BLOB = f"{REPO}/git/blobs/{SHA}"
HEAD = f"{REPO}/commits/HEAD"
YEAR = 365 * 86400.0


def fine(data: Any = None, **headers: str) -> httpx.Response:
    """A good reply; `max_age=60`, `etag='"a"'` become headers of those names."""
    seconds = headers.pop("max_age", None)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if seconds is not None:
        named["cache-control"] = f"private, max-age={seconds}, s-maxage={seconds}"
    return httpx.Response(200, headers=named, json={"x": 1} if data is None else data)


def unchanged(**headers: str) -> httpx.Response:
    """A 304."""
    return httpx.Response(304, headers={name.replace("_", "-"): value for name, value in headers.items()})


class Run:
    """What one run sees.

    Attributes:
        states: where the replies have come from, in order.
        heard: every event.
    """

    def __init__(self, client: GitHubClient, layers: Layers, script: FaultScript) -> None:
        self.client = client
        self.layers = layers
        self.script = script
        self.heard = Recorder()
        self.states: list[CacheState | None] = []
        self.attempts: list[int] = []

    async def get(self, path: str = REPO, **more: Any) -> Any:
        call = Call("get_repo_info", self.heard, "call_1")
        try:
            read = more.pop("read", lambda _, data: data)
            return await self.client.get(call, path, read, **more)
        finally:
            self.states.append(call.cache)
            self.attempts.append(call.attempts)

    @property
    def notices(self) -> list[str]:
        return [notice.text for notice in self.heard.of(Notice)]


class CacheBench:
    """One cache folder and one server; runs come and go.

    Args:
        folder: where the replies are kept.
        replies: what the next requests get.
        otherwise: what they get then.
        ago: seconds by which the runs' clock lags behind this machine's: what they keep is that old.
    """

    def __init__(self, folder: Path, *replies: Reply, otherwise: Reply | None = None, ago: float = 0.0) -> None:
        self.folder = folder
        self.server = Server(otherwise)
        self.server.on("", *replies)
        self.ago = ago

    @asynccontextmanager
    async def run(self, *, token: str | None = None, refresh: bool = False, limit: int = LIMIT) -> AsyncIterator[Run]:
        clock = VirtualClock(time.time() - self.ago)
        layers = Layers(clock)
        script = FaultScript(frozenset({"get_repo_info", "read_file"}))
        cache = CacheTransport(self.server, self.folder, clock, limit=limit)
        async with httpx.AsyncClient(transport=FaultTransport(cache, script, clock, "github"), timeout=None) as http:
            client = GitHubClient(
                http,
                api_url=API,
                token=token,
                retry=layers.retry,
                breakers=layers.breakers,
                gate=layers.gate,
                clock=clock,
                timeout=layers.timeout,
                redact=Redactor([token]),
                cached=True,
                refresh=refresh,
            )
            yield Run(client, layers, script)

    @property
    def sent(self) -> list[httpx.Request]:
        return self.server.requests

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.iterdir()) if self.folder.exists() else []

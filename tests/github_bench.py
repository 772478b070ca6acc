"""GitHub's client on a server that answers by script."""

from __future__ import annotations

from typing import Any

import httpx

from tests.fakes import API, Layers, Recorder, Reply, Server, VirtualClock
from tui_agent.events import AttemptFailed
from tui_agent.github.client import route
from tui_agent.resilience.call import Call

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
REPO = route("repos", "octo", "demo")
NOW = 1_700_000_000.0


def fine(data: Any = None) -> httpx.Response:
    return httpx.Response(200, json={"x": 1} if data is None else data)


def moved(location: str | None, status: int = 301, **body: Any) -> httpx.Response:
    return httpx.Response(status, headers={} if location is None else {"location": location}, json=body)


class Bench:
    """A client on a server that answers by script."""

    def __init__(self, *replies: Reply, otherwise: Reply | None = None, token: str | None = None, **more: Any) -> None:
        self.clock = VirtualClock()
        self.heard = Recorder()
        self.server = Server(otherwise if otherwise is not None else fine())
        self.server.on("", *replies)
        api_url = more.pop("api_url", API)
        self.layers = Layers(self.clock, **more)
        self.client = self.layers.client(self.server, token=token, api_url=api_url)

    def call(self, name: str = "get_repo_info") -> Call:
        return Call(name, self.heard, "call_1")

    async def get(self, path: str = REPO, call: Call | None = None, **more: Any) -> Any:
        return await self.client.get(call or self.call(), path, lambda _, data: data, **more)

    @property
    def hosts(self) -> set[str]:
        return {request.url.netloc.decode() for request in self.server.requests}

    def failures(self) -> list[str]:
        return [event.reason for event in self.heard.of(AttemptFailed)]

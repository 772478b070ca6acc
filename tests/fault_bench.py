"""Runs against both servers in virtual time, for tests of what goes wrong on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.fakes import VirtualClock
from tests.servers.expect import WHO, check_events
from tests.servers.files import FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import Answer, Request
from tests.servers.inside import Heard, assert_quiet, run_inside
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, say

FILES = {"README.md": "# Tool\n\nA tool that does things.\n", "src/main.py": "print('hi')\n", "src/more.py": "x = 1\n"}
TOOLS = ("get_repo_info", "list_directory", "read_file", "get_commits")
"""Those that send requests; `find_files` never does, `list_directory` only where the tree was cut."""
BY_NAME = {
    "get_repo_info": call("get_repo_info", WHO),
    "list_directory": call("list_directory", {**WHO, "path": "src"}),
    "read_file": call("read_file", {**WHO, "path": "README.md"}),
    "get_commits": call("get_commits", WHO),
}
CALLS = list(BY_NAME.values())
REPORT = "# Report\n\nIt is a tool."
FINAL: Turn = [say(REPORT)]


class Quick(VirtualClock):
    """Server and client share one loop here: what one has sent, the other can read at once."""

    GRACE = 0.002


class TimedServer(GitHubServer):
    """Notes at which time of the clock each request came."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(FilesTransport(FILES, truncated=True), limit=5000)
        self.arrivals: list[float] = []
        self._clock = clock

    async def answer(self, request: Request) -> Answer:
        self.arrivals.append(self._clock.monotonic())
        return await super().answer(request)

    def route_of(self, tool: str) -> str:
        """The one request that a tool sends here."""
        assert isinstance(self.transport, FilesTransport)
        return f".*/git/trees/{self.transport.folder('src')}" if tool == "list_directory" else tool

    def times_of(self, tool: str) -> list[float]:
        """When the requests of a tool came."""
        mine = self.asked(self.route_of(tool))
        return [at for at, request in zip(self.arrivals, self.requests, strict=True) if request in mine]


class Bench:
    """Both servers, and a clock that all runs of a test share."""

    def __init__(self) -> None:
        self.clock = Quick(time.time())

    async def run(
        self, script: Sequence[Any], prepare: Callable[[TimedServer], None], **changes: Any
    ) -> tuple[Heard, TimedServer, ModelServer]:
        """One run of a script, with faults prepared; what holds for every run is asserted here."""
        async with TimedServer(self.clock) as github, ModelServer(*script) as model:
            prepare(github)
            heard = await run_inside(github, model, clock=self.clock, **changes)
            await assert_quiet(github, model)
        check_events(heard.events)
        assert heard.finished["requests"] == len(github.requests)
        assert {request.headers["host"] for request in github.requests} <= {github.url.removeprefix("http://")}
        return heard, github, model

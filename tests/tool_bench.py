"""The tools of one run, on a repository that is made of a dict."""

from __future__ import annotations

from typing import Any

from tests.fakes import Content, FakeRepository, Layers, Recorder, VirtualClock
from tui_agent.events import Event, ToolFinished, ToolStarted
from tui_agent.github.snapshot import take_snapshot
from tui_agent.resilience.call import Call
from tui_agent.tools.toolbox import Answer, Toolbox, ToolCall
from tui_agent.tools.workspace import Workspace


class Bench:
    """A repository, a toolbox on it, and everything that is heard."""

    def __init__(
        self,
        files: dict[str, Content] | None = None,
        *,
        truncated: int | None = None,
        token: str | None = None,
        layers: dict[str, Any] | None = None,
        **about: Any,
    ) -> None:
        self.clock = VirtualClock()
        self.heard = Recorder()
        self.github = FakeRepository(files or {}, truncated=truncated, **about)
        self.layers = Layers(self.clock, **(layers or {}))
        self.client = self.layers.client(self.github, token=token)
        self.toolbox: Toolbox | None = None
        self.calls = 0

    async def open(self) -> Toolbox:
        """Take the snapshot, and forget what that took."""
        if self.toolbox is None:
            snapshot, _ = await take_snapshot(
                self.client, Call("snapshot", self.heard), "octo", "demo", ref=None, tail=None
            )
            self.toolbox = Toolbox(Workspace(self.client, snapshot), self.heard, self.clock)
            self.github.requests.clear()
            self.heard.clear()
        return self.toolbox

    async def answer(self, tool: str, arguments: Any = None, *, problem: str = "", **more: Any) -> Answer:
        """Carry out a call; `owner` and `repo` are filled in unless all arguments are given."""
        toolbox = await self.open()
        self.calls += 1
        given = {"owner": "octo", "repo": "demo", **more} if arguments is None else arguments
        return await toolbox.execute(1, ToolCall(f"call_{self.calls}", tool, given, problem))

    async def ask(self, tool: str, arguments: Any = None, **more: Any) -> dict[str, Any]:
        """What the model is told."""
        return (await self.answer(tool, arguments, **more)).result

    async def error(self, tool: str, arguments: Any = None, **more: Any) -> str:
        """The sentence of a call that ends as an error."""
        answer = await self.answer(tool, arguments, **more)
        assert answer.outcome == "error" and answer.result["ok"] is False and "fallback" not in answer.result
        return str(answer.result["error"])

    @property
    def asked(self) -> int:
        """Requests since the snapshot."""
        return len(self.github.requests)

    @property
    def last(self) -> ToolFinished:
        """What was heard of the last call that ended."""
        return self.heard.of(ToolFinished)[-1]

    def pairs(self) -> list[tuple[str, str]]:
        """Beginning and end of every call, by id."""
        told: list[Event] = [event for event in self.heard if isinstance(event, ToolStarted | ToolFinished)]
        return [(event.type, event.call_id) for event in told if isinstance(event, ToolStarted | ToolFinished)]

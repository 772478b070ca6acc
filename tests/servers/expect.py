"""What every test of a whole run needs: both servers, a small repository, and what holds whatever happens."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, say, usage
from tui_agent.events import from_json

FILES = {
    "README.md": "# Tool\n\nA tool that does things.\n",
    "pyproject.toml": '[project]\nname = "tool"\nversion = "1.0"\n',
    "src/tool/__init__.py": "",
    "src/tool/main.py": "print('hi')\n",
}
WHO = {"owner": "team", "repo": "tool"}
REPORT = "# Tool\n\nIt does things. 它很小。\n"
FINAL: Turn = [say(REPORT, by=7), usage(400, 30, cached=300)]

# The contract's table of events: the fields that a reader may count on, beside type, at and run_id.
FIELDS = {
    "run_started": "repo source ref question engine model",
    "snapshot": "repo ref commit files truncated",
    "turn_started": "turn max_turns",
    "reasoning_delta": "turn text",
    "reasoning": "turn text",
    "report_delta": "turn text",
    "thought": "turn text",
    "turn_restarted": "turn reason",
    "tool_started": "turn call_id tool arguments",
    "attempt_failed": "call_id name attempt reason status",
    "retry_scheduled": "call_id name attempt of delay",
    "rate_limit_wait": "call_id name kind seconds until",
    "breaker_changed": "name state failures threshold retry_in cause",
    "quota": "resource limit remaining used reset",
    "tool_finished": "turn call_id tool arguments outcome result attempts cache elapsed",
    "usage": "prompt_tokens completion_tokens cached_tokens reasoning_tokens context_tokens cost",
    "notice": "level text",
    "grounding": "supported unsupported",
    "run_finished": "outcome report error turns tool_calls requests elapsed",
}


def read(path: str, **more: Any) -> Any:
    """A call of read_file."""
    return call("read_file", {**WHO, "path": path}, **more)


@asynccontextmanager
async def servers(*script: Any, source: Any = FILES, **how: Any) -> AsyncIterator[tuple[GitHubServer, ModelServer]]:
    """Both servers; neither may have had to refuse what the program sent it."""
    async with GitHubServer(source, **how) as github, ModelServer(*script) as model:
        yield github, model
    assert github.errors == []
    assert model.errors == []


def entries(folder: Path) -> list[str]:
    """Names in a folder."""
    return [path.name for path in folder.iterdir()]


def check_events(events: list[dict[str, Any]]) -> None:
    """What holds for every run whatever happens in it."""
    assert events[0]["type"] == "run_started"
    assert events[-1]["type"] == "run_finished"
    assert [event["type"] for event in events].count("run_finished") == 1
    assert len({event["run_id"] for event in events}) == 1 and events[0]["run_id"]
    times = [event["at"] for event in events]
    assert times == sorted(times) and times[0] >= 0
    for event in events:
        assert set(FIELDS[event["type"]].split()) <= set(event), event
        assert from_json(event) is not None
    opened: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["type"] == "tool_started":
            assert event["call_id"] not in opened
            opened[event["call_id"]] = event
        elif event["type"] == "tool_finished":
            begun = opened.pop(event["call_id"])
            assert (begun["tool"], begun["arguments"], begun["turn"]) == (
                event["tool"],
                event["arguments"],
                event["turn"],
            )
    assert not opened, "a call has no end"


def observations(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the model was told by its last calls, in the order it was told."""
    messages = body["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "assistant")
    return [json.loads(message["content"]) for message in messages[last + 1 :] if message["role"] == "tool"]

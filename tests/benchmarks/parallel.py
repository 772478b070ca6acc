"""Calls side by side: four of 200 ms against the slowest of them, sixteen against the bound of eight."""

from __future__ import annotations

import asyncio
import statistics
from typing import Any

import httpx
import openai

from tests.servers import faults
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import call, say
from tui_agent import Settings, run_agent
from tui_agent.events import Event, ToolFinished, ToolStarted

SECONDS = 0.2
FOUR_LIMIT = 1.05
SIXTEEN_LIMIT = 1.25
"""Of two rounds of eight; the server shares the process."""


async def _once(calls: int) -> tuple[float, float]:
    """Seconds of all calls together, and of the slowest alone."""
    files = {f"f{i}.txt": f"{i}\n" for i in range(calls)}
    arguments = [{"owner": "team", "repo": "tool", "path": path} for path in files]
    script = [[call("read_file", one) for one in arguments], [say("# Done")]]
    events: list[Event] = []
    async with GitHubServer(files) as github, ModelServer(*script) as model:
        github.on("read_file", always=faults.slow(SECONDS))
        async with httpx.AsyncClient(trust_env=False) as http:
            client: Any = http
            llm = openai.AsyncOpenAI(api_key="none", base_url=model.url, http_client=client)
            settings = Settings(github_api_url=github.url)
            await run_agent(llm, http, "team/tool", model="deepseek-flash", on_event=events.append, settings=settings)
    started = [event.at for event in events if isinstance(event, ToolStarted)]
    finished = [event for event in events if isinstance(event, ToolFinished)]
    assert len(finished) == calls and all(event.outcome == "ok" for event in finished)
    return max(event.at for event in finished) - min(started), max(event.elapsed for event in finished)


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    four = [asyncio.run(_once(4)) for _ in range(rounds)]
    sixteen = [asyncio.run(_once(16)) for _ in range(rounds)]
    together, slowest = (statistics.median(values) for values in zip(*four, strict=True))
    print(f"  four calls {together * 1000:.0f} ms, the slowest {slowest * 1000:.0f} ms")
    return [
        ("four calls together / the slowest of them", together / slowest, FOUR_LIMIT),
        ("sixteen calls / twice 200 ms", statistics.median(t for t, _ in sixteen) / (2 * SECONDS), SIXTEEN_LIMIT),
    ]

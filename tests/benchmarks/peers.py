"""Other frameworks' loops on the same scripted model: streaming, four calls a turn, a tool that answers from a dict."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Protocol

SYSTEM = "x" * 3000
QUERY = "Analyse octo/bench"
MOST_TURNS = 500

Listing = dict[str, dict[str, Any]]


class Count(Protocol):
    """Is told what counts."""

    def first_turn(self) -> None:
        """The first turn begins."""

    def last_piece(self) -> None:
        """The report is there."""


async def fetch_listing(http: Any, url: str) -> Listing:
    """What every directory of the repository holds, by its path."""
    commit = (await http.get(f"{url}/repos/octo/bench/commits/HEAD")).text
    tree = (await http.get(f"{url}/repos/octo/bench/git/trees/{commit}", params={"recursive": "1"})).json()["tree"]
    listing: Listing = {}
    for item in tree:
        folder, _, name = item["path"].rpartition("/")
        if folder:
            entries = listing.setdefault(folder, {"ok": True, "entries": []})["entries"]
            entries.append({"name": name, "type": item["type"], "size": item["size"]})
    return listing


async def _listing(url: str) -> Listing:
    import httpx

    async with httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as http:
        return await fetch_listing(http, url)


def _client(url: str) -> Any:
    import httpx2
    import openai

    http = httpx2.AsyncClient(timeout=30, trust_env=False, verify=False)
    return openai.AsyncOpenAI(api_key="none", base_url=url, http_client=http, max_retries=0)


async def openai_agents(url: str, count: Count) -> None:
    """OpenAI's own."""
    import agents

    listing = await _listing(url)
    agents.set_tracing_disabled(True)

    @agents.function_tool
    async def list_directory(owner: str, repo: str, path: str) -> str:
        """What a directory holds."""
        return json.dumps(listing[path])

    async with _client(url) as client:
        model = agents.OpenAIChatCompletionsModel("bench", client)
        agent = agents.Agent(name="bench", instructions=SYSTEM, tools=[list_directory], model=model)
        count.first_turn()
        result = agents.Runner.run_streamed(agent, QUERY, max_turns=MOST_TURNS)
        heard = [event async for event in result.stream_events()]
        count.last_piece()
        assert heard and result.final_output


async def pydantic_ai(url: str, count: Count) -> None:
    """Pydantic's."""
    from pydantic_ai import Agent, AgentRunResultEvent, UsageLimits
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    listing = await _listing(url)

    async def list_directory(owner: str, repo: str, path: str) -> str:
        """What a directory holds."""
        return json.dumps(listing[path])

    async with _client(url) as client:
        model = OpenAIChatModel("bench", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, system_prompt=SYSTEM, tools=[list_directory])
        count.first_turn()
        async with agent.run_stream_events(QUERY, usage_limits=UsageLimits(request_limit=None)) as stream:
            heard = [event async for event in stream]
        count.last_piece()
        assert isinstance(heard[-1], AgentRunResultEvent) and heard[-1].result.output


async def langgraph(url: str, count: Count) -> None:
    """LangChain's, its ready ReAct agent."""
    import httpx2
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from langgraph.prebuilt import create_react_agent

    listing = await _listing(url)

    @tool
    async def list_directory(owner: str, repo: str, path: str) -> str:
        """What a directory holds."""
        return json.dumps(listing[path])

    asked = {"messages": [{"role": "user", "content": QUERY}]}
    bound = {"recursion_limit": 4 * MOST_TURNS}
    async with httpx2.AsyncClient(timeout=30, trust_env=False, verify=False) as http:
        model = ChatOpenAI(
            model="bench", base_url=url, api_key="none", streaming=True, max_retries=0, http_async_client=http
        )
        graph = create_react_agent(model, [list_directory], prompt=SYSTEM)
        count.first_turn()
        heard = [part async for part in graph.astream(asked, bound, stream_mode=["messages", "updates"])]
    count.last_piece()
    assert heard[-1][1]["agent"]["messages"][-1].content


async def smolagents(url: str, count: Count) -> None:
    """Hugging Face's; it ends with a call of `final_answer`, so that the server streams the report as one."""
    from rich.console import Console
    from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool

    listing = await _listing(url)

    @tool
    def list_directory(owner: str, repo: str, path: str) -> str:
        """What a directory holds.

        Args:
            owner: of the repository.
            repo: its name.
            path: of the directory.
        """
        return json.dumps(listing[path])

    model = OpenAIModel("bench", api_base=f"{url}/final_answer", api_key="none")
    agent = ToolCallingAgent(
        [list_directory],
        model,
        instructions=SYSTEM,
        max_steps=MOST_TURNS,
        stream_outputs=True,
        verbosity_level=LogLevel.OFF,
    )
    # It shows what streams on a console, which is none of the loop's work.
    agent.logger.console = Console(quiet=True)
    count.first_turn()
    heard = list(agent.run(QUERY, stream=True))
    count.last_piece()
    assert heard[-1].output


@dataclass(frozen=True)
class Peer:
    """One framework.

    Args:
        run: a whole run; it tells when its turns begin and end.
        needs: modules.
    """

    run: Callable[[str, Count], Awaitable[None]]
    needs: tuple[str, ...]


PEERS = {
    "openai-agents": Peer(openai_agents, ("agents",)),
    "pydantic-ai": Peer(pydantic_ai, ("pydantic_ai",)),
    "langgraph": Peer(langgraph, ("langgraph", "langchain_openai")),
    "smolagents": Peer(smolagents, ("smolagents",)),
}


def importable() -> list[str]:
    """The peers that are installed here."""
    return [name for name, peer in PEERS.items() if all(map(importlib.util.find_spec, peer.needs))]

"""CPU of one turn of the loop, streaming, four calls a turn, against a loop of httpx and json alone (the limit).

Run as `python -m tests.benchmarks.loop KIND URL TURNS` it is one of the measured processes.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.wire import serving

ROOT = Path(__file__).parents[2]
KINDS = ("limit", "ours")
LIMITS = {"ours": 1.6}


async def limit(url: str) -> None:
    """The least that a streaming loop does: httpx, json, a dict of answers."""
    import httpx

    from tui_agent.tools.schemas import SCHEMAS

    messages: list[dict[str, object]] = [
        {"role": "system", "content": "x" * 3000},
        {"role": "user", "content": "Analyse octo/bench"},
    ]
    async with httpx.AsyncClient(timeout=30, trust_env=False, verify=False) as http:
        commit = (await http.get(f"{url}/repos/octo/bench/commits/HEAD")).text
        tree = (await http.get(f"{url}/repos/octo/bench/git/trees/{commit}", params={"recursive": "1"})).json()["tree"]
        listing: dict[str, dict[str, Any]] = {}
        for item in tree:
            folder, _, name = item["path"].rpartition("/")
            if folder:
                entries = listing.setdefault(folder, {"ok": True, "entries": []})["entries"]
                entries.append({"name": name, "type": item["type"], "size": item["size"]})
        while True:
            calls: list[dict[str, str]] = []
            content: list[str] = []
            body = {"model": "bench", "messages": messages, "tools": SCHEMAS, "stream": True}
            async with http.stream("POST", f"{url}/chat/completions", json=body) as response:
                async for line in response.aiter_lines():
                    if not line.startswith("data: ") or line == "data: [DONE]":
                        continue
                    for choice in json.loads(line[6:])["choices"]:
                        delta = choice["delta"]
                        if delta.get("content"):
                            content.append(delta["content"])
                        for call in delta.get("tool_calls", ()):
                            if "id" in call:
                                calls.append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
                            calls[call["index"]]["arguments"] += call["function"]["arguments"]
            if not calls:
                assert len(content) > 100
                return
            functions = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in calls
            ]
            messages.append({"role": "assistant", "content": None, "tool_calls": functions})

            async def answer(call: dict[str, str]) -> str:
                return json.dumps(listing[json.loads(call["arguments"])["path"]])

            answers = await asyncio.gather(*(answer(call) for call in calls))
            messages += [
                {"role": "tool", "tool_call_id": c["id"], "content": a} for c, a in zip(calls, answers, strict=True)
            ]


async def ours(url: str) -> None:
    """The agent's whole run, every event emitted."""
    import httpx
    import openai

    from tui_agent import Settings, run_agent

    events: list[object] = []
    settings = Settings(github_api_url=url)
    # One client for both, and no certificates to load: setting up is no part of a turn.
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        client: Any = http
        llm = openai.AsyncOpenAI(api_key="none", base_url=url, http_client=client)
        query = "Analyse octo/bench"
        await run_agent(llm, http, query, model="bench", max_turns=500, on_event=events.append, settings=settings)
    assert len(events) > 500


def _measure(kind: str, url: str) -> float:
    """CPU seconds of a second run, with everything imported and warm."""
    command = [sys.executable, "-m", "tests.benchmarks.loop", kind, url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit)."""
    rows = []
    for turns in (10, 50):
        cpu: dict[str, list[float]] = {kind: [] for kind in KINDS}
        with serving(turns) as url:
            for _ in range(rounds):
                for kind in KINDS:
                    cpu[kind].append(_measure(kind, url) / (turns + 1) * 1000)
        medians = {kind: statistics.median(values) for kind, values in cpu.items()}
        print(
            f"  {turns} turns, CPU in ms a turn: " + ", ".join(f"{kind} {value:.2f}" for kind, value in medians.items())
        )
        rows += [
            (
                f"CPU of a turn at {turns} turns / of httpx and json alone",
                medians[kind] / medians["limit"],
                LIMITS[kind],
            )
            for kind in KINDS[1:]
        ]
    return rows


def main() -> None:
    """One measured process: a run to warm up, a run that counts."""
    work = {"limit": limit, "ours": ours}[sys.argv[1]]
    asyncio.run(work(sys.argv[2]))
    before = time.process_time()
    asyncio.run(work(sys.argv[2]))
    print(time.process_time() - before)


if __name__ == "__main__":
    main()

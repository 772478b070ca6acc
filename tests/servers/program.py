"""The program as a person starts it: a process of its own, with nothing of this machine's settings in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.github import GitHubServer
from tests.servers.http import until
from tests.servers.model import ModelServer

ROOT = Path(__file__).parents[2]
LIMIT = 30.0
"""Seconds after which a run counts as hung; no run comes near it on an idle machine."""


def environment(
    home: Path, github: GitHubServer | None = None, model: ModelServer | None = None, **more: str
) -> dict[str, str]:
    """The whole environment of a run: the two servers, waits that a test can afford, and nothing of the caller's."""
    env = {
        "HOME": str(home),
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(ROOT),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "REPO_AGENT_BASE_DELAY": "0.01",
        "REPO_AGENT_MAX_DELAY": "0.05",
    }
    if github is not None:
        env["GITHUB_API_URL"] = github.url
    if model is not None:
        env |= {"REPO_AGENT_BASE_URL": model.url, "API_KEY": "test-key-0123456789"}
    return env | more


def command(*args: str) -> list[str]:
    """What is executed."""
    return [sys.executable, "-m", "tui_agent", *args]


@dataclass(slots=True)
class Program:
    """A run under way: its events as they come, and how it ended."""

    process: asyncio.subprocess.Process
    events: list[dict[str, Any]] = field(default_factory=list)
    out: str = ""
    err: str = ""

    @property
    def code(self) -> int | None:
        return self.process.returncode

    def of(self, type: str) -> list[dict[str, Any]]:  # noqa: A002
        """The events of a type."""
        return [event for event in self.events if event["type"] == type]

    @property
    def finished(self) -> dict[str, Any]:
        """The last event."""
        assert self.events, self.err
        return self.events[-1]

    async def saw(self, type: str, times: int = 1) -> None:  # noqa: A002
        """Wait until an event of the type has come."""
        await until(lambda: len(self.of(type)) >= times or self.code is not None, seconds=LIMIT, what=type)
        assert len(self.of(type)) >= times, f"no {type}; exit {self.code}; {self.err}"

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    async def end(self) -> int:
        """Wait for the end; the exit code."""
        async with asyncio.timeout(LIMIT):
            return await self.process.wait()


@contextlib.asynccontextmanager
async def start(*args: str, env: Mapping[str, str], cwd: Path) -> AsyncIterator[Program]:
    """Start the program and read what it says while it runs; it is gone when the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command(*args),
        env=dict(env),
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=32 * 1024 * 1024,
    )
    program = Program(process)

    async def read_out(stream: asyncio.StreamReader) -> None:
        async for line in stream:
            program.out += line.decode()
            if "--json" in args:
                program.events.append(json.loads(line))

    async def read_err(stream: asyncio.StreamReader) -> None:
        async for line in stream:
            program.err += line.decode()

    assert process.stdout is not None and process.stderr is not None
    readers = [asyncio.create_task(read_out(process.stdout)), asyncio.create_task(read_err(process.stderr))]
    try:
        yield program
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*readers)
            await process.wait()
    finally:
        for reader in readers:
            reader.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()


async def run(*args: str, env: Mapping[str, str], cwd: Path) -> Program:
    """Run the program to its end."""
    async with start(*args, env=env, cwd=cwd) as program:
        pass
    return program

"""The MCP server as clients start it: nothing but protocol on stdout, its end, what is missing, HTTP on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError, StdioServerParameters

from tests.cli_fakes import FakeSession, be_alone
from tests.mcp_bench import FILES, MODES, TOOL, Ears, ask, begun, cancelled, refused
from tests.repos import make_repo
from tests.servers import faults
from tests.servers.github import GitHubServer
from tests.servers.http import until
from tests.servers.program import ROOT, Program, command, environment, start
from tests.test_mcp import HELD
from tui_agent.cli import main

# What no library should do: it prints in every way there is, while it is imported and ever after.
NOISY = """
import builtins, os, subprocess, sys
from importlib.abc import MetaPathFinder
class Noise(MetaPathFinder):
    def find_spec(self, name, *_):
        if name in ("mcp", "httpx", "dulwich", "tui_agent.tools.files"):
            print("noise by print")
            print("noise past the redirection", file=sys.__stdout__)
            os.write(1, b"noise by the descriptor\\n")
            subprocess.run([sys.executable, "-c", "print('noise of a child', input() if 0 else '')"])
sys.meta_path.insert(0, Noise())
"""
BLOCKED = "import sys; sys.modules['mcp'] = None"


def site(folder: Path, code: str) -> dict[str, str]:
    """Code that runs before the program, as an environment."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{folder}:{ROOT}"}


def state(home: Path) -> Path:
    """Where a program of that home keeps its records."""
    return home / ".local/state/repo-agent-tui/runs"


def message(method: str, number: int | None = None, **params: Any) -> bytes:
    wire = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    return json.dumps(wire).encode() + b"\n"


HELLO = message(
    "initialize", 1, protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "tests", "version": "1"}
) + message("notifications/initialized")


async def test_nothing_but_protocol_is_on_stdout_and_the_end_of_stdin_is_the_end(tmp_path: Path) -> None:
    local = make_repo(tmp_path / "tool", [("First", FILES)])
    env = environment(tmp_path, **site(tmp_path / "site", NOISY))
    process = await asyncio.create_subprocess_exec(
        *command("mcp", str(local)),
        env=env,
        cwd=tmp_path,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    call = {"name": "read_file", "arguments": {"owner": "local", "repo": "tool", "path": "README.md"}}
    # What is no JSON, no request, or empty, does not end it either.
    process.stdin.write(HELLO + b"\nnonsense\n" + message("tools/call", 2, **call) + b'{"jsonrpc": "2.0"}\n')
    lines = []
    async with asyncio.timeout(30):
        while not any(line.get("id") == 2 for line in lines):
            lines.append(json.loads(await process.stdout.readline()))
        process.stdin.close()
        rest, noise = await asyncio.gather(process.stdout.read(), process.stderr.read())
        assert await process.wait() == 0
    assert rest == b"" and all(line["jsonrpc"] == "2.0" for line in lines)
    [answer] = [line["result"] for line in lines if line.get("id") == 2]
    assert answer["structuredContent"]["content"] == FILES["README.md"] and not answer["isError"]
    for how in (b"by print", b"past the redirection", b"by the descriptor", b"of a child"):
        assert b"noise " + how in noise
    assert b"Traceback" not in noise


async def test_a_client_that_hangs_up_on_stdio_in_the_middle_of_an_analysis_ends_it(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github:
        env = environment(tmp_path, github)
        parameters = StdioServerParameters(
            command=sys.executable, args=["-m", "tui_agent", "mcp"], env=env, cwd=tmp_path
        )
        async with Client(parameters) as client:
            assert (await ask(client, "read_file", path="README.md"))["content"] == FILES["README.md"]
            github.on("read_file", always=faults.hold())
            asked = len(github.requests)
            work = asyncio.create_task(client.call_tool("analyze_repository", {"repo": "team/tool"}))
            await until(lambda: bool(github.asked("read_file")[1:]) or work.done(), seconds=30, what="a file asked for")
            assert not work.done() and len(github.requests) > asked
        with contextlib.suppress(MCPError, asyncio.CancelledError):
            await work
        await cancelled(github, state(tmp_path))


async def test_a_signal_ends_it_quietly_and_what_is_under_way(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github:
        github.on(HELD, always=faults.hold())
        process = await asyncio.create_subprocess_exec(
            *command("mcp"),
            env=environment(tmp_path, github),
            cwd=tmp_path,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        call = {"name": "analyze_repository", "arguments": {"repo": "team/tool"}}
        async with asyncio.timeout(30):
            process.stdin.write(HELLO + message("tools/call", 2, **call))
            assert json.loads(await process.stdout.readline())["result"]["serverInfo"]["name"] == "repo-agent-tui"
            await until(lambda: bool(github.asked("tree")), seconds=30, what="an analysis")
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 130
            out, err = await process.stdout.read(), await process.stderr.read()
        assert err == b"" and all("error" in json.loads(line) for line in out.splitlines())
        await cancelled(github, state(tmp_path))


async def test_without_the_extra_the_install_command_is_named(tmp_path: Path) -> None:
    env = environment(tmp_path, **site(tmp_path / "site", BLOCKED))
    async with start("mcp", env=env, cwd=tmp_path) as program:
        assert await program.end() == 2
    assert program.out == "" and "pip install 'repo-agent-tui[mcp]'" in program.err and program.err.count("\n") == 1


@contextlib.asynccontextmanager
async def over_http(github: GitHubServer, home: Path) -> AsyncIterator[tuple[str, Program]]:
    """A server on a free port, and its URL."""
    async with start("mcp", "--http", "0", env=environment(home, github), cwd=home) as program:
        await until(lambda: "Ctrl-C ends it." in program.err or program.code is not None, seconds=30, what="a server")
        yield program.err.split(" at ")[1].split(";")[0], program


async def test_over_http_every_client_that_leaves_ends_its_work_and_so_does_the_servers_end(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github, over_http(github, tmp_path) as (url, program):
        for mode in MODES:
            async with Client(url, mode=mode) as client:
                ears, call = Ears(), {**TOOL, "path": "README.md"}
                github.on("get_commits", faults.refuse(503))
                assert await ask(client, "get_commits", page=1 if mode == "auto" else 2)
                result = await client.call_tool("read_file", call, progress_callback=ears)
                assert not result.is_error
                assert "There is no 'x'" in await refused(client, "read_file", path="x")

        headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
        async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
            for wrong, status in (({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)):
                assert (await http.post(url, content=message("ping", 1), headers=wrong)).status_code == status

            # One of each protocol that breaks off, and in the end one that is there while the server ends.
            github.on(HELD, always=faults.hold())
            analysis = {"name": "analyze_repository", "arguments": {"repo": "team/other"}}
            opened = await http.post(url, content=HELLO.splitlines()[0])
            session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-06-18"}
            await http.post(url, content=HELLO.splitlines()[1], headers=session)

            async def old() -> None:
                async with http.stream("POST", url, content=message("tools/call", 2, **analysis), headers=session) as s:
                    await s.aread()

            async def new() -> None:
                async with Client(url) as client:
                    await client.call_tool(analysis["name"], analysis["arguments"], progress_callback=Ears())

            for number, client in enumerate((old, new), 1):
                work = asyncio.create_task(client())
                await until(lambda n=number: len(github.asked(r".*/other/git/trees/.*")) == n, what="an analysis")
                work.cancel()
                await cancelled(github, state(tmp_path), number)

            last = asyncio.create_task(old())
            await begun(github, last)
            await until(lambda: len(github.asked(r".*/other/git/trees/.*")) == 3, what="the third analysis")
            began = time.monotonic()
            program.interrupt(signal.SIGTERM)
            assert await program.end() == 130
            assert time.monotonic() - began < 5
            with contextlib.suppress(httpx.HTTPError):
                await last
            await cancelled(github, state(tmp_path), 3)
        assert program.out == "" and program.err.count("\n") == 1


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["mcp", "--json"], "`mcp` takes no --json."),
        (["mcp", "--allow-remote"], "--allow-remote goes with --http HOST:PORT."),
        (["mcp", "--http", "0.0.0.0:80"], "no authentication of its own"),
        (["mcp", "--http", "eighty"], "--http must be HOST:PORT or a port"),
        (["mcp", "--http", "0", "./gone"], 'There is no folder "./gone".'),
        (["-p", "a/b", "--http", "80"], "--http and --allow-remote belong to `mcp`"),
    ],
)
def test_what_was_typed_wrong_is_said(
    argv: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    be_alone(tmp_path, monkeypatch)
    assert main(argv, make_session=FakeSession) == 2
    assert sentence in capsys.readouterr().err


def test_an_address_in_use_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    be_alone(tmp_path, monkeypatch)
    with GitHubServer(FILES).in_thread() as other:
        port = other.url.rpartition(":")[2]
        assert main(["mcp", "--http", port], make_session=FakeSession) == 1
    assert f"--http 127.0.0.1:{port}: nothing can listen there" in capsys.readouterr().err

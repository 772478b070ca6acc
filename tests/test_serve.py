"""`serve`: the dashboard in a browser, a process for each tab, for nobody but this machine's own pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pyte
import pytest

from tests.servers.browser import CHROMIUM, chromium
from tests.servers.program import LIMIT, command, environment
from tui_agent.cli import main
from tui_agent.cli_options import build_parser
from tui_agent.cli_serve import arguments
from tui_agent.frontends.browser_server import PAGE
from tui_agent.splash import BROWSER_DRIVER

TITLES = ("Trace", "Tool calls", "Breakers", "Rate limit", "Report")


class Serving:
    """The server as a process of its own, and what it has said."""

    def __init__(self, process: asyncio.subprocess.Process, said: str) -> None:
        self.process, self.said = process, said
        self.url = re.findall(r"http://[^/]+/", said)[0]

    @property
    def origin(self) -> str:
        return self.url.rstrip("/")

    async def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return await asyncio.wait_for(self.process.wait(), LIMIT)


@contextlib.asynccontextmanager
async def served(home: Path, *args: str, **variables: str) -> AsyncIterator[Serving]:
    """`serve` with what follows it; gone when the block ends."""
    process = await asyncio.create_subprocess_exec(
        *command("serve", *args), env=environment(home, **variables), cwd=home, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        yield Serving(process, (await asyncio.wait_for(process.stderr.readline(), LIMIT)).decode())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


class Tab:
    """What a browser does on the WebSocket, and the screen that it would show."""

    def __init__(self, connection: aiohttp.ClientWebSocketResponse, columns: int, rows: int) -> None:
        self._connection = connection
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(self._screen.display)

    async def see(self, *words: str) -> None:
        """Wait until all of it stands on the screen."""
        async with asyncio.timeout(LIMIT):
            while not all(word in self.text for word in words):
                message = await self._connection.receive()
                assert message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT), self.text
                if message.type is aiohttp.WSMsgType.BINARY:
                    self._stream.feed(message.data)

    async def type(self, text: str) -> None:
        await self._connection.send_json(["stdin", text])

    async def closed(self) -> None:
        """Wait until the server has closed it."""
        async with asyncio.timeout(LIMIT):
            while not self._connection.closed:
                await self._connection.receive()


@contextlib.asynccontextmanager
async def tab(
    client: aiohttp.ClientSession, serving: Serving, columns: int = 160, rows: int = 48
) -> AsyncIterator[Tab]:
    where = f"{serving.url}ws?width={columns}&height={rows}"
    async with client.ws_connect(where, headers={"Origin": serving.origin}, max_msg_size=0) as connection:
        yield Tab(connection, columns, rows)


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in listed.read_text().split()] if listed.exists() else []


def typed_for(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


async def eventually(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not holds():
            await asyncio.sleep(0.02)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z"


async def status(request: Awaitable[aiohttp.ClientResponse]) -> int:
    async with await request as reply:
        return reply.status


async def test_each_tab_has_a_dashboard_of_its_own_and_ctrl_c_ends_them_all(tmp_path: Path) -> None:
    secret = "test-key-that-no-page-holds"
    async with served(tmp_path, "demo", API_KEY=secret) as serving, aiohttp.ClientSession() as client:
        assert "Ctrl-C" in serving.said and serving.url.startswith("http://127.0.0.1:")
        async with client.get(serving.url) as reply:
            page = await reply.text()
            policy = reply.headers["Content-Security-Policy"]
        assert "repo-agent-tui" in page and secret not in page
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy

        async with tab(client, serving) as one, tab(client, serving, 60, 24) as other:
            await one.see(*TITLES, "demo/tidepool")
            await other.see("tidepool")
            dashboards = children_of(serving.process.pid)
            assert secret.encode() not in b"".join(map(typed_for, dashboards))
            if dashboards:
                assert len(dashboards) == 2
            # One is left by a key, as on a terminal; its tab is told.
            await other.type("q")
            await other.closed()
            await one.type("?")
            await one.see("Help")
            assert await serving.end() == 130
            await one.closed()
        assert all(map(is_gone, dashboards))


async def test_a_closed_tab_ends_its_dashboard_and_so_does_a_server_that_was_killed(tmp_path: Path) -> None:
    async with served(tmp_path, "--engine", "survey") as serving, aiohttp.ClientSession() as client:
        async with tab(client, serving) as first:
            await first.see("Breakers")
            left = children_of(serving.process.pid)
        await eventually(lambda: all(map(is_gone, left)))
        async with tab(client, serving) as second:
            await second.see("Breakers")
            left = children_of(serving.process.pid)
            serving.process.kill()
            await eventually(lambda: all(map(is_gone, left)))


async def test_pages_and_names_of_others_are_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as serving, aiohttp.ClientSession() as client:
        port = serving.origin.rpartition(":")[2]
        for origin in ("http://evil.example", f"http://evil.example:{port}", "null", f"http://127.0.0.1:{port}1", None):
            headers = {} if origin is None else {"Origin": origin}
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await client.ws_connect(f"{serving.url}ws", headers=headers)
        # A name of somebody else's that was pointed here.
        for host in (f"evil.example:{port}", "127.0.0.1", f"127.0.0.1.evil.example:{port}"):
            assert await status(client.get(serving.url, headers={"Host": host})) == 421
            own = {"Host": host, "Origin": f"http://{host}"}
            with pytest.raises(aiohttp.WSServerHandshakeError, match="421"):
                await client.ws_connect(f"{serving.url}ws", headers=own)
        assert await status(client.get(serving.url.replace("127.0.0.1", "localhost"))) == 200
        assert await status(client.get(f"{serving.url}static/../../server.py")) == 404
        assert children_of(serving.process.pid) == []
        assert await serving.end(signal.SIGTERM) == 130


async def test_the_page_speaks_the_interfaces_language(tmp_path: Path) -> None:
    async with (
        served(tmp_path, "--lang", "zh") as serving,
        aiohttp.ClientSession() as client,
        client.get(serving.url) as reply,
    ):
        page = await reply.text()
    assert '<html lang="zh">' in page and "重新启动" in page and "$" not in page and "Start again" not in page


def test_the_page_loads_nothing_from_elsewhere() -> None:
    for file in PAGE.iterdir():
        assert not re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"//? .*", "", file.read_text(encoding="utf-8"))), file


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--http", "0.0.0.0:80"], "no authentication of its own"),
        (["--http", "example.org:80"], "--allow-remote"),
        (["--http", "nowhere"], "HOST:PORT"),
        (["runs"], "./runs"),
        (["a b"], "a b"),
        (["-o", "report.md"], "--output"),
        (["--json"], "--json"),
        (["--engine", "llm"], "needs a key"),
    ],
)
def test_what_cannot_be_served_is_said_before_anything_starts(
    args: list[str], says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert main(["serve", *args]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_a_port_in_use_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve", "--http", str(port)]) == 1
    said = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in said and said.count("\n") == 1


def test_without_the_extra_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "tui_agent.frontends.browser_server", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert main(["serve"]) == 2
    assert "pip install 'repo-agent-tui[serve]'" in capsys.readouterr().err


def test_a_dashboard_gets_the_options_as_they_were_typed_and_nothing_from_the_working_folder() -> None:
    typed = [
        "pallets/flask",
        "-q",
        "-v? why",
        "--ref=main",
        "--no-cache",
        "--no-mouse",
        "--http",
        "80",
        "--max-turns",
        "3",
    ]
    argv = arguments(build_parser().parse_args(typed))
    assert argv[1:4] == ["-P", "-m", "tui_agent"]
    assert build_parser().parse_args(argv[4:]) == build_parser().parse_args(
        [w for w in typed if w not in ("--http", "80")]
    )
    module, _, name = BROWSER_DRIVER.partition(":")
    assert hasattr(__import__(module, fromlist=[name]), name)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")
async def test_in_a_browser_the_panes_appear_and_keys_work(tmp_path: Path) -> None:
    async with served(tmp_path, "demo") as serving, chromium(tmp_path / "profile") as page:
        await page.open(serving.url)
        await page.until(lambda: page.shows(*TITLES, "demo/tidepool"), "the panes")
        assert len(await page.picture()) > 20_000
        await page.key("?")
        await page.until(lambda: page.shows("Help"), "help")
        assert {where.split("/")[2] for where in page.asked_for if not where.startswith("data:")} == {
            serving.origin.split("/")[2]
        }
        await page.escape()
        await page.until(lambda: page.shows(*TITLES), "the panes")
        await page.key("q")
        await page.until(lambda: page.value("document.body.innerText.includes('Start again')"), "the end")
        assert not [words for words in page.complaints if "refused" in words or "Policy" in words.title()]

"""A browser for the tests: Chromium without a window, driven by its own protocol (CDP)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pyte

from tests.servers.program import LIMIT

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """A tab: its address, what it holds, the keys that it is sent, and every address that it asked for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._screen: pyte.Screen | None = None
        self.asked_for: list[str] = []
        self.complaints: list[str] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol; its result."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            message = await self._socket.receive_json(timeout=LIMIT)
            match message.get("method"):
                case "Network.requestWillBeSent":
                    self.asked_for.append(message["params"]["request"]["url"])
                case "Network.webSocketCreated":
                    self.asked_for.append(message["params"]["url"])
                    columns, rows = re.findall(r"=(\d+)", message["params"]["url"])
                    self._screen = pyte.Screen(int(columns), int(rows))
                    self._stream = pyte.ByteStream(self._screen)
                case "Network.webSocketFrameReceived":
                    frame = message["params"]["response"]
                    if frame["opcode"] == 2:
                        self._stream.feed(base64.b64decode(frame["payloadData"]))
                case "Log.entryAdded":
                    self.complaints.append(message["params"]["entry"]["text"])
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]  # type: ignore[no-any-return]

    async def open(self, url: str, width: int = 1600, height: int = 900) -> None:
        """Go somewhere."""
        for domain in ("Network", "Page", "Runtime", "Log"):
            await self.call(f"{domain}.enable")
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        await self.call("Page.navigate", url=url)

    async def value(self, script: str) -> Any:
        """What an expression of the page's own language gives."""
        found = await self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        return found["result"].get("value")

    async def key(self, text: str) -> None:
        """A key that types a letter."""
        code = f"Key{text.upper()}" if text.isalpha() else ""
        number = ord(text.upper())
        await self.call(
            "Input.dispatchKeyEvent", type="keyDown", key=text, code=code, text=text, windowsVirtualKeyCode=number
        )
        await self.call("Input.dispatchKeyEvent", type="keyUp", key=text, code=code, windowsVirtualKeyCode=number)

    async def escape(self) -> None:
        """The key of that name."""
        for kind in ("keyDown", "keyUp"):
            await self.call("Input.dispatchKeyEvent", type=kind, key="Escape", code="Escape", windowsVirtualKeyCode=27)

    async def shows(self, *words: str) -> bool:
        """Whether the terminal in it shows all of it (it paints on a canvas; this is what it was sent)."""
        await self.value("1")
        text = "\n".join(self._screen.display) if self._screen else ""
        return all(word in text for word in words)

    async def picture(self) -> bytes:
        """What it looks like, as PNG."""
        return base64.b64decode((await self.call("Page.captureScreenshot"))["data"])

    async def until(self, holds: Callable[[], Awaitable[Any]], what: str) -> None:
        """Wait for something."""
        async with asyncio.timeout(LIMIT):
            while not await holds():
                await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Page]:
    """A tab in a browser of its own.

    Args:
        profile: an empty folder.
    """
    assert CHROMIUM is not None
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"),
        *("--no-first-run", "--disable-background-networking", f"--user-data-dir={profile}", "about:blank"),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told = profile / "DevToolsActivePort"
        async with asyncio.timeout(LIMIT):
            while not (told.exists() and told.read_text().count("\n")):
                await asyncio.sleep(0.05)
        port = told.read_text().split("\n")[0]
        async with aiohttp.ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/json/list") as reply:
                tabs = [tab for tab in await reply.json() if tab["type"] == "page"]
            async with client.ws_connect(tabs[0]["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()

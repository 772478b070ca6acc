"""One dashboard for one browser tab: a process of its own, spoken to through pipes in Textual's own packets."""

from __future__ import annotations

import asyncio
import shlex
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import Any

from textual_serve.app_service import AppService

from tui_agent.splash import BROWSER_DRIVER

PATIENCE = 4.0
"""Seconds that a dashboard may take to end when its tab is closed: it cancels its run and closes its record."""
LAST_WORDS = 4_000
"""Characters of what a dashboard said on stderr that are passed on."""
_SMALLEST, _LARGEST = 1, 1_000


class BrowserProcess(AppService):
    """A dashboard, and the connection to the tab that shows it.

    Args:
        argv: what is executed.
        tell: called with what the dashboard said on stderr, once it has ended.
        ends: what `AppService` takes: how to write to the tab, and how to close it.
    """

    def __init__(self, argv: Sequence[str], tell: Callable[[str], None], **ends: Any) -> None:
        super().__init__(shlex.join(argv), **ends)
        self._argv = argv
        self._tell = tell

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        """The server's own environment, keys and tokens included, and how to draw."""
        return super()._build_environment(width, height) | {"TEXTUAL_DRIVER": BROWSER_DRIVER}

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start it: no shell between, and in a session of its own, so that a Ctrl-C reaches the server alone."""
        self._process = process = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=self._build_environment(_bounded(width), _bounded(height)),
            start_new_session=True,
        )
        self._stdin = process.stdin
        return process

    async def set_terminal_size(self, width: int, height: int) -> None:
        """Tell it the size of the tab, in cells."""
        await super().set_terminal_size(_bounded(width), _bounded(height))

    async def run(self) -> None:
        """Pass on what it draws until it ends; then the tab's connection ends, too."""
        process = self._process
        assert process is not None and process.stdout is not None and process.stderr is not None
        words = asyncio.create_task(_last_words(process.stderr))
        try:
            await self._pass_on(process.stdout)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it has ended, or the tab has gone
        finally:
            await self.remote_close()
        if said := await words:
            self._tell(said)

    async def _pass_on(self, stdout: asyncio.StreamReader) -> None:
        takers = {b"D": self.on_data, b"M": self.on_meta, b"P": self.on_packed}
        # What stands before the greeting is no packet.
        while await stdout.readuntil(b"\n") != b"__GANGLION__\n":
            continue
        while True:
            head = await stdout.readexactly(5)
            payload = await stdout.readexactly(int.from_bytes(head[1:], "big"))
            await takers[head[:1]](payload)

    async def stop(self) -> None:
        """End it: politely, then by a signal, then at once."""
        task, self._task = self._task, None
        process = self._process
        if task is None or process is None:
            return
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        asking = asyncio.create_task(self.send_meta({"type": "quit"}))
        for patience, harder in ((PATIENCE, process.terminate), (1.0, process.kill), (1.0, task.cancel)):
            await asyncio.wait([task], timeout=patience)
            if process.returncode is not None or task.done():
                break
            harder()
        asking.cancel()
        if process.returncode is None:
            # Its output has ended; so has it, or it is made to.
            try:
                await asyncio.wait_for(process.wait(), 1.0)
            except TimeoutError:
                process.kill()
                await process.wait()


def _bounded(cells: Any) -> int:
    return min(max(int(cells), _SMALLEST), _LARGEST)


async def _last_words(stderr: asyncio.StreamReader) -> str:
    """The end of what is said, read to its end so that nobody waits to say it."""
    said = b""
    while piece := await stderr.read(LAST_WORDS):
        said = (said + piece)[-4 * LAST_WORDS :]
    return said.decode("utf-8", "replace").strip()[-LAST_WORDS:]

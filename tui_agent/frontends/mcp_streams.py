"""stdin and stdout for the protocol alone: whatever else reads finds the end, whatever else prints lands on stderr."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from collections.abc import Iterator
from typing import Self

from tui_agent.request import UsageError

_PIECE = 64 * 1024
_CLOSED = "`mcp` speaks on stdin and stdout, and one of them is closed."


class Lines:
    """The lines of a descriptor as they come, until its end.

    A thread of its own reads, which neither a cancellation nor the end of the process has to wait for.

    Args:
        descriptor: what to read; it stays open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._came: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __aiter__(self) -> Self:
        """Begin to read."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            threading.Thread(target=self._read, name="protocol-input", daemon=True).start()
        return self

    async def __anext__(self) -> str:
        """The next line."""
        line = await self._came.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self) -> None:
        begun: list[bytes] = []
        while data := self._some():
            first, *others = data.split(b"\n")
            begun.append(first)
            for other in others:
                if not self._hand_on(b"".join(begun)):
                    return
                begun = [other]
        self._hand_on(None)

    def _some(self) -> bytes:
        try:
            return os.read(self._descriptor, _PIECE)
        except OSError:
            return b""

    def _hand_on(self, line: bytes | None) -> bool:
        """Whether anybody still listens. An empty line says nothing."""
        assert self._loop is not None
        if line is not None and not line.strip():
            return True
        text = None if line is None else line.decode("utf-8", "replace")
        try:
            self._loop.call_soon_threadsafe(self._came.put_nowait, text)
        except RuntimeError:
            # The loop has ended.
            return False
        return True


class Output:
    """Writes texts whole; while one is being written, the event loop goes on.

    Args:
        descriptor: where they go; it stays open.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def write(self, text: str) -> None:
        """Write all of a text.

        Raises:
            OSError: nobody reads it, or it cannot be written.
        """
        await asyncio.to_thread(self._write, text.encode("utf-8", "replace"))

    async def flush(self) -> None:
        """Nothing is held back."""

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]


@contextlib.contextmanager
def protocol_streams() -> Iterator[tuple[Lines, Output]]:
    """Take the process's stdin and stdout for a protocol; what uses the usual ones meanwhile cannot disturb it.

    Raises:
        UsageError: they are closed.
    """
    if sys.stdin is None or sys.stdout is None:
        # Their numbers may be another file's by now.
        raise UsageError(_CLOSED)
    try:
        # Duplicates are not inherited: a child process holds neither end.
        given, taken = os.dup(0), os.dup(1)
    except OSError:
        raise UsageError(_CLOSED) from None
    try:
        _point(0, os.devnull, os.O_RDONLY)
        try:
            os.dup2(2, 1)
        except OSError:
            _point(1, os.devnull, os.O_WRONLY)
        with contextlib.redirect_stdout(sys.stderr):
            yield Lines(given), Output(taken)
    finally:
        if sys.__stdout__ is not None:
            # What somebody wrote past the redirection, and nobody has flushed yet.
            with contextlib.suppress(OSError, ValueError):
                sys.__stdout__.flush()
        # The thread may still wait at `given`: it is not closed, so that its number is not used again.
        os.dup2(given, 0)
        os.dup2(taken, 1)
        os.close(taken)


def _point(descriptor: int, path: str, how: int) -> None:
    """Let a descriptor lead elsewhere."""
    other = os.open(path, how)
    os.dup2(other, descriptor)
    os.close(other)

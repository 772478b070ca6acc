"""A small HTTP/1.1 server on 127.0.0.1, as exact about what goes wrong on a wire as about what goes right."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, unquote, urlsplit

Ending = Literal["whole", "hold", "drop", "reset", "cut", "cut_reset"]
MAX_REQUEST = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sent; header names in lower case, `at` in seconds of the monotonic clock."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def raw_path(self) -> str:
        """The path as it was sent, still percent-encoded."""
        return urlsplit(self.target).path

    @property
    def path(self) -> str:
        """The path, decoded."""
        return unquote(self.raw_path)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Exchange:
    """One request and what became of it."""

    request: Request
    status: int | None = None
    ended: float | None = None
    client_left: bool = False
    """The client closed its side before the reply was whole."""


class Gate:
    """Holds replies until the test lets them go; usable from any thread."""

    def __init__(self, *, opens_for: int | None = None) -> None:
        self.waiting = 0
        self.most = 0
        self._opens_for = opens_for
        self._open = False
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    async def wait(self) -> None:
        """Wait until the gate opens; with `opens_for`, that many waiting at the same time open it."""
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        try:
            if self._opens_for is not None and self.waiting >= self._opens_for:
                self.open()
            if not self._open:
                event = asyncio.Event()
                self._waiters.append((asyncio.get_running_loop(), event))
                if not self._open:
                    await event.wait()
        finally:
            self.waiting -= 1

    def open(self) -> None:
        """Let everything go, now and from now on."""
        self._open = True
        for loop, event in self._waiters:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back, and how it ends.

    Args:
        status: of the reply.
        headers: sent as they are; `content-length` or chunks are added.
        body: bytes, or what gives pieces that are sent as chunks as they come.
        delay: seconds before the reply begins.
        gate: the reply begins when it opens.
        ending: "whole" · "hold" (nothing comes, the connection stays open) · "drop" (closed without a reply) ·
            "reset" (RST without a reply) · "cut" and "cut_reset" (closed or reset after `cut_at` bytes of the body).
        cut_at: None for the middle.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | Callable[[], AsyncIterator[bytes]] = b""
    delay: float = 0.0
    gate: Gate | None = None
    ending: Ending = "whole"
    cut_at: int | None = None


class Cut(Exception):
    """Raised by a streamed body: the connection ends here, without the last chunk."""

    def __init__(self, *, reset: bool = False) -> None:
        self.reset = reset


class _Watched(asyncio.StreamReaderProtocol):
    """Knows when the client has closed its side, without reading what may come before."""

    def __init__(self, reader: asyncio.StreamReader, connected: Callable[..., Awaitable[None]]) -> None:
        super().__init__(reader, connected)
        self.left = asyncio.Event()

    def eof_received(self) -> bool | None:
        self.left.set()
        return super().eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self.left.set()
        super().connection_lost(exc)


class Unreachable:
    """An address where connecting takes for ever: its queue of connections is full, and nobody accepts them."""

    def __init__(self) -> None:
        self._listener = socket.socket()
        self._waiting: list[socket.socket] = []

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._listener.getsockname())

    def __enter__(self) -> Self:
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(0)
        for _ in range(3):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(self._listener.getsockname())
            self._waiting.append(one)
        return self

    def __exit__(self, *_: object) -> None:
        for one in (*self._waiting, self._listener):
            one.close()


class Deaf:
    """An address that takes connections, and never reads what comes."""

    def __init__(self) -> None:
        self._listener = socket.socket()

    @property
    def url(self) -> str:
        return "http://{}:{}".format(*self._listener.getsockname())

    def __enter__(self) -> Self:
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(50)
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


class HttpServer:
    """Serves what `answer` returns; subclasses say what that is.

    Use it as `async with server:` in a test's own loop, or as `with server.in_thread():` beside a test that blocks.
    """

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.errors: list[str] = []
        """What went wrong within the server itself; a test's teardown may look."""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    async def answer(self, request: Request) -> Answer:
        """The reply to a request."""
        raise AssertionError(f"no answer to {request.target}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def requests(self) -> list[Request]:
        return [exchange.request for exchange in self.exchanges]

    @property
    def idle(self) -> bool:
        """Whether no connection is open."""
        return not self._tasks

    @property
    def most_at_once(self) -> int:
        """How many requests were under way at the same time, at most."""
        steps = [(exchange.request.at, 1) for exchange in self.exchanges]
        steps += [(exchange.ended, -1) for exchange in self.exchanges if exchange.ended is not None]
        now = most = 0
        for _, step in sorted(steps):
            now += step
            most = max(most, now)
        return most

    async def __aenter__(self) -> Self:
        def connect() -> _Watched:
            return _Watched(asyncio.StreamReader(limit=256 * 1024), self._connection)

        self._server = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def vanish(self) -> None:
        """Be gone: what is under way breaks off, and nobody listens any more."""
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()

    @contextlib.contextmanager
    def in_thread(self) -> Iterator[Self]:
        """Serve from a thread with a loop of its own."""
        loop = asyncio.new_event_loop()
        started, stop = threading.Event(), asyncio.Event()

        async def serve() -> None:
            async with self:
                started.set()
                await stop.wait()

        thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), name="test-server", daemon=True)
        thread.start()
        assert started.wait(5), "the server did not start"
        try:
            yield self
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join(5)
            loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await _read_request(reader)) is not None:
                exchange = Exchange(request)
                self.exchanges.append(exchange)
                try:
                    if not await self._exchange(exchange, writer):
                        break
                finally:
                    exchange.ended = time.monotonic()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, exchange: Exchange, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        leaving = asyncio.ensure_future(writer.transport.get_protocol().left.wait())  # type: ignore[attr-defined]
        replying = asyncio.ensure_future(self._reply(exchange, writer))
        try:
            # A client that gives up closes its side: then whatever is held or streamed ends.
            await asyncio.wait((leaving, replying), return_when=asyncio.FIRST_COMPLETED)
            if replying.done():
                return replying.result()
            exchange.client_left = True
            return False
        except ConnectionError:
            exchange.client_left = True
            return False
        except Exception as error:
            self.errors.append(f"{type(error).__name__}: {error}")
            raise
        finally:
            for future in (leaving, replying):
                future.cancel()
            await asyncio.gather(leaving, replying, return_exceptions=True)

    async def _reply(self, exchange: Exchange, writer: asyncio.StreamWriter) -> bool:
        answer = await self.answer(exchange.request)
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.gate is not None:
            await answer.gate.wait()
        if answer.ending == "hold":
            await asyncio.Event().wait()
        if answer.ending in ("drop", "reset"):
            _close(writer, reset=answer.ending == "reset")
            return False
        exchange.status = answer.status
        headers = {"content-type": "application/json; charset=utf-8", **answer.headers}
        streamed = not isinstance(answer.body, bytes)
        if streamed:
            headers["transfer-encoding"] = "chunked"
        elif answer.status not in (204, 304):
            headers.setdefault("content-length", str(len(answer.body)))  # type: ignore[arg-type]
        head = [f"HTTP/1.1 {answer.status} {_phrase(answer.status)}", *(f"{k}: {v}" for k, v in headers.items())]
        writer.write("\r\n".join(head).encode("latin-1") + b"\r\n\r\n")
        if isinstance(answer.body, bytes):
            if answer.ending == "whole":
                if answer.status not in (204, 304) and exchange.request.method != "HEAD":
                    writer.write(answer.body)
                await writer.drain()
                return True
            writer.write(answer.body[: len(answer.body) // 2 if answer.cut_at is None else answer.cut_at])
            await writer.drain()
            _close(writer, reset=answer.ending == "cut_reset")
            return False
        try:
            async for piece in answer.body():
                if piece:
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    await writer.drain()
        except Cut as cut:
            _close(writer, reset=cut.reset)
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def _close(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """Close with FIN, or at once with RST."""
    if reset:
        raw: socket.socket = writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Status"


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request on a connection; None where the client closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    at = time.monotonic()
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := int((await reader.readline()).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readline()
        await reader.readline()
    elif length := int(headers.get("content-length", "0")):
        assert length <= MAX_REQUEST
        body = await reader.readexactly(length)
    return Request(method, target, headers, body, at)


def wait_until(condition: Callable[[], object], *, seconds: float = 5.0, what: str = "the condition") -> None:
    """Block until something holds; for tests that watch another process."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not hold within {seconds} s")
        time.sleep(0.01)


async def until(condition: Callable[[], object], *, seconds: float = 5.0, what: str = "the condition") -> None:
    """The same, for tests that share their loop with a server."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)

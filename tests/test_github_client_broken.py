"""Broken replies and connections: retried, counted, never in memory beyond a bound."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from tests.fakes import Layers, Recorder, Reply, Server, settle
from tests.github_bench import REPO, Bench, fine, moved
from tui_agent.events import AttemptFailed
from tui_agent.github.client import MAX_REPLY, GitHubClient
from tui_agent.github.client import Reply as Answer
from tui_agent.github.errors import GitHubError
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import SystemClock
from tui_agent.resilience.outcome import Trouble


def stream(*chunks: bytes, fails: Exception | None = None) -> Callable[[httpx.Request], httpx.Response]:
    """A body in pieces, that may break."""

    class Pieces(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk
            if fails is not None:
                raise fails

    return lambda _: httpx.Response(200, stream=Pieces())


def zipped(body: bytes, **headers: str) -> httpx.Response:
    response = httpx.Response(200, stream=httpx.ByteStream(body))
    response.headers.update({"content-encoding": "gzip", **{k.replace("_", "-"): v for k, v in headers.items()}})
    return response


BROKEN: dict[str, tuple[Reply, str]] = {
    "refused": (httpx.ConnectError("All connection attempts failed"), "connection failed: All connection"),
    "reset": (httpx.ReadError(""), "connection failed: ReadError"),
    "dropped": (httpx.RemoteProtocolError("Server disconnected without sending a response."), "Server disconnected"),
    "proxy": (httpx.ProxyError("407 Proxy Authentication Required"), "407 Proxy"),
    "tls": (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
    "connect time-out": (httpx.ConnectTimeout(""), "timed out (connecting)"),
    "read time-out": (httpx.ReadTimeout(""), "timed out (reading)"),
    "write time-out": (httpx.WriteTimeout(""), "timed out (sending)"),
    "pool time-out": (httpx.PoolTimeout(""), "timed out (no free connection)"),
    "breaks in the middle": (stream(b'{"x":', fails=httpx.ReadError("gone")), "connection failed: gone"),
    "times out in the middle": (stream(b'{"x":', fails=httpx.ReadTimeout("")), "timed out (reading)"),
    "cut JSON": (httpx.Response(200, content=b'{"x": 1, "y": ['), "form that GitHub documents"),
    "shorter than declared": (
        lambda _: httpx.Response(200, headers={"content-length": "99"}, stream=httpx.ByteStream(b'{"x": 1}')),
        "cut short",
    ),
    "empty": (httpx.Response(200, content=b""), "form that GitHub documents"),
    "no content": (httpx.Response(204), "form that GitHub documents"),
    "HTML": (httpx.Response(200, html="<html>Sign in to the hotel's network</html>"), "form that GitHub documents"),
    "not text": (httpx.Response(200, content=b"\xff\x00\xfe"), "form that GitHub documents"),
    "too deep": (httpx.Response(200, content=b"[" * 100_000), "form that GitHub documents"),
    "number without end": (httpx.Response(200, content=b"9" * 10_000), "form that GitHub documents"),
    "garbled gzip": (zipped(b"\x1f\x8b\x08\x00 no gzip at all"), "its compression is broken"),
    "gzip that is none": (zipped(b'{"x": 1}'), "its compression is broken"),
    "cut gzip": (zipped(gzip.compress(b'{"x": 1}')[:-9]), "cut short"),
    "unknown compression": (zipped(b"\x0b\x02", content_encoding="br"), "not asked for"),
    "twice compressed": (zipped(b"\x0b\x02", content_encoding="gzip, gzip"), "not asked for"),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "reason"), BROKEN.values(), ids=BROKEN)
async def test_broken_transport_is_retried_and_counted(reply: Reply, reason: str) -> None:
    bench = Bench(reply)
    call = bench.call()
    assert await bench.get(call=call) == {"x": 1}
    (told,) = bench.failures()
    assert reason in told and call.attempts == 2
    assert bench.server.open == 0


@pytest.mark.parametrize(("reply", "reason"), BROKEN.values(), ids=BROKEN)
async def test_broken_transport_ends_as_trouble_after_every_retry(reply: Reply, reason: str) -> None:
    bench = Bench(*[reply] * 4)
    with pytest.raises(Trouble) as caught:
        await bench.get()
    assert reason in caught.value.reason
    assert len(bench.server.requests) == 4 and bench.layers.breakers["get_repo_info"].failures == 4


@pytest.mark.parametrize("shape", [None, 5, "text", [], {}, {"needed": None}, {"needed": 5}, {"needed": {"list": []}}])
async def test_json_of_the_wrong_shape_is_trouble(shape: Any) -> None:
    bench = Bench(otherwise=httpx.Response(200, json=shape))

    def read(_: Answer, data: Any) -> int:
        return int(data["needed"]["list"][0].strip())

    with pytest.raises(Trouble, match="form that GitHub documents"):
        await bench.client.get(bench.call(), REPO, read)
    assert len(bench.server.requests) == 4


async def test_a_good_gzip_is_read_and_what_follows_it_ignored() -> None:
    body = gzip.compress(json.dumps({"y": "z" * 100_000}).encode())
    bench = Bench(zipped(body), zipped(body + b"and more" * 1000), zipped(body, content_encoding="x-gzip"))
    for _ in range(3):
        assert len((await bench.get())["y"]) == 100_000
    assert bench.server.requests[0].headers["accept-encoding"] == "gzip"


async def test_as_much_as_is_allowed_is_read() -> None:
    body = b'"' + b"x" * (MAX_REPLY - 2) + b'"'
    bench = Bench(httpx.Response(200, content=body), zipped(gzip.compress(body)))
    for _ in range(2):
        assert len(await bench.get()) == MAX_REPLY - 2


def endless(_: httpx.Request) -> httpx.Response:
    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                yield b" " * 65536

    return httpx.Response(200, stream=Endless())


def endless_nothing(_: httpx.Request) -> httpx.Response:
    """Compressed emptiness: blocks that decompress to nothing, for ever."""

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            packer = zlib.compressobj(wbits=31)
            yield packer.compress(b"")
            block = packer.flush(zlib.Z_FULL_FLUSH)
            while True:
                yield block * 100_000

    return httpx.Response(200, headers={"content-encoding": "gzip"}, stream=Endless())


TOO_LARGE: dict[str, Reply] = {
    "endless": endless,
    "endless nothing": endless_nothing,
    "declared": lambda _: httpx.Response(
        200, headers={"content-length": str(MAX_REPLY + 1)}, stream=httpx.ByteStream(b"")
    ),
    "a byte too many": lambda _: httpx.Response(200, stream=httpx.ByteStream(b"x" * (MAX_REPLY + 1))),
    "a bomb": zipped(gzip.compress(bytes(300 * 2**20), 9)),
}


@pytest.mark.parametrize("reply", TOO_LARGE.values(), ids=TOO_LARGE)
async def test_absurd_sizes_are_trouble_and_never_come_into_memory(reply: Reply) -> None:
    bench = Bench(reply, max_retries=1)
    tracemalloc.start()
    try:
        assert await bench.get() == {"x": 1}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert bench.failures() == ["the reply is larger than 16 MB"]
    assert peak < 4 * MAX_REPLY


async def test_a_body_that_never_ends_is_ended_by_the_attempts_time() -> None:
    class Slow(httpx.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                await asyncio.sleep(1.0)
                yield b" "

        async def aclose(self) -> None:
            Slow.closed += 1

    bench = Bench(lambda _: httpx.Response(200, stream=Slow()))
    assert await bench.get() == {"x": 1}
    assert bench.failures() == ["no whole answer within 15 s"]
    assert bench.clock.now == 15.5 and Slow.closed == 1


async def test_a_cancelled_request_closes_its_response_and_gives_its_place_back() -> None:
    class Hanging(httpx.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(1e9)

        async def aclose(self) -> None:
            Hanging.closed += 1

    bench = Bench(*[lambda _: httpx.Response(200, stream=Hanging())] * 8)
    tasks = [asyncio.create_task(bench.get()) for _ in range(8)]
    await settle()
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes) and Hanging.closed == 8
    assert await bench.get() == {"x": 1}
    assert bench.clock.now == 0.0 and bench.failures() == []


async def test_a_big_reply_is_made_out_in_a_thread() -> None:
    import threading

    bench = Bench(httpx.Response(200, json=["x" * 300_000]))

    def read(_: Answer, data: Any) -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await bench.client.get(bench.call(), REPO, read) is False
    assert await bench.client.get(bench.call(), REPO, read) is True


# -- the caller's client, real sockets -----------------------------------------------------------------


async def test_the_callers_client_is_used_as_it_is_and_never_redirects_by_itself() -> None:
    bench = Bench()
    server = Server(fine())
    server.on("", moved("https://evil.example/x"))
    http = httpx.AsyncClient(transport=server, follow_redirects=True, headers={"x-mine": "1"})
    bench.client._http = http
    with pytest.raises(GitHubError, match="another host"):
        await bench.get()
    assert len(server.requests) == 1 and server.requests[0].headers["x-mine"] == "1"
    assert not http.is_closed


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


async def _over_sockets(handler: Handler | None, timeout: float = 5.0) -> list[str]:
    """The reasons of failed attempts of one request to a real server."""
    heard = Recorder()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        assert handler is not None
        await handler(reader, writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    if handler is None:
        server.close()
    layers = Layers(SystemClock(), max_retries=0, timeout=timeout)
    try:
        async with httpx.AsyncClient(timeout=None, trust_env=False) as http:
            client = GitHubClient(
                http,
                api_url=f"http://127.0.0.1:{port}",
                token=None,
                retry=layers.retry,
                breakers=layers.breakers,
                gate=layers.gate,
                clock=layers.clock,
                timeout=timeout,
                redact=Redactor([]),
            )
            with pytest.raises(Trouble):
                await client.get(Call("read_file", heard), REPO, lambda _, data: data)
    finally:
        server.close()
    return [event.reason for event in heard.of(AttemptFailed)]


def _sends(*pieces: bytes, abort: bool = False, hold: float = 0.0) -> Handler:
    async def handler(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        await asyncio.sleep(hold)
        if abort:
            writer.transport.abort()

    return handler


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("handler", "timeout", "reason"),
    [
        (None, 5.0, "connection failed"),
        (_sends(), 5.0, "connection failed"),
        (_sends(abort=True), 5.0, "connection failed"),
        (_sends(b"nonsense\r\n\r\n"), 5.0, "connection failed"),
        (_sends(HEAD + b"Content-Length: 50\r\n\r\n", b'{"x":'), 5.0, "connection failed"),
        (_sends(HEAD + b"Content-Length: 50\r\n\r\n", b'{"x":', abort=True), 5.0, "connection failed"),
        (_sends(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b'5\r\n{"x":\r\n'), 5.0, "connection failed"),
        (_sends(HEAD + b"\r\n", b'{"x":'), 5.0, "form that GitHub documents"),
        (_sends(HEAD, hold=1.0), 0.1, "no whole answer within 0.1 s"),
        (_sends(HEAD + b"Content-Length: 50\r\n\r\n", b'{"x":', hold=1.0), 0.1, "no whole answer within 0.1 s"),
    ],
)
async def test_over_real_sockets_every_break_is_trouble(handler: Handler | None, timeout: float, reason: str) -> None:
    (told,) = await _over_sockets(handler, timeout)
    assert told.startswith(reason) or reason in told

"""Injected faults, and the network beneath them: the layers above take the ones for the other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.fakes import Layers, Recorder, Server, VirtualClock
from tui_agent.events import AttemptFailed, Quota, RateLimitWait
from tui_agent.github.client import route
from tui_agent.request import UsageError
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Trouble
from tui_agent.transports.faults import LIMIT_SECONDS, FaultScript, FaultTransport
from tui_agent.transports.network import NetworkTransport


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


NAMES = frozenset({"read_file", "get_commits", "llm", "snapshot"})
URL = "https://api.github.com/repos/octo/demo"


def script(spec: str) -> FaultScript:
    made = FaultScript(NAMES)
    made.add(spec)
    return made


def taken(made: FaultScript, name: str, times: int) -> list[str | None]:
    return [made.take(name) for _ in range(times)]


# -- the script -------------------------------------------------------------------------------------


def test_a_fault_happens_so_many_times() -> None:
    assert taken(script("read_file:503x2"), "read_file", 4) == ["503", "503", None, None]


def test_a_fault_without_a_number_happens_always() -> None:
    assert taken(script("read_file:timeout"), "read_file", 50) == ["timeout"] * 50


def test_other_names_are_left_alone_and_a_star_means_all() -> None:
    assert taken(script("read_file:503"), "get_commits", 2) == [None, None]
    made = script("*:dropx2")
    assert [made.take("llm"), made.take("snapshot"), made.take("read_file")] == ["drop", "drop", None]


def test_faults_come_in_the_order_in_which_they_were_written() -> None:
    made = script(" read_file:503x1 , read_file:limitx1,, *:cutx1 ")
    assert taken(made, "read_file", 4) == ["503", "limit", "cut", None]


def test_faults_may_be_added_and_forgotten_at_any_time() -> None:
    made = script("llm:429x1")
    made.add("llm:500x1")
    assert taken(made, "llm", 3) == ["429", "500", None]
    made.add("llm:500")
    made.clear()
    assert made.take("llm") is None


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("", "No fault is named"),
        (" , ", "No fault is named"),
        ("read_file", "is no fault; write NAME:FAULT"),
        ("read_file:", "is no fault; write NAME:FAULT"),
        (":503", "is no fault; write NAME:FAULT"),
        ("read_file:503x", "is no fault; write NAME:FAULT"),
        ("read_file:503x-1", "is no fault; write NAME:FAULT"),
        ("read_file:503x9999999", "is no fault; write NAME:FAULT"),
        ("read_file:503:504", "is no fault; write NAME:FAULT"),
        ("read_file=503", "is no fault; write NAME:FAULT"),
        ("nonsense:503", "“nonsense” can have no faults; there are *, get_commits, llm, read_file, snapshot"),
        ("read_file:explode", "“explode” is no fault; there are a status from 400 to 599, timeout, drop, cut, limit"),
        ("read_file:200", "“200” is no fault"),
        ("read_file:399", "“399” is no fault"),
        ("read_file:600", "“600” is no fault"),
        ("read_file:503x0", "would never happen"),
        ("read_file:503,llm:bad", "“bad” is no fault"),
    ],
)
def test_what_is_no_fault_is_a_usage_error_and_changes_nothing(spec: str, words: str) -> None:
    made = FaultScript(NAMES)
    with pytest.raises(UsageError) as caught:
        made.add(spec)
    assert words in str(caught.value)
    assert all(made.take(name) is None for name in NAMES)


# -- the transport ----------------------------------------------------------------------------------


class Bench:
    """GitHub's client on a good server, with faults between them."""

    def __init__(self, spec: str, reply: Any = None) -> None:
        self.clock = VirtualClock()
        self.heard = Recorder()
        self.server = Server(reply or httpx.Response(200, json={"x": "y" * 100}))
        self.transport = FaultTransport(self.server, script(spec), self.clock, "snapshot")
        self.client = Layers(self.clock).client(self.transport)

    async def get(self, name: str = "read_file") -> Any:
        call = Call(name, self.heard, "call_1")
        return await self.client.get(call, route("repos", "octo", "demo"), lambda _, data: data)


@pytest.mark.parametrize(
    ("fault", "reason", "status", "sent"),
    [
        ("503", "HTTP 503: injected fault 503", 503, 1),
        ("599", "HTTP 599: injected fault 599", 599, 1),
        ("timeout", "timed out (reading)", None, 1),
        ("drop", "connection failed: injected: the server closed the connection", None, 1),
        ("cut", "connection failed: injected: the connection broke in the middle", None, 2),
    ],
)
async def test_an_injected_fault_is_seen_as_a_real_one(fault: str, reason: str, status: int | None, sent: int) -> None:
    bench = Bench(f"read_file:{fault}x1")
    assert await bench.get() == {"x": "y" * 100}
    (failed,) = bench.heard.of(AttemptFailed)
    assert (failed.reason, failed.status, failed.name) == (reason, status, "read_file")
    # only a reply that is cut in the middle was asked for
    assert len(bench.server.requests) == sent


async def test_a_fault_that_lasts_ends_as_trouble() -> None:
    with pytest.raises(Trouble):
        await Bench("*:503").get("get_commits")


async def test_an_injected_limit_ends_by_itself() -> None:
    bench = Bench("read_file:limitx1")
    await bench.get()
    (wait,) = bench.heard.of(RateLimitWait)
    assert wait.kind == "primary" and 0 < wait.seconds <= LIMIT_SECONDS
    (told,) = bench.heard.of(Quota)
    assert (told.remaining, told.limit) == (0, 60)
    assert bench.heard.of(AttemptFailed) == []


async def test_after_an_injected_limit_the_real_quota_is_told_again() -> None:
    headers = {
        "x-ratelimit-limit": "5000",
        "x-ratelimit-remaining": "4812",
        "x-ratelimit-reset": str(1_700_000_000 + 3000),
    }
    bench = Bench("read_file:limitx1", httpx.Response(200, headers=headers, json={}))
    await bench.get("get_commits")
    await bench.get()
    assert [event.remaining for event in bench.heard.of(Quota)] == [4812, 0, 4812]


@pytest.mark.parametrize("fault", ["404", "401", "422", "451"])
async def test_an_injected_refusal_is_an_answer(fault: str) -> None:
    bench = Bench(f"read_file:{fault}x1")
    with pytest.raises(Exception, match=f"HTTP {fault}: injected fault {fault}"):
        await bench.get()
    assert bench.heard == []


async def test_a_models_server_is_limited_in_its_own_way() -> None:
    transport = FaultTransport(Server(), script("llm:limit,llm:500"), VirtualClock(), "llm")
    async with httpx.AsyncClient(transport=transport) as http:
        response = await http.post("https://model.example/chat/completions", json={})
    assert response.status_code == 429 and response.headers["retry-after"] == str(LIMIT_SECONDS)
    assert response.json()["error"]["message"] == "injected rate limit"


async def test_a_request_without_a_name_has_the_transports() -> None:
    transport = FaultTransport(Server(httpx.Response(200)), script("llm:503x1"), VirtualClock(), "llm")
    async with httpx.AsyncClient(transport=transport) as http:
        assert [(await http.get(URL)).status_code for _ in range(2)] == [503, 200]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([b"abcd"], b"ab"),
        ([b"12", b"34", b"56", b"78", b"90"], b"1234567"),
        ([], b""),
        ([b""], b""),
    ],
)
async def test_a_reply_is_cut_in_the_middle_after_at_most_a_few_pieces(chunks: list[bytes], expected: bytes) -> None:
    class Pieces(httpx.AsyncByteStream):
        closed = 0

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for chunk in chunks:
                yield chunk

        async def aclose(self) -> None:
            Pieces.closed += 1

    class Inner(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"content-length": "10", "x-kept": "1"}, stream=Pieces())

    transport = FaultTransport(Inner(), script("llm:cut"), VirtualClock(), "llm")
    got = b""
    async with httpx.AsyncClient(transport=transport) as http:
        with pytest.raises(httpx.RemoteProtocolError, match="broke in the middle"):
            async with http.stream("GET", URL) as response:
                assert response.headers["x-kept"] == "1" and "content-length" not in response.headers
                async for chunk in response.aiter_raw():
                    got += chunk
    assert got == expected and Pieces.closed == 1


async def test_closing_closes_what_is_inside() -> None:
    class Inner(Server):
        closed = 0

        async def aclose(self) -> None:
            Inner.closed += 1

    await FaultTransport(Inner(), script("llm:cut"), VirtualClock(), "llm").aclose()
    assert Inner.closed == 1


# -- the network ------------------------------------------------------------------------------------


async def _serve(reply: bytes) -> tuple[asyncio.Server, str, list[bytes]]:
    asked: list[bytes] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(reply)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_a_request_goes_out_as_it_is_and_its_reply_comes_back_as_it_is() -> None:
    body = json.dumps({"x": 1}).encode()
    server, url, asked = await _serve(b"HTTP/1.1 200 OK\r\nX-Y: z\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    async with httpx.AsyncClient(transport=NetworkTransport(), headers={"x-mine": "1"}) as http:
        response = await http.get(url + "/a%2Fb?c=d%20e")
    server.close()
    assert response.json() == {"x": 1} and response.headers["x-y"] == "z"
    assert asked[0].startswith(b"GET /a%2Fb?c=d%20e HTTP/1.1\r\n") and b"x-mine: 1" in asked[0].lower()


async def test_the_network_follows_no_redirect_by_itself() -> None:
    server, url, asked = await _serve(b"HTTP/1.1 301 Moved\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n")
    async with httpx.AsyncClient(transport=NetworkTransport()) as http:
        assert (await http.get(url)).status_code == 301
    server.close()
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HTTPS_PROXY", "socks5://user:hunter2@127.0.0.1:9", r"pip install 'httpx\[socks\]'"),
        ("NO_PROXY", "[::1", "NO_PROXY"),
    ],
)
def test_a_setting_of_the_network_that_cannot_be_used_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=words) as caught:
        NetworkTransport()
    assert "hunter2" not in str(caught.value)

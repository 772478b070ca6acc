"""The way to the network: the environment's proxies and certificates, and what is said where they cannot be used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.servers.http import Answer, HttpServer, Request, until
from tui_agent.request import UsageError
from tui_agent.transports.network import NetworkTransport

VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Echo(HttpServer):
    async def answer(self, request: Request) -> Answer:
        return Answer(200, {}, request.target.encode())


async def fetch(url: str) -> bytes:
    transport = NetworkTransport()
    try:
        response = await transport.handle_async_request(httpx.Request("GET", url))
        return await response.aread()
    finally:
        await transport.aclose()


async def test_a_proxy_of_the_environment_is_asked_and_no_proxy_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Echo() as proxy, Echo() as host:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert await fetch("http://repo.example/x") == b"http://repo.example/x"
        assert await fetch(f"{host.url}/y") == b"/y"
        assert (len(proxy.requests), len(host.requests)) == (1, 1)


@pytest.mark.parametrize("proxy", ["gopher://user:hunter2@host", "http://[::1", "socks5://user:hunter2@host:1"])
def test_a_proxy_that_cannot_be_used_is_said_without_its_password(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(UsageError, match="HTTPS_PROXY") as told:
        NetworkTransport()
    assert "hunter2" not in str(told.value)


class Slowly(HttpServer):
    """Answers in pieces, with time between them."""

    async def answer(self, request: Request) -> Answer:
        async def pieces() -> AsyncIterator[bytes]:
            for _ in range(4):
                await asyncio.sleep(0)
                yield b"piece"

        return Answer(200, {}, pieces)


async def test_a_request_may_be_cancelled_at_any_step_and_leaves_no_connection() -> None:
    """httpcore alone leaves one behind where the cancellation meets one of its locks."""
    async with Slowly() as host:
        transport = NetworkTransport()
        async with httpx.AsyncClient(transport=transport) as client:
            await client.get(host.url)
            for steps in range(1, 70):
                task = asyncio.create_task(client.get(host.url))
                for _ in range(steps):
                    await asyncio.sleep(0)
                if task.done():
                    break
                task.cancel()
                await asyncio.wait({task})
                await until(lambda: all(e.ended is not None for e in host.exchanges) and len(host._tasks) <= 1)
            assert task.done() and not task.cancelled(), "every step of a request was tried"
            # It can still be used, and as often as a pool has places.
            for _ in range(3):
                assert (await client.get(host.url)).content == b"piece" * 4
        await until(lambda: host.idle)


async def test_what_is_under_way_beside_a_cancelled_request_goes_on() -> None:
    async with Slowly() as host:
        async with httpx.AsyncClient(transport=NetworkTransport()) as client:
            others = [asyncio.create_task(client.get(host.url)) for _ in range(5)]
            cancelled = asyncio.create_task(client.get(host.url))
            for _ in range(10):
                await asyncio.sleep(0)
            cancelled.cancel()
            assert [(await other).content for other in others] == [b"piece" * 4] * 5
            assert (await client.get(host.url)).content == b"piece" * 4
        await until(lambda: host.idle)


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_read_are_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "authorities.pem"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    with pytest.raises(UsageError, match="SSL_CERT_FILE cannot be read"):
        NetworkTransport()

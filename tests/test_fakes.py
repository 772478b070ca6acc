"""The tests' own time: it stands still while anybody works, and jumps when nobody does."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from tests.fakes import FakeRepository, Server, VirtualClock


async def test_a_day_passes_in_no_time_and_in_order() -> None:
    clock, woken, began = VirtualClock(), [], time.perf_counter()

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.now))

    await asyncio.gather(*[sleeper(seconds) for seconds in (86400.0, 0.1, 3600.0, 1.0)])
    assert woken == [(0.1, 0.1), (1.0, 1.0), (3600.0, 3600.0), (86400.0, 86400.0)]
    assert clock.time() == clock.epoch + 86400.0
    assert time.perf_counter() - began < 5.0


async def test_no_time_passes_while_a_task_has_something_to_do() -> None:
    clock = VirtualClock()
    sleeper = asyncio.create_task(clock.sleep(0.001))
    for _ in range(1000):
        await asyncio.sleep(0)
    assert clock.now == 0.0 and not sleeper.done()
    await sleeper
    assert clock.now == 0.001


async def test_time_outs_live_in_it_too() -> None:
    clock = VirtualClock()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(15.0):
            await asyncio.sleep(1e9)
    assert clock.now == 15.0


async def test_a_thread_that_works_is_waited_for_in_real_time() -> None:
    clock = VirtualClock()
    async with asyncio.timeout(15.0):
        await asyncio.to_thread(time.sleep, 0.2)
    assert clock.now == 0.0


async def test_a_socket_that_may_bring_something_is_waited_for_a_moment() -> None:
    clock = VirtualClock()
    server = await asyncio.start_server(lambda _, writer: writer.write(b"hello\n"), "127.0.0.1", 0)
    async with asyncio.timeout(15.0):
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        assert await reader.readline() == b"hello\n"
    writer.close()
    server.close()
    assert clock.now < 15.0


async def test_a_script_gives_each_reply_once_and_then_the_usual_one() -> None:
    server = Server(httpx.Response(200))
    server.on("/a", httpx.Response(500), httpx.ReadError("gone"))
    async with httpx.AsyncClient(transport=server, base_url="http://x") as http:
        assert (await http.get("/a")).status_code == 500
        assert (await http.get("/b")).status_code == 200
        with pytest.raises(httpx.ReadError):
            await http.get("/a")
        assert (await http.get("/a?b")).status_code == 200
    assert server.targets == ["/a", "/b", "/a", "/a?b"] and server.open == 0


def test_objects_have_the_names_that_git_gives_them() -> None:
    assert "ce013625030ba8dba906f756967f9e9ca394464a" in FakeRepository({"a.txt": "hello\n"}).blobs

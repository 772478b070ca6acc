"""Redirects: followed on the same host, bounded, remembered, and never with the token to another place."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.fakes import API, quota_headers, refused, settle
from tests.github_bench import NOW, TOKEN, Bench, fine, moved
from tui_agent.github.client import SHA, route
from tui_agent.github.errors import GitHubError

ELSEWHERE = [
    "https://evil.example/repos/octo/demo",
    "http://api.github.com/repos/octo/demo",
    "https://api.github.com:8443/repos/octo/demo",
    "//evil.example/x",
    "https://api.github.com.evil.example/x",
    "https://api.github.com@evil.example/x",
    "https://user:secret@api.github.com/x",
    "https://evil.example\\@api.github.com/x",
    "https://evil.example#@api.github.com/x",
    "https://gist.github.com/x",
    "ftp://api.github.com/x",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "https://[::1/x",
    "https://api.github.com:99999/x",
    "https://api.github.com\u2028.evil.example/",
]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_on_the_same_host_is_followed_and_remembered(status: int) -> None:
    bench = Bench(moved(f"{API}/repositories/42", status), token=TOKEN)
    assert await bench.get() == {"x": 1}
    assert bench.client.has_moved("octo", "demo")
    await bench.get(route("repos", "octo", "demo", "git", "trees", "a b"), params={"recursive": 1})
    assert bench.server.targets == [
        "/repos/octo/demo",
        "/repositories/42",
        "/repositories/42/git/trees/a%20b?recursive=1",
    ]
    assert bench.client.requests == 3
    assert all(request.headers["authorization"] == f"Bearer {TOKEN}" for request in bench.server.requests)


async def test_a_redirect_of_a_longer_route_is_remembered_for_the_repository() -> None:
    bench = Bench(moved(f"{API}/repositories/42/commits/HEAD"))
    await bench.get(route("repos", "octo", "demo", "commits", "HEAD"), accept=SHA)
    await bench.get()
    assert bench.server.targets[-1] == "/repositories/42"


async def test_a_redirect_that_changes_more_than_the_repository_is_followed_each_time() -> None:
    bench = Bench(moved(f"{API}/repos/octo/demo/commits/main"), fine(), moved(f"{API}/repos/octo/demo/commits/main"))
    for _ in range(2):
        await bench.get(route("repos", "octo", "demo", "commits", "master"))
    assert not bench.client.has_moved("octo", "demo")
    assert bench.server.targets == ["/repos/octo/demo/commits/master", "/repos/octo/demo/commits/main"] * 2


@pytest.mark.parametrize("location", ["/repositories/42", "../../repositories/42", "//api.github.com/repositories/42"])
async def test_a_relative_location_is_understood(location: str) -> None:
    bench = Bench(moved(location))
    await bench.get()
    assert bench.server.targets[-1] == "/repositories/42" and bench.hosts == {"api.github.com"}


async def test_the_prefix_of_an_enterprise_server_stays_after_a_redirect() -> None:
    bench = Bench(moved("https://ghe.example/api/v3/repositories/42"), api_url="https://ghe.example/api/v3")
    await bench.get()
    await bench.get(route("repos", "octo", "demo", "commits"))
    assert bench.server.targets[1:] == ["/api/v3/repositories/42", "/api/v3/repositories/42/commits"]


async def test_a_place_outside_the_api_is_not_remembered() -> None:
    bench = Bench(moved("https://ghe.example/login"), api_url="https://ghe.example/api/v3")
    await bench.get()
    assert not bench.client.has_moved("octo", "demo")


async def test_the_port_that_a_scheme_has_anyway_is_the_same_place() -> None:
    bench = Bench(moved("https://api.github.com:443/repositories/42"))
    assert await bench.get() == {"x": 1}


async def test_without_a_location_the_body_says_where() -> None:
    bench = Bench(moved(None, 307, message="Moved", url=f"{API}/repositories/42"))
    assert await bench.get() == {"x": 1}
    assert bench.server.targets[-1] == "/repositories/42"


@pytest.mark.parametrize("location", ELSEWHERE)
@pytest.mark.parametrize("where", ["header", "body"])
async def test_no_redirect_leads_the_token_to_another_place(location: str, where: str) -> None:
    reply = (
        httpx.Response(301, headers=[(b"location", location.encode())])
        if where == "header"
        else moved(None, url=location)
    )
    bench = Bench(reply, token=TOKEN)
    with pytest.raises(GitHubError, match=r"another host|nowhere") as caught:
        await bench.get()
    assert len(bench.server.requests) == 1 and bench.hosts == {"api.github.com"}
    assert TOKEN not in caught.value.sentence and "secret" not in caught.value.sentence
    assert bench.heard == []


@pytest.mark.parametrize("location", [None, "", "https://", "http://"])
async def test_a_redirect_to_nowhere_is_an_error(location: str | None) -> None:
    bench = Bench(moved(location))
    with pytest.raises(GitHubError, match=r"nowhere|another host|circle"):
        await bench.get()
    assert len(bench.server.requests) == 1


async def test_five_hops_are_followed() -> None:
    bench = Bench(*[moved(f"{API}/hop/{i}") for i in range(5)])
    assert await bench.get() == {"x": 1}
    assert len(bench.server.requests) == 6


async def test_a_sixth_hop_is_an_error_and_not_retried() -> None:
    bench = Bench(*[moved(f"{API}/hop/{i}") for i in range(6)])
    call = bench.call()
    with pytest.raises(GitHubError, match="more than 5 times"):
        await bench.get(call=call)
    assert len(bench.server.requests) == 6 and call.attempts == 1 and bench.heard == []


@pytest.mark.parametrize("hops", [["/repos/octo/demo"], ["/a", "/b", "/a"], ["/a", "/a#x"]])
async def test_a_circle_is_an_error_and_not_retried(hops: list[str]) -> None:
    bench = Bench(*[moved(hop) for hop in hops])
    with pytest.raises(GitHubError, match="in a circle"):
        await bench.get()
    assert len(bench.server.requests) == len(hops) and bench.layers.breakers["get_repo_info"].failures == 0


async def test_a_redirect_that_uses_the_limit_up_goes_on_after_the_reset() -> None:
    redirect = httpx.Response(301, headers={"location": "/repositories/42", **quota_headers(0, NOW + 20)})
    again = httpx.Response(301, headers={"location": "/repositories/42", **quota_headers(59, NOW + 3600)})
    bench = Bench(redirect, again)
    task = asyncio.create_task(bench.get())
    await settle()
    assert len(bench.server.requests) == 1
    assert await task == {"x": 1}
    assert bench.clock.now == 21.0 and len(bench.server.requests) == 3


async def test_trouble_at_the_new_place_is_retried_and_remembers_nothing() -> None:
    bench = Bench(moved("/repositories/42"), refused(502), moved("/repositories/42"))
    assert await bench.get() == {"x": 1}
    assert bench.failures() == ["HTTP 502"]


async def test_a_redirect_into_the_void_is_not_remembered() -> None:
    bench = Bench(moved("/repositories/42"), refused(404))
    with pytest.raises(GitHubError):
        await bench.get()
    assert not bench.client.has_moved("octo", "demo")

"""The cache as GitHub's client sees it: what is kept, for how long, for whom, and what a kept reply costs."""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cache_bench import BLOB, HEAD, REPO, SHA, YEAR, CacheBench, fine, unchanged
from tests.fakes import quota_headers, refused
from tui_agent.events import AttemptFailed, BreakerChanged, Quota, RateLimitWait
from tui_agent.github.client import SHA as SHA_TEXT
from tui_agent.github.errors import GitHubError
from tui_agent.resilience.outcome import LimitTooFar, Trouble, Unavailable
from tui_agent.transports.cache import CacheTransport, is_immutable

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


# -- what a kept reply costs ---------------------------------------------------------------------------


async def test_a_kept_reply_is_given_without_a_request_and_without_an_attempt(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"content": "text"}))
    async with bench.run() as first, bench.run() as second:
        assert await first.get(BLOB) == await second.get(BLOB) == {"content": "text"}
    assert (first.states, first.attempts, first.client.requests) == (["miss"], [1], 1)
    assert (second.states, second.attempts, second.client.requests) == (["hit"], [0], 0)
    assert len(bench.sent) == 1


async def test_a_revalidated_reply_is_a_request_and_an_attempt(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, etag='W/"1"'), unchanged(etag='W/"1"'))
    async with bench.run() as run:
        assert await run.get(HEAD) == await run.get(HEAD) == {"a": 1}
    assert (run.states, run.attempts, run.client.requests) == (["miss", "revalidated"], [1, 1], 2)
    assert "if-none-match" not in bench.sent[0].headers
    assert bench.sent[1].headers["if-none-match"] == 'W/"1"'


async def test_a_kept_reply_waits_for_no_limit(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.layers.gate.observe(_call(run), Quota(resource="core", limit=60, remaining=0, used=60, reset=2**33))
        assert await run.get(BLOB) == {"a": 1}
        with pytest.raises(LimitTooFar):
            await run.get(REPO)
    assert run.heard.of(RateLimitWait) == []


async def test_a_kept_reply_is_given_while_the_breaker_is_open(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.layers.breakers["get_repo_info"].isolate(run.heard)
        assert await run.get(BLOB) == {"a": 1}
        with pytest.raises(Unavailable):
            await run.get(REPO)


async def test_a_kept_reply_that_is_not_enough_closes_no_breaker_and_opens_none(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}), otherwise=refused(503))
    async with bench.run() as run:
        await run.get(BLOB)
        for _ in range(10):
            await run.get(BLOB)
    assert run.heard.of(BreakerChanged) == run.heard.of(AttemptFailed) == []


async def test_what_a_kept_reply_once_said_of_the_limit_is_never_heard_again(tmp_path: Path) -> None:
    old = quota_headers(0, 2**33)
    bench = CacheBench(tmp_path, fine({"a": 1}, **old), fine({"b": 1}, etag='"1"', **old), unchanged(etag='"1"'))
    async with bench.run() as first:
        await first.get(BLOB)
        first.layers.gate._until = 0.0
        await first.get(HEAD)
    async with bench.run() as second:
        await second.get(BLOB)
        await second.get(HEAD)
    assert second.states == ["hit", "revalidated"]
    assert second.heard.of(Quota) == []


async def test_what_a_304_says_of_the_limit_is_heard(tmp_path: Path) -> None:
    news = quota_headers(4711, 2**31, limit=5000)
    bench = CacheBench(tmp_path, fine({"a": 1}, etag='"1"'), unchanged(etag='"1"', **news))
    async with bench.run() as run:
        await run.get(HEAD)
        await run.get(HEAD)
    assert [quota.remaining for quota in run.heard.of(Quota)] == [4711]


# -- how long ------------------------------------------------------------------------------------------

NEVER_CHANGES = [
    f"git/blobs/{SHA}",
    f"git/trees/{SHA}",
    f"git/trees/{SHA}?recursive=1",
    f"commits/{SHA}",
    f"commits?per_page=30&page=2&sha={SHA}",
    f"commits?per_page=30&sha={SHA}&path=src",
    f"git/blobs/{'a' * 64}",
]
MAY_CHANGE = [
    "",
    "commits",
    "commits?sha=main",
    f"commits?sha={SHA[:12]}",
    f"commits?page=1&path={SHA}",
    "commits/HEAD",
    "commits/c0ffee",
    f"commits/{SHA}0",
    f"commits/feature/{SHA}",
    f"commits/{SHA}/status",
    f"commits/{SHA.upper()}",
    "git/trees/HEAD",
    "git/trees/main?recursive=1",
    f"git/matching-refs/heads/{SHA}",
    "branches",
    "tags",
    f"contents/git/blobs/{SHA}/x",
]


@pytest.mark.parametrize("what", NEVER_CHANGES)
@pytest.mark.parametrize("base", ["repos/octo/demo", "repositories/17", "api/v3/repos/octo/demo"])
async def test_what_is_named_by_its_hash_is_kept_for_ever(tmp_path: Path, base: str, what: str) -> None:
    assert is_immutable(httpx.URL(f"https://api.github.com/{base}/{what}"))
    bench = CacheBench(tmp_path, fine({"a": 1}, max_age="60", etag='"1"'), ago=30 * YEAR)
    async with bench.run() as run:
        for _ in range(3):
            assert await run.get(f"/{base}/{what}") == {"a": 1}
    assert run.states == ["miss", "hit", "hit"]


@pytest.mark.parametrize("what", MAY_CHANGE)
async def test_what_may_change_is_asked_for_again_once_it_is_old(tmp_path: Path, what: str) -> None:
    path = f"{REPO}/{what}".rstrip("/")
    assert not is_immutable(httpx.URL(f"https://api.github.com{path}"))
    bench = CacheBench(
        tmp_path,
        fine({"a": 1}, max_age="60", etag='"1"'),
        unchanged(
            etag='"1"',
        ),
        ago=61,
    )
    async with bench.run() as run:
        assert await run.get(path) == await run.get(path) == {"a": 1}
    assert run.states == ["miss", "revalidated"]


async def test_what_the_server_calls_fresh_is_not_asked_for_again(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, max_age="60", etag='"1"'), ago=30)
    async with bench.run() as run:
        assert await run.get(REPO) == await run.get(REPO) == {"a": 1}
    assert run.states == ["miss", "hit"]


@pytest.mark.parametrize("what", ["commits/HEAD", "commits/feature/x", "git/trees/HEAD", "git/matching-refs/heads/f"])
async def test_where_a_ref_points_to_is_asked_every_time(tmp_path: Path, what: str) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, max_age="60", etag='"1"'), fine({"a": 2}, max_age="60", etag='"2"'))
    async with bench.run() as run:
        assert await run.get(f"{REPO}/{what}") == {"a": 1}
        assert await run.get(f"{REPO}/{what}") == {"a": 2}, "pushed a second ago"


async def test_what_says_nothing_of_its_time_is_asked_for_every_time(tmp_path: Path) -> None:
    long_ago = "Mon, 01 Jan 2001 00:00:00 GMT"
    bench = CacheBench(tmp_path, fine({"a": 1}, last_modified=long_ago), unchanged(last_modified=long_ago))
    async with bench.run() as run:
        assert await run.get(REPO) == await run.get(REPO)
    assert run.states == ["miss", "revalidated"]
    assert bench.sent[1].headers["if-modified-since"] == long_ago


async def test_a_clock_that_differs_from_the_servers_makes_nothing_fresh(tmp_path: Path) -> None:
    in_a_year = "Thu, 01 Jan 2099 00:00:00 GMT"
    bench = CacheBench(tmp_path, fine({"a": 1}, max_age="60", etag='"1"', date=in_a_year), unchanged(), ago=61)
    async with bench.run() as run:
        await run.get(REPO)
        await run.get(REPO)
    assert run.states == ["miss", "revalidated"]


async def test_after_a_304_a_reply_is_fresh_again(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, max_age="60", etag='"1"'), ago=61)
    async with bench.run() as run:
        await run.get(REPO)
    bench.ago = 0
    bench.server.on("", unchanged(etag='"1"'))
    async with bench.run() as run:
        assert await run.get(REPO) == await run.get(REPO) == {"a": 1}
    assert run.states == ["revalidated", "hit"]


async def test_a_changed_reply_replaces_the_old_one_so_that_no_304_is_ambiguous(tmp_path: Path) -> None:
    replies = [fine({"n": n}, max_age="60", etag=f'W/"{n}"') for n in range(4)]
    bench = CacheBench(tmp_path, *replies, unchanged(etag='W/"3"'), ago=61)
    async with bench.run() as run:
        assert [await run.get(REPO) for _ in range(5)] == [{"n": n} for n in (0, 1, 2, 3, 3)]
    assert [request.headers.get("if-none-match") for request in bench.sent] == [
        None,
        *(f'W/"{n}"' for n in range(4)),
    ]
    assert run.states[-1] == "revalidated"


async def test_a_304_that_speaks_of_another_reply_is_asked_again_and_counted(tmp_path: Path) -> None:
    replies = (fine({"a": 1}, etag='"1"'), unchanged(etag='"2"'), fine({"a": 2}, etag='"2"'))
    bench = CacheBench(tmp_path, *replies, unchanged(etag='"2"'))
    async with bench.run() as run:
        assert [await run.get(HEAD) for _ in range(3)] == [{"a": 1}, {"a": 2}, {"a": 2}]
    assert run.states == ["miss", "miss", "revalidated"]
    assert run.client.requests == len(bench.sent) == 4


async def test_refresh_revalidates_what_is_fresh_but_not_what_cannot_change(tmp_path: Path) -> None:
    bench = CacheBench(
        tmp_path, fine({"a": 1}, max_age="60", etag='"1"'), fine({"b": 1}), unchanged(etag='"1"'), fine({"c": 1})
    )
    async with bench.run() as run:
        await run.get(REPO)
        await run.get(BLOB)
    async with bench.run(refresh=True) as run:
        assert (await run.get(REPO), await run.get(BLOB), await run.get(f"{REPO}/tags")) == (
            {"a": 1},
            {"b": 1},
            {"c": 1},
        )
    assert run.states == ["revalidated", "hit", "miss"]
    async with bench.run() as run:
        await run.get(REPO)
    assert run.states == ["hit"], "once"


# -- what is kept, and what not ------------------------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422, 451])
async def test_a_refusal_is_not_kept(tmp_path: Path, status: int) -> None:
    refusal = refused(status, "No.", cache_control="private, max-age=60", etag='"no"')
    bench = CacheBench(tmp_path, refusal, fine({"a": 1}))
    async with bench.run() as run:
        with pytest.raises(GitHubError):
            await run.get(BLOB)
        assert await run.get(BLOB) == {"a": 1}
    assert "if-none-match" not in bench.sent[1].headers


async def test_trouble_is_not_kept(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, refused(502, cache_control="max-age=60"), fine({"a": 1}))
    async with bench.run() as run:
        assert await run.get(BLOB) == {"a": 1}
    assert (run.states, run.attempts, run.client.requests) == (["miss"], [2], 2)


async def test_a_refusal_to_revalidate_is_told_and_the_old_reply_is_not_given(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, etag='"1"'), refused(404, "Not Found"), otherwise=refused(503))
    async with bench.run() as run:
        await run.get(HEAD)
        with pytest.raises(GitHubError):
            await run.get(HEAD)
        with pytest.raises(Trouble):
            await run.get(HEAD)


async def test_what_the_server_does_not_want_kept_is_not_kept(tmp_path: Path) -> None:
    secret = fine({"a": 1}, cache_control="private, no-store", etag='"1"')
    bench = CacheBench(tmp_path, secret, secret)
    async with bench.run() as run:
        await run.get(BLOB)
        await run.get(BLOB)
    assert run.states == ["miss", "miss"]


BROKEN = {
    "no JSON": httpx.Response(200, content=b'{"content": "abc'),
    "another shape": fine(["not", "what", "was", "asked"]),
    "no gzip": httpx.Response(200, headers={"content-encoding": "gzip"}, stream=httpx.ByteStream(b"\x1f\x8b garbage")),
    "half a gzip": httpx.Response(
        200,
        headers={"content-encoding": "gzip"},
        stream=httpx.ByteStream(gzip.compress(b'{"content": "whole"}')[:-9]),
    ),
    "cut short": httpx.Response(200, headers={"content-length": "99"}, stream=httpx.ByteStream(b'{"content": "a"}')),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_reply_that_cannot_be_made_out_is_not_kept(tmp_path: Path, broken: httpx.Response) -> None:
    broken.headers["cache-control"] = "private, max-age=60"
    bench = CacheBench(tmp_path, broken, fine({"content": "whole"}))

    def read(_: Any, data: Any) -> str:
        return str(data["content"])

    async with bench.run() as first:
        assert await first.get(BLOB, read=read) == "whole"
    async with bench.run() as second:
        assert await second.get(BLOB, read=read) == "whole"
    assert (first.states, first.attempts, second.states) == (["miss"], [2], ["hit"])


async def test_a_broken_connection_keeps_nothing(tmp_path: Path) -> None:
    async def breaking() -> Any:
        yield b'{"a": '
        raise httpx.ReadError("gone")

    bench = CacheBench(tmp_path, lambda _: httpx.Response(200, content=breaking()), fine({"a": 1}))
    async with bench.run() as run:
        assert await run.get(BLOB) == {"a": 1}
    assert (run.states, run.attempts) == (["miss"], [2])


async def test_a_cancelled_request_keeps_nothing(tmp_path: Path) -> None:
    arrived = asyncio.Event()

    async def endless() -> Any:
        yield b'{"a": 1}'
        arrived.set()
        await asyncio.Event().wait()

    bench = CacheBench(tmp_path, lambda _: httpx.Response(200, content=endless()), fine({"a": 2}))
    async with bench.run() as run:
        task = asyncio.create_task(run.get(BLOB))
        await arrived.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await run.get(BLOB) == {"a": 2}


async def test_a_kept_reply_that_can_be_made_out_no_more_is_asked_for_again(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"old": 1}), fine({"new": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        # A later version of the program may want more of a reply than the one that has kept it.
        assert await run.get(BLOB, read=lambda _, data: data["new"]) == 1
        assert await run.get(BLOB) == {"new": 1}
    assert run.states == ["miss", "miss", "hit"]
    assert run.heard.of(AttemptFailed) == []


async def test_a_large_reply_is_given_whole_and_not_kept(tmp_path: Path) -> None:
    large = {"content": "x" * 300_000}
    bench = CacheBench(tmp_path, fine(large), fine(large))
    async with bench.run(limit=1_000_000) as run:
        assert await run.get(BLOB) == await run.get(BLOB) == large
    assert run.states == ["miss", "miss"]


async def test_a_redirect_is_kept_as_long_as_the_server_says(tmp_path: Path) -> None:
    moved = httpx.Response(
        301, headers={"location": "/repositories/7/git/blobs/" + SHA, "cache-control": "public, max-age=60"}, json={}
    )
    bench = CacheBench(tmp_path, moved, fine({"a": 1}))
    async with bench.run() as first, bench.run() as second:
        assert await first.get(BLOB) == await second.get(BLOB) == {"a": 1}
        assert first.client.has_moved("octo", "demo") and second.client.has_moved("octo", "demo")
    assert (first.states, second.states, second.client.requests) == (["miss"], ["hit"], 0)
    bench.ago = 61
    bench.server.on("", httpx.Response(301, headers=moved.headers, json={}))


async def test_a_redirect_from_the_network_to_a_kept_reply_costs_one_request(tmp_path: Path) -> None:
    moved = httpx.Response(301, headers={"location": "/repositories/7/git/blobs/" + SHA}, json={})
    bench = CacheBench(tmp_path, moved, fine({"a": 1}), moved)
    async with bench.run() as first, bench.run() as second:
        assert await first.get(BLOB) == await second.get(BLOB) == {"a": 1}
    assert (second.states, second.attempts, second.client.requests) == (["miss"], [1], 1)


async def test_what_is_no_question_passes_by(tmp_path: Path) -> None:
    async def echo(request: httpx.Request) -> httpx.Response:
        return fine({"asked": (await request.aread()).decode()}, max_age="60")

    bench = CacheBench(tmp_path, otherwise=echo)
    async with bench.run(token=TOKEN) as run:
        for text in ("one", "two"):
            reply = await run.client._http.post("https://api.github.com/graphql", content=text)
            assert reply.json() == {"asked": text}
    assert len(bench.sent) == 2


# -- for whom ------------------------------------------------------------------------------------------


async def test_the_token_reaches_the_server_and_no_file(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        vary = "Accept, Authorization, Cookie, X-GitHub-OTP"
        if "if-none-match" in request.headers:
            return unchanged(etag='"1"', vary=vary)
        return fine({"a": 1}, etag='"1"', vary=vary, max_age="60", x_oauth_scopes="repo")

    bench = CacheBench(tmp_path, otherwise=answer)
    async with bench.run(token=TOKEN) as run:
        for path in (BLOB, HEAD, HEAD, REPO):
            await run.get(path)
        # While the file is open, with its log beside it.
        names = [path.name for path in bench.files]
        assert [name for name in names if name.endswith("-wal")]
        for part in (TOKEN.encode(), TOKEN[4:].encode(), TOKEN.encode("utf-16-le")):
            assert not any(part in path.read_bytes() for path in bench.files)
        assert any(b'"etag"' in path.read_bytes() for path in bench.files)
    assert not any(TOKEN.encode() in path.read_bytes() for path in bench.files)
    assert {request.headers["authorization"] for request in bench.sent} == {f"Bearer {TOKEN}"}
    assert run.states == ["miss", "miss", "revalidated", "miss"]


async def test_what_the_client_says_to_the_cache_stays_on_this_machine(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine(etag='"1"'), unchanged())
    async with bench.run(refresh=True) as run:
        await run.get(REPO)
        await run.get(REPO)
    assert not any("cache-control" in request.headers for request in bench.sent)
    assert bench.sent[0].headers["user-agent"] == "repo-agent-tui"


async def test_one_tokens_replies_are_not_given_to_another_or_to_none(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, *(fine({"for": n}) for n in range(3)))
    for n, token in enumerate((TOKEN, TOKEN[:-1] + "6", None)):
        async with bench.run(token=token) as run:
            assert await run.get(BLOB) == {"for": n}
        async with bench.run(token=token) as run:
            assert await run.get(BLOB) == {"for": n}
        assert run.states == ["hit"]


async def test_two_forms_of_one_address_are_kept_apart(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, httpx.Response(200, text=SHA), fine({"sha": SHA}))
    async with bench.run() as run:
        for _ in range(2):
            assert await run.get(f"{REPO}/commits/{SHA}", accept=SHA_TEXT, read=lambda r, _: r.body) == SHA.encode()
            assert await run.get(f"{REPO}/commits/{SHA}") == {"sha": SHA}
    assert run.states == ["miss", "miss", "hit", "hit"]


async def test_a_reply_in_a_form_that_is_no_longer_asked_for_is_revalidated(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}, vary="User-Agent", etag='"1"'), unchanged(etag='"1"'))
    async with bench.run() as run:
        await run.get(BLOB)
    with sqlite3.connect(bench.files[0]) as file:
        (head,) = file.execute("SELECT head FROM replies").fetchone()
    assert b'"user-agent"' in head and b'"accept' not in head, "what Vary names, and no more"


# -- faults on a warm cache ----------------------------------------------------------------------------


async def test_injected_faults_show_though_everything_is_kept(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.script.add("get_repo_info:503x2")
        assert await run.get(BLOB) == {"a": 1}
        assert len(run.heard.of(AttemptFailed)) == 2
        assert await run.get(BLOB) == {"a": 1}
    assert run.states == ["miss", "hit", "hit"]
    assert run.attempts == [1, 2, 0]
    assert run.client.requests == 3, "the injected ones count as sent"
    assert len(bench.sent) == 1


async def test_a_fault_for_another_name_hides_nothing(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.script.add("read_file:503")
        assert await run.get(BLOB) == {"a": 1}
    assert run.states == ["miss", "hit"]


async def test_a_fault_that_lasts_opens_the_breaker_though_everything_is_kept(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.script.add("get_repo_info:drop")
        for _ in range(2):
            with pytest.raises(Trouble):
                await run.get(BLOB)
        with pytest.raises(Unavailable):
            await run.get(BLOB)
    assert [event.state for event in run.heard.of(BreakerChanged)] == ["open"]


async def test_an_injected_cut_does_not_spoil_what_is_kept(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        run.script.add("get_repo_info:cutx1")
        assert await run.get(BLOB) == {"a": 1}
        assert await run.get(BLOB) == {"a": 1}
    assert len(bench.sent) == 1


# -- its end -------------------------------------------------------------------------------------------


async def test_a_closed_cache_lets_requests_pass(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}), fine({"a": 2}))
    async with bench.run() as run:
        await run.get(BLOB)
        transport = run.client._http._transport._inner  # type: ignore[attr-defined]
        assert isinstance(transport, CacheTransport)
        await transport.aclose()
        await transport.aclose()
        assert await run.get(BLOB) == {"a": 2}
    assert run.notices == []


async def test_many_at_once_are_each_answered_rightly(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, otherwise=lambda request: fine({"path": request.url.path}))
    paths = [f"{REPO}/git/blobs/{n:040x}" for n in range(100)]
    async with bench.run() as run:
        for _ in range(2):
            answers = await asyncio.gather(*(run.get(path) for path in paths))
            assert [answer["path"] for answer in answers] == paths
    assert run.states == ["miss"] * 100 + ["hit"] * 100


def _call(run: Any) -> Any:
    from tui_agent.resilience.call import Call

    return Call("get_repo_info", run.heard)

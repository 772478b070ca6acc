"""The cache as GitHub's client sees it: what a kept reply costs, and how long it holds."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from tests.cache_bench import BLOB, HEAD, REPO, SHA, YEAR, CacheBench, fine, unchanged
from tests.fakes import quota_headers, refused
from tui_agent.events import AttemptFailed, BreakerChanged, Quota, RateLimitWait
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import LimitTooFar, Unavailable
from tui_agent.transports.cache import is_immutable

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
        spent = Quota(resource="core", limit=60, remaining=0, used=60, reset=2**33)
        run.layers.gate.observe(Call("get_repo_info", run.heard), spent)
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
    f"contents/repos/octo/demo/git/blobs/{SHA}",
    f"commits/repos/octo/demo/commits/{SHA}",
    f"commits/repositories/17/commits/{SHA}",
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

"""What the cache keeps and what not, for whom, and what faults make of it."""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cache_bench import BLOB, HEAD, REPO, SHA, CacheBench, fine, unchanged
from tests.fakes import refused
from tui_agent.events import AttemptFailed, BreakerChanged
from tui_agent.github.client import SHA as SHA_TEXT
from tui_agent.github.errors import GitHubError
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.transports.cache import CacheTransport

TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


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


async def test_a_redirect_that_is_old_is_asked_again_and_may_lead_elsewhere(tmp_path: Path) -> None:
    places = [
        httpx.Response(301, headers={"location": f"/repositories/{n}", "cache-control": "public, max-age=60"}, json={})
        for n in (7, 8)
    ]
    bench = CacheBench(tmp_path, places[0], fine({"n": 7}), places[1], fine({"n": 8}), ago=61)
    for n in (7, 8):
        async with bench.run() as run:
            assert await run.get(REPO) == {"n": n}


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
    with closing(sqlite3.connect(bench.files[0])) as file:
        (head,) = file.execute("SELECT head FROM replies").fetchone()
    assert b'"user-agent"' in head and b'"accept' not in head, "what Vary names, and no more"


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=30)
VALUES = (
    "max-age=60 ; max-age= ; max-age=-1 ; max-age=99999999999999999999 ; no-cache ; no-store ; private ; public ; * ; "
    '0 ; must-revalidate ; no-cache="set-cookie ; Accept ; , , ; W/"1" ; "1" ; 1e9 ; -5 ; '
    "Mon, 01 Jan 2001 00:00:00 GMT ; Mon, 99 Foo 99999 99:99:99"
)
WORDS = st.sampled_from(VALUES.split(" ; "))
NAMES = st.sampled_from("cache-control date age expires etag last-modified vary pragma warning link x-odd".split())
HEADERS = st.lists(st.tuples(NAMES, TEXT | WORDS), max_size=8)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=HEADERS, then=HEADERS, status=st.sampled_from([200, 304]), path=st.sampled_from([REPO, BLOB, HEAD]))
async def test_no_header_of_a_server_breaks_a_request(
    tmp_path: Path, first: Any, then: Any, status: int, path: str
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        headers = [
            (name.encode(), value.strip().encode("latin-1")) for name, value in (first, then)[len(bench.sent) > 1]
        ]
        asked = "if-none-match" in request.headers or "if-modified-since" in request.headers
        return httpx.Response(
            status if asked else 200, headers=headers, json=None if asked and status == 304 else {"a": 1}
        )

    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        bench = CacheBench(Path(folder) / "cache", otherwise=answer)
        async with bench.run() as run:
            for _ in range(3):
                assert await run.get(path) == {"a": 1}
        assert run.notices == [] and run.heard.of(AttemptFailed) == []


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

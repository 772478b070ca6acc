"""GitHub's rate limits: how they are told, told apart, and waited for."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.fakes import quota_headers, settle
from tests.github_bench import NOW, TOKEN, Bench
from tui_agent.events import Quota, RateLimitWait
from tui_agent.github.errors import GitHubError
from tui_agent.github.limits import quota, refusal, retry_after
from tui_agent.resilience.outcome import LimitTooFar


@pytest.mark.parametrize(
    ("value", "until"),
    [
        (None, None),
        ("0", 0.0),
        ("30", 30.0),
        (" 30 ", 30.0),
        ("1.5", 1.5),
        ("-5", 0.0),
        ("99999999999999999999", 366 * 86400.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tuesday, 14-Nov-23 22:14:20 GMT", 60.0),
        ("Tue Nov 14 22:14:20 2023", 60.0),
        ("Tue, 14 Nov 2023 22:14:20 -0000", 60.0),
        ("Tue, 14 Nov 2023 22:14:20", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 366 * 86400.0),
        ("", None),
        ("soon", None),
        ("--5", None),
        ("5 minutes", None),
        ("1e9", None),
        ("٣", None),
        ("inf", None),
        ("nan", None),
        ("Tue, 99 Foo 2023 25:61:61 GMT", None),
        ("9" * 5000, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_never_below_nothing_and_nonsense_is_ignored(
    value: str | None, until: float | None
) -> None:
    asked = retry_after(value, NOW)
    assert asked == (None if until is None else NOW + until)


@pytest.mark.parametrize(
    "change",
    [
        {"x-ratelimit-limit": ""},
        {"x-ratelimit-remaining": "many"},
        {"x-ratelimit-reset": "9" * 400},
        {"x-ratelimit-reset": "1e9"},
        {"x-ratelimit-reset": "999999999999"},
    ],
)
def test_a_quota_that_makes_no_sense_is_none(change: dict[str, str]) -> None:
    assert quota({**quota_headers(5, NOW), **change}) is None


def test_a_quota_is_read_from_the_headers() -> None:
    assert quota(quota_headers(57, NOW)) == Quota(resource="core", limit=60, remaining=57, used=3, reset=int(NOW))
    without = quota_headers(57, NOW)
    del without["x-ratelimit-used"], without["x-ratelimit-resource"]
    assert quota(without) == Quota(resource="core", limit=60, remaining=57, used=3, reset=int(NOW))
    assert quota({**quota_headers(57, NOW), "x-ratelimit-resource": "\x1b[31m" + TOKEN}) == quota(without)


PRIMARY = quota_headers(0, NOW + 600)
LEFT = quota_headers(57, NOW + 600)
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
PAGE = "https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
OLD_PAGE = "https://docs.github.com/rest/overview/resources-in-the-rest-api#secondary-rate-limits"


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(
    ("headers", "message", "page", "kind", "until"),
    [
        (PRIMARY, "API rate limit exceeded for 1.2.3.4.", "", "primary", 601.0),
        (PRIMARY, "", "", "primary", 601.0),
        ({**PRIMARY, "retry-after": "900"}, "", "", "primary", 900.0),
        ({**PRIMARY, "retry-after": "60"}, "", "", "primary", 601.0),
        ({"x-ratelimit-remaining": "0"}, "API rate limit exceeded", "", "primary", None),
        ({}, "API rate limit exceeded for user ID 1.", "", "primary", None),
        ({**LEFT, "retry-after": "30"}, "", "", "secondary", 30.0),
        ({"retry-after": "30"}, "", "", "secondary", 30.0),
        ({**LEFT, "retry-after": "Tue, 14 Nov 2023 22:14:20 GMT"}, "", "", "secondary", 60.0),
        (LEFT, SECONDARY, "", "secondary", None),
        ({**LEFT, "retry-after": "7"}, SECONDARY, PAGE, "secondary", 7.0),
        ({**LEFT, "retry-after": "soon"}, SECONDARY, "", "secondary", None),
        (LEFT, "", PAGE, "secondary", None),
        (LEFT, "", PAGE + "/", "secondary", None),
        (LEFT, "", OLD_PAGE, "secondary", None),
        (PRIMARY, SECONDARY, "", "secondary", None),
        (LEFT, "You have triggered an abuse detection mechanism.", "", "secondary", None),
    ],
)  # fmt: skip
def test_limits_are_told_apart_by_headers_and_words(
    status: int, headers: dict[str, str], message: str, page: str, kind: str, until: float | None
) -> None:
    limit = refusal(status, httpx.Headers(headers), message, page, NOW)
    assert limit is not None
    assert limit.kind == kind
    assert limit.until == (None if until is None else NOW + until)


@pytest.mark.parametrize(
    ("status", "headers", "message", "is_limit"),
    [
        (403, LEFT, "Resource not accessible by integration", False),
        (403, {}, "Resource protected by organization SAML enforcement.", False),
        (403, {**LEFT, "retry-after": "soon"}, "Must have admin rights", False),
        (429, LEFT, "Too many", True),
        (429, {}, "", True),
        (404, PRIMARY, "", False),
        (401, {"retry-after": "5"}, "", False),
        (503, {"retry-after": "5"}, "", False),
        (200, PRIMARY, "", False),
    ],
)
def test_any_other_403_is_a_permission_matter_and_any_429_a_limit(
    status: int, headers: dict[str, str], message: str, is_limit: bool
) -> None:
    assert (refusal(status, httpx.Headers(headers), message, "", NOW) is not None) is is_limit


@pytest.mark.parametrize("status", [403, 429])
async def test_a_primary_limit_waits_until_a_second_past_its_reset(status: int) -> None:
    bench = Bench(
        httpx.Response(status, headers=quota_headers(0, NOW + 40), json={"message": "API rate limit exceeded"})
    )
    call = bench.call()
    assert await bench.get(call=call) == {"x": 1}
    assert bench.clock.now == 41.0 and call.attempts == 2
    assert bench.heard.told() == ["quota", "rate_limit_wait"]
    (wait,) = bench.heard.of(RateLimitWait)
    assert (wait.kind, wait.seconds, wait.until, wait.call_id) == ("primary", 41.0, NOW + 41.0, "call_1")


@pytest.mark.parametrize("status", [403, 429])
@pytest.mark.parametrize(("asked", "seconds"), [("7", 7.0), (None, 60.0), ("nonsense", 60.0), ("-3", 0.0)])
async def test_a_secondary_limit_waits_as_long_as_it_asks_else_a_minute(
    status: int, asked: str | None, seconds: float
) -> None:
    headers = {} if asked is None else {"retry-after": asked}
    bench = Bench(httpx.Response(status, headers=headers, json={"message": SECONDARY}))
    assert await bench.get() == {"x": 1}
    assert bench.clock.now == seconds
    assert bench.failures() == [] and bench.layers.breakers["get_repo_info"].failures == 0


async def test_a_good_reply_that_leaves_nothing_closes_the_gate_for_every_tool() -> None:
    bench = Bench(httpx.Response(200, headers=quota_headers(0, NOW + 50), json={}))
    await bench.get()
    tasks = [asyncio.create_task(bench.get(call=bench.call(name))) for name in ("read_file", "get_commits", "snapshot")]
    await settle()
    assert len(bench.server.requests) == 1
    assert {wait.name for wait in bench.heard.of(RateLimitWait)} == {"read_file", "get_commits", "snapshot"}
    await asyncio.gather(*tasks)
    assert bench.clock.now == 51.0 and len(bench.server.requests) == 4


async def test_parallel_calls_send_nothing_after_the_first_refusal() -> None:
    limit = httpx.Response(403, headers=quota_headers(0, NOW + 30), json={"message": "API rate limit exceeded"})
    bench = Bench(*[limit] * 3)
    tasks = [asyncio.create_task(bench.get()) for _ in range(3)]
    await settle()
    later = [asyncio.create_task(bench.get()) for _ in range(5)]
    await settle()
    assert len(bench.server.requests) == 3
    await asyncio.gather(*tasks, *later)
    assert len(bench.server.requests) == 3 + 8 and bench.clock.now == 31.0


async def test_a_limit_too_far_away_falls_back_at_once_and_says_when_it_ends() -> None:
    bench = Bench(
        httpx.Response(403, headers=quota_headers(0, NOW + 1800), json={"message": "API rate limit exceeded"})
    )
    with pytest.raises(LimitTooFar, match=r"ends in 30 min \(at 22:43:21 UTC\)"):
        await bench.get()
    with pytest.raises(LimitTooFar):
        await bench.get()
    assert bench.clock.now == 0.0 and len(bench.server.requests) == 1 and bench.heard.of(RateLimitWait) == []


async def test_absurd_limits_never_break_anything() -> None:
    headers = {**quota_headers(0, 0), "x-ratelimit-reset": "9" * 30, "retry-after": "9" * 200}
    bench = Bench(httpx.Response(429, headers=headers, json={"message": "x"}))
    with pytest.raises(LimitTooFar):
        await bench.get()


async def test_the_quota_of_every_reply_is_told() -> None:
    bench = Bench(
        httpx.Response(200, headers=quota_headers(59, NOW + 100), json={}),
        httpx.Response(404, headers=quota_headers(58, NOW + 100), json={}),
        httpx.Response(503, headers=quota_headers(57, NOW + 100), json={}),
    )
    await bench.get()
    with pytest.raises(GitHubError):
        await bench.get()
    await bench.get()
    assert [event.remaining for event in bench.heard.of(Quota)] == [59, 58, 57]

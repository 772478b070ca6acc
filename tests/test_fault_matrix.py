"""Every fault of GitHub's side × every tool that sends requests and the snapshot, over real sockets on loopback.

Time is virtual: time-outs, backoff and limits have the lengths that they have in earnest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import pytest

from tests.fault_bench import CALLS, FINAL, TOOLS, Bench, TimedServer
from tests.servers import faults
from tests.servers.expect import observations
from tests.servers.faults import Step, refuse
from tests.servers.http import Answer
from tests.servers.inside import nothing_left_behind

RETRIES = 2
Outcome = Literal["trouble", "no", "fine"]


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong.

    Args:
        step: makes what happens to a request.
        outcome: what it is: trouble of the service (retried, counted, ends as a fallback), an answer that says no
            (told at once), or nothing that matters.
        says: what the model and the user are told, in part.
        status: of the failed attempt, where one came.
        sends: requests that one attempt comes to.
        retries: how many are allowed; fewer where each attempt moves megabytes.
    """

    step: Callable[[], Step]
    outcome: Outcome
    says: str = ""
    status: int | None = None
    sends: int = 1
    retries: int = RETRIES


def trouble(step: Callable[[], Step], says: str, status: int | None = None) -> Fault:
    return Fault(step, "trouble", says, status)


def no(status: int, says: str, **headers: str) -> Fault:
    return Fault(lambda: refuse(status, "the server's words", **headers), "no", says)


FORM = "form that GitHub documents"
TROUBLE = {
    "500": trouble(lambda: refuse(500, "Server Error"), "Server Error", 500),
    "502, a proxy's page": trouble(lambda: faults.html(502), "HTTP 502", 502),
    "503": trouble(lambda: refuse(503, "Unavailable", retry_after="1"), "Unavailable", 503),
    "504, a proxy's page": trouble(lambda: faults.html(504), "HTTP 504", 504),
    "a status of nobody's": trouble(lambda: Answer(599), "HTTP 599", 599),
    "304 that nobody asked for": trouble(lambda: Answer(304), "HTTP 304", 304),
    "dropped": trouble(faults.drop, "connection failed"),
    "reset": trouble(faults.reset, "connection failed"),
    "cut": trouble(faults.cut, "connection failed"),
    "cut after the headers": trouble(lambda: faults.cut(0), "connection failed"),
    "reset in the body": trouble(lambda: faults.cut(9, by_reset=True), "connection failed"),
    "silence": trouble(faults.hold, "no whole answer within 15 s"),
    "too slow": trouble(lambda: faults.slow(16), "no whole answer within 15 s"),
    "a trickle without end": trouble(faults.trickle, "no whole answer within 15 s"),
    "empty": trouble(lambda: Answer(200), FORM),
    "204": trouble(lambda: Answer(204), FORM),
    "HTML": trouble(faults.html_page, FORM),
    "JSON that ends too soon": trouble(faults.broken_json, FORM),
    "JSON of another shape": trouble(faults.wrong_json, FORM),
    "null": trouble(lambda: Answer(200, {}, b"null"), FORM),
    "JSON of other types": trouble(
        lambda: Answer(200, {}, b'{"tree": 1, "sha": [], "default_branch": {}, "content": 5, "size": "x"}'), FORM
    ),
    "JSON without a bottom": trouble(lambda: Answer(200, {}, b'{"tree":' + b"[" * 100_000), FORM),
    "bytes": trouble(lambda: Answer(200, {}, bytes(range(256))), FORM),
    "gzip that is none": trouble(faults.compressed_garbage, "its compression is broken"),
    "gzip that unpacks without end": Fault(faults.bomb, "trouble", "larger than 16 MB", retries=1),
    "another compression": trouble(lambda: Answer(200, {"content-encoding": "br"}, b"\x0b\x02\x80"), "not asked for"),
    "declared absurdly long": trouble(faults.declared_huge, "larger than 16 MB"),
    "a body without end": Fault(lambda: faults.huge(17 * 2**20), "trouble", "larger than 16 MB", retries=1),
}
NO = {
    "400": no(400, "did not understand"),
    "401": no(401, "GITHUB_TOKEN"),
    "403": no(403, "permission"),
    "403 with quota left": no(403, "permission", x_ratelimit_remaining="55"),
    "404": no(404, "private"),
    "405": no(405, "refused the request"),
    "406": no(406, "form"),
    "409": no(409, "commits"),
    "410": no(410, "gone"),
    "413": no(413, "too large"),
    "422": no(422, "SHA"),
    "451": Fault(
        lambda: Answer(
            451,
            {},
            b'{"message": "the server\'s words", "block": {"reason": "dmca", "html_url": "https://example.org/notice"}}',
        ),
        "no",
        "legal",
    ),
    "418": no(418, "refused the request"),
    "redirect to another host": Fault(lambda: faults.redirect("https://thief.example/x", 301), "no", "another host"),
    "redirect to another port": Fault(lambda: faults.redirect("http://127.0.0.1:9/x", 302), "no", "another host"),
    "redirect to another scheme": Fault(
        lambda: faults.elsewhere(lambda r: f"https://{r.headers['host']}/x", 307), "no", "another host"
    ),
    "redirect to nowhere": Fault(lambda: Answer(301), "no", "nowhere"),
    "redirect to nonsense": Fault(lambda: faults.redirect("http://[::1", 302), "no", "nowhere"),
    "redirect to itself": Fault(lambda: faults.elsewhere(lambda r: r.target, 308), "no", "circle"),
    "redirects without end": Fault(
        lambda: faults.elsewhere(lambda r: f"{r.target}{'&' if '?' in r.target else '?'}hop=1", 302),
        "no",
        "more than 5 times",
        sends=6,
    ),
}
FINE = {
    f"moved within the host, {status}": Fault(
        lambda status=status: faults.elsewhere(lambda r: f"/api/v3{r.target}", status),  # type: ignore[misc]
        "fine",
        sends=2,
    )
    for status in (301, 302, 303, 307, 308)
}


async def at_the_tools(bench: Bench, fault: Fault, *, always: bool) -> None:
    """All tools at once, each with the fault on its own route; each has a breaker of its own."""

    def prepare(github: TimedServer) -> None:
        for tool in TOOLS:
            step = fault.step()
            github.on(github.route_of(tool), *([] if always else [step]), always=step if always else None)

    heard, github, model = await bench.run([CALLS, FINAL], prepare, max_retries=fault.retries)
    assert heard.finished["outcome"] == "completed"
    assert heard.finished["report"].startswith("# Report")
    told = dict(zip(TOOLS, observations(model.bodies[1]), strict=True))
    failures = heard.of("attempt_failed")
    for tool in TOOLS:
        finished = heard.calls[tool]
        sent = len([r for r in github.asked(github.route_of(tool)) if "recursive" not in r.query])
        assert finished["result"] == told[tool]
        mine = [event for event in failures if event["call_id"] == finished["call_id"]]
        where = (tool, finished)
        if fault.outcome == "trouble":
            assert finished["outcome"] == ("fallback" if always else "ok"), where
            assert finished["attempts"] == sent == (fault.retries + 1 if always else 2), where
            assert [event["attempt"] for event in mine] == list(range(1, fault.retries + 2 if always else 2)), where
            assert {event["status"] for event in mine} == {fault.status}, where
            assert all(fault.says in event["reason"] for event in mine), where
            if always:
                assert told[tool]["fallback"] is True and fault.says in told[tool]["error"], where
        elif fault.outcome == "no":
            assert (finished["outcome"], finished["attempts"], sent) == ("error", 1, fault.sends), where
            assert told[tool]["ok"] is False and "fallback" not in told[tool], where
            if not (tool == "get_commits" and fault is NO["409"]):
                assert fault.says in told[tool]["error"], where
            assert mine == []
        else:
            assert (finished["outcome"], finished["attempts"], sent) == ("ok", 1, fault.sends), where
            assert mine == []
    assert len(heard.of("retry_scheduled")) == len(failures) - (len(TOOLS) if always else 0) * bool(failures)
    assert heard.of("breaker_changed") == [] and heard.of("rate_limit_wait") == []
    assert model.turns == 2


def expected_of_snapshot(name: str, fault: Fault, step: str, *, always: bool) -> tuple[str, int]:
    """How a run ends whose first (or second) request meets the fault, and after how many requests.

    A 404 or 422 of the commit is looked into: the repository tells its default branch, which is tried by name. A 409
    of the commit is a repository without commits; a 404 of a commit's tree is a tree without entries.
    """
    first = 1 if step == "commit" else 2
    if fault.outcome == "trouble":
        return ("failed", first + fault.retries) if always else ("completed", 3)
    if fault.outcome == "fine":
        return "completed", 4 if step == "commit" else 3
    if step == "commit" and name in ("404", "422"):
        return ("failed", 3) if always else ("completed", 4)
    if name == "409" or (name == "404" and step == "tree"):
        return "completed", 2
    return "failed", first + fault.sends - 1


async def at_the_snapshot(bench: Bench, name: str, step: str, *, always: bool) -> None:
    """The commit or the tree, with which every run begins."""
    fault = fault_of(name, always=always)

    def prepare(github: TimedServer) -> None:
        github.on(step, *([] if always else [fault.step()]), always=fault.step() if always else None)

    heard, github, model = await bench.run([FINAL], prepare, max_retries=fault.retries)
    finished = heard.finished
    assert (finished["outcome"], len(github.requests)) == expected_of_snapshot(name, fault, step, always=always)
    if finished["outcome"] == "failed":
        assert fault.says in finished["error"] and model.requests == []
        assert fault.outcome != "trouble" or "try again" in finished["error"].lower()
    failed = heard.of("attempt_failed")
    assert [(event["name"], event["call_id"], event["status"]) for event in failed] == [
        ("snapshot", None, fault.status)
    ] * (0 if fault.outcome != "trouble" else fault.retries + 1 if always else 1)
    assert heard.of("breaker_changed") == []


def fault_of(name: str, *, always: bool) -> Fault:
    fault = {**TROUBLE, **NO, **FINE}[name]
    if name == "redirects without end" and not always:
        return replace(fault, outcome="fine", sends=2)
    return fault


@pytest.mark.parametrize("name", [*TROUBLE, *NO, *FINE])
async def test_whatever_goes_wrong_is_met_by_every_tool_and_by_the_snapshot(name: str) -> None:
    async with nothing_left_behind():
        bench = Bench()
        for always in (False, True) if name not in FINE else (False,):
            await asyncio.gather(
                at_the_tools(bench, fault_of(name, always=always), always=always),
                *(at_the_snapshot(bench, name, step, always=always) for step in ("commit", "tree")),
            )

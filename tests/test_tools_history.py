"""`get_repo_info` and `get_commits`."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.fakes import refused
from tests.tool_bench import Bench


def commit(number: int, message: str = "Do it\n\nAnd more.", **more: Any) -> dict[str, Any]:
    name = {"name": "A. Author", "email": "a@example.org", "date": "2024-01-15T09:00:00Z"}
    return {"sha": f"{number:040x}", "commit": {"message": message, "author": name, "committer": name}, **more}


# -- get_repo_info ----------------------------------------------------------------------------------

ABOUT: dict[str, Any] = {
    "description": "A demo",
    "homepage": "https://demo.example",
    "language": "Python",
    "topics": ["a", "b"],
    "license": {"spdx_id": "MIT", "name": "MIT License"},
    "stargazers_count": 1200,
    "forks_count": 0,
    "open_issues_count": 3,
    "subscribers_count": 7,
    "created_at": "2020-01-01T00:00:00Z",
    "updated_at": "2024-01-01T00:00:00Z",
    "pushed_at": "2024-02-01T00:00:00Z",
    "size": 321,
    "archived": False,
    "fork": True,
    "parent": {"full_name": "up/stream"},
    "private": True,
    "html_url": "https://github.com/octo/demo",
}


async def test_every_fact_that_helps_an_analyst_is_told() -> None:
    bench = Bench({"x": ""}, **ABOUT)
    assert await bench.ask("get_repo_info") == {
        "ok": True,
        "full_name": "octo/demo",
        "description": "A demo",
        "homepage": "https://demo.example",
        "language": "Python",
        "topics": ["a", "b"],
        "default_branch": "main",
        "stars": 1200,
        "forks": 0,
        "open_issues": 3,
        "watchers": 7,
        "created_at": "2020-01-01",
        "pushed_at": "2024-02-01",
        "size_kb": 321,
        "fork": True,
        "private": True,
        "parent": "up/stream",
        "license": "MIT",
    }


async def test_what_is_null_or_empty_or_does_not_hold_is_left_out_and_no_licence_is_said_to_be_none() -> None:
    about: dict[str, Any] = {
        "description": None,
        "homepage": "",
        "language": None,
        "topics": [],
        "archived": False,
        "fork": False,
        "private": False,
    }
    assert await Bench({"x": ""}, **about).ask("get_repo_info") == {
        "ok": True,
        "full_name": "octo/demo",
        "default_branch": "main",
        "license": None,
    }


async def test_what_the_server_only_fills_in_is_no_fact() -> None:
    about = {**ABOUT, "archived": True, "placeholders": ["stargazers_count", "forks_count", "created_at", "archived"]}
    result = await Bench({"x": ""}, **about, local={"kind": "git", "bare": False, "detached": False}).ask(
        "get_repo_info"
    )
    assert not {"stars", "forks", "created_at", "archived"} & result.keys()
    assert result["local"] == {"kind": "git"} and result["size_kb"] == 321


@pytest.mark.parametrize(
    ("licence", "told"),
    [
        (None, None),
        ({"spdx_id": "NOASSERTION", "name": "Other"}, "NOASSERTION"),
        ({"spdx_id": None, "name": "My own"}, "My own"),
        ({}, None),
        ("MIT", None),
    ],
)
async def test_a_licence_is_told_by_its_identifier(licence: Any, told: str | None) -> None:
    assert (await Bench({"x": ""}, license=licence).ask("get_repo_info"))["license"] == told


@pytest.mark.parametrize(
    "odd",
    [
        {"stargazers_count": "many"},
        {"topics": "a"},
        {"parent": "x"},
        {"placeholders": 5},
        {"description": 5},
        {"archived": "no"},
        {"size": None},
    ],
)
async def test_a_fact_of_the_wrong_kind_is_no_fact(odd: dict[str, Any]) -> None:
    result = await Bench({"x": ""}, **{**ABOUT, **odd}).ask("get_repo_info")
    assert result["ok"] is True and result["language"] == "Python"
    assert not {"many", "a", "x", 5, "no"} & {value for value in result.values() if isinstance(value, str | int)}


async def test_a_description_has_an_end() -> None:
    assert len((await Bench({"x": ""}, description="x" * 100_000).ask("get_repo_info"))["description"]) == 1000


@pytest.mark.parametrize("reply", [[], {}, {"default_branch": None}, "text", None])
async def test_a_reply_of_another_shape_is_trouble(reply: Any) -> None:
    bench = Bench({"x": ""})
    await bench.open()
    bench.github.on("", httpx.Response(200, json=reply))
    assert (await bench.ask("get_repo_info"))["ok"] is True
    assert bench.last.attempts == 2


async def test_what_the_snapshot_has_learnt_is_not_asked_for_again() -> None:
    bench = Bench({"x": ""}, full_name="octo/renamed")
    bench.github.on("/commits/HEAD", httpx.Response(301, headers={"location": "/repositories/42/commits/HEAD"}))
    assert (await bench.ask("get_repo_info"))["full_name"] == "octo/renamed"
    assert bench.asked == 0 and bench.last.cache == "memory"


# -- get_commits ------------------------------------------------------------------------------------


async def test_commits_are_told_by_sha_first_line_author_and_date() -> None:
    bench = Bench({"x": ""})
    bench.github.commits = [commit(2), {**commit(1, "First"), "sha": "abcdef0" + "1" * 33}]
    assert await bench.ask("get_commits") == {
        "ok": True,
        "commits": [
            ["0000000", "2024-01-15", "A. Author", "Do it"],
            ["abcdef0", "2024-01-15", "A. Author", "First"],
        ],
        "total": 2,
    }
    url = bench.github.requests[0].url
    assert dict(url.params) == {"per_page": "30", "page": "1", "sha": bench.github.commit}


async def test_pages_lead_on_and_the_last_one_knows_how_many_there_are() -> None:
    bench = Bench({"x": ""})
    bench.github.commits = [commit(i) for i in range(25)]
    first = await bench.ask("get_commits", per_page="10")
    assert first["more"] == "There are older commits: call get_commits with page=2." and "total" not in first
    last = await bench.ask("get_commits", per_page=10, page=3)
    assert len(last["commits"]) == 5 and last["total"] == 25 and "more" not in last
    beyond = await bench.ask("get_commits", per_page=10, page=9)
    assert beyond["commits"] == [] and beyond["note"] == "There are no more commits." and "total" not in beyond


@pytest.mark.parametrize(("asked", "sent"), [(0, "1"), (1000, "100"), ("7", "7"), (-5, "1")])
async def test_per_page_stays_within_its_bounds(asked: Any, sent: str) -> None:
    bench = Bench({"x": ""})
    await bench.ask("get_commits", per_page=asked)
    assert bench.github.requests[0].url.params["per_page"] == sent


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"commit": {"message": "", "author": None, "committer": None}, "author": None}, ("", None, None)),
        ({"commit": {"message": None, "author": None}, "author": {"login": "octocat"}}, ("", "octocat", None)),
        ({"commit": {"message": "m", "author": {"name": ""}, "committer": {"date": "2024"}}}, ("m", None, "2024")),
        ({"commit": {"message": "\n\n  Title \r\nbody"}}, ("Title", None, None)),
        ({"commit": {"message": "x" * 5000, "author": {"name": "y" * 5000}}}, ("x" * 300, "y" * 300, None)),
    ],
)  # fmt: skip
async def test_authors_may_be_null_and_messages_empty(
    change: dict[str, Any], expected: tuple[str, str | None, str | None]
) -> None:
    bench = Bench({"x": ""})
    bench.github.commits = [commit(1) | change]
    ((_, date, author, message),) = (await bench.ask("get_commits"))["commits"]
    assert (message, author, date) == expected


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("src/app.py", "src/app.py"),
        ("/src/", "src"),
        ("./src//app.py", "src/app.py"),
        (" lead", " lead"),
        ("gone & +#?.py", "gone & +#?.py"),
        ("a/..", None),
    ],
)
async def test_commits_of_a_path_are_asked_for_by_exactly_that_path(path: str, sent: str | None) -> None:
    bench = Bench({"src/app.py": "", " lead": ""})
    bench.github.commits = [commit(1)]
    result = await bench.ask("get_commits", path=path)
    assert bench.github.requests[0].url.params.get("path") == sent and result.get("path") == sent


async def test_a_path_out_of_the_repository_is_refused() -> None:
    bench = Bench({"x": ""})
    assert "leads out of the repository" in await bench.error("get_commits", path="../x")
    assert bench.asked == 0


async def test_where_there_is_no_history_the_error_says_so() -> None:
    bench = Bench({"x": ""})
    bench.github.on("/commits/HEAD", refused(409, "This folder has no git history."))
    await bench.open()
    bench.github.on("/commits", refused(409, "This folder has no git history."))
    assert await bench.error("get_commits") == "There is no history (HTTP 409: This folder has no git history.)."
    assert "sha" not in bench.github.requests[0].url.params and bench.last.attempts == 1


@pytest.mark.parametrize(
    "reply",
    [{}, [5], [{"sha": "x"}], [{"commit": {}}], [{"sha": "x", "commit": {"message": 5}}], "x", None],
)
async def test_commits_of_another_shape_are_trouble(reply: Any) -> None:
    bench = Bench({"x": ""})
    await bench.open()
    bench.github.on("/commits", *[httpx.Response(200, json=reply)] * 4)
    answer = await bench.answer("get_commits")
    assert answer.outcome == "fallback" and bench.last.attempts == 4

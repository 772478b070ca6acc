"""What an analysis costs of GitHub's quota, counted on a server: the first, the second, and one after a new commit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.fakes import FakeRepository, VirtualClock
from tests.repos import make_repo
from tests.servers.expect import FINAL, WHO, read
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.inside import Heard, nothing_left_behind, run_inside
from tests.servers.model import ModelServer
from tests.servers.turns import call
from tui_agent import run_agent
from tui_agent.request import RunRequest
from tui_agent.resilience.clock import SystemClock
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.transports.cache_store import cache_folder

FILES = {f"src/part_{n}/module.py": f"# Part {n}\n" for n in range(10)} | {"README.md": "# Tool\n"}
READ = [read(path) for path in FILES][:10]
LISTINGS = [
    call("list_directory", WHO),
    call("list_directory", {**WHO, "path": "src"}),
    call("list_directory", {**WHO, "path": "src/part_3"}),
    call("find_files", {**WHO, "pattern": "**/*.py"}),
]
ANALYSIS = [call("get_repo_info", WHO), call("get_commits", WHO), *LISTINGS, *READ]


class AnHourAgo(SystemClock):
    """What is kept by this clock is an hour old."""

    def time(self) -> float:
        return super().time() - 3600


async def analyse(github: GitHubServer, *, old: bool = False, calls: Any = None, **how: Any) -> Heard:
    """One run, told what it did; `old`: an hour ago."""
    request = RunRequest(
        repo="team/tool", **{key: how.pop(key) for key in ("refresh", "no_cache", "ref") if key in how}
    )
    async with ModelServer(ANALYSIS if calls is None else calls, FINAL) as model:
        heard = await run_inside(github, model, request=request, clock=AnHourAgo() if old else None, **how)
    assert heard.finished["outcome"] == "completed"
    assert all(event["outcome"] == "ok" for event in heard.of("tool_finished")), heard.of("tool_finished")
    return heard


def left(heard: Heard) -> int:
    """What the run was last told is left of the quota."""
    return int(heard.of("quota")[-1]["remaining"])


class Since:
    """The requests that a server gets from now on."""

    def __init__(self, github: GitHubServer) -> None:
        self._github = github
        self._seen = len(github.exchanges)

    @property
    def asked(self) -> list[tuple[str, int | None]]:
        """Path below the repository, and status."""
        return sorted(
            (exchange.request.path.partition("/repos/team/tool")[2], exchange.status)
            for exchange in self._github.exchanges[self._seen :]
        )


@pytest.mark.parametrize("token", [None, "ghp_sesame0123456789"])
async def test_a_first_analysis_spends_fourteen_requests_and_listing_none(token: str | None) -> None:
    async with GitHubServer(FILES) as github:
        heard = await analyse(github, github_token=token)
        assert len(github.requests) == heard.finished["requests"] == 14
        assert left(heard) == (5000 if token else 60) - 14
    listings = [e for e in heard.of("tool_finished") if e["tool"] in ("list_directory", "find_files")]
    assert [(e["attempts"], e["cache"]) for e in listings] == [(0, "memory")] * 4
    others = [e for e in heard.of("tool_finished") if e not in listings]
    assert [(e["attempts"], e["cache"]) for e in others] == [(1, "miss")] * 12


async def test_a_second_analysis_with_a_token_spends_nothing() -> None:
    async with GitHubServer(FILES) as github:
        first = await analyse(github, old=True)
        since = Since(github)
        second = await analyse(github)
        assert since.asked == [("", 304), ("/commits/HEAD", 304)]
        assert left(second) == left(first)
    assert second.finished["requests"] == 2, "free, but sent"
    states = {e["tool"]: (e["cache"], e["attempts"]) for e in second.of("tool_finished")}
    assert states == {
        "get_repo_info": ("revalidated", 1),
        "get_commits": ("hit", 0),
        "read_file": ("hit", 0),
        "list_directory": ("memory", 0),
        "find_files": ("memory", 0),
    }


async def test_the_second_analysis_tells_the_model_the_same(tmp_path: Path) -> None:
    async with GitHubServer(FILES) as github:
        first, second = await analyse(github), await analyse(github)
    results = [
        sorted((e["call_id"], repr(e["result"])) for e in heard.of("tool_finished")) for heard in (first, second)
    ]
    assert results[0] == results[1]
    assert first.of("snapshot")[0]["commit"] == second.of("snapshot")[0]["commit"]


async def test_a_second_analysis_without_a_token_spends_only_what_must_be_revalidated() -> None:
    async with GitHubServer(FILES) as github:
        first = await analyse(github, old=True, github_token=None)
        since = Since(github)
        second = await analyse(github, github_token=None)
        assert since.asked == [("", 304), ("/commits/HEAD", 304)]
        # Without a token a 304 counts.
        assert left(second) == left(first) - 2
        since = Since(github)
        await analyse(github, github_token=None)
        assert since.asked == [("/commits/HEAD", 304)], "the rest is as fresh as the server says"


async def test_a_token_that_is_new_begins_with_nothing() -> None:
    async with GitHubServer(FILES) as github:
        await analyse(github, github_token="ghp_first0123456789")
        since = Since(github)
        await analyse(github, github_token="ghp_other0123456789")
        assert len(since.asked) == 14


async def test_a_new_commit_costs_only_the_changed_blobs_and_the_tree() -> None:
    changed = {**FILES, "src/part_1/module.py": "# Changed\n", "src/part_2/module.py": "# Changed, too\n"}
    async with GitHubServer(FILES) as github:
        first = await analyse(github, old=True)
        github.transport = FilesTransport(changed, commits=[Commit("Change two"), Commit()])
        head = github.transport.head
        since = Since(github)
        second = await analyse(github)
        told = sorted(
            [
                ("", 304),
                ("/commits/HEAD", 200),
                (f"/git/trees/{head}", 200),
                ("/commits", 200),
                *((f"/git/blobs/{github.transport.blob(path)}", 200) for path in list(changed)[1:3]),
            ]
        )
        assert since.asked == told
        assert left(second) == left(first) - 5
        since = Since(github)
        third = await analyse(github)
        assert since.asked == [("/commits/HEAD", 304)]
        assert left(third) == left(second)
    assert second.of("snapshot")[0]["commit"] == head != first.of("snapshot")[0]["commit"]
    contents = [e["result"]["content"] for e in second.of("tool_finished") if e["tool"] == "read_file"]
    assert sorted(contents)[:2] == ["# Changed\n", "# Changed, too\n"]


async def test_what_was_pushed_a_moment_ago_is_seen() -> None:
    async with GitHubServer(FILES) as github:
        await analyse(github)
        github.transport = FilesTransport(FILES, commits=[Commit("A moment ago"), Commit()])
        second = await analyse(github)
        assert second.of("snapshot")[0]["commit"] == github.transport.head


async def test_a_commit_named_in_full_is_analysed_again_without_any_request() -> None:
    async with GitHubServer(FILES) as github:
        commit = github.transport.head  # type: ignore[attr-defined]
        await analyse(github, calls=ANALYSIS[1:], ref=commit)
        since = Since(github)
        again = await analyse(github, calls=ANALYSIS[1:], ref=commit)
        assert since.asked == []
        assert (again.finished["requests"], again.of("quota")) == (0, [])
    async with ModelServer(ANALYSIS[1:], FINAL) as model:
        offline = await run_inside(github.url, model, request=RunRequest(repo="team/tool", ref=commit))
    assert offline.finished["outcome"] == "completed", "GitHub need not even be there"


async def test_a_renamed_repository_costs_its_redirect_and_no_more() -> None:
    async with GitHubServer(FILES) as github:
        github.move("team/tool", "team/renamed")
        await analyse(github, old=True)
        seen = len(github.exchanges)
        await analyse(github)
        statuses = sorted(str(exchange.status) for exchange in github.exchanges[seen:])
        assert statuses == ["301", "304", "304"]


# -- trees that were cut -------------------------------------------------------------------------------


def folders_asked(github: GitHubServer, names: Mapping[str, str]) -> list[str]:
    """The folders whose trees were asked for one by one, in order."""
    shas = [request.path.rpartition("/")[2] for request in github.asked("tree") if not request.query]
    return [names.get(sha, "?") for sha in shas]


async def test_a_tree_that_was_cut_is_walked_folder_by_folder_only_where_asked() -> None:
    repository = FakeRepository(
        {f"{top}/{inner}/file.py": f"{top} {inner}\n" for top in "abc" for inner in "xyz"}, truncated=2
    )
    names = {repository.commit: ""} | {
        entry["sha"]: entry["path"] for entry in repository._walk(repository.root) if entry["type"] == "tree"
    }
    calls = [call("list_directory", WHO), call("list_directory", {**WHO, "path": "b/y"}), read("b/y/file.py")]
    async with GitHubServer(repository) as github:
        first = await analyse(github, calls=calls)
        assert first.of("snapshot")[0]["truncated"] is True
        assert folders_asked(github, names) == ["", "b", "b/y"]
        since = Since(github)
        second = await analyse(github, calls=calls)
        assert [status for _, status in since.asked] == [304], "and kept like any other"
        await analyse(github, calls=[call("list_directory", {**WHO, "path": "c"})])
        assert folders_asked(github, names) == ["", "b", "b/y", "c"]
    listed = [e for e in second.of("tool_finished") if e["tool"] == "list_directory"]
    assert sorted((e["result"]["path"], e["cache"]) for e in listed) == [("", "hit"), ("b/y", "hit")]


# -- what stays off the disk ---------------------------------------------------------------------------


async def test_no_cache_neither_reads_nor_writes() -> None:
    async with GitHubServer(FILES) as github:
        await analyse(github, no_cache=True)
        assert not cache_folder().exists()
        await analyse(github)
        before = {path.name: path.read_bytes() for path in cache_folder().iterdir()}
        since = Since(github)
        await analyse(github, no_cache=True)
        assert len(since.asked) == 14
        assert {path.name: path.read_bytes() for path in cache_folder().iterdir()} == before


async def test_refresh_revalidates_all_that_may_have_changed() -> None:
    async with GitHubServer(FILES) as github:
        first = await analyse(github)
        since = Since(github)
        second = await analyse(github, refresh=True)
        assert since.asked == [("", 304), ("/commits/HEAD", 304)]
        assert left(second) == left(first)


async def test_local_repositories_the_demo_and_the_library_keep_nothing_on_the_disk(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", [("First", {"README.md": "# Tool\n"})])
    for session, repo in ((Session(Settings()), str(path)), (Session(Settings(), demo=True, clock=VirtualClock()), "")):
        await session.run(RunRequest(repo=repo), lambda _: None)
        await session.aclose()
    async with GitHubServer(FILES) as github, ModelServer(ANALYSIS, FINAL) as model, httpx.AsyncClient() as http:
        llm = openai.AsyncOpenAI(api_key="sk-0123456789", base_url=model.url)
        settings = Settings(github_api_url=github.url, base_url=model.url)
        assert await run_agent(llm, http, "What does https://github.com/team/tool do?", settings=settings)
        await llm.close()
    assert not cache_folder().parent.exists()


async def test_a_run_with_a_cache_leaves_nothing_open() -> None:
    async with GitHubServer(FILES) as github:
        await analyse(github)
        async with nothing_left_behind():
            await analyse(github)


async def test_runs_side_by_side_in_one_process_share_what_they_keep() -> None:
    async with GitHubServer(FILES) as github:
        await asyncio.gather(*(analyse(github) for _ in range(3)))
        since = Since(github)
        again = await analyse(github)
        assert since.asked == [("/commits/HEAD", 304)]
    assert [e for e in again.of("notice") if e["level"] != "info"] == []
    assert [path.suffix for path in cache_folder().iterdir()] == [".sqlite"], "the last one has closed it"

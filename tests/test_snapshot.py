"""The snapshot: which commit is meant, and what its tree tells."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest

from tests.fakes import API, Content, FakeRepository, Layers, Link, Recorder, Server, Submodule, VirtualClock, refused
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import take_snapshot
from tui_agent.github.tree import Entry, RepositorySnapshot
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Trouble

FILES: dict[str, Content] = {
    "README.md": "# Demo\n",
    "src/app.py": "print()\n" * 10,
    "src/core/deep.PY": "x = 1\n",
    "src/core/.hidden": "",
    "src/data.tar.gz": b"\0" * 1000,
    "Makefile": "all:\n",
    "link": Link("README.md"),
    "vendor": Submodule(),
}


class Bench:
    """A repository, and the snapshot's requests to it."""

    def __init__(self, files: dict[str, Content] | None = None, **about: Any) -> None:
        self.clock = VirtualClock()
        self.heard = Recorder()
        self.github = FakeRepository(FILES if files is None else files, **about)
        self.client = Layers(self.clock).client(self.github)

    def call(self) -> Call:
        return Call("snapshot", self.heard)

    async def take(
        self, ref: str | None = None, tail: str | None = None, owner: str = "octo", name: str = "demo"
    ) -> tuple[RepositorySnapshot, str]:
        return await take_snapshot(self.client, self.call(), owner, name, ref=ref, tail=tail)

    async def snapshot(self, **more: Any) -> RepositorySnapshot:
        return (await self.take(**more))[0]


# -- which commit -----------------------------------------------------------------------------------


async def test_two_requests_make_a_snapshot() -> None:
    bench = Bench()
    snapshot = await bench.snapshot()
    assert bench.github.targets == [
        "/repos/octo/demo/commits/HEAD",
        f"/repos/octo/demo/git/trees/{bench.github.commit}?recursive=1",
    ]
    assert bench.github.requests[0].headers["accept"] == "application/vnd.github.sha"
    assert (snapshot.ref, snapshot.commit, snapshot.full_name) == ("HEAD", bench.github.commit, "octo/demo")
    assert snapshot.files == 7 and not snapshot.truncated


@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("main", "main"),
        ("feature/x", "feature/x"),
        ("v1.0-ünï", "v1.0-%C3%BCn%C3%AF"),
        ("feature/#1-%20ünï", "feature/%231-%2520%C3%BCn%C3%AF"),
    ],
)
async def test_a_ref_is_resolved_once_and_may_hold_slashes(ref: str, path: str) -> None:
    bench = Bench()
    bench.github.refs["heads"].append(ref)
    snapshot = await bench.snapshot(ref=ref)
    assert snapshot.ref == ref
    assert bench.github.targets[0] == f"/repos/octo/demo/commits/{path}"


@pytest.mark.parametrize("ref", ["nope", "deadbeef"])
async def test_an_unknown_ref_is_said_to_be_one_with_the_servers_words(ref: str) -> None:
    with pytest.raises(GitHubError) as caught:
        await Bench().snapshot(ref=ref)
    assert caught.value.sentence == (
        f"there is no branch, tag or commit “{ref}” (HTTP 422: No commit found for SHA: {ref})."
    )


@pytest.mark.parametrize("ref", ["..", "a/../../../user", "a//b", "/", ".", "a/./b"])
async def test_a_ref_that_would_leave_its_place_is_refused_without_a_request(ref: str) -> None:
    bench = Bench()
    with pytest.raises(GitHubError, match="cannot be the name"):
        await bench.snapshot(ref=ref)
    assert bench.github.requests == []


async def test_a_missing_repository_is_told_from_a_missing_ref() -> None:
    bench = Bench()
    bench.github.always("/nobody/", refused(404, "Not Found"))
    for ref in (None, "main"):
        with pytest.raises(GitHubError, match="does not exist, or it is private"):
            await bench.snapshot(owner="nobody", ref=ref)


async def test_where_head_is_unknown_the_default_branch_is_asked_for() -> None:
    bench = Bench(default_branch="trunk")
    bench.github.refs["heads"] = ["trunk"]
    bench.github.on("/commits/HEAD", refused(422, "No commit found for SHA: HEAD"))
    snapshot = await bench.snapshot()
    assert snapshot.ref == "trunk" and snapshot.about is not None


async def test_a_repository_without_commits_is_an_empty_snapshot() -> None:
    bench = Bench({})
    bench.github.commit = ""
    snapshot = await bench.snapshot()
    assert (snapshot.commit, snapshot.files, snapshot.ref) == (None, 0, "HEAD")
    assert await snapshot.children(bench.call(), "") == []


@pytest.mark.parametrize("where", [{"ref": "main"}, {"tail": "main"}])
async def test_a_ref_of_a_repository_without_commits_is_an_error(where: dict[str, str]) -> None:
    bench = Bench({})
    bench.github.commit = ""
    with pytest.raises(GitHubError, match="Git Repository is empty"):
        await bench.snapshot(**where)


async def test_a_folder_without_history_has_a_tree_all_the_same() -> None:
    bench = Bench()
    bench.github.on("/commits/HEAD", refused(409, "This folder has no git history."))
    snapshot = await bench.snapshot()
    assert snapshot.commit is None and snapshot.files == 7
    assert bench.github.targets[-1] == "/repos/octo/demo/git/trees/HEAD?recursive=1"


async def test_a_commit_whose_tree_is_empty_is_an_empty_snapshot() -> None:
    bench = Bench()
    bench.github.on("/git/trees/", refused(404, "Not Found"))
    snapshot = await bench.snapshot()
    assert snapshot.commit == bench.github.commit and snapshot.files == 0


@pytest.mark.parametrize("sha", ["", "c0ffee", "C" * 40, "z" * 40, '{"sha": "x"}', "<html>"])
async def test_what_is_no_sha_is_no_commit(sha: str) -> None:
    bench = Bench()
    bench.github.always("/commits/HEAD", httpx.Response(200, text=sha))
    with pytest.raises(Trouble, match="form that GitHub documents"):
        await bench.snapshot()


@pytest.mark.parametrize(
    ("tail", "ref", "path"),
    [
        ("main", "main", ""),
        ("main/src/app.py", "main", "src/app.py"),
        ("feature/x", "feature/x", ""),
        ("feature/x/src", "feature/x", "src"),
        ("feature/x/y/src", "feature/x/y", "src"),
        ("v1/docs/a b.md", "v1", "docs/a b.md"),
        ("main//src/", "main", "src"),
    ],
)
async def test_ref_and_path_of_an_address_are_told_apart_by_branches_and_tags(tail: str, ref: str, path: str) -> None:
    bench = Bench()
    bench.github.refs = {"heads": ["main", "feature/x", "feature/x/y", "feature/xy"], "tags": ["v1"]}
    snapshot, found = await bench.take(tail=tail)
    assert (snapshot.ref, found) == (ref, path)


@pytest.mark.parametrize("tail", ["../../user", "./x", ".."])
async def test_a_tail_that_would_leave_its_place_is_refused_without_a_request(tail: str) -> None:
    bench = Bench()
    with pytest.raises(GitHubError, match="cannot be the name"):
        await bench.take(tail=tail)
    assert bench.github.requests == []


async def test_an_empty_tail_is_none() -> None:
    snapshot, path = await Bench().take(tail="/")
    assert (snapshot.ref, path) == ("HEAD", "")


@pytest.mark.parametrize("tail", [None, "main/src"])
async def test_a_renamed_repository_is_followed_and_its_new_name_known(tail: str | None) -> None:
    bench = Bench(full_name="octo/renamed")

    def redirect(request: httpx.Request) -> httpx.Response:
        rest = request.url.raw_path.decode().removeprefix("/repos/octo/demo")
        return httpx.Response(301, headers={"location": f"{API}/repositories/42{rest}"})

    bench.github.always("^/repos/octo/demo", redirect)
    snapshot = await bench.snapshot(tail=tail)
    assert snapshot.full_name == "octo/renamed" and snapshot.about is not None
    assert sum(target.startswith("/repos/") for target in bench.github.targets) == 1


async def test_a_secret_in_the_new_name_is_taken_out() -> None:
    bench = Bench(full_name="octo/hunter22")
    bench.client = Layers(bench.clock).client(bench.github, secrets=["hunter22"])
    bench.github.on("", httpx.Response(301, headers={"location": "/repositories/42/commits/HEAD"}))
    assert (await bench.snapshot()).full_name == "octo/[secret]"


# -- what the tree tells ----------------------------------------------------------------------------


async def test_entries_have_their_kind_and_size() -> None:
    snapshot = await Bench().snapshot()
    found = {child.name: (child.kind, child.size) for child in await snapshot.children(Bench().call(), "")}
    assert found == {
        "README.md": ("file", 7),
        "src": ("dir", None),
        "Makefile": ("file", 5),
        "link": ("symlink", 9),
        "vendor": ("submodule", None),
    }


async def test_folders_are_counted_at_any_depth_without_a_request() -> None:
    bench = Bench()
    snapshot = await bench.snapshot()
    asked = len(bench.github.requests)
    assert snapshot.counts("") == (6, 7 + 80 + 6 + 0 + 1000 + 5)
    assert snapshot.counts("src") == (4, 1086)
    assert snapshot.counts("src/core") == (2, 6)
    assert snapshot.counts("nowhere") == (0, 0)
    assert len(bench.github.requests) == asked


async def test_a_summary_counts_by_extension_and_names_the_largest() -> None:
    snapshot = await Bench().snapshot()
    summary = snapshot.summary("")
    assert summary is not None
    assert (summary.files, summary.size) == (6, 1098)
    assert list(summary.by_extension.items()) == [(".gz", (1, 1000)), (".py", (2, 86)), (".md", (1, 7)), ("", (2, 5))]
    assert summary.largest == [
        ("src/data.tar.gz", 1000),
        ("src/app.py", 80),
        ("README.md", 7),
        ("src/core/deep.PY", 6),
        ("Makefile", 5),
    ]
    below = snapshot.summary("src/core")
    assert below is not None and (below.files, below.size) == (2, 6)


async def test_a_folder_that_shares_the_beginning_of_its_name_is_not_counted_in() -> None:
    snapshot = await Bench({"src/a": "1", "src2/b": "22", "src-x": "333"}).snapshot()
    summary = snapshot.summary("src")
    assert summary is not None and summary.size == 1 and snapshot.counts("src") == (1, 1)


@pytest.mark.parametrize(
    "item",
    [
        {"path": None},
        {"path": ""},
        {"path": 5},
        {"sha": "../../x"},
        {"sha": None},
        {"mode": ...},
    ],
)
async def test_a_tree_of_the_wrong_shape_is_trouble(item: dict[str, Any]) -> None:
    bench = Bench()
    entry = {"path": "a", "mode": "100644", "type": "blob", "sha": "a" * 40, "size": 1, **item}
    entry = {name: value for name, value in entry.items() if value is not ...}
    bench.github.always("/git/trees/", httpx.Response(200, json={"tree": [entry], "truncated": False}))
    with pytest.raises(Trouble, match="form that GitHub documents"):
        await bench.snapshot()


@pytest.mark.parametrize("size", [None, "12", -1, 1.5, [], ...])
async def test_a_size_that_is_none_is_not_known(size: Any) -> None:
    bench = Bench()
    entry = {"path": "a", "mode": "100644", "type": "blob", "sha": "a" * 40, "size": size}
    entry = {name: value for name, value in entry.items() if value is not ...}
    bench.github.always("/git/trees/", httpx.Response(200, json={"tree": [entry]}))
    snapshot = await bench.snapshot()
    assert snapshot.known("a") == Entry("a", "file", "a" * 40, None) and snapshot.counts("") == (1, 0)


# -- a tree that was cut ----------------------------------------------------------------------------


async def test_folders_of_a_tree_that_was_cut_are_asked_for_once_when_wanted() -> None:
    bench = Bench(truncated=2)
    snapshot = await bench.snapshot()
    assert snapshot.truncated and snapshot.files == 2
    asked = len(bench.github.requests)
    call = bench.call()
    names = [child.name for child in await snapshot.children(call, "src")]
    assert names == ["app.py", "core", "data.tar.gz"]
    assert len(bench.github.requests) - asked == 2
    assert "recursive" not in bench.github.targets[-1]
    await snapshot.children(call, "src")
    await snapshot.children(call, "")
    assert await snapshot.entry(call, "src/app.py") is not None
    assert len(bench.github.requests) - asked == 2 == call.attempts


async def test_calls_side_by_side_ask_for_a_folder_once() -> None:
    bench = Bench(truncated=0)
    snapshot = await bench.snapshot()
    asked = len(bench.github.requests)
    await asyncio.gather(*[snapshot.entry(bench.call(), f"src/core/{name}") for name in ("deep.PY", ".hidden", "no")])
    assert len(bench.github.requests) - asked == 3


async def test_a_path_deep_in_a_tree_that_was_cut_is_found_folder_by_folder() -> None:
    bench = Bench(truncated=0)
    snapshot = await bench.snapshot()
    entry = await snapshot.entry(bench.call(), "src/core/deep.PY")
    assert entry is not None and entry.kind == "file" and entry.size == 6
    for path in ("src/core/none", "none/at/all", "README.md/x", "/", "//", "vendor/x", "link/x", " ", "a//b"):
        assert await snapshot.entry(bench.call(), path) is None


async def test_nothing_is_counted_of_a_tree_that_was_cut() -> None:
    snapshot = await Bench(truncated=3).snapshot()
    assert snapshot.counts("") is None and snapshot.summary("") is None


async def test_a_folder_that_could_not_be_had_is_asked_for_again() -> None:
    bench = Bench(truncated=0)
    snapshot = await bench.snapshot()
    bench.github.on("/git/trees/", *[refused(502)] * 4)
    with pytest.raises(Trouble):
        await snapshot.children(bench.call(), "src")
    assert len(await snapshot.children(bench.call(), "src")) == 3


# -- size -------------------------------------------------------------------------------------------


def _large(files: int) -> list[Entry]:
    entries = []
    for folder in range(files // 100):
        top, path = f"top{folder % 50}", f"top{folder % 50}/folder{folder}"
        if folder < 50:
            entries.append(Entry(top, "dir", "a" * 40, None))
        entries.append(Entry(path, "dir", "a" * 40, None))
        entries += [Entry(f"{path}/file_{i}.py", "file", "a" * 40, i) for i in range(100)]
    return entries


def test_a_hundred_thousand_entries_are_counted_in_well_under_a_second() -> None:
    entries = _large(100_000)
    client = Layers(VirtualClock()).client(Server())
    began = time.process_time()
    snapshot = RepositorySnapshot(
        client, "o", "n", full_name="o/n", ref="HEAD", commit="a" * 40, entries=entries, truncated=False
    )
    assert snapshot.counts("") == (100_000, 1000 * 4950)
    summary = snapshot.summary("")
    took = time.process_time() - began
    assert summary is not None and summary.files == 100_000
    again = time.process_time()
    assert snapshot.summary("") is summary and snapshot.counts("top1") is not None
    assert time.process_time() - again < 0.01
    assert took < 2.0, "generous: it takes a fifth of that"

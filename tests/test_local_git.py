"""A local repository answers GitHub's routes: what is asked of git's own objects, compared with git's own answers."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.github_models import GitHub, check
from tests.repos import commit, git, make_repo, sha, write
from tui_agent.transports import local_replies, local_source
from tui_agent.transports.local_git import LocalTransport
from tui_agent.transports.local_git_history import History
from tui_agent.transports.local_git_objects import DiskObjects
from tui_agent.transports.local_source import Stop
from tui_agent.transports.local_text import decode_name, encode_name

SHA = {"Accept": "application/vnd.github.sha"}
MIT = """MIT License

Copyright (c) 2024 Ada Author

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""


class Asker:
    """Asks a transport, the way the client does."""

    def __init__(self, path: Path | LocalTransport, base: str = "https://github.example/api/v3") -> None:
        self.transport = path if isinstance(path, LocalTransport) else LocalTransport.open(path)
        self.base = base

    async def __call__(self, route: str = "", **headers: str) -> httpx.Response:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        async with httpx.AsyncClient(transport=self.transport) as client:
            return await client.get(f"{self.base}/repos/local/any{route}", headers=names)

    async def json(self, route: str = "") -> Any:
        reply = await self(route)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def error(self, route: str) -> tuple[int, str]:
        reply = await self(route)
        return reply.status_code, reply.json()["message"]

    async def commit_of(self, ref: str) -> str:
        reply = await self(f"/commits/{ref}", accept=SHA["Accept"])
        assert reply.status_code == 200, reply.text
        return reply.text


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three commits, an executable, a link, a folder; a tag of each kind; a branch with a slash."""
    path = make_repo(
        tmp_path_factory.mktemp("built") / "project",
        [
            ("Begin", {"README.md": "# Hi\n", "LICENSE": MIT, "src/app.py": "print(1)\n"}),
            (
                "Grow\n\nWith a body.",
                {"src/lib/deep.py": "x = 1\n" * 400, "link": Path("src/app.py"), "run": "#!/bin/sh\n"},
            ),
        ],
    )
    (path / "run").chmod(0o755)
    commit(path, "Make it run", date="2024-03-01 01:00:00 +0200")
    git(path, "tag", "light", "HEAD~1")
    git(path, "tag", "-a", "v1.0", "-m", "first")
    git(path, "branch", "feature/login")
    return path


@pytest.fixture
def project(built: Path, tmp_path: Path) -> Path:
    """A copy of `built` for one test."""
    return shutil.copytree(built, tmp_path / "project", symlinks=True)


def listed_by_git(path: Path, tree: str = "HEAD") -> list[tuple[str, str, str, str, int | None]]:
    entries = []
    for line in git(path, "ls-tree", "-r", "-t", "-l", "-z", tree).split(b"\0")[:-1]:
        about, name = line.split(b"\t", 1)
        mode, kind, oid, size = about.decode().split()
        entries.append((decode_name(name), mode, kind, oid, None if size == "-" else int(size)))
    return entries


def listed(tree: Any) -> list[tuple[str, str, str, str, int | None]]:
    return [(item["path"], item["mode"], item["type"], item["sha"], item.get("size")) for item in tree["tree"]]


# --- the repository as a whole


async def test_it_is_described_as_github_would(project: Path) -> None:
    about = await Asker(project).json()
    check("FullRepository", about)
    assert about["full_name"] == "local/project"
    assert about["default_branch"] == "main"
    assert about["license"]["spdx_id"] == "MIT"
    assert about["created_at"] == "2024-02-01T10:14:59Z"
    assert about["updated_at"] == about["pushed_at"] == "2024-02-29T23:00:00Z"
    assert about["local"] == {"kind": "git", "bare": False, "detached": False, "branch": "main"}


async def test_what_only_github_knows_is_named_as_a_placeholder(project: Path) -> None:
    about = await Asker(project).json()
    unknown = set(about["placeholders"])
    assert {"stargazers_count", "forks_count", "open_issues_count", "archived", "private", "html_url"} <= unknown
    assert not unknown & {"full_name", "default_branch", "created_at", "updated_at", "size", "license", "local"}
    assert all(about[name] in (0, False, "", []) for name in unknown)


async def test_its_description_is_the_one_that_git_keeps_for_it(project: Path) -> None:
    assert (await Asker(project).json())["description"] is None
    (project / ".git" / "description").write_text("A small thing.\n")
    assert (await Asker(project).json())["description"] == "A small thing."


async def test_no_reply_speaks_of_a_rate_limit(project: Path) -> None:
    ask = Asker(project)
    for route in ("", "/commits/HEAD", "/commits", "/git/trees/HEAD", "/nothing"):
        assert not [name for name in (await ask(route)).headers if name.startswith("x-ratelimit")]


# --- refs


@pytest.mark.parametrize(
    "ref",
    ["HEAD", "main", "heads/main", "refs/heads/main", "v1.0", "tags/v1.0", "refs/tags/v1.0", "feature/login",
     "feature%2Flogin", "heads/feature/login"],
)  # fmt: skip
async def test_a_ref_is_resolved_to_its_commit(project: Path, ref: str) -> None:
    assert await Asker(project).commit_of(ref) == sha(project, "HEAD")


async def test_a_commit_is_found_by_its_whole_sha_and_by_four_digits_of_it(project: Path) -> None:
    ask, first = Asker(project), sha(project, "light")
    for name in (first, first.upper(), first[:12], first[:4]):
        assert await ask.commit_of(name) == first


async def test_an_annotated_tags_own_sha_leads_to_its_commit(project: Path) -> None:
    assert await Asker(project).commit_of(sha(project, "v1.0")) == sha(project, "HEAD")


async def test_a_name_may_hold_what_urls_must_encode(project: Path) -> None:
    name = "feature/#1-%20ünï?x"
    git(project, "update-ref", f"refs/heads/{name.replace('?', '')}", sha(project, "light"))
    assert await Asker(project).commit_of(quote(name.replace("?", ""))) == sha(project, "light")


async def test_a_branch_goes_before_a_tag_of_the_same_name(project: Path) -> None:
    git(project, "tag", "both", "light")
    git(project, "branch", "both", "main")
    assert await Asker(project).commit_of("both") == sha(project, "main")


async def test_a_branch_that_only_the_clones_origin_has_is_found(project: Path) -> None:
    git(project, "update-ref", "refs/remotes/origin/elsewhere", sha(project, "light"))
    ask = Asker(project)
    assert await ask.commit_of("elsewhere") == await ask.commit_of("origin/elsewhere") == sha(project, "light")


async def test_an_unknown_ref_is_a_422_that_names_it(project: Path) -> None:
    ask = Asker(project)
    for ref in ("nope", "0" * 40, "abcd1234", "..%2F..%2Fconfig", "heads/..%2Fconfig", "HEAD%00", "a%FFb"):
        status, message = await ask.error(f"/commits/{ref}")
        assert status == 422, ref
        assert message.startswith("No commit found for SHA: ")


async def test_a_short_sha_that_two_commits_share_is_refused(project: Path) -> None:
    tree, seen = sha(project, "HEAD^{tree}"), dict[str, bytes]()
    for number in range(3000):
        body = f"tree {tree}\nauthor A <a@x> 1 +0000\ncommitter A <a@x> 1 +0000\n\n{number}\n".encode()
        digits = hashlib.sha1(b"commit %d\0" % len(body) + body).hexdigest()[:4]
        if digits in seen:
            break
        seen[digits] = body
    for content in (seen[digits], body):
        git(project, "hash-object", "-t", "commit", "-w", "--stdin", data=content)
    status, message = await Asker(project).error(f"/commits/{digits}")
    assert status == 422
    assert "ambiguous" in message


async def test_branches_tags_and_matching_refs_are_listed_as_github_lists_them(project: Path) -> None:
    ask, head = Asker(project), sha(project, "HEAD")
    branches = await ask.json("/branches")
    check("ShortBranch", branches)
    assert [(item["name"], item["commit"]["sha"]) for item in branches] == [("feature/login", head), ("main", head)]
    tags = await ask.json("/tags")
    check("Tag", tags)
    assert [(item["name"], item["commit"]["sha"]) for item in tags] == [
        ("light", sha(project, "light")),
        ("v1.0", head),
    ]
    refs = await ask.json("/git/matching-refs/tags/v")
    check("GitRef", refs)
    assert [(item["ref"], item["object"]["type"]) for item in refs] == [("refs/tags/v1.0", "tag")]
    assert refs[0]["object"]["sha"] == sha(project, "v1.0")
    assert [item["ref"] for item in await ask.json("/git/matching-refs/heads/feature")] == ["refs/heads/feature/login"]
    assert await ask.json("/git/matching-refs/heads/nothing") == []


async def test_branches_come_in_pages(project: Path) -> None:
    reply = await Asker(project)("/branches?per_page=1")
    assert [item["name"] for item in reply.json()] == ["feature/login"]
    assert reply.links["next"]["url"].endswith("/repos/local/any/branches?per_page=1&page=2")
    assert reply.links["last"]["url"].endswith("page=2")


# --- trees and blobs


async def test_a_tree_lists_what_git_lists(project: Path) -> None:
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/sub")
    git(project, "commit", "-q", "-m", "Add a submodule")
    tree = await Asker(project).json("/git/trees/HEAD?recursive=1")
    check("GitTree", tree)
    assert listed(tree) == listed_by_git(project)
    assert not tree["truncated"]
    modes = {item["path"]: (item["mode"], item["type"]) for item in tree["tree"]}
    assert modes["link"] == ("120000", "blob")
    assert modes["run"] == ("100755", "blob")
    assert modes["src"] == ("040000", "tree")
    assert modes["vendor/sub"] == ("160000", "commit")


async def test_a_tree_is_found_by_commit_tree_ref_and_tag(project: Path) -> None:
    ask, tree = Asker(project), sha(project, "HEAD^{tree}")
    for name in (tree, sha(project), "HEAD", "v1.0", "feature/login", "heads/main"):
        reply = await ask.json(f"/git/trees/{name}")
        assert reply["sha"] == tree
        assert [item["path"] for item in reply["tree"]] == ["LICENSE", "README.md", "link", "run", "src"]
    below = await ask.json(f"/git/trees/{sha(project, 'HEAD:src')}?recursive=0")
    assert [item["path"] for item in below["tree"]] == ["app.py", "lib", "lib/deep.py"]


async def test_sizes_are_told_without_reading_a_single_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project, {f"many/{n}.txt": f"line {n}\n" * 50 for n in range(40)})
    commit(project, "Many alike")
    git(project, "gc", "-q")
    write(project, {"loose.txt": "loose\n"})
    commit(project, "One loose")
    read, kinds = DiskObjects.read, list[str]()

    def counted(self: DiskObjects, name: str) -> tuple[str, bytes]:
        found = read(self, name)
        kinds.append(found[0])
        return found

    monkeypatch.setattr(DiskObjects, "read", counted)
    tree = await Asker(project).json("/git/trees/HEAD?recursive=1")
    assert listed(tree) == listed_by_git(project)
    assert "blob" not in kinds


async def test_a_tree_that_is_too_large_is_cut_and_says_so(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_replies, "MAX_ENTRIES", 3)
    tree = await Asker(project).json("/git/trees/HEAD?recursive=1")
    assert tree["truncated"]
    assert listed(tree) == listed_by_git(project)[:3]


async def test_a_blob_is_base64_in_lines_of_sixty(project: Path) -> None:
    content = bytes(range(256)) * 5
    write(project, {"data.bin": content})
    commit(project, "Data")
    name = sha(project, "HEAD:data.bin")
    blob = await Asker(project).json(f"/git/blobs/{name}")
    check("Blob", blob)
    assert base64.b64decode(blob["content"]) == content
    assert {len(line) for line in blob["content"].split("\n")[:-2]} == {60}
    assert blob["size"] == len(content)
    raw = await Asker(project)(f"/git/blobs/{name}", accept="application/vnd.github.raw+json")
    assert raw.content == content


async def test_blobs_out_of_packs_with_deltas_are_whole(project: Path) -> None:
    text = "".join(f"line {n} of a long file\n" for n in range(3000))
    for change in range(8):
        commit(project, f"Change {change}", {"long.txt": text.replace(f"line {change * 100} ", "LINE ")})
    git(project, "repack", "-a", "-d", "-q", "--depth=50", "--window=50")
    ask = Asker(project)
    for back in range(8):
        name = sha(project, f"HEAD~{back}:long.txt")
        blob = await ask.json(f"/git/blobs/{name}")
        assert base64.b64decode(blob["content"]) == git(project, "cat-file", "blob", name)


async def test_a_blob_that_is_not_there_or_too_large_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Asker(project)
    assert (await ask.error(f"/git/blobs/{'0' * 40}"))[0] == 404
    assert (await ask.error(f"/git/blobs/{sha(project)}"))[0] == 404
    assert (await ask.error("/git/blobs/README.md"))[0] == 422
    monkeypatch.setattr("tui_agent.transports.local_git_source.MAX_BLOB", 100)
    assert (await ask.error(f"/git/blobs/{sha(project, 'HEAD:src/lib/deep.py')}"))[0] == 403


async def test_names_that_are_no_utf8_stay_apart_and_are_found_again(project: Path) -> None:
    names = [b"caf\xe9.txt", b"caf\xe8.txt", "café.txt".encode(), "caf\ufffdE9.txt".encode(), b"\xff"]
    index = b"".join(b"100644 " + sha(project, "HEAD:README.md").encode() + b"\t" + name + b"\0" for name in names)
    git(project, "update-index", "-z", "--index-info", data=index)
    git(project, "commit", "-q", "-m", "Odd names")
    ask = Asker(project)
    tree = await ask.json("/git/trees/HEAD?recursive=1")
    assert listed(tree) == listed_by_git(project)
    paths = [item["path"] for item in tree["tree"]]
    assert len(set(paths)) == len(paths)
    assert "caf\ufffdE9.txt" in paths
    for name in names:
        assert (await ask.json(f"/contents/{quote(decode_name(name))}"))["sha"] == sha(project, "HEAD:README.md")
        assert encode_name(decode_name(name)) == name


# --- history


async def test_commits_come_as_git_logs_them(project: Path) -> None:
    commits = await Asker(project).json("/commits")
    check("Commit", commits)
    log = git(project, "log", "--format=%H").decode().split()
    assert [item["sha"] for item in commits] == log
    latest = commits[0]["commit"]
    assert latest["message"] == "Make it run"
    assert latest["author"] == {"name": "Ada Author", "email": "ada@example.org", "date": "2024-02-29T23:00:00Z"}
    assert commits[1]["commit"]["message"] == "Grow\n\nWith a body."
    assert [parent["sha"] for parent in commits[0]["parents"]] == [log[1]]
    one = await Asker(project).json("/commits/HEAD")
    check("Commit", one)
    assert one == commits[0]


@pytest.fixture(scope="module")
def branchy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lines of work, merged, in commits of the same second."""
    path = make_repo(tmp_path_factory.mktemp("built") / "branchy", [("base", {"a": "1", "b/c": "1"})])
    for turn in range(4):
        git(path, "checkout", "-q", "-b", f"side{turn}")
        for step in range(2):
            commit(path, f"side {turn}.{step}", {f"b/{turn % 2}": f"{turn}{step}"}, date="2024-05-01 10:00:00 +0000")
        git(path, "checkout", "-q", "main")
        commit(path, f"main {turn}", {"a": str(turn)}, date="2024-05-01 10:00:00 +0000")
        git(path, "merge", "-q", "--no-ff", "-m", f"merge {turn}", f"side{turn}", date="2024-05-01 10:00:01 +0000")
    return path


@pytest.mark.parametrize("path", ["", "a", "b", "b/0", "b/c", "nothing", "a/below"])
async def test_the_history_of_a_path_is_the_one_git_tells(branchy: Path, path: str) -> None:
    found = await Asker(branchy).json(f"/commits?per_page=100&path={path}")
    log = git(branchy, "log", "--format=%H", "HEAD", *(["--", path] if path else [])).decode().split()
    assert [item["sha"] for item in found] == log


async def test_pages_together_are_the_whole_history(branchy: Path) -> None:
    ask, route, seen = Asker(branchy), "/commits?per_page=5", list[str]()
    while True:
        reply = await ask(route)
        seen += [item["sha"] for item in reply.json()]
        if "next" not in reply.links:
            break
        route = reply.links["next"]["url"].partition("/repos/local/any")[2]
    assert seen == git(branchy, "log", "--format=%H").decode().split()
    first = await ask("/commits?per_page=5")
    assert first.links["last"]["url"].endswith(f"page={-(-len(seen) // 5)}")
    assert set(reply.links) == {"prev", "first"}
    assert (await ask("/commits?page=99")).json() == []


@pytest.mark.parametrize(("asked", "given"), [("0", 1), ("1000", 17), ("-3", 17), ("x", 17), ("3", 3)])
async def test_per_page_is_held_within_bounds(branchy: Path, asked: str, given: int) -> None:
    assert len(await Asker(branchy).json(f"/commits?per_page={asked}")) == given


async def test_history_begins_at_the_commit_that_was_asked_for(branchy: Path) -> None:
    start = sha(branchy, "HEAD~2")
    found = await Asker(branchy).json(f"/commits?sha={start[:10]}")
    assert [item["sha"] for item in found] == git(branchy, "log", "--format=%H", start).decode().split()
    assert (await Asker(branchy).error("/commits?sha=nope"))[0] == 422


async def test_a_filter_that_is_not_done_is_refused_not_ignored(branchy: Path) -> None:
    status, message = await Asker(branchy).error("/commits?author=ada")
    assert status == 422
    assert "author" in message


async def test_a_page_reads_no_more_of_a_long_history_than_it_shows(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "long")
    stream = "".join(
        f"commit refs/heads/main\ncommitter A <a@x> {1600000000 + n} +0000\ndata 2\nc\n\n" for n in range(3000)
    )
    git(path, "fast-import", "--quiet", data=stream.encode())
    objects = DiskObjects(str(path / ".git" / "objects"))
    reads = 0
    read = objects.read

    def counted(name: str) -> tuple[str, bytes]:
        nonlocal reads
        reads += 1
        return read(name)

    objects.read = counted  # type: ignore[method-assign]
    history = History(objects)
    assert len(history.page(sha(path), b"", 0, 30, Stop()).commits) == 30
    assert reads < 100
    history.page(sha(path), b"", 30, 30, Stop())
    assert reads < 200, "the second page walks on from the first"
    objects.close()


async def test_messages_are_read_in_the_encoding_they_were_written_in(project: Path) -> None:
    def raw(message: bytes, encoding: bytes | None, name: bytes = b"A") -> str:
        header = b"tree " + sha(project, "HEAD^{tree}").encode() + b"\nauthor " + name + b" <a@x> 1700000000 +0100\n"
        header += (
            b"committer " + name + b" <a@x> 1700000000 +0100\n" + (b"encoding " + encoding + b"\n" if encoding else b"")
        )
        return (
            git(project, "hash-object", "-t", "commit", "-w", "--stdin", data=header + b"\n" + message).decode().strip()
        )

    ask = Asker(project)
    for message, encoding, text in [
        ("Grüße".encode("latin-1"), b"ISO-8859-1", "Grüße"),
        ("日本語".encode("shift-jis"), b"Shift_JIS", "日本語"),
        ("Grüße".encode(), None, "Grüße"),
        ("Grüße".encode("latin-1"), None, "Grüße"),
        ("Grüße".encode(), b"no-such-encoding", "Grüße"),
        (b"a\\u0041", b"unicode_escape", "a\\u0041"),
        (b"", None, ""),
    ]:
        found = (await ask.json(f"/commits/{raw(message, encoding, message or b'A')}"))["commit"]
        assert found["message"] == text
        assert found["author"]["name"] == (text or "A")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (b"1708424099 +0100", "2024-02-20T10:14:59Z"),
        (b"1708424099 -0930", "2024-02-20T10:14:59Z"),
        (b"0 +0000", "1970-01-01T00:00:00Z"),
        (b"-86400 +0000", "1969-12-31T00:00:00Z"),
        (b"99999999999999999999 +0000", "1970-01-01T00:00:00Z"),
        (b"yesterday", "1970-01-01T00:00:00Z"),
    ],
)
async def test_dates_are_told_in_utc(project: Path, written: bytes, told: str) -> None:
    body = (
        b"tree "
        + sha(project, "HEAD^{tree}").encode()
        + b"\nauthor A <a@x> "
        + written
        + b"\ncommitter A <a@x> "
        + written
    )
    name = (
        git(project, "hash-object", "-t", "commit", "-w", "--literally", "--stdin", data=body + b"\n\nx")
        .decode()
        .strip()
    )
    found = await Asker(project).json(f"/commits/{name}")
    assert found["commit"]["author"]["date"] == told


# --- contents


async def test_contents_of_a_file_a_directory_and_the_root(project: Path) -> None:
    ask = Asker(project)
    found = await ask.json("/contents/src/app.py?ref=v1.0")
    check("ContentFile", found)
    assert base64.b64decode(found["content"]) == b"print(1)\n"
    assert (found["name"], found["path"], found["size"]) == ("app.py", "src/app.py", 9)
    for route in ("/contents", "/contents/"):
        root = await ask.json(route)
        check("ContentDirectoryItems", root)
        kinds = {item["name"]: item["type"] for item in root}
        assert kinds == {"LICENSE": "file", "README.md": "file", "link": "symlink", "run": "file", "src": "dir"}
    assert [item["path"] for item in await ask.json("/contents/src")] == ["src/app.py", "src/lib"]


async def test_contents_of_a_link_are_its_targets_within_the_repository_only(project: Path) -> None:
    links = {"out": "../../etc/passwd", "absolute": "/etc/passwd", "folder": "src", "loop": "loop", "gone": "nowhere"}
    write(project, {"src/up": Path("../README.md"), **{name: Path(target) for name, target in links.items()}})
    commit(project, "Links")
    ask = Asker(project)
    for path, content in {"link": b"print(1)\n", "src/up": b"# Hi\n"}.items():
        found = await ask.json(f"/contents/{path}")
        check("ContentFile", found)
        assert (found["path"], base64.b64decode(found["content"])) == (path, content)
    for name, target in links.items():
        found = await ask.json(f"/contents/{name}")
        check("ContentSymlink", found)
        assert found["target"] == target


async def test_contents_of_a_submodule_tell_where_it_lives(project: Path) -> None:
    write(project, {".gitmodules": '[submodule "s"]\n\tpath = vendor/sub\n\turl = https://example.org/sub.git\n'})
    git(project, "add", ".gitmodules")
    git(project, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/sub")
    git(project, "commit", "-q", "-m", "Add a submodule")
    found = await Asker(project).json("/contents/vendor/sub")
    check("ContentSubmodule", found)
    assert (found["sha"], found["submodule_git_url"]) == ("1" * 40, "https://example.org/sub.git")


async def test_a_file_above_one_megabyte_comes_without_its_content(project: Path) -> None:
    write(project, {"big": b"x" * 1_000_001})
    commit(project, "Big")
    found = await Asker(project).json("/contents/big")
    assert (found["encoding"], found["content"], found["size"]) == ("none", "", 1_000_001)
    raw = await Asker(project)("/contents/big", accept="application/vnd.github.raw")
    assert len(raw.content) == 1_000_001


@pytest.mark.parametrize(
    "path",
    ["nothing", "src/", "README.md/x", "../project/README.md", "%2e%2e/x", ".git/config", "src/../README.md%2F", "%00"],
)
async def test_what_is_not_in_the_tree_is_not_found(project: Path, path: str) -> None:
    assert await Asker(project).error(f"/contents/{path}") == (404, "Not Found")


# --- the wire


async def test_routes_that_are_not_served_say_so_as_github_does(project: Path) -> None:
    ask = Asker(project)
    for route in ("/issues", "/git/refs", "/git/trees", "/git/trees/", "/commits/", "/git/matching-refs/notes/x"):
        assert await ask.error(route) == (404, "Not Found"), route
    async with httpx.AsyncClient(transport=LocalTransport.open(project)) as client:
        assert (await client.get("https://x.test/rate_limit")).status_code == 404
        assert (await client.post("https://x.test/repos/a/b")).status_code == 404


@pytest.mark.parametrize("base", ["http://local.invalid", "https://host.example:8443/api/v3", "https://h/a/b/c"])
async def test_any_host_and_any_path_before_the_routes_will_do(project: Path, base: str) -> None:
    about = await Asker(project, base).json()
    assert about["url"] == f"{base}/repos/local/any"


@pytest.mark.parametrize("route", ["", "/commits/HEAD", "/commits", "/git/trees/HEAD", "/branches", "/contents/"])
async def test_what_has_not_changed_is_a_304(project: Path, route: str) -> None:
    ask = Asker(project)
    etag = (await ask(route)).headers["etag"]
    again = await ask(route, if_none_match=f'"other", {etag}')
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == etag
    commit(project, "Something new", {"new.txt": "new"})
    assert (await ask(route, if_none_match=etag)).status_code == 200


async def test_the_sha_is_the_etag_of_what_is_named_by_it(project: Path) -> None:
    ask = Asker(project)
    assert (await ask("/commits/HEAD", accept=SHA["Accept"])).headers["etag"] == f'"{sha(project)}"'
    name = sha(project, "HEAD:README.md")
    assert (await ask(f"/git/blobs/{name}")).headers["etag"] == f'"{name}"'


@pytest.fixture
def github(project: Path) -> Iterator[Any]:
    yield GitHub(async_transport=LocalTransport.open(project), http_cache=False, auto_retry=False)


async def test_githubkits_client_reads_the_same_repository(github: Any, project: Path) -> None:
    about = (await github.rest.repos.async_get("local", "project")).parsed_data
    assert about.default_branch == "main"
    found = (await github.rest.repos.async_get_commit("local", "project", about.default_branch)).parsed_data
    assert found.sha == sha(project)
    commits = (await github.rest.repos.async_list_commits("local", "project", path="src")).parsed_data
    assert [item.sha for item in commits] == git(project, "log", "--format=%H", "--", "src").decode().split()
    tree = (await github.rest.git.async_get_tree("local", "project", found.commit.tree.sha, recursive="1")).parsed_data
    assert [item.path for item in tree.tree] == [entry[0] for entry in listed_by_git(project)]
    readme = next(item for item in tree.tree if item.path == "README.md")
    blob = (await github.rest.git.async_get_blob("local", "project", readme.sha)).parsed_data
    assert base64.b64decode(blob.content) == b"# Hi\n"
    content = (await github.rest.repos.async_get_content("local", "project", "README.md")).parsed_data
    assert content.content == blob.content
    root = (await github.rest.repos.async_get_content("local", "project", "")).parsed_data
    assert [item.name for item in root] == ["LICENSE", "README.md", "link", "run", "src"]
    branches = (await github.rest.repos.async_list_branches("local", "project")).parsed_data
    tags = (await github.rest.repos.async_list_tags("local", "project")).parsed_data
    assert [item.name for item in (*branches, *tags)] == ["feature/login", "main", "light", "v1.0"]


def test_the_bound_on_blobs_is_githubs() -> None:
    assert local_source.MAX_BLOB == 100 * 1024 * 1024

"""A plain folder is one snapshot without history; its ignore files are respected as git respects them."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.github_models import check
from tests.repos import git, make_repo, write
from tests.test_local_git import MIT, Asker, listed, listed_by_git
from tui_agent.transports.local_folder import FolderSource
from tui_agent.transports.local_git import LocalTransport
from tui_agent.transports.local_ignore import Ignores

FILES = {
    "README.md": "# Hi\n",
    "LICENSE": MIT,
    "src/app.py": "print(1)\n",
    "src/deep/x.txt": "",
    "link": Path("src/app.py"),
}


@pytest.fixture(autouse=True)
def enclosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository around the temporary folder is found."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "plain"
    write(path, FILES)
    (path / "src" / "app.py").chmod(0o755)
    return path


async def tree_of(ask: Asker) -> Any:
    return await ask.json("/git/trees/HEAD?recursive=1")


async def paths_of(path: Path) -> list[str]:
    return [item["path"] for item in (await tree_of(Asker(path)))["tree"] if item["type"] == "blob"]


async def test_its_tree_is_the_one_that_git_would_make(folder: Path, tmp_path: Path) -> None:
    tree = await tree_of(Asker(folder))
    check("GitTree", tree)
    committed = make_repo(tmp_path / "committed")
    write(committed, FILES)
    (committed / "src" / "app.py").chmod(0o755)
    git(committed, "add", "-A")
    git(committed, "commit", "-q", "-m", "All")
    assert listed(tree) == listed_by_git(committed)
    assert tree["sha"] == git(committed, "rev-parse", "HEAD^{tree}").decode().strip()
    assert not tree["truncated"]


async def test_its_files_are_read_by_the_hashes_of_the_listing(folder: Path) -> None:
    ask = Asker(folder)
    for item in (await tree_of(ask))["tree"]:
        if item["type"] == "blob":
            blob = await ask.json(f"/git/blobs/{item['sha']}")
            check("Blob", blob)
            content = base64.b64decode(blob["content"])
            place = folder / item["path"]
            assert content == (os.fsencode(place.readlink()) if place.is_symlink() else place.read_bytes())
            assert item["size"] == len(content)


async def test_a_folder_of_the_tree_can_be_listed_by_its_hash(folder: Path) -> None:
    ask = Asker(folder)
    tree = await tree_of(ask)
    below = next(item["sha"] for item in tree["tree"] if item["path"] == "src")
    assert [item["path"] for item in (await ask.json(f"/git/trees/{below}"))["tree"]] == ["app.py", "deep"]
    assert (await ask.error(f"/git/trees/{'0' * 40}"))[0] == 404
    assert (await ask.error("/git/trees/main"))[0] == 404


async def test_it_has_no_history_and_says_so(folder: Path) -> None:
    ask = Asker(folder)
    for route in ("/commits/HEAD", "/commits/main", "/commits"):
        assert await ask.error(route) == (409, "This folder has no git history.")
    for route in ("/branches", "/tags", "/git/matching-refs/heads/x"):
        assert await ask.json(route) == []
    assert await ask.transport.uncommitted_changes() == 0


async def test_it_is_described_without_inventing_anything(folder: Path) -> None:
    transport = LocalTransport.open(folder)
    assert (transport.kind, transport.name) == ("folder", "local/plain")
    about = await Asker(transport).json()
    check("FullRepository", about)
    assert about["license"]["spdx_id"] == "MIT"
    assert about["local"] == {"kind": "folder", "bare": False, "detached": False, "branch": None}
    assert {"default_branch", "created_at", "updated_at", "pushed_at", "stargazers_count"} <= set(about["placeholders"])


async def test_contents_are_answered_too(folder: Path) -> None:
    ask = Asker(folder)
    check("ContentDirectoryItems", await ask.json("/contents/src"))
    for path in ("src/app.py", "link"):
        assert base64.b64decode((await ask.json(f"/contents/{path}"))["content"]) == b"print(1)\n"
    assert (await ask.error("/contents/..%2Foutside"))[0] == 404


async def test_an_empty_folder_says_that_it_is_empty(tmp_path: Path) -> None:
    (tmp_path / "bare" / "hollow").mkdir(parents=True)
    ask = Asker(tmp_path / "bare")
    assert await ask.error("/git/trees/HEAD?recursive=1") == (409, "This folder is empty.")
    assert (await ask.json())["license"] is None


async def test_a_file_that_changed_since_it_was_listed_is_refused(folder: Path) -> None:
    ask = Asker(folder)
    items = {item["path"]: item["sha"] for item in (await tree_of(ask))["tree"]}
    write(folder, {"README.md": "# Other\n", "src/deep/x.txt": "no longer empty"})
    (folder / "LICENSE").unlink()
    for path in ("README.md", "src/deep/x.txt", "LICENSE"):
        assert await ask.error(f"/git/blobs/{items[path]}") == (409, f"{path} has changed since the folder was listed.")
    again = {item["path"]: item["sha"] for item in (await tree_of(ask))["tree"]}
    assert "LICENSE" not in again
    assert base64.b64decode((await ask.json(f"/git/blobs/{again['README.md']}"))["content"]) == b"# Other\n"


async def test_a_copy_elsewhere_still_serves_a_hash(folder: Path) -> None:
    write(folder, {"copy.md": "# Hi\n"})
    ask = Asker(folder)
    name = next(item["sha"] for item in (await tree_of(ask))["tree"] if item["path"] == "README.md")
    (folder / "README.md").unlink()
    assert base64.b64decode((await ask.json(f"/git/blobs/{name}"))["content"]) == b"# Hi\n"


async def test_listing_again_reads_only_what_changed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    from tui_agent.transports import local_folder

    real = local_folder.open_regular
    monkeypatch.setattr(
        local_folder, "open_regular", lambda path, **how: opened.append(os.fsdecode(path)) or real(path, **how)
    )
    ask = Asker(folder)
    await tree_of(ask)
    assert len(opened) == 3, "README.md, LICENSE and app.py; the empty file and the link need no reading"
    opened.clear()
    write(folder, {"README.md": "# Changed\n"})
    await tree_of(ask)
    assert [Path(path).name for path in opened] == ["README.md"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
async def test_what_is_no_file_is_not_listed_and_links_are_never_followed(folder: Path, tmp_path: Path) -> None:
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "src" / ".gitignore")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("secret")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "self").symlink_to(".")
    (folder / ".gitignore").symlink_to(tmp_path / "secret" / "key")
    async with asyncio.timeout(20):
        tree = await tree_of(Asker(folder))
    modes = {item["path"]: item["mode"] for item in tree["tree"]}
    assert "pipe" not in modes
    assert {modes["out"], modes["self"], modes[".gitignore"]} == {"120000"}
    assert not [path for path in modes if path.startswith(("out/", "self/"))]


async def test_files_too_large_to_be_answered_are_listed_and_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_agent.transports.local_folder.MAX_BLOB", 10)
    ask = Asker(folder)
    items = {item["path"]: item for item in (await tree_of(ask))["tree"]}
    assert items["LICENSE"]["size"] == len(MIT)
    status, message = await ask.error(f"/git/blobs/{items['LICENSE']['sha']}")
    assert (status, message.startswith("LICENSE has ")) == (403, True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is unreadable to root")
async def test_what_cannot_be_read_is_listed_and_says_why(folder: Path) -> None:
    (folder / "README.md").chmod(0)
    (folder / "src").chmod(0)
    try:
        ask = Asker(folder)
        tree = await tree_of(ask)
        assert tree["truncated"], "a folder that cannot be read leaves the listing incomplete"
        name = next(item["sha"] for item in tree["tree"] if item["path"] == "README.md")
        status, message = await ask.error(f"/git/blobs/{name}")
        assert (status, "Permission denied" in message) == (403, True)
    finally:
        (folder / "src").chmod(0o755)


async def test_a_folder_that_is_too_large_is_cut_and_says_so(folder: Path) -> None:
    source = FolderSource(str(folder), max_entries=3)
    tree = await tree_of(Asker(LocalTransport(source, "local/plain")))
    assert tree["truncated"]
    assert len(tree["tree"]) <= 3


async def test_ten_thousand_files_are_listed_in_a_moment(tmp_path: Path) -> None:
    write(tmp_path / "wide", {f"d{n % 100}/f{n}.txt": f"{n}\n" for n in range(10_000)})
    begin = time.process_time()
    tree = await tree_of(Asker(tmp_path / "wide"))
    assert len(tree["tree"]) == 10_100
    assert time.process_time() - begin < 8


# --- ignore files


async def test_ignore_files_hold_at_their_depth_and_can_take_back(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    names = [
        "keep.txt",
        "a.log",
        "keep.log",
        "build/out",
        "src/build/in",
        "src/a.log",
        "src/tmp/x",
        "src/tmp/y",
        ".git/x",
    ]
    write(path, dict.fromkeys(names, "x"))
    write(path, {".gitignore": "*.log\n!keep.log\n/build/\n", "src/.gitignore": "!a.log\ntmp/*\n!tmp/y\n.gitignore\n"})
    assert await paths_of(path) == [".gitignore", "keep.log", "keep.txt", "src/a.log", "src/build/in", "src/tmp/y"]


PIECES = (
    "a|b|foo|*|**|?|/|[ab]|[!a]|[a-z]|[[:alpha:]]|[]x]|\\*|\\ | |.py|!|#|\\#|.*|x|[^x-z]|[a-|*.txt|**/|/**|-|[z-a]|\\"
).split("|")
LINES = st.lists(
    st.tuples(st.booleans(), st.lists(st.sampled_from(PIECES), min_size=1, max_size=4)), min_size=1, max_size=4
)
NAMES = ["a", "b", "foo", "foo.py", "bar.txt", "a b", "[x]", "x", "!neg", "#c", "a*b", ".hid", "a-b"]


@pytest.fixture(scope="module")
def patterns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of names that patterns may mean; in a repository, so that git can be asked."""
    path = make_repo(tmp_path_factory.mktemp("patterns") / "names")
    for base in ("", "d/", "e/d/", "foo.d/", "d/qux/b/"):
        write(path, {base + name: "" for name in NAMES})
    return path


def _allowed(path: Path) -> set[bytes]:
    found: set[bytes] = set()
    todo = [(b"", Ignores())]
    while todo:
        base, above = todo.pop()
        place = os.fsencode(path) + b"/" + base
        here = above.within(place.rstrip(b"/"), base)
        for item in os.scandir(place):
            name = base + item.name
            if item.name != b".git" and not here.ignored(name, item.name, item.is_dir()):
                if item.is_dir():
                    todo.append((name + b"/", here))
                else:
                    found.add(name)
    return found


def _is_quirk(line: str) -> bool:
    """What git does otherwise than its manual says: `**` right behind fixed text, and before an escaped slash."""
    return "**" in line.lstrip("!/*") or "\\/" in line


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(LINES, LINES)
def test_patterns_mean_what_they_mean_to_git(patterns: Path, root: Any, below: Any) -> None:
    texts = [["!" * negated + "".join(pieces) for negated, pieces in lines] for lines in (root, below)]
    if any(_is_quirk(line) for lines in texts for line in lines):
        return
    for place, lines in zip((".gitignore", "d/.gitignore"), texts, strict=True):
        (patterns / place).write_text("\n".join(lines) + "\n")
    shown = git(patterns, "ls-files", "-o", "--exclude-standard", "-z")
    assert _allowed(patterns) == set(shown.split(b"\0")[:-1])


@pytest.mark.parametrize(
    ("pattern", "matched", "unmatched"),
    [
        ("**/foo", ["foo", "a/foo", "a/b/foo"], ["food", "a/bfoo"]),
        ("foo/**", ["foo/a", "foo/a/b"], ["foo", "a/foo/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a", "ab", "x/a/b"]),
        ("a/*/b", ["a/x/b"], ["a/b", "a/x/y/b"]),
        ("/*.c", ["x.c"], ["a/x.c"]),
        ("doc/*.txt", ["doc/a.txt"], ["doc/x/a.txt", "a/doc/a.txt"]),
        ("foo\\ ", ["foo "], ["foo"]),
        ("foo   ", ["foo"], ["foo   "]),
        ("\\!important", ["!important", "a/!important"], ["important"]),
        ("[a-c]?.o", ["bx.o"], ["dx.o", "b.o"]),
        ("\ufeff*.x", ["a.x"], ["\ufeffa.y"]),
        ("*.y\r", ["a.y"], ["a.y\r"]),
    ],
)
def test_the_forms_of_the_manual(pattern: str, matched: list[str], unmatched: list[str]) -> None:
    ignores = Ignores().plus(pattern.encode())

    def ignored(path: str) -> bool:
        return ignores.ignored(path.encode(), path.rpartition("/")[2].encode(), False)

    assert [path for path in matched if not ignored(path)] == []
    assert [path for path in unmatched if ignored(path)] == []


def test_a_pattern_that_ends_with_a_slash_means_folders_only() -> None:
    ignores = Ignores().plus(b"build/\n")
    assert ignores.ignored(b"src/build", b"build", True)
    assert not ignores.ignored(b"src/build", b"build", False)


def test_no_pattern_makes_the_match_take_for_ever() -> None:
    ignores = Ignores().plus(b"*a" * 40 + b"*b\n" + b"**/a/" * 30 + b"b\n" + b"?*" * 50 + b"!\n")
    name, path = b"a" * 250, b"/".join([b"a"] * 1500)
    begin = time.process_time()
    assert not ignores.ignored(name, name, False)
    assert not ignores.ignored(path, b"a", False)
    assert time.process_time() - begin < 2

"""Uncommitted changes are counted as `git status --porcelain -uall --no-renames` names them, without running git."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.repos import commit, git, make_repo, write
from tui_agent.transports.local_git import LocalTransport
from tui_agent.transports.local_git_index import UnreadableIndex, parse_index


@pytest.fixture(autouse=True)
def enclosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No repository around the temporary folder is found, and no settings of the person who runs the tests."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "a.txt": "a\n",
        "b.txt": "b\n",
        "src/c.py": "c\n",
        "src/deep/d.py": "d\n",
        "run.sh": "#!/bin/sh\n",
        "link": Path("a.txt"),
        ".gitignore": "*.log\n/build/\n!keep.log\n",
        "ünï cödé.txt": "u\n",
    }
    return make_repo(tmp_path / "project", [("Begin", files)])


def named_by_git(path: Path) -> set[bytes]:
    lines = git(path, "status", "--porcelain", "-uall", "--no-renames", "-z").split(b"\0")[:-1]
    return {line[3:] for line in lines}


async def counted(path: Path) -> int:
    transport = LocalTransport.open(path)
    try:
        return await transport.uncommitted_changes()
    finally:
        await transport.aclose()


def _unlink(path: Path, *names: str) -> None:
    for name in names:
        (path / name).unlink()


def _folder_instead_of_file(path: Path) -> None:
    (path / "a.txt").unlink()
    write(path, {"a.txt/inside": "x"})


def _link_instead_of_folder(path: Path) -> None:
    (path / "src").rename(path.parent / "moved")
    (path / "src").symlink_to("../moved")


def _conflict(path: Path) -> None:
    git(path, "checkout", "-q", "-b", "side")
    commit(path, "side", {"a.txt": "side\n"})
    git(path, "checkout", "-q", "main")
    commit(path, "main", {"a.txt": "main\n"})
    with pytest.raises(AssertionError):
        git(path, "merge", "-q", "side")


def _nested(path: Path) -> None:
    make_repo(path / "vendor" / "other", [("Begin", {"x": "x", "y": "y"})])


def _submodule_elsewhere(path: Path) -> None:
    other = make_repo(path.parent / "other", [("One", {"x": "1"}), ("Two", {"x": "2"})])
    git(path, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(path, "commit", "-q", "-m", "Add a submodule")
    git(path / "sub", "checkout", "-q", "HEAD~1")


CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda path: None,
    "changed content": lambda path: write(path, {"a.txt": "other\n"}),
    "changed content of the same length": lambda path: write(path, {"a.txt": "x\n"}),
    "touched only": lambda path: os.utime(path / "a.txt", (1, 1)),
    "rewritten the same": lambda path: write(path, {"a.txt": "a\n"}),
    "deleted": lambda path: _unlink(path, "a.txt", "src/c.py"),
    "made executable": lambda path: (path / "run.sh").chmod(0o755),
    "a link to elsewhere": lambda path: write(path, {"link": Path("b.txt")}),
    "a link instead of a file": lambda path: write(path, {"a.txt": Path("b.txt")}),
    "a file instead of a link": lambda path: write(path, {"link": "a.txt"}),
    "a folder instead of a file": _folder_instead_of_file,
    "a link instead of a folder": _link_instead_of_folder,
    "untracked": lambda path: write(path, {"new.txt": "n", "src/new.py": "n", "other/deep/new.py": "n"}),
    "ignored": lambda path: write(path, {"x.log": "n", "build/out.o": "n", "src/build/kept.o": "n"}),
    "taken back from ignoring": lambda path: write(path, {"keep.log": "n", "src/keep.log": "n", "build/keep.log": "n"}),
    "an ignore file of its own": lambda path: write(path, {"src/.gitignore": "*\n!.gitignore\n", "src/hidden.py": "n"}),
    "empty folders": lambda path: (path / "hollow" / "deep").mkdir(parents=True),
    "staged": lambda path: (write(path, {"a.txt": "s\n", "new.txt": "n"}), git(path, "add", "-A")),
    "staged, then changed back": lambda path: (
        write(path, {"a.txt": "s\n"}), git(path, "add", "-A"), write(path, {"a.txt": "a\n"})
    ),
    "removed from the index": lambda path: git(path, "rm", "-q", "--cached", "a.txt"),
    "moved": lambda path: git(path, "mv", "a.txt", "z.txt"),
    "meant to be added": lambda path: (write(path, {"later.txt": "n"}), git(path, "add", "-N", "later.txt")),
    "in conflict": _conflict,
    "a repository within": _nested,
    "a submodule at another commit": _submodule_elsewhere,
    "assumed unchanged": lambda path: (
        git(path, "update-index", "--assume-unchanged", "a.txt"), write(path, {"a.txt": "other\n"})
    ),
    "outside of a sparse checkout": lambda path: git(path, "sparse-checkout", "set", "src/deep"),
    "a sparse index": lambda path: (
        git(path, "sparse-checkout", "set", "--cone", "--sparse-index", "src/deep"), write(path, {"src/deep/d.py": "x"})
    ),
    "an index of version 4": lambda path: (git(path, "update-index", "--index-version=4"), write(path, {"b.txt": "x"})),
    "excluded for this repository": lambda path: (
        write(path, {"secret.key": "x"}), (path / ".git" / "info" / "exclude").write_text("*.key\n")
    ),
    "file modes that do not count": lambda path: (
        git(path, "config", "core.fileMode", "false"), (path / "run.sh").chmod(0o755)
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_it_counts_what_git_names(project: Path, change: str) -> None:
    assert await counted(project) == 0
    CHANGES[change](project)
    before = await counted(project)
    expected = len(named_by_git(project))  # which refreshes git's index
    assert before == expected
    assert await counted(project) == expected


async def test_a_change_in_the_same_moment_as_the_commit_is_seen(project: Path) -> None:
    for turn in range(20):
        write(project, {"a.txt": f"{turn:04d}\n"})
        git(project, "commit", "-q", "-a", "-m", "Turn")
        write(project, {"a.txt": f"{turn + 1:04d}\n"})
        assert await counted(project) == 1


async def test_what_a_person_ignores_everywhere_is_ignored(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, {".DS_Store": "x", "notes.tmp": "x"})
    assert await counted(project) == 2
    write(tmp_path, {"config/git/ignore": ".DS_Store\n"})
    assert await counted(project) == 1
    write(tmp_path, {"my-ignores": "*.tmp\n", "my-config": f"[core]\n\texcludesFile = {tmp_path / 'my-ignores'}\n"})
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "my-config"))
    assert await counted(project) == 1


async def test_line_ends_that_git_converts_are_no_change(project: Path) -> None:
    write(project, {"a.txt": "a\r\n"})
    assert await counted(project) == 1, "nothing converts here"
    git(project, "config", "core.autocrlf", "true")
    assert await counted(project) == 0
    git(project, "config", "core.autocrlf", "false")
    commit(project, "Attributes", {".gitattributes": "*.txt text\n"})
    write(project, {"b.txt": "b\r\n"})
    assert await counted(project) == 0


async def test_the_content_behind_an_lfs_pointer_is_no_change(project: Path) -> None:
    content = b"a large picture\n" * 100
    oid = hashlib.sha256(content).hexdigest()
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"
    commit(project, "A pointer", {"picture.psd": pointer})
    write(project, {"picture.psd": content})
    assert await counted(project) == 0
    write(project, {"picture.psd": content[:-1] + b"!"})
    assert await counted(project) == 1


async def test_a_split_index_is_no_reason_to_miss_changes(project: Path) -> None:
    git(project, "update-index", "--split-index")
    with pytest.raises(UnreadableIndex):
        parse_index((project / ".git" / "index").read_bytes())
    assert await counted(project) == 0
    write(project, {"a.txt": "x", "new": "n"})
    assert await counted(project) == 2


def test_a_damaged_index_is_told_apart_from_a_whole_one(project: Path) -> None:
    whole = (project / ".git" / "index").read_bytes()
    assert len(parse_index(whole)) == 8
    for damaged in (b"", whole[:10], whole[:100], b"DIRC" + b"\xff" * 60, whole[:12] + b"\xff" * (len(whole) - 12)):
        with pytest.raises(UnreadableIndex):
            parse_index(damaged)


async def test_thousands_of_files_take_no_noticeable_time(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "large", [("Many", {f"d{n % 50}/f{n}.txt": f"{n}\n" for n in range(5000)})])
    os.utime(path / ".git" / "index", (time.time() + 5,) * 2)
    begin = time.process_time()
    assert await counted(path) == 0
    assert time.process_time() - begin < 3

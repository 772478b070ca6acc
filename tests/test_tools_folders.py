"""`list_directory`, `find_files` and their patterns."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import Content, Layers, Link, Server, Submodule, VirtualClock
from tests.tool_bench import Bench
from tui_agent.github.tree import Entry, RepositorySnapshot
from tui_agent.resilience.call import Call
from tui_agent.tools.folders import find_files, list_directory
from tui_agent.tools.globs import compile_glob
from tui_agent.tools.workspace import Workspace

FILES: dict[str, Content] = {
    "README.md": "# Demo\n",
    "src/app.py": "print()\n",
    "src/core/a.py": "x\n",
    "src/core/b.PY": "yy\n",
    "link": Link("src/core"),
    "sub": Submodule("2" * 40),
}


# -- list_directory ---------------------------------------------------------------------------------


async def test_a_listing_tells_kinds_sizes_and_what_lies_below() -> None:
    bench = Bench(FILES)
    assert await bench.ask("list_directory") == {
        "ok": True,
        "path": "",
        "dirs": {"src": 3},
        "files": {"README.md": 7},
        "symlinks": ["link"],
        "submodules": ["sub"],
        "below": {
            "files": 4,
            "size": 20,
            "by_extension": {".py": [3, 13], ".md": [1, 7]},
            # README.md is larger than two of them, and stands above
            "largest": {"src/app.py": 8, "src/core/b.PY": 3, "src/core/a.py": 2},
        },
    }
    assert bench.asked == 0


async def test_what_the_entries_say_themselves_is_not_said_again() -> None:
    bench = Bench(FILES)
    result = await bench.ask("list_directory", path="src/core")
    assert result == {"ok": True, "path": "src/core", "files": {"a.py": 2, "b.PY": 3}}
    assert "largest" not in (await Bench({"a/b/": Submodule("2" * 40), "c": "x"}).ask("list_directory"))["below"]


@pytest.mark.parametrize(
    "path", ["src/core", "/src/core/", "./src/core", "src//core", "src/./core", "src/core/../core"]
)
async def test_a_directory_may_be_written_as_models_write_it(path: str) -> None:
    result = await Bench(FILES).ask("list_directory", path=path)
    assert result["path"] == "src/core" and list(result["files"]) == ["a.py", "b.PY"]


@pytest.mark.parametrize("path", ["", ".", "/", "./", "//", " ", "src/.."])
async def test_the_root_has_many_names(path: str) -> None:
    assert (await Bench(FILES).ask("list_directory", path=path))["path"] == ""


async def test_a_link_to_a_directory_is_followed_and_said_to_be_one() -> None:
    result = await Bench(FILES).ask("list_directory", path="link")
    assert (result["path"], result["symlink_to"], len(result["files"])) == ("link", "src/core", 2)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("README.md", "'README.md' is a file, no directory: call read_file."),
        ("sub", "is a submodule, no directory (commit 222222222222 of another repository"),
        ("nowhere", "There is no 'nowhere' at this commit. List its directory"),
        ("src/app.py/x", "'src/app.py' is a file"),
        ("..", "leads out of the repository"),
        ("../..", "leads out of the repository"),
    ],
)
async def test_what_is_no_directory_is_an_error(path: str, words: str) -> None:
    assert words in await Bench(FILES).error("list_directory", path=path)


async def test_a_long_directory_is_folded_and_its_pages_join() -> None:
    bench = Bench({f"many/file-{i:04d}.txt": str(i) for i in range(450)})
    names: list[str] = []
    page = await bench.ask("list_directory", path="many")
    assert page["total_entries"] == page["below"]["files"] == 450
    assert page["more"] == "250 more entries: call list_directory with offset=200."
    while True:
        names += page["files"]
        if "more" not in page:
            break
        page = await bench.ask("list_directory", path="many", offset=len(names))
        assert "below" not in page and page["total_entries"] == 450
    assert names == [f"file-{i:04d}.txt" for i in range(450)]
    assert len(page["files"]) == 50


async def test_past_the_last_entry_there_is_nothing_and_it_says_so() -> None:
    result = await Bench(FILES).ask("list_directory", path="src/core", offset=50)
    assert result.keys() == {"ok", "path", "total_entries", "note"}
    assert result["note"] == "The directory has only 2 entries."


async def test_an_empty_repository_says_that_it_is_one() -> None:
    bench = Bench({})
    bench.github.commit = ""
    result = await bench.ask("list_directory")
    assert result == {"ok": True, "path": "", "note": "The repository is empty."}


async def test_many_extensions_are_folded() -> None:
    result = await Bench({f"d/f.e{i:02d}": "x" * (100 - i) for i in range(20)}).ask("list_directory")
    by_extension = result["below"]["by_extension"]
    assert len(by_extension) == 16 and next(iter(by_extension)) == ".e00"
    assert by_extension["(other)"] == [5, sum(100 - i for i in range(15, 20))]


async def test_files_without_an_extension_stand_under_no_name() -> None:
    files: dict[str, Content] = {"Makefile": "1", ".gitignore": "22", "odd.": "333", "d/a.tar.GZ": "4444"}
    result = await Bench(files).ask("list_directory")
    assert result["below"]["by_extension"] == {"": [3, 6], ".gz": [1, 4]}


async def test_a_tree_that_was_cut_is_listed_by_request_and_says_what_is_not_known() -> None:
    bench = Bench(FILES, truncated=3)
    result = await bench.ask("list_directory", path="src")
    assert (result["dirs"], result["files"]) == ({"core": None}, {"app.py": 8})
    assert "too large to be counted" in result["note"] and "below" not in result
    assert bench.last.attempts == bench.asked == 1 and bench.last.cache == "miss"


# -- find_files -------------------------------------------------------------------------------------


async def test_files_are_found_by_pattern_with_their_sizes() -> None:
    bench = Bench(FILES)
    assert await bench.ask("find_files", pattern="*.py") == {
        "ok": True,
        "pattern": "*.py",
        "total": 2,
        "files": {"src/app.py": 8, "src/core/a.py": 2},
    }
    assert bench.asked == 0


async def test_many_matches_are_folded_and_their_pages_join() -> None:
    bench = Bench({f"d{i % 3}/f{i:03d}.py": "" for i in range(401)})
    first = await bench.ask("find_files", pattern="**/*.py")
    assert first["total"] == 401 and first["more"] == "201 more files: call find_files with offset=200."
    last = await bench.ask("find_files", pattern="**/*.py", offset=400)
    assert len(last["files"]) == 1 and "more" not in last


async def test_nothing_found_is_an_answer() -> None:
    result = await Bench(FILES).ask("find_files", pattern="*.go")
    assert result["ok"] is True and result["total"] == 0 and result["files"] == {}


@pytest.mark.parametrize("pattern", ["", "  ", "/", "x" * 501, "{a,b}" * 7])
async def test_a_pattern_that_is_none_is_an_error(pattern: str) -> None:
    assert "The pattern" in await Bench(FILES).error("find_files", pattern=pattern)


async def test_of_a_tree_that_was_cut_what_is_known_is_searched() -> None:
    result = await Bench(FILES, truncated=4).ask("find_files", pattern="*")
    assert result["total"] == 2 and "2 files of it were searched" in result["note"]


# -- patterns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", "src/a.py", "a/b/c.py", ".py"], ["a.pyc", "py", "a.py/x"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/b/a.py", "x/src/a.py"]),
        ("/src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("./src/*.py", ["src/a.py"], ["x/src/a.py"]),
        ("**/*.py", ["a.py", "src/a.py", "a/b/c.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/b/c"], ["a", "srcs/a", "x/src/a"]),
        ("src/", ["src/a", "src/b/c"], ["a"]),
        ("src/**/test_*.py", ["src/test_a.py", "src/x/y/test_b.py"], ["test_a.py", "src/x/a.py"]),
        ("**/a/**/b/**/c", ["a/b/c", "x/a/y/b/z/c", "a/a/b/b/c"], ["a/c", "b/a/c", "a/b"]),
        ("**", ["a", "a/b/c"], []),
        ("*", ["a", "a/b"], []),
        ("*.{yml,yaml}", ["a.yml", "b/c.yaml"], ["a.yaml.bak", "a.{yml,yaml}"]),
        ("{src,tests}/*.py", ["src/a.py", "tests/b.py"], ["docs/c.py"]),
        ("{a,b/{c,d}}/x", ["a/x", "b/c/x", "b/d/x"], ["b/x"]),
        ("a{b", ["a{b"], ["ab"]),
        ("{a}", ["{a}"], ["a"]),
        ("[ab].txt", ["a.txt", "x/b.txt"], ["c.txt", "ab.txt"]),
        ("[!ab].txt", ["c.txt"], ["a.txt"]),
        ("a[", ["a["], ["a"]),
        ("?.md", ["a.md"], ["ab.md", ".md"]),
        ("Dockerfile*", ["Dockerfile", "x/Dockerfile.dev"], ["dockerfile"]),
        ("new\nline", ["new\nline"], ["new", "line"]),
        ("für/*", ["für/x"], ["fur/x"]),
        ("a(b)+.$^|\\", ["a(b)+.$^|\\"], ["ab"]),
    ],
)
def test_patterns_mean_what_models_mean_by_them(pattern: str, yes: list[str], no: list[str]) -> None:
    matches = compile_glob(pattern)
    assert [path for path in yes if not matches(path)] == []
    assert [path for path in no if matches(path)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 200 + "b",
        "**/" * 160 + "x",
        "**/a/" * 95 + "x",
        "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}*" + "*a*" * 50,
        "[" * 500,
        "?*" * 240,
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    matches = compile_glob(pattern)
    began = time.process_time()
    for path in ("a" * 2000, "a/" * 500 + "a", "aaaa/" * 400):
        matches(path)
    assert time.process_time() - began < 2.0


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(st.text(alphabet="ab*?/{},[]!.-\\", max_size=30), st.text(alphabet="ab/.{},[]", max_size=30))
def test_any_pattern_is_a_test_or_a_plain_error(pattern: str, path: str) -> None:
    try:
        matches = compile_glob(pattern)
    except ValueError as error:
        assert str(error).startswith("The pattern")
    else:
        assert matches(path) in (True, False)
        assert matches(path) == matches(path)


# -- size -------------------------------------------------------------------------------------------


def test_a_hundred_thousand_entries_are_listed_and_searched_in_well_under_a_second() -> None:
    folders = [f"top{i % 50}/folder{i}" for i in range(1000)]
    entries = [Entry(f"top{i}", "dir", "a" * 40, None) for i in range(50)]
    entries += [Entry(folder, "dir", "a" * 40, None) for folder in folders]
    entries += [Entry(f"{folder}/file_{i}.py", "file", "a" * 40, i) for folder in folders for i in range(99)]
    snapshot = RepositorySnapshot(
        Layers(VirtualClock()).client(Server()),
        "o",
        "n",
        full_name="o/n",
        ref="HEAD",
        commit="a" * 40,
        entries=entries,
        truncated=False,
    )
    work = Workspace(snapshot._client, snapshot)
    call = Call("list_directory", lambda _: None)

    async def measure() -> list[float]:
        took = []
        steps: list[tuple[Any, dict[str, str]]] = [
            (list_directory, {}),
            (list_directory, {"path": ""}),
            (list_directory, {"path": "top3"}),
            (find_files, {"pattern": "*.py"}),
            (find_files, {"pattern": "top*/folder1*/file_9?.{py,js}"}),
        ]
        for tool, arguments in steps:
            began = time.process_time()
            result = await tool(work, call, arguments)
            took.append(time.process_time() - began)
            assert result["ok"] is True
        return took

    first, *others = asyncio.run(measure())
    # generous: it takes a fifth of that
    assert first < 1.5 and others[0] < 0.05 and max(others) < 1.5

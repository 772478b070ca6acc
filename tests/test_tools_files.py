"""`read_file`: windows, kinds of content, links, odd names."""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from tests.fakes import Content, Link, Submodule, git_hash
from tests.tool_bench import Bench
from tui_agent.tools.files import BLOB_LIMIT

LONG = "".join(f"line {i}\n" for i in range(1, 2001))


async def read(content: Content, **more: Any) -> dict[str, Any]:
    return await Bench({"file.txt": content}).ask("read_file", path="file.txt", **more)


# -- windows ----------------------------------------------------------------------------------------


async def test_a_short_file_comes_whole() -> None:
    assert await read("one\ntwo\n") == {
        "ok": True,
        "path": "file.txt",
        "characters": 8,
        "lines": 2,
        "content": "one\ntwo\n",
        "truncated": False,
    }


async def test_a_long_file_comes_in_exactly_6000_characters_and_says_how_to_go_on() -> None:
    result = await read(LONG)
    assert result["content"] == LONG[:6000]
    assert (result["characters"], result["lines"], result["truncated"]) == (len(LONG), 2000, True)
    assert result["rest"] == "Call read_file with offset=6000."
    assert "first_line" not in result and result["last_line"] == LONG[:6000].count("\n") + 1


@pytest.mark.parametrize(("length", "truncated"), [(5999, False), (6000, False), (6001, True)])
async def test_the_limit_is_exact(length: int, truncated: bool) -> None:
    result = await read("x" * length)
    assert len(result["content"]) == min(length, 6000) and result["truncated"] is truncated
    assert ("rest" in result) is truncated


async def test_characters_are_counted_not_bytes() -> None:
    text = "漢😀é" * 3000
    result = await read(text)
    assert result["content"] == text[:6000] and result["characters"] == 9000


async def test_windows_by_offset_join_to_the_whole_text() -> None:
    bench, text, offset = Bench({"file.txt": LONG}), "", 0
    while True:
        result = await bench.ask("read_file", path="file.txt", offset=offset)
        text += result["content"]
        assert result.get("first_line", 1) == LONG.count("\n", 0, offset) + 1
        if not result["truncated"]:
            break
        offset = len(text)
        assert result["rest"].endswith(f"offset={offset}.")
    assert text == LONG and bench.asked == 1


@pytest.mark.parametrize(
    ("window", "content", "first", "last"),
    [
        ({"start_line": 1, "end_line": 1}, "line 1\n", 1, 1),
        ({"start_line": 2, "end_line": 4}, "line 2\nline 3\nline 4\n", 2, 4),
        ({"end_line": 2}, "line 1\nline 2\n", 1, 2),
        ({"start_line": 1999}, "line 1999\nline 2000\n", 1999, 2000),
        ({"start_line": 2000, "end_line": 9999}, "line 2000\n", 2000, 2000),
        ({"start_line": "3", "end_line": "3"}, "line 3\n", 3, 3),
        ({"start_line": 3, "end_line": 3, "offset": 0}, "line 3\n", 3, 3),
        ({"offset": 7}, LONG[7:6007], 2, None),
        ({"offset": len(LONG) - 1}, "\n", 2000, 2000),
    ],
)
async def test_a_window_holds_what_was_asked_for(
    window: dict[str, Any], content: str, first: int, last: int | None
) -> None:
    result = await read(LONG, **window)
    assert (result["content"], result.get("first_line", 1)) == (content, first)
    assert last is None or result.get("last_line", 2000) == last
    assert result["characters"] == len(LONG) and result["lines"] == 2000


async def test_a_window_of_many_lines_is_cut_at_the_limit_too() -> None:
    result = await read(LONG, start_line=10, end_line=1900)
    begin = LONG.index("line 10\n")
    assert result["content"] == LONG[begin : begin + 6000]
    assert result["rest"].endswith(f"offset={begin + 6000}.")


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ({"offset": len(LONG)}, "ends before that: it has 18,893 characters in 2,000 lines"),
        ({"offset": 10**30}, "ends before that"),
        ({"start_line": 2001}, "ends before that"),
        ({"start_line": 2002}, "ends before that"),
        ({"start_line": 10**30}, "ends before that"),
        ({"start_line": 5, "end_line": 4}, "end_line lies before start_line"),
        ({"start_line": 5, "offset": 6000}, "either offset or start_line"),
    ],
)
async def test_a_window_past_the_end_or_upside_down_is_an_error(window: dict[str, Any], words: str) -> None:
    assert words in await Bench({"file.txt": LONG}).error("read_file", path="file.txt", **window)


async def test_a_single_long_line_is_cut_like_any_other_text() -> None:
    result = await read("x" * 3_000_000)
    assert len(result["content"]) == 6000 and (result["lines"], result["last_line"]) == (1, 1)
    result = await read("x" * 20_000, offset=18_000)
    assert len(result["content"]) == 2000 and not result["truncated"]


async def test_the_last_line_may_have_no_end() -> None:
    result = await read("a\nb")
    assert (result["lines"], result["content"]) == (2, "a\nb")


# -- kinds of content -------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [{}, {"offset": 0}, {"start_line": 1}, {"end_line": 5}])
async def test_an_empty_file_is_a_success_that_says_so(window: dict[str, Any]) -> None:
    result = await read("", **window)
    assert result["ok"] is True and result["content"] == "" and "empty" in result["note"]
    assert (result["characters"], result["lines"]) == (0, 0) and not {"first_line", "last_line"} & result.keys()


async def test_crlf_becomes_lf_and_nothing_is_framed_or_numbered() -> None:
    result = await read(b"a\r\nb\r\nc")
    assert result["content"] == "a\nb\nc" and result["characters"] == 5


async def test_remarks_stand_in_a_field_of_their_own() -> None:
    result = await read("Grüße".encode("latin-1"))
    assert result["content"] == "Grüße" and "guess" in result["note"] and result["encoding"] != "utf-8"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x89PNG\r\n\0\0", "cannot be shown"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n",
            "Git LFS pointer: the file itself (12,345 bytes)",
        ),
    ],
)
async def test_what_is_no_text_is_named_with_its_size(content: bytes, words: str) -> None:
    sentence = await Bench({"file.bin": content}).error("read_file", path="file.bin")
    assert words in sentence and f"({len(content)} bytes)" in sentence


async def test_a_file_too_large_for_a_reply_is_not_asked_for() -> None:
    bench = Bench({"big.bin": "x"})
    await bench.open()
    tree = {"path": "big.bin", "mode": "100644", "type": "blob", "sha": "b" * 40, "size": BLOB_LIMIT + 1}
    bench = Bench({"big.bin": "x"})
    bench.github.on("/git/trees/", httpx.Response(200, json={"tree": [tree]}))
    assert "bytes are not read" in await bench.error("read_file", path="big.bin")
    assert bench.asked == 0


async def test_the_largest_file_that_is_read_fits_into_a_reply() -> None:
    bench = Bench({"big.txt": "x" * BLOB_LIMIT})
    assert (await bench.ask("read_file", path="big.txt"))["characters"] == BLOB_LIMIT


@pytest.mark.parametrize(
    "blob",
    [
        {"encoding": "none", "content": "", "size": 8},
        {"encoding": "base64", "content": "bm90IHRoZSB3aG9sZQ==", "size": 8},
        {"encoding": "base64", "content": "!!!!", "size": 8},
        {"encoding": "base64", "content": None, "size": 8},
        {"encoding": "base64", "size": 8},
        {"encoding": "base64", "content": "b25lCnR3bw", "size": 8},
    ],
)
async def test_a_blob_that_is_not_what_was_asked_for_is_trouble(blob: dict[str, Any]) -> None:
    bench = Bench({"file.txt": "one\ntwo\n"})
    await bench.open()
    bench.github.on("/git/blobs/", httpx.Response(200, json=blob))
    assert (await bench.ask("read_file", path="file.txt"))["content"] == "one\ntwo\n"
    assert bench.last.attempts == 2


async def test_a_blob_may_come_as_text() -> None:
    bench = Bench({"file.txt": "grün"})
    await bench.open()
    bench.github.on("/git/blobs/", httpx.Response(200, json={"encoding": "utf-8", "content": "grün", "size": 5}))
    assert (await bench.ask("read_file", path="file.txt"))["content"] == "grün"


async def test_a_file_is_asked_for_by_its_hash_and_once() -> None:
    bench = Bench({"a/one.txt": "same", "b/two.txt": "same"})
    for path in ("a/one.txt", "b/two.txt"):
        assert (await bench.ask("read_file", path=path))["path"] == path
    assert bench.github.targets == [f"/repos/octo/demo/git/blobs/{git_hash('blob', b'same')}"]


# -- names ------------------------------------------------------------------------------------------

ODD_NAMES = [
    " leading",
    "trailing ",
    "back\\slash",
    "new\nline",
    "tab\tand\x1b[31m",
    "a b/c d.txt",
    "hash#?&=+%41%2f",
    "...",
    "..hidden",
    "[red]x[/].txt",
    "für/漢字/😀",
    "-rf",
    "~",
    "*",
    "quote'\"",
]


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_file_is_found_by_whatever_name_it_has(name: str) -> None:
    bench = Bench({name: "found\n", "other": ""})
    result = await bench.ask("read_file", path=name)
    assert result["content"] == "found\n" and result["path"] == name


@pytest.mark.parametrize(
    "path", ["./src/app.py", "/src/app.py", "src//app.py", " src/app.py ", "src/../src/app.py", "src/app.py/"]
)
async def test_a_path_may_be_written_as_models_write_it(path: str) -> None:
    assert (await Bench({"src/app.py": "x\n"}).ask("read_file", path=path))["path"] == "src/app.py"


async def test_the_exact_name_goes_before_the_tidy_one() -> None:
    bench = Bench({" x": "blank", "x": "plain"})
    assert (await bench.ask("read_file", path=" x"))["content"] == "blank"
    assert (await bench.ask("read_file", path="x"))["content"] == "plain"


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/../etc/passwd", " .. ", "./.."])
async def test_a_path_out_of_the_repository_is_refused(path: str) -> None:
    bench = Bench({"x": ""})
    assert "leads out of the repository" in await bench.error("read_file", path=path)
    assert bench.asked == 0


async def test_a_missing_file_is_said_to_be_missing_with_what_is_like_it() -> None:
    bench = Bench({"docs/README.md": "", "src/x": ""})
    assert await bench.error("read_file", path="readme.md") == (
        "There is no 'readme.md' at this commit. There is 'docs/README.md'."
    )
    assert "List its directory" in await bench.error("read_file", path="src/nothing")
    assert await bench.error("read_file", path="src/x/y") == "There is no 'src/x/y': 'src/x' is a file: call read_file."


async def test_a_name_without_end_makes_no_sentence_without_end() -> None:
    sentence = await Bench({"x": ""}).error("read_file", path="y" * 100_000 + "\x1b]0;z\x07")
    assert len(sentence) < 500 and "\x1b" not in sentence


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("src", "is a dir, no file: call list_directory"),
        ("", "is a dir"),
        ("sub", "is a submodule, no file (commit 222222222222 of another repository"),
    ],
)
async def test_what_is_no_file_is_named(path: str, words: str) -> None:
    assert words in await Bench({"src/x": "", "sub": Submodule("2" * 40)}).error("read_file", path=path)


async def test_below_a_submodule_there_is_nothing_here_and_the_answer_says_why() -> None:
    sentence = await Bench({"vendor/sub": Submodule("2" * 40)}).error("read_file", path="vendor/sub/README.md")
    assert (
        "'vendor/sub' is a submodule (commit 222222222222 of another repository, whose files are not here)" in sentence
    )


# -- symbolic links ---------------------------------------------------------------------------------

LINKS: dict[str, Content] = {
    "README.md": "# Demo\n",
    "docs/guide.md": "guide\n",
    "links/readme": Link("../README.md"),
    "links/chain": Link("readme"),
    "links/dir": Link("../docs"),
    "links/self": Link("."),
    "links/root": Link(".."),
    "links/broken": Link("does-not-exist"),
    "links/a": Link("b"),
    "links/b": Link("a"),
    "links/me": Link("me"),
    "links/out": Link("../../../etc/passwd"),
    "links/absolute": Link("/etc/hostname"),
    "links/git": Link("../.git/config"),
    "links/empty": Link(""),
    "links/sub": Link("../vendor"),
    "links/trailing": Link("../docs/"),
    "top": Link("docs/guide.md"),
    "vendor": Submodule(),
}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("links/readme", "README.md"),
        ("links/chain", "README.md"),
        ("top", "docs/guide.md"),
        ("links/dir/guide.md", "docs/guide.md"),
        ("links/trailing/guide.md", "docs/guide.md"),
        ("links/self/self/self/readme", "README.md"),
        ("links/root/links/root/README.md", "README.md"),
        ("./links/dir/guide.md", "docs/guide.md"),
    ],
)
async def test_a_link_inside_the_repository_is_followed_and_said_to_be_one(path: str, target: str) -> None:
    bench = Bench(LINKS)
    result = await bench.ask("read_file", path=path)
    assert result["symlink_to"] == target and result["path"] == path.removeprefix("./")
    assert result["content"] == str(LINKS[target])


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("links/out", "out of the repository (to '../../../etc/passwd'); it is not followed"),
        ("links/absolute", "out of the repository (to '/etc/hostname'); it is not followed"),
        ("links/absolute/x", "it is not followed"),
        ("links/a", "leads in a circle"),
        ("links/me", "leads in a circle"),
        ("links/broken", "leads by a symbolic link to 'links/does-not-exist', which does not exist"),
        ("links/git", "'.git', which does not exist"),
        ("links/dir/none.md", "'docs/none.md', which does not exist"),
        ("links/empty", "to nowhere"),
        ("links/dir", "is a dir, no file: call list_directory"),
        ("links/sub", "is a submodule"),
    ],
)
async def test_a_link_that_leads_to_no_file_is_an_error_that_says_where(path: str, words: str) -> None:
    bench = Bench(LINKS)
    assert words in await bench.error("read_file", path=path)
    assert bench.asked <= 3


async def test_a_link_that_is_binary_leads_nowhere() -> None:
    bench = Bench({"link": Link("x\0y")})
    assert "to nowhere" in await bench.error("read_file", path="link")


async def test_a_link_that_is_longer_than_any_path_is_not_even_read() -> None:
    bench = Bench({"link": Link("x/" * 5000)})
    assert "to nowhere" in await bench.error("read_file", path="link")
    assert bench.asked == 0


# -- a tree that was cut ----------------------------------------------------------------------------


async def test_in_a_tree_that_was_cut_a_file_is_found_folder_by_folder() -> None:
    bench = Bench({"a/b/c.txt": "deep\n", "z": ""}, truncated=0)
    result = await bench.ask("read_file", path="/a/b/c.txt")
    assert result["content"] == "deep\n"
    assert bench.last.attempts == bench.asked == 4
    assert "There is no 'a/b/none'" in await bench.error("read_file", path="a/b/none")
    assert bench.asked == 4


def test_the_bound_on_files_leaves_room_for_base64_and_its_line_breaks() -> None:
    assert len(base64.encodebytes(bytes(BLOB_LIMIT))) < 16 * 2**20 - 1024

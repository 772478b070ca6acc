"""Observations with their short forms spelt out: what the tools really answer, looked up by evidence and figures."""

from __future__ import annotations

from tests.fakes import Content, Link, Submodule
from tests.tool_bench import Bench
from tui_agent.report.spelled import spelled_out

FILES: dict[str, Content] = {
    "README.md": "# Demo\n",
    "src/app.py": "print()\n",
    "src/b.PY": "yy\n",
    "src/.env": "z",
    "link": Link("src"),
    "sub": Submodule("2" * 40),
}


async def test_every_entry_of_a_listing_is_an_object_with_its_kind() -> None:
    result = spelled_out("list_directory", await Bench(FILES).ask("list_directory"))
    assert result["entries"] == [
        {"name": "src", "type": "dir", "files": 3},
        {"name": "README.md", "type": "file", "size": 7},
        {"name": "link", "type": "symlink"},
        {"name": "sub", "type": "submodule"},
    ]
    assert (result["files"], result["size"], result["by_extension"][".py"]) == (4, 19, [2, 11])
    assert result["path"] == "" and "below" not in result


async def test_what_the_entries_alone_say_is_counted() -> None:
    result = spelled_out("list_directory", await Bench(FILES).ask("list_directory", path="src"))
    assert (result["files"], result["size"], result["by_extension"]) == (3, 12, {"": [1, 1], ".py": [2, 11]})
    cut = spelled_out("list_directory", await Bench(FILES, truncated=3).ask("list_directory"))
    assert "files" not in cut, "what lies below directories is not known"


async def test_a_commit_is_an_object_with_its_four_fields() -> None:
    bench = Bench(FILES)
    author = {"name": "A. Author", "date": "2024-01-15T09:00:00Z"}
    bench.github.commits = [{"sha": "a" * 40, "commit": {"message": "Do it", "author": author}}]
    result = spelled_out("get_commits", await bench.ask("get_commits"))
    assert result["commits"] == [{"sha": "aaaaaaa", "date": "2024-01-15", "author": "A. Author", "message": "Do it"}]


async def test_what_is_in_no_short_form_stays_as_it_is() -> None:
    bench = Bench(FILES)
    for tool, arguments in (("read_file", {"path": "README.md"}), ("get_repo_info", {})):
        result = await bench.ask(tool, **arguments)
        assert spelled_out(tool, result) == result
    for odd in ({"ok": True, "entries": []}, {"ok": True, "entries": [{"name": "a", "type": "file", "size": 1}]}):
        assert spelled_out("list_directory", odd) == odd
    assert spelled_out("get_commits", {"commits": [{"sha": "a"}, 5]}) == {"commits": [{"sha": "a"}, 5]}

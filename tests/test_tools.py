"""The toolbox: arguments, whose repository, what is remembered, and how a call ends."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from tests.fakes import Content, quota_headers, refused, settle
from tests.tool_bench import Bench
from tui_agent.events import AttemptFailed, BreakerChanged, ToolFinished, ToolStarted
from tui_agent.tools.schemas import SCHEMAS, TOOL_NAMES, ArgumentError, parse_arguments
from tui_agent.tools.toolbox import CANCELLED, REPEATED, TOOLS, ToolCall

FILES: dict[str, Content] = {"README.md": "# Demo\n", "src/app.py": "print('hi')\n", "src/util.py": "x = 1\n"}
MINE = {"owner": "octo", "repo": "demo"}


# -- schemas ----------------------------------------------------------------------------------------


def test_the_tools_of_the_mission_keep_their_names_and_parameters() -> None:
    required = {schema["function"]["name"]: schema["function"]["parameters"]["required"] for schema in SCHEMAS}
    assert required["get_repo_info"] == ["owner", "repo"]
    assert required["list_directory"] == ["owner", "repo"]
    assert required["read_file"] == ["owner", "repo", "path"]
    assert required["get_commits"] == ["owner", "repo"]
    properties = {schema["function"]["name"]: schema["function"]["parameters"]["properties"] for schema in SCHEMAS}
    assert "path" in properties["list_directory"] and "per_page" in properties["get_commits"]
    assert set(TOOL_NAMES) == set(TOOLS)


@pytest.mark.parametrize("schema", SCHEMAS, ids=TOOL_NAMES)
def test_a_schema_tells_what_it_is_and_when_to_use_it(schema: dict[str, Any]) -> None:
    function = schema["function"]
    parameters = function["parameters"]
    assert "Use it" in function["description"] and len(function["description"]) > 100
    assert parameters["additionalProperties"] is False
    assert all(value["description"] for value in parameters["properties"].values())
    assert set(parameters["required"]) <= set(parameters["properties"])


# -- arguments --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [(5, 5), ("5", 5), (" 5 ", 5), (5.0, 5), (0, 1), (-3, 1), ("-3", 1), (101, 100), (10**30, 100), ("9" * 40, 100)],
)
def test_integers_may_come_as_strings_and_per_page_is_clamped(value: Any, number: int) -> None:
    assert parse_arguments("get_commits", {**MINE, "per_page": value})["per_page"] == number


@pytest.mark.parametrize(
    "value",
    ["", "five", "5.5", 5.5, True, [5], {"n": 5}, "٣", "--5", "5;", "1e2", float("inf"), float("nan"), "9" * 9999],
)
def test_what_is_no_integer_is_said_to_be_none(value: Any) -> None:
    with pytest.raises(ArgumentError, match="per_page of get_commits must be an integer"):
        parse_arguments("get_commits", {**MINE, "per_page": value})


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("read_file", {}, "read_file needs owner and repo and path"),
        ("read_file", MINE, "read_file needs path; it takes owner, repo, path, offset, start_line, end_line"),
        ("read_file", {**MINE, "path": None}, "read_file needs path"),
        ("read_file", {**MINE, "path": 5}, "path of read_file must be a string"),
        ("read_file", {**MINE, "path": ["a"]}, "path of read_file must be a string"),
        ("read_file", {**MINE, "path": "a", "file": "b"}, "has no argument 'file'"),
        ("read_file", {**MINE, "path": "a", "offset": -1}, "offset of read_file must be at least 0"),
        ("read_file", {**MINE, "path": "a", "start_line": 0}, "start_line of read_file must be at least 1"),
        ("get_commits", {**MINE, "page": "0"}, "page of get_commits must be at least 1"),
        ("find_files", MINE, "find_files needs pattern"),
        ("list_directory", [], "must be one JSON object"),
        ("list_directory", "src", "must be one JSON object"),
        ("list_directory", 5, "must be one JSON object"),
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(tool: str, arguments: Any, words: str) -> None:
    bench = Bench(FILES)
    assert words in await bench.error(tool, arguments)
    assert bench.asked == 0 and bench.last.attempts == 0


async def test_null_counts_as_left_out() -> None:
    bench = Bench(FILES)
    result = await bench.ask("read_file", path="README.md", offset=None, start_line=None)
    assert result["content"] == "# Demo\n"
    assert (await bench.ask("list_directory", path=None))["path"] == ""


async def test_arguments_that_are_no_json_are_an_error_with_their_problem() -> None:
    bench = Bench(FILES)
    toolbox = await bench.open()
    answer = await toolbox.execute(3, ToolCall("c", "read_file", None, "The arguments are cut off."))
    assert answer.result == {"ok": False, "error": "The arguments are cut off."} and answer.outcome == "error"
    assert [event.type for event in bench.heard] == ["tool_started", "tool_finished"]
    assert bench.heard.of(ToolStarted)[0].turn == 3


@pytest.mark.parametrize("tool", ["delete_file", "", "read_file ", "__class__", "\x1b[31m", "x" * 10_000])
async def test_an_unknown_tool_is_an_error_that_names_the_known(tool: str) -> None:
    sentence = await Bench(FILES).error(tool)
    assert "There is no tool" in sentence and "get_repo_info, list_directory" in sentence
    assert "\x1b" not in sentence and len(sentence) < 500


# -- whose repository -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "repo"),
    [
        ("octo", "other"),
        ("evil", "demo"),
        ("..", ".."),
        ("octo", "demo/../../evil/secret"),
        ("octo", "demo?x"),
        ("octo%2Fdemo", ""),
        ("", "octo/demo"),
        ("octo/demo", "x"),
        ("", ""),
        ("https://evil.example", "x"),
        ("\x1b[31m" + "x" * 9999, "y" * 9999),
    ],
)
@pytest.mark.parametrize("tool", ["get_repo_info", "list_directory", "read_file", "get_commits", "find_files"])
async def test_the_tools_answer_only_for_the_runs_own_repository(tool: str, owner: str, repo: str) -> None:
    bench = Bench(FILES)
    extra = {"read_file": {"path": "README.md"}, "find_files": {"pattern": "*"}}.get(tool, {})
    sentence = await bench.error(tool, {"owner": owner, "repo": repo, **extra})
    assert "may read octo/demo only" in sentence
    assert bench.asked == 0 and "\x1b" not in sentence and len(sentence) < 500


@pytest.mark.parametrize(("owner", "repo"), [("Octo", "DEMO"), ("octo", "renamed"), ("OCTO", "Renamed")])
async def test_names_are_case_insensitive_and_the_new_name_is_known_too(owner: str, repo: str) -> None:
    bench = Bench(FILES, full_name="octo/renamed")
    bench.github.on("/commits/HEAD", httpx.Response(301, headers={"location": "/repositories/42/commits/HEAD"}))
    assert (await bench.ask("list_directory", {"owner": owner, "repo": repo}))["ok"] is True


ODD_PATHS = [
    "../../user",
    "..",
    "/../x",
    "a?b",
    "a#b",
    "%2e%2e/x",
    "https://evil.example/x",
    "//evil.example",
    "\0",
    "a\nb",
]


@pytest.mark.parametrize("path", ODD_PATHS)
@pytest.mark.parametrize("tool", ["read_file", "list_directory", "get_commits"])
async def test_no_path_makes_a_request_outside_the_repository(tool: str, path: str) -> None:
    bench = Bench(FILES)
    await bench.ask(tool, path=path)
    for request in bench.github.requests:
        assert request.url.raw_path.startswith(b"/repos/octo/demo/") and request.url.host == "api.github.com"
        assert b".." not in request.url.raw_path.partition(b"?")[0]


# -- memory -----------------------------------------------------------------------------------------


async def test_the_same_call_again_is_answered_from_memory_by_reference_to_the_earlier_one() -> None:
    bench = Bench({"long.txt": "x" * 500})
    first = await bench.answer("read_file", path="long.txt")
    assert (bench.last.cache, bench.last.attempts, first.repeated) == ("miss", 1, False)
    for _ in range(2):
        again = await bench.answer("read_file", path="long.txt")
        assert (bench.last.cache, bench.last.attempts, again.repeated) == ("memory", 0, True)
        assert again.result == {"ok": True, "repeated": REPEATED, "call_id": "call_1"}
    assert bench.asked == 1


async def test_an_answer_that_is_shorter_than_a_reference_is_given_again() -> None:
    bench = Bench({"x": "1"})
    first = await bench.ask("read_file", path="x")
    assert await bench.ask("read_file", path="x") == {**first, "repeated": REPEATED}
    error = await bench.ask("read_file", path="gone/" + "y" * 150)
    assert await bench.ask("read_file", path="gone/" + "y" * 150) == {**error, "repeated": REPEATED}


async def test_what_the_model_no_longer_has_before_it_comes_whole_again() -> None:
    bench = Bench({"long.txt": "x" * 500})
    toolbox = await bench.open()
    first = await bench.ask("read_file", path="long.txt")
    await bench.ask("read_file", path="long.txt")
    toolbox.forget_told(["call_2", "call_9"])
    assert (await bench.ask("read_file", path="long.txt"))["call_id"] == "call_1", "a reference is nothing to forget"
    toolbox.forget_told(["call_1"])
    again = await bench.answer("read_file", path="long.txt")
    assert (again.result, again.repeated, bench.asked) == (first, False, 1)
    assert (await bench.ask("read_file", path="long.txt"))["call_id"] == "call_4", "from now on that one is named"


@pytest.mark.parametrize(
    ("tool", "once", "again"),
    [
        ("list_directory", {}, {"path": ""}),
        ("list_directory", {"path": "src"}, {"path": "src", "offset": 0}),
        ("get_commits", {}, {"per_page": "30", "page": 1}),
        ("read_file", {"path": "README.md"}, {"path": "README.md", "offset": "0", "end_line": None}),
        ("get_repo_info", {}, {"owner": "OCTO"}),
        ("list_directory", {}, {"path": "."}),
        ("list_directory", {"path": "src"}, {"path": "./src/"}),
        ("read_file", {"path": "src/app.py"}, {"path": "/src//app.py"}),
    ],
)
async def test_a_default_that_is_spelt_out_makes_no_other_call(tool: str, once: Any, again: Any) -> None:
    bench = Bench(FILES)
    await bench.ask(tool, **once)
    assert (await bench.answer(tool, **again)).repeated


async def test_the_same_call_twice_in_one_turn_makes_one_request() -> None:
    bench = Bench(FILES)
    await bench.open()
    answers = await asyncio.gather(*[bench.answer("read_file", path="README.md") for _ in range(4)])
    assert bench.asked == 1
    assert [answer.repeated for answer in answers] == [False, True, True, True]


async def test_windows_of_one_file_side_by_side_make_one_request() -> None:
    bench = Bench({"a.txt": "x" * 20_000})
    await bench.open()
    await asyncio.gather(*[bench.answer("read_file", path="a.txt", offset=i * 6000) for i in range(4)])
    assert bench.asked == 1


async def test_an_error_is_remembered_too() -> None:
    bench = Bench(FILES)
    await bench.open()
    bench.github.on("/commits", refused(422, "No"))
    for _ in range(2):
        await bench.error("get_commits")
    assert bench.asked == 1 and bench.last.cache == "memory"


async def test_a_fallback_is_never_remembered() -> None:
    bench = Bench(FILES)
    await bench.open()
    bench.github.on("/git/blobs/", *[refused(503)] * 4)
    assert (await bench.answer("read_file", path="README.md")).outcome == "fallback"
    answer = await bench.answer("read_file", path="README.md")
    assert answer.outcome == "ok" and not answer.repeated and bench.last.cache == "miss"


async def test_what_the_snapshot_knows_costs_no_request_and_is_memory() -> None:
    bench = Bench(FILES)
    for tool, more in (("list_directory", {}), ("find_files", {"pattern": "*.py"})):
        await bench.ask(tool, **more)
        assert (bench.last.cache, bench.last.attempts) == ("memory", 0)
    assert bench.asked == 0


# -- how a call ends --------------------------------------------------------------------------------


async def test_every_call_begins_and_ends_with_an_event_that_holds_the_very_result() -> None:
    bench = Bench(FILES)
    answer = await bench.answer("read_file", path="README.md")
    started, finished = bench.heard.of(ToolStarted)[0], bench.last
    assert (started.call_id, started.tool, started.turn) == ("call_1", "read_file", 1)
    assert started.arguments == finished.arguments == {**MINE, "path": "README.md"}
    assert finished.result is answer.result and finished.outcome == "ok"


async def test_parallel_calls_each_have_their_end() -> None:
    bench = Bench(FILES)
    await bench.open()
    await asyncio.gather(
        bench.answer("read_file", path="README.md"), bench.answer("get_commits"), bench.answer("nonsense")
    )
    assert sorted(bench.pairs()) == sorted(
        (kind, f"call_{i}") for kind in ("tool_started", "tool_finished") for i in (1, 2, 3)
    )


async def test_trouble_of_the_service_ends_as_a_fallback_with_what_is_known() -> None:
    bench = Bench(FILES)
    await bench.open()
    bench.github.on("/git/blobs/", *[refused(503, "Maintenance")] * 4)
    answer = await bench.answer("read_file", path="./README.md")
    assert answer.outcome == "fallback"
    assert answer.result == {
        "ok": False,
        "error": "The service failed: HTTP 503: Maintenance. Go on with what you have, or ask once more in a later "
        "turn.",
        "fallback": True,
        "known": {"path": "README.md", "size": 7},
    }
    assert bench.last.attempts == 4 and len(bench.heard.of(AttemptFailed)) == 4


async def test_an_open_breaker_is_a_fallback_without_a_request() -> None:
    bench = Bench(FILES, layers={"threshold": 2})
    await bench.open()
    bench.github.on("/git/blobs/", *[refused(500)] * 2)
    await bench.ask("read_file", path="README.md")
    answer = await bench.answer("read_file", path="src/app.py")
    assert answer.outcome == "fallback" and bench.last.attempts == 0 and bench.last.cache == "miss"
    assert "The breaker of read_file is open after 2 failures in a row" in answer.result["error"]
    assert bench.asked == 2 and len(bench.heard.of(BreakerChanged)) == 1
    # the others have breakers of their own
    assert (await bench.answer("get_repo_info")).outcome == "ok"


async def test_a_limit_too_far_away_is_a_fallback_that_says_when_it_ends() -> None:
    bench = Bench(FILES)
    await bench.open()
    headers = quota_headers(0, bench.clock.time() + 1800)
    bench.github.on("", httpx.Response(403, headers=headers, json={"message": "API rate limit exceeded"}))
    answer = await bench.answer("get_commits")
    assert answer.outcome == "fallback" and "ends in 30 min (at 22:43:21 UTC)" in answer.result["error"]
    answer = await bench.answer("get_repo_info")
    assert answer.outcome == "fallback" and bench.last.attempts == 0 and bench.asked == 1
    assert answer.result["known"] == {"full_name": "octo/demo", "commit": bench.github.commit, "files": 3}
    # what needs no request goes on
    assert (await bench.answer("list_directory")).outcome == "ok"


async def test_a_refusal_is_an_error_in_a_sentence() -> None:
    bench = Bench(FILES)
    bench.github.on("/commits.per_page", refused(451, "Blocked"))
    assert await bench.error("get_commits") == "It is blocked for legal reasons; do without it (HTTP 451: Blocked)."


async def test_a_fault_of_a_tool_is_an_answer_and_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> dict[str, Any]:
        raise ZeroDivisionError

    monkeypatch.setitem(TOOLS, "get_commits", broken)
    assert "failed by a fault of its own (ZeroDivisionError)" in await Bench(FILES).error("get_commits")


async def test_a_cancelled_call_is_told_as_one_and_leaves_the_next_one_free() -> None:
    bench = Bench(FILES)
    await bench.open()

    async def never(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(1e9)
        raise AssertionError

    bench.github.on("/git/blobs/", never)
    task = asyncio.create_task(bench.answer("read_file", path="README.md"))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [cancelled] = bench.heard.of(ToolFinished)
    assert (cancelled.outcome, cancelled.result, cancelled.attempts) == ("error", CANCELLED, 1)
    assert bench.github.open == 0
    assert (await bench.answer("read_file", path="README.md")).outcome == "ok"


async def test_attempts_are_those_of_the_whole_call() -> None:
    bench = Bench(FILES)
    await bench.open()
    headers = {"retry-after": "2"}
    bench.github.on("/git/blobs/", refused(502), httpx.Response(429, headers=headers, json={}), refused(500))
    assert (await bench.answer("read_file", path="README.md")).outcome == "ok"
    assert bench.last.attempts == bench.asked == 4
    assert bench.last.elapsed == 0.5 + 2.0 + 1.0


async def test_no_secret_that_the_server_echoes_is_in_a_result_or_an_event() -> None:
    token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    files: dict[str, Content] = {"env.txt": f"TOKEN={token}\n", f"{token}.txt": "x"}
    bench = Bench(files, token=token, description=f"Bearer {token}", topics=[token], license={"spdx_id": token})
    bench.github.commits = [{"sha": "a" * 40, "commit": {"message": f"Add {token}", "author": {"name": token}}}]
    for tool, more in (
        ("get_repo_info", {}),
        ("get_commits", {}),
        ("list_directory", {}),
        ("find_files", {"pattern": "*"}),
        ("read_file", {"path": "env.txt"}),
        ("read_file", {"path": f"{token[:-1]}"}),
    ):
        await bench.ask(tool, **more)
    assert token not in repr(bench.heard)
    (_, _, _, _, read, _) = (event.result for event in bench.heard.of(ToolFinished))
    assert read["content"] == "TOKEN=[secret]\n"

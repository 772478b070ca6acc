"""The survey's exploration and its wire: its calls by rule, how it takes trouble, what a client sees."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest

from tests.survey_fakes import COMMIT, FALLBACK, NOW, TOOLS, FakeRepository, Json, Played, assistant, play, task
from tui_agent.transports.survey.model import SurveyTransport, decide
from tui_agent.transports.survey.rules import MOST_ASKS, MOST_READ, MOST_TURNS

COMMITS: list[tuple[str | None, str, str]] = [
    ("Ada", "2025-08-20T10:00:00Z", "Fix it"),
    ("Ben", "2025-07-01T10:00:00Z", "Begin"),
]
PYTHON = {
    "README.md": "# Demo\n\nDemo counts things and tells how many there are.\n",
    "LICENSE": "MIT License\n\nCopyright (c) 2025 Ada\n",
    "pyproject.toml": '[project]\nname = "demo"\ndependencies = ["httpx>=0.28"]\n'
    '[project.scripts]\ndemo = "demo.cli:main"\n',
    "src/demo/__init__.py": '"""Counts things of every kind."""\n',
    "src/demo/cli.py": '"""The command line of the demo."""\n',
    "tests/test_demo.py": "def test_it() -> None: ...\n",
    "docs/index.md": "# Docs\n",
    ".github/workflows/ci.yml": "on: [push]\njobs:\n  test: {}\n",
}


def names(played: Played, turn: int) -> list[str]:
    return [call["function"]["name"] for call in played.turns[turn - 1].calls]


def targets(played: Played, turn: int) -> set[str]:
    found = (json.loads(call["function"]["arguments"]) for call in played.turns[turn - 1].calls)
    return {arguments.get("path") or arguments.get("pattern") or "" for arguments in found}


# --- exploration


def test_it_explores_from_the_root_inwards_side_by_side() -> None:
    played = play(FakeRepository(PYTHON, COMMITS))
    assert names(played, 1) == ["get_repo_info", "list_directory", "get_commits"]
    assert targets(played, 2) == {"README.md", "LICENSE", "pyproject.toml", ".github/workflows/*"}
    assert {"src", "tests", "docs", "test_*.py", ".github/workflows/ci.yml"} <= targets(played, 3)
    assert "src/demo" in targets(played, 4)
    assert targets(played, 5) == {"src/demo/cli.py", "src/demo/__init__.py"}
    assert len(played.turns) == 6
    assert played.turns[-1].finish_reason == "stop"


def test_every_turn_says_which_rule_fires_and_why() -> None:
    played = play(FakeRepository(PYTHON, COMMITS))
    assert [turn.reasoning.split("”")[0] for turn in played.turns] == [
        "Rule “first look",
        "Rule “papers",
        "Rule “rooms",
        "Rule “deeper",
        "Rule “entries",
        "Rule “write",
    ]
    assert "`README.md`" in played.turns[1].reasoning


def test_it_names_no_file_that_nothing_has_shown() -> None:
    played = play(FakeRepository(PYTHON, COMMITS))
    assert set(played.read) <= set(PYTHON)
    assert {arguments["path"] for arguments in played.calls("list_directory") if "path" in arguments} <= {
        "src", "tests", "docs", "src/demo", ".github",
    }  # fmt: skip


def test_the_same_messages_give_the_same_turn() -> None:
    messages = play(FakeRepository(PYTHON, COMMITS)).messages
    for length in range(2, len(messages)):
        first, second = (decide(messages[:length], TOOLS, NOW) for _ in range(2))
        assert first == second


def test_no_call_is_made_twice_where_all_goes_well() -> None:
    repository = FakeRepository(PYTHON, COMMITS)
    play(repository)
    assert set(repository.asked.values()) == {1}


def test_a_long_manifest_is_read_on_until_it_is_whole() -> None:
    entries = ",\n".join(f'  "package-number-{n}": "^{n}.0.0"' for n in range(900))
    text = '{\n"name": "big",\n"dependencies": {\n' + entries + "\n}}\n"
    played = play(FakeRepository({"package.json": text, "index.js": "x"}))
    offsets = [
        arguments.get("offset", 0) for arguments in played.calls("read_file") if arguments["path"] == "package.json"
    ]
    assert sorted(offsets) == list(range(0, len(text), 6000))
    assert "Runtime dependencies (900, `package.json#L" in played.report
    assert len(played.turns) <= 6


def test_an_endless_manifest_is_given_up_and_stated_nothing_of() -> None:
    text = '{"dependencies": {' + '"a": "1",\n' * 20_000 + '"b": "1"}}'
    played = play(FakeRepository({"package.json": text}))
    assert len(played.calls("read_file")) == 10
    assert "It was not read whole, so nothing is stated of what it declares." in played.report
    assert f"(the first 60,000 of {len(text):,} characters)" in played.report


def test_windows_of_uneven_length_are_put_together() -> None:
    text = '{"dependencies": {' + ", ".join(f'"p{n}": "{n}"' for n in range(1500)) + "}}"

    def short(name: str, arguments: Json) -> Json | None:
        if name != "read_file":
            return None
        offset = arguments.get("offset", 0)
        content = text[offset : offset + (6000 if offset == 0 else 4500)]
        return {"ok": True, "path": "package.json", "characters": len(text), "content": content, "truncated": True}

    played = play(FakeRepository({"package.json": text}, fault=short))
    assert "Runtime dependencies (1,500" in played.report


def test_workspaces_are_followed_and_copied_code_is_not() -> None:
    files = {
        "package.json": '{"name": "mono", "workspaces": ["packages/*"]}',
        "packages/a/package.json": '{"name": "a", "dependencies": {"react": "^18"}}',
        "packages/a/index.ts": "export {}\n",
        "packages/b/package.json": '{"name": "b"}',
        "node_modules/x/package.json": '{"name": "x"}',
        "node_modules/x/index.js": "x" * 9000,
    }
    played = play(FakeRepository(files))
    assert "packages/a/package.json" in played.read
    assert "packages/b/package.json" in played.read
    assert "node_modules/x/package.json" not in played.read
    assert "| TypeScript | 1 | 10 | 100.0 % |" in played.report
    assert "Left out as copied or built: `node_modules/` (2 files, 9,013 bytes)." in played.report


def test_inner_packages_are_told_in_their_own_words() -> None:
    files = {
        "demo/__init__.py": '"""Demo as a whole."""\n',
        "demo/big/__init__.py": '"""Where the large part of it lives."""\n',
        "demo/big/a.py": "x",
        "demo/silent/__init__.py": "",
    }
    played = play(FakeRepository(files))
    assert "demo/silent/__init__.py" not in played.read
    assert "`big/` says of itself “Where the large part of it lives.” (`demo/big/__init__.py#L1`)" in played.report


def test_manifests_of_examples_are_named_and_not_read() -> None:
    files = {"pyproject.toml": "", "a.py": "x", "examples/one/pyproject.toml": "[project]\nname = 'one'\n"}
    played = play(FakeRepository(files))
    assert "examples/one/pyproject.toml" not in played.read
    assert "Further manifests below the root, not read: `examples/one/pyproject.toml`" in played.report


def test_maven_sources_are_found_without_walking_down_their_packages() -> None:
    files = {
        "pom.xml": "<project><artifactId>shop</artifactId></project>",
        "src/main/java/com/example/shop/App.java": "class App {}\n",
        "src/main/java/com/example/shop/db/Db.java": "class Db {}\n",
        "src/test/java/com/example/shop/AppTest.java": "class AppTest {}\n",
    }
    played = play(FakeRepository(files))
    assert "src/main/java/com/example/shop" in {a.get("path") for a in played.calls("list_directory")}
    assert len(played.turns) <= 6


def test_a_root_of_many_entries_is_listed_to_its_end_within_bounds() -> None:
    played = play(FakeRepository({f"file-{n:04}.txt": "x" for n in range(700)} | {"z.md": "x"}))
    assert [a.get("offset", 0) for a in played.calls("list_directory")] == [0, 200, 400, 600]
    large = play(FakeRepository({f"file-{n:05}.txt": "x" for n in range(3000)}))
    assert len(large.calls("list_directory")) == 5
    assert "Only the first 1,000 of the root's 3,000 entries were listed." in large.report
    assert "Licence: the root could not be seen whole." in large.report


def test_reading_stays_within_its_bound() -> None:
    files = {f"packages/p{n}/package.json": "{}" for n in range(50)}
    files |= {f"packages/p{n}/index.js": "x" for n in range(50)}
    files |= {f"requirements-{n}.txt": "x" for n in range(50)} | {"README.md": "x", "package.json": "{}"}
    files |= {f".github/workflows/{n}.yml": "on: push" for n in range(50)}
    played = play(FakeRepository(files))
    assert len(played.read) <= MOST_READ
    assert len(played.turns) <= MOST_TURNS


def test_only_tools_that_are_offered_are_called() -> None:
    messages: list[Any] = [task()]
    repository = FakeRepository(PYTHON, COMMITS)
    offered = [tool for tool in TOOLS if tool["function"]["name"] in ("list_directory", "read_file")]
    while (turn := decide(messages, offered, NOW)).calls:
        messages.append(assistant(turn))
        for call in turn.calls:
            result = repository.call(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
    assert {key.split(" ")[0] for key in repository.asked} == {"list_directory", "read_file"}
    assert "The history was not asked for in this run." in turn.content


# --- trouble


class Failing:
    """Falls back the first `times` times that a call of a tool (about a path) is made."""

    def __init__(self, tool: str, times: int, path: str | None = None) -> None:
        self.tool, self.times, self.path = tool, times, path
        self.seen = 0

    def __call__(self, name: str, arguments: Json) -> Json | None:
        if name != self.tool or (self.path is not None and arguments.get("path", "") != self.path):
            return None
        self.seen += 1
        return FALLBACK if self.seen <= self.times else None


def test_what_fell_back_is_asked_again_a_turn_later() -> None:
    fault = Failing("read_file", 1, "README.md")
    played = play(FakeRepository(PYTHON, COMMITS, fault=fault))
    assert fault.seen == 2
    assert "README.md" in targets(played, 3)
    assert "Asked again beside that" in played.turns[2].reasoning
    assert "Demo counts things" in played.report
    assert "because the service failed" not in played.report


def test_what_fell_back_twice_gets_one_more_try_at_the_very_end() -> None:
    fault = Failing("read_file", 2, "README.md")
    played = play(FakeRepository(PYTHON, COMMITS, fault=fault))
    assert fault.seen == 3
    assert targets(played, len(played.turns) - 1) == {"README.md"}
    assert "Demo counts things" in played.report


class Breaker:
    """An open breaker in front of a tool, which lets calls pass once it was waited for so many times."""

    def __init__(self, tool: str, closes_after: int) -> None:
        self.tool, self.left = tool, closes_after

    def __call__(self, name: str, arguments: Json) -> Json | None:
        if name != self.tool or self.left <= 0:
            return None
        error = "The breaker of read_file is open; nothing is sent for another 9 s. Go on with what you have."
        return {"ok": False, "fallback": True, "error": error}

    def wait(self, seconds: float) -> None:
        self.left -= 1


def behind_breaker(tool: str, closes_after: int) -> FakeRepository:
    breaker = Breaker(tool, closes_after)
    return FakeRepository(PYTHON, COMMITS, fault=breaker, on_wait=breaker.wait)


def waits(played: Played) -> list[tuple[int, float, int]]:
    """Turn, seconds and calls of each turn that waits."""
    return [(turn.number, turn.wait, len(turn.calls)) for turn in played.turns if turn.wait]


def test_a_tool_behind_an_open_breaker_is_left_alone_then_probed_with_one_call() -> None:
    repository = behind_breaker("read_file", 1)
    played = play(repository)
    assert "read_file" not in names(played, 3)
    assert names(played, 4) == ["list_directory"]
    assert waits(played) == [(5, 10.0, 1)]
    assert "I wait 10 seconds" in played.turns[4].reasoning
    assert {"README.md", "LICENSE", "pyproject.toml"} <= targets(played, 5) | targets(played, 6)
    assert "Demo counts things" in played.report
    assert max(repository.asked.values()) == 2


def test_a_breaker_that_stays_open_is_given_up_after_a_few_probes() -> None:
    repository = behind_breaker("read_file", 99)
    played = play(repository)
    assert [calls for _, _, calls in waits(played)] == [1, 1, 1]
    assert max(repository.asked.values()) <= MOST_ASKS
    assert "Could not be read, because the service failed: `read_file README.md`" in played.report


@pytest.mark.parametrize("tool", ["get_repo_info", "list_directory", "find_files", "read_file", "get_commits"])
def test_a_tool_that_never_answers_ends_in_a_report_that_says_so(tool: str) -> None:
    repository = FakeRepository(PYTHON, COMMITS, fault=Failing(tool, 10_000))
    played = play(repository)
    assert max(repository.asked.values()) <= MOST_ASKS
    assert len(played.turns) <= MOST_TURNS + 1
    assert "Could not be read, because the service failed:" in played.report
    assert f"`{tool}" in played.section("What this rests on")


def test_nothing_answered_at_all_claims_nothing_missing() -> None:
    played = play(FakeRepository(PYTHON, COMMITS, fault=lambda *_: FALLBACK))
    assert len(played.turns) <= MOST_TURNS
    for claim in ("none in the root", "no licence", "No licence", "No tests", "No CI", "none found", "no commits"):
        assert claim not in played.report
    assert "The tree could not be listed." in played.report
    assert "The history could not be read." in played.report


def test_a_root_that_comes_late_is_still_explored() -> None:
    played = play(FakeRepository(PYTHON, COMMITS, fault=Failing("list_directory", 1, "")))
    assert "README*" in targets(played, 2)
    assert "`src/demo/cli.py`: command `demo`" in played.report


def test_a_root_that_never_comes_is_worked_around_by_searches() -> None:
    played = play(FakeRepository(PYTHON, COMMITS, fault=Failing("list_directory", 99)))
    assert "Demo counts things" in played.report
    assert "Runtime dependencies (1" in played.report
    assert "Licence: the root could not be seen whole." in played.report


def test_an_error_is_noted_and_worked_around() -> None:
    def missing(name: str, arguments: Json) -> Json | None:
        if arguments.get("path") == "LICENSE":
            return {"ok": False, "error": "'LICENSE' (3 bytes) cannot be shown: it is binary."}
        return None

    played = play(FakeRepository(PYTHON, COMMITS, fault=missing))
    assert (
        "Answered with an error: `read_file LICENSE` – `'LICENSE' (3 bytes) cannot be shown: it is binary.`"
        in played.report
    )
    assert "Licence: `LICENSE`." in played.report


def test_an_empty_repository_ends_at_once_and_is_said_to_be_empty() -> None:
    played = play(FakeRepository({}), task(commit="", files=0))
    assert len(played.turns) == 2
    assert "a repository that has no commits at ref `HEAD`" in played.report
    assert "The root holds nothing." in played.report


def test_without_tools_the_report_is_written_from_what_is_there() -> None:
    messages = play(FakeRepository(PYTHON, COMMITS)).messages
    cut = next(i for i, message in enumerate(messages) if message["role"] == "assistant" and i > 3)
    asked = [*messages[:cut], {"role": "user", "content": "No more tool calls are possible now. Write the report."}]
    turn = decide(asked, [], NOW)
    assert not turn.calls
    assert turn.finish_reason == "stop"
    assert turn.content.startswith("# Survey of `octo/demo`")
    assert "the survey still had 4 calls to make" in turn.content


def test_the_work_does_not_grow_badly_with_the_tree() -> None:
    def cost(files: int) -> float:
        tree = PYTHON | {f"many/file-{n}.txt": "x" for n in range(files)}
        messages = play(FakeRepository(tree, COMMITS)).messages
        best = float("inf")
        for _ in range(5):
            began = time.process_time()
            decide(messages, TOOLS, NOW)
            best = min(best, time.process_time() - began)
        return best

    assert cost(1_700) < cost(70) * 3 + 0.01


# --- the wire


class Pacing:
    """A clock that counts how long it was asked to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return sum(self.slept)

    def time(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
async def client() -> AsyncIterator[openai.AsyncOpenAI]:
    async with httpx.AsyncClient(transport=SurveyTransport(Pacing())) as http:
        yield openai.AsyncOpenAI(api_key="x", base_url="http://survey.invalid", http_client=http, max_retries=0)


async def stream(client: openai.AsyncOpenAI, messages: list[Any], tools: list[Any] | None = None) -> list[Any]:
    extra = {"tools": tools} if tools else {}
    chunks = await client.chat.completions.create(model="survey", messages=messages, stream=True, **extra)
    return [chunk async for chunk in chunks]


async def test_calls_stream_as_deltas_that_a_client_puts_together(client: openai.AsyncOpenAI) -> None:
    chunks = await stream(client, [task()], TOOLS)
    calls: dict[int, dict[str, str]] = {}
    reasoning = ""
    for chunk in chunks[:-1]:
        delta = chunk.choices[0].delta
        reasoning += getattr(delta, "reasoning_content", None) or ""
        for piece in delta.tool_calls or []:
            call = calls.setdefault(piece.index, {"id": "", "name": "", "arguments": ""})
            call["id"] += piece.id or ""
            call["name"] += piece.function.name or ""
            call["arguments"] += piece.function.arguments or ""
    assert [call["name"] for call in calls.values()] == ["get_repo_info", "list_directory", "get_commits"]
    assert len({call["id"] for call in calls.values()}) == 3
    assert json.loads(calls[2]["arguments"]) == {"owner": "octo", "repo": "demo", "per_page": 100}
    assert reasoning.startswith("Rule “first look”")
    assert {chunk.id for chunk in chunks} == {"chatcmpl-survey-1"}
    assert {chunk.model for chunk in chunks} == {"survey"}
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks[:-1] if chunk.choices[0].finish_reason] == ["tool_calls"]
    assert chunks[-1].choices == []
    assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (0, 0)


async def test_a_report_streams_as_content_and_stops(client: openai.AsyncOpenAI) -> None:
    played = play(FakeRepository(PYTHON, COMMITS))
    chunks = await stream(client, played.messages, TOOLS)
    content = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
    assert content == played.report
    assert chunks[-2].choices[0].finish_reason == "stop"


async def test_ids_differ_from_turn_to_turn() -> None:
    played = play(FakeRepository(PYTHON, COMMITS))
    ids = [call["id"] for turn in played.turns for call in turn.calls]
    assert len(set(ids)) == len(ids)


async def test_a_client_that_does_not_stream_gets_one_object(client: openai.AsyncOpenAI) -> None:
    done = await client.chat.completions.create(model="survey", messages=[task()], tools=TOOLS)  # type: ignore[call-overload]
    assert done.choices[0].finish_reason == "tool_calls"
    assert [call.function.name for call in done.choices[0].message.tool_calls] == [
        "get_repo_info",
        "list_directory",
        "get_commits",
    ]


async def test_the_models_are_listed(client: openai.AsyncOpenAI) -> None:
    assert [model.id async for model in client.models.list()] == ["survey"]


async def test_the_pace_is_kept_between_pieces_by_the_clock() -> None:
    clock = Pacing()
    async with httpx.AsyncClient(transport=SurveyTransport(clock, pace=0.05)) as http:
        reply = await http.post("http://survey.invalid/chat/completions", json={"messages": [task()], "stream": True})
    assert reply.text.endswith("data: [DONE]\n\n")
    assert set(clock.slept) == {0.05}
    assert len(clock.slept) == reply.text.count("data: ") - 2


async def test_while_it_waits_for_a_breaker_it_shows_signs_of_life() -> None:
    clock = Pacing()
    played = play(behind_breaker("read_file", 99))
    number = waits(played)[0][0]
    starts = [i for i, message in enumerate(played.messages) if message["role"] == "assistant"]
    async with httpx.AsyncClient(transport=SurveyTransport(clock)) as http:
        body = {"messages": played.messages[: starts[number - 1]], "tools": TOOLS, "stream": True}
        reply = await http.post("http://survey.invalid/chat/completions", json=body)
    assert clock.slept == [5.0, 5.0]
    assert reply.text.index("reasoning_content") < reply.text.index('"delta":{}') < reply.text.index("tool_calls")


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/chat/completions", b"{", 400),
        ("POST", "/chat/completions", b"[]", 400),
        ("POST", "/chat/completions", b'{"messages": 1}', 400),
        ("GET", "/chat/completions", b"", 405),
        ("GET", "/elsewhere", b"", 404),
    ],
)
async def test_what_is_no_chat_is_refused_in_openais_form(method: str, path: str, body: bytes, status: int) -> None:
    async with httpx.AsyncClient(transport=SurveyTransport(Pacing())) as http:
        reply = await http.request(method, f"http://survey.invalid/v1{path}", content=body)
    assert reply.status_code == status
    assert reply.json()["error"]["message"]


def test_the_commit_of_the_snapshot_is_named() -> None:
    assert f"commit `{COMMIT}` (ref `HEAD`)" in play(FakeRepository(PYTHON, COMMITS)).report

"""Keys and tokens: in no event, report, file, trace or screen, whoever repeats them, and however cut."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import io
import itertools
import json
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fault_bench import Quick
from tests.servers import faults
from tests.servers.expect import WHO
from tests.servers.faults import refuse
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import Answer
from tests.servers.inside import KEY, TOKEN, Heard, run_inside
from tests.servers.model import ModelServer
from tests.servers.program import environment, run
from tests.servers.turns import Turn, call, cut, error_in_stream, failure, say, stall, think
from tui_agent.events import Event
from tui_agent.frontends.json_lines import JsonLines
from tui_agent.frontends.printer import Printer
from tui_agent.redact import Redactor, StreamRedactor
from tui_agent.request import RunRequest
from tui_agent.tui.state import DashboardState

SECRETS = (KEY, TOKEN)
BOTH = f"{KEY} and {TOKEN}"
FINAL: Turn = [say("# Report")]
EXPLORE = [call("get_repo_info", WHO), call("list_directory", WHO), call("get_commits", WHO)]


# -- a text that comes in pieces ------------------------------------------------------------------


@given(
    st.lists(
        st.sampled_from(["ab", "sk-1234567", "sk-12345678", "sk-1", "s", "-", "sk-sk-1234567", "567"]), max_size=8
    ),
    st.lists(st.integers(0, 60), max_size=12),
    st.sampled_from([("sk-1234567",), ("sk-1234567", "sk-12345678"), ("sk-sk-sk", "k-sk-sk-"), ()]),
)
def test_a_secret_is_found_however_its_text_is_cut(parts: list[str], cuts: list[int], secrets: tuple[str, ...]) -> None:
    text, redact = "".join(parts), Redactor(secrets)
    stream, told = StreamRedactor(redact), []
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in itertools.pairwise(edges):
        told.append(stream.feed(text[start:end]))
    told.append(stream.end())
    assert "".join(told) == redact(text)


def test_what_cannot_become_a_secret_is_not_held_back() -> None:
    stream = StreamRedactor(Redactor(["sk-1234567"]))
    assert [stream.feed(piece) for piece in ("plain ", "text s", "k-12", "x")] == ["plain ", "text ", "", "sk-12x"]
    assert StreamRedactor(Redactor([])).feed("sk-") == "sk-"


# -- whole runs -----------------------------------------------------------------------------------


def echoing(answer: Answer) -> Answer:
    """A plain reply with the secrets in the headers that are read."""
    more = {
        "x-ratelimit-resource": KEY.lower().replace("-", "_"),
        "link": f'<https://api.github.com/{KEY}>; rel="next"',
        "x-debug": BOTH,
    }
    return Answer(answer.status, {**answer.headers, **more}, answer.body)


GITHUB: dict[str, Callable[[GitHubServer], object]] = {
    "message, 500": lambda hub: hub.on("read_file", always=refuse(500, f"Sorry, {BOTH}")),
    "message, 403": lambda hub: hub.on("read_file", always=refuse(403, f"Sorry, {BOTH}")),
    "message, 404": lambda hub: hub.on("get_repo_info", always=refuse(404, f"Sorry, {BOTH}")),
    "message of the commit": lambda hub: hub.on("commit", always=refuse(401, f"Bad credentials {BOTH}")),
    "message of the tree": lambda hub: hub.on("tree", always=refuse(500, f"Sorry, {quote(BOTH)}")),
    "message of a limit": lambda hub: hub.on("get_commits", faults.secondary_limit("0"), refuse(429, BOTH)),
    "message in JSON's words": lambda hub: hub.on("read_file", always=refuse(400, json.dumps(BOTH))),
    "a proxy's page": lambda hub: hub.on("read_file", always=Answer(502, {}, f"<h1>{BOTH}</h1>".encode())),
    "a block": lambda hub: hub.on(
        "read_file",
        always=Answer(
            451, {}, json.dumps({"message": BOTH, "block": {"reason": KEY, "html_url": f"https://x/{TOKEN}"}}).encode()
        ),
    ),
    "redirect, in the path": lambda hub: hub.on("read_file", always=faults.redirect(f"https://thief.example/{TOKEN}")),
    "redirect, in the host": lambda hub: hub.on("commit", always=faults.redirect(f"https://{KEY}.thief.example/")),
    "redirect, in the host, of a tool": lambda hub: hub.on(
        "get_commits", always=faults.redirect(f"https://{KEY.upper()}.thief.example:99/", 307)
    ),
    "redirect, as a user": lambda hub: hub.on("tree", always=faults.redirect(f"https://{TOKEN}:{KEY}@thief.example/")),
    "headers": lambda hub: [hub.on(route, always=echoing) for route in ("snapshot", "get_repo_info", "get_commits")],
}


def asks(path: str = "README.md") -> list[Any]:
    return [*EXPLORE, call("read_file", {**WHO, "path": path})]


async def everything_said(github: GitHubServer, model: ModelServer, **changes: Any) -> str:
    lines, trace, state = io.StringIO(), io.StringIO(), DashboardState()
    # These two redact as well; here they are held to what the run itself lets through.
    json_lines, printer = JsonLines(lines, Redactor([]), lambda: None), Printer(trace, Redactor([]))
    events: list[Event] = []

    def hear(event: Event) -> None:
        events.append(event)
        json_lines(event)
        printer(event)
        state.apply(event)

    heard = await run_inside(github, model, clock=Quick(), on_event=hear, max_retries=1, **changes)
    bodies = json.dumps(model.bodies)
    return "\n".join([repr(heard.events), repr(events), lines.getvalue(), trace.getvalue(), repr(state), bodies])


def assert_silent(said: str) -> None:
    for secret in SECRETS:
        for form in (secret, quote(secret, safe=""), secret.lower(), json.dumps(secret)[1:-1]):
            assert form not in said, said[max(0, said.find(form) - 300) : said.find(form) + 100]


@pytest.mark.parametrize("name", GITHUB)
async def test_what_github_echoes_is_repeated_nowhere(name: str) -> None:
    source = FilesTransport({"README.md": "# Tool\n"})
    async with GitHubServer(source) as github, ModelServer(asks(), FINAL) as model:
        GITHUB[name](github)
        said = await everything_said(github, model)
    assert_silent(said)


async def test_what_stands_in_the_repository_is_repeated_nowhere() -> None:
    """A `.env` that was committed, read by the very person whose keys are in it."""
    files = {".env": f"API_KEY={KEY}\nGITHUB_TOKEN={TOKEN}\n", f"{KEY}/{TOKEN}.md": "x", "README.md": f"# {KEY}\n"}
    about = {"description": BOTH, "homepage": f"https://x/{TOKEN}", "topics": [KEY], "default_branch": f"b-{TOKEN}"}
    source = FilesTransport(
        files, about={**about, "full_name": f"team/{KEY}"}, commits=[Commit(f"Add {KEY}", TOKEN), Commit()]
    )
    script = (
        [*asks(".env"), call("find_files", {**WHO, "pattern": "**/*.md"})],
        [call("read_file", {**WHO, "path": f"{KEY}/{TOKEN}.md"})],
    )
    async with GitHubServer(source) as github, ModelServer(*script, FINAL) as model:
        github.move("team/tool", "team/moved")
        said = await everything_said(github, model)
    assert "[secret]" in said
    assert_silent(said)


async def test_what_repeats_a_secret_is_written_to_no_cache_file() -> None:
    files = {".env": f"API_KEY={KEY}\n" + "x" * 500, "README.md": "# Tool\n" + "y" * 500, "src/a.py": "z" * 500}
    source = FilesTransport(files, about={"description": BOTH}, commits=[Commit(f"Add {KEY}", TOKEN), Commit()])
    script = [*asks(".env"), call("read_file", {**WHO, "path": "README.md"})]
    folder = Path(os.environ["XDG_CACHE_HOME"])
    async with GitHubServer(source) as github, ModelServer(script, FINAL, script, FINAL) as model:
        github.move("team/tool", "team/moved")
        github.on("tree", echoing)
        request = RunRequest(repo="team/tool")
        first = await run_inside(github, model, request=request)
        before = len(github.requests)
        again = await run_inside(github, model, request=request)
    kept = b"\n".join(cells(file) for file in files_in(folder))
    assert b"# Tool" in kept or base64.b64encode(b"# Tool\n")[:8] in kept, "what holds no secret is kept"
    for secret in SECRETS:
        assert secret.encode() not in kept
        assert all(base64.b64encode(b"x" * n + secret.encode())[8:-8] not in kept for n in range(8, 11))
    assert first.finished["outcome"] == again.finished["outcome"] == "completed"
    assert [e["cache"] for e in again.of("tool_finished") if e["arguments"].get("path") == "README.md"] == ["hit"]
    assert len(github.requests) > before, "what was not kept is asked for again"


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def cells(file: Path) -> bytes:
    """Everything in a file, and in every cell of a database, unpacked where it was packed."""
    found = [file.read_bytes()]
    if file.suffix == ".sqlite":
        with contextlib.closing(sqlite3.connect(file)) as database:
            for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in database.execute(f"SELECT * FROM {table}"):
                    found += [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
    for cell in list(found):
        start = cell.find(b"\x1f\x8b\x08")
        with contextlib.suppress(OSError, EOFError, zlib.error):
            found.append(gzip.decompress(cell[start:]) if start >= 0 else b"")
    return b"\n".join(found)


MODEL: dict[str, list[Turn]] = {
    "refusal": [failure(400, f"You sent {BOTH}")],
    "refused key": [failure(401, f"Incorrect API key provided: {KEY}.")],
    "context overflow": [failure(400, f"maximum context length is 7 tokens, {BOTH}")],
    "500": [failure(500, f"Sorry, {BOTH}")] * 2,
    "429": [failure(429, f"Slow down, {BOTH}", retry_after="0")] * 5,
    "a page": [Answer(503, {"content-type": "text/html"}, f"<h1>{BOTH}</h1>".encode())] * 2,
    "error in the stream": [[say("I"), error_in_stream(f"Sorry, {BOTH}", 500)], FINAL],
    "error in the stream, final": [[error_in_stream(f"Sorry, {BOTH}", 400)]],
    "error that is a text": [[{"error": BOTH}]] * 2,
    "error object without a message": [[{"error": {"key": KEY, "code": TOKEN}}]] * 2,
    "redirect": [faults.redirect(f"https://{KEY}.thief.example/{TOKEN}", 307)],
    "content": [[say(f"# My key\n\nIt is {BOTH}.")]],
    "content, letter by letter": [[say(f"# My key\n\nIt is {BOTH}.", by=1)]],
    "content, cut anywhere": [[say(f"{KEY}{TOKEN}{KEY}", by=7)]],
    "reasoning": [[think(f"The key is {BOTH}.", by=5), say("# Report")]],
    "think tags": [[say(f"<think>The key is {BOTH}.</think># Report", by=4)]],
    "a thought": [[say(f"I use {BOTH}.", by=3), *EXPLORE], FINAL],
    "arguments": [[call("read_file", {**WHO, "path": f"{KEY}/{TOKEN}", KEY: TOKEN})], FINAL],
    "arguments that are no JSON": [[call("read_file", f'{{"path": "{TOKEN}')], FINAL],
    "a tool's name": [[call(KEY, {TOKEN: [{"x": KEY}]})], FINAL],
    "a call's id": [[call("get_commits", WHO, id=TOKEN)], FINAL],
    "a call in the text": [
        [say(f'<tool_call>{{"name": "read_file", "arguments": {{"path": "{KEY}"}}}}</tool_call>')],
        FINAL,
    ],
    "a stream that breaks": [[say(f"It is {BOTH}", by=6), cut()], FINAL],
    "after an observation": [EXPLORE, failure(400, BOTH)],
}


@pytest.mark.parametrize("name", MODEL)
async def test_what_the_model_or_its_server_echoes_is_repeated_nowhere(name: str) -> None:
    async with GitHubServer({"README.md": "# Tool\n"}) as github, ModelServer(*MODEL[name]) as model:
        said = await everything_said(github, model)
        assert [error for error in model.errors if "script" not in error] == []
    assert_silent(said)


async def test_what_streams_is_what_the_report_says() -> None:
    async with GitHubServer({"README.md": ""}) as github, ModelServer([say(f"# A {KEY} b", by=2)]) as model:
        heard = await run_inside(github, model)
    streamed = "".join(event["text"] for event in heard.of("report_delta"))
    assert streamed == "# A [secret] b" and heard.finished["report"].startswith(streamed)


async def test_a_report_that_was_cancelled_repeats_no_half_of_a_secret() -> None:
    written, heard = asyncio.Event(), Heard()

    def hear(event: Event) -> None:
        heard(event)
        if event.type == "report_delta":
            written.set()

    async with GitHubServer({"README.md": ""}) as github, ModelServer([say(f"# A {KEY[:12]}"), stall()]) as model:
        task = asyncio.create_task(run_inside(github, model, on_event=hear))
        await written.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert heard.finished["report"] == "# A" and KEY[:12] not in repr(heard.events)


async def test_a_fault_of_the_program_repeats_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"boom at {BOTH}")

    monkeypatch.setattr("tui_agent.agent.run.task", broken)
    async with GitHubServer({"README.md": ""}) as github, ModelServer() as model:
        said = await everything_said(github, model)
    assert "boom at [secret]" in said
    assert_silent(said)


@pytest.mark.parametrize("mode", ["--print", "--json"])
async def test_the_program_says_no_secret_on_any_way_out(tmp_path: Path, mode: str) -> None:
    source = FilesTransport({".env": f"API_KEY={KEY}\nGITHUB_TOKEN={TOKEN}\n"})
    turns = [[say(f"I read {KEY}.", by=9), call("read_file", {**WHO, "path": ".env"})], [say(f"# R\n\n{BOTH}", by=5)]]
    async with GitHubServer(source) as github, ModelServer(*turns, failure(401, BOTH)) as model:
        github.on("read_file", refuse(500, BOTH))
        env = environment(tmp_path, github, model, API_KEY=KEY, GITHUB_TOKEN=TOKEN)
        done = await run("team/tool", mode, "-o", "report.html", "--no-cache", env=env, cwd=tmp_path)
        lost = await run("team/tool", mode, "--no-cache", env=env, cwd=tmp_path)
    assert (done.code, lost.code) == (0, 1)
    assert_silent(done.out + done.err + lost.out + lost.err)
    texts = contents(tmp_path)
    assert sum(text.startswith('{"type":"record"') for text in texts) == 2, "the records are among the files"
    for text in texts:
        assert_silent(text)


def contents(folder: Path) -> list[str]:
    """All files below a folder, as texts in which any bytes have a place."""
    return [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]

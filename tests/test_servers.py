"""The tests' own servers keep to the wire: what a client sees of them is what it would see of the real ones."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
from collections.abc import AsyncIterator

import httpx
import openai
import pytest

from tests.servers import faults
from tests.servers.dialects import DIALECTS
from tests.servers.files import Commit, FilesTransport, git_hash
from tests.servers.github import GitHubServer
from tests.servers.http import Gate, until, wait_until
from tests.servers.model import ModelServer
from tests.servers.turns import (
    call,
    cut,
    error_in_stream,
    failure,
    keep_alive,
    pause,
    say,
    stall,
    think,
    usage,
)

FILES = {"README.md": "# Tool\n" * 100, "src/tool/__init__.py": "", "src/tool/main.py": "print('hi')\n"}
REPO = "/repos/team/tool"


@pytest.fixture
async def github() -> AsyncIterator[GitHubServer]:
    async with GitHubServer(FILES) as server:
        yield server
    assert server.errors == []


@pytest.fixture
async def http(github: GitHubServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=github.url, timeout=2) as client:
        yield client


async def test_github_serves_a_repository_as_git_hashes_it(github: GitHubServer, http: httpx.AsyncClient) -> None:
    sha = (await http.get(f"{REPO}/commits/HEAD", headers={"accept": "application/vnd.github.sha"})).text
    assert len(sha) == 40
    tree = (await http.get(f"{REPO}/git/trees/{sha}", params={"recursive": "1"})).json()
    assert [entry["path"] for entry in tree["tree"]] == [
        "README.md",
        "src",
        "src/tool",
        "src/tool/__init__.py",
        "src/tool/main.py",
    ]
    blob = (await http.get(f"{REPO}/git/blobs/{git_hash('blob', FILES['README.md'].encode())}")).json()
    assert base64.b64decode(blob["content"]).decode() == FILES["README.md"]
    assert (await http.get(REPO)).json()["full_name"] == "team/tool"
    assert (await http.get(f"{REPO}/commits")).json()[0]["sha"] == sha
    assert (await http.get(f"{REPO}/git/trees/{'0' * 40}")).status_code == 404
    assert (await http.get(f"{REPO}/commits/nowhere")).status_code == 422
    assert (await http.get("/users/team")).json()["message"] == "Not Found"


async def test_a_tree_hash_is_gits_own() -> None:
    # `git hash-object` and `git mktree` of the same content
    assert git_hash("blob", b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert FilesTransport({}).tree == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


async def test_commits_come_in_pages_with_links() -> None:
    commits = [Commit(f"Change {n}") for n in range(5, 0, -1)]
    async with GitHubServer(FilesTransport(FILES, commits=commits)) as server, httpx.AsyncClient() as client:
        first = await client.get(f"{server.url}{REPO}/commits", params={"per_page": "2"})
        assert [item["commit"]["message"] for item in first.json()] == ["Change 5", "Change 4"]
        last = await client.get(first.links["last"]["url"])
        assert [item["commit"]["message"] for item in last.json()] == ["Change 1"]
        assert "next" not in last.links


async def test_a_repository_without_commits_answers_409() -> None:
    async with GitHubServer(FilesTransport(None)) as server, httpx.AsyncClient(base_url=server.url) as client:
        assert (await client.get(REPO)).status_code == 200
        for path in ("/commits", "/commits/HEAD", "/git/trees/HEAD"):
            reply = await client.get(REPO + path)
            assert (reply.status_code, reply.json()["message"]) == (409, "Git Repository is empty.")


async def test_replies_carry_githubs_headers_and_cost_quota(http: httpx.AsyncClient) -> None:
    reply = await http.get(REPO)
    assert reply.headers["x-ratelimit-limit"] == "60"
    assert reply.headers["x-ratelimit-remaining"] == "59"
    assert reply.headers["x-github-media-type"] == "github.v3; format=json"
    assert reply.headers["cache-control"].startswith("public, max-age=60")
    assert reply.headers["content-encoding"] == "gzip"
    with_token = await http.get(REPO, headers={"authorization": "Bearer anything"})
    assert with_token.headers["x-ratelimit-limit"] == "5000"
    assert with_token.headers["cache-control"].startswith("private, max-age=60")


async def test_a_304_is_free_only_with_a_token(http: httpx.AsyncClient) -> None:
    etag = (await http.get(REPO)).headers["etag"]
    known = {"if-none-match": etag}
    without = await http.get(REPO, headers=known)
    assert (without.status_code, without.content, without.headers["x-ratelimit-remaining"]) == (304, b"", "58")
    with_token = await http.get(REPO, headers={**known, "authorization": "Bearer t"})
    assert (with_token.status_code, with_token.headers["x-ratelimit-used"]) == (304, "2")


async def test_a_wrong_token_is_refused_and_a_private_repository_is_not_there() -> None:
    async with GitHubServer(FILES, token="right", private=True) as server, httpx.AsyncClient() as client:
        replies = [
            await client.get(server.url + REPO, headers=headers)
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Bearer right"})
        ]
        assert [reply.status_code for reply in replies] == [404, 401, 200]
        assert replies[1].json()["message"] == "Bad credentials"


async def test_a_request_without_a_user_agent_is_forbidden(github: GitHubServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(github.url.rpartition(":")[2]))
    writer.write(f"GET {REPO} HTTP/1.1\r\nhost: x\r\n\r\n".encode())
    assert b"403" in await reader.readline()
    writer.close()


async def test_a_used_up_quota_refuses() -> None:
    async with GitHubServer(FILES, remaining=1) as server, httpx.AsyncClient(base_url=server.url) as client:
        assert (await client.get(REPO)).headers["x-ratelimit-remaining"] == "0"
        refused = await client.get(REPO)
        assert refused.status_code == 403
        assert int(refused.headers["x-ratelimit-reset"]) > time.time()


async def test_a_script_is_followed_in_order_route_by_route(github: GitHubServer, http: httpx.AsyncClient) -> None:
    github.on("get_commits", faults.refuse(500), faults.html(502), faults.plain())
    github.on("get_repo_info", always=faults.refuse(503, "Unavailable", retry_after="7"))
    assert [(await http.get(f"{REPO}/commits")).status_code for _ in range(4)] == [500, 502, 200, 200]
    for _ in range(2):
        refused = await http.get(REPO)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "7")
    assert (await http.get(f"{REPO}/commits/HEAD")).status_code == 200
    assert len(github.asked("get_commits")) == 4
    assert github.requests[0].headers["user-agent"].startswith("python-httpx")


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (faults.drop(), httpx.RemoteProtocolError),
        (faults.reset(), httpx.ReadError),
        (faults.cut(), httpx.RemoteProtocolError),
        (faults.cut(0), httpx.RemoteProtocolError),
        (faults.cut(1, by_reset=True), httpx.ReadError),
        (faults.hold(), httpx.ReadTimeout),
        (faults.compressed_garbage(), httpx.DecodingError),
    ],
    ids=["drop", "reset", "cut", "cut-at-once", "cut-by-reset", "hold", "garbage"],
)
async def test_connections_break_as_asked(
    github: GitHubServer, http: httpx.AsyncClient, step: faults.Step, error: type[Exception]
) -> None:
    github.on("get_repo_info", step)
    with pytest.raises(error):
        await http.get(REPO, timeout=0.2)
    assert (await http.get(REPO)).status_code == 200


async def test_a_client_that_gives_up_is_noticed(github: GitHubServer, http: httpx.AsyncClient) -> None:
    github.on("get_repo_info", faults.hold())
    with pytest.raises(httpx.ReadTimeout):
        await http.get(REPO, timeout=0.05)
    await until(lambda: github.exchanges[0].client_left)
    assert github.exchanges[0].ended is not None


async def test_requests_meet_at_a_gate_only_if_they_are_under_way_together(
    github: GitHubServer, http: httpx.AsyncClient
) -> None:
    gate = Gate(opens_for=3)
    github.on("get_commits", always=faults.gated(gate))
    await asyncio.gather(*(http.get(f"{REPO}/commits") for _ in range(3)))
    assert gate.most == 3
    assert github.most_at_once == 3
    assert github.connections == 3


async def test_connections_are_kept_alive(github: GitHubServer, http: httpx.AsyncClient) -> None:
    for _ in range(3):
        await http.get(REPO)
    assert github.connections == 1
    assert github.most_at_once == 1


async def test_a_moved_repository_redirects_to_its_number(github: GitHubServer, http: httpx.AsyncClient) -> None:
    github.move("old/name", "team/tool")
    moved = await http.get("/repos/Old/Name/commits?per_page=1")
    assert moved.status_code == 301
    assert moved.headers["location"].endswith("/commits?per_page=1")
    followed = await http.get("/repos/old/name", follow_redirects=True)
    assert followed.json()["full_name"] == "team/tool"


async def test_a_huge_body_comes_in_pieces_and_may_be_left(github: GitHubServer, http: httpx.AsyncClient) -> None:
    github.on("read_file", always=faults.huge(1024 * 1024))
    reply = await http.get(f"{REPO}/git/blobs/{'a' * 40}")
    assert len(reply.content) > 1024 * 1024
    async with http.stream("GET", f"{REPO}/git/blobs/{'a' * 40}") as streamed:
        async for _ in streamed.aiter_bytes():
            break
    assert github.errors == []


async def test_limits_are_told_as_github_tells_them(github: GitHubServer, http: httpx.AsyncClient) -> None:
    github.on("get_repo_info", faults.primary_limit(30), faults.secondary_limit("5", status=429))
    primary = await http.get(REPO)
    assert (primary.status_code, primary.headers["x-ratelimit-remaining"]) == (403, "0")
    assert 25 < int(primary.headers["x-ratelimit-reset"]) - time.time() <= 30
    secondary = await http.get(REPO)
    assert (secondary.status_code, secondary.headers["retry-after"]) == (429, "5")
    assert int(secondary.headers["x-ratelimit-remaining"]) > 0
    assert "secondary rate limit" in secondary.json()["message"]


def test_a_server_runs_beside_a_test_that_blocks() -> None:
    gate = Gate()
    with GitHubServer(FILES).in_thread() as server:
        server.on("get_repo_info", faults.gated(gate))
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=5) as client:
            client.sendall(f"GET {REPO} HTTP/1.1\r\nhost: x\r\nuser-agent: t\r\n\r\n".encode())
            wait_until(lambda: gate.waiting == 1)
            gate.open()
            assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])))


USER = {"role": "user", "content": "hi"}
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "description": "Reads.", "parameters": {"type": "object", "properties": {}}},
}


def _client(server: ModelServer, key: str = "k") -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(api_key=key, base_url=server.url, max_retries=0, timeout=2)


async def _ask(server: ModelServer, messages: list[object], **more: object) -> list[object]:
    async with _client(server) as client:
        stream = await client.chat.completions.create(
            model="deepseek-flash",
            messages=messages,  # type: ignore[arg-type]
            stream=True,
            **more,  # type: ignore[arg-type]
        )
        return [piece async for piece in stream]


async def test_a_turn_streams_thought_calls_and_usage_through_the_openai_client() -> None:
    turn = [think("I look. ", by=3), say("Reading."), call("read_file", {"path": "a.py"}), usage(11, 7, cached=4)]
    async with ModelServer(turn) as server:
        chunks = await _ask(server, [USER], tools=[TOOL])
        deltas = [one.choices[0].delta for one in chunks if one.choices]
        assert "".join(getattr(delta, "reasoning_content", None) or "" for delta in deltas) == "I look. "
        assert "".join(delta.content or "" for delta in deltas) == "Reading."
        heads = [one for delta in deltas for one in delta.tool_calls or () if one.id]
        assert [(one.id, one.function.name) for one in heads] == [("call_1_0", "read_file")]
        arguments = "".join(one.function.arguments or "" for delta in deltas for one in delta.tool_calls or ())
        assert json.loads(arguments) == {"path": "a.py"}
        assert [one.choices[0].finish_reason for one in chunks if one.choices][-1] == "tool_calls"
        assert chunks[-1].usage.prompt_tokens == 11
        assert server.bodies[0]["tools"] == [TOOL]


async def test_a_script_gives_a_turn_for_each_request_and_then_refuses() -> None:
    async with ModelServer([say("one")], lambda body: [say(f"two of {len(body['messages'])}")]) as server:
        assert (await _ask(server, [USER]))[1].choices[0].delta.content == "one"
        assert (await _ask(server, [USER]))[1].choices[0].delta.content == "two of 1"
        with pytest.raises(openai.BadRequestError, match="script of the test's model is over"):
            await _ask(server, [USER])
        assert server.errors == ["the script is over"]


async def test_a_function_may_give_every_turn() -> None:
    async with ModelServer(by_function=lambda body: [say(body["messages"][-1]["content"].upper())]) as server:
        for text in ("a", "b"):
            chunks = await _ask(server, [{"role": "user", "content": text}])
            assert chunks[1].choices[0].delta.content == text.upper()


async def test_usage_comes_when_it_was_asked_for() -> None:
    async with ModelServer([say("x")], [say("x")]) as server:
        without = await _ask(server, [USER])
        assert not any(one.usage for one in without)
        asked = await _ask(server, [USER], stream_options={"include_usage": True})
        assert asked[-1].usage.total_tokens > 0 and asked[-1].choices == []


async def test_failures_are_json_errors_with_their_status() -> None:
    async with ModelServer(failure(429, "Slow down", retry_after="3"), failure(402, "No balance")) as server:
        with pytest.raises(openai.RateLimitError, match="Slow down") as caught:
            await _ask(server, [USER])
        assert caught.value.response.headers["retry-after"] == "3"
        with pytest.raises(openai.APIStatusError, match="No balance"):
            await _ask(server, [USER])


async def test_a_stream_may_break_stall_or_carry_an_error() -> None:
    script = ([say("half"), cut()], [say("half"), stall()], [say("half"), error_in_stream("Overloaded")])
    async with ModelServer(*script) as server:
        with pytest.raises(openai.APIConnectionError):
            await _ask(server, [USER])
        async with _client(server).with_options(timeout=0.1) as client:
            stream = await client.chat.completions.create(model="deepseek-flash", messages=[USER], stream=True)  # type: ignore[list-item]
            with pytest.raises(openai.APITimeoutError):
                async for _ in stream:
                    pass
        with pytest.raises(openai.APIError, match="Overloaded"):
            await _ask(server, [USER])


async def test_keep_alives_and_pauses_stand_between_chunks() -> None:
    gate = Gate()
    async with ModelServer([keep_alive(3), say("late"), pause(gate), say("r")]) as server:
        asking = asyncio.ensure_future(_ask(server, [USER]))
        await until(lambda: gate.waiting)
        assert not asking.done()
        gate.open()
        texts = [one.choices[0].delta.content for one in await asking]
        assert [text for text in texts if text] == ["late", "r"]


async def test_models_are_listed_and_others_do_not_exist() -> None:
    async with ModelServer(key="right") as server:
        async with _client(server, "right") as client:
            assert (await client.models.list()).data[0].id == "deepseek-flash"
            with pytest.raises(openai.BadRequestError, match="Model Not Exist"):
                await client.chat.completions.create(model="gpt", messages=[USER], stream=True)  # type: ignore[list-item]
        async with _client(server, "wrong") as client:
            with pytest.raises(openai.AuthenticationError):
                await client.models.list()


def _turn_with(call_id: str, **more: object) -> dict[str, object]:
    function = {"name": "read_file", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls, **more}


def _observation(call_id: str) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": call_id, "content": "{}"}


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([USER, _turn_with("a")], "without an answer"),
        ([USER, _turn_with("a"), USER], "must be followed by tool messages"),
        ([USER, _observation("a")], "must be a response to a preceding message"),
        ([USER, _turn_with("a"), _observation("b")], "must be a response to a preceding message"),
        ([USER, {"role": "assistant", "content": ""}], "content or tool_calls must be set"),
        ([{"role": "user", "content": ""}], "is empty"),
        ([], "Empty input"),
    ],
)
async def test_a_history_that_real_servers_refuse_is_refused(messages: list[object], words: str) -> None:
    async with ModelServer([say("x")]) as server:
        with pytest.raises(openai.BadRequestError, match=words):
            await _ask(server, messages)
        assert words in server.errors[0]
        await _ask(server, [USER, _turn_with("a"), _observation("a")])


async def test_reasoning_has_to_come_back_with_the_calls_it_led_to() -> None:
    async with ModelServer([think("So."), call("read_file", id="a")], [say("x")], takes_reasoning=False) as server:
        await _ask(server, [USER])
        with pytest.raises(openai.BadRequestError, match="must be passed back"):
            await _ask(server, [USER, _turn_with("a"), _observation("a")])
        with pytest.raises(openai.BadRequestError, match="Unknown field"):
            await _ask(server, [USER, _turn_with("b", reasoning_content=""), _observation("b")])
        await _ask(server, [USER, _turn_with("a", reasoning_content="So."), _observation("a")])


@pytest.mark.parametrize("name", DIALECTS)
async def test_every_dialect_is_a_stream_that_ends(name: str) -> None:
    calls = [call("read_file", {"path": "文件.md"}), call("get_commits", {"owner": "o"})]
    async with ModelServer(DIALECTS[name](calls)) as server, httpx.AsyncClient() as client:
        body = {"model": "deepseek-flash", "stream": True, "messages": [USER]}
        reply = await client.post(
            f"{server.url}/chat/completions", json=body, headers={"authorization": "Bearer k"}, timeout=2
        )
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert reply.text.rstrip().endswith("data: [DONE]")
    assert server.errors == []

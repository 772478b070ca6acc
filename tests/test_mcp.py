"""The MCP server: tools as a run has them, whole runs, recorded reports; asked by the SDK's own client."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import MCPError

from tests.fakes import VirtualClock
from tests.mcp_bench import FILES, MODES, TOOL, Ears, ask, begun, cancelled, connected, names, refused, said
from tests.repos import git, make_repo
from tests.servers import faults, turns
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.inside import KEY, TOKEN, nothing_left_behind
from tests.servers.model import ModelServer
from tests.servers.turns import call
from tui_agent.frontends import listening, mcp_repositories, mcp_schemas
from tui_agent.frontends.listening import endpoint
from tui_agent.frontends.mcp_repositories import served
from tui_agent.frontends.mcp_tools import described
from tui_agent.request import UsageError
from tui_agent.tools.schemas import PARAMETERS, TOOL_NAMES

ALL = (*TOOL_NAMES, "analyze_repository")
HELD = r"/repos/[^/]+/[^/]+/git/trees/.+"


# -- what a client is told --------------------------------------------------------------------


def test_every_tool_has_valid_schemas_and_says_that_it_only_reads() -> None:
    tools = {tool.name: tool for tool in described()}
    assert tuple(tools) == ALL
    for name, tool in tools.items():
        Draft202012Validator.check_schema(tool.input_schema)
        assert tool.output_schema is not None and tool.output_schema["type"] == "object"
        Draft202012Validator.check_schema(tool.output_schema)
        hints = tool.annotations
        assert hints is not None and tool.title and tool.description
        assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (True, False, True)
        assert hints.idempotent_hint is (name in TOOL_NAMES)


def test_a_repository_tool_takes_what_the_models_takes_and_a_ref() -> None:
    for name, (_, schema) in mcp_schemas.input_schemas().items():
        own = PARAMETERS[name]
        assert list(schema["properties"]) == [*own["properties"], "ref"]
        assert (schema["required"], schema["additionalProperties"]) == (own["required"], False)


@pytest.mark.parametrize("mode", MODES)
async def test_the_server_introduces_itself_and_its_local_repositories(mode: str, tmp_path: Path) -> None:
    make_repo(tmp_path / "tool", [("First", FILES)])
    async with connected(None, tmp_path / "tool", mode=mode) as client:
        assert names((await client.list_tools()).tools) == list(ALL)
        assert "Local repositories: local/tool." in (client.session.instructions or "")


# -- the repository tools ---------------------------------------------------------------------


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("get_repo_info", {}),
    ("list_directory", {}),
    ("list_directory", {"path": "src"}),
    ("list_directory", {"path": "src", "offset": "7"}),
    ("find_files", {"pattern": "*.py"}),
    ("read_file", {"path": "README.md", "start_line": 3}),
    ("read_file", {"path": "latin.txt"}),
    ("read_file", {"path": "long.txt"}),
    ("get_commits", {"per_page": 1}),
    ("get_commits", {"path": "src"}),
]


def is_described(answer: dict[str, Any], schema: dict[str, Any]) -> bool:
    """Whether an answer fits a schema, and holds nothing that the schema does not name."""
    Draft202012Validator(schema).validate(answer)
    below = schema["properties"].get("below")
    return set(answer) <= set(schema["properties"]) and ("below" not in answer or is_described(answer["below"], below))


@pytest.mark.parametrize("mode", MODES)
async def test_every_answer_is_as_its_schema_says_and_names_the_commit(mode: str, tmp_path: Path) -> None:
    more = {"latin.txt": "déjà".encode("latin-1"), "long.txt": "word " * 5000}
    local = make_repo(
        tmp_path / "tool", [("First", FILES), ("Second", {**more, "link": Path("src/tool.py"), "a\x1b[31mb.txt": "x"})]
    )
    commits = [Commit("Second", files=("src/tool.py",)), Commit("First")]
    async with (
        GitHubServer(FilesTransport({**FILES, **more}, commits=commits)) as github,
        connected(github, local, mode=mode) as client,
    ):
        for place in (TOOL, {"owner": "local", "repo": "tool"}):
            seen = set()
            for tool, arguments in CALLS:
                answer = await ask(client, tool, **{**arguments, **place})
                assert is_described(answer, mcp_schemas.output_schema(tool)), (tool, arguments)
                seen.add((answer["ref"], answer["commit"]))
            assert len(seen) == 1
        assert seen == {("HEAD", git(local, "rev-parse", "HEAD").decode().strip())}


async def test_a_call_that_is_made_again_is_answered_whole_again() -> None:
    async with GitHubServer(FILES) as github, connected(github) as client:
        first = await ask(client, "read_file", path="README.md")
        asked = len(github.requests)
        assert await ask(client, "read_file", path="README.md") == first
        assert first["content"] == FILES["README.md"] and len(github.requests) == asked


async def test_a_busy_service_is_asked_again_and_the_client_hears_of_it() -> None:
    async with GitHubServer(FILES) as github, connected(github) as client:
        github.on("read_file", faults.refuse(503))
        ears = Ears()
        result = await client.call_tool("read_file", {**TOOL, "path": "README.md"}, progress_callback=ears)
        assert not result.is_error and len(github.asked("read_file")) == 2
        assert "attempt 1 failed" in ears.text and "attempt 2 of 4 in" in ears.text
        assert [reached for reached, _, _ in ears.heard] == sorted({reached for reached, _, _ in ears.heard})


async def test_an_open_breaker_is_a_tool_error_without_a_request() -> None:
    async with GitHubServer(FILES) as github, connected(github, breaker_threshold=2, max_retries=0) as client:
        github.on("read_file", always=faults.refuse(503, "Down"))
        for _ in range(2):
            assert "The service failed" in await refused(client, "read_file", path="README.md")
        asked = len(github.requests)
        result = await client.call_tool("read_file", {**TOOL, "path": "README.md"})
        assert result.is_error and "breaker" in said(result).lower()
        # What is known all the same comes beside the sentence.
        assert '"size"' in getattr(result.content[1], "text", "")
        assert len(github.requests) == asked
        assert await ask(client, "list_directory")


async def test_a_rate_limit_that_is_too_far_away_is_told_at_once() -> None:
    async with GitHubServer(FILES, token=TOKEN) as github, connected(github) as client:
        assert await ask(client, "list_directory")
        github.on("get_commits", always=faults.primary_limit(3000.0))
        assert "rate limit" in (await refused(client, "get_commits")).lower()
        assert len(github.asked("get_commits")) == 1
        # The gate is the process's: nothing else is sent either.
        assert "rate limit" in (await refused(client, "list_directory", repo="other")).lower()
        assert len(github.asked(r"/repos/team/other/.*")) == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("read_file", {"path": "no.txt"}, "There is no 'no.txt' at this commit. List its directory"),
        ("read_file", {}, "read_file needs path; it takes"),
        ("read_file", {"path": 7}, "The argument path of read_file must be a string."),
        ("list_directory", {"depth": 1}, "list_directory has no argument 'depth'"),
        ("list_directory", {"ref": " "}, "The argument ref of list_directory must be a text that is not empty."),
        ("list_directory", {"ref": "gone"}, "There is no branch, tag or commit “gone”"),
        ("list_directory", {"owner": "..", "repo": "etc"}, "No folder is opened by its path."),
        ("list_directory", {"owner": "a/b", "repo": "c"}, "owner and repo are two plain names"),
        ("list_directory", {"owner": "local", "repo": "etc"}, "There is no local repository local/etc."),
        ("analyze_repository", {}, "analyze_repository needs repo."),
        ("analyze_repository", {"repo": "/etc"}, "No folder is opened by its path. This server was started without"),
        ("analyze_repository", {"repo": "tests"}, "names no repository: write"),
        ("analyze_repository", {"repo": "a/b", "preset": "short"}, "must be one of full, overview, architecture."),
        ("analyze_repository", {"repo": "a/b", "lang": "x y"}, "must be a language such as"),
        ("analyze_repository", {"repo": "a/b", "engine": "llm"}, "--engine llm needs a key"),
        ("analyze_repository", {"repo": "a/b", "others": "c/d"}, "has no argument 'others'"),
    ],
)
async def test_what_cannot_be_done_is_a_tool_error_in_a_sentence(
    tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    async with GitHubServer(FilesTransport(FILES, commits=[Commit()])) as github, connected(github) as client:
        assert sentence in await refused(client, tool, **arguments)


async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol() -> None:
    async with connected() as client:
        with pytest.raises(MCPError, match=r"There is no tool 'write_file'; there are get_repo_info"):
            await client.call_tool("write_file", {})


# -- snapshots --------------------------------------------------------------------------------


async def test_a_repository_stays_at_its_commit_until_nobody_has_asked_for_long(tmp_path: Path) -> None:
    path, clock = make_repo(tmp_path / "tool", [("First", FILES)]), VirtualClock()
    async with connected(None, path, clock=clock) as client:
        place = {"owner": "local", "repo": "tool"}
        first = await ask(client, "list_directory", **place)
        (path / "new.txt").write_text("new")
        git(path, "add", ".")
        git(path, "commit", "-qm", "Second")
        newest = git(path, "rev-parse", "HEAD").decode().strip()
        assert (await ask(client, "list_directory", **place))["commit"] == first["commit"] != newest
        assert (await ask(client, "list_directory", **place, ref=newest))["commit"] == newest
        clock.advance(mcp_repositories.LONGEST_REST + 1)
        assert (await ask(client, "list_directory", **place))["commit"] == newest


async def test_calls_side_by_side_take_one_snapshot_and_one_that_leaves_hands_it_on() -> None:
    async with GitHubServer(FILES) as github, connected(github) as client:
        github.on(HELD, faults.hold())
        leaver = asyncio.create_task(ask(client, "list_directory"))
        await begun(github, leaver, 2)
        others = [asyncio.create_task(ask(client, "list_directory")) for _ in range(3)]
        await asyncio.sleep(0.01)
        leaver.cancel()
        assert len({answer["commit"] for answer in await asyncio.gather(*others)}) == 1
        # The one that was given up, and one for all the others.
        assert len(github.asked("tree")) == 2


async def test_only_so_many_snapshots_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_repositories, "KEPT", 2)
    async with GitHubServer(FILES) as github, connected(github) as client:
        for repo in ("one", "two", "one", "three", "one", "two"):
            await ask(client, "list_directory", repo=repo)
        # Which commit it is has to be asked again only where the snapshot was given up.
        assert [len(github.asked(rf"/repos/team/{repo}/commits/.+")) for repo in ("one", "two", "three")] == [1, 2, 1]


def test_of_folders_of_one_name_a_server_takes_only_one(tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "tool").mkdir(parents=True)
    one, other = str(tmp_path / "a" / "tool"), str(tmp_path / "b" / "tool")
    assert served([one, one]) == {"tool": Path(one)}
    with pytest.raises(UsageError, match="Two folders are named tool"):
        served([one, other])
    with pytest.raises(UsageError, match="There is no folder"):
        served([f"{one}/gone"])


# -- whole analyses, and their records --------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
async def test_an_analysis_tells_its_progress_and_gives_a_report_that_can_be_read_again(mode: str) -> None:
    async with GitHubServer(FILES) as github, connected(github, mode=mode) as client:
        ears = Ears()
        result = await client.call_tool(
            "analyze_repository", {"repo": "https://github.com/team/tool", "preset": "overview"}, progress_callback=ears
        )
        assert not result.is_error and said(result).startswith("# ")
        told = result.structured_content
        assert told is not None and is_described(told, mcp_schemas.ANALYZE_OUTPUT)
        assert (told["outcome"], told["engine"], told["repo"]) == ("completed", "survey", "team/tool")
        assert told["report"] == said(result) and told["grounding"]["supported"] > 0
        assert told["requests"] == len(github.requests)
        reached = [step for step, _, _ in ears.heard]
        assert reached == sorted(set(reached)) and {total for _, total, _ in ears.heard} == {16}
        assert max(reached) < 16 and "turn 1 of 15" in ears.text and "ok: read_file path=README.md" in ears.text

        [resource] = (await client.list_resources()).resources
        assert (resource.uri, resource.mime_type) == (told["resource"], "text/markdown")
        assert "team/tool" in resource.name and "completed" in (resource.description or "")
        for uri in (told["resource"], "report://last"):
            [content] = (await client.read_resource(uri)).contents
            assert "# Survey of `team/tool`" in getattr(content, "text", "") and content.uri == uri
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "report://{run_id}"
        for uri in ("report://no-such", "report:///etc/x.jsonl", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="There is no"):
                await client.read_resource(uri)


async def test_of_a_models_analysis_the_client_learns_what_it_spent_and_that_it_is_partial() -> None:
    script = [[call("read_file", {**TOOL, "path": "README.md"})], [turns.say("# A tool that hammers")]]
    async with (
        GitHubServer(FILES) as github,
        ModelServer(*script, key=KEY) as model,
        connected(github, api_key=KEY, base_url=model.url, max_turns=1) as client,
    ):
        result = await client.call_tool("analyze_repository", {"repo": "team/tool", "question": "What does it do?"})
        told = result.structured_content
        assert told is not None and not result.is_error
        assert (told["outcome"], told["engine"], told["model"]) == ("partial", "llm", "deepseek-flash")
        assert told["error"] == "The report is partial: the only turn was used up."
        assert said(result).startswith("# A tool that hammers") and told["tool_calls"] == 1
        assert told["usage"]["prompt_tokens"] > told["usage"]["completion_tokens"] > 0
        assert KEY not in result.model_dump_json()


async def test_an_analysis_that_fails_is_a_tool_error_and_one_unrecorded_has_no_resource(tmp_path: Path) -> None:
    local = make_repo(tmp_path / "tool", [("First", FILES)])
    async with (
        GitHubServer(FILES, private=True, token="other") as github,
        connected(github, local, record=False, github_token=None) as client,
    ):
        assert "team/tool cannot be analysed: not found" in await refused(
            client, "analyze_repository", repo="team/tool"
        )
        result = await client.call_tool("analyze_repository", {"repo": "local/tool", "question": "What is it?"})
        assert result.structured_content is not None and result.structured_content["resource"] is None
        assert (await client.list_resources()).resources == []


# Without streams between them, a client cannot leave its server in the middle.
@pytest.mark.parametrize(("mode", "how"), [("legacy", "cancels"), ("auto", "cancels"), ("legacy", "leaves")])
async def test_a_client_that_cancels_or_goes_away_ends_its_work(mode: str, how: str) -> None:
    async with nothing_left_behind(), GitHubServer(FILES) as github:
        github.on(HELD, always=faults.hold())
        async with connected(github, mode=mode) as client:
            work = asyncio.create_task(client.call_tool("analyze_repository", {"repo": "team/tool"}))
            await begun(github, work, 2)
            if how == "leaves":
                # The block ends with the call under way.
                work.add_done_callback(lambda task: task.cancelled() or task.exception())
            else:
                work.cancel()
                await cancelled(github)
        if how == "leaves":
            with contextlib.suppress(asyncio.CancelledError, MCPError):
                await work
        [run] = await cancelled(github)
        assert run.repo == "team/tool" and all(e.client_left for e in github.exchanges if e.status is None)


# -- where it listens -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8000", "127.0.0.1:8000"),
        (":8000", "127.0.0.1:8000"),
        ("localhost:1", "localhost:1"),
        ("127.8.9.1:80", "127.8.9.1:80"),
        ("[::1]:65535", "[::1]:65535"),
    ],
)
def test_a_port_alone_is_this_machines(text: str, found: str) -> None:
    assert str(endpoint(text, "--http", allow_remote=False)) == found


@pytest.mark.parametrize("text", ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.com:80"])
def test_another_host_has_to_be_allowed_and_the_refusal_says_why(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening.socket, "getfqdn", lambda: "me.example")
    monkeypatch.setattr(listening.socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", ("10.0.0.7", 0))])
    with pytest.raises(UsageError, match=r"no authentication of its own.*--allow-remote"):
        endpoint(text, "--http", allow_remote=False)
    asked = endpoint(text, "--http", allow_remote=True)
    assert str(asked) == text
    # Where it listens everywhere, by all of its own names, and by no other.
    everywhere = {"me.example", "10.0.0.7"} <= set(asked.hosts)
    assert everywhere is (asked.host in ("0.0.0.0", "::")) and "evil.example" not in asked.hosts


@pytest.mark.parametrize("text", ["", "x", "localhost", "1:2:3", "65536", "http://x:80", "::1:80", "me@x:80"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--http must be HOST:PORT or a port"):
        endpoint(text, "--http", allow_remote=True)

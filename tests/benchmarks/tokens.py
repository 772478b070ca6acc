"""Prompt tokens of a whole run, against a plain loop that answers with JSON as it comes.

Same question, same repository, same scripted calls over the same two servers; what each side sends in all its requests
(system prompt, schemas, history) is counted with tiktoken (cl100k_base). The repository is a real one, made of this
project's own files. Needs the dependency group `bench`; without it only the two loops are run.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import httpx
import openai

from tests.repos import Step, make_repo
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.turns import call, say
from tui_agent import Settings, run_agent
from tui_agent.transports.local_git import LocalTransport

Json = dict[str, Any]
ROOT = Path(__file__).parents[2]
LIMIT = 0.7
QUESTION = "Analyse team/tool: what is it, how is it built, and how active is it?"
ADDRESS = {"owner": "team", "repo": "tool"}
FEW = 6000
"""Characters of a file in one answer, on both sides."""

Turns = list[list[tuple[str, Json]]]
_AGAIN = [("read_file", {"path": "README.md"}), ("get_commits", {"per_page": 30})]
TURNS: Turns = [
    [("get_repo_info", {}), ("list_directory", {}), ("get_commits", {"per_page": 30})],
    [("read_file", {"path": "README.md"}), ("read_file", {"path": "pyproject.toml"})],
    [("list_directory", {"path": "tui_agent"}), ("list_directory", {"path": "tests"})],
    [*_AGAIN, ("read_file", {"path": "tui_agent/__init__.py"})],
    [("read_file", {"path": "tui_agent/session.py"}), ("read_file", {"path": "tui_agent/start.py"})],
    [("read_file", {"path": f"tui_agent/resilience/{name}"}) for name in ("breaker.py", "retry.py", "outcome.py")],
    [("read_file", {"path": "tests/repos.py"})],
]
"""Calls turn by turn, as a model makes them: a first look, nine files from short to long, two calls made twice."""
ONCE: Turns = [[one for one in turn if one not in _AGAIN or number < 2] for number, turn in enumerate(TURNS)]
"""The same without the two repetitions."""

# What GitHub knows of such a repository, where a local one has only placeholders.
_ON_GITHUB: Json = {
    "description": "Watch an agent explore a repository and write a report, live in the terminal.",
    "homepage": "https://team.example/tool",
    "language": "Python",
    "topics": ["agent", "cli", "github", "llm", "terminal", "tui"],
    "stargazers_count": 1284,
    "forks_count": 97,
    "open_issues_count": 23,
    "subscribers_count": 31,
    "html_url": "https://github.com/team/tool",
}
_AUTHORS = ("Ada Author <ada@example.org>", "Bo Builder <bo@example.org>", "dependabot[bot] <bot@example.org>")
_MESSAGES = (
    "Retry only what is safe to be sent again\n\nA refusal is no trouble: it is told, and never counted.",
    "Bump ruff from 0.9.1 to 0.9.2",
    "Fix the countdown of an open breaker",
    "Merge pull request #{n} from team/limits\n\nWait for the limit that the server names",
    "Document how a repository may be named",
    "Tests for links that lead in a circle",
)


class _Hosted(httpx.AsyncBaseTransport):
    """A local repository as GitHub would tell of it."""

    def __init__(self, inner: LocalTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if request.url.path != "/repos/team/tool":
            return response
        about = json.loads(await response.aread())
        about = {key: value for key, value in about.items() if key not in ("local", "placeholders")}
        return httpx.Response(200, json={**about, **_ON_GITHUB, "full_name": "team/tool"})


def make(path: Path) -> Path:
    """The repository: this project's files, in 40 commits."""
    files: dict[str, bytes | str | Path | None] = {
        str(file.relative_to(ROOT)): file.read_bytes()
        for file in sorted([*ROOT.glob("*.*"), *ROOT.glob("tui_agent/**/*.*"), *ROOT.glob("tests/*.py")])
        if file.is_file() and file.suffix in (".md", ".toml", ".py", ".tcss", ".json")
    }
    steps: list[Step] = [("Begin", files, _AUTHORS[0], "2024-01-01 09:00:00 +0000")]
    for n in range(1, 40):
        message = _MESSAGES[n % len(_MESSAGES)].format(n=n)
        date = f"2024-{n // 20 + 2:02d}-{n % 20 + 1:02d} {n % 12 + 8:02d}:{n * 7 % 60:02d}:{n * 13 % 60:02d} +0000"
        steps.append((message, {"notes.txt": f"{n}\n"}, _AUTHORS[n % len(_AUTHORS)], date))
    return make_repo(path, steps)


def _script(turns: Turns) -> list[Any]:
    steps = [[say("I look further."), *(call(name, {**ADDRESS, **more}) for name, more in turn)] for turn in turns]
    return [*steps, [say("# The report\n\nIt is a tool.")]]


# -- the plain loop ---------------------------------------------------------------------------------

PLAIN_SYSTEM = (
    "You are an expert software analyst. You explore a GitHub repository with the tools that you are given. Think step "
    "by step: decide what you need to know, call a tool, look at the result, and go on until you know enough. Then "
    "write a report in Markdown about the repository that answers the user's question. Base the report only on what "
    "you have seen, and do not invent anything."
)


def _plain_schema(name: str, description: str, required: list[str], **more: Json) -> Json:
    properties = {
        "owner": {"type": "string", "description": "The owner of the repository"},
        "repo": {"type": "string", "description": "The name of the repository"},
        **more,
    }
    parameters = {"type": "object", "properties": properties, "required": ["owner", "repo", *required]}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


PLAIN_SCHEMAS = [
    _plain_schema("get_repo_info", "Get general information about a GitHub repository.", []),
    _plain_schema(
        "list_directory",
        "List the files and directories at a path of a GitHub repository.",
        [],
        path={"type": "string", "description": "The path of the directory; the root by default"},
    ),
    _plain_schema(
        "read_file",
        "Read the content of a file of a GitHub repository. Long files are truncated.",
        ["path"],
        path={"type": "string", "description": "The path of the file"},
    ),
    _plain_schema(
        "get_commits",
        "Get the latest commits of a GitHub repository.",
        [],
        per_page={"type": "integer", "description": "How many commits to get"},
    ),
]
_FIELDS = (
    "full_name description homepage language topics license default_branch stargazers_count forks_count "
    "open_issues_count created_at updated_at pushed_at html_url"
).split()


async def _plain_tool(http: httpx.AsyncClient, url: str, name: str, arguments: Json) -> Any:
    path = arguments.get("path", "")
    base = f"{url}/repos/{arguments['owner']}/{arguments['repo']}"
    if name == "get_repo_info":
        data = (await http.get(base)).json()
        told = {field: data[field] for field in _FIELDS}
        return {**told, "license": data["license"] and data["license"]["spdx_id"]}
    if name == "list_directory":
        data = (await http.get(f"{base}/contents/{path}")).json()
        return [{"name": one["name"], "type": one["type"], "size": one["size"]} for one in data]
    if name == "read_file":
        text = base64.b64decode((await http.get(f"{base}/contents/{path}")).json()["content"]).decode()
        return {"path": path, "content": text[:FEW], "truncated": len(text) > FEW}
    data = (await http.get(f"{base}/commits", params={"per_page": arguments["per_page"]})).json()
    return [
        {
            "sha": one["sha"],
            "message": one["commit"]["message"],
            "author": one["commit"]["author"]["name"],
            "date": one["commit"]["author"]["date"],
        }
        for one in data
    ]


async def plain(github: str, model: str) -> None:
    """Ask, carry out, answer with JSON, until nothing is called."""
    messages: list[Any] = [{"role": "system", "content": PLAIN_SYSTEM}, {"role": "user", "content": QUESTION}]
    tools: Any = PLAIN_SCHEMAS
    async with httpx.AsyncClient(trust_env=False, follow_redirects=True) as http:
        client: Any = http
        llm = openai.AsyncOpenAI(api_key="none", base_url=model, http_client=client)
        while True:
            content, calls = "", list[Json]()
            stream = await llm.chat.completions.create(
                model="deepseek-flash", messages=messages, tools=tools, stream=True
            )
            async for piece in stream:
                for choice in piece.choices:
                    content += choice.delta.content or ""
                    for one in choice.delta.tool_calls or ():
                        if one.id:
                            calls.append({"id": one.id, "name": "", "arguments": ""})
                        assert one.function is not None
                        calls[-1]["name"] += one.function.name or ""
                        calls[-1]["arguments"] += one.function.arguments or ""
            if not calls:
                return
            asked = [
                {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                for c in calls
            ]
            messages.append({"role": "assistant", "content": content, "tool_calls": asked})
            for c in calls:
                result = await _plain_tool(http, github, c["name"], json.loads(c["arguments"]))
                messages.append({"role": "tool", "tool_call_id": c["id"], "content": json.dumps(result)})


async def ours(github: str, model: str) -> None:
    """The agent's whole run."""
    async with httpx.AsyncClient(trust_env=False) as http:
        client: Any = http
        llm = openai.AsyncOpenAI(api_key="none", base_url=model, http_client=client)
        settings = Settings(github_api_url=github)
        await run_agent(llm, http, QUESTION, model="deepseek-flash", settings=settings)


# -- counting ---------------------------------------------------------------------------------------

Count = Callable[[str], int]


def counter() -> Count | None:
    """Counts the tokens of a text; None where the group `bench` is not installed."""
    bundled = importlib.util.find_spec("litellm")
    if bundled is None or bundled.origin is None or importlib.util.find_spec("tiktoken") is None:
        return None
    # The encoding's file comes with litellm; tiktoken would fetch it. litellm itself is not imported.
    os.environ["TIKTOKEN_CACHE_DIR"] = str(Path(bundled.origin).parent / "litellm_core_utils" / "tokenizers")
    import tiktoken

    encoding = tiktoken.get_encoding("cl100k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def _parts(body: Json) -> Iterable[tuple[str, str]]:
    """The texts of one request, each with the kind that it is of."""
    if body.get("tools"):
        yield "schemas", json.dumps(body["tools"], ensure_ascii=False, separators=(",", ":"))
    tools: dict[str, str] = {}
    for message in body["messages"]:
        for one in message.get("tool_calls") or ():
            tools[one["id"]] = one["function"]["name"]
            yield "calls", one["function"]["name"] + one["function"]["arguments"]
        kind = tools.get(message.get("tool_call_id", ""), message["role"])
        yield kind, f"{message['role']}\n{message.get('content') or ''}"


def tokens(bodies: Iterable[Json], count: Count) -> dict[str, int]:
    """Prompt tokens of all requests together, by what they are spent on."""
    known: dict[str, int] = {}
    spent: dict[str, int] = {}
    for body in bodies:
        for kind, text in _parts(body):
            if text not in known:
                known[text] = count(text)
            spent[kind] = spent.get(kind, 0) + known[text]
    return spent


async def _bodies(side: Callable[[str, str], Any], repo: Path, turns: Turns) -> list[Json]:
    async with (
        GitHubServer(_Hosted(LocalTransport.open(repo)), limit=5000) as github,
        ModelServer(*_script(turns)) as model,
    ):
        await side(github.url, model.url)
        assert not model.errors and len(model.bodies) == len(turns) + 1
        return model.bodies


def run(rounds: int) -> list[tuple[str, float, float]]:
    """Rows of (what, ratio, limit); both sides do the same every time, so one round is enough."""
    count = counter()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        repo = make(Path(folder) / "tool")
        for what, turns in (("two calls repeated", TURNS), ("none repeated", ONCE)):
            bodies = [asyncio.run(_bodies(side, repo, turns)) for side in (plain, ours)]
            if count is None:
                continue
            theirs, own = (tokens(sent, count) for sent in bodies)
            ratios.append(sum(own.values()) / sum(theirs.values()))
            print(f"  {what}: plain {sum(theirs.values()):,} tokens, ours {sum(own.values()):,} = {ratios[-1]:.2f}")
            kinds = (f"{kind} {theirs.get(kind, 0):,} → {own.get(kind, 0):,}" for kind in own)
            print(f"    {', '.join(kinds)}")
    if not ratios:
        print("  both loops run; their tokens are counted only with the dependency group `bench`")
        return []
    return [("prompt tokens / of a plain loop", ratios[0], LIMIT)]

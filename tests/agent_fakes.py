"""A GitHub and a model that behave, in process: for tests of the loop and of the run."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import httpx
import openai

from tui_agent.agent.guards import Guards
from tui_agent.agent.llm import LanguageModel, ModelOptions
from tui_agent.agent.plan import Plan
from tui_agent.agent.run import Run
from tui_agent.events import Event
from tui_agent.github.client import GitHubClient
from tui_agent.redact import Redactor
from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.settings import Settings
from tui_agent.transports.survey.writer import write_report

KEY = "sk-secret-key-0123"
COMMIT = "c0ffee" + "0" * 34
API = "https://api.github.com"


class FakeGitHub(httpx.AsyncBaseTransport):
    """Serves a handful of files as `octo/demo`, and counts what it is asked."""

    def __init__(self, files: dict[str, str | bytes], **about: Any) -> None:
        self.blobs = {path: data.encode() if isinstance(data, str) else data for path, data in files.items()}
        self.about = about
        self.seen: Counter[str] = Counter()
        self.faults: dict[str, list[httpx.Response | Exception]] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.seen[path] += 1
        for prefix, faults in self.faults.items():
            if prefix in path and faults:
                fault = faults.pop(0)
                if isinstance(fault, Exception):
                    raise fault
                return fault
        return self._answer(path.removeprefix("/repos/octo/demo"), path)

    def _answer(self, rest: str, path: str) -> httpx.Response:
        if rest == path:
            return httpx.Response(404, json={"message": "Not Found"})
        if rest == "":
            about = {"full_name": "octo/demo", "default_branch": "main", "stargazers_count": 7, "license": None}
            return httpx.Response(200, json=about | self.about)
        if rest in ("/commits/HEAD", "/commits/main", f"/commits/{COMMIT}"):
            return httpx.Response(200, text=COMMIT)
        if rest == f"/git/trees/{COMMIT}":
            tree = [
                {"path": p, "mode": "100644", "type": "blob", "sha": _sha(d), "size": len(d)}
                for p, d in self.blobs.items()
            ]
            folders = sorted({"/".join(p.split("/")[:i]) for p in self.blobs for i in range(1, p.count("/") + 1)})
            tree += [{"path": f, "mode": "040000", "type": "tree", "sha": _sha(f.encode())} for f in folders]
            return httpx.Response(200, content=json.dumps({"tree": tree, "truncated": False}))
        if rest == "/commits":
            author = {"name": "Ada", "date": "2026-01-02T03:04:05Z"}
            commit = {"message": "First\n\nmore", "author": author, "committer": author}
            return httpx.Response(200, json=[{"sha": COMMIT, "commit": commit, "author": None}])
        for data in self.blobs.values():
            if rest == f"/git/blobs/{_sha(data)}":
                content = base64.encodebytes(data).decode()
                return httpx.Response(200, json={"content": content, "encoding": "base64", "size": len(data)})
        return httpx.Response(404, json={"message": "Not Found"})


def _sha(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


Chunk = dict[str, Any] | bytes | Exception


def say(*texts: str) -> list[Chunk]:
    """Content in pieces."""
    return [{"choices": [{"delta": {"content": text}}]} for text in texts]


def think(*texts: str) -> list[Chunk]:
    """Reasoning in pieces."""
    return [{"choices": [{"delta": {"reasoning_content": text}}]} for text in texts]


def call(name: str, arguments: dict[str, Any] | str | None = None, *, call_id: str = "", index: int = 0) -> list[Chunk]:
    """One tool call in one piece; owner and repo are added to an object of arguments."""
    if not isinstance(arguments, str):
        arguments = json.dumps({"owner": "octo", "repo": "demo"} | (arguments or {}))
    delta = {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
    return [{"choices": [{"delta": {"tool_calls": [delta]}}]}]


def end(reason: str = "stop", prompt: int = 0, completion: int = 0, cached: int = 0) -> list[Chunk]:
    """The reason and, where tokens are given, the usage."""
    chunks: list[Chunk] = [{"choices": [{"delta": {}, "finish_reason": reason}]}]
    if prompt:
        usage = {"prompt_tokens": prompt, "completion_tokens": completion, "prompt_cache_hit_tokens": cached}
        chunks.append({"choices": [], "usage": usage})
    return chunks


Turn = Sequence[Chunk] | httpx.Response | Exception
Script = Sequence[Turn] | Callable[[dict[str, Any]], Turn]


class FakeModel(httpx.AsyncBaseTransport):
    """Streams scripted turns and keeps every request's body."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        self.bodies.append(body)
        turn = self.script(body) if callable(self.script) else self.script[len(self.bodies) - 1]
        if isinstance(turn, Exception):
            raise turn
        if isinstance(turn, httpx.Response):
            return turn
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=_Stream(turn))


class _Stream(httpx.AsyncByteStream):
    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if isinstance(chunk, Exception):
                raise chunk
            yield chunk if isinstance(chunk, bytes) else b"data: " + json.dumps(chunk).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"


FAST = Settings(base_delay=0.001, max_delay=0.002)


def make_model(transport: httpx.AsyncBaseTransport, guards: Guards, **options: Any) -> LanguageModel:
    """The real model client on a transport."""
    http: Any = httpx.AsyncClient(transport=transport)
    client = openai.AsyncOpenAI(api_key=KEY, base_url="https://model.test/v1", http_client=http)
    pipeline = guards.model_pipeline("x")
    return LanguageModel(client, ModelOptions("fake", **options), pipeline, guards.clock, Redactor([KEY]))


def make_run(
    github: httpx.AsyncBaseTransport,
    model: httpx.AsyncBaseTransport,
    *,
    settings: Settings = FAST,
    clock: Clock | None = None,
    model_options: dict[str, Any] | None = None,
    **plan: Any,
) -> tuple[Run, list[Event]]:
    """A run on two transports, and the list that its events go to."""
    events: list[Event] = []
    clock = clock or SystemClock()
    guards = Guards(settings, clock)
    client = GitHubClient(
        httpx.AsyncClient(transport=github),
        api_url=API,
        token=None,
        retry=guards.retry,
        breakers=guards.breakers,
        gate=guards.gate(API),
        clock=clock,
        timeout=settings.request_timeout,
        redact=Redactor([]),
    )
    parameters: dict[str, Any] = {
        "owner": "octo",
        "name": "demo",
        "source": "github",
        "question": "What is it?",
        "max_turns": settings.max_turns,
        "max_tokens": settings.max_tokens,
        "web": "https://github.com/octo/demo",
    }
    language_model = make_model(model, guards, **(model_options or {}))
    return Run(Plan(**(parameters | plan)), client, language_model, clock, events.append, write_report), events


def of(events: Sequence[Event], *types: type[Event]) -> list[Any]:
    """The events of some types, in order."""
    return [event for event in events if isinstance(event, types)]

"""Fakes that behave: time that passes by itself, a GitHub made of a dict, ears for events."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from tui_agent.events import Event
from tui_agent.github.client import GitHubClient
from tui_agent.redact import Redactor
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.pipeline import Breakers
from tui_agent.resilience.rate_limit import RateLimitGate
from tui_agent.resilience.retry import Retry

E = TypeVar("E", bound=Event)
API = "https://api.github.com"
NAMES = ("get_repo_info", "list_directory", "find_files", "read_file", "get_commits", "llm", "snapshot")


class VirtualClock:
    """Time that stands still while anybody has something to do, and else jumps to the next thing that is due.

    It takes over the time of the event loop that it is used in, so that `asyncio.sleep` and `asyncio.timeout` live in
    it too. A thread that works, or a socket that may bring something, is waited for in real time.

    Args:
        epoch: what `time()` says in the beginning.
    """

    GRACE = 0.25
    """Real seconds in which a socket may still bring something before time jumps."""

    def __init__(self, epoch: float = 1_700_000_000.0) -> None:
        self.epoch = epoch
        self.now = 0.0
        self.slept: list[float] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._threads = 0
        with suppress(RuntimeError):
            self._take_over(asyncio.get_running_loop())

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self.now

    def time(self) -> float:
        """Seconds since the epoch."""
        return self.epoch + self.now

    async def sleep(self, seconds: float) -> None:
        """Let `seconds` pass."""
        self._take_over(asyncio.get_running_loop())
        self.slept.append(seconds)
        await asyncio.sleep(seconds)

    def advance(self, seconds: float) -> None:
        """Let time pass by hand, at once."""
        self.now += seconds

    def _take_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is loop:
            return
        self._loop = loop
        patched: Any = loop
        selector = patched._selector
        select, run_in_executor = selector.select, patched.run_in_executor
        offset = math.ceil(loop.time() - self.now)

        def selected(timeout: float | None = None) -> Any:
            if timeout is None or timeout <= 0:
                return select(timeout)
            # At its end the loop waits for its threads, from Python 3.12 on with a time-out.
            if self._threads or patched._executor_shutdown_called:
                return select(self.GRACE)
            if len(selector.get_map()) > 1 and (ready := select(self.GRACE)):
                return ready
            # the loop counts in nanoseconds; so 3601 stays 3601
            self.now = round(self.now + timeout, 9)
            return select(0)

        def in_executor(executor: Executor | None, function: Callable[..., Any], *args: Any) -> Any:
            self._threads += 1
            future = run_in_executor(executor, function, *args)
            future.add_done_callback(lambda _: setattr(self, "_threads", self._threads - 1))
            return future

        patched.time = lambda: offset + self.now
        selector.select = selected
        patched.run_in_executor = in_executor


async def settle() -> None:
    """Let every task go on until it waits for something."""
    for _ in range(50):
        await asyncio.sleep(0)


class Recorder(list[Event]):
    """Hears every event."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one type, in order."""
        return [event for event in self if isinstance(event, kind)]

    def told(self) -> list[str]:
        """The types of all events, in order."""
        return [event.type for event in self]


Reply = httpx.Response | Exception | Callable[[httpx.Request], Any]


class Server(httpx.AsyncBaseTransport):
    """Answers by script, and keeps what it was asked.

    A reply is a response, an exception to raise, or a function of the request (which may be a coroutine).
    """

    def __init__(self, otherwise: Reply | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self.open = 0
        self._script: list[tuple[re.Pattern[str], list[Reply]]] = []
        self._otherwise = otherwise

    def on(self, pattern: str, *replies: Reply) -> None:
        """What the next requests get whose path and query match; each reply once."""
        self._script.append((re.compile(pattern), list(replies)))

    def always(self, pattern: str, reply: Reply) -> None:
        """What every request gets whose path and query match."""
        self._script.append((re.compile(pattern), [reply] * 10_000))

    @property
    def targets(self) -> list[str]:
        """Path and query of every request, as on the wire."""
        return [request.url.raw_path.decode() for request in self.requests]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        self.open += 1
        try:
            # like a network, which always takes a moment
            await asyncio.sleep(0)
            return await self._answer(request)
        finally:
            self.open -= 1

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        reply = self._next(request.url.raw_path.decode())
        while not isinstance(reply, httpx.Response):
            if isinstance(reply, Exception):
                raise reply
            reply = reply(request)
            if asyncio.iscoroutine(reply):
                reply = await reply
        return httpx.Response(reply.status_code, headers=reply.headers.raw, stream=reply.stream)

    def _next(self, target: str) -> Any:
        for pattern, replies in self._script:
            if replies and pattern.search(target):
                return replies.pop(0)
        if self._otherwise is None:
            return httpx.Response(404, json={"message": "Not Found"})
        return self._otherwise


@dataclass(frozen=True)
class Link:
    """A symbolic link of a `FakeRepository`."""

    target: str


@dataclass(frozen=True)
class Submodule:
    """A submodule of a `FakeRepository`."""

    commit: str = "1" * 40


Content = str | bytes | Link | Submodule


class FakeRepository(Server):
    """One repository on GitHub, made of a dict: refs, trees, blobs and commits, hashed as git does.

    Args:
        files: content by path.
        truncated: the recursive tree is cut after so many entries.
        name: `owner/name`.
    """

    def __init__(
        self, files: Mapping[str, Content], *, truncated: int | None = None, name: str = "octo/demo", **about: Any
    ) -> None:
        super().__init__(self._github)
        self.name = name
        self.about = {"full_name": name, "default_branch": "main", "license": None, **about}
        self.truncated = truncated
        self.commit = "c0ffee" + "0" * 34
        self.commits: list[dict[str, Any]] = []
        self.refs: dict[str, list[str]] = {"heads": ["main"], "tags": []}
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._fill(files)

    def _fill(self, files: Mapping[str, Content]) -> None:
        folders: dict[str, dict[str, dict[str, Any]]] = {"": {}}
        for path, content in files.items():
            parent, _, name = path.rpartition("/")
            entry = self._entry(name, content)
            while True:
                folders.setdefault(parent, {})[name] = entry
                if not parent:
                    break
                parent, _, name = parent.rpartition("/")
                entry = {"path": name, "mode": "040000", "type": "tree"}
        self.root = self._tree(folders, "")

    def _entry(self, name: str, content: Content) -> dict[str, Any]:
        if isinstance(content, Submodule):
            return {"path": name, "mode": "160000", "type": "commit", "sha": content.commit}
        data = content.target.encode() if isinstance(content, Link) else content
        data = data.encode() if isinstance(data, str) else data
        sha = git_hash("blob", data)
        self.blobs[sha] = data
        mode = "120000" if isinstance(content, Link) else "100644"
        return {"path": name, "mode": mode, "type": "blob", "sha": sha, "size": len(data)}

    def _tree(self, folders: dict[str, dict[str, dict[str, Any]]], path: str) -> str:
        entries = []
        for name, entry in sorted(folders[path].items()):
            if entry["type"] == "tree":
                entry["sha"] = self._tree(folders, f"{path}/{name}" if path else name)
            entries.append(entry)
        sha = git_hash("tree", json.dumps(entries).encode())
        self.trees[sha] = entries
        return sha

    def _walk(self, sha: str, lead: str = "") -> list[dict[str, Any]]:
        found = []
        for entry in self.trees[sha]:
            found.append({**entry, "path": lead + entry["path"]})
            if entry["type"] == "tree":
                found += self._walk(entry["sha"], lead + entry["path"] + "/")
        return found

    def _github(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode().partition("?")[0]
        route = re.sub(r"^(/api/v3)?(/repos/[^/]+/[^/]+|/repositories/\d+)", "", path)
        if route == "":
            return httpx.Response(200, json=self.about)
        if route.startswith("/commits/"):
            return self._resolve(httpx.URL(path).path.partition("/commits/")[2])
        if route == "/commits":
            return self._history(request)
        if match := re.fullmatch(r"/git/(trees|blobs)/(\w+)", route):
            return self._object(match[1], match[2], "recursive" in request.url.params)
        if match := re.fullmatch(r"/git/matching-refs/(heads|tags)/(.+)", route):
            prefix = httpx.URL("http://x/" + match[2]).path[1:]
            found = [ref for ref in self.refs[match[1]] if ref.startswith(prefix)]
            return httpx.Response(200, json=[{"ref": f"refs/{match[1]}/{ref}"} for ref in found])
        return refused(404, "Not Found")

    def _resolve(self, ref: str) -> httpx.Response:
        if not self.commit:
            return refused(409, "Git Repository is empty.")
        if ref in ("HEAD", self.commit, *self.refs["heads"], *self.refs["tags"]):
            return httpx.Response(200, text=self.commit)
        return refused(422, f"No commit found for SHA: {ref}")

    def _object(self, kind: str, sha: str, recursive: bool) -> httpx.Response:
        if kind == "blobs" and sha in self.blobs:
            data = self.blobs[sha]
            content = base64.encodebytes(data).decode()
            return httpx.Response(
                200, json={"sha": sha, "size": len(data), "encoding": "base64", "content": content, "node_id": "x"}
            )
        if kind == "trees" and not self.commit:
            return refused(409, "Git Repository is empty.")
        sha = self.root if sha in ("HEAD", self.commit) else sha
        if kind == "trees" and sha in self.trees:
            tree = self._walk(sha) if recursive else self.trees[sha]
            cut = recursive and self.truncated is not None
            reply = {"sha": sha, "tree": tree[: self.truncated] if cut else tree, "truncated": cut}
            # names may hold halves of surrogate pairs, which only JSON's escapes can carry
            return httpx.Response(200, content=json.dumps(reply).encode())
        return refused(404, "Not Found")

    def _history(self, request: httpx.Request) -> httpx.Response:
        if not self.commit:
            return refused(409, "Git Repository is empty.")
        size, page = int(request.url.params["per_page"]), int(request.url.params["page"])
        shown = self.commits[(page - 1) * size : page * size]
        older = page * size < len(self.commits)
        headers = {"link": f'<{API}/x?page={page + 1}>; rel="next"'} if older else {}
        return httpx.Response(200, json=shown, headers=headers)


def git_hash(kind: str, data: bytes) -> str:
    """The name that git gives to an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()


def refused(status: int, message: str = "", **headers: str) -> httpx.Response:
    """A refusal with GitHub's JSON; `retry_after="5"` becomes a header of that name."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=named, json={"message": message, "documentation_url": "https://docs/rest"})


def quota_headers(remaining: int, reset: float, *, limit: int = 60, resource: str = "core") -> dict[str, str]:
    """The headers by which GitHub tells a limit."""
    return {
        "x-ratelimit-limit": str(limit),
        "x-ratelimit-remaining": str(remaining),
        "x-ratelimit-used": str(limit - remaining),
        "x-ratelimit-reset": str(int(reset)),
        "x-ratelimit-resource": resource,
    }


@dataclass
class Layers:
    """Clock, gate, breakers and retry, as a process has them; numbers are the defaults of the contract."""

    clock: Clock
    threshold: int = 5
    reset: float = 30.0
    max_retries: int = 3
    max_wait: float = 90.0
    timeout: float = 15.0
    retry: Retry = field(init=False)
    breakers: Breakers = field(init=False)
    gate: RateLimitGate = field(init=False)

    def __post_init__(self) -> None:
        self.retry = Retry(self.clock, max_retries=self.max_retries, chance=lambda: 0.0)
        self.breakers = Breakers(NAMES, self.threshold, self.reset, self.clock)
        self.gate = RateLimitGate(self.clock, max_wait=self.max_wait)

    def client(
        self,
        transport: httpx.AsyncBaseTransport,
        *,
        token: str | None = None,
        api_url: str = API,
        secrets: Sequence[str] = (),
    ) -> GitHubClient:
        """GitHub's client on a transport, through these layers."""
        return GitHubClient(
            httpx.AsyncClient(transport=transport, timeout=None),
            api_url=api_url,
            token=token,
            retry=self.retry,
            breakers=self.breakers,
            gate=self.gate,
            clock=self.clock,
            timeout=self.timeout,
            redact=Redactor([token, *secrets]),
        )

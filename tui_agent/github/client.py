"""One request to GitHub: limits, redirects, errors, and a bound on what is read.

Everything that a reply can be is sorted here into the outcomes that the layers know
(`tui_agent.resilience.outcome`): a value, an answer that says no, a rate limit, or trouble.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urljoin, urlsplit

import httpx

from tui_agent.events import CacheState
from tui_agent.github.errors import GitHubError, meaning
from tui_agent.github.limits import quota, refusal
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Trouble
from tui_agent.resilience.pipeline import Breakers, Pipeline
from tui_agent.resilience.rate_limit import RateLimitGate
from tui_agent.resilience.retry import Retry
from tui_agent.safe_text import one_line

T = TypeVar("T")

JSON = "application/vnd.github+json"
SHA = "application/vnd.github.sha"
API_VERSION = "2022-11-28"
USER_AGENT = "repo-agent-tui"
MAX_REPLY = 16 * 1024 * 1024
"""Bytes that are read of a reply, after decompression."""
MAX_HOPS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_IN_A_THREAD = 256 * 1024
"""Bytes of JSON from which on parsing would be felt on the screen."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer.

    Args:
        headers: case-insensitive.
        body: decompressed.
        cache: where it came from.
        moved: the path that the request was redirected to, or None.
    """

    headers: Mapping[str, str]
    body: bytes
    cache: CacheState = "miss"
    moved: str | None = None

    async def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: it is none.
        """
        if len(self.body) > _IN_A_THREAD:
            return await asyncio.to_thread(json.loads, self.body)
        return json.loads(self.body)


def route(*parts: str) -> str:
    """A path of the API: each part percent-encoded whole, so that no part can leave its place.

    Raises:
        ValueError: a part is empty or consists of dots, which no encoding keeps in place.
    """
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not a part of a path: {parts!r}")
    return "/" + "/".join(quote(part, safe="") for part in parts)


class GitHubClient:
    """Asks GitHub through the layers, within one run.

    Args:
        http: the caller's client; only used, never closed.
        api_url: where the API is; no trailing slash needed.
        token: sent to that host only; None for none.
        retry, breakers, gate: the layers, which may outlive the run.
        clock: tells the epoch for limits.
        timeout: seconds for one attempt.
        redact: takes secrets out of what the server says.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        api_url: str,
        token: str | None,
        retry: Retry,
        breakers: Breakers,
        gate: RateLimitGate,
        clock: Clock,
        timeout: float,
        redact: Redactor,
    ) -> None:
        self.requests = 0
        self.redact = redact
        self._http = http
        self._api_url = api_url.rstrip("/")
        self._token = token
        self._retry = retry
        self._breakers = breakers
        self._gate = gate
        self._clock = clock
        self._timeout = timeout
        # a renamed repository's old path → its lasting one, so that each run is redirected once
        self._moved: dict[str, str] = {}

    async def get(
        self,
        call: Call,
        path: str,
        read: Callable[[Reply, Any], T],
        *,
        params: Mapping[str, str | int] | None = None,
        accept: str = JSON,
    ) -> T:
        """What `read` makes of the reply.

        Args:
            call: whose request it is.
            path: made by `route`.
            read: takes the reply and its JSON (None where `accept` is not JSON); a ValueError,
                KeyError, TypeError or AttributeError of its own means that the reply has the wrong shape.
            params: the query.
            accept: the media type.

        Raises:
            GitHubError: GitHub said no.
            Trouble, Unavailable: the service failed or was not asked.
        """

        async def attempt() -> T:
            reply = await self._once(call, path, params, accept)
            try:
                return read(reply, await reply.json() if accept == JSON else None)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise Trouble("the reply does not have the form that GitHub documents") from error

        pipeline = Pipeline(self._retry, self._breakers[call.name], self._gate, self._timeout)
        return await pipeline.run(call, attempt)

    async def _once(self, call: Call, path: str, params: Mapping[str, str | int] | None, accept: str) -> Reply:
        repository, rest = _split(path)
        path = self._moved.get(repository, repository) + rest
        url = str(httpx.URL(self._api_url + path, params=params)) if params else self._api_url + path
        seen = {url}
        moved: str | None = None
        for _ in range(MAX_HOPS + 1):
            status, headers, body, cache = await self._send(call, url, accept)
            if status not in _REDIRECTS:
                self._judge(status, headers, body)
                if moved is not None and moved.endswith(rest):
                    self._moved[repository] = moved.removesuffix(rest)
                return Reply(headers, body, cache, moved)
            url = self._target(url, headers, body, status)
            if url in seen:
                raise GitHubError(status, "GitHub redirects this request in a circle; it cannot be answered.")
            seen.add(url)
            moved = urlsplit(url).path.removeprefix(urlsplit(self._api_url).path)
        raise GitHubError(status, f"GitHub redirects this request more than {MAX_HOPS} times; it was given up.")

    async def _send(self, call: Call, url: str, accept: str) -> tuple[int, httpx.Headers, bytes, CacheState]:
        headers = {"Accept": accept, "X-GitHub-Api-Version": API_VERSION, "User-Agent": USER_AGENT}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        self.requests += 1
        try:
            request = self._http.build_request("GET", url, headers=headers, extensions={"call_name": call.name})
            response = await self._http.send(request, stream=True, follow_redirects=False)
            try:
                body = bytearray()
                async for chunk in response.aiter_bytes():
                    body += chunk
                    if len(body) > MAX_REPLY:
                        raise GitHubError(413, f"The reply is larger than {MAX_REPLY // 2**20} MB; it was not read.")
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise Trouble(f"timed out ({_phase(error)})") from error
        except httpx.DecodingError as error:
            raise Trouble("the body is garbled (its compression is broken)") from error
        except httpx.HTTPError as error:
            raise Trouble(self._say(f"connection failed: {error or type(error).__name__}")) from error
        except httpx.InvalidURL as error:
            raise GitHubError(400, "This makes no valid address.") from error
        known = quota(response.headers)
        if known is not None:
            self._gate.observe(call, known)
        return response.status_code, response.headers, bytes(body), "miss"

    def _target(self, url: str, headers: httpx.Headers, body: bytes, status: int) -> str:
        location = headers.get("location") or _field(body, "url")
        target = urljoin(url, location) if location else ""
        if not location or _origin(target) != _origin(self._api_url):
            raise GitHubError(
                status, "GitHub redirects this request to nowhere or to another host; it was not followed."
            )
        return target

    def _judge(self, status: int, headers: httpx.Headers, body: bytes) -> None:
        if 200 <= status < 300:
            return
        message = self._say(_field(body, "message"))
        limit = refusal(status, headers, message, _field(body, "documentation_url"), self._clock.time())
        if limit is not None:
            raise limit
        if 400 <= status < 500:
            block = _object(body).get("block")
            block = block if isinstance(block, dict) else {}
            sentence = meaning(
                status,
                message,
                reason=self._say(str(block.get("reason") or "")),
                notice=self._say(str(block.get("html_url") or "")),
            )
            raise GitHubError(status, sentence)
        raise Trouble(f"HTTP {status}{': ' + message if message else ''}", status)

    def _say(self, text: str) -> str:
        return one_line(self.redact(text), 300)


def _split(path: str) -> tuple[str, str]:
    """`/repos/owner/name` and what follows it."""
    parts = path.split("/", 4)
    return "/".join(parts[:4]), "/" + parts[4] if len(parts) > 4 else ""


def _phase(error: httpx.TimeoutException) -> str:
    name = type(error).__name__.removesuffix("Timeout").lower()
    return {"connect": "connecting", "read": "reading", "write": "sending", "pool": "no free connection"}.get(
        name, name
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body[:65536])
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _field(body: bytes, name: str) -> str:
    value = _object(body).get(name)
    return value if isinstance(value, str) else ""


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        default = {"https": 443, "http": 80}.get(parts.scheme)
        return parts.scheme, parts.hostname, parts.port or default
    except ValueError:
        return "", None, None

"""One request to GitHub: limits, redirects, errors, and a bound on what is read.

Everything that a reply can be is sorted here into the outcomes that the layers know
(`tui_agent.resilience.outcome`): a value, an answer that says no, a rate limit, or trouble.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

import httpx

from tui_agent.events import Notice
from tui_agent.github.body import ACCEPT_ENCODING, read_body
from tui_agent.github.errors import GitHubError, refused
from tui_agent.github.kept import FRESH, ONLY_IF_CACHED, REVALIDATE, Kept, costliest, forget, listening, noted
from tui_agent.github.limits import quota, refusal
from tui_agent.redact import Redactor
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Answered, Trouble
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
_PASSING = frozenset({408, 425})
"""Refusals that pass by themselves: the server was too slow, or too early (RFC 9110, RFC 8470)."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_ABOUT_CONTENT = frozenset({409, 422})
"""Refusals that come from the right place: an empty repository, an unknown ref."""
_IN_A_THREAD = 64 * 1024
"""Bytes of a reply from which on making it out would be felt on the screen."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A good answer.

    Args:
        headers: case-insensitive.
        body: decompressed.
        kept: what a cache says of it, and of each redirect on the way.
    """

    headers: Mapping[str, str]
    body: bytes
    kept: tuple[Kept, ...] = (FRESH,)

    def json(self) -> Any:
        """The body as JSON.

        Raises:
            ValueError: it is none.
        """
        return json.loads(self.body)


def route(*parts: str) -> str:
    """A path of the API: each part percent-encoded whole, so that no part can leave its place.

    Raises:
        ValueError: a part is empty or consists of dots, which no encoding keeps in place.
    """
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"not a part of a path: {parts!r}")
    return "/" + "/".join(quote(part, safe="") for part in parts)


def as_list(data: Any) -> list[Any]:
    """A part of a reply that is documented to be a list.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(data, list):
        raise TypeError(f"not a list: {type(data).__name__}")
    return data


class GitHubClient:
    """Asks GitHub through the layers, within one run.

    Args:
        http: the caller's client; only used, never closed.
        api_url: where the API is; no trailing slash needed.
        token: sent to that host only; None for none.
        retry, breakers, gate: the layers, which may outlive the run.
        clock: tells the epoch for limits.
        timeout: seconds for one attempt; None where nothing can hang.
        redact: takes secrets out of what the server says.
        cached: whether `http` has a cache in it that understands `tui_agent.github.kept`.
        refresh: what is kept has to be revalidated before it is used.
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
        timeout: float | None,
        redact: Redactor,
        cached: bool = False,
        refresh: bool = False,
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
        self._cached = cached
        self._refresh = cached and refresh
        # a renamed repository's old path → its lasting one, so that each run is redirected once
        self._moved: dict[str, str] = {}

    @property
    def has_token(self) -> bool:
        """Whether requests carry a token."""
        return self._token is not None

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
            read: takes the reply and its JSON (None where `accept` is not JSON); what it trips over (a missing
                key, another type, a number out of bounds) means that the reply has the wrong shape. It may run
                in a thread.
            params: the query.
            accept: the media type.

        Raises:
            GitHubError: GitHub said no.
            Trouble, Unavailable: the service failed or was not asked.
        """

        async def attempt(*, only_kept: bool = False) -> T:
            reply = await self._once(call, path, params, accept, only_kept=only_kept)

            def make_out() -> tuple[T, bool]:
                value = read(reply, reply.json() if accept == JSON else None)
                return value, self._cached and self._holds_a_secret(reply, value)

            try:
                value, secret = await asyncio.to_thread(make_out) if len(reply.body) > _IN_A_THREAD else make_out()
            except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
                await reply.kept[-1].settle(False)
                raise Trouble("the reply does not have the form that GitHub documents") from error
            for kept in reply.kept:
                # a secret that the server repeats, or that was committed, is written to no file
                await kept.settle(not secret)
            states = [kept.state for kept in reply.kept]
            call.cache = costliest(*states, call.cache or "hit")
            return value

        if self._cached:
            # before the layers: what is kept needs no quota and no service; that nothing is there comes as a 504
            with suppress(Trouble, Answered):
                return await attempt(only_kept=True)
        pipeline = Pipeline(self._retry, self._breakers[call.name], self._gate, self._timeout)
        return await pipeline.run(call, attempt)

    def _holds_a_secret(self, reply: Reply, value: object) -> bool:
        headers = (f"{name}: {text}".encode() for name, text in reply.headers.items())
        return self.redact.found_in(reply.body, *headers, *([value] if isinstance(value, bytes) else []))

    def has_moved(self, owner: str, name: str) -> bool:
        """Whether the repository has been redirected to another place in this run."""
        return route("repos", owner, name) in self._moved

    async def _once(
        self, call: Call, path: str, params: Mapping[str, str | int] | None, accept: str, *, only_kept: bool
    ) -> Reply:
        repository, rest = _split(path)
        url = self._url(self._moved.get(repository, repository) + rest, params)
        seen, all_kept = {url}, []
        while True:
            status, headers, body, kept = await self._send(call, url, accept, only_kept=only_kept)
            all_kept.append(kept)
            if status not in _REDIRECTS:
                break
            if self.redact.found_in(body, headers.get("location", "").encode()):
                all_kept[-1] = await forget(kept)
            url = self._target(url, headers, body, status)
            if url in seen:
                raise GitHubError(status, "GitHub redirects this request in a circle; it cannot be answered.")
            if len(seen) > MAX_HOPS:
                raise GitHubError(status, f"GitHub redirects this request more than {MAX_HOPS} times; it was given up.")
            seen.add(url)
            if not only_kept:
                self._gate.check()
        if len(seen) > 1 and (status < 300 or status in _ABOUT_CONTENT):
            self._remember(repository, rest, url)
        self._judge(status, headers, body)
        if not only_kept and all(kept.state == "hit" for kept in all_kept):
            # nothing was sent: another call has just brought it, or an injected fault had hidden it
            call.attempts -= 1
        return Reply(headers, body, tuple(all_kept))

    def _url(self, path: str, params: Mapping[str, str | int] | None = None) -> httpx.URL:
        try:
            return httpx.URL(self._api_url + path, params=params) if params else httpx.URL(self._api_url + path)
        except (httpx.InvalidURL, UnicodeError) as error:
            raise GitHubError(400, "This makes no valid address.") from error

    async def _send(
        self, call: Call, url: httpx.URL, accept: str, *, only_kept: bool
    ) -> tuple[int, httpx.Headers, bytes, Kept]:
        headers = {
            "Accept": accept,
            "Accept-Encoding": ACCEPT_ENCODING,
            "X-GitHub-Api-Version": API_VERSION,
            "User-Agent": USER_AGENT,
        }
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        extensions: dict[str, Any] = {"call_name": call.name}
        if directives := [ONLY_IF_CACHED] * only_kept + [REVALIDATE] * self._refresh:
            headers["Cache-Control"] = ", ".join(directives)
        if self._cached:
            extensions |= listening(lambda text: call.emit(Notice(level="warning", text=text)))
        request = self._http.build_request("GET", url, headers=headers, extensions=extensions)
        self.requests += not only_kept
        try:
            response = await self._http.send(request, stream=True, follow_redirects=False)
            kept = noted(response)
            try:
                if not only_kept:
                    self.requests += kept.sent - 1
                known = quota(response.headers) if kept.state != "hit" else None
                if known is not None:
                    self._gate.observe(call, known)
                body = await read_body(response, MAX_REPLY)
            except Trouble:
                await kept.settle(False)
                raise
            finally:
                await response.aclose()
        except httpx.TimeoutException as error:
            raise Trouble(f"timed out ({_phase(error)})") from error
        except httpx.InvalidURL as error:
            raise _to_nowhere() from error
        except (httpx.HTTPError, OSError) as error:
            # httpx looks at the target of a redirect even where it does not follow
            if str(error).startswith("Invalid URL in location header"):
                raise _to_nowhere() from error
            raise Trouble(self._say(f"connection failed: {str(error) or type(error).__name__}")) from error
        return response.status_code, response.headers, body, kept

    def _target(self, url: httpx.URL, headers: httpx.Headers, body: bytes, status: int) -> httpx.URL:
        """Where a redirect leads: on the same host only, since the token goes along."""
        location = headers.get("location") or _text(_object(body), "url")
        try:
            # the parser that decides is the one that sends
            target = url.join(location).copy_with(fragment=None) if location else None
        except (httpx.InvalidURL, UnicodeError):
            target = None
        if target is None:
            raise _to_nowhere(status)
        api = httpx.URL(self._api_url)
        if (target.scheme, target.host, target.port) != (api.scheme, api.host, api.port) or target.userinfo:
            where = one_line(f"{target.scheme}://{target.host}{f':{target.port}' if target.port else ''}", 100)
            raise GitHubError(status, f"GitHub redirects this request to another host ({where}); it is not followed.")
        return target

    def _remember(self, repository: str, rest: str, url: httpx.URL) -> None:
        """Later requests of the repository go straight to its new place."""
        place = url.raw_path.partition(b"?")[0].decode("ascii")
        base = httpx.URL(self._api_url).raw_path.decode("ascii").rstrip("/")
        if place.startswith(base + "/") and place.endswith(rest):
            self._moved[repository] = place[len(base) : len(place) - len(rest)]

    def _judge(self, status: int, headers: httpx.Headers, body: bytes) -> None:
        if 200 <= status < 300:
            return
        said = _object(body)
        message = self._say(_text(said, "message"))
        limit = refusal(status, headers, message, _text(said, "documentation_url"), self._clock.time())
        if limit is not None:
            raise limit
        if 400 <= status < 500 and status not in _PASSING:
            block = said.get("block")
            reason, notice = (_text(block, "reason"), _text(block, "html_url")) if isinstance(block, dict) else ("", "")
            raise refused(status, message, reason=self._say(reason), notice=self._say(notice))
        raise Trouble(f"HTTP {status}{': ' + message if message else ''}", status)

    def _say(self, text: str) -> str:
        return one_line(self.redact(text), 300)


def _to_nowhere(status: int = 301) -> GitHubError:
    return GitHubError(status, "GitHub redirects this request to nowhere; it cannot be answered.")


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


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""

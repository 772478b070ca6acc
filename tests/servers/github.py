"""GitHub's REST API on loopback: any transport's replies with GitHub's headers, limits and faults by script."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import re
import time
from collections.abc import Mapping

import httpx

from tests.servers.faults import ByRequest, Step, refuse
from tests.servers.files import FilesTransport
from tests.servers.http import Answer, HttpServer, Request

# Which request a tool's call becomes; `list_directory` is answered from the snapshot and asks nothing.
ROUTES = {
    "snapshot": r"/repos/[^/]+/[^/]+/(commits/.+|git/trees/.+)",
    "commit": r"/repos/[^/]+/[^/]+/commits/.+",
    "tree": r"/repos/[^/]+/[^/]+/git/trees/.+",
    "get_repo_info": r"/repos/[^/]+/[^/]+",
    "read_file": r"/repos/[^/]+/[^/]+/git/blobs/.+",
    "get_commits": r"/repos/[^/]+/[^/]+/commits",
}


class GitHubServer(HttpServer):
    """Serves one repository under every owner and name.

    Args:
        source: files by path, or any transport that answers GitHub's routes.
        token: the one that is valid; any other is refused (401). None takes any.
        private: without the token nothing is there (404).
        limit: requests an hour; None for GitHub's own (60 without a token, 5,000 with one).
        remaining: what is left of it; None for all.
        reset_in: seconds until it is whole again.
    """

    def __init__(
        self,
        source: Mapping[str, str | bytes] | httpx.AsyncBaseTransport,
        *,
        token: str | None = None,
        private: bool = False,
        limit: int | None = None,
        remaining: int | None = None,
        reset_in: float = 3600.0,
    ) -> None:
        super().__init__()
        self.transport = source if isinstance(source, httpx.AsyncBaseTransport) else FilesTransport(source)
        self.token = token
        self.private = private
        self.reset = int(time.time() + reset_in)
        self._limit = limit
        self._spent = 0 if remaining is None else (limit or 60) - remaining
        self._script: list[tuple[re.Pattern[str], list[Step], Step | None]] = []
        self._moved: dict[str, tuple[int, str]] = {}

    def on(self, route: str, *steps: Step, always: Step | None = None) -> None:
        """What happens to the next requests of a route, in order; then `always`, or the plain reply.

        Args:
            route: a tool's name, "snapshot", or a pattern for the whole path.
            steps: one for each request.
            always: for every request after them.
        """
        self._script.append((re.compile(ROUTES.get(route, route)), list(steps), always))

    def move(self, old: str, new: str) -> None:
        """Rename `owner/name`: the old name is redirected (301) as GitHub does it."""
        self._moved[old.lower()] = (len(self._moved) + 4711, new)

    def asked(self, route: str) -> list[Request]:
        """The requests of one route so far."""
        pattern = re.compile(ROUTES.get(route, route))
        return [request for request in self.requests if pattern.fullmatch(_api_path(request))]

    async def answer(self, request: Request) -> Answer:
        for pattern, steps, always in self._script:
            if pattern.fullmatch(_api_path(request)) and (steps or always):
                step = steps.pop(0) if steps else always
                if isinstance(step, ByRequest):
                    step = step.reply(request)
                if isinstance(step, Answer):
                    return dataclasses.replace(step, headers={**self._quota(request, cost=1), **step.headers})
                assert step is not None
                return step(await self._plain(request))
        return await self._plain(request)

    async def _plain(self, request: Request) -> Answer:
        refused = self._refused(request)
        if refused is not None:
            return dataclasses.replace(refused, headers={**self._quota(request, cost=0), **refused.headers})
        target = self._redirected(request)
        if isinstance(target, Answer):
            return dataclasses.replace(target, headers={**self._quota(request, cost=1), **target.headers})
        asked = httpx.Request(request.method, self.url + target, headers=request.headers)
        response = await self.transport.handle_async_request(asked)
        body = await response.aread()
        headers = {name.lower(): value for name, value in response.headers.items()}
        for name in ("content-length", "content-encoding", "transfer-encoding", "connection", "date"):
            headers.pop(name, None)
        headers.setdefault("etag", f'W/"{hashlib.sha256(body).hexdigest()}"')
        fresh = response.status_code == 304 or headers["etag"] in request.headers.get("if-none-match", "")
        # A 304 is free only with an Authorization header.
        cost = 0 if fresh and "authorization" in request.headers else 1
        headers |= self._quota(request, cost=cost)
        if fresh:
            return Answer(304, headers)
        if "gzip" in request.headers.get("accept-encoding", "") and len(body) > 256:
            headers["content-encoding"] = "gzip"
            body = gzip.compress(body, 1)
        return Answer(response.status_code, headers, body)

    def _refused(self, request: Request) -> Answer | None:
        """What GitHub refuses before it looks at the path."""
        if "user-agent" not in request.headers:
            return Answer(403, {"content-type": "text/html"}, b"Request forbidden by administrative rules.")
        given = request.headers.get("authorization", "")
        is_known = self.token is None or given.partition(" ")[2] == self.token
        if given and not is_known:
            return refuse(401, "Bad credentials")
        if self.private and not (given and is_known):
            return refuse(404, "Not Found")
        if self._left(request) <= 0:
            message = "API rate limit exceeded for 127.0.0.1."
            return dataclasses.replace(refuse(403, message), headers={"x-ratelimit-remaining": "0"})
        return None

    def _redirected(self, request: Request) -> str | Answer:
        """The target below `/repos/`, or the redirect that GitHub answers for a name that was moved."""
        target = re.sub(r"^/api/v3(?=/)", "", request.target)
        for old, (number, new) in self._moved.items():
            if match := re.match(rf"/repos/{re.escape(old)}(?=[/?]|$)", target, re.IGNORECASE):
                location = f"{self.url}/repositories/{number}{target[match.end() :]}"
                body = f'{{"message": "Moved Permanently", "url": "{location}"}}'
                return Answer(301, {"location": location}, body.encode())
            target = re.sub(rf"^/repositories/{number}(?=[/?]|$)", f"/repos/{new}", target)
        return target

    def _left(self, request: Request) -> int:
        limit = self._limit or (5000 if "authorization" in request.headers else 60)
        return limit - self._spent

    def _quota(self, request: Request, *, cost: int) -> dict[str, str]:
        """The headers of every reply of GitHub, and what this one costs."""
        self._spent += cost
        left = max(self._left(request), 0)
        authorised = "authorization" in request.headers
        return {
            "server": "github.com",
            "x-ratelimit-limit": str(left + self._spent),
            "x-ratelimit-remaining": str(left),
            "x-ratelimit-used": str(self._spent),
            "x-ratelimit-reset": str(self.reset),
            "x-ratelimit-resource": "core",
            "cache-control": f"{'private' if authorised else 'public'}, max-age=60, s-maxage=60",
            "vary": "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With",
            "x-github-media-type": "github.v3; format=json",
            "x-github-api-version-selected": "2022-11-28",
            "x-github-request-id": f"TEST:{len(self.exchanges)}",
        }


def _api_path(request: Request) -> str:
    return re.sub(r"^/api/v3(?=/)", "", request.raw_path)

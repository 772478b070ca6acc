"""Faults put between client and service, for learning and testing: the layers above take them for real ones."""

from __future__ import annotations

import math
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

from tui_agent.github.kept import ONLY_IF_CACHED, wishes
from tui_agent.request import UsageError
from tui_agent.resilience.clock import Clock

LIMIT_SECONDS = 3
"""How long an injected rate limit lasts."""
_RULE = re.compile(r"(?P<name>\*|[a-z_]+):(?P<fault>[a-z]+|\d{3})(?:x(?P<times>\d{1,6}))?")
_KINDS = ("timeout", "drop", "cut", "limit")
_CUT_AFTER = 3


@dataclass
class _Rule:
    name: str
    fault: str
    left: int | None


class FaultScript:
    """Which requests meet which fault; may be added to at any time.

    Args:
        names: that may be named: the tools', `llm` and `snapshot`.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._rules: list[_Rule] = []

    def add(self, spec: str) -> None:
        """Add rules: `NAME:FAULT[xN]`, comma-separated.

        Args:
            spec: NAME a tool, `llm`, `snapshot` or `*` (all); FAULT a status from 400 to 599, `timeout`, `drop`
                (no answer), `cut` (half an answer) or `limit` (a rate limit); N times, else always.

        Raises:
            UsageError: one sentence.
        """
        rules = [self._parse(part.strip()) for part in spec.split(",") if part.strip()]
        if not rules:
            raise UsageError("No fault is named; write NAME:FAULT[xN], such as read_file:503x2.")
        self._rules += rules

    def clear(self) -> None:
        """Forget all rules."""
        self._rules.clear()

    def take(self, name: str) -> str | None:
        """The fault that this request meets, if any; one that is counted is used up."""
        for rule in self._rules:
            if rule.name in ("*", name) and rule.left != 0:
                if rule.left is not None:
                    rule.left -= 1
                return rule.fault
        return None

    def has(self, name: str) -> bool:
        """Whether this name's next request meets a fault; nothing is used up."""
        return any(rule.name in ("*", name) and rule.left != 0 for rule in self._rules)

    def _parse(self, text: str) -> _Rule:
        match = _RULE.fullmatch(text)
        if match is None:
            raise UsageError(f"“{text}” is no fault; write NAME:FAULT[xN], such as read_file:503x2.")
        name, fault, times = match["name"], match["fault"], match["times"]
        if name != "*" and name not in self._names:
            raise UsageError(f"“{name}” can have no faults; there are *, {', '.join(sorted(self._names))}.")
        if not (fault in _KINDS or (fault.isdigit() and 400 <= int(fault) <= 599)):
            raise UsageError(f"“{fault}” is no fault; there are a status from 400 to 599, {', '.join(_KINDS)}.")
        if times is not None and int(times) == 0:
            raise UsageError(f"“{text}” would never happen; the number of times is at least 1.")
        return _Rule(name, fault, None if times is None else int(times))


class FaultTransport(httpx.AsyncBaseTransport):
    """Another transport, with the script's faults.

    Args:
        inner: what answers otherwise.
        script: which request meets which fault.
        clock: the epoch, for rate limits.
        name: of requests that bring no `call_name` in their extensions.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, script: FaultScript, clock: Clock, name: str) -> None:
        self._inner = inner
        self._script = script
        self._clock = clock
        self._name = name

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer, fail, or let the inner transport answer."""
        name = str(request.extensions.get("call_name", self._name))
        if ONLY_IF_CACHED in wishes(request):
            # no request of the network's, so it uses up no fault; but what is kept must not hide one
            return httpx.Response(504) if self._script.has(name) else await self._inner.handle_async_request(request)
        fault = self._script.take(name)
        if fault is None:
            return await self._inner.handle_async_request(request)
        if fault == "timeout":
            raise httpx.ReadTimeout("injected time-out", request=request)
        if fault == "drop":
            raise httpx.RemoteProtocolError("injected: the server closed the connection", request=request)
        if fault == "cut":
            response = await self._inner.handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            return httpx.Response(
                response.status_code,
                headers=[item for item in response.headers.raw if item[0].lower() != b"content-length"],
                stream=_Cut(response.stream, request),
                extensions=response.extensions,
            )
        if fault == "limit":
            return self._limited(request)
        return _status(int(fault), f"injected fault {fault}", {})

    def _limited(self, request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            return _status(429, "injected rate limit", {"retry-after": str(LIMIT_SECONDS)})
        headers = {
            "x-ratelimit-limit": "60",
            "x-ratelimit-remaining": "0",
            "x-ratelimit-used": "60",
            "x-ratelimit-reset": str(math.ceil(self._clock.time()) + LIMIT_SECONDS - 1),
            "x-ratelimit-resource": "core",
        }
        return _status(403, "API rate limit exceeded (injected)", headers)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


def _status(status: int, message: str, headers: dict[str, str]) -> httpx.Response:
    # A model's server wraps its words in an error object, GitHub does not; both find theirs.
    return httpx.Response(status, headers=headers, json={"message": message, "error": {"message": message}})


class _Cut(httpx.AsyncByteStream):
    """The beginning of another stream, and then a broken connection."""

    def __init__(self, inner: httpx.AsyncByteStream, request: httpx.Request) -> None:
        self._inner = inner
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        last, seen = b"", 0
        async for chunk in self._inner:
            if last:
                yield last
            last = chunk
            seen += 1
            if seen > _CUT_AFTER:
                break
        yield last[: len(last) // 2]
        raise httpx.RemoteProtocolError("injected: the connection broke in the middle", request=self._request)

    async def aclose(self) -> None:
        await self._inner.aclose()

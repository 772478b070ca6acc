"""Which models an endpoint has: `GET /models`, as OpenAI documents it and all its imitators have it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx

from tui_agent.resilience.outcome import Answered, Trouble

LARGEST = 8 * 1024 * 1024
"""Bytes of the list that are read; OpenRouter's has about one million."""
_MEANINGS = {
    401: "the key was refused",
    402: "the account has no balance left",
    403: "access was refused for this key",
    404: "there is no such address",
}


class ListRefused(Answered):
    """The server said no.

    Args:
        status: the HTTP status.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"{_MEANINGS.get(status, 'it was refused')} (HTTP {status})")
        self.status = status


async def model_names(http: httpx.AsyncClient, base_url: str, key: str, seconds: float) -> list[str]:
    """The names, in the server's order.

    Args:
        http: only used, never closed.
        base_url: the endpoint, without a slash at its end.
        key: sent there.
        seconds: that it may take.

    Raises:
        ListRefused: the server said no, or sends on to another address, which gets no key.
        Trouble: it failed, or sent something else.
    """
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json", "User-Agent": "repo-agent-tui"}
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async with http.stream("GET", f"{base_url}/models", headers=headers, follow_redirects=False) as response:
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > LARGEST:
                        raise Trouble("the list of models is too long")
    except TimeoutError as error:
        raise Trouble(f"no answer within {seconds:g} s") from error
    except (httpx.HTTPError, httpx.StreamError, OSError) as error:
        raise Trouble(f"no connection: {error or type(error).__name__}") from error
    if response.status_code >= 500:
        raise Trouble(f"the server has trouble of its own (HTTP {response.status_code})", response.status_code)
    if response.status_code != 200:
        raise ListRefused(response.status_code)
    return _names(bytes(body))


def _names(body: bytes) -> list[str]:
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Trouble("the list of models is no JSON") from error
    rows = data.get("data", data.get("models")) if isinstance(data, dict) else data
    if not isinstance(rows, list):
        raise Trouble("the list of models has not the form that OpenAI documents")
    named = (row.get("id") or row.get("name") if isinstance(row, dict) else row for row in rows)
    return [name for name in named if isinstance(name, str)]

"""What the model's server and GitHub answer, asked as a run asks them: same addresses, keys, proxies and layers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tui_agent.frontends.doctor.finding import Finding
from tui_agent.request import UsageError
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Answered, RateLimited, Trouble, Unavailable
from tui_agent.safe_text import one_line
from tui_agent.settings import Settings

if TYPE_CHECKING:
    from tui_agent.assembly import Assembly
    from tui_agent.github.client import Reply

PATIENCE = 5.0
"""Seconds for a small answer; a machine without a network is told about within them."""
MODEL_PATIENCE = 60.0
"""Seconds for the tool call: a server at home may have to load its model first."""
LITTLE = 0.1
"""Of the requests of an hour; with less left, one more run may not fit."""
_ANSWER = 1_000
"""Tokens that the answer may take; a model that thinks needs some."""
_TOOL = {
    "type": "function",
    "function": {
        "name": "report_ready",
        "description": "Report that tools can be called. Use it when you are asked to report that you are ready.",
        "parameters": {
            "type": "object",
            "properties": {"word": {"type": "string", "description": "Always the word ok."}},
            "required": ["word"],
        },
    },
}
_ASKED = (
    b'{"role":"user","content":"Report that you are ready: call report_ready with the word ok, and write nothing."}'
)
# A token that may do any of these can do more than read.
_WRITING = ("admin:", "delete_", "write:", "workflow", "gist", "user")


async def model(settings: Settings, assembly: Assembly, tell: Callable[[str], None]) -> list[Finding]:
    """The endpoint, its models, and one small tool call.

    Args:
        settings: the user's.
        assembly: made for the doctor, with little patience.
        tell: is told that the tool call costs something, before it is made.
    """
    host = urlsplit(settings.base_url).netloc
    begun = time.monotonic()
    try:
        names = await assembly.models(PATIENCE)
    except Answered as error:
        if _is_final(error):
            return [Finding("endpoint", "problem", f"{host}: {error}", _key_todo(settings))]
        # Some servers list no models.
        listed = Finding("endpoint", "attention", f"{host} answers, and lists no models ({error})")
    except (Trouble, Unavailable, RateLimited) as error:
        return [Finding("endpoint", "problem", f"{host}: {error}", _network_todo(settings))]
    except UsageError as error:
        return [Finding("endpoint", "problem", f"{host}: {error}")]
    else:
        listed = _listed(settings, host, names, time.monotonic() - begun)
    tell(f"asking {settings.model} at {host} for one small tool call, which costs some tokens (--offline skips it)")
    return [listed, await _tool_call(settings, assembly)]


def _listed(settings: Settings, host: str, names: list[str], seconds: float) -> Finding:
    text = f"{host} answers in {seconds:.1f} s and lists {len(names)} model{'' if len(names) == 1 else 's'}"
    if settings.model in names:
        return Finding("endpoint", "ok", f"{text}, {settings.model} among them")
    offered = ", ".join(one_line(name, 60) for name in names[:5]) or "none"
    return Finding(
        "endpoint", "attention", f"{text}; {settings.model} is not among them", f"choose one with --model: {offered}"
    )


async def _tool_call(settings: Settings, assembly: Assembly) -> Finding:
    begun, pieces = time.monotonic(), [0]

    def count(*_: object) -> None:
        pieces[0] += 1

    try:
        turn = await assembly.model("llm").ask(
            Call("llm", lambda _: None), [_ASKED], [_TOOL], count, count, max_tokens=_ANSWER
        )
    except (Answered, Trouble, Unavailable, RateLimited) as error:
        return Finding("tool call", "problem", str(error), _tool_todo(settings))
    except UsageError as error:
        return Finding("tool call", "problem", str(error))
    spent = f", {turn.usage.prompt + turn.usage.completion} tokens" if turn.usage else ", tokens not told"
    text = f"in {time.monotonic() - begun:.1f} s{spent}"
    if any(call.tool == "report_ready" and call.arguments is not None for call in turn.calls):
        return Finding("tool call", "ok", f"{settings.model} called a tool {text}")
    if turn.cut is not None:
        return Finding(
            "tool call", "attention", f"{settings.model} did not come to an end {text}", _tool_todo(settings)
        )
    return Finding(
        "tool call", "problem", f"{settings.model} answered without calling the tool {text}", _tool_todo(settings)
    )


async def github(settings: Settings, assembly: Assembly) -> Finding:
    """Whether GitHub answers, what the token may do, and how many requests are left."""
    host = urlsplit(settings.github_api_url).netloc

    def read(reply: Reply, data: Any) -> tuple[str | None, int, int, int]:
        core = data["resources"]["core"]
        scopes = reply.headers.get("x-oauth-scopes")
        return scopes, int(core["limit"]), int(core["remaining"]), int(core["reset"])

    try:
        client = await assembly.github()
        scopes, limit, left, reset = await client.get(Call("snapshot", lambda _: None), "/rate_limit", read)
    except Answered as error:
        status = getattr(error, "status", 0)
        if status == 404:
            return Finding("GitHub", "ok", f"{host} answers; it tells of no limit (an Enterprise Server may have none)")
        todo = "make a new token (github.com/settings/tokens), or unset GITHUB_TOKEN" if status == 401 else ""
        return Finding("GitHub", "problem", f"{host}: {error}", todo)
    except (Trouble, Unavailable, RateLimited) as error:
        todo = "check the network, and the proxy (HTTPS_PROXY, NO_PROXY); a local folder can be analysed without it"
        return Finding("GitHub", "problem", f"{host}: {error}", todo)
    except UsageError as error:
        return Finding("GitHub", "problem", f"{host}: {error}")
    until = time.strftime("%H:%M", time.localtime(reset))
    text = f"{host} answers; {left:,} of {limit:,} requests left until {until}"
    if settings.github_token is None:
        todo = "set GITHUB_TOKEN for 5,000 an hour; a fine-grained one that may read public repositories is enough"
        return Finding("GitHub", "attention", f"{text}; no token is set", todo)
    text = f"{text}; {_may(settings.github_token, scopes)}"
    if left < limit * LITTLE:
        return Finding("GitHub", "attention", text, f"wait until {until}; what is in the cache costs nothing")
    if any(scope.strip().startswith(_WRITING) for scope in (scopes or "").split(",")):
        todo = "reading is all that is needed: a fine-grained token with read-only Contents and Metadata does it"
        return Finding("GitHub", "attention", text, todo)
    return Finding("GitHub", "ok", text)


def _may(token: str, scopes: str | None) -> str:
    """What a token may do, as far as GitHub tells."""
    if scopes is None:
        kind = "fine-grained" if token.startswith("github_pat_") else "no classic one"
        return f"the token is {kind}: what it may do, GitHub does not tell"
    named = one_line(scopes, 120)
    return f"the token's scopes: {named}" if named else "the token has no scopes: it reads what is public"


def _is_final(error: Answered) -> bool:
    """Whether a tool call would be refused as well."""
    return getattr(error, "status", 0) in (401, 402, 403)


def _key_todo(settings: Settings) -> str:
    if settings.chosen is not None and not settings.has_key:
        return (
            f"this server wants a key: {settings.key_wanted}"
            if settings.chosen.key_env
            else "set key_env in [profiles]"
        )
    return f"check the key ({settings.key_wanted}) and the endpoint (--base-url, --profile)"


def _network_todo(settings: Settings) -> str:
    host = urlsplit(settings.base_url).hostname or ""
    if host in ("localhost", "127.0.0.1", "::1"):
        return "start the server, or name where it is with --base-url"
    return "check the network, the proxy (HTTPS_PROXY, NO_PROXY) and the endpoint (--base-url, --profile)"


def _tool_todo(settings: Settings) -> str:
    if settings.chosen is not None and settings.chosen.is_local:
        return (
            "choose a model that can call tools (vLLM: --enable-auto-tool-choice, llama.cpp: --jinja), see the README"
        )
    return "choose a model that can call tools with --model; --engine survey does without"


async def bounded(name: str, check: Awaitable[list[Finding]], seconds: float) -> list[Finding]:
    """A check that ends in time whatever happens in it."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            return await check
    except TimeoutError:
        return [Finding(name, "problem", f"no answer within {seconds:.0f} s", "check the network and the proxy")]

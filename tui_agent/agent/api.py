"""The agent as a library: one call, with the caller's own clients."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tui_agent.agent import notices
from tui_agent.agent.guards import Guards
from tui_agent.agent.llm import LanguageModel, ModelOptions
from tui_agent.agent.plan import Plan
from tui_agent.agent.prices import price_of
from tui_agent.agent.run import Run, RunError
from tui_agent.events import Emit, Event
from tui_agent.github.address import find_address, web_host
from tui_agent.github.client import GitHubClient
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import SystemClock
from tui_agent.runs.record import Recorder
from tui_agent.settings import Settings, context_of
from tui_agent.transports.survey.writer import write_report

if TYPE_CHECKING:
    import httpx
    import openai


DEFAULT_TURNS = 15


class NoAddressError(UsageError):
    """The query names no repository on GitHub."""


def _ignore(_: Event) -> None:
    """Where nobody listens."""


async def run_agent(
    llm: openai.AsyncOpenAI,
    http: httpx.AsyncClient,
    query: str,
    *,
    model: str | None = None,
    max_turns: int = DEFAULT_TURNS,
    on_event: Emit | None = None,
    settings: Settings | None = None,
) -> str:
    """Explore the repository that a query names and answer the query.

    Args:
        llm: asked for chat completions; used as it is, its retries apart, and never closed.
        http: asked for GitHub's REST API; used as it is and never closed.
        query: the question; the first address of a repository in it counts.
        model: its name at the endpoint; None for the settings'.
        max_turns: turns of the loop; where it is left at 15, the settings' number holds.
        on_event: is handed every event as it happens (`tui_agent.events`).
        settings: None for the environment's variables (no `.env`, no `config.toml`). The run is recorded only where
            `record` (or REPO_AGENT_RECORD) is set there, be it to its default.

    Returns:
        the report, in Markdown. A partial one says so at its end.

    Raises:
        NoAddressError: (a ValueError) the query names no repository.
        UsageError: (a ValueError) a variable of the environment or `max_turns` has a value that cannot be.
        RunError: no report could be made; its text says why in one sentence.
    """
    settings = Settings.from_environment(os.environ) if settings is None else settings
    if max_turns < 1:
        raise UsageError("max_turns has to be at least 1.")
    api_url = settings.github_api_url
    address = find_address(query, api_url=api_url, local=False, eager=True)
    if address is None:
        raise NoAddressError("The query names no repository on GitHub; write owner/name or its URL.")
    clock = SystemClock()
    guards = Guards(settings, clock)
    redact = Redactor([settings.api_key, settings.github_token, str(llm.api_key)])
    name = model or settings.model
    endpoint = str(llm.base_url)
    client = GitHubClient(
        http,
        api_url=api_url,
        token=settings.github_token,
        retry=guards.retry,
        breakers=guards.breakers,
        gate=guards.gate(api_url),
        clock=clock,
        timeout=settings.request_timeout,
        redact=redact,
    )
    options = ModelOptions(name, settings.llm_timeout, settings.llm_queue_timeout, settings.quirks)
    language_model = LanguageModel(llm, options, guards.model_pipeline(endpoint), clock, redact)
    plan = Plan(
        owner=address.owner,
        name=address.name,
        source="github",
        tail=address.ref_and_path,
        question=query,
        lang=settings.lang,
        max_turns=settings.max_turns if max_turns == DEFAULT_TURNS else max_turns,
        max_tokens=settings.max_tokens,
        window=settings.context_tokens or context_of(name, endpoint),
        price=price_of(endpoint, name),
        web=f"https://{web_host(api_url)}/{address.full_name}",
        notices=(*notices.asked_elsewhere(address, api_url), notices.receives(endpoint)),
    )
    emit = on_event or _ignore
    run = Run(plan, client, language_model, clock, emit, write_report)
    recorder = None
    if settings.record and settings.is_said("record"):
        request = RunRequest(repo=address.full_name, question=query, lang=settings.lang, engine="llm")
        recorder = Recorder(None, request, redact=redact)
        run.sink = recorder.before(emit)
    try:
        finished = await run.execute()
    finally:
        if recorder is not None:
            recorder.close()
    if finished.outcome == "failed":
        raise RunError(finished.error or "No report could be made.", finished)
    return finished.report

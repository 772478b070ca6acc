"""All checks of `doctor`, side by side."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections.abc import Callable, Mapping

from tui_agent.frontends.doctor import machine, setup, terminal
from tui_agent.frontends.doctor.finding import Finding
from tui_agent.settings import Settings

_SLACK = 3.0
"""Seconds that a check may take beyond its own bounds, the import of its libraries included."""


async def examine(
    settings: Settings | None,
    files: list[Finding],
    *,
    engine: str,
    offline: bool,
    environ: Mapping[str, str],
    is_terminal: bool,
    tell: Callable[[str], None],
) -> list[Finding]:
    """Look at everything; the findings, in an order that does not depend on what came first.

    Args:
        settings: the user's; None where they could not be read.
        files: what was found about the files of settings.
        engine: as `--engine` says.
        offline: nothing is asked of a network.
        environ: the environment.
        is_terminal: whether stdout is a terminal.
        tell: is told what costs something, before it is done.
    """
    services, cache, records, screen = await asyncio.gather(
        _services(settings, engine, tell, offline=offline),
        asyncio.to_thread(machine.cache),
        asyncio.to_thread(machine.records),
        asyncio.to_thread(_terminal, environ, is_terminal),
    )
    who = [] if settings is None else setup.engine(settings, engine)
    return [machine.python(), *files, *who, *services, *screen, cache, records, machine.extras()]


def _terminal(environ: Mapping[str, str], is_terminal: bool) -> list[Finding]:
    try:
        size = os.get_terminal_size(1)
    except OSError:
        size = os.terminal_size((0, 0))
    return terminal.terminal(environ, is_terminal=is_terminal, size=(size.columns or 80, size.lines or 24))


async def _services(
    settings: Settings | None, engine: str, tell: Callable[[str], None], *, offline: bool
) -> list[Finding]:
    """The model's server and GitHub, side by side."""
    if settings is None:
        return []
    why_not = "--offline" if offline else "the survey needs none" if engine == "survey" else ""
    skipped = [Finding("endpoint", "skipped", f"not asked: {why_not or 'no key is set'}")]
    if offline:
        return [*skipped, Finding("GitHub", "skipped", "not asked: --offline")]
    from tui_agent.assembly import Assembly
    from tui_agent.frontends.doctor import services
    from tui_agent.resilience.clock import SystemClock

    hasty = dataclasses.replace(
        settings,
        max_retries=0,
        max_rate_wait=0.0,
        request_timeout=min(settings.request_timeout, services.PATIENCE),
        llm_timeout=min(settings.llm_timeout, services.MODEL_PATIENCE),
        llm_queue_timeout=min(settings.llm_queue_timeout, services.MODEL_PATIENCE),
    )
    assembly = Assembly(hasty, SystemClock(), demo=False)
    ask_model = bool(settings.api_key) and not why_not

    async def ask_github() -> list[Finding]:
        return [await services.github(settings, assembly)]

    try:
        # Imported once, and not on the event loop.
        await asyncio.to_thread(__import__, "tui_agent.github.client")
        checks = [services.bounded("GitHub", ask_github(), services.PATIENCE + _SLACK)]
        if ask_model:
            longest = services.PATIENCE + services.MODEL_PATIENCE + _SLACK
            checks.append(services.bounded("endpoint", services.model(settings, assembly, tell), longest))
        github, *model = await asyncio.gather(*checks)
        return [*(model[0] if model else skipped), *github]
    finally:
        await assembly.aclose()

"""The command `serve`: the dashboard in a browser, a process for each tab that shows it."""

from __future__ import annotations

import asyncio
import gc
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from tui_agent.cli_runs import take_only
from tui_agent.cli_signals import INTERRUPTED, Interrupts
from tui_agent.cli_streams import complain, quiet_logs
from tui_agent.frontends.extras import imported
from tui_agent.frontends.listening import LOOPBACK, Endpoint, endpoint
from tui_agent.redact import Redactor

# Options that a dashboard is started with as they were typed: those with a value, and those without.
_VALUED = (
    "question", "preset", "ref", "lang", "engine", "profile", "model", "base_url", "max_turns", "max_tokens", "chaos",
    "env_file",
)  # fmt: skip
_SWITCHES = ("no_cache", "refresh", "no_record", "no_mouse")
_TAKEN = {*_VALUED, *_SWITCHES, "http", "allow_remote"}


def serve(options: Namespace, check: Callable[[Namespace], None], redact: Redactor) -> int:
    """Serve until a signal comes; the exit code.

    Args:
        options: what was typed; behind the command stands what a dashboard is started with.
        check: refuses what no dashboard could be started with; raises `UsageError`.
        redact: takes secrets out of what is told.

    Raises:
        UsageError: it cannot be served like this, or not with what is installed.
    """
    take_only(options, _TAKEN, "serve")
    asked = Endpoint(LOOPBACK, 0)
    if options.http is not None:
        asked = endpoint(options.http, "--http", allow_remote=options.allow_remote)
    inner = Namespace(**{**vars(options), "repo": options.repo[1:]})
    check(inner)
    quiet_logs()
    server: Any = imported("tui_agent.frontends.browser_server", "serve")
    gc.enable()
    try:
        listening = asked.listen()
    except OSError as error:
        complain(f"--http {asked}: nothing can listen there: {(error.strerror or str(error)).lower()}.")
        return 1
    found = Endpoint(asked.host, listening.getsockname()[1])

    async def run() -> int:
        stop = asyncio.Event()
        with Interrupts(stop.set):
            serving = server.BrowserServer(arguments(inner), found, lambda text: complain(text, redact))
            complain(f"the dashboard is at http://{_reached(found)}/; each tab has its own; Ctrl-C ends them all.")
            await serving.serve_on(listening, stop)
        return INTERRUPTED

    return asyncio.run(run())


def arguments(options: Namespace) -> list[str]:
    """What the process of a dashboard executes.

    Args:
        options: what was typed, without the command.
    """
    # -P: no module is taken from the working folder, which may be anybody's clone.
    argv = [sys.executable, "-P", "-m", "tui_agent"]
    for name in _VALUED:
        if (value := getattr(options, name)) is not None:
            argv.append(f"--{name.replace('_', '-')}={value}")
    argv += [f"--{name.replace('_', '-')}" for name in _SWITCHES if getattr(options, name)]
    return [*argv, *options.repo]


def _reached(found: Endpoint) -> Endpoint:
    """By which address this machine reaches it."""
    return Endpoint(LOOPBACK, found.port) if found.host in ("0.0.0.0", "::") else found

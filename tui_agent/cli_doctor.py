"""The command `doctor`: what is set up, and what to do."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable

from tui_agent.cli_runs import take_only
from tui_agent.cli_streams import complain, reconfigure, silence, write
from tui_agent.redact import Redactor
from tui_agent.request import UsageError
from tui_agent.settings import Settings, default_config_file

TAKEN = {"json", "offline", "engine", "profile", "model", "base_url", "env_file", "max_turns", "max_tokens"}


def doctor(options: Namespace, load: Callable[[], Settings]) -> int:
    """Look at everything and tell it; the exit code, 0 where nothing is a problem.

    Args:
        options: what was typed.
        load: the settings of the command line.

    Raises:
        UsageError: something else was typed than it takes.
    """
    if options.repo[1:]:
        raise UsageError("`doctor` looks at everything; it takes no more than options.")
    take_only(options, TAKEN, "doctor")
    # Nothing of this is needed by any other command.
    import asyncio
    from pathlib import Path

    from tui_agent import __version__
    from tui_agent.frontends.doctor import finding, setup
    from tui_agent.frontends.doctor.examination import examine
    from tui_agent.safe_json import dumps

    settings, error = None, ""
    try:
        settings = load()
    except UsageError as caught:
        error = str(caught)
    clean = Redactor([] if settings is None else [settings.api_key, settings.github_token])
    env_file = Path(options.env_file) if options.env_file else Path(".env").absolute()
    found = asyncio.run(
        examine(
            settings,
            setup.files(default_config_file(), env_file, settings, error),
            engine=options.engine,
            offline=options.offline,
            environ=os.environ,
            is_terminal=sys.stdout is not None and sys.stdout.isatty(),
            tell=lambda text: complain(text, clean),
        )
    )
    if options.json:
        reconfigure(sys.stdout, "utf-8")
        said = dumps(finding.as_json(found, clean, __version__))
    else:
        reconfigure(sys.stdout)
        signs = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
        said = f"{finding.as_text(found, clean, signs=signs)}\n\n{finding.summary(found)}"
    if write(sys.stdout, f"{said}\n") is not None:
        silence(sys.stdout)
    return 0 if finding.is_well(found) else 1

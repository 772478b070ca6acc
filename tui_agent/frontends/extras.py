"""What only some installations have: which extra brings a command, said where it is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from tui_agent.request import UsageError


def imported(module: str, extra: str) -> ModuleType:
    """A front end that needs an extra.

    Args:
        module: its full name, within this package.
        extra: the name in `[project.optional-dependencies]`; the command's as well.

    Raises:
        UsageError: what the extra brings is not installed, or too old.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "tui_agent":
            raise
        raise UsageError(
            f"`{extra}` needs more than is installed here: pip install 'repo-agent-tui[{extra}]'."
        ) from error

"""A hand-written ReAct agent that explores a repository, and the dashboard in which one watches it.

from tui_agent import run_agent

report = await run_agent(llm, http, "What does https://github.com/pallets/flask do?")
"""

from __future__ import annotations

# Not from `typing`, which takes longer to import than the first picture takes to be drawn.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tui_agent.agent.api import NoAddressError, run_agent
    from tui_agent.agent.run import RunError
    from tui_agent.events import Event
    from tui_agent.request import UsageError
    from tui_agent.settings import Settings

__version__ = "0.1.0"
__all__ = ["Event", "NoAddressError", "RunError", "Settings", "UsageError", "__version__", "run_agent"]

# Where the public names live: importing the package costs next to nothing, using a name brings what it needs.
_HOMES = {
    "Event": "tui_agent.events",
    "NoAddressError": "tui_agent.agent.api",
    "RunError": "tui_agent.agent.run",
    "Settings": "tui_agent.settings",
    "UsageError": "tui_agent.request",
    "run_agent": "tui_agent.agent.api",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)

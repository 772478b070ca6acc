"""The palette's entries: every key's command by name, where it means something now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from tui_agent.tui.keys import COMMANDS

if TYPE_CHECKING:
    from tui_agent.tui.rebinding import Bound


def commands(
    run_action: Callable[[str], Awaitable[object]], bound: Bound, *, replay: bool, several: bool
) -> Iterator[SystemCommand]:
    """The entries, each with its key.

    Args:
        run_action: does what one of them names.
        bound: which keys do what.
        replay: whether there is a replay to walk through.
        several: whether there are several runs to choose from.
    """
    for title, text, action in COMMANDS:
        if (action.startswith("replay(") and not replay) or (action.startswith("other_run(") and not several):
            continue
        key = bound.of_action(action)
        yield SystemCommand(title, f"{text} ({key})" if key else text, _calling(run_action, action))


def _calling(run_action: Callable[[str], Awaitable[object]], action: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await run_action(action)

    return run

"""The palette's entries: every key's command by name, where it means something now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from textual.app import App, SystemCommand
from textual.command import CommandPalette
from textual.theme import ThemeProvider

from tui_agent.i18n import say
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
        text = say(text)
        yield SystemCommand(say(title), f"{text} ({key})" if key else text, _calling(run_action, action))


def open_commands(app: App[Any]) -> None:
    """Show the commands, to be searched as one types."""
    if not CommandPalette.is_open(app):
        app.push_screen(CommandPalette(placeholder=say("Search for commands…"), id="--command-palette"))


def open_themes(app: App[Any]) -> None:
    """Show the themes, to be searched as one types."""
    app.push_screen(CommandPalette([ThemeProvider], placeholder=say("Search for themes…")))


def _calling(run_action: Callable[[str], Awaitable[object]], action: str) -> Callable[[], Awaitable[None]]:
    async def run() -> None:
        await run_action(action)

    return run

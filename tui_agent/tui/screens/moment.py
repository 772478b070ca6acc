"""Asks to which moment of a replay to go."""

from __future__ import annotations

from collections.abc import Callable

from textual.content import Content

from tui_agent.i18n import say
from tui_agent.tui.screens.dialog import AskScreen


def moment_screen(accept: Callable[[str], str | None]) -> AskScreen:
    """The screen that asks for a time.

    Args:
        accept: goes there; answers None, or one sentence about what is wrong.
    """
    hint = Content(say("Seconds since the start, or minutes and seconds."))
    return AskScreen(say("Go to a time"), hint, accept, placeholder="1:05")

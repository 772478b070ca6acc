"""Asks which fault to inject."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.content import Content

from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.screens.dialog import AskScreen
from tui_agent.tui.words import padded

FAULTS = ("503", "429", "timeout", "drop", "cut", "limit")


def fault_screen(names: Iterable[str], inject: Callable[[str], str | None]) -> AskScreen:
    """The screen that asks for `NAME:FAULT[xN]`.

    Args:
        names: the breakers' names, which requests go by.
        inject: takes the spec; answers None, or one sentence about what is wrong.
    """
    name, fault = say("name"), say("fault")
    wide = max(cell_width(name), cell_width(fault)) + 2
    hint = Content.assemble(
        ("NAME:FAULT", "bold"),
        say(" or "),
        ("NAME:FAULTxN", "bold"),
        say(" (N times, else always), comma-separated"),
        (f"\n{padded(name, wide)}", "$foreground-muted"),
        "  ".join(one_line(one) for one in (*names, "*")),
        (f"\n{padded(fault, wide)}", "$foreground-muted"),
        say("a status such as "),
        "  ".join(FAULTS),
    )
    return AskScreen(say("Inject a fault"), hint, inject, placeholder="read_file:503x3")

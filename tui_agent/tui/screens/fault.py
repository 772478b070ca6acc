"""Asks which fault to inject."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.content import Content

from tui_agent.safe_text import one_line
from tui_agent.tui.screens.dialog import AskScreen

FAULTS = ("503", "429", "timeout", "drop", "cut", "limit")


def fault_screen(names: Iterable[str], inject: Callable[[str], str | None]) -> AskScreen:
    """The screen that asks for `NAME:FAULT[xN]`.

    Args:
        names: the breakers' names, which requests go by.
        inject: takes the spec; answers None, or one sentence about what is wrong.
    """
    hint = Content.assemble(
        ("NAME:FAULT", "bold"),
        " or ",
        ("NAME:FAULTxN", "bold"),
        " (N times, else always), comma-separated\n",
        ("name   ", "$foreground-muted"),
        "  ".join(one_line(name) for name in (*names, "*")),
        ("\nfault  ", "$foreground-muted"),
        "a status such as ",
        "  ".join(FAULTS),
    )
    return AskScreen("Inject a fault", hint, inject, placeholder="read_file:503x3")

"""Asks where to save the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from textual.content import Content

from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.screens.dialog import AskScreen
from tui_agent.tui.words import padded


def save_screen(
    suggestion: str,
    suffixes: Sequence[str],
    save: Callable[[Path, bool], str | None],
    *,
    title: str | None = None,
) -> AskScreen:
    """The screen that asks for a file.

    Args:
        suggestion: the name that stands in the field at first.
        suffixes: what names may end in; each stands for a format.
        save: writes the file, replacing one that is there where the flag says so; answers None, or one sentence
            about what went wrong.
        title: what is asked; None for the report.
    """
    refused: set[Path] = set()

    def accept(text: str) -> str | None:
        if not text:
            return say("Name a file.")
        path = Path(text).expanduser()
        # What was refused because it is there already is replaced when it is named again.
        wrong = save(path, path in refused)
        refused.clear()
        if wrong is not None and path.is_file():
            refused.add(path)
        return wrong

    formats, folder = say("formats"), say("folder")
    wide = max(cell_width(formats), cell_width(folder)) + 2
    hint = Content.assemble(
        (padded(formats, wide), "$foreground-muted"),
        "  ".join(suffixes),
        (f"\n{padded(folder, wide)}", "$foreground-muted"),
        one_line(str(Path.cwd()), 200),
    )
    return AskScreen(title or say("Save the report"), hint, accept, value=suggestion)

"""What the program keeps of its own between two starts: the theme that was chosen in the dashboard.

The file is the program's, not the user's: one that is damaged is ignored, and written anew.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from tui_agent.private_folder import make_private
from tui_agent.settings import APP_NAME
from tui_agent.settings_kinds import THEME

FILE = "remembered.json"
LARGEST = 10_000
"""Bytes; what is larger is not ours."""


def remembered_file() -> Path:
    """Where it is kept."""
    # 30 ms that `--help` does without.
    from platformdirs import user_state_path

    return user_state_path(APP_NAME, appauthor=False) / FILE


def read_theme(path: Path | None = None) -> str | None:
    """The theme that was chosen last; None where none is kept.

    Args:
        path: the file; None for this user's own.
    """
    theme = _read(path or remembered_file()).get("theme")
    return theme if THEME.holds(theme) else None


def keep_theme(theme: str, path: Path | None = None) -> str | None:
    """Keep a theme for the next start; None, or why that could not be done.

    Args:
        theme: its name.
        path: the file; None for this user's own.
    """
    # A choice pays for it, and no start.
    import tempfile

    try:
        path = path or remembered_file()
        make_private(path.parent)
        text = json.dumps({**_read(path), "theme": theme})
        # Made with 0600; it takes the other one's place whole or not at all.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{FILE}-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except (OSError, RuntimeError) as error:
        return getattr(error, "strerror", None) or str(error)
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}

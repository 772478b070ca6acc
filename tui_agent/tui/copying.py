"""Copying from the dashboard: the system's clipboard where it can be reached from here, else the terminal's."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property

from textual.app import App

from tui_agent import clipboard
from tui_agent.safe_text import visible


class CopyingApp(App[int]):
    """An application whose copies reach the clipboard of whoever sits at the terminal."""

    @cached_property
    def clipboard_tool(self) -> clipboard.Tool | None:
        """The program that copies; None where the terminal is asked (OSC 52), which may not allow it."""
        return None if self.is_headless or self.is_web else clipboard.tool(os.environ)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text as it is shown, while the dashboard goes on.

        Whoever pastes it is not told anything that cannot be seen.
        """
        text = visible(text)
        if (tool := self.clipboard_tool) is None:
            super().copy_to_clipboard(text)
            return
        # What Textual's own fields paste.
        self._clipboard = text
        self.run_worker(self._copy(tool, text), group="clipboard", exclusive=True, exit_on_error=False)

    async def _copy(self, tool: clipboard.Tool, text: str) -> None:
        if not await asyncio.to_thread(tool.copy, text):
            super().copy_to_clipboard(text)

"""The dashboard's end of a pipe to `serve`: Textual's driver for the web, which also ends when the server is gone."""

from __future__ import annotations

import asyncio
from typing import Any

from textual import messages
from textual.drivers.web_driver import WebDriver

_ANY_MOTION = "\x1b[?1003h"


class ServedDriver(WebDriver):
    """Draws through a pipe; the end of its input means that nobody looks any more."""

    def start_application_mode(self) -> None:
        """Begin."""
        self._loop_of_app = asyncio.get_running_loop()
        super().start_application_mode()

    def write(self, data: str) -> None:
        """Write to the tab, as long as there is one."""
        if data == _ANY_MOTION and not self._mouse:
            return
        try:
            super().write(data)
        except BrokenPipeError:
            return  # the end of the input says so, too

    def write_meta(self, data: dict[str, object]) -> None:
        """Tell the server something, as long as there is one."""
        try:
            super().write_meta(data)
        except BrokenPipeError:
            return

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            super()._enable_mouse_support()

    def run_input_thread(self) -> None:
        """Take in keys until the dashboard ends, or whoever sent them."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            leave: Any = self._app._post_message(messages.ExitApp())
            asyncio.run_coroutine_threadsafe(leave, self._loop_of_app)

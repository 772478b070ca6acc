"""The terminal, taken over from the first picture without a blank screen between the two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key
from textual.message import Message

_ALTERNATE = "\x1b[?1049h"


def driver_after(attributes: list[Any], taken: Callable[[], None], typed: Callable[[], None]) -> type[Driver]:
    """A driver that begins on an alternate screen which something stands on already.

    Args:
        attributes: the terminal's own settings, to be put back in the end.
        taken: called when the screen has become the driver's to leave.
        typed: called at each key, from a thread.
    """

    class DriverAfter(LinuxDriver):
        """Textual's driver; at first it neither clears the screen nor keeps the picture's settings for the end."""

        _first = True

        def start_application_mode(self) -> None:
            """Begin; again after each suspension."""
            super().start_application_mode()  # type: ignore[no-untyped-call]
            if self._first:
                self._first = False
                if self.attrs_before is not None:
                    self.attrs_before = attributes
                taken()

        def process_message(self, message: Message) -> None:
            """Hand on what came from the terminal."""
            if isinstance(message, Key):
                typed()
            super().process_message(message)

        def write(self, data: str) -> None:
            """Write to the terminal."""
            # A second switch makes some terminals (xterm) clear the screen.
            if not (self._first and data == _ALTERNATE):
                super().write(data)

    return DriverAfter

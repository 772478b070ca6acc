"""A timer that goes off once, and does.

Textual's own (8.2) leaves out what it is late for: where the machine is busy at the wrong moment, a timer of a few
milliseconds is late before its first look at the clock, and never goes off (`Timer._run`, `skip`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from textual.message_pump import MessagePump


class Stoppable(Protocol):
    """A timer that can be stopped."""

    def stop(self) -> None:
        """Let it not go off; after it has, nothing happens."""


class Once:
    """A timer of `once`."""

    __slots__ = ("_handle",)

    def __init__(self, handle: asyncio.TimerHandle) -> None:
        self._handle = handle

    def stop(self) -> None:
        """Let it not go off; after it has, nothing happens."""
        self._handle.cancel()


def once(node: MessagePump, delay: float, callback: Callable[[], None]) -> Once:
    """Call something after a while, among the messages of an app or a widget; not at all where that has ended by then.

    Args:
        node: whose messages.
        delay: seconds.
        callback: what is called.
    """

    def ring() -> None:
        if node.is_running:
            node.call_next(callback)

    return Once(asyncio.get_running_loop().call_later(delay, ring))

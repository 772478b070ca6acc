"""What the dashboard needs of a session; `tui_agent.session.Session` is one, tests have others."""

from __future__ import annotations

from typing import Protocol

from tui_agent.events import Emit, RunFinished
from tui_agent.request import RunRequest
from tui_agent.settings import Settings


class SessionLike(Protocol):
    """A process's clients, breakers and gates, and the runs that use them."""

    @property
    def settings(self) -> Settings:
        """What holds in this process."""

    async def prepare(self) -> None:
        """Import what is slow to import, off the event loop."""

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One run, from `run_started` to `run_finished`; cancelled by cancelling its task.

        Raises:
            UsageError: before `run_started`, where what was asked cannot be understood.
        """

    def listen(self, emit: Emit) -> None:
        """Where events between runs go."""

    def reset_breaker(self, name: str | None = None) -> None:
        """Close one breaker by hand, or all of them."""

    def isolate_breaker(self, name: str) -> None:
        """Hold a breaker open until it is let go."""

    def release_breaker(self, name: str) -> None:
        """Let go a breaker that was held open."""

    def inject(self, spec: str) -> None:
        """Put faults in the way of coming requests (`NAME:FAULT[xN]`, comma-separated).

        Raises:
            UsageError: where the spec cannot be understood.
        """

    async def aclose(self) -> None:
        """Close the clients."""

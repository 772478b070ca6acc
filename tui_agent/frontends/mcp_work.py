"""Work for a client of the MCP server: done while the client is there, told as it goes on."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import anyio
from mcp.server import ServerRequestContext

from tui_agent import events as ev
from tui_agent.frontends.printer import Printer
from tui_agent.redact import Redactor

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
GONE = "repo_agent_tui.gone"
"""Where a request's ASGI scope holds the event that its client has left."""
_TOLD = (
    ev.Snapshot,
    ev.TurnStarted,
    ev.TurnRestarted,
    ev.ReportDelta,
    ev.ToolFinished,
    ev.AttemptFailed,
    ev.RetryScheduled,
    ev.RateLimitWait,
    ev.BreakerChanged,
    ev.Notice,
)


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


async def attended(work: Coroutine[Any, Any, T], context: Context, stopping: asyncio.Event) -> T:
    """Do it while the client is there and the server goes on.

    A client that cancels, or leaves, cancels the work: once, so that nothing breaks into its last words, and only when
    those are said is it over.

    Args:
        work: what to do.
        context: the request; over HTTP it knows when the client has left.
        stopping: is set when the server ends.

    Raises:
        ClientGone: the client left, or the server ends.
    """
    gone = [stopping]
    if context.request is not None and GONE in context.request.scope:
        gone.append(context.request.scope[GONE])
    task = asyncio.ensure_future(work)
    leaving = [asyncio.ensure_future(event.wait()) for event in gone]
    try:
        await asyncio.wait([task, *leaving], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        for future in leaving:
            future.cancel()
        if not task.done():
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])
            if not task.cancelled():
                # Whatever it came to, nobody asks for it.
                task.exception()


class Progress:
    """Hears the events of one request and tells the client; the SDK lets that be where it did not ask to know.

    Args:
        context: the request.
        redact: takes secrets out of what is told.
        turns: how many turns a run may take; None for a single call.
    """

    def __init__(self, context: Context, redact: Redactor, turns: int | None = None) -> None:
        self._session = context.session
        self._redact = redact
        self._lines = Printer(None, redact)
        self._total = None if turns is None else turns + 1
        # The end of a single call is its answer.
        self._told = _TOLD if turns is not None else tuple(kind for kind in _TOLD if kind is not ev.ToolFinished)
        self._turn = 0
        self._steps = 0
        self._waiting: asyncio.Queue[tuple[float, str] | None] = asyncio.Queue()

    def __call__(self, event: ev.Event) -> None:
        """Hear one event."""
        if isinstance(event, ev.TurnStarted) and self._turn < event.turn < (self._total or 0):
            self._turn, self._steps = event.turn, 0
        # Every event, since some name what others speak of.
        lines = self._lines.lines(event)
        if isinstance(event, self._told):
            for line in lines:
                self._waiting.put_nowait((self._reached(), self._redact(line)))

    @contextlib.asynccontextmanager
    async def told(self) -> AsyncIterator[None]:
        """While entered, what is heard is told; what was heard is told before it is left."""
        teller = asyncio.ensure_future(self._tell())
        try:
            yield
            self._waiting.put_nowait(None)
            await teller
        finally:
            teller.cancel()

    def _reached(self) -> float:
        """How far it has come: it only ever grows, and within a turn stays below the next one."""
        self._steps += 1
        if self._total is None:
            return self._steps
        return self._turn + 1 - 1 / self._steps

    async def _tell(self) -> None:
        while (item := await self._waiting.get()) is not None:
            reached, message = item
            try:
                await self._session.report_progress(reached, self._total, message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                # The client has left; that ends the work elsewhere.
                return

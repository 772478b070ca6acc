"""What may go on, one request at a time: started, cancelled, and its runs ended whatever they die of."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from tui_agent.events import Emit, Level, Outcome, RunFinished
from tui_agent.i18n import say
from tui_agent.request import RunRequest, UsageError
from tui_agent.tui.session_like import SessionLike
from tui_agent.tui.stage import Stage


class RunHandle(Protocol):
    """The worker in which a run goes on (Textual's `Worker`)."""

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, however."""

    def cancel(self) -> None:
        """Cancel its task."""


class RunControl:
    """Runs requests one at a time on a session.

    Args:
        session: who runs.
        stage: what the events made known.
        emit: where a run's events go.
        say: shows one sentence.
        work: starts the exclusive worker.
        refused: told of a request that cannot be understood.
    """

    def __init__(
        self,
        session: SessionLike,
        stage: Stage,
        emit: Emit,
        say: Callable[[Level, str], None],
        work: Callable[[Coroutine[Any, Any, None]], RunHandle],
        refused: Callable[[RunRequest], None],
    ) -> None:
        self.request: RunRequest | None = None
        self._session = session
        self._stage = stage
        self._emit = emit
        self._say = say
        self._work = work
        self._refused = refused
        self._prepared: asyncio.Task[None] | None = None
        self._worker: RunHandle | None = None
        self._over = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether a run is going on, from its start to the end of its worker."""
        return self._worker is not None and not self._worker.is_finished

    def prepare(self) -> None:
        """Let the session load what is slow to load."""
        self._prepared = asyncio.create_task(self._session.prepare())
        self._prepared.add_done_callback(self._after_preparing)

    def _after_preparing(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._say("error", say("Not everything could be loaded: {error}", error=error))

    def start(self, request: RunRequest, names: Sequence[str] = ()) -> None:
        """Run a request; whoever calls has seen that no run is going on.

        Args:
            request: what is asked.
            names: of its repositories, where there are several.
        """
        self.request = request
        self._stage.begin(request, names)
        self._say("info", say("Starting …"))
        self._over.clear()
        self._worker = self._work(self._run(request))

    def cancel(self) -> bool:
        """Cancel the run; answers whether there was one."""
        if self._worker is None or self._worker.is_finished:
            return False
        self._worker.cancel()
        return True

    async def end(self, patience: float) -> None:
        """Cancel the run and wait for its last event, at most `patience` seconds."""
        if self.cancel():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), patience)

    async def close(self, patience: float) -> None:
        """Close what the session holds open, within `patience` seconds."""
        if self._prepared is not None:
            self._prepared.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._session.aclose(), patience)

    async def _run(self, request: RunRequest) -> None:
        try:
            if self._prepared is not None:
                await asyncio.shield(self._prepared)
            await self._session.run(request, self._emit)
            self._settle("failed", "The run ended without a word about how.")
        except UsageError as error:
            self._say("error", str(error))
            if not self._settle("failed", str(error)):
                self._refused(request)
        except asyncio.CancelledError:
            if not self._settle("cancelled", None) and self._stage.waiting:
                self._say("warning", "Cancelled before it began.")
            raise
        except Exception as error:  # the trace stays on the screen, whatever a run dies of
            sentence = f"The run broke off: {type(error).__name__}: {error}"
            if not self._settle("failed", sentence):
                self._say("error", sentence)
        finally:
            self._over.set()

    def _settle(self, outcome: Outcome, error: str | None) -> bool:
        """End the runs that did not say their own end; answers whether there were any."""
        unfinished = self._stage.unfinished()
        for state, at in unfinished:
            run = state.run
            self._emit(
                RunFinished(
                    at=at,
                    run_id=run.run_id,
                    outcome=outcome,
                    report="",
                    error=error,
                    turns=run.turn,
                    tool_calls=run.tool_calls,
                    requests=0,
                    elapsed=at,
                )
            )
        return bool(unfinished)

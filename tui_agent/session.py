"""A process of the program, as its front ends see it: a request in, events out, hands on the breakers.

Importing this costs next to nothing; what is heavy is imported by `prepare`.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_agent.assembly import Assembly, Wanted
from tui_agent.events import Emit, Event, Outcome, RunFinished, RunStarted
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.settings import Settings

if TYPE_CHECKING:
    from tui_agent.agent.compare import Member
    from tui_agent.agent.earlier import Earlier
    from tui_agent.agent.run import Run
    from tui_agent.agent.telling import Undertaking
    from tui_agent.runs.store import Record
    from tui_agent.tools.workspace import Workspace

KEPT = 4
"""Ended runs that are held in memory for a follow-up; older ones come from their records."""
_HEAVY = ("httpx", "openai", "platformdirs", "tui_agent.runs.record", "tui_agent.agent.run")
# What it takes to read a repository without a model.
_READING = ("httpx", "tui_agent.agent.guards", "tui_agent.tools.toolbox")
# The model without an LLM; where one is set, it only writes the report if the LLM is lost.
_SURVEY = "tui_agent.transports.survey.model"


class Session:
    """Runs analyses, one after another or side by side, on the same layers.

    Args:
        settings: all numbers and names.
        chaos: faults to inject from the start (`tui_agent.transports.faults`).
        clock: all time; None for the machine's.
        demo: the embedded repository, the embedded model and a script of faults.

    Raises:
        UsageError: the faults' specification cannot be understood.
    """

    def __init__(
        self, settings: Settings, *, chaos: str | None = None, clock: Clock | None = None, demo: bool = False
    ) -> None:
        self._assembly = Assembly(settings, clock or SystemClock(), demo=demo)
        self._redact = Redactor([settings.api_key, settings.github_token])
        self._listeners: list[Emit] = []
        self._running: list[Run | Undertaking] = []
        self._left: dict[str, Earlier] = {}
        if chaos is not None:
            self._assembly.script.add(chaos)

    @property
    def settings(self) -> Settings:
        """What holds in this process; the demo sets its own pace."""
        return self._assembly.settings

    async def prepare(self) -> None:
        """Import what a run needs before it can ask a model, without holding up the event loop; the rest follows."""
        for module in _HEAVY:
            await asyncio.to_thread(importlib.import_module, module)
        asyncio.get_running_loop().run_in_executor(None, importlib.import_module, _SURVEY)

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One analysis, from `run_started` to `run_finished`; of several repositories, one each and their comparison.

        Args:
            request: what is asked.
            emit: is handed every event, of several runs by their `run_id`.

        Returns:
            the last event; of several repositories, the comparison's.

        Raises:
            UsageError: the request cannot be understood; no event was emitted.
            asyncio.CancelledError: it was cancelled; `run_finished` has been emitted.
        """
        if request.others:
            return await self._compare(request, emit)
        if request.since is not None:
            return await self._changes(request, request.since, emit)
        return await self._run(self._assembly.choose(request), request, emit)

    async def workspace(self, request: RunRequest, emit: Emit) -> Workspace:
        """The snapshot that a run of this request would see and what reads it, on the same layers, without a run.

        Args:
            request: its repository, ref and use of the cache count.
            emit: is handed the events of the requests.

        Raises:
            UsageError: the request cannot be understood.
            GitHubError, Trouble, Unavailable: there is no snapshot to be had.
        """
        wanted = self._assembly.choose(request)
        for module in _READING:
            await asyncio.to_thread(importlib.import_module, module)
        return await self._assembly.workspace(wanted, emit)

    async def _run(self, wanted: Wanted, request: RunRequest, emit: Emit) -> RunFinished:
        with self._recorded(request, emit) as emit:
            return await self._execute_and_keep(await self._make(wanted, request, emit))

    async def _make(self, wanted: Wanted, request: RunRequest, emit: Emit) -> Run:
        with self._told_where_cancelled(wanted, emit):
            await self.prepare()
            if wanted.engine == "survey":
                await asyncio.to_thread(importlib.import_module, _SURVEY)
            earlier = None if request.follows is None else await self._earlier(request.follows)
            run = await self._assembly.make_run(wanted, emit)
            if earlier is not None:
                run.follow(earlier)
            elif self.settings.record and wanted.address is not None:
                run.previous = await asyncio.to_thread(_previous, wanted)
        return run

    async def _execute_and_keep(self, run: Run) -> RunFinished:
        try:
            return await self._execute(run)
        finally:
            self._keep(run)

    async def _execute(self, run: Run | Undertaking) -> RunFinished:
        self._running.append(run)
        try:
            return await run.execute()
        finally:
            self._running.remove(run)

    @contextlib.contextmanager
    def _recorded(self, request: RunRequest, emit: Emit) -> Iterator[Emit]:
        """An `emit` that writes the run's record as well, where records are wanted."""
        if not self.settings.record:
            yield emit
            return
        from tui_agent.runs.record import Recorder

        recorder = Recorder(None, request, redact=self._redact)
        try:
            yield recorder.before(emit)
        finally:
            recorder.close()

    async def _compare(self, request: RunRequest, emit: Emit) -> RunFinished:
        """A run for each repository, side by side, and then the comparison."""
        requests = [replace(request, repo=repo, others=()) for repo in (request.repo, *request.others)]
        wanted = [self._assembly.choose(one) for one in requests]
        twice = [repo for repo, times in Counter(one.repo.lower() for one in wanted).items() if times > 1]
        if twice:
            places = {one.address.local_path for one in wanted if one.address and one.repo.lower() == twice[0]}
            if len(places) > 1:
                raise UsageError(f"Two folders are named {twice[0]}: only folders of different names can be compared.")
            raise UsageError(f"{twice[0]} is named twice; name repositories that differ.")
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._member(which, one, emit)) for which, one in zip(wanted, requests, strict=True)
            ]
        from tui_agent.undertakings import comparison

        with self._recorded(request, emit) as told:
            return await self._execute(comparison(self._assembly, request, [task.result() for task in tasks], told))

    async def _member(self, wanted: Wanted, request: RunRequest, emit: Emit) -> Member:
        """One repository's run; what cannot even be begun is told as a run that failed."""
        with self._recorded(request, emit) as emit:
            with self._told_where_cancelled(wanted, emit):
                await self._prepare_undertakings()
            from tui_agent.agent.reasons import own_fault
            from tui_agent.undertakings import member

            try:
                run = await self._make(wanted, request, emit)
            except Exception as error:
                # the others are not taken along, whatever it is
                sentence = str(error) if isinstance(error, UsageError) else own_fault(error)
                return member(wanted, self._ended_early(wanted, emit, "failed", sentence), None)
            return member(wanted, await self._execute_and_keep(run), run)

    async def _earlier(self, run_id: str) -> Earlier:
        """The run that a follow-up goes on with: as it was left here, else from its record.

        Raises:
            UsageError: there is none.
        """
        if run_id in self._left:
            return self._left[run_id]
        return (await self._reopen(run_id))[0]

    async def _reopen(self, run_id: str) -> tuple[Earlier, Record]:
        """What a recorded run left behind, and its record.

        Raises:
            UsageError: there is none.
        """
        from tui_agent.agent.earlier import NothingToFollow, from_events
        from tui_agent.runs.store import RecordError, RunStore

        def read() -> tuple[Earlier, Record]:
            store = RunStore()
            records = [store.load(summary) for summary in store.chain(store.of(run_id))]
            asked = [record.request or RunRequest(repo=record.summary.repo) for record in records]
            told = [record.events for record in records]
            return from_events(list(zip(asked, told, strict=True))), records[-1]

        try:
            return await asyncio.to_thread(read)
        except (RecordError, NothingToFollow) as error:
            raise UsageError(str(error)) from error

    async def _changes(self, request: RunRequest, since: str, emit: Emit) -> RunFinished:
        """What has changed from the run `since` to the run that the request follows."""
        if request.follows is None:
            raise UsageError("What has changed can be told of a run only; name one.")
        # no model is asked, so none is told of
        wanted = self._assembly.choose(replace(request, engine="survey"))
        with self._recorded(request, emit) as emit:
            with self._told_where_cancelled(wanted, emit):
                await self._prepare_undertakings()
                after = await self._earlier(request.follows)
                left, record = await self._reopen(since)
                run = await self._assembly.make_run(wanted, emit)
            from tui_agent.undertakings import changes

            return await self._execute(changes(self._assembly, run, left, record, after, emit))

    async def _prepare_undertakings(self) -> None:
        """Import what is done over ended runs, off the event loop."""
        await self.prepare()
        await asyncio.to_thread(importlib.import_module, "tui_agent.undertakings")

    def _keep(self, run: Run) -> None:
        """Hold on to what a follow-up would go on with."""
        left = run.leave()
        if left is not None:
            self._left[run.run_id] = left
            while len(self._left) > KEPT:
                del self._left[next(iter(self._left))]

    def listen(self, emit: Emit) -> None:
        """Hand on what happens between runs (`run_id` None)."""
        self._listeners.append(emit)

    def reset_breaker(self, name: str | None = None) -> None:
        """Close a breaker by hand; None closes all. One that was held open is let go."""
        self._assembly.guards.breakers.close(name, self._by_hand)

    def isolate_breaker(self, name: str) -> None:
        """Hold a breaker open until it is released or reset."""
        self._assembly.guards.breakers[name].isolate(self._by_hand)

    def release_breaker(self, name: str) -> None:
        """Let go a breaker that is held open: it closes."""
        self._assembly.guards.breakers[name].close(self._by_hand)

    def inject(self, spec: str) -> None:
        """Add faults (`NAME:FAULT[xN]`) to what is still to come.

        Raises:
            UsageError: one sentence.
        """
        self._assembly.script.add(spec)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._assembly.aclose()

    def _by_hand(self, event: Event) -> None:
        """A user's hand on a breaker: told by the runs that are under way, else between runs."""
        if self._running:
            for run in self._running:
                # each puts its own stamp on it
                run.emit(replace(event))
        else:
            for emit in self._listeners:
                emit(event)

    @contextlib.contextmanager
    def _told_where_cancelled(self, wanted: Wanted, emit: Emit) -> Iterator[None]:
        """What makes a run ready: where it is cancelled, the run has a first and a last event all the same."""
        try:
            yield
        except asyncio.CancelledError:
            self._ended_early(wanted, emit, "cancelled", "The run was cancelled before it had begun.")
            raise

    def _ended_early(self, wanted: Wanted, emit: Emit, outcome: Outcome, error: str) -> RunFinished:
        """It ended before there was a run: its first and last event are told all the same."""
        from tui_agent.agent.prompts import changes_question, preset_question
        from tui_agent.agent.telling import without_secrets

        request, lang = wanted.request, wanted.request.lang or self.settings.lang
        ready = preset_question(request.preset, lang) if request.since is None else changes_question(lang)
        run_id = uuid.uuid4().hex[:12]
        started = RunStarted(
            run_id=run_id,
            repo=wanted.repo,
            source=wanted.source,
            ref=wanted.request.ref,
            question=wanted.request.question or ready,
            engine=wanted.engine,
            model=wanted.model,
            follows=wanted.request.follows,
        )
        finished = RunFinished(
            run_id=run_id, outcome=outcome, report="", error=error, turns=0, tool_calls=0, requests=0, elapsed=0.0
        )
        for event in (started, finished):
            emit(without_secrets(event, self._redact))
        return finished


def _previous(wanted: Wanted) -> str | None:
    """The id of the last recorded run of the same repository that came to a report of its own."""
    from tui_agent.runs.store import RecordError, RunStore

    try:
        found = RunStore().previous(wanted.repo, wanted.source, wanted.address.local_path if wanted.address else None)
    except RecordError:
        return None
    return None if found is None else found.run_id

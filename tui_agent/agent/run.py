"""One run from its first event to its last: snapshot, loop, report, whatever happens between."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tui_agent.agent.context import Conversation
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.agent.loop import SCHEMA_TOKENS, Loop, OutOfTokens, Progress
from tui_agent.agent.prices import Price
from tui_agent.agent.prompts import PRESETS, SYSTEM, is_chinese, task
from tui_agent.events import (
    Emit,
    Event,
    JsonObject,
    Notice,
    Outcome,
    RunFinished,
    RunStarted,
    Snapshot,
    ToolFinished,
    stamp,
)
from tui_agent.github.client import GitHubClient
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import RepositorySnapshot, take_snapshot
from tui_agent.report.appendix import Basis, appendix, partial_line
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import LimitTooFar, Trouble, Unavailable
from tui_agent.tools.repository import Workspace
from tui_agent.tools.toolbox import Toolbox


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is to do, with all choices made.

    Args:
        owner, name: the repository.
        source: where it lies.
        ref: as asked, or None.
        tail: `REF/PATH` of the address, still to be told apart, or None.
        question: a free question, or None for the preset's.
        preset: which ready question.
        lang: the report's language, or None for the question's.
        engine: who decides.
        max_turns: turns with tools.
        max_tokens: bound on tokens, or None.
        window: tokens of the model's context.
        price: of the model, where known.
        web: the repository's address for people, or None.
        notices: what to tell at the beginning.
    """

    owner: str
    name: str
    source: Literal["github", "local"]
    ref: str | None = None
    tail: str | None = None
    question: str | None = None
    preset: str = "full"
    lang: str | None = None
    engine: Literal["llm", "survey"] = "llm"
    max_turns: int = 15
    max_tokens: int | None = None
    window: int = 128_000
    price: Price | None = None
    web: str | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def asked(self) -> str:
        """`owner/name` as it was asked for."""
        return f"{self.owner}/{self.name}"


class RunError(Exception):
    """No report could be made.

    Args:
        sentence: what happened and what to do.
        finished: the run's last event.
    """

    def __init__(self, sentence: str, finished: RunFinished) -> None:
        super().__init__(sentence)
        self.finished = finished


@dataclass
class _End:
    outcome: Outcome
    report: str
    error: str | None


@dataclass
class Run:
    """One run.

    Args:
        plan: what to do.
        client: asks GitHub (or what stands in for it).
        model: who decides.
        clock: all of the run's time.
        sink: takes the stamped events.
        write_survey: makes a report from a history, where the model is lost.
        uncommitted: counts a local repository's uncommitted changes; None where that cannot be known.
    """

    plan: Plan
    client: GitHubClient
    model: LanguageModel
    clock: Clock
    sink: Emit
    write_survey: Callable[[list[JsonObject]], str]
    uncommitted: Callable[[], Awaitable[int | None]] | None = None
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _began: float = 0.0
    _snapshot: RepositorySnapshot | None = None
    _changes: int = 0
    _read: dict[str, None] = field(default_factory=dict)
    _loop: Loop | None = None

    def emit(self, event: Event) -> None:
        """Stamp an event as this run's and hand it on."""
        if isinstance(event, ToolFinished) and event.tool == "read_file" and event.outcome == "ok":
            self._read.setdefault(str(event.result.get("path")))
        self.sink(stamp(self._without_secrets(event), self.clock.monotonic() - self._began, self.run_id))

    def _without_secrets(self, event: Event) -> Event:
        """The event, whoever repeats a key or a token in it; a call's result has been seen to by the toolbox."""
        redact = self.client.redact
        changes: dict[str, Any] = {}
        for name in type(event).__slots__:
            value = getattr(event, name)
            if isinstance(value, str):
                clean: Any = redact(value)
            elif isinstance(value, dict | list) and name != "result":
                clean = redact.deep(value)
            else:
                continue
            if clean is not value:
                changes[name] = clean
        return replace(event, **changes) if changes else event

    async def execute(self) -> RunFinished:
        """The whole run. Its first event is `run_started`, its last `run_finished`, also when it is cancelled.

        Returns:
            the last event.

        Raises:
            asyncio.CancelledError: it was cancelled; the last event has been emitted.
        """
        plan = self.plan
        self._began = self.clock.monotonic()
        self.emit(
            RunStarted(
                repo=plan.asked,
                source=plan.source,
                ref=plan.ref,
                question=plan.question or PRESETS[plan.preset],
                engine=plan.engine,
                model=self.model.options.name,
            )
        )
        try:
            end = await self._main()
        except asyncio.CancelledError:
            streamed = "".join(self._loop.progress.streamed) if self._loop else ""
            self._finish(_End("cancelled", streamed.strip(), "The run was cancelled."))
            raise
        except Exception as error:
            end = _End("failed", "", f"A fault of this program ended the run ({type(error).__name__}: {error}).")
        return self._finish(end)

    async def _main(self) -> _End:
        for notice in self.plan.notices:
            self.emit(notice)
        try:
            path = await self._take_snapshot()
        except GitHubError as error:
            return _End("failed", "", f"{self.plan.asked} cannot be analysed: {error.sentence}")
        except (Trouble, Unavailable) as error:
            return _End("failed", "", self._gone(error))
        loop = self._loop = self._make_loop(path)
        progress = loop.progress
        try:
            report = await loop.run()
        except OutOfTokens:
            return self._survey_instead("the bound on tokens left no room for the model to write a report")
        except (ModelRefused, Trouble, Unavailable) as error:
            return self._survey_instead(self._lost(error))
        if not report:
            return self._survey_instead("the model has written no report")
        return _End("partial" if progress.reason else "completed", self._with_appendix(report), self._sentence())

    async def _take_snapshot(self) -> str:
        plan = self.plan
        call = Call("snapshot", self.emit)
        snapshot, path = await take_snapshot(self.client, call, plan.owner, plan.name, ref=plan.ref, tail=plan.tail)
        self._snapshot = snapshot
        self.emit(
            Snapshot(
                repo=snapshot.full_name,
                ref=snapshot.ref,
                commit=snapshot.commit,
                files=snapshot.files,
                truncated=snapshot.truncated,
            )
        )
        if snapshot.full_name.lower() != plan.asked.lower():
            self._notice("info", f"{plan.asked} is now called {snapshot.full_name}.")
        if snapshot.truncated:
            self._notice("warning", "The tree is too large for one request: directories are fetched when asked for.")
        if self.uncommitted is not None:
            changes = await self.uncommitted()
            self._changes = changes or 0
            if changes is None:
                self._notice("warning", "Whether there are uncommitted changes could not be found out.")
            elif changes:
                self._notice("info", f"Uncommitted changes in the folder are not read (there are {self._changes}).")
        return path

    def _make_loop(self, path: str) -> Loop:
        plan, snapshot = self.plan, self._snapshot
        assert snapshot is not None
        conversation = Conversation(plan.window, SCHEMA_TOKENS)
        conversation.say("system", SYSTEM)
        conversation.say(
            "user",
            task(
                repo=plan.asked,
                ref=snapshot.ref,
                commit=snapshot.commit,
                files=snapshot.files,
                question=plan.question,
                preset=plan.preset,
                lang=plan.lang,
                path=path,
                uncommitted=self._changes,
            ),
        )
        return Loop(
            model=self.model,
            toolbox=Toolbox(Workspace(self.client, snapshot), self.emit, self.clock),
            conversation=conversation,
            emit=self.emit,
            clock=self.clock,
            max_turns=plan.max_turns,
            max_tokens=plan.max_tokens,
            price=plan.price,
        )

    def _survey_instead(self, why: str) -> _End:
        """The model is lost: a report from the observations, where there are any, by the survey's writer."""
        assert self._loop is not None
        why = why.rstrip(".")
        if not self._loop.progress.observed:
            return _End("failed", "", f"{why[:1].upper()}{why[1:]}, before anything had been observed.")
        self._loop.progress.reason = why
        report = self.write_survey(self._loop.conversation.messages)
        line = partial_line(f"{why}; the built-in survey wrote it from what had been observed", chinese=self._chinese)
        return _End("partial", f"{report.rstrip()}\n\n---\n\n- {line}", self._sentence())

    def _with_appendix(self, report: str) -> str:
        plan, snapshot = self.plan, self._snapshot
        assert snapshot is not None and self._loop is not None
        reason = self._loop.progress.reason
        if plan.engine == "survey":
            # The survey's report says itself what it rests on.
            return f"{report}\n\n---\n\n- {partial_line(reason, chinese=self._chinese)}" if reason else report
        basis = Basis(
            repo=snapshot.full_name,
            asked=plan.asked,
            ref=snapshot.ref,
            commit=snapshot.commit,
            files=snapshot.files,
            read=list(self._read),
            web=plan.web,
            uncommitted=self._changes,
            author=self.model.options.name,
            partial=reason,
        )
        return report + appendix(basis, chinese=self._chinese)

    @property
    def _chinese(self) -> bool:
        return is_chinese(self.plan.lang, self.plan.question)

    def _sentence(self) -> str | None:
        reason = self._loop.progress.reason if self._loop else ""
        return f"The report is partial: {reason}." if reason else None

    def _lost(self, error: Exception) -> str:
        if isinstance(error, Trouble):
            return f"the model was lost ({error.reason.rstrip('.')})"
        return f"the model was lost ({str(error).rstrip('.')})"

    def _gone(self, error: Trouble | Unavailable) -> str:
        where = "The repository" if self.plan.source == "local" else "GitHub"
        if isinstance(error, LimitTooFar):
            return f"{error.reason} Set GITHUB_TOKEN for a higher limit, or try again then."
        return f"{where} could not be read: {error.reason.rstrip('.')}. Try again later."

    def _notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self.emit(Notice(level=level, text=text))

    def _finish(self, end: _End) -> RunFinished:
        progress = self._loop.progress if self._loop else Progress()
        redact = self.client.redact
        finished = RunFinished(
            outcome=end.outcome,
            report=redact(end.report),
            error=None if end.error is None else redact(end.error),
            turns=progress.turns,
            tool_calls=progress.tool_calls,
            requests=self.client.requests if self.plan.source == "github" else 0,
            elapsed=self.clock.monotonic() - self._began,
        )
        self.emit(finished)
        return finished

"""One run from its first event to its last: snapshot, loop, report, whatever happens between."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.agent.context import Conversation
from tui_agent.agent.dialects import ModelTurn
from tui_agent.agent.earlier import Earlier
from tui_agent.agent.grounds import ground
from tui_agent.agent.llm import LanguageModel, ModelRefused
from tui_agent.agent.loop import SCHEMA_TOKENS, Loop, OutOfTokens
from tui_agent.agent.plan import Plan
from tui_agent.agent.prompts import SYSTEM, follow_up, is_chinese, preset_question, task
from tui_agent.agent.reasons import NO_REPORT, NO_TOKENS_LEFT, Reason, by_survey, model_lost, own_fault, unreachable
from tui_agent.agent.telling import as_event, without_secrets
from tui_agent.agent.turns import Progress
from tui_agent.events import (
    Emit,
    Event,
    JsonObject,
    Notice,
    Outcome,
    RunFinished,
    RunStarted,
    ToolFinished,
    stamp,
)
from tui_agent.github.client import GitHubClient
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import RepositorySnapshot, take_snapshot
from tui_agent.report.appendix import Basis, FileRead, appendix, partial_line
from tui_agent.report.coverage import not_looked_into
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.tools.folders import list_directory
from tui_agent.tools.toolbox import Toolbox, ToolCall
from tui_agent.tools.workspace import Workspace


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
    said: str = ""
    """The report without what the program adds: what is checked."""


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
        run_id: names it.
        previous: the last recorded run of the same repository.
        finished: its last event, once it has ended.
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
    _earlier: Earlier | None = None
    _requests_before: int = 0
    _work: Workspace | None = None
    _changes: int = 0
    _read: dict[str, FileRead] = field(default_factory=dict)
    _windows: set[tuple[str, str]] = field(default_factory=set)
    _observed: list[ToolFinished] = field(default_factory=list)
    _loop: Loop | None = None
    previous: str | None = None
    finished: RunFinished | None = None

    def follow(self, earlier: Earlier) -> None:
        """Go on with an earlier run: its conversation, its snapshot, and what it observed; before `execute`."""
        self._earlier = earlier
        if earlier.work is not None:
            # Its client knows where the repository has moved to.
            self._work = earlier.work
            self.client = earlier.work.client
        self._requests_before = self.client.requests
        for event in earlier.observed:
            self._note(event)

    def emit(self, event: Event) -> None:
        """Stamp an event as this run's and hand it on."""
        if isinstance(event, ToolFinished):
            self._note(event)
        self.sink(stamp(without_secrets(event, self.client.redact), self.clock.monotonic() - self._began, self.run_id))

    def _note(self, event: ToolFinished) -> None:
        """What was observed, and how much of a file has been read by now; the same window again adds nothing."""
        self._observed.append(event)
        result = event.result
        if event.tool == "read_file" and event.outcome == "ok" and "repeated" not in result:
            path, content, total = result.get("path"), result.get("content"), result.get("characters")
            if not (isinstance(path, str) and isinstance(content, str) and isinstance(total, int)):
                # no tool of this program says that, but a record may
                return
            known = self._read.setdefault(path, FileRead(path, 0, total))
            # It may have been told whole once more, its first answer having been shortened in the history.
            if (path, content) not in self._windows:
                self._windows.add((path, content))
                self._read[path] = FileRead(path, min(total, known.characters + len(content)), total)

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
                question=plan.question or preset_question(plan.preset, plan.lang),
                engine=plan.engine,
                model=self.model.options.name,
                follows=self._earlier.run_id if self._earlier else None,
                previous=self.previous,
            )
        )
        try:
            end = await self._main()
            await self._ground(end)
        except asyncio.CancelledError:
            streamed = "".join(self._loop.progress.streamed) if self._loop else ""
            self._finish(_End("cancelled", streamed.strip(), "The run was cancelled."))
            raise
        except Exception as error:
            end = _End("failed", "", own_fault(error))
        return self._finish(end)

    def leave(self) -> Earlier | None:
        """What a follow-up goes on with; None where the run came to no snapshot."""
        if self._loop is None or self._work is None:
            return None
        conversation = self._loop.conversation.branch()
        if conversation.messages[-1]["role"] != "assistant":
            conversation.say_report(self.finished.report if self.finished else "")
        snapshot = self._work.snapshot
        return Earlier(self.run_id, conversation, tuple(self._observed), snapshot.ref, snapshot.commit, self._work)

    async def _main(self) -> _End:
        for notice in self.plan.notices:
            self.emit(notice)
        try:
            path = await self._take_snapshot()
        except GitHubError as error:
            return _End("failed", "", f"{self.plan.asked} cannot be analysed: {error.sentence}")
        except (Trouble, Unavailable) as error:
            sentence = unreachable(error, local=self.plan.source == "local", has_token=self.client.has_token)
            return _End("failed", "", sentence)
        loop = self._loop = self._make_loop(path)
        progress = loop.progress
        try:
            report = await loop.run()
        except OutOfTokens:
            return await self._survey_instead(NO_TOKENS_LEFT)
        except (ModelRefused, Trouble, Unavailable) as error:
            return await self._survey_instead(model_lost(str(error)), is_model_lost=True)
        if not report:
            return await self._survey_instead(progress.reason or NO_REPORT)
        outcome: Outcome = "partial" if progress.reason else "completed"
        return _End(outcome, await self._with_appendix(report), self._sentence(), report)

    async def _ground(self, end: _End) -> None:
        """Tell what of the report is supported by what was observed."""
        if end.said:
            said = self.client.redact(end.said)
            self.emit(await ground(said, self._observed, self._snapshot, self.plan, self.clock.time()))

    async def _take_snapshot(self) -> str:
        plan = self.plan
        snapshot, path = await self._same_snapshot() if self._earlier else await self._new_snapshot()
        self.emit(as_event(snapshot))
        if snapshot.full_name.lower() != plan.asked.lower():
            self._notice("info", f"{plan.asked} is now called {snapshot.full_name}.")
        if snapshot.truncated:
            self._notice("warning", "The tree is too large for one request: directories are fetched when asked for.")
        if self._earlier is not None and not self._earlier.stays:
            self._notice("warning", "The folder has no history: it may have changed since, so it is looked at again.")
        if self.uncommitted is not None:
            changes = await self.uncommitted()
            self._changes = changes or 0
            if changes is None:
                self._notice("warning", "Whether there are uncommitted changes could not be found out.")
            elif changes:
                self._notice("info", f"Uncommitted changes in the folder are not read (there are {self._changes}).")
        return path

    async def _new_snapshot(self) -> tuple[RepositorySnapshot, str]:
        plan, call = self.plan, Call("snapshot", self.emit)
        snapshot, path = await take_snapshot(self.client, call, plan.owner, plan.name, ref=plan.ref, tail=plan.tail)
        self._work = Workspace(self.client, snapshot)
        return snapshot, path

    async def _same_snapshot(self) -> tuple[RepositorySnapshot, str]:
        """The snapshot of the run that this one goes on with, fetched again where the process has it no more."""
        plan, earlier = self.plan, self._earlier
        assert earlier is not None
        self._work = await earlier.workspace(self.client, Call("snapshot", self.emit), plan.owner, plan.name)
        return self._work.snapshot, ""

    def _open_conversation(self, path: str) -> Conversation:
        plan, snapshot = self.plan, self._snapshot
        if self._earlier is not None:
            conversation = self._earlier.conversation.branch(plan.window)
            has_it, is_wanted = conversation.has_reasoning, "no_reasoning_echo" not in self.model.options.quirks
            conversation.carry_reasoning(has_it and is_wanted)
            conversation.say("user", follow_up(plan.question or preset_question(plan.preset, plan.lang), plan.lang))
            return conversation
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
        return conversation

    def _make_loop(self, path: str) -> Loop:
        plan, work = self.plan, self._work
        assert work is not None
        toolbox = Toolbox(work, self.emit, self.clock)
        if self._earlier is not None and self._earlier.stays:
            toolbox.remember(self._earlier.observed)
            toolbox.forget_told(self._earlier.conversation.shortened)
        return Loop(
            model=self.model,
            toolbox=toolbox,
            conversation=self._open_conversation(path),
            emit=self.emit,
            clock=self.clock,
            max_turns=plan.max_turns,
            max_tokens=plan.max_tokens,
            price=plan.price,
        )

    async def _survey_instead(self, reason: Reason, *, is_model_lost: bool = False) -> _End:
        """No model writes: a report from the observations, where there are any, by the survey's writer."""
        loop = self._loop
        assert loop is not None
        if not loop.progress.observed:
            sentence = f"{reason.en[:1].upper()}{reason.en[1:]}, before anything had been observed."
            if is_model_lost:
                sentence = f"{sentence} `repo-agent-tui doctor` looks at the endpoint; --engine survey needs no model."
            return _End("failed", "", sentence)
        loop.progress.reason = reason
        messages = [*loop.conversation.whole(), *await self._root_listing()]
        report = await asyncio.to_thread(self.write_survey, messages)
        added = appendix(await self._basis("the built-in survey", by_survey(reason)), chinese=self._chinese)
        return _End("partial", report.rstrip() + added, self._sentence(), report.rstrip())

    async def _root_listing(self) -> list[JsonObject]:
        """What the snapshot holds in memory, for the writer: no model asked for it, and it costs no request."""
        plan, work = self.plan, self._work
        assert work is not None
        if work.snapshot.truncated:
            # it would have to be asked for
            return []
        arguments = {"owner": plan.owner, "repo": plan.name}
        call = ToolCall("snapshot_root", "list_directory", arguments)
        conversation = Conversation(plan.window, 0)
        turn = ModelTurn("", "", False, [call], None, None)
        conversation.add_turn(turn, [call])
        listing = await list_directory(work, Call("list_directory", self.emit), {})
        conversation.add_answers([call], {call.call_id: listing})
        self._observed.append(
            ToolFinished(
                turn=0,
                call_id=call.call_id,
                tool=call.tool,
                arguments=arguments,
                outcome="ok",
                result=listing,
                attempts=0,
                cache="memory",
                elapsed=0.0,
            )
        )
        return conversation.messages

    async def _with_appendix(self, report: str) -> str:
        assert self._loop is not None
        reason = self._loop.progress.reason
        if self.plan.engine == "survey":
            # The survey's report says itself what it rests on.
            return f"{report}\n\n---\n\n- {partial_line(reason, chinese=self._chinese)}" if reason else report
        return report + appendix(await self._basis(self.model.options.name, reason), chinese=self._chinese)

    async def _basis(self, author: str, reason: Reason | None) -> Basis:
        plan, snapshot = self.plan, self._snapshot
        paths = (entry.path for entry in snapshot.all_files())
        # in a thread: a hundred thousand files take a third of a second
        unseen = await asyncio.to_thread(not_looked_into, paths, list(self._observed))
        return Basis(
            repo=snapshot.full_name,
            asked=plan.asked,
            ref=snapshot.ref,
            commit=snapshot.commit,
            files=snapshot.files,
            read=list(self._read.values()),
            web=plan.web,
            uncommitted=self._changes,
            author=author,
            partial=reason,
            unseen=unseen,
        )

    @property
    def _snapshot(self) -> RepositorySnapshot:
        assert self._work is not None
        return self._work.snapshot

    @property
    def _chinese(self) -> bool:
        return is_chinese(self.plan.lang, self.plan.question)

    def _sentence(self) -> str | None:
        reason = self._loop.progress.reason if self._loop else None
        return f"The report is partial: {reason.en}." if reason else None

    def _notice(self, level: Literal["info", "warning", "error"], text: str) -> None:
        self.emit(Notice(level=level, text=text))

    def _finish(self, end: _End) -> RunFinished:
        progress = self._loop.progress if self._loop else Progress()
        redact = self.client.redact
        finished = RunFinished(
            outcome=end.outcome,
            report=redact(end.report),
            error=None if end.error is None else redact(end.error),
            # the request for a report after the last turn is no turn of the loop
            turns=min(progress.turns, self.plan.max_turns),
            tool_calls=progress.tool_calls,
            requests=self.client.requests - self._requests_before if self.plan.source == "github" else 0,
            elapsed=self.clock.monotonic() - self._began,
        )
        self.finished = finished
        self.emit(finished)
        return finished

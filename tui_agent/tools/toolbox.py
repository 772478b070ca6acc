"""Carries out tool calls: checks the arguments, guards the way, remembers, tells it as events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from tui_agent.events import CacheState, Emit, JsonObject, ToolFinished, ToolOutcome, ToolStarted
from tui_agent.github.errors import GitHubError
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.fallback import with_fallback
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.tools import files, folders, repository
from tui_agent.tools.schemas import TOOL_NAMES, ArgumentError, parse_arguments
from tui_agent.tools.workspace import ToolError, Workspace, quoted, recall, tidy_path

Tool = Callable[[Workspace, Call, JsonObject], Awaitable[JsonObject]]

TOOLS: dict[str, Tool] = {
    "get_repo_info": repository.get_repo_info,
    "list_directory": folders.list_directory,
    "find_files": folders.find_files,
    "read_file": files.read_file,
    "get_commits": repository.get_commits,
}
CANCELLED: JsonObject = {
    "ok": False,
    "cancelled": True,
    "error": "This call was cancelled before it was answered.",
}
"""What stands in the place of an answer that nobody waited for."""
REPEATED = "You have made this very call before; its answer above still holds."
_DEFAULTS: JsonObject = {"path": "", "offset": 0, "per_page": repository.PER_PAGE, "page": 1}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for.

    Args:
        call_id: unique within the run.
        tool: the name as the model wrote it.
        arguments: the object that the model gave, or None where it gave none that could be read.
        problem: why not, in one sentence.
    """

    call_id: str
    tool: str
    arguments: JsonObject | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model is told, and how it came about.

    Args:
        result: the JSON object.
        outcome: ok, error or fallback.
        repeated: whether the very same call had been answered before in this run.
    """

    result: JsonObject
    outcome: ToolOutcome
    repeated: bool


class Toolbox:
    """The tools of one run.

    Args:
        work: the run's repository.
        emit: where events go.
        clock: times the calls.
    """

    def __init__(self, work: Workspace, emit: Emit, clock: Clock) -> None:
        self._work = work
        self._emit = emit
        self._clock = clock
        self._memory: dict[str, Answer] = {}
        self._busy: dict[str, asyncio.Lock] = {}
        # Which call's answer stands whole before the model, by what was asked.
        self._told: dict[str, str] = {}
        snapshot = work.snapshot
        self._own = {f"{snapshot.owner}/{snapshot.name}".lower(), snapshot.full_name.lower()}

    async def execute(self, turn: int, requested: ToolCall) -> Answer:
        """Carry out one call; whatever goes wrong is an answer, never an exception.

        Args:
            turn: the turn it belongs to.
            requested: the call.

        Raises:
            asyncio.CancelledError: it was cancelled; that it has ended was told.
        """
        arguments = requested.arguments if requested.arguments is not None else {}
        self._emit(ToolStarted(turn=turn, call_id=requested.call_id, tool=requested.tool, arguments=arguments))
        started = self._clock.monotonic()
        call = Call(requested.tool, self._emit, requested.call_id)
        answer = Answer(CANCELLED, "error", repeated=False)
        try:
            answer = await self._answer(requested, call)
        finally:
            self._emit(
                ToolFinished(
                    turn=turn,
                    call_id=requested.call_id,
                    tool=requested.tool,
                    arguments=arguments,
                    outcome=answer.outcome,
                    result=answer.result,
                    attempts=call.attempts,
                    cache=_came_from(answer, call),
                    elapsed=self._clock.monotonic() - started,
                )
            )
        return answer

    async def _answer(self, requested: ToolCall, call: Call) -> Answer:
        try:
            arguments = self._checked(requested)
        except (ArgumentError, ToolError) as error:
            key = f"{requested.tool} as written {json.dumps(requested.arguments, sort_keys=True)} {requested.problem}"
            if key in self._memory:
                return self._again(key, requested.call_id)
            return self._keep(key, requested.call_id, _error(str(error)))
        key = _key(requested.tool, arguments)
        # The same call twice in one turn: the second waits for the first and finds its answer.
        async with self._busy.setdefault(key, asyncio.Lock()):
            if key in self._memory:
                return self._again(key, requested.call_id)
            answer = await self._carry_out(TOOLS[requested.tool], call, arguments)
            # Whatever a server says, a secret that it knows included, ends here.
            answer = replace(answer, result=self._work.client.redact.deep(answer.result))
            return answer if answer.outcome == "fallback" else self._keep(key, requested.call_id, answer)

    def remember(self, observed: Iterable[ToolFinished]) -> None:
        """Know what an earlier run on this very snapshot was answered."""
        for event in observed:
            if event.outcome == "fallback" or event.result.get("cancelled") or "repeated" in event.result:
                continue
            try:
                arguments = self._checked(ToolCall(event.call_id, event.tool, event.arguments))
            except (ArgumentError, ToolError):
                continue  # it is told again for nothing
            self._keep(_key(event.tool, arguments), event.call_id, Answer(event.result, event.outcome, repeated=False))

    def forget_told(self, call_ids: Iterable[str]) -> None:
        """The model no longer has the answers of these calls before it: asking again is no repetition."""
        gone = set(call_ids)
        self._told = {key: call_id for key, call_id in self._told.items() if call_id not in gone}

    def _keep(self, key: str, call_id: str, answer: Answer) -> Answer:
        """Remember an answer, and that the model has it whole."""
        self._memory[key], self._told[key] = answer, call_id
        return answer

    def _again(self, key: str, call_id: str) -> Answer:
        """The answer of an earlier call: by reference while the model still has it, else once more."""
        known = self._memory[key]
        if key not in self._told:
            return self._keep(key, call_id, known)
        reference: JsonObject = {"ok": True, "repeated": REPEATED, "call_id": self._told[key]}
        # An error is told again: what to do about it stands in it.
        if known.outcome != "ok" or _length(known.result) <= _length(reference):
            reference = {**known.result, "repeated": REPEATED}
        return Answer(reference, known.outcome, repeated=True)

    def _checked(self, requested: ToolCall) -> JsonObject:
        """The call's arguments, as the tool takes them.

        Raises:
            ArgumentError, ToolError: the call cannot be carried out; the text says why.
        """
        if requested.tool not in TOOLS:
            raise ToolError(f"There is no tool {quoted(requested.tool)}; there are {', '.join(TOOL_NAMES)}.")
        if requested.arguments is None:
            raise ArgumentError(requested.problem)
        arguments = parse_arguments(requested.tool, requested.arguments)
        self._allow(arguments)
        return arguments

    def _allow(self, arguments: JsonObject) -> None:
        asked = f"{arguments['owner']}/{arguments['repo']}"
        if asked.lower() not in self._own:
            own = self._work.snapshot.full_name
            raise ToolError(f"This run may read {own} only, not {quoted(asked)}.")

    async def _carry_out(self, tool: Tool, call: Call, arguments: JsonObject) -> Answer:
        async def step() -> Answer:
            try:
                return Answer(await tool(self._work, call, arguments), "ok", repeated=False)
            except ToolError as error:
                return _error(str(error))
            except GitHubError as error:
                return _error(error.sentence[:1].upper() + error.sentence[1:])
            except (Trouble, Unavailable):
                raise
            except Exception as error:
                return _error(f"{call.name} failed by a fault of its own ({type(error).__name__}); try something else.")

        def otherwise(trouble: Trouble | Unavailable) -> Answer:
            return Answer(self._fallback(call.name, trouble, arguments), "fallback", repeated=False)

        return await with_fallback(step, otherwise)

    def _fallback(self, tool: str, trouble: Trouble | Unavailable, arguments: JsonObject) -> JsonObject:
        """What can be said without the service: why, what the snapshot knows anyway, and what to do."""
        snapshot = self._work.snapshot
        if isinstance(trouble, Trouble):
            reason = f"The service failed: {trouble.reason.rstrip('.')}."
        else:
            reason = trouble.reason
        result: JsonObject = {
            "ok": False,
            "error": f"{reason} Go on with what you have, or ask once more in a later turn.",
            "fallback": True,
        }
        known: dict[str, Any] = {}
        if tool == "get_repo_info":
            known = {"full_name": snapshot.full_name, "commit": snapshot.commit, "files": snapshot.files}
        elif tool == "read_file":
            entry = recall(snapshot, arguments["path"])
            known = {"path": entry.path, "size": entry.size} if entry is not None and entry.kind == "file" else {}
        if known:
            result["known"] = known
        return result


def _came_from(answer: Answer, call: Call) -> CacheState:
    """Where an answer's replies have come from."""
    if answer.repeated or (answer.outcome == "ok" and call.attempts == 0 and call.cache is None):
        return "memory"
    return "miss" if call.cache is None or answer.outcome == "fallback" else call.cache


def _error(sentence: str) -> Answer:
    return Answer({"ok": False, "error": sentence}, "error", repeated=False)


def _length(result: JsonObject) -> int:
    return len(json.dumps(result, ensure_ascii=False))


def _key(tool: str, arguments: JsonObject) -> str:
    """What makes two calls the same: repositories in any case, `./src/` for `src`, defaults spelt out or left out."""
    path = arguments.get("path", "")
    if ".." not in path:
        arguments = {**arguments, "path": tidy_path(path)}
    own = {
        name: value
        for name, value in arguments.items()
        if name not in ("owner", "repo") and _DEFAULTS.get(name) != value
    }
    return f"{tool} {json.dumps(own, sort_keys=True)}"

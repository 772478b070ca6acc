"""The tools of the MCP server: the repository tools as a run has them, and a whole run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast, get_args

from mcp import types
from mcp.shared.exceptions import MCPError

from tui_agent import events as ev
from tui_agent.events import JsonObject
from tui_agent.frontends.mcp_reports import SCHEME, is_recorded
from tui_agent.frontends.mcp_repositories import Reader, Refused, Repositories
from tui_agent.frontends.mcp_schemas import (
    ANALYZE,
    ANALYZE_ABOUT,
    ANALYZE_INPUT,
    ANALYZE_OUTPUT,
    TITLES,
    input_schemas,
    output_schema,
)
from tui_agent.frontends.mcp_work import ClientGone, Context, Progress, attended
from tui_agent.redact import Redactor
from tui_agent.request import Engine, Preset, UsageError
from tui_agent.resilience.clock import Clock
from tui_agent.safe_json import dumps
from tui_agent.safe_text import visible
from tui_agent.settings_kinds import LANGUAGE
from tui_agent.tools.schemas import ArgumentError, parse_arguments
from tui_agent.tools.toolbox import TOOLS, Toolbox, ToolCall


def described() -> list[types.Tool]:
    """Every tool, as a client is told of it."""
    repository = [
        _tool(name, about, schema, output_schema(name), idempotent=True)
        for name, (about, schema) in input_schemas().items()
    ]
    # A second analysis is another one, with a record of its own.
    return [*repository, _tool(ANALYZE, ANALYZE_ABOUT, ANALYZE_INPUT, ANALYZE_OUTPUT, idempotent=False)]


def _tool(name: str, about: str, takes: JsonObject, answers: JsonObject, *, idempotent: bool) -> types.Tool:
    annotations = types.ToolAnnotations(
        title=TITLES[name],
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=idempotent,
        open_world_hint=True,
    )
    return types.Tool(
        name=name,
        title=TITLES[name],
        description=about,
        input_schema=takes,
        output_schema=answers,
        annotations=annotations,
    )


class Tools:
    """Carries out what clients call.

    Args:
        session: reads and analyses, on the layers of the process.
        repositories: what may be named.
        clock: times the calls.

    Attributes:
        stopping: set when the server ends: what is under way is cancelled.
    """

    def __init__(self, session: Reader, repositories: Repositories, clock: Clock) -> None:
        self._session = session
        self._repositories = repositories
        self._clock = clock
        settings = session.settings
        self._redact = Redactor([settings.api_key, settings.github_token])
        self.stopping = asyncio.Event()

    async def call(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """One call. What the tool cannot do is an answer with `isError`, in a sentence.

        Raises:
            MCPError: there is no such tool, or nobody waits for the answer any more.
        """
        arguments = params.arguments or {}
        if params.name in TOOLS:
            work = self._read(context, params.name, arguments)
        elif params.name == ANALYZE:
            work = self._analyze(context, arguments)
        else:
            names = ", ".join([*TOOLS, ANALYZE])
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:80]!r}; there are {names}.")
        try:
            return await attended(work, context, self.stopping)
        except (ArgumentError, Refused, UsageError) as error:
            return self._failed(str(error))
        except ClientGone:
            raise MCPError(types.INTERNAL_ERROR, "The call was cancelled.") from None

    async def _read(self, context: Context, tool: str, given: Mapping[str, Any]) -> types.CallToolResult:
        """A repository tool, on the snapshot of what it names."""
        ref = _text(tool, "ref", given.get("ref"))
        arguments = parse_arguments(tool, {name: value for name, value in given.items() if name != "ref"})
        progress = Progress(context, self._redact)
        async with progress.told():
            work = await self._repositories.workspace(arguments["owner"], arguments["repo"], ref, progress)
            snapshot = work.snapshot
            # As the address was understood: `flask.git` is flask.
            arguments |= {"owner": snapshot.owner, "repo": snapshot.name}
            # The memory of a run would answer a second call by reference; a client may have forgotten the first.
            toolbox = Toolbox(work, progress, self._clock)
            answer = await toolbox.execute(0, ToolCall(str(context.request_id), tool, arguments))
        result = dict(answer.result)
        if answer.outcome != "ok":
            known = {"known": result["known"]} if "known" in result else None
            return self._failed(str(result["error"]), known)
        del result["ok"]
        text = dumps({**result, "ref": snapshot.ref, "commit": snapshot.commit})
        # What JSON cannot carry has been replaced in the text.
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=json.loads(text))

    async def _analyze(self, context: Context, given: Mapping[str, Any]) -> types.CallToolResult:
        """A whole run; its report as text, its figures beside it."""
        if unknown := [name for name in given if name not in ANALYZE_INPUT["properties"]]:
            known = ", ".join(ANALYZE_INPUT["properties"])
            raise ArgumentError(f"{ANALYZE} has no argument {unknown[0]!r}; it takes {known}.")
        asked = {name: _text(ANALYZE, name, given.get(name)) for name in ANALYZE_INPUT["properties"]}
        if asked["repo"] is None:
            raise ArgumentError(f"{ANALYZE} needs repo.")
        if asked["lang"] is not None and not LANGUAGE.holds(asked["lang"]):
            raise ArgumentError(f"The argument lang of {ANALYZE} must be {LANGUAGE.must}.")
        request = self._repositories.request(asked["repo"], asked["ref"])
        preset = cast(Preset, _chosen("preset", asked["preset"], get_args(Preset)))
        engine = cast(Engine, _chosen("engine", asked["engine"], get_args(Engine)))
        request = replace(request, question=asked["question"], preset=preset, lang=asked["lang"], engine=engine)
        progress, outcome = Progress(context, self._redact, self._session.settings.max_turns), Outcome()

        def hear(event: ev.Event) -> None:
            outcome(event)
            progress(event)

        async with progress.told():
            finished = await self._session.run(request, hear)
        if finished.outcome == "failed":
            return self._failed(finished.error or "The run failed.")
        recorded = self._session.settings.record and await is_recorded(str(finished.run_id))
        text = dumps(outcome.told(finished, recorded=recorded))
        report = types.TextContent(text=visible(finished.report.rstrip()))
        return types.CallToolResult(content=[report], structured_content=json.loads(text))

    def _failed(self, sentence: str, known: JsonObject | None = None) -> types.CallToolResult:
        texts = [self._redact(sentence), *([dumps(known)] if known else [])]
        return types.CallToolResult(content=[types.TextContent(text=visible(text)) for text in texts], is_error=True)


class Outcome:
    """What a client is told of a run beside its report, gathered from the run's events."""

    def __init__(self) -> None:
        self._started: ev.RunStarted | None = None
        self._snapshot: ev.Snapshot | None = None
        self._grounding = ev.Grounding()
        self._usage: list[ev.Usage] = []

    def __call__(self, event: ev.Event) -> None:
        """Take in one event."""
        match event:
            case ev.RunStarted():
                self._started = event
            case ev.Snapshot():
                self._snapshot = event
            case ev.Grounding():
                self._grounding = event
            case ev.Usage():
                self._usage.append(event)

    def told(self, finished: ev.RunFinished, *, recorded: bool) -> JsonObject:
        """The run in figures, with its report."""
        started, snapshot, spent = self._started, self._snapshot, self._usage
        assert started is not None
        costs = [usage.cost for usage in spent if usage.cost is not None]
        return {
            "run_id": finished.run_id,
            "repo": snapshot.repo if snapshot else started.repo,
            "ref": snapshot.ref if snapshot else None,
            "commit": snapshot.commit if snapshot else None,
            "outcome": finished.outcome,
            "error": finished.error,
            "report": visible(finished.report.rstrip()),
            "engine": started.engine,
            "model": started.model,
            "turns": finished.turns,
            "tool_calls": finished.tool_calls,
            "requests": finished.requests,
            "elapsed": round(finished.elapsed, 3),
            "usage": {
                "prompt_tokens": sum(usage.prompt_tokens for usage in spent),
                "completion_tokens": sum(usage.completion_tokens for usage in spent),
                "cached_tokens": sum(usage.cached_tokens for usage in spent),
                "cost": sum(costs) if costs else None,
                "currency": next((usage.currency for usage in spent if usage.currency), None),
            },
            "grounding": {
                "supported": len(self._grounding.supported),
                "unsupported": len(self._grounding.unsupported),
            },
            "resource": f"{SCHEME}{finished.run_id}" if recorded else None,
        }


def _text(tool: str, name: str, value: object) -> str | None:
    """An argument that is a text, or was left out.

    Raises:
        ArgumentError: it is neither.
    """
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip() or any("\ud800" <= char <= "\udfff" for char in value):
        raise ArgumentError(f"The argument {name} of {tool} must be a text that is not empty.")
    return value.strip()


def _chosen(name: str, value: str | None, among: tuple[str, ...]) -> str:
    """One of a few words; the first where none was given.

    Raises:
        ArgumentError: it is another.
    """
    if value is not None and value not in among:
        raise ArgumentError(f"The argument {name} of {ANALYZE} must be one of {', '.join(among)}.")
    return value or among[0]

"""Recorded reports as resources of the MCP server: `report://<run_id>`, Markdown with footnotes."""

from __future__ import annotations

import asyncio
import re
import time

from mcp import types
from mcp.shared.exceptions import MCPError

from tui_agent.frontends.run_texts import document_of, when, why_without
from tui_agent.report.export import render_markdown
from tui_agent.runs.store import LAST, RecordError, RunStore, RunSummary
from tui_agent.safe_text import one_line

SCHEME = "report://"
MARKDOWN = "text/markdown"
_WITH_REPORT = ("completed", "partial")
# An id or the beginning of one: never a path.
_RUN = re.compile(r"[0-9A-Za-z_-]{1,64}")


async def list_reports() -> types.ListResourcesResult:
    """Every recorded run that came to a report, the newest first.

    Raises:
        MCPError: the records cannot be read.
    """
    try:
        runs = await asyncio.to_thread(lambda: RunStore().list())
    except RecordError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    return types.ListResourcesResult(resources=[_resource(run) for run in runs if run.outcome in _WITH_REPORT])


def templates() -> types.ListResourceTemplatesResult:
    """How a report is named."""
    template = types.ResourceTemplate(
        uri_template=f"{SCHEME}{{run_id}}",
        name="report",
        title="Recorded report",
        description=f"The report of a recorded run, by its id, the beginning of one, or `{LAST}` for the newest run.",
        mime_type=MARKDOWN,
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read_report(uri: str) -> types.ReadResourceResult:
    """One report.

    Raises:
        MCPError: there is none of that name.
    """
    run_id = uri.removeprefix(SCHEME).rstrip("/")
    if not uri.startswith(SCHEME) or not _RUN.fullmatch(run_id):
        raise MCPError(types.INVALID_PARAMS, f"There is no resource {one_line(uri, 120)}; reports are {SCHEME}RUN_ID.")
    try:
        text = await asyncio.to_thread(_text, run_id)
    except RecordError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    contents = types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text)
    return types.ReadResourceResult(contents=[contents])


async def is_recorded(run_id: str) -> bool:
    """Whether a run can be read again."""
    try:
        await asyncio.to_thread(lambda: RunStore().find(run_id))
    except RecordError:
        return False
    return True


def _text(run_id: str) -> str:
    store = RunStore()
    record = store.load(store.find(run_id))
    document = document_of(record)
    if document is None:
        raise RecordError(why_without(record))
    return render_markdown(document)


def _resource(run: RunSummary) -> types.Resource:
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.began + run.elapsed))
    commit = f", commit {run.commit[:12]}" if run.commit else ""
    return types.Resource(
        uri=f"{SCHEME}{run.run_id}",
        name=one_line(f"{run.repo} {run.run_id}", 120),
        title=one_line(f"{run.repo}, {when(run.began)}", 120),
        description=one_line(f"{run.outcome}{commit}, by {run.model}: {run.question}", 300),
        mime_type=MARKDOWN,
        annotations=types.Annotations(last_modified=ended),
    )

"""The report on the screen as a document that can be written to a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_agent.tui.state import DashboardState

if TYPE_CHECKING:
    from tui_agent.report.export import ReportDocument


def document_of(state: DashboardState, created: float) -> ReportDocument:
    """The state's report and what has to be known to trust it.

    Args:
        state: of a run that has ended.
        created: when it is written, epoch seconds.
    """
    from tui_agent.report.export import ReportDocument

    run = state.run
    return ReportDocument(
        repo=run.repo,
        commit=run.commit,
        ref=run.ref,
        question=run.question,
        engine=run.engine or "survey",
        model=run.model,
        outcome="partial" if run.outcome in ("idle", "running") else run.outcome,
        created=created,
        report=state.report.text,
        error=run.error,
        files=run.files,
        turns=run.turn,
        tool_calls=run.tool_calls,
        requests=run.requests or 0,
        elapsed=run.elapsed or 0.0,
    )

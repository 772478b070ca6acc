"""What is done over runs that have ended, put together: comparisons, and differences between two runs."""

from __future__ import annotations

from collections.abc import Sequence

from tui_agent.agent.changes import Before, Changes
from tui_agent.agent.compare import Comparison, Member
from tui_agent.agent.earlier import Earlier
from tui_agent.agent.plan import Plan
from tui_agent.agent.run import Run
from tui_agent.assembly import Assembly, Wanted
from tui_agent.events import Emit, Grounding, RunFinished, Snapshot
from tui_agent.request import RunRequest
from tui_agent.runs.store import Record


def member(wanted: Wanted, finished: RunFinished, run: Run | None) -> Member:
    """One repository of a comparison, as its run has ended.

    Args:
        wanted: what was asked.
        finished: the run's last event.
        run: the run; None where there was none.
    """
    return Member(wanted.repo, run.plan if run else None, finished, run.leave() if run else None)


def comparison(assembly: Assembly, request: RunRequest, members: Sequence[Member], emit: Emit) -> Comparison:
    """The comparison of runs that have ended, ready to be executed."""
    engine = assembly.engine(request)
    plan = Plan(
        owner="",
        name="",
        source="github" if any(one.web for one in members) else "local",
        question=request.question,
        lang=request.lang or assembly.settings.lang,
        engine=engine,
        **assembly.bounds(engine),
    )
    return Comparison(
        plan=plan,
        members=members,
        model=assembly.model(engine),
        clock=assembly.clock,
        sink=emit,
        redact=assembly.redact,
    )


def changes(assembly: Assembly, run: Run, left: Earlier, record: Record, after: Earlier, emit: Emit) -> Changes:
    """The difference between two runs of a repository, ready to be executed.

    Args:
        assembly: the process's.
        run: made for the same repository, never executed: its plan and its client are used.
        left: what the earlier run left behind.
        record: the earlier run's.
        after: what the later run left behind.
        emit: where events go.
    """
    report = next((event.report for event in record.events if isinstance(event, RunFinished)), "")
    # That it spoke of its own commit is nothing that could have changed.
    supported = [
        claim
        for event in record.events
        if isinstance(event, Grounding)
        for claim in event.supported
        if claim.get("kind") != "sha" or not (left.commit or "").startswith(str(claim.get("claim")).lower())
    ]
    files = next((event.files for event in record.events if isinstance(event, Snapshot)), 0)
    return Changes(
        plan=run.plan,
        before=Before(left, record.summary.began, files, report, supported),
        after=after,
        client=after.work.client if after.work else run.client,
        clock=assembly.clock,
        sink=emit,
        redact=assembly.redact,
    )

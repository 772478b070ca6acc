"""The last look at a report: each of its claims against what the run observed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from tui_agent.agent.plan import Plan
from tui_agent.events import Event, Grounding, JsonObject, Notice, ToolFinished
from tui_agent.github.snapshot import RepositorySnapshot


async def ground(
    report: str, observed: Sequence[ToolFinished], snapshot: RepositorySnapshot, plan: Plan, now: float
) -> Event:
    """The event that tells what of a report is supported; where the check itself fails, a notice that says so.

    Args:
        report: what the model wrote, without what the program adds.
        observed: the run's tool calls.
        snapshot: the repository.
        plan: the run's.
        now: epoch seconds.
    """
    try:
        # in a thread: ten megabytes of observations take a second
        return await asyncio.to_thread(_check, report, list(observed), snapshot, plan, now)
    except Exception as error:
        text = f"The report's claims could not be checked ({type(error).__name__}: {error})."
        return Notice(level="warning", text=text)


async def ground_among(
    report: str, seen: Sequence[tuple[Sequence[ToolFinished], RepositorySnapshot, Plan]], now: float
) -> Event:
    """The same for a report on several repositories: a claim is supported where any of them supports it.

    Args:
        report: what the model wrote.
        seen: of each repository, what was observed, its snapshot and its run's plan.
        now: epoch seconds.
    """
    events = [await ground(report, observed, snapshot, plan, now) for observed, snapshot, plan in seen]
    checked = [event for event in events if isinstance(event, Grounding)]
    if not checked:
        return events[0]
    supported = {_place(item): item for one in reversed(checked) for item in one.supported}
    unsupported = {_place(item): item for one in checked for item in one.unsupported if _place(item) not in supported}
    return Grounding(supported=list(supported.values()), unsupported=list(unsupported.values()))


def _place(item: JsonObject) -> tuple[object, ...]:
    return item.get("kind"), item.get("claim"), item.get("of")


def _check(
    report: str, observed: list[ToolFinished], snapshot: RepositorySnapshot, plan: Plan, now: float
) -> Grounding:
    # only a run that comes to a report needs them
    from tui_agent.report.evidence import Scene
    from tui_agent.report.grounding import check

    scene = Scene(
        repo=snapshot.full_name,
        asked=plan.asked,
        ref=snapshot.ref,
        commit=snapshot.commit,
        files=snapshot.files,
        today=datetime.fromtimestamp(now, UTC).date(),
        tree=snapshot.paths,
        web=plan.web,
    )
    checked = check(report, observed, scene)
    return Grounding(supported=checked.supported, unsupported=checked.unsupported)

"""Recorded runs in words: a line of a listing, the head of a report, an object of JSON, a document to export."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

from tui_agent.events import Grounding, JsonObject, RunFinished, RunStarted, Snapshot
from tui_agent.i18n import count, say, told
from tui_agent.report.export import ReportDocument
from tui_agent.runs.reading import Record
from tui_agent.runs.summary import RunSummary
from tui_agent.safe_text import cell_width, one_line, visible

_SHORT_COMMIT = 7
_SHORT_ID = 8
_NARROW = 100
"""Terminal cells below which ids are cut, years left out and gaps one blank, so that there is room for questions."""
_LEAST_QUESTION = 10
"""Terminal cells below which the beginning of a question says nothing."""


def listing(runs: Sequence[RunSummary], width: int) -> list[str]:
    """One line a run, aligned: its id, repository, outcome, when, commit, tokens, question.

    Args:
        runs: in the order of the lines.
        width: terminal cells of a line; what does not fit is left out from the right.
    """
    narrow = width < _NARROW
    gap = " " if narrow else "  "
    rows = [
        [
            one_line(run.run_id, 20)[: _SHORT_ID if narrow else None],
            one_line(run.repo, min(30, max(10, width // 5))),
            say(run.outcome),
            when(run.began)[5 if narrow else 0 :],
            (run.commit or "-")[:_SHORT_COMMIT],
            f"{run.tokens:,}",
        ]
        for run in runs
    ]
    widths = [max(map(cell_width, column)) for column in zip(*rows, strict=True)]
    shown = len(widths)
    while shown > 1 and sum(widths[:shown]) + len(gap) * (shown - 1) > width:
        shown -= 1
    room = width - sum(widths) - len(gap) * len(widths)
    lines = []
    for run, row in zip(runs, rows, strict=True):
        cells = [_filled(cell, size) for cell, size in zip(row[:shown], widths, strict=False)]
        if shown == len(widths):
            # Numbers stand under each other.
            cells[-1] = _filled(row[-1], widths[-1], right=True)
            if room >= _LEAST_QUESTION:
                cells.append(one_line(run.question, room))
        lines.append(one_line(cells[0], width) if shown == 1 else gap.join(cells).rstrip())
    return lines


def as_json(run: RunSummary) -> JsonObject:
    """The fields of a summary; `began` in epoch seconds."""
    return dataclasses.asdict(run) | {"path": str(run.path)}


def when(began: float) -> str:
    """A time of this machine's clock, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(began))


def page(record: Record) -> str:
    """The facts of a run, then its report, as text that is safe for a terminal."""
    finished = _last(record)
    report = visible(finished.report.rstrip()) if finished else ""
    head = "\n".join(f"{_filled(name, 12)}{one_line(text)}" for name, text in _facts(record, finished) if text)
    return f"{head}\n\n{report}\n" if report else f"{head}\n"


def page_as_json(record: Record) -> JsonObject:
    """The same as one object."""
    finished = _last(record)
    return as_json(record.summary) | {
        "error": finished.error if finished else None,
        "report": finished.report if finished else "",
    }


def one_run(run: RunSummary) -> str:
    """A run in half a line."""
    return f"{one_line(run.run_id, 40)} ({one_line(run.repo, 100)}, {when(run.began)}, {run.outcome})"


def why_without(record: Record) -> str:
    """Why a run has no report, in one sentence."""
    finished = _last(record)
    name = one_line(record.summary.run_id, 40)
    if finished is not None and finished.error:
        return f"Run {name} has no report: {finished.error}"
    return f"Run {name} has no report ({record.summary.outcome})."


def document_of(record: Record) -> ReportDocument | None:
    """The report of a run as a document; None where it has none."""
    started = next(event for event in record.events if isinstance(event, RunStarted))
    finished = _last(record)
    if finished is None or not finished.report.strip():
        return None
    grounding = next((event for event in reversed(record.events) if isinstance(event, Grounding)), None)
    ended = record.summary.began + finished.elapsed
    return ReportDocument.of(started, _snapshot(record), finished, ended, grounding)


def _facts(record: Record, finished: RunFinished | None) -> list[tuple[str, str]]:
    run, snapshot = record.summary, _snapshot(record)
    ref = snapshot.ref if snapshot else run.ref
    outcome = say(run.outcome)
    spent = [say("{tokens} tokens", tokens=f"{run.tokens:,}")] if run.tokens else []
    if finished is not None:
        spent.append(count("{number:,} request to GitHub", "{number:,} requests to GitHub", finished.requests))
    unread = say("{number:,} lines that this version cannot read", number=record.skipped) if record.skipped else ""
    return [
        (say("run"), run.run_id),
        (say("repository"), run.repo),
        (say("commit"), " ".join(filter(None, (run.commit, f"({ref})" if ref else "")))),
        (say("question"), run.question),
        (say("answered by"), say("the built-in survey, no LLM") if run.engine == "survey" else run.model),
        (say("began"), say("{when}, took {elapsed:.1f} s", when=when(run.began), elapsed=run.elapsed)),
        (say("outcome"), f"{outcome}: {told(finished.error)}" if finished and finished.error else outcome),
        (say("spent"), ", ".join(spent)),
        (say("follows"), run.follows or ""),
        (say("left out"), unread),
    ]


def _snapshot(record: Record) -> Snapshot | None:
    return next((event for event in record.events if isinstance(event, Snapshot)), None)


def _last(record: Record) -> RunFinished | None:
    return next((event for event in reversed(record.events) if isinstance(event, RunFinished)), None)


def _filled(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks to a width in terminal cells."""
    blanks = " " * (width - cell_width(text))
    return blanks + text if right else text + blanks

"""Recorded runs for the dashboard's tests: a story in which everything happens, and a folder full of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.tui_session import breaker, ended, finished, quota, stamped, started
from tui_agent import events as ev
from tui_agent.request import RunRequest
from tui_agent.runs.record import Recorder
from tui_agent.runs.store import RunStore

BEGAN = 1_790_000_000.0
REPORT = "# Flask\n\nA micro framework."


def story(
    run_id: str = "r1",
    *,
    repo: str = "pallets/flask",
    question: str = "What is it?",
    follows: str | None = None,
    report: str = REPORT,
    outcome: ev.Outcome = "completed",
) -> list[ev.Event]:
    """A run of 40 seconds: a breaker opens at 2 and closes at 33, a report is written from 35 on."""
    begin = ev.RunStarted(
        repo=repo, source="github", ref=None, question=question, engine="llm", model="deepseek-flash", follows=follows
    )
    failed = ev.AttemptFailed(call_id="c1", name="read_file", attempt=1, reason="HTTP 503", status=503)
    return stamped(
        (0.0, begin),
        (0.5, ev.Snapshot(repo=repo, ref="main", commit="1a2b3c4d" * 5, files=221, truncated=False)),
        (0.6, quota(4830, 170)),
        (1.0, ev.TurnStarted(turn=1, max_turns=15)),
        (1.2, ev.Thought(turn=1, text="First the README.")),
        (1.5, started(path="README.md")),
        (2.0, failed),
        (2.0, breaker("read_file", "open", failures=5, retry_in=30)),
        (32.0, breaker("read_file", "half_open", failures=5, cause="probe")),
        (33.0, breaker("read_file", "closed", cause="probe")),
        (33.0, ended(attempts=2, elapsed=31.5)),
        (34.0, ev.TurnStarted(turn=2, max_turns=15)),
        (35.0, ev.ReportDelta(turn=2, text=report[: len(report) // 2])),
        (36.0, ev.ReportDelta(turn=2, text=report[len(report) // 2 :])),
        (
            39.0,
            ev.Usage(
                prompt_tokens=12_000,
                completion_tokens=345,
                cached_tokens=0,
                reasoning_tokens=0,
                context_tokens=12_345,
                cost=None,
            ),
        ),
        (40.0, replace(finished(outcome, report, elapsed=40.0), turns=2)),
        run_id=run_id,
    )


def record(folder: Path, events: Sequence[ev.Event], request: RunRequest | None = None, began: float = BEGAN) -> None:
    """Record a run as a session does."""
    first = events[0]
    assert isinstance(first, ev.RunStarted)
    asked = request or RunRequest(repo=first.repo, question=first.question, follows=first.follows)
    recorder = Recorder(folder, asked, now=lambda: began)
    for event in events:
        recorder(event)
    recorder.close()
    assert recorder.trouble is None


def some_records(folder: Path) -> RunStore:
    """Four runs: flask with a follow-up (the newest), click which failed, rich which was left in the middle."""
    record(folder, story(), began=BEGAN + 3000)
    more = story("r2", question="Who uses it?", follows="r1", report="Many do.")
    record(folder, more, began=BEGAN + 4000)
    record(folder, story("r3", repo="pallets/click", report="", outcome="failed"), began=BEGAN + 2000)
    record(folder, story("r4", repo="Textualize/rich")[:9], began=BEGAN + 1000)
    return RunStore(folder)

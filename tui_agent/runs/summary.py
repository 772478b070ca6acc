"""What a listing needs to know of a run, gathered from its events as they pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_agent.events import Event, Outcome, RunFinished, RunStarted, Snapshot, Usage

RecordOutcome = Outcome | Literal["running", "interrupted"]
"""A run's outcome; without one its record is still being written, or was left in the middle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """One recorded run in a listing.

    Args:
        path: its record.
        run_id: its name.
        repo: `owner/name` as it was asked for.
        source: where the repository lies.
        ref: as asked, or None.
        commit: the full SHA that it speaks of; None where none was found, or there is no history.
        question: what was to be found out.
        engine, model: who answered.
        began: epoch seconds.
        outcome: how it ended, or where it stands.
        elapsed: how long it took, in seconds; so far, where it has not ended.
        tokens: in and out together.
        follows: the run that it goes on with, or None.
        events: how many the record holds.
    """

    path: Path
    run_id: str
    repo: str
    source: Literal["github", "local"]
    ref: str | None
    commit: str | None
    question: str
    engine: Literal["llm", "survey"]
    model: str
    began: float
    outcome: RecordOutcome
    elapsed: float
    tokens: int
    follows: str | None
    events: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEnd:
    """A record's last line, so that a listing need not read what stands before; fields as in `RunSummary`."""

    outcome: Outcome
    commit: str | None
    tokens: int
    events: int
    elapsed: float


@dataclass(slots=True)
class Totals:
    """What is gathered from the events of one run."""

    started: RunStarted | None = None
    commit: str | None = None
    tokens: int = 0
    events: int = 0
    elapsed: float = 0.0
    outcome: Outcome | None = None

    @property
    def end(self) -> RecordEnd | None:
        """The last line of the record, once the run has ended."""
        if self.outcome is None:
            return None
        return RecordEnd(
            outcome=self.outcome, commit=self.commit, tokens=self.tokens, events=self.events, elapsed=self.elapsed
        )

    def see(self, event: Event) -> None:
        """Take in one event."""
        self.events += 1
        self.elapsed = event.at
        match event:
            case Usage():
                self.tokens += event.prompt_tokens + event.completion_tokens
            case RunStarted():
                self.started = event
            case Snapshot():
                self.commit = event.commit
            case RunFinished():
                self.outcome, self.elapsed = event.outcome, event.elapsed

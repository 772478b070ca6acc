"""What the dashboard knows of a run: plain records, filled by the reducer and read by the panes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from tui_agent import events as ev
from tui_agent.safe_text import one_line
from tui_agent.tui.calls import Call
from tui_agent.tui.stream import Stream

RunWord = Literal["idle", "running", "completed", "partial", "failed", "cancelled"]
Area = Literal["run", "trace", "calls", "breakers", "quota", "report", "notices", "grounding"]

DEFAULT_THRESHOLD = 5
_PUNCTUATION, _ESCAPED = re.compile(r"[!-/:-@\[-`{-~]"), r"\\\g<0>"
"""ASCII punctuation, any of which Markdown takes literally behind a backslash (CommonMark, 2.4)."""
ANONYMOUS = 60
"""GitHub's requests an hour without a token."""


@dataclass(slots=True)
class Revisions:
    """A counter an area, raised by every change: a pane compares it with the one it drew."""

    run: int = 0
    trace: int = 0
    calls: int = 0
    breakers: int = 0
    quota: int = 0
    report: int = 0
    notices: int = 0
    grounding: int = 0

    def raise_(self, *areas: Area) -> None:
        """Count one change in each of the areas."""
        for area in areas:
            setattr(self, area, getattr(self, area) + 1)

    def of(self, *areas: Area) -> tuple[int, ...]:
        """The areas' counters, to be compared with earlier ones."""
        return tuple(getattr(self, area) for area in areas)


@dataclass(slots=True)
class RunInfo:
    """What is known of the run as a whole; `outcome` is the word that stands on the screen.

    `cache_hits` counts the calls that the disk cache answered, `revalidated` those for which it was asked whether
    they had changed. `follows` is the run that it goes on with, `previous` the one before of the same repository.
    """

    run_id: str | None = None
    follows: str | None = None
    previous: str | None = None
    repo: str = ""
    source: Literal["github", "local"] | None = None
    ref: str | None = None
    commit: str | None = None
    files: int | None = None
    truncated: bool = False
    question: str = ""
    engine: Literal["llm", "survey"] | None = None
    model: str = ""
    turn: int = 0
    max_turns: int = 0
    outcome: RunWord = "idle"
    error: str | None = None
    tool_calls: int = 0
    requests: int | None = None
    elapsed: float | None = None
    cache_hits: int = 0
    revalidated: int = 0

    @property
    def running(self) -> bool:
        """Whether a run is going on."""
        return self.outcome == "running"


@dataclass(slots=True)
class Tokens:
    """What the run's turns used together; `context` is what the history holds now.

    `cost` is an estimate in `currency`; both are None where the model's price is not known.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    reasoning: int = 0
    context: int = 0
    cost: float | None = None
    currency: str | None = None


@dataclass(slots=True)
class Turn:
    """One turn of the loop: what the model thought and said, and the calls it made, in order.

    `content` is what streams as a report; when calls follow, it moves to `thought`. `model_call` is
    the model's own request of this turn, there only when an attempt failed or had to wait.
    """

    number: int
    started_at: float = 0.0
    finished_at: float | None = None
    reasoning: Stream = field(default_factory=Stream)
    thought: str = ""
    content: Stream = field(default_factory=Stream)
    restarts: list[str] = field(default_factory=list)
    usage: ev.Usage | None = None
    calls: list[Call] = field(default_factory=list)
    model_call: Call | None = None
    revision: int = 0


@dataclass(slots=True)
class BreakerRow:
    """One breaker; `retry_at` is the run second of its next probe, `isolated` whether the user holds it open."""

    name: str
    state: ev.BreakerState = "closed"
    failures: int = 0
    threshold: int = DEFAULT_THRESHOLD
    retry_at: float | None = None
    cause: ev.BreakerCause | None = None
    isolated: bool = False

    @property
    def calm(self) -> bool:
        """Whether nothing speaks against the service: closed, no failure counted."""
        return self.state == "closed" and self.failures == 0

    def seconds_left(self, now: float) -> float | None:
        """Seconds until a probe is admitted; None where none is due by time."""
        if self.state != "open" or self.retry_at is None:
            return None
        return max(0.0, self.retry_at - now)


@dataclass(slots=True)
class QuotaRow:
    """One rate limit; `reset` in epoch seconds, `history` of `remaining`, `spent` by this run alone."""

    resource: str
    limit: int
    remaining: int
    used: int
    reset: int
    history: list[int] = field(default_factory=list)
    spent: int = 0
    counted: bool = False

    @property
    def revalidating_is_free(self) -> bool:
        """Whether a reply "not modified" costs nothing.

        Source: GitHub's "Best practices for using the REST API", conditional requests: free with an `Authorization`
        header; without one the limit is 60 an hour.
        """
        return self.limit > ANONYMOUS

    def headroom(self, epoch: float) -> int:
        """The requests that may still be sent at a time (epoch seconds): all of them once the limit was renewed."""
        return self.limit if epoch >= self.reset else self.remaining


@dataclass(frozen=True, slots=True)
class Chapter:
    """The report of an earlier run with which the present one goes on, behind its heading."""

    run_id: str | None
    text: str


@dataclass(slots=True)
class ReportState:
    """The report as far as it is written, behind those of the runs that it goes on with.

    `generation` rises whenever `text` does not merely grow at its end, so that a view which drew
    `n` characters of this generation only has to draw `text[n:]`. `final` once the run has handed it over.
    """

    stream: Stream = field(default_factory=Stream)
    turn: int | None = None
    generation: int = 0
    final: bool = False
    chapters: list[Chapter] = field(default_factory=list)
    heading: str = ""

    @property
    def before(self) -> str:
        """What stands before this run's own text."""
        return "".join(chapter.text for chapter in self.chapters) + self.heading

    @property
    def begins(self) -> int:
        """Where this run's chapter begins, in characters."""
        return len(self.before) - len(self.heading.lstrip("\n-"))

    @property
    def text(self) -> str:
        """The report's Markdown, chapter by chapter."""
        return self.before + self.stream.text

    def __len__(self) -> int:
        return sum(len(chapter.text) for chapter in self.chapters) + len(self.heading) + len(self.stream)

    def show(self, stream: Stream, turn: int | None) -> None:
        """Another text takes this one's place."""
        self.stream, self.turn, self.final = stream, turn, False
        self.generation += 1

    @property
    def runs(self) -> list[str | None]:
        """The ids of the runs whose reports stand before this run's own."""
        return [chapter.run_id for chapter in self.chapters]

    def begin(self, ended: str | None, follows: str | None, question: str) -> None:
        """A run begins: the chapters stay as far as it goes on with them.

        Args:
            ended: the id of the run that was shown.
            follows: the id of the run that the new one goes on with, or None.
            question: of the new run.
        """
        chapters = self.chapters
        if self.final:
            chapters = [*chapters, Chapter(ended, self.heading + self.stream.text)]
        ids = [chapter.run_id for chapter in chapters]
        kept = ids.index(follows) + 1 if follows in ids else 0
        self.chapters = chapters[:kept]
        self.heading = f"\n\n---\n\n## {_PUNCTUATION.sub(_ESCAPED, one_line(question, 400))}\n\n" if kept else ""
        self.show(Stream(), None)


@dataclass(slots=True)
class GroundingState:
    """Claims of the report that were and were not found in what was observed."""

    supported: list[ev.JsonObject] = field(default_factory=list)
    unsupported: list[ev.JsonObject] = field(default_factory=list)

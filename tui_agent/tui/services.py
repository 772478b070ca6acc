"""What belongs to the process rather than to a run: breakers and limits, as a run's events and others' tell them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field

from tui_agent import events as ev
from tui_agent.tui.views import DEFAULT_THRESHOLD, BreakerRow, QuotaRow, Revisions, RunInfo

BREAKER_NAMES = ("get_repo_info", "list_directory", "find_files", "read_file", "get_commits", "llm", "snapshot")
HISTORY = 240
"""How many values of a quota are kept for its sparkline."""
SAME_WINDOW = 5
"""Seconds by which two replies of one rate-limit window may differ in their `reset`."""


@dataclass(slots=True)
class Services:
    """The breakers and the limits, in the time of one run.

    Args:
        threshold: the failures of a breaker that no event has named yet.
    """

    threshold: int = DEFAULT_THRESHOLD
    at: float = 0.0
    run: RunInfo = field(default_factory=RunInfo)
    breakers: dict[str, BreakerRow] = field(default_factory=dict)
    quota: dict[str, QuotaRow] = field(default_factory=dict)
    revisions: Revisions = field(default_factory=Revisions)

    def __post_init__(self) -> None:
        for name in BREAKER_NAMES:
            self.breakers.setdefault(name, BreakerRow(name, threshold=self.threshold))

    def advance(self, now: float) -> None:
        """Say that it is `now` (run seconds), as far as the next event without a time of this run goes."""
        self.at = max(self.at, now)

    def take_over(self, other: Services) -> None:
        """Begin with the breakers and the limits of another run's time, as they stand there at its latest moment."""
        self.breakers, self.quota = deepcopy(other.breakers), deepcopy(other.quota)
        self.at = other.at
        self.revisions.raise_("breakers", "quota")

    def overhear(self, event: ev.Event) -> None:
        """Take in what an event of another run says about the services."""
        match event:
            case ev.BreakerChanged():
                self._on_breaker_changed(event)
            case ev.Quota():
                self._on_quota(event)
            case ev.AttemptFailed():
                self._failed(event.name)
            case ev.Snapshot():
                self._succeeded("snapshot")
            case ev.Usage() | ev.ToolStarted():
                self._succeeded("llm")
            case ev.ToolFinished(outcome="ok") if event.attempts:
                self._succeeded(event.tool)

    def _is_own(self, event: ev.Event) -> bool:
        return event.run_id is not None and event.run_id == self.run.run_id

    def _failed(self, name: str) -> None:
        row = self.breakers.get(name)
        if row is not None and row.state == "closed":
            row.failures = min(row.failures + 1, row.threshold)
            self.revisions.raise_("breakers")

    def _succeeded(self, name: str) -> None:
        # A closed breaker emits nothing while it counts: failures in a row are told by the attempts.
        row = self.breakers.get(name)
        if row is not None and row.state == "closed" and row.failures:
            row.failures = 0
            self.revisions.raise_("breakers")

    def _on_breaker_changed(self, event: ev.BreakerChanged) -> None:
        row = self.breakers.setdefault(event.name, BreakerRow(event.name))
        row.state, row.failures, row.threshold, row.cause = event.state, event.failures, event.threshold, event.cause
        row.retry_at = None
        if event.state == "open" and event.retry_in is not None:
            since = event.at if self._is_own(event) else self.at
            row.retry_at = since + event.retry_in
        row.isolated = event.state == "open" and event.cause == "user"
        for other in self.breakers.values():
            if other.cause is None:  # they share one setting, and this is the first that tells it
                other.threshold = event.threshold
        self.revisions.raise_("breakers")

    def _on_quota(self, event: ev.Quota) -> None:
        row = self.quota.get(event.resource)
        if row is None:
            row = QuotaRow(event.resource, event.limit, event.remaining, event.used, event.reset)
            self.quota[event.resource] = row
        elif event.reset < row.reset - SAME_WINDOW:
            return  # a late reply of the window before
        same_window = event.reset <= row.reset + SAME_WINDOW
        if self._is_own(event):
            if row.counted:
                row.spent += max(0, event.used - row.used) if same_window else event.used
            else:
                # What others spent of the same token before is not this run's: the first reply counts itself.
                row.spent, row.counted = min(1, event.used), True
        if not same_window or event.used >= row.used:  # replies of one window may come out of order
            row.limit, row.remaining, row.used = event.limit, event.remaining, event.used
        row.reset = max(row.reset, event.reset)
        row.history.append(row.remaining)
        if len(row.history) > 2 * HISTORY:
            del row.history[:-HISTORY]
        self.revisions.raise_("quota")

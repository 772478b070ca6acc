"""What the commits that were seen say: cadence, people, the last change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from tui_agent.transports.survey.history import Call
from tui_agent.transports.survey.shapes import list_of, number_of, text_of

STALE_DAYS = 365
FRESH_DAYS = 90
_BOT = re.compile(
    r".*\[bot\]|(?:dependabot|renovate|github[- ]actions|pre-commit-ci|greenkeeper|allcontributors|snyk|mergify)"
    r"(?:[- ].*)?|.*[-_ ]bot",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as far as it was told; `when` is None where its date could not be read."""

    sha: str
    message: str
    author: str
    when: datetime | None


@dataclass(slots=True)
class Activity:
    """Figures over the commits that were seen; days are whole days before `today`."""

    commits: list[Commit]
    total: int | None
    more: bool
    today: datetime
    people: Counter[str] = field(default_factory=Counter)
    bots: Counter[str] = field(default_factory=Counter)
    nameless: int = 0

    @property
    def complete(self) -> bool:
        """Whether these are all the commits there are."""
        return not self.more and (self.total is None or self.total <= len(self.commits))

    @property
    def dates(self) -> list[datetime]:
        """The dates that are not in the future, oldest first."""
        return sorted(c.when for c in self.commits if c.when is not None and c.when <= self.today)

    @property
    def future(self) -> int:
        """How many commits bear a date after today."""
        return sum(1 for commit in self.commits if commit.when is not None and commit.when > self.today)

    @property
    def latest(self) -> datetime | None:
        """The newest date that is not in the future."""
        return self.dates[-1] if self.dates else None

    @property
    def days_since(self) -> int | None:
        """Whole days from the newest such date to today."""
        return (self.today.date() - self.latest.date()).days if self.latest else None

    @property
    def median_gap(self) -> float | None:
        """The median number of days between one commit's date and the next; None below three dates."""
        gaps = sorted((later - earlier).total_seconds() / 86400 for earlier, later in pairwise(self.dates))
        if len(gaps) < 2:
            return None
        # By hand: importing `statistics` costs as much as half of this room.
        middle = len(gaps) // 2
        return gaps[middle] if len(gaps) % 2 else (gaps[middle - 1] + gaps[middle]) / 2

    def within(self, days: int) -> int:
        """How many of the commits bear a date of the last `days` days."""
        return sum(1 for when in self.dates if (self.today.date() - when.date()).days < days)

    @property
    def sole_author(self) -> str:
        """The one person who made every commit that was not a bot's; "" where there are several or none is named."""
        return next(iter(self.people)) if len(self.people) == 1 and not self.nameless else ""


def is_bot(author: str) -> bool:
    """Whether a name is one that automation commits under."""
    return _BOT.fullmatch(author) is not None


def read_activity(calls: Iterable[Call], now: float) -> Activity | None:
    """The history from the answers to `get_commits` without a path; None where there is no answer.

    Args:
        calls: the run's calls.
        now: seconds since the epoch.
    """
    commits: dict[str, Commit] = {}
    total: int | None = None
    more = answered = False
    for call in calls:
        if call.name != "get_commits" or call.status != "ok" or text_of(call.arguments.get("path")):
            continue
        answered = True
        found = [_commit(item) for item in list_of(call.result.get("commits"))]
        fresh = {commit.sha or f"#{len(commits) + n}": commit for n, commit in enumerate(found)}
        if not commits or not commits.keys() >= fresh.keys():
            more = bool(call.result.get("more"))
        commits.update(fresh)
        told = number_of(call.result.get("total"))
        total = told if told is not None else total
    if not answered:
        return None
    activity = Activity(list(commits.values()), total, more, datetime.fromtimestamp(now, UTC))
    for commit in activity.commits:
        if not commit.author:
            activity.nameless += 1
        elif is_bot(commit.author):
            activity.bots[commit.author] += 1
        else:
            activity.people[commit.author] += 1
    return activity


def _commit(value: object) -> Commit:
    """One commit of the tool's answer: `[SHA, day, author, message]`."""
    sha, day, author, message = (text_of(part) for part in (*list_of(value), "", "", "", "")[:4])
    return Commit(sha=sha, message=message, author=author.strip(), when=parse_time(day))


def parse_time(text: str) -> datetime | None:
    """An ISO 8601 time as UTC; None where it is none. A time without an offset is taken as UTC."""
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None

"""What has changed since an earlier run of the same repository: computed by the program, told like a run.

The later run's snapshot is compared with the tree that the earlier one saw; what the earlier report said is checked
once more, against what is known now. Of the files, only those that have changed and that a claim rests on are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.agent.earlier import Earlier
from tui_agent.agent.figures import Lookup
from tui_agent.agent.grounds import ground
from tui_agent.agent.plan import Plan
from tui_agent.agent.prompts import changes_question, is_chinese
from tui_agent.agent.telling import Ended, Undertaking, as_event
from tui_agent.events import Event, Grounding, JsonObject, ReportDelta, RunStarted, ToolFinished, TurnStarted
from tui_agent.github.client import GitHubClient
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import RepositorySnapshot
from tui_agent.github.tree import fetch_tree
from tui_agent.report.changes import Commits, Files, Side, outdated, text
from tui_agent.resilience.call import Call
from tui_agent.resilience.outcome import Trouble, Unavailable
from tui_agent.transports.survey.profile import commits_of, profile

MOST_READ = 10
"""Changed files that are read again."""


@dataclass(frozen=True)
class Before:
    """The earlier run.

    Args:
        left: what it left behind.
        when: epoch seconds at which it began.
        files: how many its snapshot held.
        report: its report.
        supported: the claims of the report that it had seen.
    """

    left: Earlier
    when: float
    files: int
    report: str
    supported: Sequence[JsonObject]


@dataclass(kw_only=True)
class Changes(Undertaking):
    """The difference between two runs.

    Args:
        plan: the repository and the language.
        before: the earlier run.
        after: the later run.
        client: asks for what is not at hand.
    """

    plan: Plan
    before: Before
    after: Earlier
    client: GitHubClient
    _requests_before: int = 0

    def __post_init__(self) -> None:
        self._requests_before = self.client.requests

    @property
    def requests(self) -> int:
        """Requests sent to GitHub so far."""
        return self.client.requests - self._requests_before if self.plan.source == "github" else 0

    def started(self) -> RunStarted:
        """The first event: the answer goes on with the later run."""
        return RunStarted(
            repo=self.plan.asked,
            source=self.plan.source,
            ref=self.plan.ref,
            question=self.plan.question or changes_question(self.plan.lang),
            engine="survey",
            model="survey",
            follows=self.after.run_id,
        )

    async def main(self) -> Ended:
        """Trees, commits, figures, claims."""
        if self.before.left.commit is None and self.before.files:
            return Ended("failed", error="The earlier run saw a folder without history; what was in it is not known.")
        try:
            call = Call("snapshot", self.emit)
            work = await self.after.workspace(self.client, call, self.plan.owner, self.plan.name)
            snapshot = work.snapshot
            self.emit(as_event(snapshot))
            self.emit(TurnStarted(turn=1, max_turns=1))
            old_blobs, is_cut = await self._old_blobs(snapshot)
        except GitHubError as error:
            return Ended("failed", error=f"What is compared can no longer be read: {error.sentence}")
        except (Trouble, Unavailable) as error:
            return Ended("failed", error=f"What is compared cannot be read now: {error}")
        new_blobs = {entry.path: entry.sha for entry in snapshot.all_files()}
        # in a thread: a hundred thousand files take a third of a second
        files = await asyncio.to_thread(Files.between, old_blobs, new_blobs, is_cut=is_cut or snapshot.truncated)
        seen: list[ToolFinished] = []

        def note(event: Event) -> None:
            if isinstance(event, ToolFinished):
                seen.append(event)
            self.emit(event)

        lookup = Lookup(self.after, work, note, self.clock, "changes")
        new_figures = await lookup.figures()
        rests_on = {str(item["path"]) for item in self.before.supported if item.get("path")}
        read = sorted(rests_on.intersection(files.changed))[:MOST_READ]
        await lookup.ask([("read_file", {"path": path}) for path in read])
        observed = [*self.after.observed, *seen]
        checked = await ground(self.before.report, observed, snapshot, self.plan, self.clock.time())
        still = checked.supported if isinstance(checked, Grounding) else list(self.before.supported)
        known = {
            str(event.arguments.get("path"))
            for event in observed
            if event.tool == "read_file" and event.outcome == "ok"
        }
        stale = outdated(self.before.supported, still, files, frozenset(known))
        old_messages = self.before.left.conversation.whole()
        old_figures = await asyncio.to_thread(profile, old_messages, self.before.when)
        report = text(
            Side(self.before.when, self.before.left.commit, old_blobs, old_figures),
            Side(self.clock.time(), snapshot.commit, {}, new_figures),
            self._commits(lookup.messages),
            files,
            stale,
            len(self.before.supported),
            chinese=is_chinese(self.plan.lang, self.plan.question),
        )
        self.emit(ReportDelta(turn=1, text=report))
        return Ended("completed", report)

    async def _old_blobs(self, snapshot: RepositorySnapshot) -> tuple[dict[str, str], bool]:
        """SHA by path of the tree that the earlier run saw (as a rule it is in the cache), and whether it was cut."""
        commit = self.before.left.commit
        if commit is None:
            return {}, False
        if commit == snapshot.commit:
            return {entry.path: entry.sha for entry in snapshot.all_files()}, False
        call = Call("snapshot", self.emit)
        entries, is_cut = await fetch_tree(self.client, call, snapshot.owner, snapshot.name, commit, recursive=True)
        return {entry.path: entry.sha for entry in entries if entry.kind == "file"}, is_cut

    def _commits(self, messages: Sequence[JsonObject]) -> Commits:
        """The commits in front of the earlier one, as far back as they were seen."""
        old = self.before.left.commit or ""
        since: list[JsonObject] = []
        for commit in commits_of(messages, self.clock.time()):
            if commit.sha and old.startswith(commit.sha):
                return Commits(since)
            date = commit.when.strftime("%Y-%m-%d") if commit.when else ""
            since.append({"sha": commit.sha, "date": date, "author": commit.author, "message": commit.message})
        return Commits(since, complete=not old)

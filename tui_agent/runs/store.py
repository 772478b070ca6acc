"""The recorded runs of a folder: listed, found by name, read, deleted."""

from __future__ import annotations

import os
from math import inf
from pathlib import Path

from tui_agent.request import RunRequest
from tui_agent.runs.locks import is_locked
from tui_agent.runs.reading import Record, read_ended, read_record, read_summary
from tui_agent.runs.record import SUFFIX, RecordError, runs_folder
from tui_agent.runs.room import NAME
from tui_agent.runs.summary import RunSummary
from tui_agent.safe_text import one_line

LAST = "last"
"""What stands for the newest run, wherever one is named."""

_SECOND = len("20260101-000000")
# Within the class, `list` is its own.
_Paths = list[Path]
_Runs = list[RunSummary]

__all__ = ["LAST", "Record", "RecordError", "RunStore", "RunSummary"]


class RunStore:
    """The records in one folder.

    Args:
        folder: the place; None for this user's own. It need not be there.

    Attributes:
        unreadable: how many files the last listing left out, since no run could be read from them.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = runs_folder() if folder is None else folder
        self.unreadable = 0

    def list(self) -> _Runs:
        """Every recorded run, the newest first.

        Raises:
            RecordError: the folder cannot be read.
        """
        found, self.unreadable = [], 0
        for path in self._files():
            try:
                found.append(read_summary(path))
            except RecordError:
                # Deleted meanwhile, it is not missed.
                self.unreadable += path.exists()
        return sorted(found, key=lambda run: (run.began, run.path.name), reverse=True)

    def find(self, text: str) -> RunSummary:
        """The run that a text names: its id or the beginning of it, `last`, or the path of a file.

        Raises:
            RecordError: there is none, or several could be meant.
        """
        text = text.strip()
        if text == LAST:
            runs = self.list()
            if not runs:
                raise RecordError("No run has been recorded yet.")
            return runs[0]
        if text.endswith(SUFFIX) or "/" in text or os.sep in text:
            return read_summary(Path(text).expanduser())
        named = self._named()
        found = {path: run_id for path, run_id in named.items() if text and run_id.startswith(text)}
        exact = [path for path, run_id in found.items() if run_id == text]
        paths = exact or sorted(found)
        if not paths:
            raise RecordError(f'There is no run "{one_line(text, 60)}"; `repo-agent-tui runs` lists those there are.')
        if len(paths) > 1:
            several = ", ".join(found[path] for path in paths[:3]) + (", …" if len(paths) > 3 else "")
            raise RecordError(f'"{one_line(text, 60)}" could be {several}: write more of the name.')
        return read_summary(paths[0])

    def of(self, run_id: str) -> RunSummary:
        """The run of this very id, as one record names another; no beginning of one, no `last` and no file.

        Raises:
            RecordError: there is none.
        """
        path = next((path for path, name in self._named().items() if name == run_id), None)
        if path is None:
            raise RecordError(f'There is no run "{one_line(run_id, 60)}" among the records any more.')
        return read_summary(path)

    def load(self, run: RunSummary | Path) -> Record:
        """All of a run.

        Raises:
            RecordError: it cannot be read.
        """
        return read_record(run if isinstance(run, Path) else run.path)

    def delete(self, run: RunSummary) -> None:
        """Delete a record; one that has gone already is not missed.

        Raises:
            RecordError: it is being written, lies elsewhere, or the system does not allow it.
        """
        name = one_line(run.run_id, 60)
        if run.path.parent.resolve() != self.folder.resolve():
            raise RecordError(f"{one_line(str(run.path), 120)} is not among the recorded runs; delete the file itself.")
        if is_locked(run.path):
            raise RecordError(f"Run {name} is still running and cannot be deleted.")
        self._unlink(run.path)

    def delete_all(self) -> tuple[int, int]:
        """Delete every record, damaged ones as well; how many were deleted, and how many are still being written.

        Raises:
            RecordError: the system does not allow it.
        """
        kept = deleted = 0
        for path in self._files():
            if NAME.fullmatch(path.name) and path.is_file():
                if is_locked(path):
                    kept += 1
                else:
                    self._unlink(path)
                    deleted += 1
        return deleted, kept

    def chain(self, run: RunSummary) -> _Runs:
        """The run and those whose conversation it goes on with, the first of them first; what is gone is left out."""
        chain, seen = [run], {run.run_id}
        while (before := chain[0].follows) is not None and before not in seen:
            seen.add(before)
            try:
                chain.insert(0, self.of(before))
            except RecordError:
                break
        return chain

    def previous(self, repo: str, source: str, folder: Path | None, before: float = inf) -> RunSummary | None:
        """The last run of a repository that saw a commit and came to a report of its own; None where there is none.

        Args:
            repo, source: as in `RunSummary`; the name in any case.
            folder: a local repository's place, since folders elsewhere may have the same name; None for any.
            before: epoch seconds; runs that began then or later do not count.

        Raises:
            RecordError: the records cannot be read.
        """
        found: RunSummary | None = None
        for path in reversed(self._files()):
            name = NAME.fullmatch(path.name)
            # A name tells the second: of the runs that began in the same one, the last counts.
            if found is not None and path.name[:_SECOND] < found.path.name[:_SECOND]:
                break
            try:
                ended = read_ended(path) if name else None
            except RecordError:
                continue
            if ended is None:
                continue
            run, asked = ended
            is_it = (run.repo.lower(), run.source) == (repo.lower(), source) and run.began < before
            is_whole = run.outcome in ("completed", "partial") and run.commit and not run.follows
            if is_it and is_whole and (folder is None or _lies_at(asked, folder)):
                found = run if found is None or run.began > found.began else found
        return found

    def _named(self) -> dict[Path, str]:
        """The records with their runs' ids, as their names tell them."""
        return {path: match[1] for path in self._files() if (match := NAME.fullmatch(path.name))}

    def _files(self) -> _Paths:
        """Every file that may be a record."""
        try:
            return sorted(path for path in self.folder.iterdir() if path.name.endswith(SUFFIX))
        except FileNotFoundError:
            return []
        except OSError as error:
            shown = one_line(str(self.folder), 200)
            raise RecordError(f"The recorded runs in {shown} cannot be read: {error.strerror}.") from error

    def _unlink(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise RecordError(f"{one_line(path.name, 120)} cannot be deleted: {error.strerror}.") from error


def _lies_at(request: RunRequest | None, folder: Path) -> bool:
    """Whether a run's local repository is this very folder."""
    try:
        return request is not None and Path(request.repo).expanduser().resolve() == folder.expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        # No home, a loop of links, no name that a file could have: it is another one.
        return False

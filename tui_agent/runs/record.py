"""Writes a run's events to a file of its own, each as it happens: a process that is killed loses none that was told.

A record is JSON lines: one `record` (format, program, request), then every event as `events.to_json` gives it, and
behind `run_finished` one `record_end` with what a listing needs. Readers ignore what they do not know.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tui_agent import __version__
from tui_agent.events import Emit, Event, Notice, RunFinished, to_json
from tui_agent.paths import is_path
from tui_agent.private_folder import make_private
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest
from tui_agent.runs.locks import lock
from tui_agent.runs.room import make_room
from tui_agent.runs.summary import Totals
from tui_agent.safe_json import dumps
from tui_agent.settings import APP_NAME

FORMAT = 1
"""The form of a record; with another one comes another number, and what is older stays readable."""
SUFFIX = ".jsonl"


class RecordError(Exception):
    """A record cannot be found, read or deleted; the text is one sentence."""


def runs_folder() -> Path:
    """Where this user's records are kept."""
    # 30 ms that a run pays, and `--help` does not.
    from platformdirs import user_state_path

    return user_state_path(APP_NAME, appauthor=False) / "runs"


class Recorder:
    """Writes the events of one run, beginning with the first that belongs to one.

    A disk that is full, or a folder that cannot be used, ends the recording and never the run: what was written by
    then stays, whole lines only.

    Args:
        folder: the place; made, for the user alone, where it is not there. None for this user's own.
        request: what was asked; kept without keys that an address may hold.
        follows: the run that this one goes on with; None for what the request says.
        redact: takes secrets out of the request; the events come without any.
        now: the time in epoch seconds.

    Attributes:
        path: the record; None until it has begun.
        trouble: why recording has stopped, one sentence; None while all is well.
    """

    def __init__(
        self,
        folder: Path | None,
        request: RunRequest | None,
        *,
        follows: str | None = None,
        redact: Redactor | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._request = request
        self._follows = follows
        self._redact = redact or Redactor([])
        self._now = now
        self._descriptor: int | None = None
        self._run_id: str | None = None
        self._size = 0
        self._done = False
        self._totals = Totals()
        self.path: Path | None = None
        self.trouble: str | None = None

    def __call__(self, event: Event) -> None:
        """Write one event; what belongs to no run, or to another, is left out. It never raises."""
        if self._done or event.run_id is None or (self._run_id is not None and event.run_id != self._run_id):
            return
        try:
            if self._descriptor is None:
                self._begin(event.run_id)
            self._append(to_json(event))
            self._totals.see(event)
            if (end := self._totals.end) is not None:
                self._append({"type": "record_end", "run_id": self._run_id, **dataclasses.asdict(end)})
                self.close()
        except Exception as error:
            # Whatever it is, the run goes on.
            self._stop(error)

    def before(self, emit: Emit) -> Emit:
        """An `emit` that records each event, then passes it on; trouble is passed on once as a notice of the run."""
        told = False

        def recorded(event: Event) -> None:
            nonlocal told
            self(event)
            if told or self.trouble is None or event.run_id is None:
                emit(event)
                return
            told = True
            notice = Notice(at=event.at, run_id=event.run_id, level="warning", text=self.trouble)
            # A run's first event stays the first, and its last the last.
            for one in (notice, event) if isinstance(event, RunFinished) else (event, notice):
                emit(one)

        return recorded

    def close(self) -> None:
        """End the record where it is; nothing more is written. One without its last event was interrupted."""
        self._done = True
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            # Closing lets the lock go.
            with contextlib.suppress(OSError):
                os.close(descriptor)

    def _begin(self, run_id: str) -> None:
        folder = runs_folder() if self._folder is None else self._folder
        make_private(folder)
        began = self._now()
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(began))}-{_plain(run_id)}{SUFFIX}"
        make_room(folder)
        self._run_id = run_id
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(folder / name, flags, 0o600)
        self.path = folder / name
        lock(self._descriptor)
        request = None if self._request is None else dataclasses.asdict(self._request)
        if request is not None:
            request["repo"] = _without_key(request["repo"])
            request["others"] = [_without_key(repo) for repo in request["others"]]
        header = {
            "type": "record",
            "format": FORMAT,
            "program": __version__,
            "began": began,
            "run_id": run_id,
            "request": self._redact.deep(request),
            "follows": self._follows or (request or {}).get("follows"),
        }
        self._append(header)

    def _append(self, value: dict[str, Any]) -> None:
        assert self._descriptor is not None
        data = (dumps(value) + "\n").encode("utf-8", "replace")
        written = os.write(self._descriptor, data)
        while written < len(data):
            # A disk that has become full takes a part first.
            written += os.write(self._descriptor, data[written:])
        self._size += written

    def _stop(self, error: Exception) -> None:
        """End the recording at its last whole line."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            if not self._size and self.path is not None:
                # Not even its first line: it would be no record.
                with contextlib.suppress(OSError):
                    self.path.unlink()
        why = (error.strerror if isinstance(error, OSError) else None) or f"{type(error).__name__}: {error}"
        begun = "not recorded any further" if self._size else "not recorded"
        self.trouble = f"This run is {begun}: {why}."
        self.close()


def _plain(run_id: str) -> str:
    """A run's name as a part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", run_id)[:40]


def _without_key(repo: str) -> str:
    """How a repository was named, without what an address may hold beside it; a folder by its whole path."""
    if is_path(repo):
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            return str(Path(repo).expanduser().absolute().resolve())
        return repo
    plain = re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/?#\s]*@", r"\1", repo)
    return plain.partition("?")[0].partition("#")[0]

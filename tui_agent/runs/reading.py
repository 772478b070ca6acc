"""Reads a record, or the output of `--json` kept in a file: as much of it as is whole, whatever the rest is."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from tui_agent.events import EVENT_TYPES, Event, JsonObject, RunStarted, from_json
from tui_agent.request import RunRequest
from tui_agent.runs.locks import is_locked
from tui_agent.runs.record import FORMAT, RecordError
from tui_agent.runs.shapes import fits, is_shallow
from tui_agent.runs.summary import RecordEnd, RunSummary, Totals
from tui_agent.safe_text import one_line

LARGEST = 1_000_000_000
"""Bytes of a file that is read at all."""
_TAIL = 4096
"""Bytes at the end that hold the last line of a whole record."""
_LAST_SECOND = 32_503_680_000
"""Of the year 2999: what is later is no time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A recorded run.

    Args:
        summary: what a listing shows of it.
        request: what was asked; None where the file does not say.
        events: in the order in which they happened, `run_started` first.
        skipped: lines that are no event of this version, or not a whole one.
    """

    summary: RunSummary
    request: RunRequest | None
    events: list[Event] = field(repr=False)
    skipped: int = 0


def read_record(path: Path) -> Record:
    """All of a record; of a file with several runs, the one that began last.

    Raises:
        RecordError: there is no run in it, or a newer version wrote it.
    """
    with _opened(path) as file:
        header: JsonObject = {}
        found: dict[str | None, tuple[Totals, list[Event]]] = {}
        skipped = 0
        for number, data in enumerate(_objects(file)):
            kind = None if data is None else data.get("type")
            if data is not None and kind == "record" and number == 0:
                header = data
                _check_format(header, path)
                continue
            event = None if data is None else _event(data)
            if event is None:
                skipped += kind != "record_end"
                continue
            if isinstance(event, RunStarted):
                found.setdefault(event.run_id, (Totals(), []))
            if event.run_id in found:
                totals, events = found[event.run_id]
                totals.see(event)
                events.append(event)
        # The output of a comparison ends with the run that compares.
        totals, events = list(found.values())[-1] if found else (Totals(), [])
        summary = _summary(path, file, header, totals)
    return Record(summary=summary, request=_request(header), events=events, skipped=skipped)


def read_summary(path: Path) -> RunSummary:
    """What a listing shows of a record; of one that is whole only the beginning and the end are read.

    Raises:
        RecordError: there is no run in it, or a newer version wrote it.
    """
    ended = read_ended(path)
    return read_record(path).summary if ended is None else ended[0]


def read_ended(path: Path) -> tuple[RunSummary, RunRequest | None] | None:
    """The same and what was asked, from the beginning and the end of a record alone; None of one that is not whole.

    Raises:
        RecordError: it cannot be read, or a newer version wrote it.
    """
    with _opened(path) as file:
        header, first = _object(file.readline()), _object(file.readline())
        if header is None or header.get("type") != "record":
            return None
        _check_format(header, path)
        started = _event(first) if first is not None else None
        end = _end(file)
        if end is None or not isinstance(started, RunStarted):
            return None
        totals = Totals(started, end.commit, end.tokens, end.events, end.elapsed, end.outcome)
        return _summary(path, file, header, totals), _request(header)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The file, which is one and may be read; what goes wrong meanwhile is told in a sentence."""
    shown = one_line(str(path), 120)
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise RecordError(f"{shown} is no file that a run could be read from.")
        if status.st_size > LARGEST:
            raise RecordError(f"{shown} is too large for a recorded run.")
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise RecordError(f"There is no file {shown}.") from error
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or one_line(str(error), 120)
        raise RecordError(f"{shown} cannot be read: {why}.") from error


def _objects(file: BinaryIO) -> Iterator[JsonObject | None]:
    """The JSON object of each line, None for a line that is none; a last line that was cut off is left out."""
    for line in file:
        data = _object(line)
        if data is not None or (line.endswith(b"\n") and line.strip()):
            yield data


def _object(line: bytes) -> JsonObject | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and is_shallow(data) else None


def _event(data: JsonObject) -> Event | None:
    """The event that an object describes; None for one that this version does not know, or that is not whole."""
    name = data.get("type")
    cls = EVENT_TYPES.get(name) if isinstance(name, str) else None
    if cls is None or not fits(cls, data):
        return None
    try:
        return from_json(data)
    except ValueError:
        return None


def _end(file: BinaryIO) -> RecordEnd | None:
    """A record's last line; None for a record that has none."""
    file.seek(max(0, file.seek(0, 2) - _TAIL))
    data = _object(file.read().rstrip(b"\n").rpartition(b"\n")[2])
    if data is None or data.get("type") != "record_end" or not fits(RecordEnd, data):
        return None
    names = [one.name for one in dataclasses.fields(RecordEnd)]
    return RecordEnd(**{name: data[name] for name in names}) if data.keys() >= set(names) else None


def _check_format(header: JsonObject, path: Path) -> None:
    """Refuse what only a newer version can read."""
    number = header.get("format")
    if isinstance(number, int) and number > FORMAT:
        raise RecordError(
            f"{one_line(path.name, 120)} was recorded by a newer version of this program (format {number}, "
            f"this one reads up to {FORMAT}): install the newer version to open it."
        )


def _summary(path: Path, file: BinaryIO, header: JsonObject, totals: Totals) -> RunSummary:
    started = totals.started
    if started is None:
        raise RecordError(f"{one_line(str(path), 120)} holds no run.")
    began, follows = header.get("began"), header.get("follows")
    if not isinstance(began, int | float) or not 0 <= began < _LAST_SECOND:
        # Only a record says when its run began; the output of `--json` was written until the run ended.
        began = max(0.0, os.fstat(file.fileno()).st_mtime - totals.elapsed)
    return RunSummary(
        path=path,
        run_id=started.run_id or "",
        repo=started.repo,
        source=started.source,
        ref=started.ref,
        commit=totals.commit,
        question=started.question,
        engine=started.engine,
        model=started.model,
        began=float(began),
        outcome=totals.outcome or ("running" if is_locked(path) else "interrupted"),
        elapsed=totals.elapsed,
        tokens=totals.tokens,
        follows=follows if isinstance(follows, str) else getattr(started, "follows", None),
        events=totals.events,
    )


def _request(header: JsonObject) -> RunRequest | None:
    """What was asked, as far as this version understands it."""
    data = header.get("request")
    if not isinstance(data, dict) or not isinstance(data.get("repo"), str):
        return None
    known = {one.name: data[one.name] for one in dataclasses.fields(RunRequest) if one.name in data}
    if not fits(RunRequest, known):
        return None
    asked: JsonObject = {name: tuple(value) if isinstance(value, list) else value for name, value in known.items()}
    return RunRequest(**asked)

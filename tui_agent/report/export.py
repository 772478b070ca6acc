"""A report as a file: Markdown, self-contained HTML or JSON, written whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tui_agent.events import Grounding, JsonObject, RunFinished, RunStarted, Snapshot
from tui_agent.report.footnotes import Note, annotate, counts
from tui_agent.report.language import is_chinese_text
from tui_agent.safe_json import dumps
from tui_agent.safe_text import one_line, visible

JSON_FORMAT = 1
_LONGEST_NAME = 80
_SHORT_ID = 8
_LAST_SECOND = 32_503_680_000
"""Of the year 2999: what is later is no time."""


class ExportError(ValueError):
    """A report cannot be written there; the text is one sentence."""


class TargetExistsError(ExportError):
    """A file stands where the report should go, and nobody said that it may be replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportDocument:
    """A report and what has to be known to trust it.

    Args:
        repo: `owner/name`, or `local/<folder>`.
        commit: the full SHA it speaks of; None where there is no history.
        ref: what was asked for ("HEAD" for the default branch).
        question: what was to be found out.
        engine: who wrote it, "llm" or "survey".
        model: the model's name.
        outcome: the run's, or where it stood when the report was taken.
        error: why the run is not `completed`; one sentence.
        created: when it was written, epoch seconds.
        report: Markdown, as the run gave it.
        files: how many files the snapshot holds; None where there was none.
        turns, tool_calls, requests: what the run took; `requests` were sent to GitHub.
        elapsed: how long it took, in seconds.
        grounding: which claims were observed (`supported`, `unsupported`); None where that was not looked at.
    """

    repo: str
    commit: str | None
    ref: str | None
    question: str
    engine: str
    model: str
    outcome: str
    created: float
    report: str
    error: str | None = None
    files: int | None = None
    turns: int = 0
    tool_calls: int = 0
    requests: int = 0
    elapsed: float = 0.0
    grounding: JsonObject | None = None

    @classmethod
    def of(
        cls,
        started: RunStarted,
        snapshot: Snapshot | None,
        finished: RunFinished,
        created: float,
        grounding: Grounding | None = None,
    ) -> ReportDocument:
        """The document of one run, from its events and the time in epoch seconds."""
        return cls(
            repo=started.repo,
            commit=snapshot.commit if snapshot else None,
            ref=snapshot.ref if snapshot else started.ref,
            question=started.question,
            engine=started.engine,
            model=started.model,
            outcome=finished.outcome,
            created=created,
            report=finished.report,
            error=finished.error,
            files=snapshot.files if snapshot else None,
            turns=finished.turns,
            tool_calls=finished.tool_calls,
            requests=finished.requests,
            elapsed=finished.elapsed,
            grounding=claims_of(grounding),
        )

    @property
    def chinese(self) -> bool:
        """Whether the report is in Chinese, and so is what stands around it."""
        return is_chinese_text(self.report)

    @property
    def title(self) -> str:
        """What the document is called."""
        return f"{self.repo} 分析报告" if self.chinese else f"Report on {self.repo}"

    @property
    def date(self) -> str:
        """When it was written, in UTC (ISO 8601); "" where a record names a time that no calendar has."""
        if not 0 <= self.created < _LAST_SECOND:
            return ""
        return datetime.fromtimestamp(self.created, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def claims_of(grounding: Grounding | None) -> JsonObject | None:
    """The event's claims as one JSON object."""
    if grounding is None:
        return None
    return {"supported": list(grounding.supported), "unsupported": list(grounding.unsupported)}


def render_markdown(document: ReportDocument) -> str:
    """The report as `--print` shows it, with links and footnotes where its claims were checked.

    Nothing in it moves a cursor.
    """
    if document.grounding is None:
        return visible(document.report.rstrip()) + "\n"
    own = "s" if "[^" in document.report else ""
    noted = annotate(
        document.report.rstrip(), document.grounding, lambda note: f"[^{own}{note.number}]", chinese=document.chinese
    )
    lines = [visible(noted.text), "", f"## {'来源' if document.chinese else 'Sources'}", "", summary(document), ""]
    for note in noted.notes:
        where = f"[{escaped(note.text)}](<{note.url}>)" if note.url else escaped(note.text)
        lines.append(
            visible(f"[^{own}{note.number}]: {where if note.supported else unsupported(note, document.chinese)}")
        )
    return "\n".join(lines).rstrip() + "\n"


def summary(document: ReportDocument) -> str:
    """How much of the report is supported, in a sentence."""
    good, every = counts(document.grounding or {})
    if document.chinese:
        return f"报告中可核对的陈述有 {every:,} 处，其中 {good:,} 处与本次运行所见相符。"
    return f"Of {every:,} claims that can be checked, {good:,} are supported by what was observed in this run."


def unsupported(note: Note, chinese: bool) -> str:
    """Why a claim is not supported, in Markdown."""
    return f"{'**未见依据。**' if chinese else '**Not supported.**'} {escaped(note.text)}"


def escaped(text: str) -> str:
    """Text from outside in Markdown, as it is."""
    return re.sub(r"([\\`*_\[\]<>#|&~!])", r"\\\1", one_line(text, 300))


def render_json(document: ReportDocument) -> str:
    """Every field of the document as one JSON object; the report in it is the text exactly as the run gave it."""
    fields = dataclasses.asdict(document) | {"created": document.date}
    return dumps({"format": JSON_FORMAT, **fields}, indent=2) + "\n"


def render_html(document: ReportDocument) -> str:
    """One HTML page that loads nothing: no script, no image, no font; links only to http(s)."""
    from tui_agent.report.html import page

    return page(document)


RENDERERS: Mapping[str, Callable[[ReportDocument], str]] = {
    ".md": render_markdown,
    ".html": render_html,
    ".json": render_json,
}


def suggest_name(repo: str, suffix: str = ".md", *, run_id: str = "") -> str:
    """A file name for a repository's report that is only ever a name: no folder, no hidden or reserved one.

    Args:
        repo: `owner/name`, or whatever stands in its place.
        suffix: the format's.
        run_id: the run, whose short id then tells one report from another.
    """
    stem = re.sub(r"(?:[^\w.]|\.{2,})+", "-", repo).strip("-._")[:_LONGEST_NAME].rstrip("-._")
    # What follows also keeps clear of the names that Windows reserves (con, nul, com1 …).
    return f"{stem or 'repository'}-{re.sub(r'[^A-Za-z0-9]', '', run_id)[:_SHORT_ID] or 'report'}{suffix}"


def check_target(path: Path, suffixes: Sequence[str] = tuple(RENDERERS)) -> None:
    """Say now what would keep `write` from writing there.

    Args:
        path: where to.
        suffixes: what its name may end in.

    Raises:
        ExportError: unknown suffix, no such folder, no file, or no permission.
    """
    shown = one_line(str(path), 120)
    if path.suffix.lower() not in suffixes:
        *some, last = suffixes
        raise ExportError(f"{shown} has to end in {', '.join(some)}{' or ' if some else ''}{last}.")
    try:
        target = path.resolve()
        if target.is_symlink():
            # From Python 3.13 on a loop of links is no error by itself.
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        there = target.exists()
        is_file, has_folder = target.is_file(), target.parent.is_dir()
        # The file is replaced, not written into: the folder's permission counts.
        may_write = os.access(target.parent, os.W_OK | os.X_OK)
    except (OSError, RuntimeError, ValueError) as error:
        raise ExportError(f"{shown} cannot be written: {_why(error)}.") from error
    if not has_folder:
        raise ExportError(f"{shown} cannot be written: there is no folder {one_line(str(path.parent), 120)}.")
    if there and not is_file:
        raise ExportError(f"{shown} cannot be written: it is there already and is no regular file.")
    if not may_write:
        raise ExportError(f"{shown} cannot be written: its folder is not open for writing.")


def write(path: Path, document: ReportDocument, *, force: bool = False) -> Path:
    """Write a report in the format that the suffix names; the file is whole or not there at all.

    Args:
        path: `.md`, `.html` or `.json`, in a folder that exists.
        document: what to write.
        force: replace a file that is there.

    Returns:
        Where the file is, symbolic links resolved.

    Raises:
        TargetExistsError: a file is there and `force` is not given.
        ExportError: it cannot be written, and why.
    """
    check_target(path)
    return write_text(path, RENDERERS[path.suffix.lower()](document), force=force)


def write_text(path: Path, text: str, *, force: bool = False) -> Path:
    """Write a text whole or not at all.

    Args:
        path: where to, as `check_target` allows it.
        text: what.
        force: replace a file that is there.

    Returns:
        Where the file is, symbolic links resolved.

    Raises:
        TargetExistsError: a file is there and `force` is not given.
        ExportError: it cannot be written, and why.
    """
    try:
        target = path.resolve()
        _write_whole(target, text.encode("utf-8", "replace"), force)
    except FileExistsError as error:
        raise TargetExistsError(f"{one_line(str(path), 120)} is there already.") from error
    except OSError as error:
        raise ExportError(f"{one_line(str(path), 120)} cannot be written: {_why(error)}.") from error
    return target


def _write_whole(target: Path, data: bytes, force: bool) -> None:
    """Put the data beside the target, then move it there in one step."""
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        # Not `tempfile`, whose files are private: a report has the mode that the user's umask gives.
        with beside.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if force:
            with contextlib.suppress(OSError):
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            beside.replace(target)
            return
        try:
            # A link never replaces: whoever creates the file in between keeps it.
            target.hardlink_to(beside)
        except FileExistsError:
            raise
        except OSError:
            # A file system without links.
            if target.exists():
                raise FileExistsError(target) from None
            beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _why(error: BaseException) -> str:
    """The system's reason in words."""
    reason = error.strerror if isinstance(error, OSError) else None
    return reason or one_line(str(error), 120) or type(error).__name__

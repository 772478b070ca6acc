"""The commands that speak of recorded runs: `runs` (list, show, delete, export, diff) and `replay`."""

from __future__ import annotations

import contextlib
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui_agent.cli_options import build_parser
from tui_agent.cli_streams import complain, reconfigure, silence, write
from tui_agent.events import RunStarted
from tui_agent.frontends import run_texts
from tui_agent.frontends.json_lines import JsonLines
from tui_agent.frontends.printer import Printer
from tui_agent.i18n import count, say
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest, UsageError
from tui_agent.runs.store import Record, RecordError, RunStore
from tui_agent.safe_json import dumps
from tui_agent.safe_text import one_line, visible

if TYPE_CHECKING:
    from tui_agent.runs.store import RunSummary

FALLBACK_WIDTH = 120
"""Terminal cells of a line where stdout is no terminal."""
_USAGE = (
    "`runs` takes nothing, list, show RUN, delete RUN... (or --all), export RUN, or diff RUN [OLDER]; RUN is an id or "
    "the beginning of one, last, or a file."
)
_OF_A_RUN = frozenset({"lang", "no_cache", "refresh", "no_record", "env_file"})
# Option → how it is typed, where the two differ.
_TYPED = {"plain": "print"}


def runs(options: Namespace, run: Callable[[RunRequest], int] | None = None) -> int:
    """`runs`: what was recorded; the exit code.

    Args:
        options: what was typed.
        run: carries a request out without a dashboard; its exit code.

    Raises:
        UsageError: something else was typed than it takes.
    """
    word, *names = options.repo[1:] or ["list"]
    commands: Mapping[str, tuple[Callable[[RunStore, Sequence[str], Namespace], int], set[str]]] = {
        "list": (_list, {"json"}),
        "show": (_show, {"json"}),
        "delete": (_delete, {"all"}),
        "export": (_export, {"output", "force"}),
    }
    if word == "diff" and run is not None:
        take_only(options, {"plain", "json", "output", "force", *_OF_A_RUN}, "runs diff")
        return _said(lambda: run(_difference(RunStore(), names, options)))
    if word not in commands:
        raise UsageError(_USAGE)
    command, taken = commands[word]
    take_only(options, taken, f"runs {word}")
    return _said(lambda: command(RunStore(), names, options))


def replay(
    options: Namespace,
    on_terminal: Callable[[RunStore, RunSummary], int | None] | None,
    leave: Callable[[], None] = lambda: None,
) -> int:
    """`replay RUN`: its events once more; the exit code.

    Args:
        options: what was typed.
        on_terminal: shows a run in the dashboard; its exit code, or None where there is no terminal. None: print it.
        leave: called before anything is said; takes away what stands on the screen.

    Raises:
        UsageError: something else was typed than it takes.
    """
    names = options.repo[1:]
    take_only(options, {"plain", "json", "env_file", "no_mouse"}, "replay")
    if len(names) != 1:
        raise UsageError("`replay` takes one run: an id or the beginning of one, last, or a file.")

    def play() -> int:
        store = RunStore()
        run = store.find(names[0])
        if on_terminal is not None and (code := on_terminal(store, run)) is not None:
            return code
        record = store.load(run)
        leave()
        return _replay_lines(record) if options.json else _replay_printed(record)

    return _said(play, leave)


def _said(work: Callable[[], int], leave: Callable[[], None] = lambda: None) -> int:
    """Do it, and say what went wrong with a record; the exit code."""
    try:
        return work()
    except RecordError as error:
        leave()
        complain(str(error))
        return 1


def _list(store: RunStore, names: Sequence[str], options: Namespace) -> int:
    if names:
        raise UsageError(_USAGE)
    found = store.list()
    if store.unreadable:
        many = "1 file" if store.unreadable == 1 else f"{store.unreadable} files"
        complain(f"{many} in {store.folder} cannot be read as a run by this version.")
    if not found:
        if not store.unreadable:
            complain("no run has been recorded yet.")
        return 0
    if options.json:
        return _say("".join(dumps(run_texts.as_json(run)) + "\n" for run in found), "utf-8")
    width = shutil.get_terminal_size((FALLBACK_WIDTH, 24)).columns
    return _say("".join(f"{line}\n" for line in run_texts.listing(found, width)))


def _show(store: RunStore, names: Sequence[str], options: Namespace) -> int:
    record = store.load(store.find(_one(names)))
    if options.json:
        return _say(dumps(run_texts.page_as_json(record)) + "\n", "utf-8")
    return _say(run_texts.page(record))


def _delete(store: RunStore, names: Sequence[str], options: Namespace) -> int:
    if bool(names) == options.all:
        raise UsageError("`runs delete` takes the runs to delete, or --all.")
    if options.all:
        deleted, kept = store.delete_all()
        code = _say(count("deleted: {number} run", "deleted: {number} runs", deleted) + "\n")
        if kept:
            complain(f"{kept} {'run is' if kept == 1 else 'runs are'} still running and cannot be deleted.")
        return 1 if kept else code
    # All are found before the first one goes.
    for run in {run.path: run for run in map(store.find, names)}.values():
        store.delete(run)
        _say(say("deleted: {run}", run=run_texts.one_run(run)) + "\n")
    return 0


def _export(store: RunStore, names: Sequence[str], options: Namespace) -> int:
    from tui_agent.report.export import ExportError, TargetExistsError, check_target, suggest_name
    from tui_agent.report.export import write as write_report

    record = store.load(store.find(_one(names)))
    run = record.summary
    if options.output is not None and not options.output.strip():
        raise UsageError("--output needs a value.")
    path = Path(options.output or suggest_name(run.repo, run_id=run.run_id))
    document = run_texts.document_of(record)
    try:
        check_target(path)
    except ExportError as error:
        raise UsageError(str(error)) from error
    if document is None:
        raise RecordError(run_texts.why_without(record))
    try:
        target = write_report(path, document, force=options.force)
    except TargetExistsError as error:
        raise UsageError(f"{error} --force replaces it, -o FILE names another.") from error
    except ExportError as error:
        complain(str(error))
        return 1
    return _say(f"written: {one_line(str(target))}\n")


def _difference(store: RunStore, names: Sequence[str], options: Namespace) -> RunRequest:
    """What has to be asked so that a run tells what has changed since another one of the same repository."""
    from tui_agent.agent.prompts import is_chinese

    if not 1 <= len(names) <= 2:
        raise UsageError(_USAGE)
    chain = [store.load(run) for run in store.chain(store.find(names[0]))]
    # A difference that was told before is no state of the repository.
    chain = [record for record in chain if record.request is None or record.request.since is None]
    if not chain:
        raise RecordError("The run that this difference is about is no longer there.")
    run, asked = chain[-1].summary, chain[-1].request or RunRequest(repo=chain[-1].summary.repo)
    if asked.others:
        raise UsageError(f"{run.run_id} is a comparison; name the run of one repository.")
    if run.outcome not in ("completed", "partial"):
        raise RecordError(f"{run_texts.one_run(run)} has no report that could be compared.")
    older = _older(store, chain[0], names[1:])
    return replace(
        asked,
        question=None,
        lang=options.lang or asked.lang or ("zh" if is_chinese(None, asked.question) else None),
        engine="auto",
        refresh=options.refresh,
        no_cache=options.no_cache,
        follows=run.run_id,
        since=older,
    )


def _older(store: RunStore, record: Record, named: Sequence[str]) -> str:
    """The id of the run to compare with: the one that was named, or that the record names, or the last before it."""
    run = record.summary
    for text in named:
        other = store.find(text)
        if other.run_id == run.run_id or not _same_repository(other, run):
            raise UsageError(f"{run_texts.one_run(other)} is no earlier run of {run.repo}.")
        if other.began > run.began:
            raise UsageError(f"{other.run_id} is the later of the two; write it first.")
        return other.run_id
    previous = next((event.previous for event in record.events if isinstance(event, RunStarted)), None)
    if previous is not None:
        with contextlib.suppress(RecordError):  # it may have been deleted
            return store.of(previous).run_id
    folder = Path(record.request.repo) if record.request is not None and run.source == "local" else None
    last = store.previous(run.repo, run.source, folder, before=run.began)
    if last is not None:
        return last.run_id
    raise RecordError(f"This is the first recorded run of {one_line(run.repo)}; there is none to compare it with.")


def _same_repository(one: RunSummary, other: RunSummary) -> bool:
    return (one.repo.lower(), one.source) == (other.repo.lower(), other.source)


def _replay_lines(record: Record) -> int:
    """The events as `--json` told them, all at once."""
    reconfigure(sys.stdout, "utf-8")
    lines = JsonLines(sys.stdout, Redactor([]), lambda: None)
    for event in record.events:
        lines(event)
    return _heard(lines.trouble)


def _replay_printed(record: Record) -> int:
    """Trace on stderr, report on stdout, as `--print` told them, all at once."""
    printer = Printer(sys.stderr, Redactor([]))
    for event in record.events:
        printer(event)
    document = run_texts.document_of(record)
    if document is None:
        printer.say(run_texts.why_without(record))
    if not printer.heard:
        silence(sys.stderr)
    return 0 if document is None else _say(visible(document.report.rstrip()) + "\n")


def _one(names: Sequence[str]) -> str:
    """The one run that was named."""
    if len(names) != 1:
        raise UsageError(_USAGE)
    return names[0]


def take_only(options: Namespace, taken: set[str], command: str) -> None:
    """Refuse options that would do nothing."""
    for name, default in vars(build_parser().parse_args([])).items():
        if name not in {"repo", *taken} and getattr(options, name) != default:
            raise UsageError(f"`{command}` takes no --{_TYPED.get(name, name).replace('_', '-')}.")


def _say(text: str, encoding: str | None = None) -> int:
    """Write to stdout; the exit code. A reader that goes away has heard enough."""
    reconfigure(sys.stdout, encoding)
    return _heard(write(sys.stdout, text))


def _heard(trouble: OSError | None) -> int:
    if trouble is None:
        return 0
    silence(sys.stdout)
    if isinstance(trouble, BrokenPipeError):
        return 0
    complain(f"stdout takes no more: {trouble.strerror or trouble}.")
    return 1

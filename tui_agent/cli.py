"""The command line: options and settings become one request, and one front end runs it."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Coroutine, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tui_agent import i18n
from tui_agent.cli_options import COMMAND_HELP, build_parser, topic
from tui_agent.cli_streams import complain, silence, write
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest, UsageError
from tui_agent.settings import Settings, default_config_file
from tui_agent.splash import Splash, is_served

if TYPE_CHECKING:
    from tui_agent.cli_output import OutputFile
    from tui_agent.runs.store import RunStore, RunSummary
    from tui_agent.tui.session_like import SessionLike

SessionFactory = Callable[..., "SessionLike"]
"""Called as `Session` is: settings, and by keyword `chaos` and `demo`."""

# Option → field of `Settings`; the text is passed on as it was typed.
FLAGS = ("profile", "model", "base_url", "max_turns", "max_tokens", "lang")
DEMO, CACHE, RUNS, REPLAY, MCP, DOCTOR, SERVE = "demo", "cache", "runs", "replay", "mcp", "doctor", "serve"


def main(
    argv: Sequence[str] | None = None, *, make_session: SessionFactory | None = None, splash: Splash | None = None
) -> int:
    """Run the program; the exit code, never an exception.

    Args:
        argv: what was typed, the program's name left out; None for the process's own.
        make_session: builds the session, in tests another than the real one.
        splash: the first picture, if one stands; it is gone before anything is said.
    """
    redact = Redactor([])
    splash = splash or Splash()
    try:
        with splash:
            words = sys.argv[1:] if argv is None else argv
            i18n.use(i18n.typed(words, os.environ))
            options = _parse(words)
            if options is None:
                return 0
            if options.completion is not None:
                splash.end()
                return _completion(options.completion)
            command = _command(options)
            if command == CACHE:
                return _cache(options.repo[1:])
            if command == RUNS or (command == REPLAY and _mode(options) != "dashboard"):
                splash.end()
                return _recorded(options, command, make_session or _session)
            if command == DOCTOR:
                splash.end()
                return _doctor(options)
            settings = _settings(options)
            redact = Redactor([settings.api_key, settings.github_token])
            make = make_session or _session
            if command == MCP:
                splash.end()
                return _mcp(options, settings, make)
            if command == SERVE:
                splash.end()
                return _serve(options, settings, redact)
            if command == REPLAY:
                return _replay_on_terminal(options, settings, make, splash)
            _check_options(options)
            return _run(options, command, settings, redact, make, splash)
    except UsageError as error:
        complain(str(error), redact)
        return 2
    except KeyboardInterrupt:
        # Before a run has its own handlers.
        return 130
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        what = f"{type(error).__name__}: {error}"
        complain(f"something broke that should not ({what}); `python -X dev -m tui_agent` shows where.", redact)
        return 1


def _run(
    options: Namespace,
    command: str | None,
    settings: Settings,
    redact: Redactor,
    make_session: SessionFactory,
    splash: Splash,
) -> int:
    """One front end for what was asked; the exit code."""
    request = _request(options, settings, command)
    mode = _mode(options)
    if mode != "dashboard":
        _require_repo(request)
    _check_addresses(request, settings, command)
    output = _output(options.output, force=options.force)
    session = make_session(settings, chaos=options.chaos, demo=command == DEMO)
    if mode == "dashboard":
        mouse = not options.no_mouse
        code = _on_terminal(
            lambda on: on.run_dashboard(session, request, settings, output, splash, mouse=mouse), splash, output, redact
        )
        if code is not None:
            return code
        _require_repo(request)
    splash.end()
    return _headless(session, request, redact, output, as_json=mode == "json")


def _parse(argv: Sequence[str]) -> Namespace | None:
    """The options; None where `--help` or `--version` has said what there was to say."""
    parser = build_parser()
    parser.topic = topic(argv)
    try:
        options, unknown = parser.parse_known_intermixed_args(list(argv))
    except SystemExit:
        # argparse's way to end after --help and --version; complaints are raised as UsageError.
        if write(sys.stdout, "") is not None:
            silence(sys.stdout)
        return None
    if unknown:
        # Not what stands behind "=": it may be a key.
        parser.error(f"there is no option {unknown[0].partition('=')[0]}")
    return options


def _command(options: Namespace) -> str | None:
    """The reserved word that was typed, None for a plain run."""
    if not options.repo:
        return None
    command: str | None = options.repo[0] if options.repo[0] in COMMAND_HELP else None
    if len(options.repo) > 1 and command == DEMO:
        raise UsageError(f"`{command}` takes no repository; for the folder of that name write ./{command}.")
    return command


def _completion(shell: str) -> int:
    """What a shell completes by; the exit code."""
    from tui_agent.cli_completion import completion

    if write(sys.stdout, completion(shell)) is not None:
        silence(sys.stdout)
    return 0


def _cache(arguments: Sequence[str]) -> int:
    """The command that speaks of the cache; the exit code."""
    from tui_agent.frontends.cache_command import CacheError, answer
    from tui_agent.safe_text import visible

    try:
        said = answer(arguments)
    except CacheError as error:
        complain(str(error))
        return 1
    if write(sys.stdout, f"{visible(said)}\n") is not None:
        silence(sys.stdout)
    return 0


def _recorded(options: Namespace, command: str, make_session: SessionFactory) -> int:
    """The commands that speak of recorded runs, without a dashboard; the exit code."""
    from tui_agent.cli_runs import replay, runs

    def run(request: RunRequest) -> int:
        settings = _settings(options)
        redact = Redactor([settings.api_key, settings.github_token])
        output = _output(options.output, force=options.force)
        session = make_session(settings, chaos=None, demo=False)
        return _headless(session, request, redact, output, as_json=options.json)

    return runs(options, run) if command == RUNS else replay(options, None)


def _doctor(options: Namespace) -> int:
    """What is set up, and what to do; the exit code."""
    from tui_agent.cli_doctor import doctor

    return doctor(options, lambda: _settings(options))


def _mcp(options: Namespace, settings: Settings, make_session: SessionFactory) -> int:
    """The server for clients of the Model Context Protocol; the exit code."""
    from tui_agent.cli_mcp import mcp

    return mcp(options, settings, make_session)


def _serve(options: Namespace, settings: Settings, redact: Redactor) -> int:
    """The dashboard in a browser; the exit code."""
    from tui_agent.cli_serve import serve

    def check(inner: Namespace) -> None:
        command = _command(inner)
        if command not in (None, DEMO):
            raise UsageError(f"`serve` takes repositories or demo; for the folder of that name write ./{command}.")
        _check_addresses(_request(inner, settings, command), settings, command)

    return serve(options, check, redact)


def _replay_on_terminal(options: Namespace, settings: Settings, make_session: SessionFactory, splash: Splash) -> int:
    """A recorded run in the dashboard, where what follows it can be asked; the exit code."""
    from tui_agent.cli_runs import replay

    def show(store: RunStore, run: RunSummary) -> int | None:
        session, mouse = make_session(settings, chaos=None, demo=False), not options.no_mouse
        return _on_terminal(lambda on: on.run_replay(session, store, run, settings, splash, mouse=mouse), splash)

    return replay(options, show, splash.end)


def _check_options(options: Namespace) -> None:
    """Refuse what means nothing to a run."""
    if options.all:
        raise UsageError("--all belongs to `runs delete`.")
    if options.offline:
        raise UsageError("--offline belongs to `doctor`.")
    if options.http is not None or options.allow_remote:
        raise UsageError("--http and --allow-remote belong to `mcp` and `serve`.")
    if options.force and options.output is None:
        raise UsageError("--force goes with --output FILE.")


def _settings(options: Namespace) -> Settings:
    flags = {name: value for name in FLAGS if (value := getattr(options, name)) is not None}
    if options.no_record:
        flags["record"] = "0"
    # `--help` does without, here and below.
    from pathlib import Path

    env_file = None if options.env_file is None else Path(options.env_file)
    try:
        cwd = Path.cwd()
    except OSError as error:
        raise UsageError("The working folder is gone; change to another one.") from error
    settings = Settings.load(flags, os.environ, cwd, env_file, default_config_file())
    i18n.use(i18n.wanted(settings.lang, os.environ))
    return settings


def _request(options: Namespace, settings: Settings, command: str | None) -> RunRequest:
    """What was asked, as far as it can be checked without a network."""
    for name, value in (("--question", options.question), ("--ref", options.ref)):
        if value is None:
            continue
        if not value.strip():
            raise UsageError(f"{name} needs a value.")
        # How Python passes on bytes that are no text; no request could carry them.
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise UsageError(f"{name} is not valid text in this terminal's encoding.")
    if options.engine == "llm":
        if command == DEMO:
            raise UsageError("`demo` brings its own model; leave --engine llm out.")
        if settings.api_key is None:
            raise UsageError(f"--engine llm needs a key: {settings.key_wanted}.")
    if not all(repo.strip() for repo in options.repo):
        raise UsageError("No repository was named: write owner/name, a GitHub URL, or the path of a folder.")
    repo, *others = options.repo or [""]
    return RunRequest(
        repo=repo,
        others=tuple(others),
        question=options.question,
        preset=options.preset or "full",
        ref=options.ref,
        lang=settings.lang,
        engine=options.engine,
        refresh=options.refresh,
        no_cache=options.no_cache,
    )


def _require_repo(request: RunRequest) -> None:
    if not request.repo:
        raise UsageError(
            "Which repository? Write owner/name, a GitHub URL, or the path of a folder "
            "(the dashboard, which asks, needs a terminal)."
        )


def _check_addresses(request: RunRequest, settings: Settings, command: str | None) -> None:
    """Say what is wrong with a repository's name before anything is imported or drawn."""
    if request.repo and command is None:
        from tui_agent.github.address import parse

        for repo in (request.repo, *request.others):
            parse(repo, api_url=settings.github_api_url)


def _output(name: str | None, *, force: bool) -> OutputFile | None:
    """The file of `-o`, checked."""
    if name is None:
        return None
    from pathlib import Path

    from tui_agent.cli_output import OutputFile
    from tui_agent.report.export import ExportError, check_target

    if not name.strip():
        raise UsageError("--output needs a value.")
    path = Path(name)
    try:
        check_target(path)
    except ExportError as error:
        raise UsageError(f"--output: {error}") from error
    if path.exists() and not force:
        from tui_agent.safe_text import one_line

        raise UsageError(f"--output: {one_line(name, 120)} is there already; --force replaces it.")
    return OutputFile(path, force=force)


def _session(settings: Settings, **how: Any) -> SessionLike:
    from tui_agent.session import Session

    return Session(settings, **how)


def _headless(
    session: SessionLike, request: RunRequest, redact: Redactor, output: OutputFile | None, *, as_json: bool
) -> int:
    import asyncio
    from dataclasses import replace

    from tui_agent.cli_headless import run_json, run_printed

    request = replace(request, lang=i18n.report_language(request.lang, request.question))

    return asyncio.run((run_json if as_json else run_printed)(session, request, redact, output))


def _on_terminal(
    show: Callable[[ModuleType], Coroutine[Any, Any, int]],
    splash: Splash,
    output: OutputFile | None = None,
    redact: Redactor | None = None,
) -> int | None:
    """What draws on a terminal, until it is left; its exit code, or None where there is no terminal.

    Args:
        show: draws, with the functions of `cli_dashboard`.
        splash: the first picture, if one stands.
        output: the file of `-o`, whose trouble is told at the end.
        redact: takes secrets out of what is told.
    """
    import asyncio

    from tui_agent import cli_dashboard

    with cli_dashboard.terminal() as is_there:
        if not is_there:
            return None
        # Before there is an event loop: until then a signal ends the process at once.
        cli_dashboard.load()
        code = asyncio.run(show(cli_dashboard))
        splash.end()
        if output is not None and output.trouble:
            complain(output.trouble, redact)
        return code


def _mode(options: Namespace) -> str:
    """Which front end was asked for: "json", "print" or "dashboard"."""
    return "json" if options.json else "print" if options.plain or not _is_terminal() else "dashboard"


def _is_terminal() -> bool:
    """Whether stdout is a terminal that can be drawn on, or a pipe to a browser."""
    if is_served():
        return True
    if os.environ.get("TERM") == "dumb":
        return False
    try:
        return sys.stdout is not None and sys.stdout.isatty()
    except ValueError:
        return False


if __name__ == "__main__":
    sys.exit(main())

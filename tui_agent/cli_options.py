"""What can be typed: the options, their help, and the variables that the help names."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tui_agent import __version__
from tui_agent.i18n import mark, say
from tui_agent.request import UsageError
from tui_agent.settings import APP_NAME
from tui_agent.splash import VALUED

_WIDE, _NEVER_FIRST = "\u2e80-\uffef", "\u3001\u3002\uff09\uff0c\uff1a\uff1b"
"""Characters of two cells, between which a line may break, and those that begin none."""
NARROWEST, WIDEST = 60, 100
"""Columns of the help, whatever the terminal has."""
# Read by the libraries underneath, or not a setting; documented here because `--help` names all that is read.
OTHER_VARIABLES = {
    "HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY": mark("proxies, and the hosts that are asked without one"),
    "SSL_CERT_FILE, SSL_CERT_DIR": mark("certificates to trust instead of the usual ones"),
    "XDG_CONFIG_HOME, XDG_CACHE_HOME, XDG_STATE_HOME": mark("where the user's folders are (Linux)"),
    "GIT_CEILING_DIRECTORIES": mark("folders above which no git repository is looked for"),
    "GIT_CONFIG_GLOBAL": mark(
        "git settings of the user, instead of ~/.gitconfig; only core.excludesFile is read there"
    ),
    "OPENROUTER_API_KEY, OPENAI_API_KEY, VLLM_API_KEY, LM_API_TOKEN, LLAMA_API_KEY": mark(
        "the key that goes with the profile openrouter, openai, vllm, lmstudio, llamacpp; no other key is sent there"
    ),
    "COLUMNS": mark("the width of --help, within 60 and 100, and of listings, where it is not the terminal's"),
    "LC_ALL, LC_MESSAGES, LANG, LANGUAGE": mark(
        "by these the interface is in Chinese or English, and the report on a ready question with it"
    ),
    "NO_COLOR": mark("set: the dashboard does without colours"),
    "COLORTERM, TERM_PROGRAM, TMUX, STY, WT_SESSION, KITTY_WINDOW_ID": mark("by these `doctor` knows the terminal"),
    "WAYLAND_DISPLAY, DISPLAY, SSH_CONNECTION, SSH_TTY, WSL_DISTRO_NAME": mark(
        "by these, and TMUX, copying finds the clipboard"
    ),
    "TEXTUAL_DRIVER": mark("set by `serve` for the dashboards that it starts"),
    "TERM": mark("dumb or unset: no picture while the dashboard is being loaded"),
}

# Each reserved word, and what it does.
COMMAND_HELP = {
    "demo": mark("embedded repository, embedded model and a fault script: no key, no network"),
    "runs": mark(
        "list (also with --json); show RUN; delete RUN ... or --all; export RUN [-o FILE] [--force]; diff RUN "
        "[OLDER]: what has changed since the run before, as a run tells it; RUN is an id "
        "or its beginning, last, or a file"
    ),
    "replay": mark("replay RUN: a recorded run in the same panes; its events at once with --print or --json"),
    "mcp": mark(
        "mcp [FOLDER ...]: MCP server on stdin and stdout, or with --http; of local repositories it serves these"
    ),
    "serve": mark(
        "serve [REPO ... | demo]: the dashboard in a browser, one for each tab; takes what a dashboard takes"
    ),
    "cache": mark("size, clear"),
    "doctor": mark(
        "what is set up, and what to do: settings, key, endpoint (one small tool call; --offline: none), GitHub, "
        "terminal, folders; also with --json"
    ),
}


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one sentence, raised instead of printed with a page of usage.

    Attributes:
        topic: the reserved word whose help is wanted; None for the whole program's.
        color: no colours in the help, which Python 3.14 would add.
    """

    topic: str | None = None

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.color = False

    def format_help(self) -> str:
        """The help with what stands above and below the options, which nothing else needs."""
        from tui_agent.cli_help import dress

        dress(self, self.topic, COMMAND_HELP, OTHER_VARIABLES)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print; `UsageError` always."""
        raise UsageError(f"{message.removeprefix('argument ').rstrip('.')} (see {APP_NAME} --help).")


def width() -> int:
    """Columns of the help: the terminal's, within bounds."""
    try:
        columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
    except (ValueError, OSError, AttributeError):
        columns = WIDEST
    return min(max(columns, NARROWEST), WIDEST)


def column() -> int:
    """Where the second column begins."""
    return 30 if width() >= 80 else 22


def cells(text: str) -> int:
    """How wide a text is on a terminal."""
    if text.isascii():
        return len(text)
    # Nothing that English pays for.
    from tui_agent.safe_text import cell_width

    return cell_width(text)


def wrapped(text: str, room: int) -> list[str]:
    """A paragraph as lines of so many cells; Chinese may break between any two characters but before a full stop."""
    import textwrap

    if text.isascii():
        return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    import re

    lines, line = [], ""
    for piece in re.findall(rf"(?:[{_WIDE}]|[^\s{_WIDE}]+)[{_NEVER_FIRST}]*|\s+", text):
        if line and cells(line + piece.rstrip()) > room:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()]


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Argparse's, in the interface's language."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, say("usage: ") if prefix is None else prefix)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return super()._split_lines(text, width) if text.isascii() else wrapped(text, width)


def _formatter(prog: str) -> argparse.HelpFormatter:
    return _Formatter(prog, max_help_position=column(), width=width())


def topic(argv: Sequence[str]) -> str | None:
    """The reserved word that what was typed begins with, if any."""
    words = iter(argv)
    for word in words:
        if word in VALUED:
            next(words, None)
        elif not word.startswith("-"):
            return word if word in COMMAND_HELP else None
    return None


def build_parser() -> Parser:
    """The parser of the whole command line."""
    parser = Parser(
        prog=APP_NAME,
        formatter_class=_formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.add_argument(
        "repo",
        nargs="*",
        metavar="REPO",
        help=mark(
            "owner/name, a GitHub URL, git@github.com:owner/name.git, or a folder (., ./x, /x, ~/x); "
            "several are compared; without one the dashboard asks"
        ),
    )
    asking = parser.add_argument_group(mark("what to find out"))
    either = asking.add_mutually_exclusive_group()
    either.add_argument("-q", "--question", metavar="TEXT", help=mark("what to find out; default: the full analysis"))
    either.add_argument(
        "--preset",
        choices=("full", "overview", "architecture"),
        help=mark(
            "full (default): overview, tech stack, directories, activity, highlights, risks; overview: five "
            "sentences; architecture: architecture and layout"
        ),
    )
    asking.add_argument(
        "--ref", metavar="REF", help=mark("branch, tag or commit to analyse; default: the default branch")
    )
    asking.add_argument(
        "--lang",
        metavar="LANG",
        help=mark("language of the interface and the report (en, zh, ...); default: the locale's, and the question's"),
    )

    model = parser.add_argument_group(mark("who answers"))
    model.add_argument(
        "--engine",
        choices=("auto", "llm", "survey"),
        default="auto",
        help=mark("auto (default): the LLM when a key is set, else the built-in survey, which needs none"),
    )
    model.add_argument(
        "--profile",
        metavar="NAME",
        help=mark(
            "endpoint, model and key by one name: deepseek, ollama, vllm, lmstudio, llamacpp, openrouter, openai, "
            "local, or one of your own in config.toml"
        ),
    )
    model.add_argument("--model", metavar="NAME", help=mark("the LLM"))
    model.add_argument("--base-url", metavar="URL", help=mark("any OpenAI-compatible endpoint"))
    model.add_argument("--max-turns", metavar="N", help=mark("turns of the loop; default: 15"))
    model.add_argument(
        "--max-tokens", metavar="N", help=mark("tokens a run may spend, in and out together; default: no bound")
    )

    output = parser.add_argument_group(mark("where it goes"))
    output.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=mark(
            "also write the report there, as its suffix says: .md, .html or .json; never over a file that is there"
        ),
    )
    output.add_argument("--force", action="store_true", help=mark("with --output: replace a file that is there"))
    either = output.add_mutually_exclusive_group()
    either.add_argument(
        "-p",
        "--print",
        action="store_true",
        dest="plain",
        help=mark("no dashboard: trace on stderr, report (Markdown) on stdout; assumed where stdout is no terminal"),
    )
    either.add_argument(
        "--json",
        action="store_true",
        help=mark("no dashboard: one event per line on stdout; with `runs` one run per line, with `doctor` one object"),
    )

    other = parser.add_argument_group(mark("more"))
    other.add_argument("--no-cache", action="store_true", help=mark("no cache at all"))
    other.add_argument("--refresh", action="store_true", help=mark("revalidate everything in the cache once"))
    other.add_argument("--no-record", action="store_true", help=mark("nothing of this run is kept on disk"))
    other.add_argument("--all", action="store_true", help=mark("with `runs delete`: every recorded run"))
    other.add_argument(
        "--http",
        metavar="HOST:PORT",
        help=mark("with `mcp`: serve over HTTP; with `serve`: where; a port alone is this machine's"),
    )
    other.add_argument(
        "--allow-remote", action="store_true", help=mark("with --http: another host than this machine, unprotected")
    )
    other.add_argument(
        "--chaos",
        metavar="SPEC",
        help=mark(
            "inject faults, for learning and testing: NAME:FAULT[xN], comma-separated; NAME a tool, llm or *; "
            "FAULT a status, timeout, drop, cut, limit; N times, else always"
        ),
    )
    other.add_argument("--offline", action="store_true", help=mark("with `doctor`: nothing is asked of a network"))
    other.add_argument("--env-file", metavar="FILE", help=mark("read this instead of ./.env"))
    other.add_argument("--no-mouse", action="store_true", help=mark("leave the mouse to the terminal"))
    other.add_argument(
        "--completion",
        metavar="SHELL",
        choices=("bash", "zsh", "fish"),
        help=mark("say what bash, zsh or fish completes by"),
    )
    other.add_argument("--version", action="version", version=f"{APP_NAME} {__version__}", help=mark("say the version"))
    other.add_argument("-h", "--help", action="help", help=mark("say this"))
    return parser

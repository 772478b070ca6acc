"""What `--help` says beside the options: commands, variables, files, exit codes, examples; and a page a command."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_agent.cli_options import column, width
from tui_agent.settings import documented

ABOUT = (
    "Watch an agent explore a repository and write a report about it, live in the terminal. Without a key the built-in "
    "survey does the work; nothing of the repository is ever executed."
)
EXAMPLES = (
    ("{prog} pallets/flask", "the full analysis, in the dashboard"),
    ('{prog} . -q "Where is the parser?"', "a question about the folder here"),
    ("{prog} pallets/flask pallets/quart", "several repositories side by side, and a comparison"),
    ("{prog} --print --engine survey . > report.md", "without a model, into a file"),
    ("{prog} --json . | tail -n 1", "how the run ended, as JSON"),
    ("{prog} demo", "a breaker opens, half-opens and closes"),
)
EXIT_CODES = (
    ("0", "a report was written, whole or partial (a partial one says so); a command did what it does"),
    ("1", "no report could be made; one sentence on stderr says why and what to do"),
    ("2", "usage: an unknown option, a bad value, no readable repository, an extra that is not installed"),
    ("130", "interrupted; the last event still comes, and what there is was recorded"),
)
FILES = (
    ("./.env", "settings of the working folder; no key of yours goes to an endpoint that is set there"),
    ("config.toml", "your settings, in ~/.config/repo-agent-tui (Linux), ~/Library/Application Support/repo-agent-tui "
     "(macOS), %LOCALAPPDATA%\\repo-agent-tui (Windows)"),
    ("runs/", "recorded runs, in ~/.local/state/repo-agent-tui on Linux, elsewhere beside config.toml"),
    ("the cache", "in ~/.cache/repo-agent-tui on Linux; `cache` says where it is and how large"),
)  # fmt: skip

_RUN = frozenset("question preset ref lang engine profile model base_url max_turns max_tokens".split())
_HOW = frozenset("no_cache refresh no_record chaos env_file".split())
_OUT = frozenset("output force plain json".split())


@dataclass(frozen=True, slots=True)
class Page:
    """The help of one command.

    Args:
        usages: what can stand behind the program's name.
        about: what it does.
        takes: the options that mean something to it.
        examples: lines, and what each does.
    """

    usages: tuple[str, ...]
    about: str
    takes: frozenset[str] = frozenset()
    examples: tuple[tuple[str, str], ...] = ()


PAGES: Mapping[str, Page] = {
    "demo": Page(
        ("demo [options]",),
        "An embedded repository, an embedded model and a server that fails by a script: every pane comes alive with no "
        "key and no network. A breaker opens, half-opens and closes; it ends by itself within 90 seconds.",
        (_RUN | _HOW | _OUT | {"no_mouse"}) - {"model", "base_url", "profile"},
        (("{prog} demo", "in the dashboard"), ("{prog} demo --json | head -n 3", "the first events, one a line")),
    ),
    "runs": Page(
        (
            "runs [list] [--json]",
            "runs show RUN [--json]",
            "runs export RUN [-o FILE] [--force]",
            "runs diff RUN [OLDER] [--print | --json]",
            "runs delete RUN... | --all",
        ),
        "The recorded runs: all of them, one of them, its report as a file, what has changed since an earlier one; or "
        "deletes them. RUN is an id or its beginning, `last`, or a file. Nothing but `diff` asks a network.",
        frozenset("json output force all plain lang no_cache refresh no_record env_file".split()),
        (
            ("{prog} runs", "id, repository, outcome, when, commit, tokens, question"),
            ("{prog} runs export last -o report.html", "the newest report as a page"),
            ("{prog} runs diff last", "what has changed since the run before"),
        ),
    ),
    "replay": Page(
        ("replay RUN [--print | --json] [--no-mouse]",),
        "A recorded run in the same panes, walked through in time; what follows it can be asked. With --print or "
        "--json all of its events at once. RUN is an id or its beginning, `last`, or a file that --json has written.",
        frozenset("plain json env_file no_mouse".split()),
        (("{prog} replay last", "in the dashboard"), ("{prog} replay events.jsonl --print", "a file, as text")),
    ),
    "mcp": Page(
        ("mcp [FOLDER ...] [--http HOST:PORT] [options]",),
        "A server for clients of the Model Context Protocol: the tools that read a repository, a whole analysis with "
        "progress, and recorded reports. On stdin and stdout, or over HTTP. Of local repositories it serves the "
        "folders named here and no other. Needs the extra: pip install 'repo-agent-tui[mcp]'.",
        (_RUN - {"question", "preset", "ref", "engine"}) | (_HOW - {"refresh"}) | {"http", "allow_remote"},
        (("{prog} mcp ~/code/project", "what a client's configuration starts"),
         ("{prog} mcp --http 8000", "at http://127.0.0.1:8000/mcp")),
    ),
    "serve": Page(
        ("serve [REPO ... | demo] [--http HOST:PORT] [options]",),
        "The dashboard in a browser, for this machine alone: each tab is a dashboard of its own, started with what "
        "stands here. Closing the tab ends its dashboard, Ctrl-C ends them all. The server asks nobody who they are, "
        "so another host needs --allow-remote. Needs the extra: pip install 'repo-agent-tui[serve]'.",
        _RUN | _HOW | {"no_mouse", "http", "allow_remote"},
        (("{prog} serve demo", "on a port that is free; it says which"),
         ("{prog} serve . --engine survey --http 8000", "this folder, at http://127.0.0.1:8000/")),
    ),
    "cache": Page(
        ("cache", "cache clear"),
        "What is kept of GitHub's replies, so that a question about the same repository costs next to nothing: place, "
        "size, entries. `cache clear` forgets all of it.",
    ),
    "doctor": Page(
        ("doctor [--offline] [--json] [options]",),
        "What is set up, and what to do about what is not: the files of settings, the key and where it came from, the "
        "endpoint (it lists the models and tries one small tool call, which costs some tokens), GitHub's token and "
        "quota, the terminal, the folders. Exits 0 where nothing is a problem, else 1.",
        frozenset("json offline engine profile model base_url env_file max_turns max_tokens".split()),
        (("{prog} doctor --profile ollama", "whether the local model can be used"),),
    ),
}  # fmt: skip


def dress(
    parser: argparse.ArgumentParser, topic: str | None, commands: Mapping[str, str], others: Mapping[str, str]
) -> None:
    """Make a parser's help that of the whole program, or of one command.

    Args:
        parser: it is of no use for parsing any more.
        topic: a reserved word, or None.
        commands: each reserved word, and what it does.
        others: variables that are no settings, and what they mean.
    """
    if topic is None:
        parser.usage = "%(prog)s [options] [REPO ...]\n       %(prog)s COMMAND [...] [options]"
        parser.description = _filled(ABOUT)
        parser.epilog = _epilog(parser.prog, commands, others)
        return
    page = PAGES[topic]
    parser.usage = "\n       ".join(f"%(prog)s {usage}" for usage in page.usages)
    parser.description = _filled(page.about)
    for action in parser._actions:
        if action.dest not in {*page.takes, "help"}:
            action.help = argparse.SUPPRESS
    lines = [
        *_examples(parser.prog, page.examples),
        "",
        _filled(f"see `{parser.prog} --help` for variables, files and exit codes"),
    ]
    parser.epilog = "\n".join(lines).lstrip("\n")


def _epilog(prog: str, commands: Mapping[str, str], others: Mapping[str, str]) -> str:
    lines = [
        _filled(f"commands (a folder of that name is ./demo; `{prog} COMMAND --help` says more):"),
        *_table(commands.items()),
    ]
    lines += [*_examples(prog, EXAMPLES), ""]
    lines.append(_filled("variables (options beat the environment, that beats .env, that beats config.toml):"))
    for setting in documented():
        default = f" [{setting.default}]" if setting.default else ""
        lines += _entry(" or ".join(setting.names), f"{setting.help}{default}")
    lines += [*_table(others.items()), ""]
    lines.append(
        _filled("A key goes only to the default endpoint, or to one that is set in the same place or a higher one.")
    )
    lines += ["", "files (`doctor` shows where they are):", *_table(FILES), "", "exit codes:", *_table(EXIT_CODES)]
    return "\n".join(lines)


def _examples(prog: str, examples: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines to copy, whole however narrow the terminal is, each with what it does."""
    if examples:
        yield ""
        yield "examples:"
    lines = [(line.format(prog=prog), about) for line, about in examples]
    longest = max((len(line) for line, _ in lines), default=0)
    for line, about in lines:
        beside = f"  {line:<{longest}}  # {about}"
        yield from [beside] if len(beside) <= width() else [f"  # {about}", f"  {line}"]


def _filled(text: str) -> str:
    return textwrap.fill(text, width(), break_long_words=False, break_on_hyphens=False)


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, about in rows for line in _entry(name, about)]


def _entry(name: str, about: str) -> list[str]:
    """A name and what it means, the way argparse sets its options."""
    start = column()
    indent = " " * start
    text = textwrap.wrap(
        about, width(), initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    if len(name) <= start - 4:
        return [f"  {name:<{start - 4}}  {text[0].strip()}", *text[1:]]
    return [*textwrap.wrap(name, width(), initial_indent="  ", subsequent_indent="  "), *text]

"""What `--help` says beside the options: commands, variables, files, exit codes, examples; and a page a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tui_agent.cli_options import cells, column, width, wrapped
from tui_agent.i18n import mark, say
from tui_agent.settings import documented

ABOUT = mark(
    "Watch an agent explore a repository and write a report about it, live in the terminal. Without a key the built-in "
    "survey does the work; nothing of the repository is ever executed."
)
EXAMPLES = (
    ("{prog} pallets/flask", mark("the full analysis, in the dashboard")),
    ('{prog} . -q "Where is the parser?"', mark("a question about the folder here")),
    ("{prog} pallets/flask pallets/quart", mark("several repositories side by side, and a comparison")),
    ("{prog} --print --engine survey . > report.md", mark("without a model, into a file")),
    ("{prog} --json . | tail -n 1", mark("how the run ended, as JSON")),
    ("{prog} demo", mark("a breaker opens, half-opens and closes")),
)
EXIT_CODES = (
    ("0", mark("a report was written, whole or partial (a partial one says so); a command did what it does")),
    ("1", mark("no report could be made; one sentence on stderr says why and what to do")),
    ("2", mark("usage: an unknown option, a bad value, no readable repository, an extra that is not installed")),
    ("130", mark("interrupted; the last event still comes, and what there is was recorded")),
)
FILES = (
    ("./.env", mark("settings of the working folder; no key of yours goes to an endpoint that is set there")),
    (
        "config.toml",
        mark(
            "your settings, in ~/.config/repo-agent-tui (Linux), ~/Library/Application Support/repo-agent-tui "
            "(macOS), %LOCALAPPDATA%\\repo-agent-tui (Windows)"
        ),
    ),
    ("runs/", mark("recorded runs, in ~/.local/state/repo-agent-tui on Linux, elsewhere beside config.toml")),
    (mark("the cache"), mark("in ~/.cache/repo-agent-tui on Linux; `cache` says where it is and how large")),
)

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
        mark(
            "An embedded repository, an embedded model and a server that fails by a script: every pane comes alive "
            "with no key and no network. A breaker opens, half-opens and closes; it ends by itself within 90 seconds."
        ),
        (_RUN | _HOW | _OUT | {"no_mouse"}) - {"model", "base_url", "profile"},
        (
            ("{prog} demo", mark("in the dashboard")),
            ("{prog} demo --json | head -n 3", mark("the first events, one a line")),
        ),
    ),
    "runs": Page(
        (
            "runs [list] [--json]",
            "runs show RUN [--json]",
            "runs export RUN [-o FILE] [--force]",
            "runs diff RUN [OLDER] [--print | --json]",
            "runs delete RUN... | --all",
        ),
        mark(
            "The recorded runs: all of them, one of them, its report as a file, what has changed since an earlier "
            "one; or deletes them. RUN is an id or its beginning, `last`, or a file. Nothing but `diff` asks a "
            "network."
        ),
        frozenset("json output force all plain lang no_cache refresh no_record env_file".split()),
        (
            ("{prog} runs", mark("id, repository, outcome, when, commit, tokens, question")),
            ("{prog} runs export last -o report.html", mark("the newest report as a page")),
            ("{prog} runs diff last", mark("what has changed since the run before")),
        ),
    ),
    "replay": Page(
        ("replay RUN [--print | --json] [--no-mouse]",),
        mark(
            "A recorded run in the same panes, walked through in time; what follows it can be asked. With --print or "
            "--json all of its events at once. RUN is an id or its beginning, `last`, or a file that --json has "
            "written."
        ),
        frozenset("plain json env_file no_mouse".split()),
        (
            ("{prog} replay last", mark("in the dashboard")),
            ("{prog} replay events.jsonl --print", mark("a file, as text")),
        ),
    ),
    "mcp": Page(
        ("mcp [FOLDER ...] [--http HOST:PORT] [options]",),
        mark(
            "A server for clients of the Model Context Protocol: the tools that read a repository, a whole analysis "
            "with progress, and recorded reports. On stdin and stdout, or over HTTP. Of local repositories it serves "
            "the folders named here and no other. Needs the extra: pip install 'repo-agent-tui[mcp]'."
        ),
        (_RUN - {"question", "preset", "ref", "engine"}) | (_HOW - {"refresh"}) | {"http", "allow_remote"},
        (
            ("{prog} mcp ~/code/project", mark("what a client's configuration starts")),
            ("{prog} mcp --http 8000", mark("at http://127.0.0.1:8000/mcp")),
        ),
    ),
    "serve": Page(
        ("serve [REPO ... | demo] [--http HOST:PORT] [options]",),
        mark(
            "The dashboard in a browser, for this machine alone: each tab is a dashboard of its own, started with "
            "what stands here. Closing the tab ends its dashboard, Ctrl-C ends them all. The server asks nobody who "
            "they are, so another host needs --allow-remote. Needs the extra: pip install 'repo-agent-tui[serve]'."
        ),
        _RUN | _HOW | {"no_mouse", "http", "allow_remote"},
        (
            ("{prog} serve demo", mark("on a port that is free; it says which")),
            ("{prog} serve . --engine survey --http 8000", mark("this folder, at http://127.0.0.1:8000/")),
        ),
    ),
    "cache": Page(
        ("cache", "cache clear"),
        mark(
            "What is kept of GitHub's replies, so that a question about the same repository costs next to nothing: "
            "place, size, entries. `cache clear` forgets all of it."
        ),
    ),
    "doctor": Page(
        ("doctor [--offline] [--json] [options]",),
        mark(
            "What is set up, and what to do about what is not: the files of settings, the key and where it came "
            "from, the endpoint (it lists the models and tries one small tool call, which costs some tokens), "
            "GitHub's token and quota, the terminal, the folders. Exits 0 where nothing is a problem, else 1."
        ),
        frozenset("json offline engine profile model base_url env_file max_turns max_tokens".split()),
        (("{prog} doctor --profile ollama", mark("whether the local model can be used")),),
    ),
}


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
    parser._positionals.title = say("positional arguments")
    parser._optionals.title = say("options")
    for group in parser._action_groups:
        group.title = say(group.title or "")
    for action in parser._actions:
        action.help = say(action.help or "")
    if topic is None:
        parser.usage = "%(prog)s [options] [REPO ...]\n       %(prog)s COMMAND [...] [options]"
        parser.description = _filled(say(ABOUT))
        parser.epilog = _epilog(parser.prog, commands, others)
        return
    page = PAGES[topic]
    parser.usage = "\n       ".join(f"%(prog)s {usage}" for usage in page.usages)
    parser.description = _filled(say(page.about))
    for action in parser._actions:
        if action.dest not in {*page.takes, "help"}:
            action.help = argparse.SUPPRESS
    lines = [
        *_examples(parser.prog, page.examples),
        "",
        _filled(say("see `{prog} --help` for variables, files and exit codes", prog=parser.prog)),
    ]
    parser.epilog = "\n".join(lines).lstrip("\n")


def _epilog(prog: str, commands: Mapping[str, str], others: Mapping[str, str]) -> str:
    lines = [
        _filled(say("commands (a folder of that name is ./demo; `{prog} COMMAND --help` says more):", prog=prog)),
        *_table(commands.items()),
    ]
    lines += [*_examples(prog, EXAMPLES), ""]
    lines.append(_filled(say("variables (options beat the environment, that beats .env, that beats config.toml):")))
    for setting in documented():
        default = f" [{say(setting.default)}]" if setting.default else ""
        lines += _entry(say(" or ").join(setting.names), f"{say(setting.help)}{default}")
    lines += [*_table(others.items()), ""]
    lines.append(
        _filled(
            say("A key goes only to the default endpoint, or to one that is set in the same place or a higher one.")
        )
    )
    lines += [
        "",
        say("files (`doctor` shows where they are):"),
        *_table(FILES),
        "",
        say("exit codes:"),
        *_table(EXIT_CODES),
    ]
    return "\n".join(lines)


def _examples(prog: str, examples: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Lines to copy, whole however narrow the terminal is, each with what it does."""
    if examples:
        yield ""
        yield say("examples:")
    lines = [(line.format(prog=prog), say(about)) for line, about in examples]
    longest = max((len(line) for line, _ in lines), default=0)
    for line, about in lines:
        beside = f"  {line:<{longest}}  # {about}"
        yield from [beside] if cells(beside) <= width() else [f"  # {about}", f"  {line}"]


def _filled(text: str) -> str:
    return "\n".join(wrapped(text, width()))


def _table(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, about in rows for line in _entry(name, about)]


def _entry(name: str, about: str) -> list[str]:
    """A name and what it means, the way argparse sets its options."""
    start = column()
    indent = " " * start
    text = [indent + line for line in wrapped(say(about), width() - start)]
    name = say(name)
    if cells(name) <= start - 4:
        return [f"  {name}{' ' * (start - 4 - cells(name))}  {text[0].strip()}", *text[1:]]
    return [*(f"  {line}" for line in wrapped(name, width() - 2)), *text]

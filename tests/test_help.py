"""`--help`, of the whole program and of each command, at the widths of real terminals."""

from __future__ import annotations

import re

import pytest

from tui_agent.cli import main
from tui_agent.cli_help import EXIT_CODES, PAGES
from tui_agent.cli_options import COMMAND_HELP, build_parser, topic


def help_of(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    assert main([*argv, "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(("columns", "widest"), [(40, 60), (60, 60), (80, 80), (100, 100), (200, 100)])
def test_the_help_fits_the_terminal(
    columns: int, widest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ((), *((name,) for name in PAGES)):
        text = help_of(capsys, *command)
        assert text.isascii() and "\x1b" not in text
        lines = [line for line in text.splitlines() if not line.startswith(("usage: ", "       repo", "  repo"))]
        assert max(map(len, lines)) <= widest


def test_the_programs_page_has_every_part_of_a_manual(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(capsys)
    for part in ("usage: ", "what to find out:", "commands (", "examples:", "variables (", "files (", "exit codes:"):
        assert part in text
    assert all(re.search(rf"^  {code} ", text, re.MULTILINE) for code, _ in EXIT_CODES)


def test_every_command_has_a_page_that_says_what_it_takes_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert PAGES.keys() == COMMAND_HELP.keys()
    options = {action.dest: action.option_strings for action in build_parser()._actions}
    for name, page in PAGES.items():
        text = help_of(capsys, name)
        assert f"repo-agent-tui {name}" in text.splitlines()[0]
        assert page.takes <= options.keys()
        shown = set(re.findall(r"^  (?:-\w(?: [A-Z]+)?, )?(--[\w-]+)", text, re.MULTILINE))
        assert shown == {options[taken][-1] for taken in {*page.takes, "help"}}, name


def test_the_doctors_page_does_not_promise_events(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(help_of(capsys, "doctor").split())
    assert "one event per line on stdout; with `runs` one run per line, with `doctor` one object" in text


@pytest.mark.parametrize("name", sorted(PAGES.keys() - {"demo"}))
def test_what_a_page_leaves_out_the_command_refuses(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {"plain": ["--print"], "offline": ["--offline"], "all": ["--all"], "http": ["--http", "0"]}
    ways = {"runs": ["show", "last"], "replay": ["last"], "cache": ["what"]}
    for option, typed in refused.items():
        if option not in PAGES[name].takes:
            assert main([name, *ways.get(name, []), *typed]) == 2, typed
    assert "Traceback" not in capsys.readouterr().err


def test_every_example_can_be_typed(capsys: pytest.CaptureFixture[str]) -> None:
    parser = build_parser()
    for page in PAGES.values():
        for line, about in page.examples:
            words = line.format(prog="").split("|")[0].split()
            assert about and topic(words) == words[0]
            assert not parser.parse_known_intermixed_args(words)[1]


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["runs"], "runs"),
        (["-q", "runs", "a/b"], None),
        (["--json", "replay", "x"], "replay"),
        ([], None),
        (["./demo"], None),
    ],
)
def test_a_page_belongs_to_the_word_that_comes_first(argv: list[str], found: str | None) -> None:
    assert topic(argv) == found

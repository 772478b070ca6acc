"""The README: its commands run, what it quotes stands in the code, what it names is there."""

from __future__ import annotations

import argparse
import ast
import json
import re
import shlex
import shutil
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

import pytest

from tests.records import record, story
from tests.repos import make_repo
from tui_agent import i18n
from tui_agent.cli import main
from tui_agent.cli_help import PAGES
from tui_agent.cli_options import COMMAND_HELP, build_parser, topic
from tui_agent.settings import Settings
from tui_agent.settings_profiles import BUILT_IN, LOCAL
from tui_agent.splash import COMMANDS, VALUED, WORDS
from tui_agent.transports.faults import FaultScript
from tui_agent.tui.rebinding import NAMES
from tui_agent.tui.screens import evidence, history, settings
from tui_agent.tui.widgets import breakers, markdown_links, prompt, report, trace, trace_view

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tui_agent"
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = "repo-agent-tui"
HOLE = "…"
LARGEST = 150_000


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def prose() -> str:
    """The text without its code blocks."""
    return re.sub(r"^```.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)


def section(heading: str) -> str:
    """What stands below a heading, up to the next one of its rank."""
    level = heading.partition(" ")[0]
    return re.split(rf"^#{{1,{len(level)}}} ", README.split(f"\n{heading}\n")[1], flags=re.MULTILINE)[0]


def rows(header: str) -> list[list[str]]:
    """The cells of a table."""
    table = README.split(f"\n{header}\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()[1:]]


def quoted(text: str) -> list[str]:
    """What stands in backticks."""
    return [two or one for two, one in re.findall(r"``(.+?)``|`([^`]+)`", text)]


# -- what can be found in it ----------------------------------------------------------------


def test_the_contents_name_every_heading_and_every_link_leads_somewhere() -> None:
    headings = re.findall(r"^##+ (.+)$", prose(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-"): heading for heading in headings}
    assert len(anchors) == len(headings), "headings that differ"
    named = re.findall(r"\[([^\]]+)\]\(#([^)]+)\)", section("## Contents"))
    assert [text for text, _ in named] == [heading for heading in headings if heading != "Contents"]
    assert all(anchors[anchor] == text for text, anchor in named)
    for link in re.findall(r"\]\(([^)]+)\)", prose()):
        path, _, anchor = link.partition("#")
        assert path.startswith("https://") or (ROOT / path).exists(), link
        assert path or anchor in anchors, link


def test_the_pictures_are_few_and_small_and_load_nothing() -> None:
    pictures = re.findall(r"!\[[^\]]{20,}\]\(([^)]+)\)", README)
    assert sorted(pictures) == sorted(str(path.relative_to(ROOT)) for path in (ROOT / ".github").glob("*.svg"))
    assert len(set(pictures)) == len(pictures) <= 10
    for picture in pictures:
        text = (ROOT / picture).read_text(encoding="utf-8")
        assert len(text.encode()) < LARGEST, picture
        assert text.startswith("<svg") and not re.search(r"url\((?!#)|@import|@font-face|<(?:script|image)\b", text)


# -- tables that equal the code -------------------------------------------------------------


def test_every_option_and_every_command_stands_in_its_table() -> None:
    parser = build_parser()
    told = set(
        re.findall(
            r"(?<![\w-])--?[a-z][a-z-]*", " ".join(" ".join(quoted(r[0])) for r in rows("| option | what it does |"))
        )
    )
    assert told == {name for action in parser._actions for name in action.option_strings}
    meanings = {option: row[1] for row in rows("| option | what it does |") for option in quoted(row[0])}
    for action in parser._actions:
        for choice in action.choices or ():
            (meaning,) = [text for typed, text in meanings.items() if action.option_strings[-1] in typed]
            assert f"`{choice}`" in meaning, choice
    commands = [quoted(row[0])[0].split()[0] for row in rows("| command | what it does |")]
    assert commands[0] == PROGRAM and set(commands[1:]) == COMMAND_HELP.keys() == WORDS | COMMANDS


def test_the_profiles_are_those_that_are_built_in() -> None:
    told = {name: row for row in rows("| profile | endpoint | model | key |") for name in quoted(row[0])}
    assert told.keys() == {*BUILT_IN, LOCAL}
    assert told[LOCAL] is told["ollama"]
    for name, profile in BUILT_IN.items():
        _, endpoint, model, key = told[name]
        assert (endpoint, model) == (profile.base_url, profile.model)
        assert quoted(key) == ([profile.key_env] if profile.key_env else [])


def test_the_keys_of_panes_and_windows_are_those_that_they_bind() -> None:
    signs = {"↑": "up", "↓": "down", "→": "right", "←": "left", "pgup": "pageup", "pgdn": "pagedown", "*": "asterisk"}
    signs |= {"-": "minus", "/": "slash"}
    told: dict[str, set[str]] = {}
    where = ""
    for cell, keys, _ in rows("| where | key | what it does |"):
        where = cell or where
        told.setdefault(where, set()).update(signs.get(key, key) for key in quoted(keys))
    # what moves or closes in every window, and what stands in the table of all keys
    usual = {"slash", "v", "escape", "ctrl+q", "ctrl+j", "home", "end", "q"}
    bound = {
        "trace": (trace_view.TraceView, trace.TracePane),
        "breakers": (breakers.BreakersPane,),
        "report": (report.ReportPane, markdown_links.LinkedView),
        "input": (prompt.AskInput,),
        "evidence": (evidence.EvidenceScreen,),
        "recorded runs": (history.HistoryScreen,),
        "settings": (settings.SettingsScreen,),
    }
    assert told.keys() == bound.keys()
    for name, widgets in bound.items():
        keys = {key for widget in widgets for one in widget.BINDINGS for key in one.key.split(",")}  # type: ignore[union-attr]
        assert keys - usual - {"enter"} == told[name] - usual - {"enter"}, name


def test_the_names_of_keys_that_can_be_bound_are_all_there() -> None:
    assert set(quoted(section("### Other keys").split("Runs:")[1])) == NAMES.keys()


@pytest.mark.parametrize("block", blocks("toml"))
def test_each_example_of_a_config_file_is_understood(block: str, tmp_path: Path) -> None:
    assert tomllib.loads(block)
    file = tmp_path / "config.toml"
    file.write_text(block, encoding="utf-8")
    Settings.load(environ={"WORK_LLM_KEY": "k"}, cwd=tmp_path, config_file=file)


def test_the_other_examples_are_what_they_seem() -> None:
    for block in blocks("json"):
        assert json.loads(block)["mcpServers"]["repo-agent"]["args"][0] == "mcp"
    for block in blocks("python"):
        compile(block, "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


# -- messages -------------------------------------------------------------------------------


@cache
def texts_of_the_code() -> tuple[str, ...]:
    """Every text of the package, with … for what is put in."""
    found = []
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (str(part.value) if isinstance(part, ast.Constant) else HOLE for part in node.values)
                found.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(_template(node.value))
    return tuple(found)


def _template(text: str) -> str:
    try:
        return "".join(before + ("" if name is None else HOLE) for before, name, _, _ in Formatter().parse(text))
    except ValueError:
        return text


def test_every_message_that_is_explained_stands_in_the_code() -> None:
    told = [
        quoted(row[0])[0] for text in re.findall(r"\| message \|.*?\n\n", README, re.DOTALL) for row in _cells(text)
    ]
    assert len(told) > 40 and len(set(told)) == len(told)
    assert [message for message in told if not any(message in text for text in texts_of_the_code())] == []


def _cells(table: str) -> Iterator[list[str]]:
    for line in table.strip().splitlines()[2:]:
        yield line.split(" | ")


# -- how to change it -----------------------------------------------------------------------


def test_the_files_and_the_names_in_them_are_there() -> None:
    text = section("## How to change it")
    for name in quoted(text):
        if re.fullmatch(r"[\w/.*]+(?:\.py|\.tcss|/)|(?:\w+/)*[\w*]+\.(?:py|po)", name):
            places = [*PACKAGE.glob(name), *ROOT.glob(name)]
            assert places, name
    named = re.findall(r"`([\w/]+\.py)`\)?,\s+((?:`\w+`(?: and )?)+)", text)
    assert len(named) >= 4
    for file, names in named:
        code = (PACKAGE / file).read_text(encoding="utf-8")
        assert all(re.search(rf"^{name}\b", code, re.MULTILINE) for name in quoted(names)), file
    assembly = (PACKAGE / "assembly.py").read_text(encoding="utf-8")
    for name in set(re.findall(r"`(_[a-z]+)`", section("### A transport"))):
        assert f"def {name}(" in assembly


# -- commands -------------------------------------------------------------------------------


def commands() -> list[list[str]]:
    """What is typed behind the program's name in the shell blocks, without what stands around it."""
    found = []
    for line in "".join(blocks("sh")).splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, "#"
        words: list[str] = []
        for token in [*lexer, ";"]:
            if token not in (";", "|", "||", "&&"):
                words.append(token)
                continue
            if words and words[0].rpartition("/")[2] == PROGRAM:
                found.append(words[1 : words.index(">")] if ">" in words else words[1:])
            words = []
    return found


def parsed(words: list[str]) -> argparse.Namespace:
    return build_parser().parse_intermixed_args(words)


def runs_here(words: list[str]) -> bool:
    """Whether a command needs neither a network, nor a terminal, nor time."""
    asked = parsed(words)
    if asked.profile or asked.chaos:
        return False
    first, *rest = asked.repo or [""]
    if first in COMMAND_HELP:
        return first in ("runs", "replay", "cache") and rest[:1] + rest[2:] != ["diff", "9c01"]
    return asked.completion is not None or (bool(first) and all(repo.startswith(".") for repo in asked.repo))


COMMANDS_TOLD = commands()
RUN_HERE = [words for words in COMMANDS_TOLD if runs_here(words)]


def test_every_command_of_the_readme_can_be_typed() -> None:
    assert len(COMMANDS_TOLD) > 25
    for words in COMMANDS_TOLD:
        asked = parsed(words)
        if (command := topic(words)) is not None:
            usual = vars(build_parser().parse_args([]))
            typed = {name for name, value in vars(asked).items() if name != "repo" and value != usual[name]}
            assert typed <= PAGES[command].takes, words
        if asked.chaos:
            FaultScript(frozenset({"read_file", "get_commits", "llm", "snapshot"})).add(asked.chaos)
    assert {topic(words) for words in COMMANDS_TOLD} - {None} == COMMAND_HELP.keys() - {"cache"}
    options = {word for words in COMMANDS_TOLD for word in words if word.startswith("-")}
    assert options & VALUED and len(RUN_HERE) > 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean folder with a repository, two more in it, and the records that the README speaks of."""
    base = tmp_path_factory.mktemp("readme")
    place = make_repo(base / "project", [("First", {"README.md": "# Project\n\nParses.\n", "parser.py": "x = 1\n"})])
    for name in ("one", "two"):
        make_repo(place / name, [("First", {"README.md": f"# {name}\n"})])
    for number, run_id in enumerate(("9c01aaaa", "3f2abbbb")):
        record(base / "state" / PROGRAM / "runs", story(run_id=run_id), began=1_600_000_000.0 + number)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("XDG_STATE_HOME", str(base / "state"))
        patch.setenv("XDG_CONFIG_HOME", str(base / "config"))
        patch.delenv("API_KEY", raising=False)
        for _ in range(2):
            assert main(["--json", "."]) == 0
    shutil.copy(next(iter(sorted((base / "state" / PROGRAM / "runs").iterdir(), reverse=True))), place / "events.jsonl")
    return base


@pytest.mark.parametrize("words", RUN_HERE, ids=" ".join)
def test_commands_that_need_no_network_do_what_they_say(
    words: list[str], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(folder / "state", tmp_path / "state")
    monkeypatch.chdir(folder / "project")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert main(words) == 0
    said = capsys.readouterr()
    asked = parsed(words)
    if asked.output is not None:
        assert Path(asked.output).stat().st_size > 100
    else:
        assert said.out.strip()
    if asked.json:
        events = [json.loads(line) for line in said.out.splitlines()]
        assert events[0]["type"] == "run_started" and events[-1]["outcome"] == "completed"
    i18n.use(i18n.ENGLISH)

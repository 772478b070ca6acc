"""The start: a picture at once, nothing that was typed is lost, nothing heavy is imported, the terminal comes back."""

from __future__ import annotations

import gc
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pyte
import pytest

from tests.servers.program import environment
from tests.servers.terminal import ALTERNATE, Terminal
from tui_agent import cli_imports, splash
from tui_agent.cli_imports import Courtesy, polite
from tui_agent.cli_options import COMMAND_HELP, build_parser

ROOT = Path(__file__).parent.parent
HEAVY = ("openai", "httpx", "hishel", "dulwich", "mcp", "pydantic", "markdown_it", "pygments")
TITLES = ("Trace", "Tool calls", "Breakers", "Rate limit", "Report")
STARTING = "starting …"


def imported_by(code: str, *names: str) -> list[str]:
    """Which of some modules a piece of code has imported by its end."""
    tell = f"import sys; print('\\nimported:', *(n for n in {names!r} if n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.rpartition("imported:")[2].split()


# -- what is imported -----------------------------------------------------------------------


@pytest.mark.parametrize("option", [None, "--help", "--version"])
def test_the_package_its_help_and_its_version_import_nothing_heavy(option: str | None) -> None:
    code = "import tui_agent"
    if option is not None:
        code = f"import sys; sys.argv = ['x', {option!r}]; from tui_agent.start import main; assert main() == 0"
    assert imported_by(code, *HEAVY, "textual", "rich", "asyncio") == []


def test_the_package_alone_imports_next_to_nothing() -> None:
    assert imported_by("import tui_agent", "typing", "re", "dataclasses", "pathlib") == []


def test_the_first_picture_is_made_by_a_few_modules_of_the_standard_library() -> None:
    code = "from tui_agent.splash import picture, named, asked; import os"
    code += "; picture(named(*asked(['team/tool'])), os.terminal_size((80, 24)))"
    assert imported_by(code, *HEAVY, "textual", "typing", "argparse", "dataclasses", "pathlib", "json") == []


def test_the_first_frame_imports_nothing_that_only_a_run_needs() -> None:
    code = """
from tests.tui_session import ScriptedSession
from tui_agent.tui.app import DashboardApp

class Asked(ScriptedSession):
    async def prepare(self):
        app.exit(0)

app = DashboardApp(Asked())
assert app.run(headless=True, size=(120, 40)) == 0
"""
    assert imported_by(code, *HEAVY) == []


# -- the picture ----------------------------------------------------------------------------


def drawn(text: str, columns: int, rows: int, signs: str | None = None) -> list[str]:
    """The picture as it stands on a screen."""
    screen = pyte.Screen(columns or 80, rows or 24)
    size = os.terminal_size((columns, rows))
    pyte.Stream(screen).feed(splash.picture(text, size) if signs is None else splash.picture(text, size, signs))
    return list(screen.display)


@pytest.mark.parametrize(("columns", "rows"), [(160, 48), (80, 24), (60, 20), (24, 5), (0, 0)])
def test_the_picture_is_a_frame_with_title_and_repository(columns: int, rows: int) -> None:
    lines = drawn("team/tool", columns, rows)
    assert lines[0].startswith("╭─ repo-agent-tui ─") and lines[0].endswith("╮")
    assert lines[-1].startswith("╰─") and lines[-1].endswith("╯")
    assert all(line[0] == line[-1] == "│" for line in lines[1:-1])
    assert any("team/tool" in line for line in lines) and any(STARTING in line for line in lines)


@pytest.mark.parametrize(("columns", "rows"), [(20, 5), (10, 2), (3, 1), (1, 1)])
def test_a_tiny_terminal_shows_as_much_of_the_name_as_fits(columns: int, rows: int) -> None:
    lines = drawn("team/tool", columns, rows)
    assert lines[0].strip() == ("team/tool" if columns >= 9 else "team/tool"[: columns - 1] + "…")
    assert not "".join(lines[1:]).strip()


def test_a_long_name_stays_inside_the_frame() -> None:
    lines = drawn("team/" + "long" * 60, 40, 10)
    assert all(line[0] == line[-1] == "│" for line in lines[1:-1])
    assert any("…" in line and "team/long" in line for line in lines)


def test_the_picture_has_no_colours_and_in_ascii_no_other_signs() -> None:
    picture = splash.picture("a/b", os.terminal_size((80, 24)))
    assert set(re.findall(r"\x1b\[([\d;]*)m", picture)) <= {"0", "1", "2", "0;1", "0;2"}
    assert "".join(drawn("a/b", 80, 24, splash._ASCII)).isascii()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("team/tool", "team/tool"),
        ("https://github.com/team/next.js/tree/main/src?x=1#y", "team/next.js"),
        ("https://me:hunter2@github.com/team/tool.git", "team/tool"),
        ("github.com/team/tool?token=hunter2", "team/tool"),
        ("git@github.com:team/tool.git", "team/tool"),
        ("ssh://git@github.com/team/tool.git", "team/tool"),
        ("/srv/work/tool/", "local/tool"),
        ("./tool", "local/tool"),
        ("", ""),
    ],
)
def test_the_repository_is_shown_by_its_short_name(typed: str, shown: str) -> None:
    assert splash.named(typed) == shown


@pytest.mark.parametrize("name", ["a/\x1b[31mb", "a/\u202eb", "a/\x07", "./\x1b]0;owned\x07"])
def test_nothing_in_a_name_reaches_the_terminal_raw(name: str) -> None:
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", splash.named(name))


# -- where there is one ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "repos"),
    [
        ("", ""),
        ("team/tool", "team/tool"),
        ("-q what --lang en team/tool --no-mouse", "team/tool"),
        ("--model=x -o r.md team/tool", "team/tool"),
        ("demo", "demo"),
        ("replay 3f2a", "replay"),
        ("team/tool -q what ./other", "team/tool ./other"),
        ("-- -odd/name", "-odd/name"),
        ("-p team/tool", None),
        ("-pq what team/tool", None),
        ("--json team/tool", None),
        ("--help", None),
        ("team/tool --version", None),
        ("cache clear", None),
        ("mcp", None),
    ],
)
def test_the_picture_comes_only_before_a_dashboard(argv: str, repos: str | None) -> None:
    assert splash.asked(argv.split()) == (None if repos is None else repos.split())


def test_the_picture_knows_every_option_and_every_reserved_word() -> None:
    actions = build_parser()._actions
    valued = {name for action in actions if action.nargs is None for name in action.option_strings}
    assert valued == splash.VALUED
    assert {name for action in actions for name in action.option_strings} >= splash.PLAIN
    assert frozenset(COMMAND_HELP) - {"demo", "replay"} == splash.WORDS


def test_where_output_is_no_terminal_nothing_is_drawn(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tui_agent", "--engine", "survey", "./nowhere"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2) and done.stdout == ""
    assert "\x1b" not in done.stderr


def test_a_dumb_terminal_gets_no_picture(tmp_path: Path) -> None:
    with Terminal("./nowhere", env=environment(tmp_path, TERM="dumb"), cwd=tmp_path) as terminal:
        assert terminal.end() in (1, 2)
        assert b"\x1b" not in terminal.raw


# -- on a terminal --------------------------------------------------------------------------


def test_the_picture_stands_until_the_dashboard_does(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    with Terminal("--engine", "survey", "./tool", env=environment(tmp_path), cwd=tmp_path) as terminal:
        terminal.see("repo-agent-tui", "local/tool", STARTING)
        assert ALTERNATE in terminal.modes()
        terminal.see(*TITLES)
        assert STARTING not in terminal.text
        # No second switch to the other screen: some terminals clear it then.
        assert terminal.raw.count(b"\x1b[?1049h") == 1
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_what_is_typed_before_anything_reads_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "README.md").write_text("# Tool\n")
    with Terminal("--engine", "survey", env=environment(tmp_path), cwd=tmp_path) as terminal:
        # Before the program has run its first line: Enter, too, arrives as the terminal's own end of a line.
        terminal.send("./tool\r")
        terminal.see("completed", "local/tool")
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_what_is_typed_while_the_picture_stands_is_not_lost(tmp_path: Path) -> None:
    with Terminal(env=environment(tmp_path), cwd=tmp_path) as terminal:
        terminal.see(STARTING)
        for key in ("team", "/", "toolx", "\x7f"):
            terminal.send(key)
        terminal.see(*TITLES, re.compile(r"❯ team/tool\s"), "esc leave")
        # It is not echoed besides.
        assert terminal.text.count("team/tool") == 1


def test_keys_typed_ahead_are_commands_where_a_repository_is_named(tmp_path: Path) -> None:
    (tmp_path / "tool").mkdir()
    with Terminal("--engine", "survey", "./tool", env=environment(tmp_path), cwd=tmp_path) as terminal:
        terminal.send("?")
        terminal.see("esc closes")


@pytest.mark.parametrize("how", ["\x03", signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_of_the_start_restores_the_terminal(tmp_path: Path, how: str | signal.Signals) -> None:
    with Terminal("team/tool", env=environment(tmp_path), cwd=tmp_path) as terminal:
        terminal.see(STARTING)
        if isinstance(how, str):
            terminal.send(how)
        else:
            terminal.signal(how)
        assert terminal.end() == 130
        terminal.assert_restored()
        assert b"Traceback" not in terminal.raw


@pytest.mark.parametrize("wrong", [("--nonsense",), ("--engine", "llm", "a/b"), ("not a name at all",)])
def test_a_usage_error_is_told_on_the_screen_that_was_there_before(tmp_path: Path, wrong: tuple[str, ...]) -> None:
    with Terminal(*wrong, env=environment(tmp_path), cwd=tmp_path) as terminal:
        assert terminal.end() == 2
        terminal.assert_restored()
        picture, _, told = terminal.raw.partition(b"\x1b[?1049l")
        assert STARTING.encode() in picture and told.startswith(b"repo-agent-tui: ")


def test_a_broken_installation_restores_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("raise RuntimeError('no such luck')\n")
    env = environment(tmp_path)
    with Terminal("team/tool", env=env | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}, cwd=tmp_path) as terminal:
        assert terminal.end() == 1
        terminal.assert_restored()
        told = terminal.raw.partition(b"\x1b[?1049l")[2]
        assert b"no such luck" in told and b"Traceback" not in told


def test_the_first_start_of_a_clone_writes_the_byte_code_for_the_next(tmp_path: Path) -> None:
    package = tmp_path / "tui_agent"
    for file in (ROOT / "tui_agent").glob("*.py"):
        package.mkdir(exist_ok=True)
        (package / file.name).write_bytes(file.read_bytes())
    command = [sys.executable, "-m", "tui_agent", "--help"]
    env = environment(tmp_path, PYTHONPATH=str(tmp_path))
    subprocess.run(command, cwd=tmp_path, env=env, stdout=subprocess.DEVNULL, check=True)
    assert {path.name.split(".")[0] for path in package.rglob("*.pyc")} >= {"__init__", "start", "splash", "cli"}


# -- importing beside the dashboard ---------------------------------------------------------


class FakeTime:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def asked_in_a_thread(courtesy: Courtesy) -> None:
    thread = threading.Thread(target=courtesy.find_spec, args=("anything",))
    thread.start()
    thread.join()


def test_importing_waits_for_whoever_types_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    time = FakeTime()
    monkeypatch.setattr(cli_imports, "time", time)
    courtesy = Courtesy()
    asked_in_a_thread(courtesy)
    assert time.now == 100.0
    courtesy.typed()
    courtesy.find_spec("anything")  # the main thread draws the answer
    assert time.now == 100.0
    asked_in_a_thread(courtesy)
    assert time.now == pytest.approx(100.0 + cli_imports.PAUSE)
    for _ in range(1000):
        courtesy.typed()
        asked_in_a_thread(courtesy)
    assert time.now == pytest.approx(100.0 + cli_imports.LONGEST)


def test_after_importing_all_is_as_it_was_and_the_collector_works() -> None:
    before = (sys.getswitchinterval(), list(sys.meta_path))
    gc.disable()
    try:
        with polite(Courtesy()):
            assert sys.getswitchinterval() < before[0]
            assert importlib.import_module("json") is json
        assert gc.isenabled()
    finally:
        gc.enable()
        gc.unfreeze()
    assert (sys.getswitchinterval(), list(sys.meta_path)) == before

"""The dashboard on a terminal of its own, against a GitHub and a model on loopback: what a person sees and leaves."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.servers import faults
from tests.servers.github import GitHubServer
from tests.servers.http import Gate, wait_until
from tests.servers.model import ModelServer
from tests.servers.program import environment
from tests.servers.terminal import ALTERNATE, MOUSE, Terminal
from tests.servers.turns import call, pause, say, stall, think

FILES = {"README.md": "# Tool\n\nA tool \x1b]0;owned\x07 [red]markup[/] \u202e.\n", "src/main.py": "print('hi')\n"}
WHO = {"owner": "team", "repo": "tool"}
TITLES = ("Trace", "Tool calls", "Breakers", "Rate limit", "Report")
CALLS = [call("get_repo_info", WHO), call("read_file", {**WHO, "path": "README.md"}), call("get_commits", WHO)]
REPORT = (
    "# What the tool is\n\nIt does **things**, see [main](https://example.org).\n\n| a | b |\n|---|---|\n| 1 | 二 |\n"
)


@contextmanager
def dashboard(
    home: Path, *args: str, script: Any, github: GitHubServer | None = None, **how: Any
) -> Iterator[tuple[Terminal, GitHubServer, ModelServer]]:
    """The program on a terminal, both servers beside it."""
    variables = {name: how.pop(name) for name in list(how) if name.isupper()}
    with (github or GitHubServer(FILES)).in_thread() as hub, ModelServer(*script).in_thread() as model:
        env = environment(home, hub, model, **variables)
        with Terminal(*args, env=env, cwd=home, **how) as terminal:
            yield terminal, hub, model
    assert hub.errors == []
    assert model.errors == []


def leave(terminal: Terminal) -> None:
    """Out of an input, then out of the program; escape and a letter sent together would be another key."""
    terminal.send("\x1b")
    terminal.see("q quit")
    terminal.send("q")


def test_a_run_fills_every_pane_and_quitting_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    script = ([think("First the facts."), say("I look around."), *CALLS], [say(REPORT, by=11)])
    with dashboard(tmp_path, "team/tool", script=script) as (terminal, hub, _):
        terminal.see(*TITLES)
        assert {ALTERNATE} <= terminal.modes() and terminal.modes() & MOUSE
        terminal.see("completed", "What the tool is")
        terminal.see("team/tool", "deepseek-flash", "read_file", "CLOSED", f"{60 - len(hub.requests)}/60")
        assert hub.transport.head[:7] in terminal.text  # type: ignore[attr-defined]
        # The first turn is folded by now; searching the trace finds and opens it.
        terminal.send("/")
        terminal.see("search the trace", "next hit")
        terminal.send("look around\r")
        terminal.see("I look around.")
        leave(terminal)
        assert terminal.end() == 0
        terminal.assert_restored()
        assert b"\x1b]0;owned" not in terminal.raw


def test_the_report_grows_on_the_screen_while_it_streams(tmp_path: Path) -> None:
    gate = Gate()
    with dashboard(
        tmp_path, "team/tool", script=(CALLS, [say("# Half\n\nof a view"), pause(gate), say(" and the rest.")])
    ) as (
        terminal,
        *_,
    ):
        terminal.see("Half", "of a view", "running")
        assert "the rest" not in terminal.text and "completed" not in terminal.text
        gate.open()
        terminal.see("and the rest.", "completed")
        terminal.send("q")
        assert terminal.end() == 0


def test_started_without_a_repository_the_input_asks_for_one(tmp_path: Path) -> None:
    with dashboard(tmp_path, script=(CALLS, [say(REPORT)])) as (terminal, hub, _):
        terminal.see(*TITLES)
        assert hub.requests == []
        # Keys are letters here: the input has the focus.
        terminal.send("team/tool")
        terminal.see(lambda text: "team/tool" in text)
        terminal.send("\r")
        terminal.see("completed", "What the tool is")
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_escape_cancels_a_run_and_what_was_seen_stays(tmp_path: Path) -> None:
    with dashboard(tmp_path, "team/tool", script=([say("I look around."), *CALLS], [stall()])) as (terminal, *_):
        terminal.see("running", "get_commits", "turn 2")
        terminal.send("\x1b")
        terminal.see("cancelled")
        terminal.see("read_file README.md", re.compile(r"Turn 1.*3 ok"))
        terminal.send("q")
        assert terminal.end() == 0


def test_quitting_in_the_middle_of_a_run_ends_at_once(tmp_path: Path) -> None:
    with dashboard(tmp_path, "team/tool", script=(CALLS,)) as (terminal, hub, _):
        hub.on("read_file", always=faults.hold())
        wait_until(lambda: terminal.read() and hub.asked("read_file"), seconds=20)
        terminal.send("q")
        assert terminal.end(5) == 0
        terminal.assert_restored()
        wait_until(lambda: all(exchange.ended for exchange in hub.exchanges))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_restores_the_terminal(tmp_path: Path, number: signal.Signals) -> None:
    with dashboard(tmp_path, "team/tool", script=([stall()],)) as (terminal, *_):
        terminal.see("running", "turn 1")
        terminal.signal(number)
        assert terminal.end() == 130
        terminal.assert_restored()


def test_a_breaker_that_opens_counts_down_on_the_screen(tmp_path: Path) -> None:
    script = ([CALLS[1]], [stall()])
    hub = GitHubServer(FILES)
    hub.on("read_file", always=faults.refuse(500, "Boom"))
    with dashboard(tmp_path, "team/tool", script=script, github=hub, REPO_AGENT_BREAKER_THRESHOLD="2") as (
        terminal,
        *_,
    ):
        terminal.see(re.compile(r"read_file.*OPEN (2\d|30) s.*2/2"))
        seconds = int(re.findall(r"OPEN (\d+) s", terminal.text)[0])
        terminal.see(re.compile(rf"OPEN {seconds - 1} s"))
        terminal.send("q")
        assert terminal.end() == 0


def test_a_failed_run_says_why_and_stays_on_the_screen(tmp_path: Path) -> None:
    hub = GitHubServer(FILES, token="t", private=True)
    with dashboard(tmp_path, "team/nowhere", script=(), github=hub) as (terminal, *_):
        terminal.see("failed", re.compile(r"team/nowhere"))
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_without_a_mouse_the_terminal_keeps_it(tmp_path: Path) -> None:
    with dashboard(tmp_path, "--no-mouse", script=()) as (terminal, *_):
        terminal.see(*TITLES)
        assert terminal.modes() & MOUSE == set()
        leave(terminal)
        assert terminal.end() == 0


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (60, 20), (20, 5)])
def test_a_small_terminal_is_survived(tmp_path: Path, columns: int, rows: int) -> None:
    script = (CALLS, [say("# Tiny\n\nIt fits.")])
    with dashboard(tmp_path, "team/tool", script=script, columns=columns, rows=rows) as (terminal, _, model):
        wait_until(lambda: terminal.read() and model.turns == 2, seconds=20)
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()
        assert b"Traceback" not in terminal.raw

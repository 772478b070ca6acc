"""Breakers and limits on a real terminal: what is seen of them, and the hands on them."""

from __future__ import annotations

import re
from pathlib import Path

from tests.servers import faults
from tests.servers.github import GitHubServer
from tests.servers.http import Gate, wait_until
from tests.servers.turns import call, pause, say
from tests.test_end_to_end_dashboard import FILES, WHO, dashboard

FINAL = [say("# Report")]
READ = call("read_file", {**WHO, "path": "README.md"})
OTHER = call("read_file", {**WHO, "path": "src/main.py"})


def test_a_breaker_opens_half_opens_for_a_probe_and_closes(tmp_path: Path) -> None:
    turn, reply = Gate(), Gate()
    hub = GitHubServer(FILES)
    hub.on("read_file", faults.refuse(500), faults.gated(reply))
    settings = {"REPO_AGENT_BREAKER_THRESHOLD": "1", "REPO_AGENT_BREAKER_RESET": "2"}
    with dashboard(tmp_path, "team/tool", script=([READ], [pause(turn), OTHER], FINAL), github=hub, **settings) as (
        terminal,
        *_,
    ):
        terminal.see(re.compile(r"read_file\s+OPEN 2 s\s+1/1"))
        terminal.see(re.compile(r"read_file\s+OPEN 1 s"))
        terminal.see(re.compile(r"read_file\s+OPEN 0 s"))
        turn.open()
        terminal.see(re.compile(r"read_file\s+HALF-OPEN"))
        reply.open()
        terminal.see(re.compile(r"read_file\s+CLOSED\s+0/1"), "completed")
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_capital_b_closes_and_i_holds_open(tmp_path: Path) -> None:
    first, second = Gate(), Gate()
    hub = GitHubServer(FILES)
    hub.on("read_file", faults.refuse(500))
    script = ([READ], [pause(first), OTHER], [pause(second), call("get_commits", WHO)], FINAL)
    with dashboard(tmp_path, "team/tool", script=script, github=hub, REPO_AGENT_BREAKER_THRESHOLD="1") as (
        terminal,
        *_,
    ):
        terminal.see(re.compile(r"read_file\s+OPEN (30|2\d) s"))
        terminal.send("B")
        terminal.see(re.compile(r"read_file\s+CLOSED\s+0/1"))
        first.open()
        wait_until(lambda: terminal.read() and len(hub.asked("read_file")) == 2, seconds=20)
        terminal.send("3")
        terminal.see(re.compile(r"›"))
        # The last row but two: get_commits.
        terminal.send("\x1b[F\x1b[A\x1b[A")
        terminal.see(re.compile(r"›get_commits"))
        terminal.send("i")
        terminal.see(re.compile(r"get_commits\s+OPEN ISOLATED"))
        second.open()
        terminal.see("completed")
        assert hub.asked("get_commits") == []
        terminal.send("i")
        terminal.see(re.compile(r"get_commits\s+CLOSED"))
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()


def test_a_wait_for_a_limit_counts_down_and_ends(tmp_path: Path) -> None:
    hub = GitHubServer(FILES)
    hub.on("get_commits", faults.secondary_limit("4"))
    with dashboard(tmp_path, "team/tool", script=([call("get_commits", WHO)], FINAL), github=hub) as (terminal, *_):
        for seconds in (3, 2, 1):
            terminal.see(re.compile(rf"limit, {seconds} s left"))
        terminal.see("completed")
        assert len(hub.asked("get_commits")) == 2
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()

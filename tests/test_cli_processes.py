"""The program in a process of its own: signals, pipes, and the dashboard on a terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli_fakes import be_alone, lines_until, process
from tests.test_runs import events_of
from tui_agent.runs.record import Recorder


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_alone(tmp_path, monkeypatch)


def test_stdout_takes_every_character_whatever_its_encoding() -> None:
    child = process("-p", "a/b", environ={"PYTHONIOENCODING": "ascii"})
    out, err = child.communicate(timeout=30)
    assert child.returncode == 0, err
    assert b"\\xe9 \\u706b" in out
    child = process("--json", "a/b", environ={"PYTHONIOENCODING": "latin-1"})
    out, err = child.communicate(timeout=30)
    assert json.loads(out.splitlines()[-1].decode("utf-8"))["report"].endswith("é 火\n")


# --- signals and pipes


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_cancels_the_run_which_still_says_its_end(name: str) -> None:
    child = process("--json", "a/b", "--model", "slow")
    assert child.stdout is not None
    lines_until(child.stdout, b"ready")
    child.send_signal(getattr(signal, name))
    out, err = child.communicate(timeout=30)
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["outcome"]) == ("run_finished", "cancelled")
    assert child.returncode == 130
    assert err == b"repo-agent-tui: interrupted.\n"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupted_print_says_what_there_is() -> None:
    child = process("-p", "a/b", "--model", "slow")
    assert child.stderr is not None
    lines_until(child.stderr, b"ready")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, out) == (130, b"")
    assert b"cancelled (" in err and b"Traceback" not in err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_second_interrupt_ends_at_once_and_a_second_terminate_does_not() -> None:
    child = process("--json", "a/b", "--model", "stubborn")
    assert child.stdout is not None
    lines_until(child.stdout, b"ready")
    child.send_signal(signal.SIGTERM)
    lines_until(child.stdout, b"not yet")
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=10)
    assert (child.returncode, err) == (130, b"")


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_nohup_outlives_the_terminal() -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    child = process("--json", "a/b", "--model", "slow", preexec_fn=ignore)
    assert child.stdout is not None
    lines_until(child.stdout, b"ready")
    child.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.3)
    child.send_signal(signal.SIGTERM)
    assert child.wait(30) == 130
    child.communicate()


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_of_events_that_goes_away_ends_the_run_quietly() -> None:
    child = process("--json", "a/b", "--model", "chatty")
    assert child.stdout is not None and child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(30) == 130
    assert child.stderr.read() == b""
    child.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_of_the_report_that_goes_away_is_no_error() -> None:
    child = process("-p", "a/b", "--model", "long")
    assert child.stdout is not None and child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(30) == 0
    err = child.stderr.read()
    assert b"completed (" in err and b"Broken" not in err and b"Traceback" not in err
    child.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
@pytest.mark.parametrize("argv", [["--help"], ["-p", "a/b"], ["--json", "a/b"]])
def test_streams_that_are_closed_from_the_start_are_borne(argv: list[str]) -> None:
    def close() -> None:
        os.close(0)
        os.close(1)
        os.close(2)

    child = process(*argv, preexec_fn=close, stdin=None, stdout=None, stderr=None)
    assert child.wait(30) == 0


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_trace_that_nobody_reads_does_not_stop_the_run() -> None:
    read, wrote = os.pipe()
    child = process("-p", "a/b", "--model", "long", stderr=wrote)
    os.close(read)
    os.close(wrote)
    out, _ = child.communicate(timeout=30)
    assert child.returncode == 0
    assert out.startswith(b"# Report") and out.endswith(b"line\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(("mode", "what"), [("-p", b"report"), ("--json", b"events")])
def test_a_full_disk_is_a_sentence_and_code_1(mode: str, what: bytes) -> None:
    with Path("/dev/full").open("wb") as full:
        child = process(mode, "a/b", stdout=full)
        _, err = child.communicate(timeout=30)
    assert child.returncode == 1
    last = err.splitlines()[-1]
    assert last == b"repo-agent-tui: the " + what + b" could not be written to stdout: No space left on device."


# --- on a terminal

pty = pytest.importorskip("pty")


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, *argv: str, **how: Any) -> None:
        import fcntl
        import struct
        import termios

        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        ends = {"stdin": slave, "stdout": slave, "stderr": slave} | how
        environ = {"TERM": "xterm-256color", "COLUMNS": "", "LINES": ""}
        self.child = process(*argv, environ=environ, start_new_session=True, preexec_fn=self.take, **ends)
        self.seen = b""

    def take(self) -> None:
        """Make the terminal the child's own, so that /dev/tty is it."""
        import fcntl
        import termios

        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)

    def read(self, seconds: float) -> bool:
        """Take in what is drawn within some seconds; whether there was anything."""
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.seen += os.read(self.master, 65536)
        return True

    def until(self, text: bytes, seconds: float = 30.0) -> None:
        """Read what is drawn until a text was seen."""
        end = time.monotonic() + seconds
        while text not in self.seen:
            over = self.child.poll() is not None or time.monotonic() > end
            assert self.read(0.1) or not over, f"{text!r} was never drawn; the last was {self.seen[-2000:]!r}"

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def end(self, seconds: float = 30.0) -> int:
        """Read on until the program has ended; its exit code."""
        end = time.monotonic() + seconds
        while self.child.poll() is None and time.monotonic() < end:
            self.read(0.05)
        while self.read(0):
            pass
        return self.child.wait(1)

    def is_restored(self) -> bool:
        """Whether the terminal is as it was: its attributes, and no alternate screen."""
        import termios

        left = self.seen.rfind(b"\x1b[?1049l") > self.seen.rfind(b"\x1b[?1049h")
        return left and termios.tcgetattr(self.slave)[:4] == self.before[:4]


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for one in opened:
        if one.child.poll() is None:
            one.child.kill()
            one.child.wait()
        os.close(one.master)
        os.close(one.slave)


def test_on_a_terminal_the_dashboard_opens_and_q_leaves_it_with_0(terminals: list[Terminal], tmp_path: Path) -> None:
    terminals.append(screen := Terminal("a/b", "-o", "r.md"))
    screen.until(b"completed")
    assert (tmp_path / "r.md").read_text().startswith("# Report")
    screen.type(b"q")
    assert screen.end() == 0
    assert screen.is_restored()


def test_a_recorded_run_opens_in_the_dashboard_and_an_unknown_one_is_a_sentence(terminals: list[Terminal]) -> None:
    recorder = Recorder(None, None)
    for event in events_of("abc123"):
        recorder(event)
    terminals.append(screen := Terminal("replay", "abc"))
    screen.until(b"completed")
    screen.type(b"q")
    assert screen.end() == 0
    assert screen.is_restored()
    terminals.append(screen := Terminal("replay", "nope"))
    assert screen.end() == 1
    assert b'There is no run "nope"' in screen.seen and b"\x1b[?1049h" not in screen.seen


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_the_dashboard_with_130_and_the_terminal_as_it_was(
    name: str, terminals: list[Terminal]
) -> None:
    terminals.append(screen := Terminal("a/b", "--model", "slow"))
    screen.until(b"ready")
    screen.child.send_signal(getattr(signal, name))
    assert screen.end() == 130
    assert screen.is_restored()


def test_a_second_interrupt_leaves_a_stubborn_dashboard_at_once(terminals: list[Terminal]) -> None:
    terminals.append(screen := Terminal("a/b", "--model", "stubborn"))
    screen.until(b"ready")
    screen.child.send_signal(signal.SIGINT)
    screen.until(b"not yet")
    screen.child.send_signal(signal.SIGINT)
    assert screen.end(5) == 130
    assert screen.is_restored()


def test_redirected_stdin_and_stderr_do_not_keep_the_dashboard_from_its_terminal(
    terminals: list[Terminal], tmp_path: Path
) -> None:
    with (tmp_path / "log").open("wb") as log:
        terminals.append(screen := Terminal("a/b", stdin=subprocess.DEVNULL, stderr=log))
        screen.until(b"completed")
        screen.type(b"q")
        assert screen.end() == 0
    assert (tmp_path / "log").read_bytes() == b""


def test_usage_errors_come_before_the_dashboard(terminals: list[Terminal]) -> None:
    for argv, says in ((["flask"], b"names no repository"), (["a/b", "-o", "x.y"], b"has to end in")):
        terminals.append(screen := Terminal(*argv))
        assert screen.end() == 2
        assert says in screen.seen and b"\x1b[?1049h" not in screen.seen


def test_an_unknown_theme_is_a_usage_error(terminals: list[Terminal], tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("REPO_AGENT_THEME=mauve")
    terminals.append(screen := Terminal("a/b"))
    assert screen.end() == 2
    assert b"REPO_AGENT_THEME (.env) must be one of" in screen.seen

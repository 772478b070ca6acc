"""The command line: what it takes, what it says, and with which code it ends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tui_agent.cli import LATER, main
from tui_agent.cli_options import COMMAND_HELP, OTHER_VARIABLES, build_parser
from tui_agent.events import (
    Emit,
    Notice,
    ReportDelta,
    RunFinished,
    RunStarted,
    Snapshot,
    ToolStarted,
    TurnStarted,
)
from tui_agent.request import RunRequest, UsageError
from tui_agent.settings import Settings, documented

ROOT = Path(__file__).parent.parent
KEY = "sk-hunter2-and-more"


class FakeSession:
    """A session that plays a short run; `FAKE` in its settings' model name says how it ends."""

    made: FakeSession

    def __init__(self, settings: Settings, *, chaos: str | None = None, demo: bool = False) -> None:
        if chaos == "nonsense":
            raise UsageError('"nonsense" is no fault.')
        FakeSession.made = self
        self.settings, self.chaos, self.demo = settings, chaos, demo
        self.requests: list[RunRequest] = []
        self.closed = False

    async def prepare(self) -> None:
        """Nothing is heavy here."""

    async def aclose(self) -> None:
        self.closed = True

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        self.requests.append(request)
        how = self.settings.model
        if how == "usage":
            raise UsageError("There is no such thing.")
        if how == "broken":
            raise RuntimeError(f"a bug with {self.settings.api_key}")
        emit(RunStarted(repo="a/b", source="github", ref=None, question="q", engine="llm", model=how, run_id="1"))
        emit(Snapshot(repo="a/b", ref="HEAD", commit="c" * 40, files=3, truncated=False, run_id="1"))
        emit(TurnStarted(turn=1, max_turns=15, run_id="1"))
        emit(ToolStarted(turn=1, call_id="x", tool="read_file", arguments={"path": "a\x1b[31m"}, run_id="1"))
        outcome: Any = how if how in ("partial", "failed") else "completed"
        try:
            if how in ("slow", "stubborn"):
                emit(Notice(level="info", text="ready", run_id="1"))
                await asyncio.sleep(60)
            if how == "chatty":
                for number in range(100_000):
                    emit(ReportDelta(turn=1, text=f"{number} " + "x" * 200, run_id="1"))
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            if how == "stubborn":
                emit(Notice(level="info", text="not yet", run_id="1"))
                await asyncio.sleep(60)
            emit(self.end("cancelled", ""))
            raise
        report = f"# Report\n\nfrom \x1b[31m{how} é 火\n" + ("line\n" * 100_000 if how == "long" else "")
        end = self.end(outcome, "" if outcome == "failed" else report)
        emit(end)
        return end

    def end(self, outcome: Any, report: str) -> RunFinished:
        error = {"failed": f"No such repository ({KEY}); try another.", "partial": "Turns ran out."}.get(outcome)
        return RunFinished(
            outcome=outcome,
            report=report,
            error=error,
            turns=1,
            tool_calls=1,
            requests=2,
            elapsed=0.1,
            run_id="1",
        )

    def listen(self, emit: Emit) -> None:
        """Nothing happens between runs here."""

    def reset_breaker(self, name: str | None = None) -> None:
        """No breaker here."""

    def isolate_breaker(self, name: str) -> None:
        """No breaker here."""

    def release_breaker(self, name: str) -> None:
        """No breaker here."""

    def inject(self, spec: str) -> None:
        """No fault here."""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine, a folder of one's own."""
    for setting in documented():
        for name in setting.names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def run(*argv: str) -> int:
    return main(argv, make_session=FakeSession)


def process(*argv: str, **how: Any) -> subprocess.Popen[bytes]:
    """The program in a process of its own, with the fake session."""
    code = (
        "import sys; from tui_agent.cli import main; from tests.test_cli import FakeSession;"
        "sys.exit(main(make_session=FakeSession))"
    )
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "API_KEY": KEY, **how.pop("environ", {})}
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *argv], env=environ, **(pipes | how))


def lines_until(stream: Any, text: bytes) -> list[bytes]:
    """Lines of a stream up to one that holds the text."""
    lines = []
    for line in stream:
        lines.append(line)
        if text in line:
            break
    return lines


# --- what is said without doing anything


def test_help_names_every_option_command_and_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    text = capsys.readouterr().out
    options = """-q --question --preset --ref --lang --engine --model --base-url --max-turns --max-tokens --no-cache
        --refresh -o --output -p --print --json --chaos --no-record --env-file --no-mouse --version --help""".split()
    for word in [*options, *COMMAND_HELP, *(name for setting in documented() for name in setting.names)]:
        assert word in text.replace(",", " ").split(), word
    for names in OTHER_VARIABLES:
        assert names in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()


def test_help_names_every_variable_that_the_code_reads() -> None:
    import re

    text = build_parser().format_help()
    for file in (ROOT / "tui_agent").rglob("*.py"):
        for name in re.findall(r"""environ(?:\.get\(|\[)["'](\w+)""", file.read_text(encoding="utf-8")):
            assert name in text, f"{file.name} reads {name}"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import tui_agent

    assert run("--version") == 0
    assert capsys.readouterr().out == f"repo-agent-tui {tui_agent.__version__}\n"


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["--nope"], ["runs"], ["a/b", "c/d"], []])
def test_what_needs_no_run_imports_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; from tui_agent.cli import main; main(sys.argv[1:]);"
        "heavy = {'textual', 'openai', 'httpx', 'dulwich', 'asyncio', 'rich', 'markdown_it', 'dotenv'};"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_python_m_is_the_same_program() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tui_agent", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (result.returncode, result.stdout.startswith("repo-agent-tui ")) == (0, True)


# --- usage errors: one sentence on stderr, exit code 2, no session


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--nope"], "there is no option --nope"),
        (["--api-key=sk-hunter2", "a/b"], "there is no option --api-key (see"),
        (["--quest", "x", "a/b"], "there is no option --quest"),
        (["--max-turns"], "--max-turns: expected one argument"),
        (["a/b", "--max-turns", "0"], "--max-turns must be a whole number of at least 1"),
        (["a/b", "--max-turns", "x"], "--max-turns must be"),
        (["a/b", "--max-tokens", "-5"], "--max-tokens must be"),
        (["a/b", "--base-url", "nowhere"], "--base-url must be"),
        (["a/b", "--model", ""], "--model needs a value"),
        (["a/b", "--lang", "en\nfr"], "--lang must be"),
        (["a/b", "--preset", "short"], "--preset: invalid choice"),
        (["a/b", "--engine", "best"], "--engine: invalid choice"),
        (["a/b", "-q", " "], "--question needs a value"),
        (["a/b", "--ref", ""], "--ref needs a value"),
        (["a/b", "-q", "what\udcff"], "--question is not valid text"),
        (["a/b", "-q", "x", "--preset", "full"], "not allowed with argument"),
        (["a/b", "-p", "--json"], "not allowed with argument"),
        (["a/b", "--engine", "llm"], "--engine llm needs a key: set API_KEY"),
        (["a/b", "--chaos", "nonsense"], "is no fault"),
        (["a/b", "--env-file", "gone"], "--env-file (gone) cannot be read"),
        (["a/b", "-o", "r.pdf"], "--output: r.pdf has to end in .md, .html or .json"),
        (["a/b", "-o", "none/r.md"], "there is no folder none"),
        (["a/b", "-o", ""], "--output needs a value"),
        (["a/b", "c/d"], "Comparing several repositories is not there yet"),
        (["a/b", "demo"], "Comparing several repositories is not there yet"),
        (["demo", "a/b"], "`demo` takes no repository"),
        (["demo", "--engine", "llm"], "`demo` brings its own model"),
        ([], "Which repository?"),
        (["--json"], "Which repository?"),
        ([""], "No repository was named"),
        (["flask"], "names no repository"),
        (["./none"], "There is no folder"),
        (["https://example.com/a/b"], "another host"),
        (["a/b", "--model", "usage"], "There is no such thing."),
    ],
)
def test_a_usage_error_is_one_sentence_and_code_2(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("repo-agent-tui: ") and says in err
    assert err.count("\n") == 1 and err.rstrip("\n").isprintable()
    assert "Traceback" not in err and "hunter2" not in err


@pytest.mark.parametrize("word", sorted(LATER))
def test_a_reserved_word_that_is_not_there_yet_says_so(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(word, "list", "--port", "80") == 2
    assert f"does not have `{word}` yet" in capsys.readouterr().err


def test_a_folder_of_a_reserved_name_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert run("-p", "./runs") == 0
    assert FakeSession.made.requests[0].repo == "./runs"


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("REPO_AGENT_MAX_TURNS", "many")
    assert run("-p", "a/b") == 2
    assert "REPO_AGENT_MAX_TURNS (in the environment) must be a whole number" in capsys.readouterr().err


def test_a_key_and_an_endpoint_of_a_cloned_folder_do_not_mix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    (tmp_path / ".env").write_text("REPO_AGENT_BASE_URL=https://evil.example")
    assert run("-p", "a/b") == 2
    err = capsys.readouterr().err
    assert "API_KEY" in err and "REPO_AGENT_BASE_URL" in err and "hunter2" not in err
    assert run("-p", "a/b", "--base-url", "https://mine.example") == 0


def test_config_toml_of_the_user_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "repo-agent-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("max_turns = 4")
    assert run("-p", "a/b") == 0
    if sys.platform == "linux":
        assert FakeSession.made.settings.max_turns == 4


# --- what is asked becomes the request


def test_options_become_settings_and_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "k")
    argv = """-p --ref v1 --lang zh --engine llm --model m --base-url https://h/v1 --max-turns 3 --max-tokens 99
        --no-cache --refresh --no-record --chaos read_file:500x2 -q why? a/b""".split()
    assert run(*argv) == 0
    session = FakeSession.made
    assert session.requests == [
        RunRequest(
            repo="a/b", question="why?", ref="v1", lang="zh", engine="llm", refresh=True, no_cache=True, preset="full"
        )
    ]
    settings = session.settings
    assert (settings.model, settings.base_url, settings.max_turns, settings.max_tokens) == ("m", "https://h/v1", 3, 99)
    assert (settings.record, settings.lang, session.chaos, session.demo) == (False, "zh", "read_file:500x2", False)
    assert session.closed


def test_options_may_stand_anywhere_and_a_preset_is_passed_on() -> None:
    assert run("a/b", "-p", "--preset", "overview") == 0
    assert FakeSession.made.requests[0] == RunRequest(repo="a/b", preset="overview")


def test_the_language_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPO_AGENT_LANG", "zh")
    assert run("-p", "a/b") == 0
    assert FakeSession.made.requests[0].lang == "zh"


def test_the_demo_is_a_session_of_its_own() -> None:
    assert run("demo", "--print") == 0
    assert FakeSession.made.demo


# --- without a dashboard


def test_print_puts_the_report_on_stdout_and_the_trace_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--print", "a/b", "--model", "m") == 0
    out, err = capsys.readouterr()
    assert out == "# Report\n\nfrom ␛[31mm é 火\n"
    assert "turn 1 of 15" in err and "call: read_file path=a␛[31m" in err
    assert "\x1b" not in err


def test_print_is_assumed_where_stdout_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a/b") == 0
    assert capsys.readouterr().out.startswith("# Report")


def test_json_puts_one_event_a_line_on_stdout_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "a/b") == 0
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["type"] for event in events] == [
        "run_started",
        "snapshot",
        "turn_started",
        "tool_started",
        "run_finished",
    ]
    assert events[-1]["report"].startswith("# Report\n\nfrom \x1b[31m")
    assert err == "" and "\x1b" not in out


def test_a_partial_report_is_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "a/b", "--model", "partial") == 0
    out, err = capsys.readouterr()
    assert out.startswith("# Report") and "Turns ran out." in err


@pytest.mark.parametrize("mode", ["--print", "--json"])
def test_a_failed_run_is_one_sentence_and_code_1(
    mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    assert run(mode, "a/b", "--model", "failed") == 1
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "repo-agent-tui: No such repository ([secret]); try another."
    assert "hunter2" not in out + err
    if mode == "--json":
        assert json.loads(out.splitlines()[-1])["outcome"] == "failed" and err.count("\n") == 1
    else:
        assert out == ""


def test_a_bug_is_one_sentence_and_code_1_without_a_traceback_or_a_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    assert run("-p", "a/b", "--model", "broken") == 1
    err = capsys.readouterr().err
    assert err.startswith("repo-agent-tui: something broke that should not (RuntimeError") and err.count("\n") == 1
    assert "hunter2" not in err
    assert FakeSession.made.closed


@pytest.mark.parametrize("suffix", [".md", ".html", ".json"])
def test_output_is_written_beside_what_is_printed(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"r{suffix}"
    path.write_text("old")
    assert run("-p", "a/b", "-o", str(path)) == 0
    text = path.read_text(encoding="utf-8")
    assert "Report" in text and "c" * 40 in text + "c" * 40 * (suffix == ".md")
    assert capsys.readouterr().out.startswith("# Report")
    assert run("--json", "a/b", "-o", str(path)) == 0


def test_a_failed_run_leaves_the_output_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("old")
    assert run("-p", "a/b", "-o", str(path), "--model", "failed") == 1
    assert path.read_text() == "old"


@pytest.mark.parametrize("mode", ["--print", "--json"])
def test_output_that_cannot_be_written_is_said_and_the_report_still_comes(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(mode, "a/b", "-o", "r.md") == 1
    out, err = capsys.readouterr()
    assert "# Report" in out
    assert err.splitlines()[-1].endswith("The report was not saved: r.md cannot be written: No space left on device.")
    if mode == "--json":
        events = [json.loads(line) for line in out.splitlines()]
        assert [event["type"] for event in events[-2:]] == ["notice", "run_finished"]


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

"""A session for the command line's tests, and the program with it in a process of its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    """A session that plays a short run; the model named in its settings says how it ends."""

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


def be_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings of the machine, and a working folder of one's own."""
    for setting in documented():
        for name in setting.names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.chdir(folder)


def process(*argv: str, **how: Any) -> subprocess.Popen[bytes]:
    """The program in a process of its own, with the fake session."""
    code = (
        "import sys; from tui_agent.cli import main; from tests.cli_fakes import FakeSession;"
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

"""Other systems and other terminals, as far as one can stand in for them here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Label

from tests.servers.program import environment
from tests.servers.terminal import Terminal
from tui_agent import clipboard
from tui_agent.clipboard import Tool
from tui_agent.paths import is_path
from tui_agent.tui.copying import CopyingApp

# --- systems without what only POSIX has

HIDDEN = """
import importlib, os, pkgutil, signal, sys
for name in ("textual.app", "openai", "httpx2", "dulwich.repo", "hishel", "aiohttp", "textual_serve.server",
             "mcp.server", "uvicorn", "starlette.applications", "platformdirs", "yaml", "dotenv", "subprocess",
             "asyncio", "uuid", "textual.drivers.web_driver", "sqlite3", "getpass", "multiprocessing.synchronize"):
    importlib.import_module(name)
for name in ("fcntl", "termios", "resource", "pwd", "grp", "tty", "pty"):
    sys.modules[name] = None
for module, names in ((os, "O_NOFOLLOW O_NONBLOCK O_CLOEXEC O_DIRECTORY getuid geteuid fchmod fork getpgrp tcgetpgrp"),
                      (signal, "SIGHUP SIGKILL SIGQUIT SIGTSTP")):
    for name in names.split():
        vars(module).pop(name, None)
import tui_agent
# The terminal's own driver, which is imported only where a picture stands on one.
only_there = {"tui_agent.tui.driver", "tui_agent.__main__"}
for found in pkgutil.walk_packages(tui_agent.__path__, "tui_agent."):
    if found.name not in only_there:
        importlib.import_module(found.name)
from tui_agent.start import main
sys.argv = ["repo-agent-tui", "--engine", "survey", "--print", *sys.argv[1:]]
sys.exit(main())
"""


def test_every_module_is_imported_and_a_run_goes_through_without_what_only_posix_has(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Tool\n\nA tool.\n")
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN, "."], env=environment(tmp_path), cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "README.md" in done.stdout


@pytest.mark.parametrize(
    ("text", "anywhere", "on_windows"),
    [
        ("./x", True, True),
        (".", True, True),
        ("..\\x", True, True),
        (".\\x", True, True),
        ("/x", True, True),
        ("~/x", True, True),
        ("C:\\x", False, True),
        ("c:/x", False, True),
        ("\\\\server\\share", False, True),
        ("C:x", False, False),
        ("owner/name", False, False),
        ("git@github.com:owner/name.git", False, False),
        ("https://github.com/owner/name", False, False),
        ("", False, False),
    ],
)
def test_a_path_is_known_by_how_it_begins(text: str, anywhere: bool, on_windows: bool) -> None:
    assert is_path(text, windows=False) is anywhere
    assert is_path(text, windows=True) is on_windows


# --- terminals


@pytest.mark.parametrize("term", ["dumb", "xterm-256color"])
def test_a_line_mode_for_screen_readers_redraws_nothing(term: str, tmp_path: Path) -> None:
    """`--print` on a terminal, and whatever is started on a dumb one: lines, one below the other, and nothing else."""
    (tmp_path / "README.md").write_text("# Tool \x1b[31mred\x1b[0m\n\nA tool.\n")
    asked = [] if term == "dumb" else ["--print"]
    env = environment(tmp_path, TERM=term, FORCE_COLOR="1")
    with Terminal("--engine", "survey", *asked, ".", env=env, cwd=tmp_path, columns=60) as terminal:
        assert terminal.end() == 0
    assert b"README.md" in terminal.raw
    assert b"\x1b" not in terminal.raw and b"\x08" not in terminal.raw
    assert re.sub(rb"\r\n", b"", terminal.raw).count(b"\r") == 0, "the terminal itself ends lines by CR LF"


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({"NO_COLOR": "1"}, False), ({"COLORTERM": "", "TERM": "xterm", "FORCE_COLOR": "1"}, True)],
)
def test_colours_are_as_the_terminal_and_the_person_want_them(
    variables: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    with Terminal(env=environment(tmp_path, **variables), cwd=tmp_path, columns=100, rows=30) as terminal:
        terminal.see("Trace", "Breakers", "Report")
        terminal.send("\x1b")
        terminal.see("q quit")
        found = {
            (cell.fg, cell.bg)
            for line in terminal.screen.buffer.values()
            for cell in line.values()
            if cell.data.strip()
        }
        terminal.send("q")
        assert terminal.end() == 0
    channels = {colour for pair in found for colour in pair if re.fullmatch("[0-9a-f]{6}", colour)}
    greys = {colour for colour in channels if colour[:2] == colour[2:4] == colour[4:]}
    assert (len(channels - greys) + len({c for p in found for c in p} - channels - {"default"}) > 0) is coloured, found


# --- the clipboard


@pytest.mark.parametrize(
    ("platform", "variables", "there", "found"),
    [
        ("darwin", {}, {"pbcopy"}, "pbcopy"),
        ("darwin", {"SSH_CONNECTION": "x"}, {"pbcopy"}, None),
        ("darwin", {"SSH_TTY": "x", "TMUX": "x"}, {"pbcopy", "tmux"}, "tmux load-buffer"),
        ("win32", {}, {"clip.exe"}, "clip.exe"),
        ("linux", {"WSL_DISTRO_NAME": "Ubuntu"}, {"clip.exe"}, "clip.exe"),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, {"wl-copy", "xclip"}, "wl-copy"),
        ("linux", {"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, {"xsel"}, "xsel"),
        ("linux", {"DISPLAY": "localhost:10.0", "SSH_TTY": "x"}, {"wl-copy", "xclip"}, "xclip"),
        ("linux", {"TMUX": "x"}, {"xclip", "tmux"}, "tmux load-buffer"),
        ("linux", {"DISPLAY": ":0"}, set(), None),
        ("linux", {}, {"xclip", "wl-copy", "xsel", "pbcopy"}, None),
    ],
)
def test_a_copy_goes_where_the_person_is(
    platform: str, variables: dict[str, str], there: set[str], found: str | None
) -> None:
    tool = clipboard.tool(variables, platform, lambda name: name if name in there else None)
    assert (tool.name if tool else None) == found


class Desk(CopyingApp):
    """An application that copies by a program."""

    def __init__(self, tool: Tool) -> None:
        super().__init__()
        self.__dict__["clipboard_tool"] = tool
        self.asked: list[str] = []

    def compose(self) -> Any:
        yield Label("desk")

    async def settled(self) -> None:
        await self.workers.wait_for_complete()


def program(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Tool:
    path = folder / "xclip"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return Tool(("xclip",))


async def test_a_copy_goes_to_the_systems_clipboard_as_it_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = Desk(program(tmp_path, monkeypatch, f"cat > '{tmp_path}/copied'"))
    async with app.run_test():
        app.copy_to_clipboard("an é 二\x1b]0;title\x07\n")
        await app.settled()
        assert app.clipboard.startswith("an é 二")
    copied = (tmp_path / "copied").read_text(encoding="utf-8")
    assert copied == app.clipboard and "\x1b" not in copied


async def test_where_the_program_fails_the_terminal_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Desk(program(tmp_path, monkeypatch, "exit 1"))
    async with app.run_test():
        written: list[str] = []
        monkeypatch.setattr(app._driver, "write", written.append)
        app.copy_to_clipboard("text")
        await app.settled()
    assert any(piece.startswith("\x1b]52;c;") for piece in written)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux is installed here")
def test_inside_tmux_a_copy_is_in_its_newest_buffer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)
    tmux = ["tmux", "-L", uuid.uuid4().hex[:8]]
    subprocess.run([*tmux, "-f", os.devnull, "new-session", "-d", "sleep 60"], check=True)
    try:
        socket = subprocess.run([*tmux, "display", "-p", "#{socket_path},1,0"], capture_output=True, text=True).stdout
        monkeypatch.setenv("TMUX", socket.strip())
        tool = clipboard.tool({"TMUX": socket, "SSH_TTY": "x"})
        assert tool is not None and tool.copy("from the report")
        shown = subprocess.run([*tmux, "show-buffer"], capture_output=True, text=True, check=True).stdout
        assert shown == "from the report"
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)

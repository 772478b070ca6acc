"""What the terminal can do, as far as its variables tell: nothing is asked of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping

from tui_agent import clipboard
from tui_agent.frontends.doctor.finding import Finding

FULL, LEAST = (100, 24), (60, 20)
"""Columns and rows from which on all five panes are seen, and from which on the dashboard is comfortable."""
PATIENCE = 2.0
"""Seconds that tmux may take to answer."""
# Known by their documentation to take OSC 52, by TERM or by TERM_PROGRAM.
_COPYING = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "iterm", "contour", "rio", "vscode", "windowsterminal")


def terminal(environ: Mapping[str, str], *, is_terminal: bool, size: tuple[int, int]) -> list[Finding]:
    """Size, colours, mouse, characters and clipboard.

    Args:
        environ: the environment.
        is_terminal: whether stdout is one.
        size: its columns and rows.
    """
    if not is_terminal:
        text = "stdout is no terminal: --print is assumed there, and nothing was looked at"
        return [Finding("terminal", "skipped", text)]
    name = environ.get("TERM", "")
    if name in ("", "dumb", "unknown"):
        text = f"TERM is {name or 'not set'}: the dashboard does not open, --print is assumed"
        return [Finding("terminal", "attention", text, "in a terminal that can draw, set TERM (xterm-256color)")]
    return [_size(size), _colours(environ, name), _mouse(environ, name), _characters(), _clipboard(environ, name)]


def _size(size: tuple[int, int]) -> Finding:
    text = f"{size[0]} by {size[1]}"
    if size[0] >= FULL[0] and size[1] >= FULL[1]:
        return Finding("size", "ok", f"{text}: all five panes")
    if size[0] >= LEAST[0] and size[1] >= LEAST[1]:
        return Finding("size", "ok", f"{text}: the panes are tabs; from {FULL[0]} by {FULL[1]} on all five are seen")
    return Finding("size", "attention", f"{text} is small", f"make the window at least {LEAST[0]} by {LEAST[1]}")


def _colours(environ: Mapping[str, str], name: str) -> Finding:
    if environ.get("NO_COLOR"):
        return Finding("colours", "ok", "none, since NO_COLOR is set; words and shapes tell everything as well")
    depth = environ.get("COLORTERM", "").lower()
    if depth in ("truecolor", "24bit"):
        return Finding("colours", "ok", "16 million")
    if "256color" in name or "direct" in name:
        return Finding("colours", "ok", "256; COLORTERM=truecolor gives more, where the terminal has them")
    todo = "if the terminal has more, set COLORTERM=truecolor, or TERM to one that ends in -256color"
    return Finding("colours", "attention", f"16, as far as TERM={name} tells", todo)


def _mouse(environ: Mapping[str, str], name: str) -> Finding:
    if name == "linux":
        return Finding("mouse", "attention", "the console of Linux has none", "everything works by keys (? lists them)")
    if environ.get("TMUX") and _tmux("mouse") == "off":
        return Finding("mouse", "ok", "taken by the dashboard while it runs; tmux's own is off (--no-mouse: neither)")
    return Finding("mouse", "ok", "taken by the dashboard while it runs; --no-mouse leaves it to the terminal")


def _characters() -> Finding:
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
    if encoding == "utf8":
        return Finding("characters", "ok", "UTF-8")
    todo = "set LANG to a UTF-8 locale, such as en_US.UTF-8 or C.UTF-8 (or PYTHONUTF8=1)"
    return Finding("characters", "attention", f"{encoding}: lines and signs may be missing", todo)


def _clipboard(environ: Mapping[str, str], name: str) -> Finding:
    outside = {variable: value for variable, value in environ.items() if variable != "TMUX"}
    if (tool := clipboard.tool(outside)) is not None:
        return Finding("clipboard", "ok", f"y copies by {tool.name}")
    if environ.get("TMUX"):
        said = _tmux("set-clipboard")
        if said in ("external", "off"):
            todo = "tmux set -g set-clipboard on (and the same line in ~/.tmux.conf); s saves the report meanwhile"
            return Finding("clipboard", "attention", f"tmux passes no copy on: set-clipboard is {said}", todo)
        if said == "on":
            return Finding("clipboard", "ok", "y copies by OSC 52, which tmux passes on to its terminal")
    if environ.get("STY"):
        text = "GNU screen passes no copy (OSC 52) on"
        return Finding("clipboard", "attention", text, "use s to save the report, or tmux in screen's place")
    program = environ.get("TERM_PROGRAM", "")
    if program == "Apple_Terminal":
        text = "Apple's Terminal takes no copy (OSC 52)"
        return Finding("clipboard", "attention", text, "use s to save the report, or another terminal (iTerm2, kitty)")
    signs = [name, program, "kitty" if environ.get("KITTY_WINDOW_ID") else ""]
    signs += ["windowsterminal"] if environ.get("WT_SESSION") else []
    if any(known in sign.lower() for known in _COPYING for sign in signs):
        return Finding("clipboard", "ok", "y copies by OSC 52, which this terminal takes")
    return Finding("clipboard", "ok", "y copies by OSC 52; if this terminal does not take it, s saves the report")


def _tmux(option: str) -> str | None:
    """An option of the tmux that this runs in; None where it does not tell."""
    program = shutil.which("tmux")
    if program is None:
        return None
    scope = "-gsv" if option == "set-clipboard" else "-gv"
    try:
        done = subprocess.run(
            [program, "show-options", scope, option],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return done.stdout.strip() or None

"""The system's own clipboard, by the program that each system has for it; elsewhere the terminal is asked (OSC 52)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

PATIENCE = 3.0
"""Seconds that a clipboard's program may take: one that cannot reach its display may wait for ever."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that takes a text on its standard input and puts it on a clipboard.

    Args:
        argv: what is executed; its first word is found on the path.
        encoding: of the text.
    """

    argv: tuple[str, ...]
    encoding: str = "utf-8"

    @property
    def name(self) -> str:
        """What people call it."""
        return " ".join(self.argv[:2]) if self.argv[0] == "tmux" else self.argv[0]

    def copy(self, text: str) -> bool:
        """Put a text there, which blocks; whether that could be done."""
        program = shutil.which(self.argv[0])
        if program is None:
            return False
        try:
            # Some stay behind to hand the text out, and would hold a pipe open.
            done = subprocess.run(
                [program, *self.argv[1:]],
                input=text.encode(self.encoding, "replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
            )
        except (OSError, subprocess.SubprocessError):
            return False
        return done.returncode == 0


def tool(
    environ: Mapping[str, str],
    platform: str = sys.platform,
    which: Callable[[str], str | None] = shutil.which,
) -> Tool | None:
    """What reaches the clipboard of whoever sits at the terminal; None where only the terminal itself can.

    Over SSH the machine's own clipboard is the wrong one: there the terminal's is asked, through tmux if need be.

    Args:
        environ: the environment.
        platform: as `sys.platform`.
        which: finds a program on the path.
    """
    remote = "SSH_CONNECTION" in environ or "SSH_TTY" in environ
    found: list[Tool] = []
    if not remote:
        if platform == "darwin":
            found.append(Tool(("pbcopy",)))
        elif platform == "win32" or "WSL_DISTRO_NAME" in environ:
            found.append(Tool(("clip.exe",), "utf-16"))
        if environ.get("WAYLAND_DISPLAY"):
            found.append(Tool(("wl-copy",)))
    # A display that came along with SSH is the one in front of the person.
    if environ.get("DISPLAY"):
        found += [Tool(("xclip", "-selection", "clipboard")), Tool(("xsel", "--clipboard", "--input"))]
    if environ.get("TMUX"):
        # -w: and on to the terminal's clipboard, whatever `set-clipboard` says of programs inside.
        found.append(Tool(("tmux", "load-buffer", "-w", "-")))
    return next((one for one in found if which(one.argv[0])), None)

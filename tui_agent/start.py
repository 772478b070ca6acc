"""Where the program begins: the first picture, then everything else."""

from __future__ import annotations

import gc
import os
import sys

from tui_agent import i18n
from tui_agent.splash import INTERRUPTED, NAME, show


def main() -> int:
    """Run the program with what was typed; the exit code."""
    if sys.argv[1:] == ["--version"]:
        return _say_version()
    # The collector would walk again and again through what is imported; whoever ends importing switches it on.
    gc.disable()
    i18n.use(i18n.typed(sys.argv[1:], os.environ))
    with show(sys.argv[1:]) as splash:
        try:
            from tui_agent.cli import main as run
        except KeyboardInterrupt:
            # Without a picture, and with nothing begun.
            return INTERRUPTED
        return run(splash=splash)


def _say_version() -> int:
    """The short way to the version, past everything that a run needs; the exit code."""
    from tui_agent import __version__

    try:
        print(f"{NAME} {__version__}", flush=True)
    except (OSError, ValueError):
        # Nobody reads it; nor is there anybody to tell so when the stream is flushed at the end.
        sys.stdout = None
    return 0

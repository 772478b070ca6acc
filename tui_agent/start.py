"""Where the program begins: the first picture, then everything else."""

from __future__ import annotations

import gc
import sys

from tui_agent.splash import INTERRUPTED, show


def main() -> int:
    """Run the program with what was typed; the exit code."""
    # The collector would walk again and again through what is imported; whoever ends importing switches it on.
    gc.disable()
    with show(sys.argv[1:]) as splash:
        try:
            from tui_agent.cli import main as run
        except KeyboardInterrupt:
            # Without a picture, and with nothing begun.
            return INTERRUPTED
        return run(splash=splash)

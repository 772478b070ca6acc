"""The program's own words on stdout and stderr, whoever reads them, or nobody."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tui_agent.redact import Redactor


def complain(text: str, redact: Redactor | None = None) -> None:
    """Say one sentence on stderr, safe for a terminal; nobody may be listening."""
    # Where nothing is wrong, nothing of it is needed.
    from tui_agent.i18n import told
    from tui_agent.safe_text import one_line

    line = f"repo-agent-tui: {one_line(told(redact(text) if redact else text))}\n"
    if write(sys.stderr, line) is not None:
        silence(sys.stderr)


def write(stream: TextIO | None, text: str) -> OSError | None:
    """Write and flush; what went wrong, if anything did. Where there is no stream, nothing is written."""
    try:
        if stream is not None:
            stream.write(text)
            stream.flush()
    except OSError as error:
        return error
    except ValueError as error:
        # A closed stream.
        return BrokenPipeError(str(error))
    return None


def silence(stream: TextIO | None) -> None:
    """Point a stream that nobody reads at nothing, so that flushing it at exit says nothing either.

    Source: Python's documentation, `signal`, "Note on SIGPIPE".
    """
    try:
        if stream is not None:
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, stream.fileno())
            os.close(nothing)
    except (OSError, ValueError):
        # No descriptor: nothing will be flushed into it.
        return


def reconfigure(stream: TextIO | None, encoding: str | None = None) -> None:
    """Let a stream take every character: what its encoding lacks is written as an escape."""
    change = getattr(stream, "reconfigure", None)
    if change is not None:
        change(encoding=encoding, errors="backslashreplace")


def quiet_logs() -> None:
    """Keep the libraries' own words off stderr, which belongs to the trace; `python -X dev` shows them."""
    # `--help` does without.
    import logging

    if not sys.flags.dev_mode:
        logging.getLogger().addHandler(logging.NullHandler())

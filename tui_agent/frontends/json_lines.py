"""Events as JSON lines: one object a line, flushed as it happens, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TextIO

from tui_agent.events import Event, to_json
from tui_agent.redact import Redactor
from tui_agent.safe_json import dumps


class JsonLines:
    """Writes each event to a stream as one line.

    Args:
        stream: where the lines go, as UTF-8; None for nowhere.
        redact: takes secrets out of them.
        on_closed: called once when nobody takes lines any more: the reader has gone, or the disk is full.

    Attributes:
        trouble: why writing ended; None while it works. A reader that has gone is a BrokenPipeError.
    """

    def __init__(self, stream: TextIO | None, redact: Redactor, on_closed: Callable[[], None]) -> None:
        self._stream = stream
        self._redact = redact
        self._on_closed = on_closed
        self.trouble: OSError | None = None

    def __call__(self, event: Event) -> None:
        """Write one event; once writing has failed, do nothing."""
        if self._stream is None or self.trouble is not None:
            return
        line = self._redact(dumps(to_json(event))) + "\n"
        try:
            self._stream.write(line)
            self._stream.flush()
        except (OSError, ValueError) as error:
            # A closed stream is a ValueError.
            self.trouble = error if isinstance(error, OSError) else BrokenPipeError(str(error))
            self._on_closed()

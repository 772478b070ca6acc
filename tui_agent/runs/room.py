"""Keeps the records within bounds: the oldest go first, never one that is being written."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from tui_agent.runs.locks import is_locked

MOST_RECORDS = 200
MOST_BYTES = 200_000_000
"""What all records together may take."""
NAME = re.compile(r"\d{8}-\d{6}-(\w{1,40})\.jsonl")
"""A record's name: when it began (UTC), and the run. What is named otherwise is somebody else's."""


def own_files(folder: Path) -> list[tuple[Path, int]]:
    """The records of a folder with their sizes in bytes, the oldest first.

    Raises:
        OSError: the folder cannot be read.
    """
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found.append((Path(entry.path), status.st_size))
    return sorted(found)


def make_room(folder: Path, records: int = MOST_RECORDS, size: int = MOST_BYTES) -> None:
    """Delete the oldest records until one more fits.

    Args:
        folder: the place.
        records: how many there may be, the coming one included.
        size: bytes that those which are there may take.
    """
    files = own_files(folder)
    count, total = len(files) + 1, sum(size for _, size in files)
    for path, length in files:
        if count <= records and total <= size:
            return
        if not is_locked(path):
            # Another process may have been faster.
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            count, total = count - 1, total - length

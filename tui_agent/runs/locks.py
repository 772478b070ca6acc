"""Whether a record is being written just now: its writer holds a lock on it, which ends with the process.

Where the system has no `flock`, no record counts as being written.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - not on this system
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True


def lock(descriptor: int) -> None:
    """Hold a file as its writer until it is closed; who only looks whether it is held is waited for."""
    if _HAS_LOCKS:
        # Some network file systems have no locks either.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)


def is_locked(path: Path) -> bool:
    """Whether some process, this one included, is writing the file; False where that cannot be known."""
    if not _HAS_LOCKS:
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False

"""Reading files that somebody else prepared: regular ones only, never waiting, never more than asked for."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

SMALL = 4 * 1024 * 1024
"""Bytes of a file that is read whole for what it says (refs, ignore files, configuration)."""
# Opening a FIFO for reading waits for a writer, unless told not to; on Windows text mode would change bytes.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)


def open_regular(path: str | bytes, *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: where it is.
        follow: whether a symbolic link at the end of the path may be followed.

    Raises:
        OSError: it cannot be read, or is no regular file.
    """
    if not follow and not _NOFOLLOW and os.path.islink(path):  # noqa: PTH114 - the path may be bytes
        raise OSError(f"a symbolic link: {path!r}")
    descriptor = os.open(path, _FLAGS | (0 if follow else _NOFOLLOW))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"not a regular file: {path!r}")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_small(path: str | bytes, *, limit: int = SMALL, follow: bool = True) -> bytes | None:
    """The content of a small regular file; None where there is none to be had.

    Args:
        path: where it is.
        limit: bytes; a larger file counts as none.
        follow: whether a symbolic link may be followed.
    """
    try:
        with open_regular(path, follow=follow) as file:
            content = file.read(limit + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= limit else None

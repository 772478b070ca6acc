"""Folders that are the user's alone."""

from __future__ import annotations

import errno
from pathlib import Path


def make_private(folder: Path) -> None:
    """A folder for the user alone, made with what is missing above it; a user without a home gets none.

    Raises:
        OSError: it cannot be made, or others cannot be kept out of it.
        RuntimeError: nobody knows where this user's home is.
    """
    home = Path.home()
    if home in folder.parents and not home.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no home folder", str(home))
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        # As the XDG base directory specification asks for.
        missing.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_mode & 0o077:
        folder.chmod(0o700)

"""Which texts name a folder of this machine, on each system."""

from __future__ import annotations

import os
import re

_WINDOWS = os.name == "nt"
# C:\x, C:/x, \\server\share, \x. `C:x` means a folder that depends on the drive's own working folder.
_ROOTED = re.compile(r"[A-Za-z]:[\\/]|\\")


def is_path(text: str, *, windows: bool = _WINDOWS) -> bool:
    r"""Whether a text is a path: it begins with `.`, `/` or `~`; on Windows with `\` or a drive (`C:\`) as well.

    Args:
        text: as it was typed.
        windows: whether the system is Windows.
    """
    return text[:1] in {".", "/", "~"} or (windows and _ROOTED.match(text) is not None)

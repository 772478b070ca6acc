"""What this machine has: Python, packages, extras, and the folders that the program writes into."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from tui_agent import __version__
from tui_agent.frontends.doctor.finding import Finding

LEAST = (3, 11)
"""What `pyproject.toml` asks for."""
EXTRAS = {"mcp": "mcp", "serve": "textual_serve"}
"""An extra, and the module that it brings."""
_PACKAGES = ("textual", "openai", "httpx")


def python() -> Finding:
    """The interpreter and the packages that do the work."""
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    text = f"repo-agent-tui {__version__} on Python {platform.python_version()} ({sys.platform}); {', '.join(found)}"
    if sys.version_info < LEAST:
        return Finding("program", "problem", text, f"use Python {LEAST[0]}.{LEAST[1]} or newer")
    if missing:
        todo = f"install again, in a clean environment: pip install repo-agent-tui (missing: {', '.join(missing)})"
        return Finding("program", "problem", text, todo)
    return Finding("program", "ok", f"{text}; a git program is not needed")


def extras() -> Finding:
    """What only some installations have."""
    has = {extra: find_spec(module) is not None for extra, module in EXTRAS.items()}
    text = "; ".join(f"{extra} installed" if there else f"{extra} not installed" for extra, there in has.items())
    missing = [extra for extra, there in has.items() if not there]
    todo = f"only if you want it: pip install 'repo-agent-tui[{','.join(missing)}]'" if missing else ""
    return Finding("extras", "ok", text, todo)


def cache() -> Finding:
    """The replies of GitHub that are kept."""
    import sqlite3

    from tui_agent.transports.cache_store import LIMIT, ForeignFile, Store, cache_folder, is_damage

    def look() -> Finding:
        store = Store(cache_folder())
        try:
            totals = store.totals()
            whole = store.is_whole()
        except (sqlite3.Error, ForeignFile) as error:
            if not is_damage(error):
                raise OSError(str(error)) from error
            whole = False
        finally:
            store.close()
        if not whole:
            text = f"its file in {store.folder} is damaged, or not ours"
            return Finding("cache", "attention", text, "a run sets it aside by itself; `cache clear` deletes it")
        size = _size(totals.size, LIMIT)
        text = f"1 reply, {size}" if totals.entries == 1 else f"{totals.entries:,} replies, {size}"
        return _usable("cache", store.folder, text)

    return _looked("cache", look, "--no-cache does without")


def records() -> Finding:
    """The runs that are recorded."""
    from tui_agent.runs.store import RecordError, RunStore

    def look() -> Finding:
        store = RunStore()
        try:
            runs = store.list()
        except RecordError as error:
            return Finding("records", "problem", str(error), "make the folder yours, or use --no-record")
        size = sum(path.stat().st_size for path in store.folder.glob("*")) if store.folder.is_dir() else 0
        text = f"1 run, {size / 1e6:.1f} MB" if len(runs) == 1 else f"{len(runs)} runs, {size / 1e6:.1f} MB"
        finding = _usable("records", store.folder, text)
        if store.unreadable and finding.state == "ok":
            text = f"{finding.text}; {store.unreadable} cannot be read as a run by this version"
            return Finding("records", "attention", text, "move them away, if nothing else needs them")
        return finding

    return _looked("records", look, "--no-record does without")


def _looked(name: str, look: Callable[[], Finding], todo: str) -> Finding:
    """What a look at a folder tells, or why there was none."""
    try:
        return look()
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        return Finding(name, "problem", f"the folder cannot be used: {why}", todo)


def _usable(name: str, folder: Path, text: str) -> Finding:
    """Whether something can be written into a folder that the program would make if it were not there."""
    if not folder.exists():
        above = next(place for place in folder.parents if place.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return Finding(name, "problem", f"{folder} cannot be made: {above} is not yours to write", _elsewhere(name))
        return Finding(name, "ok", f"nothing is kept yet; {folder} will be made")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        text = f"{folder} takes no file: {error.strerror or 'unknown reason'}"
        return Finding(name, "problem", text, _elsewhere(name))
    return Finding(name, "ok", f"{text} in {folder}")


def _elsewhere(name: str) -> str:
    variable = "XDG_CACHE_HOME" if name == "cache" else "XDG_STATE_HOME"
    return f"make it yours (chown, chmod u+rwx), or name another place with {variable}; until then nothing is kept"


def _size(size: int, limit: int) -> str:
    return f"{size / 1e6:,.1f} of at most {limit / 1e6:,.0f} MB"

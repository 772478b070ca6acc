"""`repo-agent-tui cache`: where the kept replies lie, how many and how large they are; `cache clear` forgets them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from tui_agent.i18n import say
from tui_agent.request import UsageError
from tui_agent.safe_text import cell_width
from tui_agent.transports.cache_store import LIMIT, ForeignFile, Store, cache_folder, is_damage


class CacheError(Exception):
    """The cache cannot be used; the text is one sentence."""


def answer(arguments: Sequence[str], folder: Path | None = None) -> str:
    """What the command says.

    Args:
        arguments: what was typed behind `cache`: nothing, or `clear`.
        folder: where the replies lie; None for this user's place.

    Raises:
        UsageError: something else was typed.
        CacheError: the cache cannot be used.
    """
    commands: dict[tuple[str, ...], Callable[[Store], str]] = {(): _show, ("clear",): _clear}
    command = commands.get(tuple(arguments))
    if command is None:
        raise UsageError("`cache` shows what is kept of GitHub's replies, `cache clear` forgets it; it takes no more.")
    store = Store(cache_folder() if folder is None else folder)
    try:
        return command(store)
    except (sqlite3.Error, OSError, ForeignFile) as error:
        why = getattr(error, "strerror", None) or str(error)
        if is_damage(error):
            why = "its file is damaged or not ours; `cache clear` deletes it"
        raise CacheError(f"The cache in {store.folder} cannot be used: {why}.") from error
    finally:
        store.close()


def _show(store: Store) -> str:
    totals = store.totals()
    size = say("{size} of at most {most}", size=_megabytes(totals.size), most=_megabytes(LIMIT))
    facts = ((say("place"), store.folder), (say("size"), size), (say("entries"), f"{totals.entries:,}"))
    wide = max(cell_width(name) for name, _ in facts) + 2
    return "\n".join(f"{name}{' ' * (wide - cell_width(name))}{fact}" for name, fact in facts)


def _clear(store: Store) -> str:
    try:
        before = store.totals()
    except (sqlite3.DatabaseError, ForeignFile) as error:
        if not is_damage(error):
            raise
        # Clearing deletes what was set aside.
        store.set_aside()
        before = store.totals()
    store.clear()
    return say("forgotten: {entries:,} entries, {size}", entries=before.entries, size=_megabytes(before.size))


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"

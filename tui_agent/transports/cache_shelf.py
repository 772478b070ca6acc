"""The kept replies as the event loop uses them: in a thread of their own, and never at the cost of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from tui_agent.github.kept import Tell
from tui_agent.safe_text import one_line
from tui_agent.transports.cache_store import Record, Store, is_damage

T = TypeVar("T")


class Shelf:
    """A store behind one thread. What fails there is told once: then it is left alone, and GitHub is asked.

    Args:
        store: used by this shelf alone.

    Attributes:
        is_open: whether anything may be read; once it may not, it stays so.
    """

    def __init__(self, store: Store) -> None:
        self.is_open = True
        self._takes = True
        self._store = store
        # Not the loop's own pool: a write that waits for another process would hold up what else runs there.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cache")

    async def read(self, key: bytes, tell: Tell) -> Record | None:
        """The reply of a key, if it is there."""
        record = await self._do(tell, lambda: self._store.read(key))
        if record is not None and self._store.is_long_unused(record):
            await self._do(tell, lambda: self._store.touch(key), changes=True)
        return record

    async def write(self, key: bytes, record: Record, tell: Tell) -> None:
        """Keep a reply."""
        await self._do(tell, lambda: self._store.write(key, record), changes=True)

    async def amend(self, key: bytes, record: Record, tell: Tell) -> None:
        """Give a reply another head."""
        await self._do(tell, lambda: self._store.amend(key, record), changes=True)

    async def remove(self, key: bytes, tell: Tell) -> None:
        """Forget a reply."""
        await self._do(tell, lambda: self._store.remove(key), changes=True)

    async def aclose(self) -> None:
        """Close the file."""
        if self.is_open:
            self.is_open = False
            await asyncio.get_running_loop().run_in_executor(self._thread, self._store.close)
        self._thread.shutdown(wait=False)

    async def _do(self, tell: Tell, work: Callable[[], T], *, changes: bool = False) -> T | None:
        """What comes of the work; None where it could not be done."""
        told: list[str] = []

        def job() -> T | None:
            # Those before it in the queue may have found that nothing goes any more.
            if not self.is_open or (changes and not self._takes):
                return None
            try:
                return self._repaired(work, told)
            except Exception as error:
                # Whatever it is: told, never thrown; and the first trouble alone, since one says it all.
                if self._takes:
                    told.append(self._say(error, changes=changes))
                self._give_up(changes=changes)
                return None

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, job) if self.is_open else None
        finally:
            for sentence in told:
                tell(sentence)

    def _repaired(self, work: Callable[[], T], told: list[str]) -> T:
        """What comes of the work; where the file is damaged or foreign, of the work with a new one."""
        try:
            return work()
        except Exception as error:
            if not is_damage(error):
                raise
            name = self._store.set_aside()
            told.append(f"The cache's file {name} is damaged or not ours: it was set aside, and a new one begun.")
            return work()

    def _give_up(self, *, changes: bool) -> None:
        self._takes = False
        if not changes:
            self.is_open = False
            self._store.close()

    def _say(self, error: Exception, *, changes: bool) -> str:
        why = one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__, 100)
        where = one_line(f"The cache in {self._store.folder}", 200)
        if changes:
            return f"{where} takes no more replies ({why}); what it has is still used."
        return f"{where} cannot be used ({why}); every request goes to GitHub."

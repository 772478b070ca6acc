"""The repositories that a client of the MCP server may name, each at the commit where it was first looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tui_agent.agent.reasons import unreachable
from tui_agent.events import Emit, RunFinished
from tui_agent.github.address import parse
from tui_agent.github.errors import GitHubError
from tui_agent.paths import is_path
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import Clock
from tui_agent.resilience.outcome import BreakerOpen, Trouble, Unavailable
from tui_agent.safe_text import one_line
from tui_agent.settings import Settings
from tui_agent.tools.workspace import Workspace

LOCAL = "local"
KEPT = 8
"""Snapshots that are kept; the one that was not used for longest goes first."""
LONGEST_REST = 1800.0
"""Seconds without a question after which a snapshot is taken anew: a server may live for days."""
# A folder that cannot be: no answer tells a client which folders there are.
_NOWHERE = Path("\0")


class Refused(Exception):
    """What a client asks for is not to be had; the text is one sentence."""


class Reader(Protocol):
    """What is needed of a session."""

    @property
    def settings(self) -> Settings:
        """What holds in this process."""

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One analysis."""

    async def workspace(self, request: RunRequest, emit: Emit) -> Workspace:
        """A snapshot and what reads it."""


def served(folders: Iterable[str]) -> dict[str, Path]:
    """The folders that a server is started with, by the name that a client calls them.

    Args:
        folders: as they were typed.

    Raises:
        UsageError: one is no folder, or two have the same name.
    """
    found: dict[str, Path] = {}
    for typed in folders:
        address = parse(typed if is_path(typed) else f"./{typed}")
        assert address.local_path is not None
        if found.setdefault(address.name, address.local_path) != address.local_path:
            raise UsageError(f"Two folders are named {one_line(address.name, 80)}: a server takes only one of a name.")
    return found


@dataclass(slots=True)
class _Pinned:
    """One snapshot, once it has been taken."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    work: Workspace | None = None
    used: float = 0.0


class Repositories:
    """Opens what clients name, and holds on to it, so that every answer speaks of the same commit.

    Args:
        session: reads.
        folders: local repositories, by name; no other folder is ever opened.
        clock: tells how long a snapshot has rested.
        no_cache: neither read nor write the disk cache.
    """

    def __init__(self, session: Reader, folders: Mapping[str, Path], clock: Clock, *, no_cache: bool = False) -> None:
        self._session = session
        self._folders = dict(folders)
        self._clock = clock
        self._no_cache = no_cache
        self._pinned: dict[tuple[str, str | None], _Pinned] = {}

    @property
    def local(self) -> list[str]:
        """The local repositories by the names that a client writes."""
        return [f"{LOCAL}/{name}" for name in self._folders]

    def request(self, repo: str, ref: str | None) -> RunRequest:
        """What is asked of a session where a client names a repository.

        Args:
            repo: `owner/name`, a URL, or `local/<folder>`.
            ref: branch, tag or commit; None for the default branch.

        Raises:
            Refused: no such repository may be read.
        """
        repo = repo.strip()
        owner, _, name = repo.partition("/")
        if owner.lower() == LOCAL:
            return RunRequest(repo=str(self._folder(name)), ref=ref, no_cache=self._no_cache)
        if is_path(repo):
            raise Refused(f"No folder is opened by its path. {self._which()}")
        try:
            parse(repo, api_url=self._session.settings.github_api_url, cwd=_NOWHERE)
        except UsageError as error:
            raise Refused(str(error)) from None
        return RunRequest(repo=repo, ref=ref, no_cache=self._no_cache)

    async def workspace(self, owner: str, repo: str, ref: str | None, emit: Emit) -> Workspace:
        """The snapshot of a repository, taken on first use.

        Args:
            owner, repo: two plain names; for a local repository `local` and the folder's.
            ref: branch, tag or commit; None for the default branch.
            emit: is handed the events of the requests.

        Raises:
            Refused: it cannot be had; the sentence says why.
        """
        if "/" in owner + repo or not owner.strip() or not repo.strip():
            raise Refused("owner and repo are two plain names, such as pallets and flask.")
        request = self.request(f"{owner}/{repo}", ref)
        key = (request.repo if self._is_local(request) else request.repo.lower(), ref)
        pinned = self._pinned.get(key)
        if pinned is None or (pinned.work is not None and self._clock.monotonic() - pinned.used > LONGEST_REST):
            pinned = _Pinned()
        self._keep(key, pinned)
        # Whoever asks meanwhile waits; if the first one leaves, the next takes over.
        async with pinned.lock:
            if pinned.work is None:
                try:
                    pinned.work = await self._take(request, emit)
                    self._keep(key, pinned)
                finally:
                    if pinned.work is None and self._pinned.get(key) is pinned:
                        del self._pinned[key]
            pinned.used = self._clock.monotonic()
            return pinned.work

    def _keep(self, key: tuple[str, str | None], pinned: _Pinned) -> None:
        """Put a snapshot where the latest used stands."""
        self._pinned.pop(key, None)
        self._pinned[key] = pinned
        while len(self._pinned) > KEPT:
            del self._pinned[next(iter(self._pinned))]

    async def _take(self, request: RunRequest, emit: Emit) -> Workspace:
        try:
            return await self._session.workspace(request, emit)
        except UsageError as error:
            raise Refused(str(error)) from None
        except GitHubError as error:
            raise Refused(f"{error.sentence[:1].upper()}{error.sentence[1:]}") from None
        except BreakerOpen as error:
            # Nobody who is asked here could reset it.
            raise Refused(f"{error.reason} Try again later.") from None
        except (Trouble, Unavailable) as error:
            has_token = self._session.settings.github_token is not None
            raise Refused(unreachable(error, local=self._is_local(request), has_token=has_token)) from None

    def _is_local(self, request: RunRequest) -> bool:
        return request.repo in map(str, self._folders.values())

    def _folder(self, name: str) -> Path:
        """A folder that the server was started with.

        Raises:
            Refused: it is none of them.
        """
        if name not in self._folders:
            raise Refused(f"There is no local repository {one_line(f'{LOCAL}/{name}', 80)}. {self._which()}")
        return self._folders[name]

    def _which(self) -> str:
        """Which local repositories there are, in a sentence."""
        if not self._folders:
            return "This server was started without local repositories: `repo-agent-tui mcp FOLDER` serves one."
        return f"The local repositories of this server are {', '.join(one_line(name, 80) for name in self.local)}."

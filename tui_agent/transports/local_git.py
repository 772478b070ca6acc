"""A local git repository, or a plain folder, that answers GitHub's REST routes: the transport under the client.

Nothing of the repository is ever executed: no hook, no filter, no command of its configuration. All
that is asked of it is read in threads; a request that nobody waits for any more ends its thread.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import httpx

from tui_agent.safe_text import visible
from tui_agent.transports.local_folder import FolderSource
from tui_agent.transports.local_git_objects import DiskObjects, Objects, StoredObjects
from tui_agent.transports.local_git_place import GitPlace, find_git, may_enter
from tui_agent.transports.local_git_refs import HEAD, DiskRefs, StoredRefs
from tui_agent.transports.local_git_reftable import ReftableRefs
from tui_agent.transports.local_git_source import GitSource
from tui_agent.transports.local_git_status import count_changes
from tui_agent.transports.local_replies import error
from tui_agent.transports.local_routes import Question, answer
from tui_agent.transports.local_source import Kind, LocalRepositoryError, Refusal, Source, Stop
from tui_agent.transports.local_text import decode_name

if TYPE_CHECKING:
    from dulwich.repo import BaseRepo

__all__ = ["LocalRepositoryError", "LocalTransport"]

T = TypeVar("T")


class LocalTransport(httpx.AsyncBaseTransport):
    """Answers GET requests for any host and any `…/repos/{owner}/{repo}/…` out of one repository or folder.

    Args:
        source: what is asked.
        name: `local/<folder>`.
        root: the folder that is read; None for a repository in memory.
    """

    def __init__(self, source: Source, name: str, root: Path | None = None) -> None:
        self.name = name
        self.root = root
        self._source = source
        self._changes: Callable[[Stop], int] | None = None

    @classmethod
    def open(cls, path: Path) -> LocalTransport:
        """Open what a path names.

        Args:
            path: a git repository, a folder within one (then the whole repository is read), or any other folder.

        Raises:
            LocalRepositoryError: there is nothing that could be read; the text is one plain sentence.
        """
        folder = _existing_folder(path)
        place = find_git(folder)
        if place is None:
            return cls(FolderSource(str(folder)), _name(folder), folder)
        objects = DiskObjects(f"{place.common_dir}/objects")
        store = ReftableRefs if place.reftable else DiskRefs
        refs = store(place.git_dir, place.common_dir)
        refs.read(HEAD)  # says at once where a reftable cannot be read
        source = GitSource(objects, refs, git_dir=place.common_dir, bare=place.work_tree is None)
        transport = cls(source, _name(place.root), place.root)
        if place.work_tree is not None:
            transport._changes = _changes(place, objects, source)
        return transport

    @classmethod
    def from_repo(cls, repo: BaseRepo, name: str) -> LocalTransport:
        """A transport over a repository that dulwich holds, such as one in memory; it is not closed here.

        Args:
            repo: the repository.
            name: what it is to be called, `owner/name`.
        """
        source = GitSource(StoredObjects(repo.object_store), StoredRefs(repo.refs), bare=True)
        return cls(source, name)

    @property
    def kind(self) -> Kind:
        """What is read: a git repository or a plain folder."""
        return self._source.kind

    async def uncommitted_changes(self) -> int:
        """How many files differ from the last commit: staged, changed, deleted, untracked and not ignored.

        0 where there is no working tree to differ. No filter or hook is run to find out.
        """
        if self._changes is None:
            return 0
        try:
            return await _in_thread(self._changes)
        except Refusal as refusal:
            raise LocalRepositoryError(refusal.message) from refusal

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request (httpx calls this)."""
        if request.method != "GET":
            return httpx.Response(404, json=error(Refusal(404, "Not Found")), request=request)
        path, _, query = request.url.raw_path.decode("ascii").partition("?")
        question = Question(
            url=f"{request.url.scheme}://{request.url.netloc.decode('ascii')}",
            path=path,
            query=query,
            accept=request.headers.get("accept", ""),
            if_none_match=request.headers.get("if-none-match", ""),
        )
        reply = await _in_thread(lambda stop: answer(self._source, self.name, question, stop))
        return httpx.Response(reply.status, headers=reply.headers, content=reply.body, request=request)

    async def aclose(self) -> None:
        """Give back what is held open; a later request opens it again."""
        await asyncio.to_thread(self._source.close)


async def _in_thread(work: Callable[[Stop], T]) -> T:
    """Do blocking work in a thread, and end it there when its task is cancelled."""
    stop = Stop()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()


def _changes(place: GitPlace, objects: Objects, source: GitSource) -> Callable[[Stop], int]:
    return lambda stop: count_changes(place, objects, source.head_tree(), stop)


def _existing_folder(path: Path) -> Path:
    """The folder that a path names, its symbolic links resolved."""
    shown = _show(path)
    try:
        folder = path.expanduser().resolve()
        if not folder.exists():
            raise LocalRepositoryError(f"There is no folder {shown}.")
        if not folder.is_dir():
            raise LocalRepositoryError(f"{shown} is a file; name the folder or git repository that it is in.")
        if not may_enter(folder):
            raise LocalRepositoryError(f"{shown} cannot be read: permission denied.")
    except (OSError, RuntimeError, ValueError) as trouble:
        reason = getattr(trouble, "strerror", None) or trouble
        raise LocalRepositoryError(f"{shown} cannot be read: {reason}.") from trouble
    return folder


def _name(folder: Path) -> str:
    return f"local/{decode_name(os.fsencode(folder.name)) or 'root'}"


def _show(path: Path | str) -> str:
    return visible(decode_name(os.fsencode(path)), keep="")

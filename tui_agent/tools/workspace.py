"""What the tools of one run work on: its snapshot, its files' texts, and where a path leads."""

from __future__ import annotations

import asyncio
import base64
from dataclasses import dataclass, field
from posixpath import normpath
from typing import Any

from tui_agent.github.client import GitHubClient, Reply, route
from tui_agent.github.text import Decoded, decode
from tui_agent.github.tree import Entry, RepositorySnapshot
from tui_agent.resilience.call import Call

_KEPT_BLOBS = 64
_MAX_LINKS = 16
_LONGEST_TARGET = 4096
"""Bytes of a path (Linux's PATH_MAX)."""
_BIG = 64 * 1024
"""Bytes from which on decoding is done in a thread."""
_LONGEST_QUOTE = 200


class ToolError(Exception):
    """The tool cannot answer that; the text tells the model why, in one sentence."""


def quoted(text: str) -> str:
    """A text of the model's or the repository's as it stands in a sentence: in quotes, on one line, not endless."""
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


@dataclass
class Workspace:
    """What the tools of one run work on.

    Args:
        client: asks GitHub.
        snapshot: the run's repository at its commit.
    """

    client: GitHubClient
    snapshot: RepositorySnapshot
    _blobs: dict[str, Decoded] = field(default_factory=dict)
    _fetching: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def text(self, call: Call, entry: Entry) -> Decoded:
        """The text of a file, remembered by its SHA, and asked for once however many want it.

        Raises:
            GitHubError, Trouble, Unavailable: it could not be had.
        """
        async with self._fetching.setdefault(entry.sha, asyncio.Lock()):
            known = self._blobs.pop(entry.sha, None)
            if known is None:
                data = await self._blob(call, entry.sha)
                known = await asyncio.to_thread(decode, data) if len(data) > _BIG else decode(data)
                while len(self._blobs) >= _KEPT_BLOBS:
                    del self._blobs[next(iter(self._blobs))]
            # the latest used stands last
            self._blobs[entry.sha] = known
            return known

    async def _blob(self, call: Call, sha: str) -> bytes:
        def read(_: Reply, data: Any) -> bytes:
            if data.get("encoding", "base64") == "utf-8":
                content = str(data["content"]).encode()
            else:
                content = base64.b64decode("".join(data["content"].split()), validate=True)
            if len(content) != data.get("size", len(content)):
                raise ValueError("the content is not whole")
            return content

        path = route("repos", self.snapshot.owner, self.snapshot.name, "git", "blobs", sha)
        return await self.client.get(call, path, read)


@dataclass(frozen=True, slots=True)
class Found:
    """What a path leads to.

    Args:
        path: as it is named in the repository.
        entry: what stands there, symbolic links followed.
    """

    path: str
    entry: Entry

    @property
    def symlink_to(self) -> str | None:
        """Where a symbolic link on the way has led, if there was one."""
        return self.entry.path if self.entry.path != self.path else None


async def find(work: Workspace, call: Call, path: str) -> Found:
    """What a path leads to, however the model writes it (`/src/`, `./src`).

    Raises:
        ToolError: nothing is there, or it leads out of the repository.
    """
    # A name may really begin with a blank: the exact text is looked up first.
    entry = await _walk(work, call, path) if all(path.split("/")) else None
    if entry is not None:
        return Found(path, entry)
    for named in dict.fromkeys((tidy_path(path), tidy_path(path.strip()))):
        entry = await _walk(work, call, named)
        if entry is not None:
            return Found(named, entry)
    raise _missing(work.snapshot, tidy_path(path.strip()))


def recall(snapshot: RepositorySnapshot, path: str) -> Entry | None:
    """What is known of a path without a request."""
    try:
        return snapshot.known(path) or snapshot.known(tidy_path(path.strip()))
    except ToolError:
        return None


def tidy_path(path: str) -> str:
    """A path from the root in the tree's own form.

    Raises:
        ToolError: it leads out of the repository.
    """
    text = normpath(path.strip("/") or ".")
    if text == ".." or text.startswith("../"):
        raise ToolError(f"The path {quoted(path)} leads out of the repository.")
    return "" if text == "." else text


async def _walk(work: Workspace, call: Call, path: str) -> Entry | None:
    """What stands at a path of the tree, symbolic links on the way and at its end followed."""
    snapshot, links = work.snapshot, 0
    here, rest = "", path.split("/") if path else []
    while rest:
        step = f"{here}/{rest[0]}" if here else rest[0]
        entry = await snapshot.entry(call, step)
        if entry is None:
            if links:
                raise ToolError(f"{quoted(path)} leads by a symbolic link to {quoted(step)}, which does not exist.")
            return None
        here, rest = step, rest[1:]
        if entry.kind == "symlink":
            links += 1
            if links > _MAX_LINKS:
                raise ToolError(f"{quoted(path)} is a symbolic link that leads in a circle.")
            target = tidy_path("/".join([await _target(work, call, entry), *rest]))
            here, rest = "", target.split("/") if target else []
    return await snapshot.entry(call, here)


async def _target(work: Workspace, call: Call, link: Entry) -> str:
    """Where a symbolic link points to, from the root."""
    is_path = (link.size or 0) <= _LONGEST_TARGET
    target = (await work.text(call, link)).text if is_path else None
    if not target:
        raise ToolError(f"{quoted(link.path)} is a symbolic link to nowhere.")
    path = normpath("/".join([*link.path.split("/")[:-1], target]))
    if target.startswith("/") or path == ".." or path.startswith("../"):
        raise ToolError(
            f"{quoted(link.path)} is a symbolic link out of the repository (to {quoted(target)}); it is not followed."
        )
    return path


def _missing(snapshot: RepositorySnapshot, path: str) -> ToolError:
    parts = path.split("/")
    for i in range(1, len(parts)):
        above = snapshot.known("/".join(parts[:i]))
        if above is not None and above.kind != "dir":
            return ToolError(f"There is no {quoted(path)}: {quoted(above.path)} is a {above.kind}{instead(above)}.")
    name = parts[-1].lower()
    near = [quoted(entry.path) for entry in snapshot.all_files() if name and entry.name.lower() == name][:3]
    hint = f"There is {', '.join(near)}." if near else "List its directory to see what is there."
    return ToolError(f"There is no {quoted(path)} at this commit. {hint}")


def instead(entry: Entry) -> str:
    """What to do with an entry of this kind, to be put behind its name."""
    return {
        "dir": ": call list_directory",
        "file": ": call read_file",
        "submodule": f" (commit {entry.sha[:12]} of another repository, whose files are not here)",
        "symlink": "",
    }[entry.kind]

"""The tools themselves: each a function from checked arguments to what the model is told."""

from __future__ import annotations

import asyncio
import base64
import re
from dataclasses import dataclass, field
from posixpath import dirname, normpath
from typing import Any

from tui_agent.events import JsonObject
from tui_agent.github.client import GitHubClient, Reply, route
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import Entry, RepositorySnapshot, describe
from tui_agent.github.text import Decoded, decode
from tui_agent.resilience.call import Call
from tui_agent.tools.globs import compile_glob

CONTENT_LIMIT = 6000
"""Characters of a file in one answer."""
LIST_LIMIT = 200
"""Entries of a list in one answer."""
BLOB_LIMIT = 12 * 1024 * 1024
"""Bytes of a file: in base64, with its line breaks, that is what a reply may have."""
_KEPT_BLOBS = 64
_MAX_LINKS = 8


class ToolError(Exception):
    """The tool cannot answer that; the text tells the model why, in one sentence."""


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

    async def blob(self, call: Call, entry: Entry) -> Decoded:
        """The text of a file, remembered by its SHA."""
        known = self._blobs.get(entry.sha)
        if known is not None:
            return known

        def read(_: Reply, data: Any) -> bytes:
            if data.get("encoding", "base64") == "utf-8":
                return str(data["content"]).encode()
            return base64.b64decode(data["content"], validate=False)

        snapshot = self.snapshot
        path = route("repos", snapshot.owner, snapshot.name, "git", "blobs", entry.sha)
        data = await self.client.get(call, path, read)
        decoded = await asyncio.to_thread(decode, data) if len(data) > 65536 else decode(data)
        while len(self._blobs) >= _KEPT_BLOBS:
            del self._blobs[next(iter(self._blobs))]
        self._blobs[entry.sha] = decoded
        return decoded


def clean_path(path: str) -> str:
    """A path from the root, as models write it (`/src/`, `./src`), in the tree's own form.

    Raises:
        ToolError: it leads out of the repository.
    """
    text = path.strip().strip("/")
    if text in ("", "."):
        return ""
    text = normpath(text)
    if text == ".." or text.startswith("../"):
        raise ToolError(f"The path {path!r} leads out of the repository.")
    return "" if text == "." else text


async def _find(work: Workspace, call: Call, path: str) -> Entry | None:
    # A name may really begin with a blank or hold `..` signs: the exact text is looked up first.
    return await work.snapshot.entry(call, path) or await work.snapshot.entry(call, clean_path(path))


def _missing(work: Workspace, path: str) -> ToolError:
    name = path.strip("/").rpartition("/")[2].lower()
    near = [entry.path for entry in work.snapshot.all_files() if name and entry.name.lower() == name][:3]
    hint = f" There is {', '.join(near)}." if near else " List its directory to see what is there."
    return ToolError(f"There is no {path!r} at this commit.{hint}")


async def get_repo_info(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """Facts about the repository as a whole; what the server marks as a placeholder is left out."""
    snapshot = work.snapshot
    data = snapshot.about or await describe(work.client, call, snapshot.owner, snapshot.name)
    unknown = set(data.get("placeholders") or ())
    licence = data.get("license")
    facts = {
        "full_name": data.get("full_name"),
        "description": data.get("description"),
        "homepage": data.get("homepage"),
        "language": data.get("language"),
        "topics": data.get("topics"),
        "default_branch": data.get("default_branch"),
        "stars": None if "stargazers_count" in unknown else data.get("stargazers_count"),
        "forks": None if "forks_count" in unknown else data.get("forks_count"),
        "open_issues": None if "open_issues_count" in unknown else data.get("open_issues_count"),
        "watchers": None if "subscribers_count" in unknown else data.get("subscribers_count"),
        "created_at": None if "created_at" in unknown else data.get("created_at"),
        "updated_at": None if "updated_at" in unknown else data.get("updated_at"),
        "pushed_at": None if "pushed_at" in unknown else data.get("pushed_at"),
        "size_kb": None if "size" in unknown else data.get("size"),
        "archived": None if "archived" in unknown else data.get("archived"),
        "fork": data.get("fork") or None,
        "parent": (data.get("parent") or {}).get("full_name"),
        "private": data.get("private") or None,
        "local": data.get("local"),
    }
    result: JsonObject = {"ok": True}
    result.update({name: value for name, value in facts.items() if value not in (None, "", [])})
    result["license"] = (licence.get("spdx_id") or licence.get("name")) if isinstance(licence, dict) else None
    return result


async def list_directory(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """What a directory holds, folded where it is long."""
    snapshot = work.snapshot
    asked = arguments.get("path", "")
    entry = await _find(work, call, asked)
    if entry is None:
        raise _missing(work, asked)
    if entry.kind != "dir":
        raise ToolError(f"{entry.path!r} is a {entry.kind}, no directory{_instead(entry)}.")
    children = await snapshot.children(call, entry.path)
    children = sorted(children, key=lambda child: (child.kind != "dir", child.name))
    offset = arguments.get("offset", 0)
    shown = children[offset : offset + LIST_LIMIT]
    result: JsonObject = {
        "ok": True,
        "path": entry.path,
        "commit": snapshot.commit,
        "entries": [_listed(snapshot, child) for child in shown],
        "total_entries": len(children),
    }
    if offset + len(shown) < len(children):
        rest = len(children) - offset - len(shown)
        result["more"] = f"{rest} more entries: call list_directory with offset={offset + len(shown)}."
    summary = snapshot.summary(entry.path)
    if summary is None:
        result["note"] = "The tree is too large to be counted; sizes below directories are not known."
    elif offset == 0:
        extensions = list(summary.by_extension.items())
        by_extension = {name: {"files": files, "size": size} for name, (files, size) in extensions[:15]}
        if extensions[15:]:
            files, size = (sum(values) for values in zip(*(item[1] for item in extensions[15:]), strict=True))
            by_extension["(other)"] = {"files": files, "size": size}
        result["files"] = summary.files
        result["size"] = summary.size
        result["by_extension"] = by_extension
        result["largest"] = [{"path": path, "size": size} for path, size in summary.largest]
    if not children:
        result["note"] = "The repository is empty." if entry.path == "" else "The directory is empty."
    return result


def _listed(snapshot: RepositorySnapshot, child: Entry) -> JsonObject:
    listed: JsonObject = {"name": child.name, "type": child.kind}
    if child.kind == "dir":
        counts = snapshot.counts(child.path)
        if counts is not None:
            listed["files"], listed["size"] = counts
    elif child.kind == "file" and child.size is not None:
        listed["size"] = child.size
    return listed


async def find_files(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """Files of the whole tree by a glob pattern."""
    pattern = arguments["pattern"].strip()
    try:
        matches = compile_glob(pattern)
    except ValueError as error:
        raise ToolError(str(error)) from None
    found = [entry for entry in work.snapshot.all_files() if matches(entry.path)]
    offset = arguments.get("offset", 0)
    shown = found[offset : offset + LIST_LIMIT]
    result: JsonObject = {
        "ok": True,
        "pattern": pattern,
        "total": len(found),
        "files": [{"path": entry.path, "size": entry.size} for entry in shown],
    }
    if offset + len(shown) < len(found):
        rest = len(found) - offset - len(shown)
        result["more"] = f"{rest} more files: call find_files with offset={offset + len(shown)}."
    if work.snapshot.truncated:
        result["note"] = "The tree is too large to be known whole: only directories that were listed are searched."
    return result


async def read_file(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """The text of one file, or a window of it."""
    asked = arguments["path"]
    entry = await _find(work, call, asked)
    if entry is None:
        raise _missing(work, asked)
    named = entry
    if entry.kind == "symlink":
        entry = await _follow(work, call, entry)
    if entry.kind != "file":
        raise ToolError(f"{named.path!r} is a {entry.kind}, no file{_instead(entry)}.")
    if (entry.size or 0) > BLOB_LIMIT:
        raise ToolError(f"{named.path!r} has {entry.size:,} bytes; files above {BLOB_LIMIT:,} bytes are not read.")
    decoded = await work.blob(call, entry)
    if decoded.text is None:
        raise ToolError(f"{named.path!r} ({entry.size or 0:,} bytes) cannot be shown: {decoded.remark}")
    result: JsonObject = {"ok": True, "path": named.path, "size": entry.size}
    if named is not entry:
        result["symlink_to"] = entry.path
    result.update(_window(decoded.text, arguments))
    result["encoding"] = decoded.encoding
    if decoded.remark:
        result["note"] = decoded.remark
    return result


def _window(text: str, arguments: JsonObject) -> JsonObject:
    if "start_line" in arguments or "end_line" in arguments:
        if "offset" in arguments:
            raise ToolError("Give either offset or start_line and end_line, not both.")
        begin, end = _lines(text, arguments.get("start_line", 1), arguments.get("end_line"))
    else:
        begin, end = arguments.get("offset", 0), len(text)
    if begin > len(text) or (begin == len(text) and text):
        raise ToolError(f"The file ends before that: it has {len(text):,} characters in {_line_count(text):,} lines.")
    content = text[begin : min(end, begin + CONTENT_LIMIT)]
    stop = begin + len(content)
    first_line = text.count("\n", 0, begin) + 1
    window: JsonObject = {
        "characters": len(text),
        "lines": _line_count(text),
        "first_line": first_line,
        "last_line": first_line + content.removesuffix("\n").count("\n"),
        "content": content,
        "truncated": stop < len(text),
    }
    if stop < len(text):
        window["rest"] = f"{len(text) - stop:,} more characters: call read_file with offset={stop}."
    return window


def _lines(text: str, first: int, last: int | None) -> tuple[int, int]:
    """Where lines `first` to `last` (both from 1, both within) begin and end."""
    if last is not None and last < first:
        raise ToolError("end_line lies before start_line.")
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    if first > len(starts):
        raise ToolError(f"The file has only {_line_count(text):,} lines.")
    begin = starts[first - 1]
    end = starts[last] if last is not None and last < len(starts) else len(text)
    return begin, end


def _line_count(text: str) -> int:
    return text.count("\n") + (0 if text == "" or text.endswith("\n") else 1)


async def _follow(work: Workspace, call: Call, link: Entry) -> Entry:
    """What a symbolic link leads to, within the repository only."""
    entry = link
    for _ in range(_MAX_LINKS):
        target = (await work.blob(call, entry)).text or ""
        path = normpath(f"{dirname(entry.path)}/{target}" if dirname(entry.path) else target)
        if target.startswith("/") or path == ".." or path.startswith("../"):
            raise ToolError(
                f"{link.path!r} is a symbolic link out of the repository (to {target!r}); it is not followed."
            )
        found = await work.snapshot.entry(call, "" if path == "." else path)
        if found is None:
            raise ToolError(f"{link.path!r} is a symbolic link to {target!r}, which does not exist at this commit.")
        if found.kind != "symlink":
            return found
        entry = found
    raise ToolError(f"{link.path!r} is a symbolic link that leads in a circle.")


def _instead(entry: Entry) -> str:
    return {
        "dir": ": call list_directory",
        "file": ": call read_file",
        "submodule": f" (commit {entry.sha[:12]} of another repository, whose files are not here)",
        "symlink": ": call read_file to follow it",
    }[entry.kind]


async def get_commits(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """The latest commits as of the snapshot, newest first."""
    snapshot = work.snapshot
    page = int(arguments.get("page", 1))
    params: dict[str, str | int] = {"per_page": arguments.get("per_page", 30), "page": page}
    if snapshot.commit is not None:
        params["sha"] = snapshot.commit
    path = clean_path(arguments.get("path", ""))
    if path:
        params["path"] = path

    def read(reply: Reply, data: Any) -> JsonObject:
        result: JsonObject = {"ok": True, "ref": snapshot.ref, "commits": [_commit(item) for item in data]}
        if path:
            result["path"] = path
        if 'rel="next"' in reply.headers.get("link", ""):
            result["more"] = f"There are older commits: call get_commits with page={page + 1}."
        elif not data:
            result["note"] = "There are no such commits."
        return result

    try:
        return await work.client.get(
            call, route("repos", snapshot.owner, snapshot.name, "commits"), read, params=params
        )
    except GitHubError as error:
        if error.status == 409:
            raise ToolError(f"There is no history: {error.sentence}") from None
        raise


def _commit(item: Any) -> JsonObject:
    commit = item["commit"]
    author = commit.get("author") or {}
    account = item.get("author") or {}
    first_line, _, _ = (commit.get("message") or "").partition("\n")
    result = {
        "sha": item["sha"],
        "message": first_line[:300],
        "author": author.get("name") or account.get("login"),
        "date": author.get("date"),
    }
    committed = (commit.get("committer") or {}).get("date")
    if result["date"] is None and committed:
        result["date"] = committed
    return result

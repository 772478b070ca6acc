"""A repository made of a few files in memory, asked by GitHub's REST routes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import httpx

DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit of the history, newest first where they stand in a list."""

    message: str = "Begin"
    author: str = "A. Author"
    date: str = "2024-05-01T12:00:00Z"
    files: tuple[str, ...] = ()


def git_hash(kind: str, data: bytes) -> str:
    """The SHA that git gives an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data).hexdigest()


@dataclass(slots=True)
class _Folder:
    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)


class FilesTransport(httpx.AsyncBaseTransport):
    """Answers for any owner and name, under any base path.

    Args:
        files: contents by path; None for a repository without a commit.
        commits: the history, newest first.
        about: fields of the repository's own reply that differ from the usual.
        refs: full names below `refs/`, all at the newest commit; the first one is the default branch.
        truncated: the whole tree is too large for one reply, which is cut after the root's own entries.
    """

    def __init__(
        self,
        files: Mapping[str, str | bytes] | None,
        *,
        commits: Sequence[Commit] = (Commit(),),
        about: Mapping[str, Any] | None = None,
        refs: Sequence[str] = ("heads/main",),
        truncated: bool = False,
    ) -> None:
        self._objects: dict[str, bytes] = {}
        self._trees: dict[str, list[dict[str, Any]]] = {}
        self._about = dict(about or {})
        self._refs = list(refs)
        self._truncated = truncated
        self._is_empty = files is None
        root = _Folder()
        for path, content in (files or {}).items():
            folder = root
            *parents, name = path.split("/")
            for parent in parents:
                folder = folder.folders.setdefault(parent, _Folder())
            folder.files[name] = _bytes(content) if isinstance(content, str) else content
        self.tree = self._add(root)
        self.size = sum(len(data) for data in self._objects.values())
        self.commits: list[dict[str, Any]] = []
        for commit in reversed(commits):
            self.commits.insert(0, self._commit(commit))

    @property
    def head(self) -> str:
        """The newest commit's SHA."""
        return str(self.commits[0]["sha"])

    def blob(self, path: str) -> str:
        """The SHA of a file."""
        return next(str(e["sha"]) for e in self._recursive(self.tree) if e["path"] == path)

    def folder(self, path: str) -> str:
        """The SHA of a folder."""
        return next(str(e["sha"]) for e in self._recursive(self.tree) if e["path"] == path and e["type"] == "tree")

    def _add(self, folder: _Folder) -> str:
        entries = []
        for name, data in folder.files.items():
            sha = git_hash("blob", data)
            self._objects[sha] = data
            entries.append({"path": name, "mode": "100644", "type": "blob", "sha": sha, "size": len(data)})
        for name, inner in folder.folders.items():
            entries.append({"path": name, "mode": "040000", "type": "tree", "sha": self._add(inner)})
        entries.sort(key=lambda e: str(e["path"]) + ("/" if e["type"] == "tree" else ""))
        raw = b"".join(
            _bytes(f"{str(e['mode']).lstrip('0')} {e['path']}") + b"\0" + bytes.fromhex(str(e["sha"])) for e in entries
        )
        sha = git_hash("tree", raw)
        self._trees[sha] = entries
        return sha

    def _commit(self, commit: Commit) -> dict[str, Any]:
        parents = [{"sha": parent["sha"]} for parent in self.commits[:1]]
        who = {"name": commit.author, "email": "a@example.org", "date": commit.date}
        data = {"author": who, "committer": who, "message": commit.message, "tree": {"sha": self.tree}}
        sha = git_hash("commit", json.dumps([data, parents]).encode())
        return {"sha": sha, "commit": data, "author": None, "committer": None, "parents": parents, "_": commit.files}

    def _recursive(self, sha: str) -> list[dict[str, Any]]:
        found = []
        for entry in self._trees[sha]:
            found.append(entry)
            if entry["type"] == "tree":
                inner = self._recursive(entry["sha"])
                found += [{**e, "path": f"{entry['path']}/{e['path']}"} for e in inner]
        return found

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.split(b"?")[0].decode("ascii")
        match = re.search(r"/repos/([^/]+)/([^/]+)(/.*)?$", path)
        if request.method != "GET" or match is None:
            return refusal(404, "Not Found")
        owner, name, rest = unquote(match[1]), unquote(match[2]), match[3] or ""
        routes: list[tuple[str, Callable[..., httpx.Response]]] = [
            (r"", lambda: self._repository(owner, name)),
            (r"/commits", lambda: self._list_commits(request)),
            (r"/commits/(.+)", lambda ref: self._one_commit(ref, request)),
            (r"/git/trees/([^/]+)", lambda sha: self._one_tree(sha, request)),
            (r"/git/blobs/([^/]+)", self._one_blob),
            (r"/git/matching-refs/(heads|tags)/(.*)", self._matching),
            (r"/(branches|tags)", self._names),
        ]
        for pattern, serve in routes:
            if found := re.fullmatch(pattern, rest):
                return serve(*(unquote(group) for group in found.groups()))
        return refusal(404, "Not Found")

    def _repository(self, owner: str, name: str) -> httpx.Response:
        usual = {
            "id": 1,
            "name": name,
            "full_name": f"{owner}/{name}",
            "html_url": f"https://github.com/{owner}/{name}",
            "private": False,
            "fork": False,
            "archived": False,
            "description": None,
            "homepage": None,
            "language": "Python",
            "topics": [],
            "license": None,
            "default_branch": self._refs[0].partition("/")[2],
            "stargazers_count": 12,
            "subscribers_count": 3,
            "watchers_count": 12,
            "forks_count": 4,
            "open_issues_count": 5,
            "size": self.size // 1024,
            "created_at": "2020-01-01T00:00:00Z",
            "updated_at": "2024-05-02T00:00:00Z",
            "pushed_at": "2024-05-01T12:00:00Z",
        }
        return _reply({**usual, **self._about})

    def _sha(self, ref: str) -> str | None:
        names = {"HEAD", *self._refs, *(full.partition("/")[2] for full in self._refs)}
        if ref in names:
            return self.head
        return next((c["sha"] for c in self.commits if len(ref) >= 7 and c["sha"].startswith(ref)), None)

    def _one_commit(self, ref: str, request: httpx.Request) -> httpx.Response:
        if self._is_empty:
            return refusal(409, "Git Repository is empty.")
        sha = self._sha(ref)
        if sha is None:
            return refusal(422, f"No commit found for SHA: {ref}")
        if request.headers.get("accept") == "application/vnd.github.sha":
            return httpx.Response(200, text=sha)
        return _reply(next(_shown(c) for c in self.commits if c["sha"] == sha))

    def _list_commits(self, request: httpx.Request) -> httpx.Response:
        if self._is_empty:
            return refusal(409, "Git Repository is empty.")
        query = request.url.params
        size = min(max(int(query.get("per_page", 30)), 1), 100)
        page = max(int(query.get("page", 1)), 1)
        wanted = query.get("path")
        chosen = [c for c in self.commits if not wanted or any(f.startswith(wanted) for f in c["_"])]
        pages = max(-(-len(chosen) // size), 1)
        headers = {}
        if page < pages:
            url = request.url
            links = [(page + 1, "next"), (pages, "last")]
            headers["link"] = ", ".join(
                f'<{url.copy_merge_params({"page": str(number)})}>; rel="{rel}"' for number, rel in links
            )
        shown = [_shown(c) for c in chosen[(page - 1) * size : page * size]]
        return _reply(shown, headers=headers)

    def _one_tree(self, sha: str, request: httpx.Request) -> httpx.Response:
        if self._is_empty:
            return refusal(409, "Git Repository is empty.")
        tree = sha if sha in self._trees else self.tree if self._sha(sha) else None
        if tree is None:
            return refusal(404, "Not Found")
        recursive = "recursive" in request.url.params
        entries = self._recursive(tree) if recursive and not self._truncated else self._trees[tree]
        return _reply({"sha": tree, "tree": entries, "truncated": recursive and self._truncated})

    def _one_blob(self, sha: str) -> httpx.Response:
        data = self._objects.get(sha)
        if data is None:
            return refusal(404, "Not Found")
        content = base64.encodebytes(data).decode("ascii")
        return _reply({"sha": sha, "size": len(data), "encoding": "base64", "content": content})

    def _matching(self, kind: str, prefix: str) -> httpx.Response:
        found = [ref for ref in self._refs if ref.startswith(f"{kind}/{prefix}")]
        return _reply([{"ref": f"refs/{r}", "object": {"sha": self.head}} for r in found])

    def _names(self, kind: str) -> httpx.Response:
        start = {"branches": "heads/", "tags": "tags/"}[kind]
        names = [ref.removeprefix(start) for ref in self._refs if ref.startswith(start)]
        return _reply([{"name": name, "commit": {"sha": self.head}} for name in names])


def _bytes(text: str) -> bytes:
    """A text as UTF-8; half a surrogate pair as the bytes that stand for it."""
    return text.encode("utf-8", "surrogatepass")


def _reply(data: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """A good reply; what UTF-8 cannot carry is escaped, as JSON can."""
    kind = {"content-type": "application/json; charset=utf-8"}
    return httpx.Response(200, content=json.dumps(data).encode(), headers={**kind, **(headers or {})})


def _shown(commit: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in commit.items() if key != "_"}


def refusal(status: int, message: str) -> httpx.Response:
    """A no in GitHub's own form."""
    return httpx.Response(status, json={"message": message, "documentation_url": DOCS, "status": str(status)})

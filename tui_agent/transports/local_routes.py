"""GitHub's REST routes over a local source: from a path and its parameters to a reply."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from posixpath import normpath
from typing import Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlencode

from tui_agent.transports import local_replies as replies
from tui_agent.transports.local_source import (
    LINK,
    SUBMODULE,
    TREE,
    LocalRepositoryError,
    Ref,
    Refusal,
    Source,
    Stop,
    TreeEntry,
)
from tui_agent.transports.local_text import decode_name, encode_name

_SHA = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)
_JSON_TYPE = "application/json; charset=utf-8"
_NOT_FOUND = "Not Found"
_PER_PAGE, _MAX_PER_PAGE = 30, 100
_MAX_LINKS = 8
# What GitHub would filter by; without the filter the answer would be a wrong one.
_FILTERS = ("author", "committer", "since", "until")


@dataclass(frozen=True, slots=True)
class Question:
    """A request, taken apart.

    Args:
        url: everything before the path.
        path, query: as they were sent, percent-encoded.
        accept, if_none_match: of these headers, "" for none.
    """

    url: str
    path: str
    query: str = ""
    accept: str = ""
    if_none_match: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply: its status, headers and body."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Asked:
    source: Source
    full_name: str
    base: str
    parts: list[str]
    query: Mapping[str, str]
    accept: str
    stop: Stop

    @property
    def wants_sha(self) -> bool:
        return ".sha" in self.accept

    @property
    def wants_raw(self) -> bool:
        return ".raw" in self.accept


def answer(source: Source, full_name: str, question: Question, stop: Stop) -> Answer:
    """Answer a GET request.

    Args:
        source: what is asked.
        full_name: the name that it goes by, `owner/name`; whatever name the request has is taken for it.
        question: the request.
        stop: ends the work early.
    """
    before, found, rest = question.path.partition("/repos/")
    owner, _, rest = rest.partition("/")
    name, _, rest = rest.partition("/")
    try:
        if not (found and owner and name):
            raise Refusal(404, _NOT_FOUND)
        parts = [_text(unquote_to_bytes(part)) for part in rest.split("/")] if rest else []
        base = f"{question.url}{before}/repos/{owner}/{name}"
        query = dict(parse_qsl(question.query, keep_blank_values=True, errors="surrogateescape"))
        reply = _route(_Asked(source, full_name, base, parts, query, question.accept, stop))
    except Refusal as refusal:
        return _json(refusal.status, replies.error(refusal))
    except LocalRepositoryError as error:
        return _json(422, replies.error(Refusal(422, str(error))))
    etag = reply.headers.get("ETag", "")
    if etag and _matches(question.if_none_match, etag):
        return Answer(304, b"", {key: reply.headers[key] for key in ("ETag", "Vary", "Cache-Control")})
    return reply


def _route(asked: _Asked) -> Answer:
    match asked.parts:
        case []:
            facts = asked.source.facts(asked.stop)
            return _json(200, replies.repository(facts, asked.full_name, asked.base))
        case ["commits"]:
            return _commits(asked)
        case ["commits", *ref] if ref[-1]:
            return _commit(asked, "/".join(ref))
        case ["git", "trees", *ref] if ref and ref[-1]:
            return _tree(asked, "/".join(ref))
        case ["git", "blobs", sha]:
            return _blob(asked, sha)
        case ["git", "matching-refs", ("heads" | "tags") as kind, *prefix]:
            refs = asked.source.refs(f"refs/{kind}/".encode() + encode_name("/".join(prefix)))
            return _json(200, [replies.reference(ref, asked.base) for ref in refs])
        case ["branches"]:
            return _named(asked, b"refs/heads/", replies.branch)
        case ["tags"]:
            return _named(asked, b"refs/tags/", replies.tag)
        case ["contents"] | ["contents", ""]:
            return _contents(asked, [])
        case ["contents", *path] if path[-1]:
            return _contents(asked, path)
    raise Refusal(404, _NOT_FOUND)


def _text(raw: bytes) -> str:
    """A part of a path as it was meant: a name the way replies write it, or the name's own bytes."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return decode_name(raw)


def _commit(asked: _Asked, ref: str) -> Answer:
    sha = asked.source.resolve(ref)
    if asked.wants_sha:
        return _reply(sha.encode(), "application/vnd.github.sha; charset=utf-8", sha)
    return _json(200, replies.commit(asked.source.commit(sha), asked.base), sha)


def _commits(asked: _Asked) -> Answer:
    for name in _FILTERS:
        if asked.query.get(name):
            raise Refusal(422, f"A local repository does not filter its commits by {name!r}.")
    sha = asked.source.resolve(asked.query.get("sha", ""))
    number, count = _page(asked.query)
    page = asked.source.history(sha, asked.query.get("path", ""), (number - 1) * count, count, asked.stop)
    last = None if page.total is None else -(-page.total // count)
    link = _link(asked, number, page.more, last)
    return _json(200, [replies.commit(commit, asked.base) for commit in page.commits], link=link)


def _tree(asked: _Asked, ref: str) -> Answer:
    root = asked.source.root(ref, asked.stop)
    recursive = "recursive" in asked.query
    body = replies.tree(asked.source, root, asked.base, recursive=recursive, stop=asked.stop)
    return _reply(body, _JSON_TYPE, root)


def _blob(asked: _Asked, sha: str) -> Answer:
    if not _SHA.fullmatch(sha):
        raise Refusal(422, "The sha parameter must be exactly 40 characters and contain only [0-9a-f].")
    sha = sha.lower()
    content = asked.source.blob(sha)
    if asked.wants_raw:
        return _reply(content, "application/vnd.github.raw; charset=utf-8", sha)
    return _json(200, replies.blob(sha, content, asked.base), sha)


def _named(asked: _Asked, prefix: bytes, say: Callable[[Ref, str], replies.Json]) -> Answer:
    number, count = _page(asked.query)
    refs = [ref for ref in asked.source.refs(prefix) if ref.commit]
    start = (number - 1) * count
    link = _link(asked, number, len(refs) > start + count, -(-len(refs) // count))
    return _json(200, [say(ref, asked.base) for ref in islice(refs, start, start + count)], link=link)


def _contents(asked: _Asked, path: list[str]) -> Answer:
    ref = asked.query.get("ref") or "HEAD"
    source = asked.source
    root = source.root(ref, asked.stop)
    names = [encode_name(part) for part in path]
    entry = _find(source, root, names)
    if entry is None:
        raise Refusal(404, _NOT_FOUND)
    shown = "/".join(path)
    if entry.mode == TREE:
        return _json(200, [_listed(asked, item, shown, ref) for item in source.tree(entry.sha)[: replies.MAX_LISTED]])
    url = _content_url(asked.base, shown, ref)
    if entry.mode == SUBMODULE:
        return _json(200, replies.submodule(entry, _submodule_url(source, root, shown), shown, url, asked.base))
    target = _followed(source, root, names, entry)
    if target is None:
        return _json(200, replies.symlink(entry, source.blob(entry.sha), shown, url, asked.base))
    content = source.blob(target.sha)
    if asked.wants_raw:
        return _reply(content, "application/vnd.github.raw; charset=utf-8", target.sha)
    return _json(200, replies.file(target, content, shown, url, asked.base), target.sha)


def _listed(asked: _Asked, item: TreeEntry, folder: str, ref: str) -> replies.Json:
    name = decode_name(item.name)
    path = f"{folder}/{name}" if folder else name
    return replies.listed(asked.source, item, path, _content_url(asked.base, path, ref), asked.base)


def _content_url(base: str, path: str, ref: str) -> str:
    return f"{base}/contents/{quote(path)}?ref={quote(ref, safe='')}"


def _find(source: Source, root: str, names: list[bytes]) -> TreeEntry | None:
    """What stands at a path of a tree; the root itself for no names."""
    entry = TreeEntry(b"", TREE, root)
    for name in names:
        found = (
            next((item for item in source.tree(entry.sha) if item.name == name), None) if entry.mode == TREE else None
        )
        if found is None:
            return None
        entry = found
    return entry


def _followed(source: Source, root: str, names: list[bytes], entry: TreeEntry) -> TreeEntry | None:
    """The file behind a symbolic link, within the repository; the file itself; None where there is no such file."""
    here: TreeEntry | None = entry
    for _ in range(_MAX_LINKS):
        if here is None or here.mode in (TREE, SUBMODULE):
            return None
        if here.mode != LINK:
            return here
        target = source.blob(here.sha)
        joined = normpath(b"/".join([*names[:-1], target]))
        if target.startswith(b"/") or joined.startswith(b".."):
            return None
        names = joined.split(b"/")
        here = _find(source, root, names)
    return None


def _submodule_url(source: Source, root: str, path: str) -> str:
    """Where `.gitmodules` says that a submodule is; "" where it does not."""
    entry = _find(source, root, [b".gitmodules"])
    if entry is None or (source.size(entry.sha) or 0) > replies.MAX_INLINE:
        return ""
    found = ""
    for section in re.split(rb"(?m)^\s*\[", source.blob(entry.sha)):
        values = dict(re.findall(rb"(?m)^[ \t]*(path|url)[ \t]*=[ \t]*(.*?)[ \t\r]*$", section))
        if values.get(b"path") == encode_name(path):
            found = decode_name(values.get(b"url", b""))
    return found


def _page(query: Mapping[str, str]) -> tuple[int, int]:
    """Which page, from 1, and how many entries it has; what is no number counts as not given."""

    def number(name: str, default: int) -> int:
        text = query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else default

    return max(number("page", 1), 1), min(max(number("per_page", _PER_PAGE), 1), _MAX_PER_PAGE)


def _link(asked: _Asked, page: int, more: bool, last: int | None) -> str:
    """The header that tells the other pages ("Using pagination in the REST API")."""
    pages: dict[str, int] = {}
    if page > 1:
        pages["prev"] = page - 1
    if more:
        pages["next"] = page + 1
        if last is not None:
            pages["last"] = last
    if page > 1:
        pages["first"] = 1
    url = f"{asked.base}/{'/'.join(asked.parts)}?"
    links = []
    for relation, number in pages.items():
        query = urlencode({**asked.query, "page": number}, errors="surrogateescape")
        links.append(f'<{url}{query}>; rel="{relation}"')
    return ", ".join(links)


def _matches(if_none_match: str, etag: str) -> bool:
    """RFC 9110, 13.1.2: compared weakly."""
    listed = [item.strip().removeprefix("W/") for item in if_none_match.split(",")]
    return etag.removeprefix("W/") in listed or "*" in listed


def _json(status: int, data: Any, sha: str | None = None, *, link: str = "") -> Answer:
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    if status != 200:
        return Answer(status, body, {"Content-Type": _JSON_TYPE})
    return _reply(body, _JSON_TYPE, sha, link=link)


def _reply(body: bytes, content_type: str, sha: str | None, *, link: str = "") -> Answer:
    etag = f'"{sha}"' if sha else f'W/"{hashlib.sha1(body).hexdigest()}"'
    headers = {"Content-Type": content_type, "ETag": etag, "Vary": "Accept", "Cache-Control": "no-cache"}
    if link:
        headers["Link"] = link
    return Answer(200, body, headers)

"""GitHub's words for what a local source knows: the JSON of each reply.

The shapes are those of GitHub's own description of its REST API (version 2022-11-28). A field that
it requires and that only GitHub could fill is there as 0, false or "", and `placeholders` names it.
"""

from __future__ import annotations

import base64
from json.encoder import encode_basestring
from typing import Any

from tui_agent.transports.local_source import (
    LINK,
    SUBMODULE,
    TREE,
    Commit,
    Facts,
    Person,
    Ref,
    Refusal,
    Source,
    Stop,
    TreeEntry,
)
from tui_agent.transports.local_text import decode_name, github_date

Json = dict[str, Any]

MAX_ENTRIES = 100_000
"""Entries of a recursive tree ("Get a tree" in GitHub's documentation)."""
MAX_TREE = 15_000_000
"""Bytes of a tree's reply: below the 16 MB that are read of one."""
MAX_INLINE = 1_000_000
"""Bytes of a file that `contents` gives in base64 ("Get repository content")."""
MAX_LISTED = 1_000
"""Entries of a directory that `contents` lists."""
_LINE = 60
_DOCUMENTATION = "https://docs.github.com/rest"

_URLS = (
    "archive assignees collaborators comments compare contributors deployments downloads events forks git_commits "
    "git_tags issue_comment issue_events issues keys labels languages merges milestones notifications pulls releases "
    "stargazers statuses subscribers subscription teams hooks git ssh clone svn html"
).split()
_COUNTS = (
    "forks_count stargazers_count watchers_count open_issues_count subscribers_count network_count forks open_issues "
    "watchers"
).split()
_FLAGS = (
    "private fork has_issues has_projects has_wiki has_pages has_discussions archived disabled allow_forking "
    "is_template web_commit_signoff_required"
).split()
_USER_URLS = (
    "avatar html followers following gists starred subscriptions organizations repos events received_events"
).split()


def error(refusal: Refusal) -> Json:
    """What GitHub says instead of an answer."""
    return {"message": refusal.message, "documentation_url": _DOCUMENTATION, "status": str(refusal.status)}


def repository(facts: Facts, full_name: str, base: str) -> Json:
    """`GET /repos/{owner}/{repo}`.

    Args:
        facts: what is known.
        full_name: `owner/name`.
        base: this reply's own URL.
    """
    owner, _, name = full_name.partition("/")
    placeholders = ["id", "node_id", *(f"{url}_url" for url in _URLS), *_COUNTS, *_FLAGS, "topics"]
    dates = {"created_at": facts.created, "updated_at": facts.changed, "pushed_at": facts.changed}
    placeholders += [key for key, seconds in dates.items() if seconds is None]
    if facts.default_branch is None:
        placeholders.append("default_branch")
    reply: Json = {
        "id": 0,
        "node_id": "",
        "name": name,
        "full_name": full_name,
        "owner": {
            "login": owner,
            "id": 0,
            "node_id": "",
            "gravatar_id": "",
            "url": "",
            "type": "User",
            "site_admin": False,
            **{f"{url}_url": "" for url in _USER_URLS},
        },
        "description": facts.description,
        "homepage": None,
        "language": None,
        "mirror_url": None,
        "topics": [],
        "default_branch": facts.default_branch or "HEAD",
        "license": _licence(facts.licence),
        "size": facts.size // 1024,
        "url": base,
        "blobs_url": f"{base}/git/blobs{{/sha}}",
        "branches_url": f"{base}/branches{{/branch}}",
        "commits_url": f"{base}/commits{{/sha}}",
        "contents_url": f"{base}/contents/{{+path}}",
        "git_refs_url": f"{base}/git/refs{{/sha}}",
        "tags_url": f"{base}/tags",
        "trees_url": f"{base}/git/trees{{/sha}}",
        "local": {"kind": facts.kind, **facts.local},
        "placeholders": placeholders,
    }
    reply.update({f"{url}_url": "" for url in _URLS})
    reply.update(dict.fromkeys(_COUNTS, 0))
    reply.update(dict.fromkeys(_FLAGS, False))
    reply.update({key: github_date(seconds or 0) for key, seconds in dates.items()})
    return reply


def commit(found: Commit, base: str) -> Json:
    """A commit, as `GET …/commits` lists it; GitHub's accounts of its people are not known."""
    url = f"{base}/commits/{found.sha}"
    return {
        "sha": found.sha,
        "node_id": "",
        "commit": {
            "author": _person(found.author),
            "committer": _person(found.committer),
            "message": found.message.rstrip("\n"),
            "tree": {"sha": found.tree, "url": f"{base}/git/trees/{found.tree}"},
            "url": f"{base}/git/commits/{found.sha}",
            "comment_count": 0,
        },
        "url": url,
        "html_url": "",
        "comments_url": f"{url}/comments",
        "author": None,
        "committer": None,
        "parents": [{"sha": parent, "url": f"{base}/commits/{parent}", "html_url": ""} for parent in found.parents],
    }


def tree(source: Source, root: str, base: str, *, recursive: bool, stop: Stop) -> bytes:
    """`GET …/git/trees/{sha}`: entries in git's order, folders before what they hold; cut where GitHub cuts.

    Written as JSON at once: of 100,000 entries, objects in between would take four times the memory.
    """
    items: list[str] = []
    truncated = False
    size = 0
    # (what stands before each name, the entries that are still to come), the innermost folder last
    todo = [(b"", iter(source.tree(root)))]
    while todo:
        prefix, entries = todo[-1]
        entry = next(entries, None)
        if entry is None:
            todo.pop()
            continue
        path = encode_basestring(decode_name(prefix + entry.name))
        length = source.size(entry.sha) if entry.mode not in (TREE, SUBMODULE) else None
        item = f'{{"path":{path},"mode":"{entry.mode:06o}","type":"{entry.type}","sha":"{entry.sha}"'
        item += "}" if length is None else f',"size":{length}}}'
        size += len(item) if item.isascii() else len(item.encode())
        if len(items) >= MAX_ENTRIES or size + len(items) > MAX_TREE:
            truncated = True
            break
        items.append(item)
        if len(items) & 255 == 0:
            stop.check()
        if recursive and entry.mode == TREE:
            try:
                todo.append((prefix + entry.name + b"/", iter(source.tree(entry.sha))))
            except Refusal:
                # A folder that cannot be read hides what is in it: the tree is not whole.
                truncated = True
    cut = "true" if truncated or source.incomplete() else "false"
    url = encode_basestring(f"{base}/git/trees/{root}")
    return f'{{"sha":"{root}","url":{url},"tree":[{",".join(items)}],"truncated":{cut}}}'.encode()


def blob(sha: str, content: bytes, base: str) -> Json:
    """`GET …/git/blobs/{sha}`."""
    return {
        "sha": sha,
        "node_id": "",
        "size": len(content),
        "url": f"{base}/git/blobs/{sha}",
        "content": lines_of_base64(content),
        "encoding": "base64",
    }


def lines_of_base64(content: bytes) -> str:
    """Base64 in lines of 60 characters, each ended, as GitHub writes it."""
    text = base64.b64encode(content).decode("ascii")
    return "".join(text[start : start + _LINE] + "\n" for start in range(0, len(text), _LINE))


def branch(ref: Ref, base: str) -> Json:
    """One entry of `GET …/branches`."""
    return {"name": _short(ref), "commit": _commit_link(ref, base), "protected": False}


def tag(ref: Ref, base: str) -> Json:
    """One entry of `GET …/tags`."""
    return {
        "name": _short(ref),
        "commit": _commit_link(ref, base),
        "zipball_url": "",
        "tarball_url": "",
        "node_id": "",
    }


def reference(ref: Ref, base: str) -> Json:
    """One entry of `GET …/git/matching-refs/{ref}`."""
    kind = {"commit": "commits", "tag": "tags", "tree": "trees", "blob": "blobs"}[ref.type]
    name = decode_name(ref.name)
    return {
        "ref": name,
        "node_id": "",
        "url": f"{base}/git/{name}",
        "object": {"type": ref.type, "sha": ref.sha, "url": f"{base}/git/{kind}/{ref.sha}"},
    }


def listed(source: Source, entry: TreeEntry, path: str, url: str, base: str) -> Json:
    """One entry of a directory in `GET …/contents/{path}`; a submodule is a `file` there, as on GitHub."""
    kind = {TREE: "dir", LINK: "symlink"}.get(entry.mode, "file")
    reply = _content(entry, path, url, base)
    reply["type"] = kind
    reply["size"] = source.size(entry.sha) or 0 if entry.mode not in (TREE, SUBMODULE) else 0
    return reply


def file(entry: TreeEntry, content: bytes, path: str, url: str, base: str) -> Json:
    """A file in `GET …/contents/{path}`; from 1 MB on without its content, as on GitHub."""
    inline = len(content) <= MAX_INLINE
    return {
        **_content(entry, path, url, base),
        "type": "file",
        "size": len(content),
        "encoding": "base64" if inline else "none",
        "content": lines_of_base64(content) if inline else "",
    }


def symlink(entry: TreeEntry, target: bytes, path: str, url: str, base: str) -> Json:
    """A symbolic link out of the repository, or to what is no file, in `GET …/contents/{path}`."""
    reply = _content(entry, path, url, base)
    return {**reply, "type": "symlink", "size": len(target), "target": decode_name(target)}


def submodule(entry: TreeEntry, git_url: str, path: str, url: str, base: str) -> Json:
    """A submodule in `GET …/contents/{path}`."""
    return {**_content(entry, path, url, base), "type": "submodule", "size": 0, "submodule_git_url": git_url}


def _content(entry: TreeEntry, path: str, url: str, base: str) -> Json:
    git_url = None if entry.mode == SUBMODULE else f"{base}/git/{entry.type}s/{entry.sha}"
    return {
        "name": path.rpartition("/")[2],
        "path": path,
        "sha": entry.sha,
        "url": url,
        "git_url": git_url,
        "html_url": None,
        "download_url": None,
        "_links": {"self": url, "git": git_url, "html": None},
    }


def _commit_link(ref: Ref, base: str) -> Json:
    sha = ref.commit or ref.sha
    return {"sha": sha, "url": f"{base}/commits/{sha}"}


def _short(ref: Ref) -> str:
    return decode_name(ref.name.split(b"/", 2)[2])


def _person(person: Person) -> Json:
    return {"name": person.name, "email": person.email, "date": github_date(person.time)}


def _licence(spdx: str | None) -> Json | None:
    if spdx is None:
        return None
    known = spdx != "NOASSERTION"
    return {
        "key": spdx.lower() if known else "other",
        "name": spdx if known else "Other",
        "spdx_id": spdx,
        "url": None,
        "node_id": "",
    }

"""`get_repo_info` and `get_commits`: the repository as a whole, and its history."""

from __future__ import annotations

from typing import Any

from tui_agent.events import JsonObject
from tui_agent.github.client import Reply, as_list, route
from tui_agent.github.errors import GitHubError
from tui_agent.github.snapshot import describe
from tui_agent.resilience.call import Call
from tui_agent.tools.workspace import ToolError, Workspace, tidy_path

__all__ = ["ToolError", "Workspace", "get_commits", "get_repo_info"]

PER_PAGE = 30
_LONGEST_TEXT = 1000
_LONGEST_LINE = 300
_FACTS: tuple[tuple[str, str, type], ...] = (
    ("full_name", "full_name", str),
    ("description", "description", str),
    ("homepage", "homepage", str),
    ("language", "language", str),
    ("topics", "topics", list),
    ("default_branch", "default_branch", str),
    ("stars", "stargazers_count", int),
    ("forks", "forks_count", int),
    ("open_issues", "open_issues_count", int),
    ("watchers", "subscribers_count", int),
    ("created_at", "created_at", str),
    ("pushed_at", "pushed_at", str),
    ("size_kb", "size", int),
    ("local", "local", dict),
)
"""What a fact is called here, what GitHub calls it, and its type; anything else is no fact."""
_FLAGS = ("archived", "fork", "private")
"""Told where they hold."""
_SHA = 7
"""Characters of a commit's SHA, as git and GitHub shorten it."""


async def get_repo_info(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """Facts about the repository as a whole; what the server marks as a placeholder is left out.

    Raises:
        GitHubError, Trouble, Unavailable: they could not be had.
    """
    snapshot = work.snapshot
    if snapshot.about is None:
        snapshot.about = await describe(work.client, call, snapshot.owner, snapshot.name)
    data = snapshot.about
    placeholders = data.get("placeholders")
    unknown = set(placeholders) if isinstance(placeholders, list) else set()
    result: JsonObject = {"ok": True}
    for name, source, kind in _FACTS:
        value = data.get(source)
        if source not in unknown and type(value) is kind and value not in ("", []):
            result[name] = value[:_LONGEST_TEXT] if isinstance(value, str) else value
    result.update({name: _day(result[name]) for name in ("created_at", "pushed_at") if name in result})
    if "topics" in result:
        result["topics"] = [topic for topic in result["topics"] if isinstance(topic, str)][:50]
    if "local" in result:
        result["local"] = {name: value for name, value in result["local"].items() if value is not False}
    result.update({flag: True for flag in _FLAGS if flag not in unknown and data.get(flag) is True})
    parent = data.get("parent")
    if isinstance(parent, dict) and isinstance(parent.get("full_name"), str):
        result["parent"] = parent["full_name"]
    licence = data.get("license")
    result["license"] = (licence.get("spdx_id") or licence.get("name")) if isinstance(licence, dict) else None
    return result


async def get_commits(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """The latest commits as of the snapshot, newest first.

    Raises:
        ToolError: there is no history, or the path leads out of the repository.
        GitHubError, Trouble, Unavailable: they could not be had.
    """
    snapshot = work.snapshot
    per_page, page = int(arguments.get("per_page", PER_PAGE)), int(arguments.get("page", 1))
    params: dict[str, str | int] = {"per_page": per_page, "page": page}
    if snapshot.commit is not None:
        params["sha"] = snapshot.commit
    path = arguments.get("path", "")
    if snapshot.known(path) is None:
        path = tidy_path(path.strip())
    if path:
        params["path"] = path

    def read(reply: Reply, data: Any) -> JsonObject:
        commits = [_commit(item) for item in as_list(data)]
        result: JsonObject = {"ok": True, **({"path": path} if path else {}), "commits": commits}
        if 'rel="next"' in reply.headers.get("link", ""):
            result["more"] = f"There are older commits: call get_commits with page={page + 1}."
        elif commits or page == 1:
            result["total"] = (page - 1) * per_page + len(commits)
        if not commits:
            result["note"] = "There are no such commits." if page == 1 else "There are no more commits."
        return result

    try:
        return await work.client.get(
            call, route("repos", snapshot.owner, snapshot.name, "commits"), read, params=params
        )
    except GitHubError as error:
        if error.status == 409:
            raise ToolError(f"There is no history{error.quote}.") from None
        raise


def _commit(item: Any) -> list[str | None]:
    """SHA, day, author, first line of the message."""
    commit = item["commit"]
    author, committer = commit.get("author") or {}, commit.get("committer") or {}
    account = item.get("author") or {}
    first_line, _, _ = (commit.get("message") or "").strip().partition("\n")
    name = author.get("name") or account.get("login")
    date = author.get("date") or committer.get("date")
    return [
        str(item["sha"])[:_SHA],
        _day(date) if isinstance(date, str) else None,
        None if name is None else str(name)[:_LONGEST_LINE],
        first_line.rstrip()[:_LONGEST_LINE],
    ]


def _day(time: str) -> str:
    """The day of an ISO 8601 time; GitHub's are all in UTC."""
    return time[:10] if time[10:11] == "T" else time[:_LONGEST_LINE]

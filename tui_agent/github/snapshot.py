"""From a name to a snapshot: which commit is meant, and what its tree holds. The ref is resolved once."""

from __future__ import annotations

import re
from typing import Any

from tui_agent.github.client import SHA, GitHubClient, Reply, as_list, route
from tui_agent.github.errors import GitHubError
from tui_agent.github.tree import Entry, RepositorySnapshot, fetch_tree, is_sha
from tui_agent.resilience.call import Call

__all__ = ["RepositorySnapshot", "describe", "take_snapshot"]
_NOT_THERE = (404, 422)
_NAME = re.compile(r"[\w.-]{1,100}/[\w.-]{1,100}")


async def take_snapshot(
    client: GitHubClient, call: Call, owner: str, name: str, *, ref: str | None, tail: str | None
) -> tuple[RepositorySnapshot, str]:
    """Resolve the ref and fetch the tree: the few requests that every run begins with.

    Args:
        client: asks GitHub.
        call: under whose name (`snapshot`) the requests run.
        owner, name: the repository.
        ref: branch, tag or commit; None for the default branch.
        tail: `REF/PATH` of an address, whose parts are told apart by the repository's branches and tags.

    Returns:
        the snapshot, and the path that `tail` named ("" for none).

    Raises:
        GitHubError: the repository or the ref is not there.
        Trouble, Unavailable: the service failed.
    """
    path = ""
    if ref is None and tail:
        ref, path = await _split_tail(client, call, owner, name, tail)
    about: dict[str, Any] | None = None
    commit: str | None = None
    try:
        commit = await _commit(client, call, owner, name, ref or "HEAD")
    except GitHubError as error:
        if error.status in _NOT_THERE:
            # Either the repository is not there, or the ref; it tells itself, and its default branch too.
            about = await describe(client, call, owner, name)
            if ref is not None:
                raise GitHubError(error.status, f"there is no branch, tag or commit “{ref}”{error.quote}.") from error
            # Not every server resolves HEAD.
            ref = str(about["default_branch"])
            commit = await _commit(client, call, owner, name, ref)
        elif error.status != 409 or ref is not None:
            raise
    if about is None and client.has_moved(owner, name):
        about = await describe(client, call, owner, name)
    entries, truncated = await _whole_tree(client, call, owner, name, commit)
    snapshot = RepositorySnapshot(
        client,
        owner,
        name,
        full_name=client.redact(_full_name((about or {}).get("full_name"), f"{owner}/{name}")),
        ref=ref or "HEAD",
        commit=commit,
        entries=entries,
        truncated=truncated,
        about=about,
    )
    return snapshot, path


def _full_name(told: Any, asked: str) -> str:
    """The repository's name as the server tells it, where it is one."""
    return told if isinstance(told, str) and _NAME.fullmatch(told) else asked


async def describe(client: GitHubClient, call: Call, owner: str, name: str) -> dict[str, Any]:
    """What GitHub says of the repository: the reply of `/repos/{owner}/{repo}`.

    Raises:
        GitHubError, Trouble, Unavailable: it could not be had.
    """

    def read(_: Reply, data: Any) -> dict[str, Any]:
        if not isinstance(data, dict) or not isinstance(data["default_branch"], str):
            raise TypeError(data)
        return data

    return await client.get(call, route("repos", owner, name), read)


async def _commit(client: GitHubClient, call: Call, owner: str, name: str, ref: str) -> str:
    def read(reply: Reply, _: Any) -> str:
        sha = reply.body.decode("ascii").strip()
        if not is_sha(sha):
            raise ValueError(sha)
        return sha

    return await client.get(call, _ref_route(owner, name, "commits", ref), read, accept=SHA)


def _ref_route(owner: str, name: str, *parts: str) -> str:
    """A route that ends with a ref, whose slashes stay."""
    *before, ref = parts
    try:
        return route("repos", owner, name, *before, *ref.strip("/").split("/"))
    except ValueError:
        raise GitHubError(400, f"“{ref}” cannot be the name of a branch, tag or commit.") from None


async def _whole_tree(
    client: GitHubClient, call: Call, owner: str, name: str, commit: str | None
) -> tuple[list[Entry], bool]:
    try:
        return await fetch_tree(client, call, owner, name, commit or "HEAD", recursive=True)
    except GitHubError as error:
        # A repository without commits has no tree; a commit whose tree is empty has one that cannot be found.
        if error.status == 409 or (error.status == 404 and commit is not None):
            return [], False
        raise


async def _split_tail(client: GitHubClient, call: Call, owner: str, name: str, tail: str) -> tuple[str | None, str]:
    """`REF/PATH` → (ref, path): the longest branch or tag that the text begins with; else its first part."""
    parts = [part for part in tail.split("/") if part]
    if not parts:
        return None, ""
    best = 1
    if len(parts) > 1:
        for kind in ("heads", "tags"):
            for ref in await _matching_refs(client, call, owner, name, kind, parts[0]):
                wanted = ref.split("/")
                if parts[: len(wanted)] == wanted:
                    best = max(best, len(wanted))
    return "/".join(parts[:best]), "/".join(parts[best:])


async def _matching_refs(client: GitHubClient, call: Call, owner: str, name: str, kind: str, prefix: str) -> list[str]:
    def read(_: Reply, data: Any) -> list[str]:
        return [item["ref"].removeprefix(f"refs/{kind}/") for item in as_list(data)]

    try:
        return await client.get(call, _ref_route(owner, name, "git", "matching-refs", kind, prefix), read)
    except GitHubError as error:
        if error.status in (404, 409, 422):
            return []
        raise

"""How much of a repository a run looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from tui_agent.events import ToolFinished


def not_looked_into(files: Iterable[str], observations: Sequence[ToolFinished]) -> list[tuple[str, int]]:
    """Directories of which nothing was read or listed, the topmost alone, with their files; the largest first.

    Args:
        files: every file of the tree.
        observations: the tool calls of the run.
    """
    seen = _looked_into(observations)
    found: Counter[str] = Counter()
    for path in files:
        folder = path.rpartition("/")[0]
        if not folder or folder in seen:
            continue
        parts = folder.split("/")
        for depth in range(1, len(parts) + 1):
            top = "/".join(parts[:depth])
            if top not in seen:
                found[top] += 1
                break
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _looked_into(observations: Sequence[ToolFinished]) -> Collection[str]:
    """Directories that were listed or of which a file was read, and all above them."""
    seen: set[str] = set()
    for event in observations:
        path = event.result.get("path")
        if event.outcome != "ok" or not isinstance(path, str):
            continue
        if event.tool == "read_file":
            path = path.rpartition("/")[0]
        elif event.tool != "list_directory":
            continue
        while path and path not in seen:
            seen.add(path)
            path = path.rpartition("/")[0]
    return seen

"""What was found of a claim."""

from __future__ import annotations

from dataclasses import dataclass

from tui_agent.report.evidence import Hit


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of a claim.

    Args:
        source: where it was seen, for people; None where it was not.
        path, first, last: the place in a file, where it is one.
        reason: why it is not supported.
        linked: whether the path is known well enough to lead there.
        folder: the path is a folder's.
    """

    source: str | None
    path: str | None = None
    first: int | None = None
    last: int | None = None
    reason: str | None = None
    linked: bool = True
    folder: bool = False


def seen(hit: Hit, words: str = "") -> Finding:
    """A place where something stands."""
    path = hit.passage.path
    if path is None:
        return Finding(f"{words} {hit.passage.source}".strip())
    number = hit.line_number
    return Finding(f"{words} {path}#L{number}".strip(), path, number, number)

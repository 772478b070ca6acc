"""What a person asks for: one run's request, and the error for what cannot be asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Preset = Literal["full", "overview", "architecture"]
Engine = Literal["auto", "llm", "survey"]


class UsageError(ValueError):
    """What was asked cannot be understood; the text is one clear sentence (exit code 2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """One analysis.

    Args:
        repo: any way to name a repository that the command line takes.
        question: a free question; None for the preset's.
        preset: a ready question, used where `question` is None.
        ref: branch, tag or commit; None for the default branch (or what `repo` itself names).
        lang: the report's language; None for the question's.
        engine: who decides; "auto" takes the LLM where a key is set.
        refresh: revalidate everything that is cached, once.
        no_cache: neither read nor write the disk cache.
        others: further repositories; with any, all of them are compared.
        since: the id of an earlier run of the same repository: what has changed from it to the run `follows` is told.
        follows: the id of the run whose conversation goes on with `question`; None for a run of its own.
    """

    repo: str
    question: str | None = None
    preset: Preset = "full"
    ref: str | None = None
    lang: str | None = None
    engine: Engine = "auto"
    refresh: bool = False
    no_cache: bool = False
    others: tuple[str, ...] = ()
    since: str | None = None
    follows: str | None = None

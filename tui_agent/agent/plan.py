"""What one run is to do, with all choices made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tui_agent.agent.prices import Price
from tui_agent.events import Notice


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is to do, with all choices made.

    Args:
        owner, name: the repository.
        source: where it lies.
        ref: as asked, or None.
        tail: `REF/PATH` of the address, still to be told apart, or None.
        question: a free question, or None for the preset's.
        preset: which ready question.
        lang: the report's language, or None for the question's.
        engine: who decides.
        max_turns: turns with tools.
        max_tokens: bound on tokens, or None.
        window: tokens of the model's context.
        price: of the model, where known.
        web: the repository's address for people, or None.
        notices: what to tell at the beginning.
    """

    owner: str
    name: str
    source: Literal["github", "local"]
    ref: str | None = None
    tail: str | None = None
    question: str | None = None
    preset: str = "full"
    lang: str | None = None
    engine: Literal["llm", "survey"] = "llm"
    max_turns: int = 15
    max_tokens: int | None = None
    window: int = 128_000
    price: Price | None = None
    web: str | None = None
    notices: tuple[Notice, ...] = ()

    @property
    def asked(self) -> str:
        """`owner/name` as it was asked for."""
        return f"{self.owner}/{self.name}"

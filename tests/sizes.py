"""How much the searching tests try: enough for every day, or, with DEEP=1 in the environment, everything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

DEEP = os.environ.get("DEEP") == "1"


def many(deep: int, everyday: int) -> int:
    """A number of random things to try."""
    return deep if DEEP else everyday


def some(values: Sequence[T], every: int) -> list[T]:
    """Values to try: every so many of them, the first and the last always; all of them where it goes deep."""
    return list(values) if DEEP else [*values[:-1:every], values[-1]]

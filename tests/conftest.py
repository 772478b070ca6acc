"""What holds for every test: nothing of this machine's user is read or written."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings

_numbers = itertools.count()


@pytest.fixture(scope="session")
def _caches(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("caches"))


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(_caches: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder and a state folder that are empty and, until something is kept, not even there."""
    number = next(_numbers)
    monkeypatch.setenv("XDG_CACHE_HOME", f"{_caches}/{number}")
    monkeypatch.setenv("XDG_STATE_HOME", f"{_caches}/{number}-state")


# The same examples on every machine: what a clone is told to pass, it passes. `--hypothesis-profile=default` goes on.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

"""What holds for every test: nothing of this machine's user is read or written."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tui_agent import i18n

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


@pytest.fixture(autouse=True)
def _plain_english(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever this machine's locale says; a test that wants another language asks for it."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "REPO_AGENT_LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    i18n.use(i18n.ENGLISH)
    yield
    i18n.use(i18n.ENGLISH)


# The same examples on every machine: what a clone is told to pass, it passes. `--hypothesis-profile=default` goes on.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

"""githubkit, generated from GitHub's own description: its models and its client, for checking replies.

The release in use was written for an earlier hishel than the one that this project caches with, and
imports names from it that are gone. Nothing here uses its cache: the names only have to exist while
it is imported.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_GONE = {
    "hishel": ("CachePolicy", "SpecificationPolicy", "SyncBaseStorage", "SyncSqliteStorage"),
    "hishel.httpx": ("SyncCacheTransport",),
}


@contextmanager
def _with_names() -> Iterator[None]:
    added: list[tuple[ModuleType, str]] = []
    for module_name, names in _GONE.items():
        module = importlib.import_module(module_name)
        for name in names:
            if not hasattr(module, name):
                setattr(module, name, type(name, (), {}))
                added.append((module, name))
    try:
        yield
    finally:
        for module, name in added:
            delattr(module, name)


with _with_names(), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from githubkit import GitHub
    from githubkit.versions.latest import models

__all__ = ["GitHub", "check", "models"]


def check(model: str, data: Any) -> Any:
    """Validate a reply, or each entry of a list, against one of GitHub's models, and return what it became."""
    kind = getattr(models, model)
    return [kind.model_validate(item) for item in data] if isinstance(data, list) else kind.model_validate(data)

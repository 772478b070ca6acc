"""Which files the settings come from, and who will do the work: without a network."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from tui_agent.frontends.doctor.finding import Finding
from tui_agent.settings import Settings

_OTHERS = 0o077
"""What others than the owner may do with a file."""


def files(config_file: Path, env_file: Path, settings: Settings | None, error: str = "") -> list[Finding]:
    """The files of settings, and whether they could be read.

    Args:
        config_file: where the user's `config.toml` is looked for.
        env_file: where the `.env` is.
        settings: what they gave; None where they could not be read.
        error: why not.
    """
    there = [path for path in (config_file, env_file) if _is_there(path)]
    looked = "; ".join(
        f"{path} is read" if path in there else f"{path} is not there" for path in (config_file, env_file)
    )
    if settings is None:
        return [Finding("settings", "problem", error, "mend it; nothing that depends on it was looked at")]
    open_to_all = [path for path in there if _holds_a_key(path, config_file, settings) and _is_open(path)]
    if open_to_all:
        todo = f"chmod 600 {' '.join(map(str, open_to_all))}"
        return [Finding("settings", "attention", f"{looked}; others can read the key that stands there", todo)]
    return [Finding("settings", "ok", looked)]


def engine(settings: Settings, wanted: str) -> list[Finding]:
    """Who does the work, and under which key.

    Args:
        settings: the user's.
        wanted: as `--engine` says.
    """
    host = urlsplit(settings.base_url).netloc
    profile = f" (profile {settings.profile})" if settings.profile else ""
    llm = f"the LLM {settings.model} at {host}{profile}, with a window of {settings.context_limit:,} tokens"
    todo = f"for an LLM {settings.key_wanted}, or choose a server of your own (--profile ollama)"
    if wanted == "survey":
        return [Finding("engine", "ok", "the built-in survey, as --engine says"), _key(settings)]
    if settings.api_key:
        return [Finding("engine", "ok", llm), _key(settings)]
    if wanted == "llm":
        return [Finding("engine", "problem", "--engine llm, without a key", todo)]
    return [Finding("engine", "attention", "the built-in survey: no key is set", todo)]


def _key(settings: Settings) -> Finding:
    if not settings.api_key:
        return Finding("key", "ok", "not set, and not needed")
    if not settings.has_key:
        return Finding("key", "ok", f"none is sent: the {settings.origin('api_key')} wants none")
    return Finding("key", "ok", f"set ({settings.origin('api_key')})")


def _is_there(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def _holds_a_key(path: Path, config_file: Path, settings: Settings) -> bool:
    source = "config.toml" if path == config_file else ".env"
    return any(settings.source(name) == source for name in ("api_key", "github_token") if getattr(settings, name))


def _is_open(path: Path) -> bool:
    try:
        return os.name == "posix" and bool(path.stat().st_mode & _OTHERS)
    except OSError:
        return False

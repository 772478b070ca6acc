"""What a text in the input means: a run on the repository it names, or a question about the current one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tui_agent.github.address import PUBLIC_API, Found, locate, parse
from tui_agent.request import RunRequest, UsageError

EDGES = " \t,，。.:：;；、—-"


def request_for(
    text: str,
    current: RunRequest | None,
    *,
    follows: str | None = None,
    api_url: str = PUBLIC_API,
    cwd: Path | None = None,
) -> RunRequest:
    """The run that a text asks for.

    Args:
        text: what was typed; the first address in it names the repository, the rest is the question.
        current: the request of the run on the screen, whose language and engine stay.
        follows: the run whose report stands on the screen: a question without an address goes on with it.
        api_url: the API that will be asked.
        cwd: what relative paths are relative to; None for the working folder.

    Raises:
        UsageError: where no repository is meant; one sentence that says what to write.
    """
    found = locate(text, api_url=api_url, cwd=cwd, eager=current is None)
    if found is not None:
        named = text[found.start : found.end]
        question = _question(text, found)
        if current is None:
            return RunRequest(repo=named, question=question)
        return replace(current, repo=named, question=question, ref=None, refresh=False, no_cache=False, follows=None)
    first, *more = text.split() or [""]
    is_one_word = not more
    if first.startswith(("/", "~/", "./", "../")) or (is_one_word and ("://" in first or first in (".", "..", "~"))):
        # it names a place and nothing else: say what is wrong with it
        parse(first, api_url=api_url, cwd=cwd)
    if current is None:
        if is_one_word:
            parse(text, api_url=api_url, cwd=cwd)
        raise UsageError("No repository is named yet: write owner/name, a GitHub URL, or a folder such as ./project.")
    return replace(current, question=text, refresh=False, no_cache=False, follows=follows)


def _question(text: str, found: Found) -> str | None:
    """What is asked about the repository: the text around its name; all of it, where the name stands within."""
    parts = [part.strip(EDGES) for part in (text[: found.start], text[found.end :])]
    said = [part for part in parts if any(char.isalnum() for char in part)]
    if len(said) == 2:
        return text.strip()
    return said[0] if said else None

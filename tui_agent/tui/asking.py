"""What a text in the input means: a run on the repository it names, or a question about the current one."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tui_agent.github.address import PUBLIC_API, Found, locate, parse
from tui_agent.i18n import say
from tui_agent.request import RunRequest, UsageError

EDGES = " \t,，。.:：;；、—-"
_BETWEEN = re.compile(
    r"\s*[,，、]\s*(?:(?:and|vs\.?)\s+|[和与]\s*)?|\s*[和与]\s*|\s+(?:(?:and|vs\.?)\s+)?", re.IGNORECASE
)
"""What may stand between two addresses that are to be compared."""
_WORDS = (re.compile(r"[^\s,，、]+"), re.compile(r"[^\s,，、\u4e00-\u9fff]+"))
"""What an address may be: a word, or the part of it before a Chinese one."""


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
        text: what was typed; the first address in it names the repository, the rest is the question. Where it begins
            with two addresses or more, they are compared.
        current: the request of the run on the screen, whose language and engine stay.
        follows: the run whose report stands on the screen: a question without an address goes on with it.
        api_url: the API that will be asked.
        cwd: what relative paths are relative to; None for the working folder.

    Raises:
        UsageError: where no repository is meant; one sentence that says what to write.
    """
    several, question = _several(text, api_url, cwd)
    if several:
        repo, *others = several
        if current is None:
            return RunRequest(repo=repo, others=tuple(others), question=question)
        return _anew(current, repo, question, tuple(others))
    found = locate(text, api_url=api_url, cwd=cwd, eager=current is None)
    if found is not None:
        named = text[found.start : found.end]
        question = _question(text, found)
        if current is None:
            return RunRequest(repo=named, question=question)
        return _anew(current, named, question)
    first, *more = text.split() or [""]
    is_one_word = not more
    if first.startswith(("/", "~/", "./", "../")) or (is_one_word and ("://" in first or first in (".", "..", "~"))):
        # it names a place and nothing else: say what is wrong with it
        parse(first, api_url=api_url, cwd=cwd)
    if current is None:
        if is_one_word:
            parse(text, api_url=api_url, cwd=cwd)
        raise UsageError(
            say("No repository is named yet: write owner/name, a GitHub URL, or a folder such as ./project.")
        )
    if current.others:
        raise UsageError(say("A comparison cannot be gone on with: go to a repository of it (, and .) and ask there."))
    return replace(current, question=text, refresh=False, no_cache=False, since=None, follows=follows)


def _anew(current: RunRequest, repo: str, question: str | None, others: tuple[str, ...] = ()) -> RunRequest:
    """A run of its own, asked as the current one was."""
    fresh = replace(current, ref=None, refresh=False, no_cache=False, since=None, follows=None)
    return replace(fresh, repo=repo, others=others, question=question)


def _several(text: str, api_url: str, cwd: Path | None) -> tuple[list[str], str | None]:
    """The addresses with which a text begins, and the question behind them; no addresses where it is one alone.

    Args:
        text: what was typed.
        api_url: the API that will be asked.
        cwd: what relative paths are relative to.
    """
    named: list[str] = []
    place = len(text) - len(text.lstrip())
    end = place
    while (found := _address_at(text, place, api_url, cwd)) is not None:
        named.append(found)
        end = place + len(found)
        between = _BETWEEN.match(text, end)
        if between is None:
            break
        place = between.end()
    if len(named) < 2:
        return [], None
    rest = text[end:].strip(EDGES)
    return named, rest if any(char.isalnum() for char in rest) else None


def _address_at(text: str, place: int, api_url: str, cwd: Path | None) -> str | None:
    """The address that stands at a place of a text and ends with a word or before a Chinese one."""
    for pattern in _WORDS:
        word = pattern.match(text, place)
        if word is None:
            continue
        named = word[0].rstrip(EDGES + "?!？！")
        # looked at as a part of a sentence: alone, "and/or" would be a repository
        found = locate(f"– {named}", api_url=api_url, cwd=cwd, eager=True) if named else None
        if found is not None and (found.start, found.end) == (2, 2 + len(named)):
            return named
    return None


def _question(text: str, found: Found) -> str | None:
    """What is asked about the repository: the text around its name; all of it, where the name stands within."""
    parts = [part.strip(EDGES) for part in (text[: found.start], text[found.end :])]
    said = [part for part in parts if any(char.isalnum() for char in part)]
    if len(said) == 2:
        return text.strip()
    return said[0] if said else None

"""Figures of several repositories → sentences: what is common and what differs, each by a fixed rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tui_agent.transports.survey.markup import code, quoted
from tui_agent.transports.survey.phrases import Phrases
from tui_agent.transports.survey.shapes import dict_of, list_of, number_of, object_from, text_of

Figures = Mapping[str, Mapping[str, Any]]
_SHOWN = 12


def compared(figures: str, phrases: Phrases) -> str:
    """The reading of a comparison, in Markdown.

    Args:
        figures: `{repository: {figure: value}}` as JSON.
        phrases: the report's language.
    """
    known = {name: dict_of(value) for name, value in (object_from(figures) or {}).items()}
    common = [line for rule in (_same_language, _same_licence, _shared) for line in rule(known, phrases)]
    apart = [line for rule in _DIFFERENCES for line in rule(known, phrases)]
    blocks = [f"> {phrases.say('compared_by_rule')}"]
    for heading, lines in (("h_common", common), ("h_apart", apart)):
        if lines:
            blocks += [f"## {phrases.say(heading)}", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join(blocks) + "\n"


def _values(known: Figures, key: str) -> dict[str, str]:
    return {name: text for name, one in known.items() if (text := text_of(one.get(key)))}


def _numbers(known: Figures, key: str) -> dict[str, int]:
    return {name: number for name, one in known.items() if (number := number_of(one.get(key))) is not None}


def _same_language(known: Figures, phrases: Phrases) -> Iterator[str]:
    values = _values(known, "language")
    if len(values) == len(known) and len(set(values.values())) == 1:
        yield phrases.say("all_language", language=quoted(next(iter(values.values()))))


def _same_licence(known: Figures, phrases: Phrases) -> Iterator[str]:
    values = _values(known, "licence")
    # no licence, or one that was not recognised, is none that they share
    if any(text == "none" or text.startswith("see ") for text in values.values()):
        return
    if len(values) == len(known) and len(set(values.values())) == 1:
        yield phrases.say("all_licence", licence=code(next(iter(values.values()))))


def _shared(known: Figures, phrases: Phrases) -> Iterator[str]:
    """Dependencies that all of them declare."""
    names = [{text_of(name).lower() for name in list_of(one.get("dependency_names"))} for one in known.values()]
    if len(names) == len(known) > 1 and (both := sorted(set.intersection(*names) - {""})):
        yield phrases.say("all_depend", list=phrases.codes(both, _SHOWN))


def _licences(known: Figures, phrases: Phrases) -> Iterator[str]:
    values = _values(known, "licence")
    if len(set(values.values())) > 1:
        yield phrases.say("apart_licence", list=_told(values, code, phrases))


def _languages(known: Figures, phrases: Phrases) -> Iterator[str]:
    values = _values(known, "language")
    if len(set(values.values())) > 1:
        yield phrases.say("apart_language", list=_told(values, quoted, phrases))


def _latest(known: Figures, phrases: Phrases) -> Iterator[str]:
    values = _values(known, "last_commit")
    if len(set(values.values())) > 1:
        ordered = dict(sorted(values.items(), key=lambda item: item[1], reverse=True))
        yield phrases.say("apart_last", list=_told(ordered, quoted, phrases))


def _ranked(key: str, phrase: str) -> Callable[[Figures, Phrases], Iterator[str]]:
    """A rule that orders the repositories by a number, the largest first."""

    def rule(known: Figures, phrases: Phrases) -> Iterator[str]:
        numbers = _numbers(known, key)
        if len(set(numbers.values())) > 1:
            ordered = dict(sorted(numbers.items(), key=lambda item: -item[1]))
            shown = {name: f"{number:,}" for name, number in ordered.items()}
            yield phrases.say(phrase, list=_told(shown, str, phrases))

    return rule


def _found(key: str, phrase: str) -> Callable[[Figures, Phrases], Iterator[str]]:
    """A rule that tells those that have a thing from those where it was looked for and not found."""

    def rule(known: Figures, phrases: Phrases) -> Iterator[str]:
        states = {name: text_of(one.get(key)) for name, one in known.items()}
        having = [name for name, state in states.items() if state == "found"]
        lacking = [name for name, state in states.items() if state == "missing"]
        if having and lacking:
            yield phrases.say(phrase, having=phrases.codes(having), lacking=phrases.codes(lacking))

    return rule


def _archived(known: Figures, phrases: Phrases) -> Iterator[str]:
    archived = [name for name, one in known.items() if one.get("archived") is True]
    if archived:
        yield phrases.say("apart_archived", list=phrases.codes(archived))


def _told(values: Mapping[str, str], shown: Callable[[str], str], phrases: Phrases) -> str:
    """Each repository with its value."""
    return phrases.some([f"{code(name)} {shown(value)}" for name, value in values.items()], _SHOWN)


_DIFFERENCES: tuple[Callable[[Figures, Phrases], Iterator[str]], ...] = (
    _languages,
    _licences,
    _ranked("stars", "apart_stars"),
    _latest,
    _ranked("commits_in_90_days", "apart_recent"),
    _ranked("authors_seen", "apart_authors"),
    _ranked("bytes", "apart_bytes"),
    _ranked("dependencies", "apart_dependencies"),
    _found("tests", "apart_tests"),
    _found("ci", "apart_ci"),
    _archived,
)

"""The interface's language: plain English in the code, Simplified Chinese from a gettext catalogue.

English costs nothing: `gettext` is imported, and the catalogue read, only where the language is another one. What a
machine or a model reads (events, results of tools, JSON) is English always; sentences that come out of it are
translated where a person is shown them, by `told`.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from gettext import GNUTranslations
    from typing import TypeVar

    Text = TypeVar("Text", bound=str)

ENGLISH, CHINESE = "en", "zh"
DOMAIN = "repo-agent-tui"
FOLDER = os.path.join(os.path.dirname(__file__), "locale")  # noqa: PTH118, PTH120
TOLD = "told"
"""The context (gettext's msgctxt) of sentences that are made in English and translated by `told`."""
DEEPEST = 4
"""Sentences within sentences that are translated."""
LONGEST = 600
"""Characters of a text that may be a known sentence."""

_texts: GNUTranslations | None = None
_sentences: list[tuple[list[str], str, str]] | None = None


def say(text: str, /, **values: object) -> str:
    """A text in the interface's language.

    Args:
        text: English, a literal; with `values` a template of `str.format`.
        values: what its placeholders stand for.
    """
    if _texts is not None and text:
        text = _texts.gettext(text)
    return text.format(**values) if values else text


def count(one: str, many: str, number: int, /, **values: object) -> str:
    """A text in which a number stands, as `{number}`, in the form that goes with it.

    Args:
        one: English for 1, a literal.
        many: English for all others.
        number: how many.
        values: what the other placeholders stand for.
    """
    if _texts is not None:
        text = _texts.ngettext(one, many, number)
    else:
        text = one if number == 1 else many
    return text.format(number=number, **values)


def mark(text: Text, /) -> Text:
    """The text as it is, marked for the catalogue; `say` translates it where it is shown."""
    return text


def told(text: str, depth: int = 0) -> str:
    """A sentence that was made or marked elsewhere (a notice, an error), in the interface's language where it is known.

    What stands in the places of its placeholders stays as it is, unless it is itself a known sentence.
    """
    global _sentences
    # A word within a sentence is a name, whatever else is called so.
    if _texts is None or not text or (depth and " " not in text):
        return text
    for known in (_texts.pgettext(TOLD, text), _texts.gettext(text)):
        if known != text:
            return known
    if len(text) > LONGEST:
        return text
    if _sentences is None:
        _sentences = _known_sentences(_texts)
    for words, pattern, translation in _sentences:
        if (parts := _match(words, pattern, text)) is not None:
            if depth < DEEPEST:
                parts = {name: told(part, depth + 1) for name, part in parts.items()}
            return translation.format(**parts)
    return _pieces(text, depth)


def _pieces(text: str, depth: int) -> str:
    """Several sentences in a row, each of them translated where it is known."""
    for joint, end, between in (("; ", "", "；"), (". ", ".", "")):
        first, *others = text.split(joint)
        if others and depth < DEEPEST:
            parts = [*(part + end for part in (first, *others[:-1])), others[-1]]
            done = [told(part, depth + 1) for part in parts]
            if done != parts:
                return between.join(done)
    return text


def use(language: str) -> None:
    """Speak this language from now on: `ENGLISH` or `CHINESE`."""
    global _texts, _sentences
    if language != CHINESE:
        _texts, _sentences = None, None
    elif _texts is None:
        import gettext

        path = os.path.join(FOLDER, "zh_CN", "LC_MESSAGES", f"{DOMAIN}.mo")  # noqa: PTH118
        with open(path, "rb") as file:  # noqa: PTH123
            _texts = gettext.GNUTranslations(file)


def language() -> str:
    """The interface's language now."""
    return ENGLISH if _texts is None else CHINESE


def wanted(lang: str | None, environ: Mapping[str, str]) -> str:
    """The interface's language: as set (`--lang`, the settings), else by the locale; English where there is no other.

    Args:
        lang: a language by name or code; None where none is set.
        environ: the environment.
    """
    return _known(lang) or ENGLISH if lang else _of_locale(environ)


def typed(argv: Sequence[str], environ: Mapping[str, str]) -> str:
    """The language that a command line and the environment ask for, before anything is understood of either."""
    lang = None
    for at, word in enumerate(argv):
        if word == "--":
            break
        if word == "--lang" and at + 1 < len(argv):
            lang = argv[at + 1]
        elif word.startswith("--lang="):
            lang = word[7:]
    return wanted((lang or environ.get("REPO_AGENT_LANG") or "").strip() or None, environ)


def report_language(lang: str | None, question: str | None) -> str | None:
    """The language that a run's report is asked for in; None where the question decides.

    Args:
        lang: as set.
        question: a free question, or None for a ready one, which has no language of its own.
    """
    return lang or (CHINESE if question is None and language() == CHINESE else None)


def _of_locale(environ: Mapping[str, str]) -> str:
    """The first language that is known; as gettext does, a list in LANGUAGE counts only where a locale is set."""
    place = next((text for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (text := environ.get(name))), "")
    if place.partition(".")[0] in ("", "C", "POSIX"):
        return ENGLISH
    for name in (environ.get("LANGUAGE") or place).split(":"):
        if (found := _known(name)) is not None:
            return found
    return ENGLISH


def _known(name: str) -> str | None:
    """One of the interface's languages, by code (zh, zh_CN.UTF-8, zh-Hans) or name; None for any other."""
    for end in "_-.@ ":
        name = name.partition(end)[0]
    name = name.strip().lower()
    return {"zh": CHINESE, "chinese": CHINESE, "中文": CHINESE, "en": ENGLISH, "english": ENGLISH}.get(name)


def _known_sentences(texts: GNUTranslations) -> list[tuple[list[str], str, str]]:
    """The sentences that `told` knows, those with the most words of their own first.

    Each as the words between its placeholders, its pattern, and its translation.
    """
    import re

    begin = f"{TOLD}\x04"
    known: dict[str, str] = {
        key.removeprefix(begin): value
        for key, value in texts._catalog.items()  # type: ignore[attr-defined]
        if isinstance(key, str) and key.startswith(begin)
    }
    made = []
    for text, translation in known.items():
        parts = re.split(r"\{(\w+)\}", text)
        pattern = "".join(f"(?P<{part}>.*)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
        made.append((parts[::2], pattern, translation))
    made.sort(key=lambda one: -sum(map(len, one[0])))
    return made


def _match(words: list[str], pattern: str, text: str) -> dict[str, str] | None:
    """What stands in the places of the placeholders; None where the text is another sentence."""
    if not text.startswith(words[0]) or not text.endswith(words[-1]) or not all(word in text for word in words):
        return None
    import re

    found = re.fullmatch(pattern, text, re.DOTALL)
    return None if found is None else found.groupdict()

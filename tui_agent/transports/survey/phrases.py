"""One table of phrases a language, so that a report says the same facts in each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from tui_agent.transports.survey import phrases_en, phrases_zh
from tui_agent.transports.survey.history import Request
from tui_agent.transports.survey.markup import code, quoted
from tui_agent.transports.survey.units import UNITS

_HAN = re.compile(r"[\u3400-\u9fff]")
_KANA_OR_HANGUL = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
_FOREIGN = re.compile(r"[\u0370-\u1fff\u3040-\u30ff\uac00-\ud7af]")
_ENGLISH = ("en", "english")
_CHINESE = ("zh", "chinese", "中文", "汉语", "简体中文")
_TRADITIONAL = re.compile(r"hant|tw|hk|mo|traditional", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one language."""

    language: str
    table: Mapping[str, str]

    def say(self, key: str, **values: str | int) -> str:
        """A phrase with its values put in; values are finished Markdown."""
        return self.table[key].format(**values)

    def has(self, key: str) -> bool:
        """Whether there is such a phrase."""
        return key in self.table

    def count(self, number: int, unit: str) -> str:
        """A number with what it counts."""
        one, many, chinese = UNITS[unit]
        form = chinese if self.language == "zh" else one if number == 1 else many
        return form.format(n=f"{number:,}")

    def join(self, items: Iterable[str]) -> str:
        """An enumeration."""
        return self.table["comma"].join(items)

    def some(self, items: list[str], most: int) -> str:
        """An enumeration of the first `most`, saying how many more there are."""
        if len(items) <= most:
            return self.join(items)
        return self.join([*items[:most], self.say("and_more", more=self.count(len(items) - most, "more"))])

    def codes(self, items: Iterable[str], most: int = 30) -> str:
        """An enumeration of names as code."""
        return self.some([code(item) for item in items], most)

    def quote(self, text: str, width: int = 300) -> str:
        """Words of the repository in quotation marks, fit for Markdown."""
        return self.say("quote", text=quoted(text, width))

    def at_least(self, count: str, exact: bool) -> str:
        """A count that is exact, or a lower bound."""
        return count if exact else self.say("at_least", count=count)


ENGLISH = Phrases("en", phrases_en.PHRASES)
CHINESE = Phrases("zh", phrases_zh.PHRASES)


def choose(request: Request) -> tuple[Phrases, str]:
    """The report's language and a sentence about it.

    Chinese where the request names it, or, naming none, where its question is written in Chinese; else English.

    Returns:
        the phrases; a sentence for a language that was wanted and cannot be had, or "".
    """
    wanted = request.language.strip().lower()
    if wanted.startswith(_CHINESE):
        traditional = _TRADITIONAL.search(wanted) is not None
        return CHINESE, CHINESE.say("traditional", language=code(request.language)) if traditional else ""
    if wanted:
        english = re.split(r"[-_ ]", wanted)[0] in _ENGLISH
        return ENGLISH, "" if english else ENGLISH.say("other_language", language=code(request.language))
    if _HAN.search(request.question) and not _KANA_OR_HANGUL.search(request.question):
        return CHINESE, ""
    return ENGLISH, ENGLISH.say("other_script") if _FOREIGN.search(request.question) else ""


def day(when: datetime) -> str:
    """A date, the same in every language."""
    return when.strftime("%Y-%m-%d") if when.year >= 1000 else f"{when.year:04d}-{when:%m-%d}"


def percent(share: float) -> str:
    """A share of 1 as a percentage with one decimal; what is not all or nothing never reads so."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    return f"{share * 100:.1f} %"

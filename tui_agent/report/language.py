"""Which language a report is written in, as far as it matters to what the program writes around it."""

from __future__ import annotations

import re

_CJK = re.compile("[\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile(r"\b[A-Za-z]{2,}\b")
_LOOKED_AT = 20_000


def is_chinese_text(text: str) -> bool:
    """Whether a text is Chinese, whatever names and code in Latin letters stand in it."""
    text = text[:_LOOKED_AT]
    signs = len(_CJK.findall(text))
    return signs > 10 and signs > 0.6 * len(_LATIN.findall(text)) and len(_KANA.findall(text)) < signs / 10

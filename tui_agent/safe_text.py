"""Text from outside, made fit for a terminal: nothing in it can move the cursor, hide or reorder what a person reads.

Repository content, file names, model text and server messages pass through `visible` (or `one_line`) before
they reach a screen. What cannot be seen is shown instead of dropped, since hiding it would be a lie as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

KEPT = "\n\t"
ELLIPSIS = "…"

# Controls (C0 but for tab and newline, DEL, C1) and lone surrogates; soft hyphen and joiners of words; bidi marks,
# embeddings, overrides and isolates (Trojan Source, CVE-2021-42574); line and paragraph separators; zero-width and
# invisible operators; letters that are drawn as nothing; byte order mark, annotation and musical formatting; tag
# characters ("ASCII smuggling").
_ALWAYS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Fine in their place, a hiding place elsewhere: the joiners belong between emoji or between letters of scripts that
# use them (RFC 5892, appendix A.1 and A.2), a variation selector belongs behind one visible character.
_EMOJI = "\u00a9\u00ae\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_JOINING = "\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u18af\ua840-\ua87f"
_MISPLACED = (
    f"(?<![{_EMOJI}{_JOINING}])\u200d|\u200d(?![{_EMOJI}{_JOINING}])"
    f"|(?<![{_JOINING}])\u200c|\u200c(?![{_JOINING}])"
    r"|(?<![^\s\ufe00-\ufe0f\U000e0100-\U000e01ef])[\ufe00-\ufe0f]"
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
)
_WORD = re.compile(r"[^ \t\n]+")


_SUSPECT = re.compile(f"[{_ALWAYS}\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef]")


@lru_cache(maxsize=16)
def _unsafe(keep: str) -> re.Pattern[str]:
    """One search that finds every character to be shown, those of `keep` excepted."""
    kept = f"(?![{re.escape(keep)}])" if keep else ""
    return re.compile(f"{kept}(?:[{_ALWAYS}\n\t]|{_MISPLACED})")


def _picture(match: re.Match[str]) -> str:
    """What stands for a character that cannot be shown as itself."""
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code < 0xA0:
        return f"\\x{code:02x}"
    return f"⟨U+{code:04X}⟩"


def visible(text: str, *, keep: str = KEPT) -> str:
    """The text with everything invisible made visible, so that it is safe on any terminal.

    C0 controls become their control pictures (␛ for escape), C1 controls `\\x9b`, and bidi controls, zero-width and
    tag characters, separators and lone surrogates `⟨U+202E⟩`. CRLF becomes LF; a lone CR is shown. Joiners inside
    emoji or inside words that need them, and single variation selectors, stay.

    Args:
        text: anything, lone surrogates included.
        keep: characters that stay as they are.
    """
    if _SUSPECT.search(text) is None and (keep == KEPT or not any(c in text for c in "\n\t" if c not in keep)):
        return text
    if "\r" not in keep:
        text = text.replace("\r\n", "\n")
    return _unsafe(keep).sub(_picture, text)


def typeable(text: str) -> str:
    """What of a pasted text may stand in a field: what no key could have typed is left out; lines stay apart."""
    return _unsafe("\n").sub("", text.replace("\r\n", "\n").replace("\t", " "))


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    """Terminal cells of one character, by East Asian Width (UAX #11); ambiguous ones count 1."""
    if unicodedata.category(char) in {"Mn", "Me", "Cf"} or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cell_width(text: str) -> int:
    """How many terminal cells the text takes at most; `text` holds no control characters.

    A terminal that draws a joined emoji as one picture takes fewer; a caller that counts on this never overflows.
    """
    if text.isascii():
        return len(text)
    # U+FE0F asks for the emoji form, which many terminals draw two cells wide.
    return sum(map(_char_width, text)) + text.count("\ufe0f")


def _cut(text: str, width: int) -> str:
    """The longest beginning that fits into `width` cells, combining marks kept with their base."""
    used = 0
    for index, char in enumerate(text):
        used += 1 if char == "\ufe0f" else _char_width(char)
        if used > width:
            # A base whose selector does not fit goes with it; a joiner with nothing to join goes too.
            end = index - 1 if char == "\ufe0f" else index
            return text[: max(end, 0)].rstrip("\u200d ")
    return text


def _words(text: str, longest: int | None) -> Iterator[tuple[str, bool]]:
    """The words of a text made visible, each cut to `longest` characters, and whether it was."""
    for match in _WORD.finditer(text):
        word = match.group()
        if text[match.end() : match.end() + 1] == "\n":
            word = word.removesuffix("\r")
        if word:
            yield visible(word[:longest], keep=""), longest is not None and len(word) > longest


def one_line(text: str, width: int | None = None) -> str:
    """The text safe and on one line: runs of blanks, tabs and newlines become one space.

    Args:
        text: anything; only as much of it is looked at as can be shown.
        width: terminal cells to stay within, `…` included where something was left out; None for no bound.
    """
    if width is None:
        return " ".join(word for word, _ in _words(text, None))
    if width <= 0:
        return ""
    shown: list[str] = []
    room = width + 1
    # Zero-width characters may outnumber the cells; past this no terminal shows a word as one.
    for word, was_cut in _words(text, 16 * width + 64):
        shown.append(word)
        room -= cell_width(word) + 1
        if room < 0 or was_cut:
            return _cut(" ".join(shown), width - 1) + ELLIPSIS
    return " ".join(shown)

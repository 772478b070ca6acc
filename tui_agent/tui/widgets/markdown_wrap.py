"""Where lines of running text may end: by terminal cells, between words and between CJK signs."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

# Signs that stand for a syllable or a word: a line may end before and after each (UAX #14, class ID and its kin).
_CJK = (
    "\u2e80-\u2fdf\u3040-\u30ff\u3105-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3"
    "\uf900-\ufaff\uff66-\uff9f\U0001f300-\U0001faff\U00020000-\U0003fffd"
)
# Never at a line's end, never at a line's beginning (kinsoku shori; UAX #14, classes OP and CL, NS, EX).
_OPENING = "「『（《【〈〔［｛“‘\u3016\u3018"
_CLOSING = (
    "」』）》】〉〕］｝、。，．：；！？・ー々〜～…‥—％”\u3017\u3019\u3041\u3043\u3045\u3047\u3049\u3063\u3083\u3085\u3087"
    "\u30a1\u30a3\u30a5\u30a7\u30a9\u30c3\u30e3\u30e5\u30e7\u3005\ufe0f\u200d"
)

_WORD = re.compile(r"[^ ]+ *| +")
# A path or an address that is wider than the line is better broken behind one of these than anywhere.
_PIECE = re.compile(r"[^/\\._\-=&?,;:>)]*[/\\._\-=&?,;:>)]+|[^/\\._\-=&?,;:>)]+")


@cache
def _chunk() -> re.Pattern[str]:
    """Parts of a text between which a line may end; half a frame's work to compile, and not needed for ASCII."""
    return re.compile(
        f"[{_OPENING}]*"
        f"(?:[{_CJK}](?:\u200d[{_CJK}])*[{_CLOSING}’]*|[^ {_CJK}{_OPENING}{_CLOSING}]+[{_CLOSING}]*|[{_CLOSING}]+)"
        " *"
        f"|[{_OPENING}]+ *| +"
    )


@cache
def _glued() -> re.Pattern[str]:
    return re.compile(f"[{_CJK}{_CLOSING}{_OPENING}]")


class Broken(NamedTuple):
    """One line of a text: `text[start:end]`, and what stood between the line before and this one."""

    start: int
    end: int
    join: str


def is_cjk(char: str) -> bool:
    """Whether the character belongs to a script that is written without spaces between words."""
    return not char.isascii() and _glued().match(char) is not None and not "\uac00" <= char <= "\ud7a3"


def _pieces(word: str, width: int) -> list[str]:
    """A word wider than the line, cut into parts that fit."""
    parts: list[str] = []
    last, used = "", 0
    for piece in _PIECE.findall(word):
        cells = cell_len(piece)
        if used and used + cells > width:
            parts.append(last)
            last, used = "", 0
        if cells > width:
            *full, piece = [part for part in chop_cells(piece, width) if part] or [piece]
            parts.extend(full)
            cells = cell_len(piece)
        last += piece
        used += cells
    return [*parts, last] if last else parts


def break_lines(text: str, width: int) -> list[Broken]:
    """Break a text into lines.

    Args:
        text: running text; every newline in it ends a line.
        width: terminal cells a line may take, at least 1. A sign wider than that stands alone.

    Returns:
        At least one line. Spaces at which a line was broken belong to none.
    """
    width = max(1, width)
    lines: list[Broken] = []
    offset = 0
    for part in text.split("\n"):
        _fill(part, offset, width, lines)
        offset += len(part) + 1
    return lines


def _fill(part: str, offset: int, width: int, lines: list[Broken]) -> None:
    join = "\n"
    if cell_len(part) <= width:
        lines.append(Broken(offset, offset + len(part.rstrip(" ")), join))
        return
    start = end = used = 0
    for match in (_WORD if part.isascii() else _chunk()).finditer(part):
        chunk = match.group()
        word = chunk.rstrip(" ")
        cells = cell_len(word)
        if used and used + cells > width:
            lines.append(Broken(offset + start, offset + end, join))
            join = " " if end < match.start() else ""
            start, used = match.start(), 0
        if cells > width:
            at = start  # where the word begins, or marks without a width before it
            *full, last = _pieces(part[start : match.start() + len(word)], width)
            for piece in full:
                lines.append(Broken(offset + at, offset + at + len(piece), join))
                join = ""
                at += len(piece)
            start, cells = at, cell_len(last)
        used += cells + len(chunk) - len(word)
        end = match.start() + len(word)
    lines.append(Broken(offset + start, offset + end, join))


def longest_word(text: str) -> int:
    """The cells of the widest part of a text that `break_lines` keeps on one line if it can."""
    chunk = _WORD if text.isascii() else _chunk()
    return max((cell_len(word.rstrip(" \n")) for part in text.split("\n") for word in chunk.findall(part)), default=0)

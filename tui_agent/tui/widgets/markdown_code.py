"""Code in a report: which part of it is a keyword, a string, a comment.

The lexers are Pygments'. They are imported when the first fence is drawn. Some of them take time that
grows with the square or the cube of hostile text, so they are asked for a few dozen lines at once,
only for so much of a fence, and for none with very long lines; the rest is shown plain.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

MAX_CODE = 12_000
"""Characters of a fence that are highlighted."""
MAX_LINE = 160
"""Characters of a line that are highlighted; a longer one is minified or made to be slow."""
CHUNK = 1_500
"""Characters that a lexer is given at once."""
SMALL_CHUNK = 500
"""Characters after which a chunk may end before a line that begins at the margin."""
MAX_BLANKS = 3
"""Blank lines in a row that a lexer is shown."""
TAB = 4
"""Columns of a tab."""

# The names of Pygments' token types and the style of ours that each has; a type that is not here has its parent's.
_STYLES = {
    "Comment": "code-comment",
    "Keyword.Constant": "code-constant",
    "Keyword": "code-keyword",
    "Operator.Word": "code-keyword",
    "Literal.String": "code-string",
    "Literal.Number": "code-constant",
    "Name.Class": "code-name",
    "Name.Function": "code-name",
    "Name.Attribute": "code-name",
    "Name.Decorator": "code-keyword",
    "Name.Tag": "code-keyword",
    "Name.Builtin": "code-builtin",
    "Name.Exception": "code-builtin",
    "Name.Constant": "code-constant",
    "Generic.Heading": "code-keyword",
    "Generic.Subheading": "code-keyword",
    "Generic.Inserted": "code-string",
    "Generic.Deleted": "code-removed",
    "Generic.Prompt": "code-comment",
}


class Lexeme(NamedTuple):
    """A piece of a line of code, and its style's name ("" for none)."""

    text: str
    style: str


CodeLine = tuple[Lexeme, ...]


def language_of(info: str) -> str:
    """The language that a fence's info string names, in small letters; "" for none."""
    words = info.strip().strip("{}").replace(",", " ").split()
    return words[0].lstrip(".").lower()[:40] if words else ""


def chunk_end(lines: Sequence[str], start: int) -> int | None:
    """Where the chunk that begins with line `start` ends; None while lines that come later may belong to it."""
    size = 0
    for index in range(start, len(lines)):
        line = lines[index]
        at_margin = bool(line) and not line[0].isspace()
        if size >= CHUNK or (size >= SMALL_CHUNK and at_margin and not lines[index - 1].strip()):
            return index
        size += len(line) + 1
    return None


@lru_cache(maxsize=256)
def highlight(code: str, language: str) -> tuple[CodeLine, ...]:
    """The lines of one chunk of code, in pieces with styles.

    Args:
        code: text without tabs and without control characters.
        language: a name that Pygments may know, see `language_of`.
    """
    lines = code.split("\n")
    lexer = _lexer(language) if language else None
    if lexer is None or any(len(line) > MAX_LINE for line in lines):
        return tuple(map(_plain, lines))
    found: list[CodeLine] = []
    shown: list[str] = []
    blanks = 0
    for line in lines:
        blanks = 0 if line.strip() else blanks + 1
        if blanks > MAX_BLANKS:
            found += [*_lex(shown, lexer), _plain(line)]
            shown = []
        else:
            shown.append(line)
    return (*found, *_lex(shown, lexer))


@lru_cache(maxsize=1024)
def highlight_line(line: str, language: str) -> CodeLine:
    """One line by itself, for a chunk that is still being written: right but for what spans lines."""
    return highlight.__wrapped__(line, language)[0]


def warm() -> None:
    """Import the lexers and build the most likely one; in a thread, this keeps a tenth of a second off the screen."""
    for language in ("python", "bash", "toml"):
        highlight("", language)


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    """Pygments' lexer of that name; None where there is none."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _style(kind: object) -> str:
    parts = str(kind).split(".")[1:]
    while parts:
        if style := _STYLES.get(".".join(parts)):
            return style
        parts.pop()
    return ""


def _plain(line: str) -> CodeLine:
    return (Lexeme(line, ""),) if line else ()


def _lex(lines: list[str], lexer: Any) -> list[CodeLine]:
    if not lines:
        return []
    try:
        tokens = list(lexer.get_tokens("\n".join(lines)))
    except Exception:  # hundreds of lexers by many hands, and text that none of them expected
        return list(map(_plain, lines))
    found: list[list[Lexeme]] = [[]]
    for kind, text in tokens:
        style = _style(kind)
        for index, part in enumerate(text.split("\n")):
            if index:
                found.append([])
            if not part:
                continue
            line = found[-1]
            if line and line[-1].style == style:
                line[-1] = Lexeme(line[-1].text + part, style)
            else:
                line.append(Lexeme(part, style))
    if ["".join(lexeme.text for lexeme in line) for line in found] != lines:
        return list(map(_plain, lines))  # a lexer that changes the text is not believed
    return [tuple(line) for line in found]

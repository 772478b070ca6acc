"""Text from a repository inside a Markdown report: it is shown, and never acts as Markdown or HTML."""

from __future__ import annotations

import re

from tui_agent.safe_text import ELLIPSIS, one_line, visible
from tui_agent.transports.survey.shapes import clean

# What opens something inside a line of CommonMark, of its GitHub dialect or of a "linkifier" (which takes `a.com` and
# `x@y` for links); a backslash before ASCII punctuation vanishes in every renderer (CommonMark 0.31, 2.4).
_ACTIVE = re.compile(
    r"\\(?=[!-/:-@\[-`{-~])|[`*\[~$]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=#?\w+;)|:(?=/)|@(?=\w)|(?<=[\w-])\.(?=[^\W\d])"
)
_PADDED = (" ", "`")


def quoted(text: str, width: int = 300) -> str:
    """The text on one line, cut to `width` terminal cells, escaped so that nothing in it is markup or a link.

    It is meant to stand inside a line, behind other text: signs that act at a line's start alone stay as they are.
    """
    return _ACTIVE.sub(lambda match: "\\" + match[0], one_line(clean(text), width))


def code(text: str, width: int = 160) -> str:
    """The text as a code span, blanks kept, cut to `width` characters."""
    shown = visible(clean(text), keep="")
    if len(shown) > width:
        shown = shown[: width - 1] + ELLIPSIS
    if not shown.strip():
        shown = f'"{shown}"'
    fence = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
    pad = " " if shown.startswith(_PADDED) or shown.endswith(_PADDED) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def cite(path: str, span: tuple[int, int] | None = None) -> str:
    """A source: the file, and the lines where they are known."""
    if span is None:
        return code(path)
    first, last = span
    return code(f"{path}#L{first}" if first == last else f"{path}#L{first}-L{last}")


def cell(text: str) -> str:
    """Finished Markdown, fit for a cell of a table."""
    return text.replace("|", "\\|")

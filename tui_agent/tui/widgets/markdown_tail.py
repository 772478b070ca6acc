"""The end of a text that is still being written, calmed: half-written marks do not flicker.

What is done here is taken back as soon as more has come, and has no part in the finished text.
"""

from __future__ import annotations

import re

# Marks that say what a line will be, before there is anything to show of it.
_ONLY_MARKS = re.compile(r"[ \t>\-+*=_#~`|:]*(?:\d{1,3}[.)]?[ \t]*)?(?:\[[ xX]?\]?[ \t]*)?")
_FENCE_MARK = re.compile(r"[ \t>]*(?:`{3,}[^`]*|~{3,}.*)")
_CODE_SPAN = re.compile(r"`[^`]*`")
_HALF_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,2000}\Z")
_LOOK_BACK = 4000


def calm(source: str) -> str:
    """The text as it is best shown while more of it is to come.

    Args:
        source: the open end of a Markdown text, its beginning being one of a block.
    """
    begun = source[source.rfind("\n") + 1 :]
    if begun and (_ONLY_MARKS.fullmatch(begun) or _FENCE_MARK.fullmatch(begun)):
        source = source[: len(source) - len(begun)]
    return _close_marks(_hold_table_head(source))


def _hold_table_head(source: str) -> str:
    """Without a table's first line, which is a paragraph until the line below it is whole."""
    body = source.rstrip("\n")
    start = body.rfind("\n") + 1
    if not body.startswith("|", start):
        return source
    before = body[body.rfind("\n", 0, max(0, start - 1)) + 1 : start]
    return source if before.startswith("|") else source[:start]


def _close_marks(source: str) -> str:
    """With the marks of the last paragraph closed that its end leaves open."""
    text = source.rstrip(" \n")
    if text != source.rstrip(" "):
        return source  # nothing is begun on the last line
    last = text[max(text.rfind("\n\n") + 2, len(text) - _LOOK_BACK, 0) :]
    if "``" in last or "~~~" in last:
        return source
    if last.count("`") % 2:
        return text + "`" if not text.endswith("`") else text[:-1]
    if (link := _HALF_LINK.search(last)) is not None:
        text = text[: len(text) - len(link.group())] + link[1]
        last = text[-len(last) :]
    if _CODE_SPAN.sub("", last).count("**") % 2:
        return text.removesuffix("**") if text.endswith("**") else text.rstrip("*") + "**"
    return text if link is not None else source

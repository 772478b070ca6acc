"""The Markdown that is understood: markdown-it's CommonMark with GFM's tables and strikethrough, without HTML.

Importing this takes as long as drawing a few frames, so it is imported when there is text to read (`markdown_parse`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore, block, inline, normalize, text_join
from markdown_it.token import Token

MAX_LEVELS = 12
"""Blocks in blocks that are read as Markdown; a list counts two."""


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule that takes what is nested too deep as literal text; markdown-it itself would drop it."""
    if silent or state.level < MAX_LEVELS:
        return False
    line = start
    while line < end and (state.isEmpty(line) or not 0 <= state.sCount[line] < state.blkIndent):
        line += 1
    token = state.push("literal", "", 0)
    token.content = state.getLines(start, line, state.blkIndent, False)
    token.map = [start, line]
    state.line = line
    return True


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_LEVELS + 2})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline"])
    parser.block.ruler.before("table", "too_deep", _too_deep)
    return parser


_PARSER = _parser()


def blocks(source: str) -> tuple[list[Token], dict[str, Any]]:
    """The tokens of a text's blocks, their insides not yet read, and the link definitions in it."""
    state = StateCore(source, _PARSER, {})
    normalize(state)
    block(state)
    return state.tokens, state.env.get("references", {})


def inside(content: str, references: Any) -> Sequence[Token]:
    """The tokens of a paragraph's inside.

    Args:
        content: the content of an `inline` token.
        references: a mapping of link definitions, as `blocks` gives them.
    """
    token = Token("inline", "", 0, content=content, children=[])
    state = StateCore(content, _PARSER, {"references": references}, [token])
    inline(state)
    text_join(state)
    return token.children or ()


def label(text: str) -> str:
    """A link label in the form under which its definition is kept."""
    return normalizeReference(text)


def contents(tokens: Sequence[Token]) -> Iterator[str]:
    """The paragraphs' insides among a block's tokens, as they were written."""
    return (token.content for token in tokens if token.type == "inline")

"""Markdown to nodes, one top-level block at a time.

The grammar is markdown-it's CommonMark with GFM's tables, strikethrough and task lists; HTML is text
like any other, and what is nested too deep is shown as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore, block, inline, normalize, text_join
from markdown_it.token import Token

from tui_agent.safe_text import visible
from tui_agent.tui.widgets.markdown_code import TAB
from tui_agent.tui.widgets.markdown_inline import Inline, Run, inline_of

MAX_LEVELS = 12
"""Blocks in blocks that are read as Markdown; a list counts two."""
MAX_INLINE = 16_000
"""Characters of one paragraph that are read as Markdown; a longer one is shown as it was written."""
MAX_BRACKETS = 400
"""Opening brackets of one paragraph that are read as Markdown; each of them may cost a look at all the rest."""

References = Mapping[str, Any]
Kind = Literal[
    "heading", "paragraph", "quote", "bullets", "numbers", "item", "code", "literal", "rule", "table", "row", "cell"
]

_KINDS: dict[str, Kind] = {
    "heading": "heading",
    "paragraph": "paragraph",
    "blockquote": "quote",
    "bullet_list": "bullets",
    "ordered_list": "numbers",
    "list_item": "item",
    "table": "table",
    "tr": "row",
    "th": "cell",
    "td": "cell",
}
_LEAVES: dict[str, Kind] = {"fence": "code", "code_block": "code", "literal": "literal", "hr": "rule"}
_TASK = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]", re.DOTALL)


@dataclass(slots=True)
class Node:
    """One element of a block.

    `level` is a heading's level or an ordered list's first number; `loose` says of a list that blank
    lines part its items; `task` whether an item has a box, and whether it is ticked.
    """

    kind: Kind
    level: int = 0
    inline: Inline | None = None
    text: str = ""
    info: str = ""
    align: Literal["left", "center", "right"] = "left"
    task: bool | None = None
    loose: bool = False
    children: list[Node] = field(default_factory=list)


class Part(NamedTuple):
    """One top-level block as the parser saw it: its tokens, and the first line of its source."""

    tokens: list[Token]
    line: int


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


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_LEVELS + 2})
    parser.enable(["table", "strikethrough"]).disable(["html_block", "html_inline"])
    parser.block.ruler.before("table", "too_deep", _too_deep)
    return parser


def split(source: str) -> tuple[list[Part], References]:
    """The top-level blocks of a Markdown text, their insides not yet read, and the link definitions in it.

    Args:
        source: text that begins where a block may begin.
    """
    env: dict[str, Any] = {}
    state = StateCore(source, _parser(), env)
    normalize(state)
    block(state)
    parts: list[Part] = []
    for token in state.tokens:
        if token.level == 0 and token.nesting >= 0:
            parts.append(Part([], token.map[0] if token.map else 0))
        parts[-1].tokens.append(token)
    return parts, env.get("references", {})


class Reader:
    """Reads the insides of blocks; a text that was read before is not read again.

    Args:
        references: link definitions by label, as markdown-it keeps them; looked at when a text is read.
    """

    def __init__(self, references: References) -> None:
        self._env = {"references": references}
        self._known: dict[str, Inline] = {}
        self._used: dict[str, Inline] = {}

    def forget(self) -> None:
        """Keep only what was read since the last time this was called."""
        self._known, self._used = self._used, {}

    def node(self, tokens: Sequence[Token]) -> Node:
        """The node of one top-level block."""
        root = Node("paragraph")
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                if _KINDS.get(token.type.removesuffix("_close")):
                    stack.pop()
            elif token.nesting > 0:
                kind = _KINDS.get(token.type.removesuffix("_open"))
                if kind is not None:
                    node = _opened(kind, token)
                    if kind == "paragraph" and stack[-1].kind == "item" and not token.hidden:
                        stack[-2].loose = True
                    stack[-1].children.append(node)
                    stack.append(node)
            elif token.type == "inline":
                self._inside(stack, token)
            else:
                kind = _LEAVES.get(token.type, "literal")
                text = visible(token.content).expandtabs(TAB)
                text = text.removesuffix("\n") if token.type != "code_block" else text.strip("\n")
                stack[-1].children.append(Node(kind, text=text, info=visible(token.info)))
        return root.children[0] if root.children else root

    def _inside(self, stack: list[Node], token: Token) -> None:
        content = token.content
        node = stack[-1]
        item = stack[-2] if len(stack) > 1 else node
        if item.kind == "item" and node.kind == "paragraph" and len(item.children) == 1:
            match = _TASK.match(content)
            if match is not None:
                item.task = match[1] != " "
                content = content[match.end() :]
        node.inline = self.inline(content)

    def inline(self, content: str) -> Inline:
        """A paragraph's inside."""
        found = self._used.get(content) or self._known.get(content)
        if found is None:
            if not _is_tame(content):
                found = Inline((Run(visible(content).expandtabs(TAB).replace("\n", " ")),))
            else:
                token = Token("inline", "", 0, content=content, children=[])
                state = StateCore(content, _parser(), self._env, [token])
                inline(state)
                text_join(state)
                found = inline_of(token.children or [])
        self._used[content] = found
        return found


def _is_tame(content: str) -> bool:
    return len(content) <= MAX_INLINE and content.count("[") <= MAX_BRACKETS


def _opened(kind: Kind, token: Token) -> Node:
    node = Node(kind)
    if kind == "heading":
        node.level = int(token.tag[1:])
    elif kind == "numbers":
        node.level = int(token.attrs.get("start", 1))
    elif kind == "cell":
        style = str(token.attrs.get("style", ""))
        node.align = "right" if "right" in style else "center" if "center" in style else "left"
    return node


def labels(tokens: Sequence[Token]) -> Iterator[str]:
    """What stands in square brackets and may be a link's label, in the form that definitions are kept under."""
    from markdown_it.common.utils import normalizeReference

    for token in tokens:
        if token.type == "inline" and "[" in token.content and _is_tame(token.content):
            for match in _LABEL.finditer(token.content):
                yield normalizeReference(match[1])


def kind_of(token: Token) -> Kind:
    """What the block is whose first token this is."""
    return _KINDS.get(token.type.removesuffix("_open")) or _LEAVES.get(token.type, "literal")

"""Markdown to nodes, one top-level block at a time; what is too much to read is shown as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tui_agent.safe_text import visible
from tui_agent.tui.widgets import markdown_code
from tui_agent.tui.widgets.markdown_code import TAB
from tui_agent.tui.widgets.markdown_inline import Inline, Run, inline_of

if TYPE_CHECKING:
    from markdown_it.token import Token

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


def warm() -> None:
    """Import the grammar and the lexers; in a thread, before there is text, this keeps their time off the screen."""
    split("")
    markdown_code.warm()


def split(source: str) -> tuple[list[Part], References]:
    """The top-level blocks of a Markdown text, their insides not yet read, and the link definitions in it.

    Args:
        source: text that begins where a block may begin.
    """
    from tui_agent.tui.widgets import markdown_grammar

    tokens, references = markdown_grammar.blocks(source)
    parts: list[Part] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            parts.append(Part([], token.map[0] if token.map else 0))
        parts[-1].tokens.append(token)
    return parts, references


class Reader:
    """Reads the insides of blocks; a text that was read before is not read again.

    Args:
        references: link definitions by label, as markdown-it keeps them; looked at when a text is read.
        targets: where code leads that names something.
    """

    def __init__(self, references: References, targets: Mapping[str, str] = MappingProxyType({})) -> None:
        self._references = references
        self._targets = targets
        self._known: dict[str, Inline] = {}
        self._used: dict[str, Inline] = {}

    def aim(self, targets: Mapping[str, str]) -> None:
        """Have code lead elsewhere; what was read is read again."""
        self._targets = targets
        self._known, self._used = {}, {}

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
        from tui_agent.tui.widgets import markdown_grammar

        found = self._used.get(content) or self._known.get(content)
        if found is None and _is_tame(content):
            found = inline_of(markdown_grammar.inside(content, self._references), self._targets)
        elif found is None:
            found = Inline((Run(visible(content).expandtabs(TAB).replace("\n", " ")),))
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
    from tui_agent.tui.widgets import markdown_grammar

    for content in markdown_grammar.contents(tokens):
        if "[" in content and _is_tame(content):
            for match in _LABEL.finditer(content):
                yield markdown_grammar.label(match[1])


def kind_of(token: Token) -> Kind:
    """What the block is whose first token this is."""
    return _KINDS.get(token.type.removesuffix("_open")) or _LEAVES.get(token.type, "literal")

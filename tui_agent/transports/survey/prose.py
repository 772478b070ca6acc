"""The words with which a text opens: a README's first paragraph, a module's docstring, a licence's first line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token

_LETTERS = re.compile(r"[^\W\d_]")
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_MOST = 20_000  # characters of a README that are looked at
_HIDDEN = frozenset({"script", "style", "head", "title", "svg"})


@dataclass(frozen=True, slots=True)
class Passage:
    """Words as they stand in a file, and their lines (from 1)."""

    text: str
    first: int
    last: int


def first_paragraph(path: str, text: str) -> Passage | None:
    """The first paragraph of prose in a README: no heading, badge, list, table or code; None where there is none.

    Args:
        path: decides between Markdown, reStructuredText and plain text by its ending.
        text: the README's text, or its beginning.
    """
    suffix = PurePosixPath(path).suffix.lower()
    text = text[:_MOST]
    if suffix in (".md", ".markdown", ".mdx", ".mkd"):
        return _in_markdown(text)
    return _in_plain(text, rst=suffix in (".rst", ".rest", ""))


def _is_prose(text: str, linked: int = 0) -> bool:
    """Whether words make a sentence rather than a row of links; `linked` counts the letters inside links."""
    letters = len(_LETTERS.findall(text))
    words = len(re.findall(r"[^\W\d_]{2,}", text))
    enough = len(_HAN.findall(text)) >= 6 or (words >= 3 and letters >= 12)
    return enough and linked * 2 <= letters


def _in_markdown(text: str) -> Passage | None:
    from markdown_it import MarkdownIt

    front = _FRONT_MATTER.match(text)
    skipped = front[0].count("\n") if front else 0
    tokens = MarkdownIt("commonmark").enable("table").parse(text[front.end() :] if front else text)
    for index, token in enumerate(tokens):
        passage: tuple[str, int] | None = None
        if token.type == "html_block" and token.level == 0:
            passage = _words_of_html(token.content)
        elif token.type == "inline" and token.level == 1 and tokens[index - 1].type == "paragraph_open":
            passage = _words_of(token.children or ())
        if passage and token.map and _is_prose(*passage):
            return Passage(passage[0], token.map[0] + 1 + skipped, token.map[1] + skipped)
    return None


def _words_of(children: Iterable[Token]) -> tuple[str, int]:
    """The words of an inline token's children, and how many of their letters are inside links."""
    parts: list[str] = []
    linked = depth = 0
    for child in children:
        if child.type == "link_open":
            depth += 1
        elif child.type == "link_close":
            depth -= 1
        elif child.type in ("text", "code_inline"):
            parts.append(child.content)
            linked += len(_LETTERS.findall(child.content)) if depth else 0
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return " ".join("".join(parts).split()), linked


class _Words(HTMLParser):
    """The words between the tags of an HTML block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.linked = 0
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a" or tag in _HIDDEN or re.fullmatch(r"h[1-6]", tag):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            self._open.remove(tag)

    def handle_data(self, data: str) -> None:
        if any(tag != "a" for tag in self._open):
            return
        self.parts.append(data)
        if self._open:
            self.linked += len(_LETTERS.findall(data))


def _words_of_html(block: str) -> tuple[str, int]:
    parser = _Words()
    parser.feed(block)
    parser.close()
    return " ".join("".join(parser.parts).split()), parser.linked


def _in_plain(text: str, rst: bool) -> Passage | None:
    """The first block of lines that is prose, in reStructuredText without titles, directives and comments."""
    lines = text.split("\n")
    start = 0
    while start < len(lines):
        if not lines[start].strip():
            start += 1
            continue
        end = start
        while end < len(lines) and lines[end].strip():
            end += 1
        block = lines[start:end]
        words, linked = _rst_words(block) if rst else (" ".join(" ".join(block).split()), 0)
        if words and not block[0].startswith(("#", "=", "- ", "* ", "    ", "\t")) and _is_prose(words, linked):
            return Passage(words, start + 1, end)
        start = end
    return None


_RST_RULE = re.compile(r"([=\-~^\"'`#*+:.<>_])\1{2,}\s*")


def _rst_words(block: list[str]) -> tuple[str, int]:
    """A paragraph's words and how many of their letters are inside links; "" for what is no paragraph of prose."""
    if any(_RST_RULE.fullmatch(line) for line in block[:3]):
        return "", 0
    if re.match(r"\s|\.\.|:[\w -]+:|[-*+•]\s|\d+[.)]\s|\||\+--|>>>|\$\s", block[0]):
        return "", 0
    text = " ".join(" ".join(block).split())
    linked = 0

    def label(match: re.Match[str]) -> str:
        nonlocal linked
        linked += len(_LETTERS.findall(match[1]))
        return match[1]

    text = re.sub(r"`([^`<]+?)\s*<[^>`]*>`_+", label, text)
    text = re.sub(r"`([^`]+)`_+", label, text)
    text = re.sub(r"\|([^|\s][^|]*)\|", label, text)
    text = re.sub(r":[\w:.-]+:`([^`]+)`", r"\1", text)
    text = re.sub(r"`+([^`]+)`+", r"\1", text).removesuffix("::")
    return text, linked


def first_line(text: str) -> Passage | None:
    """The first line that holds letters."""
    for number, line in enumerate(text.split("\n")[:50], 1):
        if _LETTERS.search(line):
            return Passage(" ".join(line.strip(" \t#*=").split()), number, number)
    return None


_PYTHON_DOC = re.compile(r"(?:\s|#[^\n]*\n)*+[rRuU]?(\"\"\"|''')(?P<text>.*?)\1", re.DOTALL)
_BLOCK_COMMENT = re.compile(r"(?:\s|#![^\n]*\n|<\?php)*+/\*+!?(?P<text>.*?)\*/", re.DOTALL)
_LINE_COMMENTS = re.compile(r"(?:\s|#![^\n]*\n)*+(?P<text>(?://[/!]?[^\n]*\n)+)")
_HASH_COMMENTS = re.compile(
    r"(?:\s|#![^\n]*\n|#[^\n]*(?:coding|frozen_string_literal)[^\n]*\n)*+(?P<text>(?:#[^\n]*\n)+)"
)
_LEGAL = re.compile(r"copyright|licen[cs]e|spdx|all rights reserved|@file\b|eslint|generated", re.IGNORECASE)

_COMMENTS = {
    **dict.fromkeys((".py", ".pyi"), (_PYTHON_DOC,)),
    **dict.fromkeys((".rb", ".ex", ".exs", ".jl", ".sh", ".pl", ".r", ""), (_HASH_COMMENTS,)),
}


def opening_comment(path: str, text: str) -> Passage | None:
    """What a source file says of itself first: its docstring or comment; None for legal notices or where none is."""
    suffix = PurePosixPath(path).suffix.lower()
    head = text[:6000]
    for pattern in _COMMENTS.get(suffix, (_BLOCK_COMMENT, _LINE_COMMENTS)):
        match = pattern.match(head)
        if not match:
            continue
        lines = [re.sub(r"^\s*(?://[/!]?|\*+|#+)?\s?", "", line).strip() for line in match["text"].split("\n")]
        paragraph: list[str] = []
        first = 0
        for offset, line in enumerate(lines):
            if line:
                first = first if paragraph else offset
                paragraph.append(line)
            elif paragraph:
                break
        words = " ".join(paragraph)
        if not _is_prose(words) or _LEGAL.search(words):
            continue
        start = head.count("\n", 0, match.start("text")) + first + 1
        return Passage(words, start, start + len(paragraph) - 1)
    return None

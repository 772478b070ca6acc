"""A paragraph's inside: emphasis, code, links and images, as runs of text with the names of their styles.

Nothing here is markup or an action: a run carries text made safe, names of styles, and the number of its link.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from rich.cells import cell_len

from tui_agent.i18n import say
from tui_agent.safe_text import visible
from tui_agent.tui.widgets.markdown_wrap import break_lines, is_cjk, longest_word

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_URL = 2048

Styles = tuple[str, ...]

_BLANKS = re.compile(r"[ \t]{2,}|\t")
# An address as it stands in running text: the signs that RFC 3986 allows, so CJK text ends it.
_BARE_URL = re.compile(r"\bhttps?://[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
_STYLE_OF = {"em": "em", "strong": "strong", "s": "strike"}


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One link of the text; pieces of it that stand on several lines share it."""

    href: str


class Run(NamedTuple):
    """A piece of a line that looks the same throughout.

    `decor` marks what the page adds (bars, gutters): it is seen but not copied.
    """

    text: str
    styles: Styles = ()
    link: Link | None = None
    decor: bool = False


class Piece(NamedTuple):
    """One line of wrapped runs, and what stood between the line before and this one."""

    runs: tuple[Run, ...]
    join: str


@lru_cache(maxsize=2048)
def combine(outer: Styles, inner: Styles) -> Styles:
    """Names of styles, the outer ones first, each once."""
    return (*outer, *(name for name in inner if name not in outer))


def openable(href: str) -> bool:
    """Whether the address may be opened: an absolute http(s) address with a host, and nothing else."""
    if len(href) > MAX_URL or not href.isprintable() or " " in href:
        return False
    try:
        parts = urlsplit(href)
        return parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        return False


class Inline:
    """Wrapped text that remembers its last wrapping, so that what did not change is not wrapped again."""

    __slots__ = ("_longest", "_wrapped", "_wrapped_for", "cells", "runs", "text")

    def __init__(self, runs: Iterable[Run]) -> None:
        self.runs = tuple(runs)
        self.text = "".join(run.text for run in self.runs)
        self.cells = max(map(cell_len, self.text.split("\n")))
        self._longest: int | None = None
        self._wrapped_for = -1
        self._wrapped: list[Piece] = []

    @property
    def longest(self) -> int:
        """The cells of the widest word."""
        if self._longest is None:
            self._longest = longest_word(self.text)
        return self._longest

    def wrapped(self, width: int) -> list[Piece]:
        """The text in lines of at most `width` cells."""
        if self._wrapped_for != width:
            self._wrapped, self._wrapped_for = wrap(self.runs, self.text, width), width
        return self._wrapped


def slice_runs(runs: Iterable[Run], start: int, end: int) -> Iterator[Run]:
    """The runs that make up `text[start:end]` of the runs' text."""
    begins = 0
    for run in runs:
        ends = begins + len(run.text)
        if ends > start and begins < end:
            cut = run.text[max(0, start - begins) : end - begins]
            yield run if len(cut) == len(run.text) else run._replace(text=cut)
        if ends >= end:
            return
        begins = ends


def wrap(runs: Sequence[Run], text: str, width: int) -> list[Piece]:
    """Runs in lines of at most `width` cells.

    Args:
        runs: what `text` is made of, in order.
        text: the runs' text; newlines end a line.
        width: terminal cells.
    """
    pieces: list[Piece] = []
    first, begins = 0, 0  # the first run that a line may still need, and where it begins
    for start, end, join in break_lines(text, width):
        while first < len(runs) and begins + len(runs[first].text) <= start:
            begins += len(runs[first].text)
            first += 1
        line = slice_runs(islice(runs, first, None), start - begins, end - begins)
        pieces.append(Piece(tuple(line), join))
    return pieces


def inline_of(children: Sequence[Token], targets: Mapping[str, str] = MappingProxyType({})) -> Inline:
    """What markdown-it's inline tokens (the children of one `inline` token) look like.

    Args:
        children: the tokens.
        targets: where code leads that names something; only http(s) addresses count.
    """
    writer = _Writer(targets)
    for index, child in enumerate(children):
        writer.add(child, children[index + 1] if index + 1 < len(children) else None)
    return Inline(writer.runs)


def plain(text: str) -> Inline:
    """Text as it is, without any reading of it."""
    return Inline((Run(visible(text).expandtabs(4)),))


class _Writer:
    """Turns inline tokens into runs, one after the other."""

    def __init__(self, targets: Mapping[str, str]) -> None:
        self.targets = targets
        self.runs: list[Run] = []
        self.styles: list[str] = []
        self.links: list[Link | None] = []  # those that are open, None for those that lead nowhere

    def write(self, text: str, *extra: str, link: Link | None = None) -> None:
        if not text:
            return
        text = text.replace("\t", " ")
        if link is None and self.links:
            link = self.links[-1]
        names = tuple(dict.fromkeys(self.styles))
        styles = combine(names if link is None else (*names, "link"), extra)
        last = self.runs[-1] if self.runs else None
        if last is not None and last.styles == styles and last.link is link:
            self.runs[-1] = last._replace(text=last.text + text)
        else:
            self.runs.append(Run(text, styles, link))

    def add(self, token: Token, following: Token | None) -> None:
        match token.type:
            case "text":
                self.text(visible(token.content))
            case "softbreak":
                self.soft_break(following)
            case "hardbreak":
                self.write("\n")
            case "code_inline":
                href = self.targets.get(token.content.strip(), "") if not self.links else ""
                self.write(visible(token.content), "code", link=Link(href) if openable(href) else None)
            case "image":
                alt = visible(token.content).replace("\n", " ").strip()
                self.write(say("[image: {alt}]", alt=alt) if alt else say("[image]"), "image")
            case "link_open":
                href = str(token.attrs.get("href", ""))
                self.links.append(Link(href) if openable(href) else None)
            case "link_close":
                if self.links:
                    self.links.pop()
            case _ if token.tag in _STYLE_OF:
                name = _STYLE_OF[token.tag]
                if token.nesting > 0:
                    self.styles.append(name)
                elif name in self.styles:
                    self.styles.reverse()
                    self.styles.remove(name)
                    self.styles.reverse()
            case _:
                self.write(visible(token.content))

    def text(self, text: str) -> None:
        text = _BLANKS.sub(" ", text)
        if self.links or "://" not in text:
            self.write(text)
            return
        at = 0
        for match in _BARE_URL.finditer(text):
            url = _without_tail(match.group()) if len(match.group()) <= MAX_URL else ""
            if openable(url):
                self.write(text[at : match.start()])
                self.write(url, link=Link(url))
                at = match.start() + len(url)
        self.write(text[at:])

    def soft_break(self, following: Token | None) -> None:
        """A line's end inside a paragraph: a space, but none between signs that are written without spaces."""
        before = self.runs[-1].text[-1:] if self.runs else ""
        after = following.content[:1] if following is not None and following.type == "text" else ""
        if not (before and after and is_cjk(before) and is_cjk(after)):
            self.write(" ")


def _without_tail(url: str) -> str:
    """A bare address without the signs that belong to the sentence around it (GFM, extended autolinks)."""
    while url:
        last = url[-1]
        unbalanced = last in ")]" and url.count(last) > url.count("(" if last == ")" else "[")
        if last not in "?!.,:;*_~'" and not unbalanced:
            break
        url = url[:-1]
    return url

"""Footnotes: where each claim of a report was seen, and which were not; links to what was read, at its commit."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tui_agent.events import JsonObject

_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.{1,400}?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}\]\([^()\s]{0,1000}\)|https?://[^\s<>`]{1,2000}")
_OWN_SOURCE = ("path", "lines")
LONGEST_LINE = 20_000
"""Characters of a line in which claims are marked; as many are looked at when they are found."""

_ZH: Mapping[str, str] = {
    "listed, not read": "列出过，未读取",
    "exists; it was not looked at": "存在，但未查看",
    "not in the tree": "文件树中没有",
    "the repository": "仓库本身",
    "matches paths of the tree": "与文件树中的路径相符",
    "files read": "已读的文件",
    "files not read": "未读的文件",
    "today": "今天",
    "snapshot": "快照",
    "computed in the report's table": "由报告的表格算出",
    "computed from an observed date and today's": "由所见日期与今天算出",
    "computed from observed dates": "由所见日期算出",
    "counted in get_commits": "由 get_commits 计数",
    "counted": "计数所得",
    "This path is not in the repository.": "仓库中没有这个路径。",
    "The file was not read.": "没有读过这个文件。",
    "These lines were not read.": "没有读过这些行。",
    "No commit or object of this name was seen.": "没有见过这个名称的提交或对象。",
    "This date was not seen.": "没有见过这个日期。",
    "This licence was not seen.": "没有见过这个许可证。",
    "This name was not seen.": "没有见过这个名字。",
    "This version was not seen.": "没有见过这个版本。",
    "This text was not seen.": "没有见过这段文字。",
    "This number was not seen.": "没有见过这个数字。",
    "Another number was seen for this path.": "对这个路径见到的是另一个数字。",
    "It is said of a path that is not in the repository.": "所说的路径不在仓库中。",
}


@dataclass
class Note:
    """One footnote: a place or a reason that one or more claims share.

    Args:
        number: from 1.
        text: for people.
        url: where the place is, or None.
        supported: whether it is a source, rather than why there is none.
        claims: the claims, as they stand in the report.
    """

    number: int
    text: str
    url: str | None
    supported: bool
    claims: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Annotated:
    """A report with marks and links, and its notes in order."""

    text: str
    notes: list[Note]


def said(item: JsonObject, *, chinese: bool) -> str:
    """Where a claim was seen, or why it is not supported, in words."""
    text = str(item.get("source") or item.get("reason") or "not found in what was observed")
    return _ZH.get(text, text) if chinese else text


def web_address(item: JsonObject) -> str | None:
    """The claim's address, where it is one that may be opened."""
    url = item.get("url")
    if not isinstance(url, str) or not url.isprintable() or re.search(r"[\s<>\"'()]", url):
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.netloc else None


def counts(grounding: JsonObject) -> tuple[int, int]:
    """How many claims are supported, of how many."""
    supported = len(_items(grounding, "supported"))
    return supported, supported + len(_items(grounding, "unsupported"))


def links(grounding: JsonObject) -> dict[str, str]:
    """Addresses by code span: of every supported path that has one."""
    return {
        item["claim"]: url
        for item in _items(grounding, "supported")
        if item.get("source") and item.get("kind") in (*_OWN_SOURCE, "sha") and (url := web_address(item))
    }


def annotate(report: str, grounding: JsonObject, mark: Callable[[Note], str], *, chinese: bool) -> Annotated:
    """Put marks behind the claims and links around the paths, each where it first stands.

    Args:
        report: Markdown, as the run gave it.
        grounding: `supported` and `unsupported`, as the event has them.
        mark: how a note is referred to.
        chinese: the notes' language.
    """
    notes: dict[tuple[str, str | None, bool], Note] = {}
    pieces: list[str] = []
    places = _Places(report)
    at = 0
    for item in _in_order(report, grounding):
        supported = bool(item.get("source"))
        place = places.of(int(item["start"]), item["claim"])
        if place is None or place.begin < at:
            continue
        url = web_address(item) if supported else None
        if url and item.get("kind") in (*_OWN_SOURCE, "sha") and not place.in_link and place.whole:
            pieces += [report[at : place.begin], "[", report[place.begin : place.end], f"]({url})"]
        else:
            pieces.append(report[at : place.end])
        at = place.end
        if supported and item.get("kind") in _OWN_SOURCE and item.get("source") == "read":
            continue
        key = (said(item, chinese=chinese), url if item.get("kind") not in _OWN_SOURCE else None, supported)
        note = notes.setdefault(key, Note(len(notes) + 1, *key))
        note.claims.append(item["claim"])
        pieces.append(mark(note))
    return Annotated("".join([*pieces, report[at:]]), list(notes.values()))


@dataclass(frozen=True)
class _Place:
    begin: int
    end: int
    in_link: bool
    whole: bool


class _Places:
    """Where claims stand in a report; each of its lines is looked through once, however many claims it holds."""

    def __init__(self, report: str) -> None:
        self._report = report
        self._first = self._end = -1
        self._codes: list[tuple[int, int, str]] = []
        self._links: list[tuple[int, int]] = []

    def of(self, start: int, claim: str) -> _Place | None:
        """A claim's place, its code span or link included; None where it does not stand there."""
        report = self._report
        if not report.startswith(claim, start):
            return None
        if not self._first <= start <= self._end:
            self._look(start)
        if self._end - self._first > LONGEST_LINE:
            return None
        begin, stop, whole = start, start + len(claim), True
        index = bisect_left(self._codes, (start,)) - 1
        if index >= 0 and start < self._codes[index][1]:
            begin, stop, text = self._codes[index]
            whole = text == claim
        index = bisect_right(self._links, (begin, len(report))) - 1
        if index >= 0 and begin < self._links[index][1]:
            return _Place(begin, max(stop, self._links[index][1]), True, whole)
        return _Place(begin, stop, False, whole)

    def _look(self, start: int) -> None:
        """Look through the line in which a place lies."""
        first, end = self._report.rfind("\n", 0, start) + 1, self._report.find("\n", start)
        self._first, self._end = first, end if end >= 0 else len(self._report)
        if self._end - first <= LONGEST_LINE:
            line = self._report[first : self._end]
            self._codes = [(first + m.start(), first + m.end(), m[2].strip()) for m in _CODE.finditer(line)]
            self._links = [(first + m.start(), first + m.end()) for m in _LINK.finditer(line)]


def _in_order(report: str, grounding: JsonObject) -> Iterator[JsonObject]:
    every = [*_items(grounding, "supported"), *_items(grounding, "unsupported")]
    yield from sorted(
        (item for item in every if isinstance(item.get("start"), int) and 0 <= item["start"] < len(report)),
        key=lambda item: int(item["start"]),
    )


def _items(grounding: JsonObject, name: str) -> list[JsonObject]:
    """The claims of a list; a record may hold others that are none."""
    found = grounding.get(name)
    if not isinstance(found, list):
        return []
    return [item for item in found if isinstance(item, dict) and isinstance(item.get("claim"), str)]

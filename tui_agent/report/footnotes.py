"""Footnotes: where each claim of a report was seen, and which were not; links to what was read, at its commit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tui_agent.events import JsonObject

_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.{1,400}?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[[^\[\]\n]{0,500}\]\([^()\s]{0,1000}\)|https?://[^\s<>`]{1,2000}")
_OWN_SOURCE = ("path", "lines")

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


def links(items: Sequence[JsonObject]) -> dict[str, str]:
    """Addresses by code span: of every supported path that has one."""
    return {
        str(item["claim"]): url
        for item in items
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
    at = 0
    for item in _in_order(report, grounding):
        supported = bool(item.get("source"))
        place = _place(report, int(item["start"]), str(item["claim"]))
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
        note.claims.append(str(item["claim"]))
        pieces.append(mark(note))
    return Annotated("".join([*pieces, report[at:]]), list(notes.values()))


@dataclass(frozen=True)
class _Place:
    begin: int
    end: int
    in_link: bool
    whole: bool


def _place(report: str, start: int, claim: str) -> _Place | None:
    """Where a claim stands, its code span or link included; None where it does not stand there."""
    if report[start : start + len(claim)] != claim:
        return None
    first = report.rfind("\n", 0, start) + 1
    end = report.find("\n", start)
    line = report[first : end if end >= 0 else len(report)]
    at = start - first
    if len(line) > 20_000:
        return None
    begin, stop, whole = at, at + len(claim), True
    for match in _CODE.finditer(line):
        if match.start() < at < match.end():
            begin, stop = match.span()
            whole = match[2].strip() == claim
            break
    for match in _LINK.finditer(line):
        if match.start() <= begin < match.end():
            return _Place(first + begin, first + max(stop, match.end()), True, whole)
    return _Place(first + begin, first + stop, False, whole)


def _in_order(report: str, grounding: JsonObject) -> Iterator[JsonObject]:
    every = [*_items(grounding, "supported"), *_items(grounding, "unsupported")]
    yield from sorted(
        (item for item in every if isinstance(item.get("start"), int) and 0 <= item["start"] < len(report)),
        key=lambda item: int(item["start"]),
    )


def _items(grounding: JsonObject, name: str) -> list[JsonObject]:
    found = grounding.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []

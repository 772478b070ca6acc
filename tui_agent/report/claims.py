"""The claims of a report that can be checked: paths, lines, versions, numbers, dates, people, SHAs, licences, code.

A claim is found by its form, line by line; nothing is understood. What stands in code fences is no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.report import vocabulary as words

Kind = Literal["path", "lines", "version", "number", "date", "name", "sha", "licence", "code"]

LONGEST_LINE = 20_000
"""Characters of a line that are looked at."""
LONGEST_CODE = 300
"""Characters of a code span that are a claim; a longer one is an excerpt."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Args:
        text: as it stands in the report.
        kind: what it is.
        start: where it stands in the report, in characters.
        line: the report's line that it stands in, code and all.
        at: where it stands in that line.
        value: a number's value, its unit applied.
        noun: what a number counts, in the words of `vocabulary.NOUNS`; "" where that is not known.
        precision: by how much a rounded number may be off.
        first, last: of lines.
        subject: what a version is of; "" where that is not said.
        date: year, month, day; the last ones 0 where they are not said.
        span: stands in a code span.
        denied: the report says of it that it is not there.
    """

    text: str
    kind: Kind
    start: int
    line: str
    at: int
    value: float = 0.0
    noun: str = ""
    precision: float = 0.0
    first: int = 0
    last: int = 0
    subject: str = ""
    date: tuple[int, int, int] = (0, 0, 0)
    span: bool = False
    denied: bool = False


_FENCE = re.compile(r" {0,3}(?:> ?){0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)(.{1,400}?)(?<!`)\1(?!`)")
_URL = re.compile(r"https?://[^\s<>`）。，；]{1,2000}")
_TARGET = re.compile(r"\]\([^()\s]{0,1000}\)")
_QUOTED = re.compile(r"“[^”]{0,2000}”|「[^」]{0,2000}」")

_LINES = re.compile(r"(?:#L(\d{1,7})(?:C\d{1,5})?(?:\s?[-–]\s?L?(\d{1,7}))?|:(\d{1,7})(?:[-–](\d{1,7}))?)$")
_IN_TEXT_LINES = re.compile(r"(?:#L\d{1,7}(?:[-–]L?\d{1,7})?|:\d{1,7}(?:[-–]\d{1,7})?)")
_PATH = re.compile(
    rf"(?<![\w./@-])((?:[\w.@+-]{{1,100}}/){{0,12}}[\w.@+-]{{1,100}}\.(?:{words.EXTENSIONS}))(?![\w/])"
    rf"({_IN_TEXT_LINES.pattern})?",
    re.ASCII,
)
_FOLDER = re.compile(r"(?<![\w./@:-])((?:[\w.@+-]{1,100}/){1,12})(?![\w/*.])", re.ASCII)
_BARE_FILE = re.compile(r"(?<![\w./@-])(LICENSE|LICENCE|README|COPYING|NOTICE|Makefile|Dockerfile|Jenkinsfile|Gemfile|"
                        r"Procfile|CODEOWNERS)(?![\w/.-])")  # fmt: skip
_SPAN_PATH = re.compile(rf"[^\s`<>|*?:;,=(){{}}\"']{{1,300}}\.(?:{words.EXTENSIONS})")
_SHA = re.compile(r"(?<![\w.#/-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}(?![\w-])", re.ASCII)
_TAIL = r"(?:[-.]?(?:a|b|rc|alpha|beta|dev|post|pre)\.?\d{0,6})?"
_VERSION = re.compile(rf"(?<![\w./-])v?(\d{{1,5}}(?:\.\d{{1,6}}){{1,3}}{_TAIL})(?![\w%]|\.\d)(?!\s?%)", re.ASCII)
_SPAN_VERSION = re.compile(rf"(?:[<>=~^!]=?=?\s?)?v?(\d{{1,5}}(?:\.\d{{1,6}}){{1,3}}{_TAIL}|\d{{1,3}})\+?")
_SUBJECT = re.compile(r"([A-Za-z][\w.-]{0,40})['’”\"`*]{0,3}(?:\s+version|\s+release|\s*版本?)?\s*[(（]?"
                      r"(?:>=|<=|==|~=|\^|≥|>|:|：|v)?\s*$")  # fmt: skip
_VERSION_CUE = re.compile(
    r"(?:version|release[ds]?|requires?|>=|<=|==|~=|\^|≥|版本|要求|需要|\bv)\s*[:：为是]?\s*[`*“]{0,3}$", re.I
)
_ISO = re.compile(r"(?<![\w/.-])((?:19|20)\d\d)([-/.])(\d{1,2})(?:\2(\d{1,2}))?(?![\w]|[-/.]\d)", re.ASCII)
_CJK_DATE = re.compile(r"(?<!\d)((?:19|20)\d\d)\s?年(?:\s?(\d{1,2})\s?月(?:\s?(\d{1,2})\s?[日号])?)?")
_MONTH = "(" + "|".join(words.MONTHS) + r")[a-z]{0,6}\.?"
_MDY = re.compile(rf"\b{_MONTH}\s(?:(\d{{1,2}})(?:st|nd|rd|th)?,?\s)?(?:of\s)?((?:19|20)\d\d)\b", re.I | re.ASCII)
_DMY = re.compile(rf"(?<![\w.])(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s((?:19|20)\d\d)\b", re.I | re.ASCII)
_YEAR = re.compile(r"(?<![\w.,/-])((?:19|20)\d\d)(?![\w%]|[.,/-]\d)", re.ASCII)
_YEAR_CUE = re.compile(r"(?:\b(?:in|since|from|until|till|to|of|by|during|copyright|©|\(c\)|early|late|mid|and|year)"
                       r"|自|从|到|至|于)\s*[(（]?$", re.I)  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.$-])(?<!\d,)(\d{1,3}(?:[,，\u202f]\d{3})+|\d{1,15})(\.\d{1,6})?"
    r"(?:\s?(k|K|M|万|千|百万|亿|thousand\b|million\b))?\+?(?![\d:]|[.,]\d)"
)
_LICENCE = re.compile(words.LICENCE_FORMS, re.ASCII)
_LICENCE_CUE = re.compile(r"licen[sc]|许可|协议|授权", re.I)

_PEOPLE_CUE = re.compile(
    r"\b(?:authors?|authored|maintain(?:ers?|ed|s)|contributors?|contributed|committers?|created by|written by|led by|"
    r"developed by|founded by|developers?|people|commits? by|named)\b"
    r"|作者|维护|贡献者|提交者|开发者|创建|创始人|人员",
    re.I,
)
_LATIN_NAME = re.compile(r"(?<![\w@/.-])[A-Z][\w'’.-]{0,25}(?:[ \u00a0](?:(?:van|von|de|der|da|del|la|bin|al) ){0,2}"
                         r"[A-Z][\w'’-]{1,25}){1,3}(?![\w@])")  # fmt: skip
_HANDLE = re.compile(r"(?<![\w./@])@([A-Za-z\d](?:[A-Za-z\d-]{0,38}))(?![\w/.])")
_EMAIL = re.compile(r"(?<![\w.@])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)
_CJK_NAME = re.compile(
    r"(?:作者|维护者|主要贡献者|贡献者|提交者|开发者|创始人|负责人)(?:包括|主要是|主要为|有|是|为|：|:)\s*"
    r"([^。；;\n]{1,200})|由\s*([\u4e00-\u9fffA-Za-z .]{2,40}?)\s*(?:维护|创建|编写|开发|发起|主导|贡献)"
)
_CJK_ITEM = re.compile(r"[\u4e00-\u9fff]{2,4}")
_SPLIT = re.compile(r"[、，,和与及]|以及|等人|等")

_DENIES = re.compile(
    r"\b(?:no|not|without|lacks?|lacking|missing|neither|nor|absent|never|none)\b|n't\b"
    r"|没有|未找到|未见|未发现|无|缺少|不存在|并非|找不到",
    re.I,
)
_DENIES_BEHIND = re.compile(
    r"^`?[^.。;；]{0,40}?(?:\b(?:not|missing|absent|lacking|neither|never)\b|n't\b|没有|未找到|不存在|缺失|找不到)",
    re.I,
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。；！？;]")
_REST_BEFORE = re.compile(
    r"(?:\b(?:other|further|remaining|another|last|past|previous)|其余|另有|其他|剩余|最近|过去|近|每|不少于|不低于|不小于)\s?(?:[a-z]+\s)?$",
    re.I,
)
_REST_BEHIND = re.compile(
    r"^\s?(?:more|others?|further|remaining)\b|^\s?\w{0,12} (?:and|or) more\b|^[^，。、]{0,6}以上"
)
_LIST_MARK = re.compile(r"\s{0,12}(?:>\s?)*(?:#{1,6}\s+)?(?:[-*+]\s+)?(\d{1,4})[.)、．](?=\s|\*|[\u4e00-\u9fff])")


@dataclass
class _Line:
    """A line of the report, what of it nobody has claimed yet (the rest is NUL), and how the line above it ends."""

    text: str
    start: int
    free: str
    header: list[str] = field(default_factory=list)
    above: str = ""

    def take(self, begin: int, end: int) -> None:
        self.free = self.free[:begin] + "\0" * (end - begin) + self.free[end:]


def claims_of(report: str) -> Iterator[Claim]:
    """The claims of a report in Markdown, line by line.

    Args:
        report: the model's text, without what the program adds.
    """
    fence = ""
    start = 0
    header: list[str] = []
    above = ""
    for raw in report.split("\n"):
        begin, start = start, start + len(raw) + 1
        opening = _FENCE.match(raw)
        if fence:
            if opening and opening[1].startswith(fence) and not raw[opening.end() :].strip("`~ \r"):
                fence = ""
            continue
        if opening and "`" not in raw[opening.end() :]:
            fence = opening[1]
            continue
        text = raw[:LONGEST_LINE]
        row = text.lstrip().startswith("|")
        header = [] if not row else header or text.split("|")
        yield from _of_line(_Line(text, begin, text, header if row else [], above))
        above = text[-80:]


def _of_line(line: _Line) -> Iterator[Claim]:
    mark = _LIST_MARK.match(line.text)
    if mark:
        line.take(*mark.span(1))
    spans = [(match.start(2), match[2].strip()) for match in _CODE.finditer(line.text)]
    for match in _CODE.finditer(line.text):
        line.take(*match.span())
    for at, text in spans:
        lead = len(line.text[at:]) - len(line.text[at:].lstrip())
        yield from _of_code(line, at + lead, text)
    for pattern in (_URL, _TARGET, _QUOTED):
        for match in pattern.finditer(line.free):
            line.take(*match.span())
    for finder in (_emails, _paths, _shas, _dates, _licences, _versions, _people, _numbers):
        yield from finder(line)


def _claim(line: _Line, at: int, text: str, kind: Kind, **more: object) -> Claim:
    made = Claim(text, kind, line.start + at, line.text, at, **more)  # type: ignore[arg-type]
    if kind in ("path", "code", "licence") and _denied(line, at, text):
        return Claim(text, kind, line.start + at, line.text, at, **(more | {"denied": True}))  # type: ignore[arg-type]
    return made


def _denied(line: _Line, at: int, text: str) -> bool:
    """Whether the sentence says that this is not there."""
    before = f"{line.above} {line.free[:at]}"[-160:]
    ends = [match.end() for match in _SENTENCE_END.finditer(before)]
    behind = line.free[at + len(text) : at + len(text) + 60].lstrip("\0")
    return bool(_DENIES.search(before[ends[-1] if ends else 0 :]) or _DENIES_BEHIND.match(behind))


# -- code spans -----------------------------------------------------------------------------


def _of_code(line: _Line, at: int, text: str) -> Iterator[Claim]:
    if not text or len(text) > LONGEST_CODE or not re.search(r"\w", text):
        return
    iso = _ISO.fullmatch(text)
    if iso:
        yield _claim(line, at, text, "date", date=_ymd(iso[1], iso[3], iso[4]), span=True)
    elif len(text) >= 7 and _SHA.fullmatch(text):
        yield _claim(line, at, text, "sha", span=True)
    elif words.spdx(text) and _LICENCE.fullmatch(text):
        yield _claim(line, at, text, "licence", span=True)
    elif (tail := _LINES.search(text)) and _pathlike(text[: tail.start()]):
        yield _lines_claim(line, at, text, tail)
    elif _pathlike(text):
        yield _claim(line, at, text, "path", span=True)
    elif "." in text and _SPAN_VERSION.fullmatch(text):
        subject = _SUBJECT.search(line.text[max(0, at - 60) : at].rstrip("`"))
        yield _claim(line, at, text, "version", subject=_named(subject), span=True)
    elif re.search(r"[^\W\d]", text):
        yield _claim(line, at, text, "code", span=True)


def _pathlike(text: str) -> bool:
    """Whether a code span is a path by its form."""
    if "://" in text or text.startswith(("-", "@", "$", "<", "{")) or "*" in text or "\\" in text or "//" in text:
        return False
    if text.endswith("/") and len(text) > 1:
        return "(" not in text
    return _SPAN_PATH.fullmatch(text) is not None or _BARE_FILE.fullmatch(text) is not None


def _lines_claim(line: _Line, at: int, text: str, tail: re.Match[str], span: bool = True) -> Claim:
    first = int(tail[1] or tail[3])
    last = int(tail[2] or tail[4] or first)
    return _claim(line, at, text, "lines", first=first, last=last, span=span)


# -- running text ---------------------------------------------------------------------------


def _emails(line: _Line) -> Iterator[Claim]:
    if "@" in line.free:
        for match in _EMAIL.finditer(line.free):
            line.take(*match.span())
            yield _claim(line, match.start(), match.group(), "name")


def _paths(line: _Line) -> Iterator[Claim]:
    for match in _PATH.finditer(line.free):
        text = match.group()
        if match[1].lower() in words.PRODUCTS and not match[2]:
            continue
        line.take(*match.span())
        tail = _LINES.search(text)
        if tail:
            yield _lines_claim(line, match.start(), text, tail, span=False)
        else:
            yield _claim(line, match.start(), text, "path")
    for match in _FOLDER.finditer(line.free):
        line.take(*match.span())
        yield _claim(line, match.start(), match.group(), "path")


def _shas(line: _Line) -> Iterator[Claim]:
    for match in _SHA.finditer(line.free):
        line.take(*match.span())
        yield _claim(line, match.start(), match.group(), "sha")


def _dates(line: _Line) -> Iterator[Claim]:
    for pattern, year, month, day in ((_ISO, 1, 3, 4), (_CJK_DATE, 1, 2, 3), (_MDY, 3, 1, 2), (_DMY, 3, 2, 1)):
        for match in pattern.finditer(line.free):
            date = _ymd(match[year], match[month], match[day])
            if date[1] <= 12 and date[2] <= 31:
                line.take(*match.span())
                yield _claim(line, match.start(), match.group(), "date", date=date)
    for match in _YEAR.finditer(line.free):
        behind = line.free[match.end() : match.end() + 12].lstrip()
        if _YEAR_CUE.search(line.free[max(0, match.start() - 14) : match.start()]) and not words.noun_of(behind):
            line.take(*match.span())
            yield _claim(line, match.start(), match.group(), "date", date=(int(match[1]), 0, 0))


def _ymd(year: str, month: str | None, day: str | None) -> tuple[int, int, int]:
    if month and not month.isdigit():
        month = str(words.MONTHS.index(month[:3].lower()) + 1)
    return int(year), int(month or 0), int(day or 0)


def _licences(line: _Line) -> Iterator[Claim]:
    cue = _LICENCE_CUE.search(line.text) is not None
    for match in _LICENCE.finditer(line.free):
        if words.spdx(match.group()) and (cue or match.group() not in words.ALSO_WORDS):
            line.take(*match.span())
            yield _claim(line, match.start(), match.group(), "licence")


def _versions(line: _Line) -> Iterator[Claim]:
    for match in _VERSION.finditer(line.free):
        before = line.text[max(0, match.start() - 60) : match.start()]
        subject = _SUBJECT.search(before.rstrip("(（ ") + " ")
        plain = re.fullmatch(r"\d+\.\d+", match[1]) is not None and not match.group().startswith("v")
        named = _named(subject)
        behind = line.free[match.end() : match.end() + 24]
        if plain and not _VERSION_CUE.search(before) and (
            not named[:1].isupper() or words.noun_of(behind.lstrip(" \u202f")) or words.UNIT.match(behind)
        ):  # fmt: skip
            continue
        line.take(*match.span())
        yield _claim(line, match.start(), match.group(), "version", subject=named)


def _named(subject: re.Match[str] | None) -> str:
    """What a version is said to be of, where the word before it is a name."""
    name = subject[1] if subject else ""
    return "" if name.lower() in words.NO_SUBJECT else name


def _people(line: _Line) -> Iterator[Claim]:
    for match in _HANDLE.finditer(line.free):
        line.take(*match.span())
        yield _claim(line, match.start(), match.group(), "name")
    if not _PEOPLE_CUE.search(line.text) and not _PEOPLE_CUE.search(line.above):
        return
    for match in _LATIN_NAME.finditer(line.free):
        begin, text = match.start(), match.group()
        while text and text.split()[0].lower().rstrip(".") in words.NO_NAME:
            cut = len(text) - len(text.partition(" ")[2]) if " " in text else len(text)
            begin, text = begin + cut, text[cut:]
        if " " not in text or any(part.lower() in words.NO_NAME for part in text.split()):
            continue
        line.take(begin, begin + len(text))
        yield _claim(line, begin, text, "name")
    for match in _CJK_NAME.finditer(line.free):
        group = 1 if match[1] else 2
        at = match.start(group)
        for part in _SPLIT.split(match[group]):
            name = re.split(r"[（(]", part.strip(" *\0"))[0].strip()
            begin = line.free.find(name, at) if name else -1
            if _CJK_ITEM.fullmatch(name) and begin >= 0 and name not in words.NO_CJK_NAME:
                yield _claim(line, begin, name, "name")
                at = begin + len(name)


def _numbers(line: _Line) -> Iterator[Claim]:
    for match in _NUMBER.finditer(line.free):
        begin, end = match.span()
        before, behind = line.free[max(0, begin - 40) : begin], line.free[end : end + 40]
        if _REST_BEFORE.search(before) or _REST_BEHIND.match(behind):
            continue
        value = float(re.sub(r"[,，\u202f]", "", match[1]) + (match[2] or ""))
        unit = words.MULTIPLES.get(match[3] or "", 1)
        precision = 0.5 * 10.0 ** -(len(match[2]) - 1 if match[2] else 0) * unit if match[3] or match[2] else 0.0
        noun = words.noun_of(behind.lstrip(" \u202f*")) or words.noun_before(before) or _column(line, begin)
        size = words.SIZES.get(words.unit_of(behind))
        if size:
            noun, value, precision = "bytes", value * size, max(precision, 0.5) * size
        elif behind.lstrip(" \u202f").startswith("%"):
            noun, precision = "%", precision or 0.5
        if not noun and (value <= words.ORDINARY or (not match[3] and value < 100 and not match[2])):
            continue
        if noun and noun not in words.STRONG and value <= words.ORDINARY:
            continue
        yield _claim(line, begin, match.group().strip(), "number", value=value * unit, noun=noun, precision=precision)


def _column(line: _Line, at: int) -> str:
    """What the head of a table's column says that its numbers count."""
    column = line.text.count("|", 0, at)
    return words.noun_of(line.header[column].strip()) if 0 < column < len(line.header) else ""

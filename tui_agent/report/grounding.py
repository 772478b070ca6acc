"""Checks each claim of a report against what was really observed in its run.

A claim is supported where what it says stands in the result of a tool, in the snapshot, or can be computed
from these. The check reads signs, not sense: it finds what is made up, not what is misunderstood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import islice
from urllib.parse import quote

from tui_agent.events import JsonObject, ToolFinished
from tui_agent.report import vocabulary
from tui_agent.report.claims import Claim, claims_of
from tui_agent.report.evidence import FAILED, BudgetSpent, Evidence, Hit, Scene, flat, words_of
from tui_agent.report.figures import Figures, numerals
from tui_agent.report.finding import Finding, seen

MOST_CLAIMS = 4_000
"""Claims of one report that are checked; those behind are left out."""
_GLOBS_TRIED = 50
_PINNED = re.compile(
    r"([A-Za-z][\w.-]*)(?:\[[\w, -]*\])?\s?((?:[<>=~^!]=?=?)\s?\d[\w.*+!-]*(?:\s?,\s?[<>=~^!]=?=?\s?\d[\w.*+!-]*)*)"
)
_DOTTED = re.compile(r"[\w.:$-]+(?:\([^()]*\))?")
_MONTH_NAMES = ("January February March April May June July August September October November December").split()


@dataclass
class Grounding:
    """Claims as JSON objects: `claim`, `source`, `kind`, `start`; `path`, `lines`, `url` where there is one.

    `start` is where the claim first stands in the report, in characters. What is not supported has `source: null`
    and a `reason`.
    """

    supported: list[JsonObject] = field(default_factory=list)
    unsupported: list[JsonObject] = field(default_factory=list)


def check(report: str, observations: Sequence[ToolFinished], scene: Scene) -> Grounding:
    """The claims of a report, each supported or not; the same claim is told once.

    Args:
        report: Markdown, without what the program adds to it.
        observations: the tool calls of the run; only those that ended well count.
        scene: what else is known of the repository.
    """
    every = sorted(islice(claims_of(report), MOST_CLAIMS), key=lambda claim: claim.start)
    claims: dict[tuple[object, ...], Claim] = {}
    for claim in every:
        claims.setdefault(_identity(claim), claim)
    needed = {word for claim in claims.values() for text in _needles(claim) for word in words_of(text)}
    checker = _Checker(Evidence(scene, observations, needed), every)
    result = Grounding()
    for claim in claims.values():
        try:
            finding = checker.check(claim)
        except BudgetSpent:
            continue
        if finding is None:
            continue
        (result.supported if finding.source else result.unsupported).append(_item(claim, finding, scene))
    return result


def _identity(claim: Claim) -> tuple[object, ...]:
    return claim.kind, claim.text.rstrip("/"), claim.noun, claim.subject, claim.denied


def _item(claim: Claim, finding: Finding, scene: Scene) -> JsonObject:
    item: JsonObject = {"claim": claim.text, "source": finding.source, "kind": claim.kind, "start": claim.start}
    if claim.noun and claim.noun != "things":
        item["of"] = claim.noun
    if finding.path is not None:
        item["path"] = finding.path
    if finding.first is not None:
        item["lines"] = [finding.first, finding.last]
    if finding.reason:
        item["reason"] = finding.reason
    if finding.path is not None and finding.linked and scene.web and scene.commit:
        item["url"] = link(scene.web, scene.commit, finding.path, finding.first, finding.last, folder=finding.folder)
    elif claim.kind == "sha" and finding.path is None and finding.source and scene.web:
        item["url"] = f"{scene.web}/commit/{claim.text}"
    return item


def link(
    web: str, commit: str, path: str, first: int | None = None, last: int | None = None, *, folder: bool = False
) -> str:
    """The address of a file, of lines of it, or of a folder, at a commit."""
    lines = "" if first is None else f"#L{first}" if last in (None, first) else f"#L{first}-L{last}"
    try:
        quoted = quote(path, errors="surrogateescape")
    except UnicodeEncodeError:
        quoted = quote(path, errors="replace")
    # what Markdown is drawn as has the rendered page in front, which knows no lines
    plain = "?plain=1" if lines and path.lower().endswith((".md", ".rst", ".mdx")) else ""
    return f"{web}/{'tree' if folder else 'blob'}/{commit}/{quoted}{plain}{lines}"


def _needles(claim: Claim) -> Iterator[str]:
    """Every form in which a claim is looked for."""
    match claim.kind:
        case "number":
            yield from numerals(claim)
        case "date":
            yield from _date_forms(claim.date)
        case "licence":
            yield claim.text
            yield from (word for text in vocabulary.LICENCE_TEXTS.values() for word in (text, text.title()))
        case _:
            yield claim.text


def _date_forms(date: tuple[int, int, int]) -> list[str]:
    year, month, day = date
    if not month:
        return [str(year)]
    name = _MONTH_NAMES[month - 1]
    if not day:
        months = [f"{name} {year}", f"{name[:3]} {year}", f"{year}年{month}月", f"{year}/{month:02}"]
        return [f"{year}-{month:02}", *months]
    forms = [f"{year}-{month:02}-{day:02}", f"{year}/{month:02}/{day:02}", f"{year}.{month:02}.{day:02}"]
    for word in (name, name[:3]):
        forms += [f"{word} {day}, {year}", f"{day} {word} {year}", f"{word} {day} {year}", f"{word} {day:02}, {year}"]
        forms += [f"{word} {day}{end}, {year}" for end in ("st", "nd", "rd", "th")]
    return [*forms, f"{year}年{month}月{day}日"]


class _Checker:
    """Looks claims of one report up."""

    def __init__(self, evidence: Evidence, claims: Iterable[Claim]) -> None:
        self.evidence = evidence
        self.figures = Figures(evidence, claims)
        self._globs = 0
        self._licences: dict[str, Finding] | None = None

    def check(self, claim: Claim) -> Finding | None:
        """What was found; None where nothing can be said."""
        match claim.kind:
            case "path":
                return self._path(claim)
            case "lines":
                return self._lines(claim)
            case "sha":
                return self._sha(claim)
            case "number":
                return self.figures.check(claim)
            case "date":
                return self._date(claim)
            case "licence":
                return self._licence(claim)
            case "name":
                return self._name(claim)
            case "version":
                return self._version(claim)
            case _:
                return self._code(claim)

    def _path(self, claim: Claim) -> Finding | None:
        evidence = self.evidence
        path, known = evidence.resolve(claim.text)
        if known in ("read", "listed"):
            source = "read" if known == "read" else "listed, not read"
            return Finding(source, path, linked=evidence.is_unique(claim.text), folder=path in evidence.folders)
        if known == "tree":
            # true, but nobody looked: never linked
            return Finding("exists; it was not looked at", path, linked=False)
        if claim.denied:
            return Finding("not in the tree", None)
        hits = evidence.find(claim.text)
        hit = next((hit for hit in hits if not hit.passage.source.startswith(FAILED)), None)
        if hit is not None and (claim.span or "/" not in claim.text):
            return seen(hit, "named in")
        if claim.text.rstrip("/") in {evidence.scene.repo, evidence.scene.asked}:
            return Finding("the repository")
        return Finding(None, reason="This path is not in the repository.")

    def _lines(self, claim: Claim) -> Finding:
        text = re.split(r"#L|:\d", claim.text)[0]
        path, known = self.evidence.resolve(text)
        if not known:
            return Finding(None, reason="This path is not in the repository.")
        if known != "read":
            return Finding(None, path, reason="The file was not read.", linked=False)
        total = self.evidence.lines.get(path, 0)
        if claim.last > total or claim.first < 1 or claim.last < claim.first:
            return Finding(None, path, reason=f"The file has {total:,} lines.", linked=False)
        if not self.evidence.was_read(path, claim.first, claim.last):
            return Finding(None, path, reason="These lines were not read.", linked=False)
        return Finding("read", path, claim.first, claim.last)

    def _sha(self, claim: Claim) -> Finding:
        commit = self.evidence.scene.commit or ""
        if commit.startswith(claim.text):
            return Finding("snapshot")
        if any(sha.startswith(claim.text) for sha in self.evidence.commits):
            return Finding("get_commits")
        return self._found(claim.text, "No commit or object of this name was seen.")

    def _date(self, claim: Claim) -> Finding:
        year, month, day = claim.date
        today = self.evidence.scene.today
        if (year, month or today.month, day or today.day) == (today.year, today.month, today.day):
            return Finding("today")
        stem = "-".join([str(year), *([f"{month:02}"] if month else []), *([f"{day:02}"] if day else [])])
        for sha, item in self.evidence.commits.items():
            if str(item.get("date", "")).startswith(stem):
                return Finding(f"get_commits, {sha[:12]}")
        for form in _date_forms(claim.date):
            for hit in self.evidence.find(form):
                return seen(hit)
            if not day:
                for passage in self.evidence.passages:
                    if passage.path is None and form == stem and f": {form}-" in passage.text:
                        return Finding(passage.source)
        return Finding(None, reason="This date was not seen.")

    def _licence(self, claim: Claim) -> Finding | None:
        if self._licences is None:
            self._licences = self._known_licences()
        wanted = vocabulary.spdx(claim.text)
        for name, finding in self._licences.items():
            if name == wanted or name.startswith(wanted + "-"):
                return finding
        if claim.denied:
            return None
        for hit in self.evidence.find(claim.text):
            if re.search(r"licen[sc]e|copying", hit.around(120, 60) + (hit.passage.path or ""), re.I):
                return seen(hit)
        return Finding(None, reason="This licence was not seen.")

    def _known_licences(self) -> dict[str, Finding]:
        known: dict[str, Finding] = {}
        for event in self.evidence.observations:
            named = event.result.get("license") if event.tool == "get_repo_info" else None
            if isinstance(named, str) and vocabulary.spdx(named):
                known.setdefault(vocabulary.spdx(named), Finding("get_repo_info"))
        for passage in self.evidence.passages:
            if passage.path and re.search(r"licen[sc]e|copying", passage.path.rpartition("/")[2], re.I):
                low = " ".join(passage.text[:8000].lower().split())
                for name, phrase in vocabulary.LICENCE_TEXTS.items():
                    if phrase in low:
                        known.setdefault(name, Finding(passage.path, passage.path, passage.first_line))
        return known

    def _name(self, claim: Claim) -> Finding:
        text = claim.text.lstrip("@")
        for sha, item in self.evidence.commits.items():
            if str(item.get("author", "")).casefold() == text.casefold():
                return Finding(f"get_commits, {sha[:12]}")
        return self._found(text, "This name was not seen.")

    def _version(self, claim: Claim) -> Finding:
        """A version counts where it stands, and near what it is said to be of, if that was seen at all."""
        bare = claim.text.lstrip("vV<>=~^! ").rstrip("+")
        first: Hit | None = None
        for number, hit in enumerate(self.evidence.find(bare)):
            first = first or hit
            subject = claim.subject.lower()
            near = hit.around(200, 100).lower()
            if not subject or subject in near or number > 500:
                return seen(hit)
            if subject in self.evidence.scene.repo.lower() and re.search(
                r"version|release", near + (hit.passage.path or "")
            ):
                return seen(hit)
        if first is not None:
            return Finding(None, reason=f"This version was seen, but not of {claim.subject}.")
        return Finding(None, reason="This version was not seen.")

    def _code(self, claim: Claim) -> Finding | None:
        text = claim.text
        for form in dict.fromkeys((text, text.strip("$@#.,:;()[]{}<>\"' "), re.sub(r"\([^()]*\)$", "", text))):
            hit = next(self.evidence.find(form), None) if words_of(form) else None
            if hit is not None:
                return seen(hit)
        flat_hit = self.evidence.find_flat(text)
        if flat_hit is not None:
            return seen(flat_hit)
        pinned = self._pinned(text)
        if pinned is not None:
            return pinned
        if "*" in text and self._globs < _GLOBS_TRIED:
            self._globs += 1
            pattern = text if "/" in text else f"*{text}"
            if any(fnmatchcase(path, pattern) for path in self.evidence.scene.tree):
                return Finding("matches paths of the tree")
        path, known = self.evidence.resolve(text)
        if known in ("read", "listed"):
            return Finding(known, path, linked=self.evidence.is_unique(text))
        if known == "tree":
            return Finding("exists; it was not looked at", path, linked=False)
        if (_DOTTED.fullmatch(text) or text.endswith("]")) and len(words_of(text)) > 1:
            passage = self.evidence.together(re.sub(r"\([^()]*\)$", "", text))
            if passage is not None:
                return Finding(passage.path or passage.source, passage.path)
        return None if claim.denied else Finding(None, reason="This text was not seen.")

    def _pinned(self, text: str) -> Finding | None:
        """`name >=1.2,<2`, however a manifest writes it, and `file [section]`: the parts, close to each other."""
        file, _, section = text.partition(" ")
        if section and self.evidence.resolve(file)[1] == "read":
            path = self.evidence.resolve(file)[0]
            return next((seen(hit) for hit in self.evidence.find(section) if hit.passage.path == path), None)
        match = _PINNED.fullmatch(text)
        if match is None:
            return None
        name, wanted = match[1].lower(), flat(match[2])
        for number, hit in enumerate(self.evidence.find(re.split(r"[^\w.]+", match[2].strip("<>=~^! "))[0])):
            near = hit.around(120, 60).lower()
            if name in near and wanted.lower() in flat(near):
                return seen(hit)
            if number > 200:
                break
        return None

    def _found(self, text: str, reason: str) -> Finding:
        hit = next(self.evidence.find(text), None)
        return seen(hit) if hit is not None else Finding(None, reason=reason)

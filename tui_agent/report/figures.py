"""Checks the numbers of a report, by what they count."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_agent.report import vocabulary
from tui_agent.report.claims import Claim
from tui_agent.report.evidence import Evidence, Hit
from tui_agent.report.finding import Finding, seen
from tui_agent.report.quantities import Quantities

_ROW = re.compile(r"\s*\|\s*`([^`|]{1,300})`\s*\|")


class Figures:
    """Looks numbers up.

    Args:
        evidence: what was observed.
        claims: every claim of the report, in its order: a number may follow from others.
    """

    def __init__(self, evidence: Evidence, claims: Iterable[Claim]) -> None:
        self.evidence = evidence
        self.quantities = Quantities(evidence)
        self._numbers_of_line: dict[str, list[Claim]] = {}
        for claim in claims:
            if claim.kind == "number":
                self._numbers_of_line.setdefault(claim.line, []).append(claim)
        self._shares = _shares_of_tables(self._numbers_of_line.values())

    def check(self, claim: Claim) -> Finding | None:
        noun = claim.noun
        known = noun in vocabulary.STRONG
        said = self._in_row_of(claim)
        if said is not None:
            return said
        source = (
            self.quantities.find(noun, claim.value, claim.precision)
            if known
            else self.quantities.anywhere(claim.value, claim.precision)
        )
        if source is not None:
            return Finding(source)
        for form in numerals(claim):
            for number, hit in enumerate(self.evidence.find(form)):
                if not known or self._fits(noun, hit):
                    return seen(hit)
                if number > 200:
                    break
        return self._computed(claim) or Finding(None, reason="This number was not seen.")

    def _in_row_of(self, claim: Claim) -> Finding | None:
        """What a table's row says of the path that it begins with."""
        match = _ROW.match(claim.line)
        if match is None or claim.noun not in ("files", "bytes") or not match[1].endswith("/"):
            return None
        cell = claim.line[claim.line.rfind("|", 0, claim.at) + 1 : claim.at + len(claim.text) + 9]
        if not re.fullmatch(rf"[\s*]*{re.escape(claim.text)}[\s*]*(?:bytes|字节|files)?[\s*]*(?:\|.*)?", cell):
            return None
        path, known = self.evidence.resolve(match[1])
        if not known:
            return Finding(None, reason="It is said of a path that is not in the repository.")
        numbers = self.quantities.of_path(path, claim.noun)
        if not numbers:
            return None
        if any(abs(number - claim.value) <= claim.precision for number in numbers):
            return Finding("list_directory", path, linked=self.evidence.is_unique(match[1]))
        return Finding(None, reason="Another number was seen for this path.")

    def _fits(self, noun: str, hit: Hit) -> bool:
        """Whether a number stands in a text with the thing that it is said to count."""
        near = hit.around(40, 40) if hit.passage.path else hit.line
        if noun == "%":
            return "%" in near or "percent" in near.lower()
        return vocabulary.NOUNS[noun].search(near) is not None

    def _computed(self, claim: Claim) -> Finding | None:
        """A number that follows from others in its line: of lines that are cited there, of files and their bytes."""
        for path, first, last in _cited(claim.line):
            resolved, known = self.evidence.resolve(path)
            if known == "read" and self.evidence.was_read(resolved, first, last):
                text = self.evidence.text_of(resolved, first, last)
                rows = sum(1 for row in text.split("\n") if row.strip())
                if claim.value in {rows, rows - 1, rows - 2, len(re.findall(r"\"[^\"\n]+\"|'[^'\n]+'", text))}:
                    return Finding("counted", resolved, first, last)
        same = self._numbers_of_line.get(claim.line, [])
        if claim.noun == "bytes":
            source = self.quantities.is_sum((one.value for one in same if one.noun == "files"), claim.value)
            if source:
                return Finding(source)
        if claim.noun == "files":
            for one in same:
                source = self.quantities.is_sum([claim.value], one.value) if one.noun == "bytes" else None
                if source:
                    return Finding(source)
        if claim.noun in ("%", "bytes"):
            for value, precision in self._shares:
                if abs(value - claim.value) <= max(claim.precision, precision):
                    return Finding("computed in the report's table")
        return None


def numerals(claim: Claim) -> list[str]:
    value = claim.value
    forms = [claim.text.rstrip("+").strip()]
    if value == int(value):
        forms += [str(int(value)), f"{int(value):,}", f"{int(value):_}"]
    return list(dict.fromkeys(forms))


def _cited(line: str) -> Iterator[tuple[str, int, int]]:
    for match in re.finditer(r"([^\s`(（\[]{1,300})#L(\d{1,7})(?:-L?(\d{1,7}))?", line):
        yield match[1], int(match[2]), int(match[3] or match[2])


def _shares_of_tables(lines: Iterable[list[Claim]]) -> list[tuple[float, float]]:
    """Shares, and the sum that they are of, in a table whose rows hold bytes and percentages."""
    rows = [
        (size.value, share)
        for numbers in lines
        for size in numbers
        if size.noun == "bytes" and size.line.lstrip().startswith("|")
        for share in numbers
        if share.noun == "%"
    ]
    whole = sum(size for size, _ in rows)
    shares = [(share.value, 0.0) for size, share in rows if whole and abs(100 * size / whole - share.value) <= 0.06]
    return [*shares, (whole, 0.0)] if shares and len(shares) == len(rows) else []

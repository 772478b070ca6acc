"""Numbers that a run's observations hold: told by a tool, or counted and computed from what it told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from itertools import combinations, pairwise
from statistics import median
from typing import Any

from tui_agent.events import JsonObject
from tui_agent.languages import LANGUAGE
from tui_agent.report.evidence import Evidence
from tui_agent.report.spelled import spelled_out
from tui_agent.report.vocabulary import NO_LANGUAGE

_TOLD = {
    "stars": "stars",
    "forks": "forks",
    "open_issues": "issues",
    "watchers": "watchers",
    "size": "bytes",
    "lines": "lines",
    "characters": "characters",
    "last_line": "lines",
}
_PERIODS = (7, 14, 30, 60, 90, 180, 182, 183, 365)
_DAYS = {"days": 1.0, "weeks": 7.0, "months": 30.44, "years": 365.25}
_ROOT_SUMS = 14
"""Kinds of files of which every sum is formed; of more only sums of a few."""


class Quantities:
    """Values by what they count, each with where it comes from.

    Args:
        evidence: what was observed.
    """

    def __init__(self, evidence: Evidence) -> None:
        self._by_noun: dict[str, dict[float, str]] = defaultdict(dict)
        self._of_path: dict[tuple[str, str], set[float]] = defaultdict(set)
        self._shares: list[tuple[float, str]] = []
        self._tables: list[tuple[list[tuple[int, int]], str]] = []
        self._dates: list[date] = []
        self._pairs: dict[tuple[int, int], str] | None = None
        self._today = evidence.scene.today
        self._add("files", evidence.scene.files, "snapshot")
        self._add("files", len(evidence.read), "files read")
        self._add("files", evidence.scene.files - len(evidence.read), "files not read")
        for event in evidence.observations:
            if event.outcome == "ok":
                self._take(event.tool, spelled_out(event.tool, event.result))
        for path, number in evidence.lines.items():
            self._add("lines", number, path)
        self._take_history(list(evidence.commits.values()))

    def find(self, noun: str, value: float, precision: float) -> str | None:
        """Where a number of such things comes from; None where it does not come from anything observed."""
        if noun == "%":
            return next((source for share, source in self._shares if abs(share - value) <= precision + 1e-9), None)
        if noun in _DAYS:
            return self._time(noun, value, precision)
        exact = self._by_noun.get(noun, {})
        if value in exact:
            return exact[value]
        if precision:
            return next((source for known, source in exact.items() if abs(known - value) <= precision), None)
        return None

    def of_path(self, path: str, noun: str) -> set[float]:
        """The numbers that tools told of one file or folder; empty where they told none."""
        return self._of_path.get((path, noun), set())

    def anywhere(self, value: float, precision: float) -> str | None:
        """Where a number comes from, whatever it counts."""
        for noun in (*self._by_noun, *_DAYS):
            source = self.find(noun, value, precision)
            if source is not None:
                return source
        return None

    def is_sum(self, files: Iterable[float], size: float) -> str | None:
        """Whether some kinds of files have together so many files and just so many bytes."""
        if self._pairs is None:
            self._pairs = {}
            for table, source in self._tables[:3]:
                self._pairs.update(_sums(table, source))
        for number in files:
            found = self._pairs.get((int(number), int(size)))
            if found is not None:
                return found
        return None

    def _time(self, noun: str, value: float, precision: float) -> str | None:
        """Spans between observed dates, and from these to today."""
        scale = _DAYS[noun]
        slack = max(precision, 0.0 if noun == "days" else 0.6) * scale + (1.0 if not precision else 0.0)
        for days, source in self._spans():
            if abs(days - value * scale) <= slack:
                return source
        return None

    def _spans(self) -> Iterator[tuple[float, str]]:
        dates = sorted(set(self._dates))
        for day in dates:
            yield (self._today - day).days, "computed from an observed date and today's"
        if len(dates) > 1:
            yield (dates[-1] - dates[0]).days, "computed from observed dates"
            for one in dates[1:-1][:200]:
                yield (dates[-1] - one).days, "computed from observed dates"
        yield from self._gaps

    # -- taking in --------------------------------------------------------------------------

    def _add(self, noun: str, value: Any, source: str) -> None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._by_noun[noun].setdefault(float(value), source)

    def _take(self, tool: str, result: JsonObject) -> None:
        self._told(result, tool)
        self._add("bytes", _times(result.get("size_kb"), 1000), tool)
        self._add("bytes", _times(result.get("size_kb"), 1024), tool)
        if tool in ("list_directory", "find_files"):
            entries = result.get("entries" if tool == "list_directory" else "files")
            told = result.get("total") if tool == "find_files" else result.get("total_entries")
            total = told or (len(entries) if isinstance(entries, list | dict) else None)
            for noun in ("files", "folders"):
                self._add(noun, total, tool)
            if tool == "find_files":
                self._take_sizes(entries, tool)
            folder = str(result.get("path") or "")
            self._told_of(folder, result)
            kinds: Counter[str] = Counter()
            endings: Counter[str] = Counter()
            for item in entries if isinstance(entries, list) else ():
                if isinstance(item, dict):
                    self._told(item, tool)
                    self._told_of(str(item.get("path") or f"{folder}/{item.get('name')}".lstrip("/")), item)
                    kinds[str(item.get("type", "file"))] += 1
                    name = str(item.get("name") or item.get("path"))
                    if item.get("type", "file") == "file":
                        endings[name.rpartition(".")[2]] += 1
            self._add("folders", kinds["dir"], tool)
            for number in (kinds["file"], *endings.values()):
                self._add("files", number, tool)
        if isinstance(result.get("by_extension"), dict):
            self._take_kinds(result["by_extension"], f"{tool}({path})" if (path := result.get("path")) else tool)
        if "total" in result and tool == "get_commits":
            self._add("commits", result["total"], tool)
        for key in ("created_at", "updated_at", "pushed_at"):
            self._date(result.get(key))

    def _told_of(self, path: str, item: JsonObject) -> None:
        for key, noun in (("files", "files"), ("size", "bytes")):
            if isinstance(item.get(key), int):
                self._of_path[path, noun].add(float(item[key]))

    def _told(self, item: JsonObject, tool: str) -> None:
        for key, noun in _TOLD.items():
            self._add(noun, item.get(key), tool)
        files = item.get("files")
        self._add("files", files, tool)
        self._take_sizes(item.get("largest"), tool)

    def _take_sizes(self, items: Any, tool: str) -> None:
        """Files with their bytes, by path or one after the other."""
        if isinstance(items, dict):
            for size in items.values():
                self._add("bytes", size, tool)
        for one in items if isinstance(items, list) else ():
            if isinstance(one, dict):
                self._add("bytes", one.get("size"), tool)

    def _take_kinds(self, table: dict[str, Any], source: str) -> None:
        known = {str(kind): row for kind, told in table.items() if (row := _row(told)) is not None}
        kinds, rows = list(known), list(known.values())
        self._tables.append((rows, source))
        self._tables.sort(key=lambda one: -sum(files for files, _ in one[0]))
        for column, noun in enumerate(("files", "bytes")):
            values = [float(row[column]) for row in rows]
            for value in values:
                self._add(noun, value, source)
            for count in (2, 3):
                for some in combinations(values, count) if noun == "bytes" else ():
                    self._add(noun, sum(some), f"computed from {source}")
            for one, other in combinations(values, 2):
                if noun == "files":
                    self._add(noun, one + other, f"computed from {source}")
            self._share_out(dict(zip(kinds, values, strict=True)), noun, f"computed from {source}")

    def _share_out(self, values: dict[str, float], noun: str, source: str) -> None:
        """What part each kind of files is of all, and of those that are written in a language; and each language."""
        code = {kind: value for kind, value in values.items() if kind.lstrip(".").lower() not in NO_LANGUAGE}
        for some in (values, code):
            whole = sum(some.values())
            parts = [*some.values()]
            # kinds of one language, as `.py` and `.pyi`
            parts += [some[a] + some[b] for a, b in combinations(some, 2) if len(a) > 2 and a[:3] == b[:3]]
            self._shares += [(100.0 * part / whole, source) for part in parts if whole]
        languages: Counter[str] = Counter()
        for kind, value in values.items():
            if (language := LANGUAGE.get(kind.lower())) is not None:
                languages[language] += int(value)
        whole = languages.total()
        for part in (whole, *languages.values()):
            self._add(noun, part, source)
            self._shares += [(100.0 * part / whole, source)] if whole else []

    def _take_history(self, commits: list[JsonObject]) -> None:
        self._gaps: list[tuple[float, str]] = []
        if not commits:
            return
        source = "counted in get_commits"
        authors = Counter(str(item.get("author")) for item in commits)
        self._add("commits", len(commits), source)
        self._add("people", len(authors), source)
        for number in authors.values():
            self._add("commits", number, source)
            self._shares.append((100.0 * number / len(commits), source))
        dates = [day for item in commits if (day := _day(item.get("date"))) is not None]
        self._dates += dates
        for length in (4, 7):
            for number in Counter(day.isoformat()[:length] for day in dates).values():
                self._add("commits", number, source)
        for end in (self._today, max(dates, default=self._today)):
            for period in _PERIODS:
                self._add("commits", sum(0 <= (end - day).days <= period for day in dates), source)
        self._add("commits", sum(day > self._today for day in dates), source)
        past = sorted(
            moment for item in commits if (moment := _moment(item.get("date"))) and moment.date() <= self._today
        )
        if len(past) > 1:
            seconds = median((later - earlier).total_seconds() for earlier, later in pairwise(past))
            self._gaps.append((seconds / 86_400, source))

    def _date(self, value: Any) -> None:
        day = _day(value)
        if day is not None:
            self._dates.append(day)


def _row(told: Any) -> tuple[int, int] | None:
    """Files and bytes, in either of the forms in which tools tell them."""
    if isinstance(told, list) and len(told) == 2:
        return int(_number(told[0])), int(_number(told[1]))
    if isinstance(told, dict):
        return int(_number(told.get("files"))), int(_number(told.get("size")))
    return None


def _sums(rows: list[tuple[int, int]], source: str) -> dict[tuple[int, int], str]:
    """Files and bytes of every choice of kinds of files."""
    sums = {(0, 0)}
    for files, size in rows[:_ROOT_SUMS]:
        sums |= {(known + files, total + size) for known, total in sums}
    return dict.fromkeys(sums - {(0, 0)}, f"computed from {source}")


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def _times(value: Any, factor: int) -> float | None:
    return _number(value) * factor if isinstance(value, int) else None


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _day(value: Any) -> date | None:
    try:
        return date.fromisoformat(str(value)[:10])
    except ValueError:
        return None

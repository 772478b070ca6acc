"""Several repositories side by side: a table of computed figures, and what a rule can read out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One repository of a comparison.

    Args:
        repo: its name.
        figures: what was computed; empty where it could not be analysed.
        error: why not, or None.
        commit: what the figures speak of.
        web: its address for people, or None for a local one.
    """

    repo: str
    figures: Figures = field(default_factory=dict)
    error: str | None = None
    commit: str | None = None
    web: str | None = None


@dataclass(frozen=True)
class _Words:
    fact: str
    unknown: str
    yes: str
    no: str
    states: Mapping[str, str]
    rows: Mapping[str, str]
    of: str
    last: str
    people: str
    share: str
    test_files: str
    lost: str


_EN = _Words(
    fact="Fact",
    unknown="–",
    yes="yes",
    no="no",
    states={"found": "yes", "missing": "none found", "unknown": "–"},
    rows={
        "commit": "Commit",
        "description": "Description",
        "licence": "Licence",
        "stars": "Stars",
        "forks": "Forks",
        "open_issues": "Open issues",
        "created": "Created",
        "archived": "Archived",
        "last_commit": "Last commit",
        "recent": "Commits in the last 90 days",
        "total": "Commits",
        "authors": "Authors",
        "language": "Main language",
        "files": "Files",
        "bytes": "Size",
        "version": "Version",
        "requires": "Requires",
        "dependencies": "Declared dependencies",
        "tests": "Tests",
        "ci": "CI",
        "documentation": "Documentation",
        "changelog": "Changelog",
    },
    of="{n} of the last {seen}",
    last="at least {n}",
    people="{n} in the last {seen} commits",
    share=", the busiest with {share}",
    test_files="{n} files",
    lost="{repo} could not be analysed: {error}",
)
_ZH = _Words(
    fact="事实",
    unknown="–",
    yes="是",
    no="否",
    states={"found": "有", "missing": "未发现", "unknown": "–"},
    rows={
        "commit": "提交",
        "description": "描述",
        "licence": "许可证",
        "stars": "星标",
        "forks": "复刻",
        "open_issues": "未关闭议题",
        "created": "创建于",
        "archived": "已归档",
        "last_commit": "最近一次提交",
        "recent": "近 90 天的提交",
        "total": "提交数",
        "authors": "作者",
        "language": "主要语言",
        "files": "文件数",
        "bytes": "大小",
        "version": "版本",
        "requires": "运行要求",
        "dependencies": "声明的依赖",
        "tests": "测试",
        "ci": "持续集成",
        "documentation": "文档",
        "changelog": "变更日志",
    },
    of="最近 {seen} 个中的 {n} 个",
    last="至少 {n}",
    people="最近 {seen} 个提交中 {n} 人",
    share="，最多者占 {share}",
    test_files="{n} 个文件",
    lost="{repo} 未能分析：{error}",
)


_FURTHER = {
    "commits_total": ("Commits", "提交数"),
    "authors_seen": ("Authors among the commits seen", "所见提交的作者数"),
    "busiest_author_share": ("Share of the busiest author", "最多者占比"),
    "language_share": ("Share of the main language", "主要语言占比"),
    "test_files": ("Test files", "测试文件数"),
    "ci_systems": ("CI systems", "持续集成系统"),
    "dependency_names": ("Names of dependencies", "依赖名称"),
    "manifests": ("Manifests", "清单文件"),
}
"""Figures that the table joins with others."""


def told(name: str, value: Any, *, chinese: bool) -> tuple[str, str]:
    """A figure's name and its value in words, as they stand in a cell.

    Args:
        name: as `profile` calls it.
        value: what was computed.
        chinese: in Simplified Chinese rather than English.
    """
    words = _ZH if chinese else _EN
    label = words.rows.get(name) or _FURTHER.get(name, (name, name))[chinese]
    if name.endswith("_share"):
        return label, _percent(value)
    if name == "bytes":
        return label, _bytes(Column("", {"bytes": value}), words)
    if name in ("tests", "ci"):
        return label, words.states.get(value, words.unknown)
    if isinstance(value, bool):
        return label, words.yes if value else words.no
    if isinstance(value, list):
        value = ", ".join(str(one) for one in value)
    return label, _cell(f"{value:,}" if isinstance(value, int) else value)


def table(columns: Sequence[Column], *, chinese: bool) -> str:
    """The figures as a Markdown table, a column a repository, and a line for each that is missing.

    Rows of which nothing is known anywhere are left out.

    Args:
        columns: the repositories in the order asked.
        chinese: in Simplified Chinese rather than English.
    """
    words = _ZH if chinese else _EN
    known = [column for column in columns if column.error is None]
    lines = [f"- {words.lost.format(repo=_cell(c.repo), error=_cell(c.error))}" for c in columns if c.error]
    if known:
        head = [words.fact, *(_link(column) for column in known)]
        rows = [[label, *(_CELLS[key](column, words) for column in known)] for key, label in words.rows.items()]
        told = [row for row in rows if any(cell != words.unknown for cell in row[1:])]
        ruled = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *told)]
        lines = [*ruled, "", *lines] if lines else ruled
    return "\n".join(lines)


def _link(column: Column) -> str:
    return f"[{_cell(column.repo)}]({column.web})" if column.web else _cell(column.repo)


def _cell(value: Any) -> str:
    """Any text as one cell: on one line, and nothing in it that Markdown would take for its own."""
    text = " ".join(str(value).split())
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~" else char for char in text)


def _text(key: str, most: int = 90) -> Callable[[Column, _Words], str]:
    def cell(column: Column, words: _Words) -> str:
        value = column.figures.get(key)
        if value is None:
            return words.unknown
        text = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        return _cell(text if len(text) <= most else f"{text[: most - 1]}…")

    return cell


def _commit(column: Column, words: _Words) -> str:
    if not column.commit:
        return words.unknown
    short = f"`{column.commit[:12]}`"
    return f"[{short}]({column.web}/commit/{column.commit})" if column.web else short


def _archived(column: Column, words: _Words) -> str:
    value = column.figures.get("archived")
    return words.unknown if value is None else words.yes if value else words.no


def _recent(column: Column, words: _Words) -> str:
    figures = column.figures
    recent, seen = figures.get("commits_in_90_days"), figures.get("commits_seen")
    if recent is None:
        return words.unknown
    whole = figures.get("commits_total") == seen
    # Where every commit that was seen is recent, there may be more of them.
    if recent == seen and not whole:
        return words.last.format(n=f"{recent:,}")
    return f"{recent:,}"


def _total(column: Column, words: _Words) -> str:
    total, seen = column.figures.get("commits_total"), column.figures.get("commits_seen")
    if total is None:
        return words.unknown if seen is None else words.last.format(n=f"{seen:,}")
    return f"{total:,}"


def _authors(column: Column, words: _Words) -> str:
    authors, seen = column.figures.get("authors_seen"), column.figures.get("commits_seen")
    if authors is None:
        return words.unknown
    share = column.figures.get("busiest_author_share")
    told = words.people.format(n=f"{authors:,}", seen=f"{seen:,}")
    return told + (words.share.format(share=_percent(share)) if share is not None and authors > 1 else "")


def _language(column: Column, words: _Words) -> str:
    language, share = column.figures.get("language"), column.figures.get("language_share")
    if language is None:
        return words.unknown
    return f"{_cell(language)} ({_percent(share)})" if share is not None else _cell(language)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _bytes(column: Column, words: _Words) -> str:
    size = column.figures.get("bytes")
    if size is None:
        return words.unknown
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"


def _dependencies(column: Column, words: _Words) -> str:
    number, names = column.figures.get("dependencies"), column.figures.get("dependency_names", [])
    if number is None:
        return words.unknown
    shown = ", ".join(f"`{_bare(name)}`" for name in names[:6]) + (" …" if number > 6 else "")
    return f"{number:,}" + (f": {shown}" if shown else "")


def _bare(name: str) -> str:
    return "".join(char for char in str(name) if char not in "`|\n")


def _tests(column: Column, words: _Words) -> str:
    state, files = column.figures.get("tests", "unknown"), column.figures.get("test_files")
    if state == "found" and files:
        return words.test_files.format(n=f"{files:,}")
    return words.states[state]


def _ci(column: Column, words: _Words) -> str:
    systems = column.figures.get("ci_systems")
    return (
        ", ".join(_cell(system) for system in systems) if systems else words.states[column.figures.get("ci", "unknown")]
    )


def _list(key: str) -> Callable[[Column, _Words], str]:
    def cell(column: Column, words: _Words) -> str:
        values = column.figures.get(key)
        return ", ".join(f"`{_bare(value)}`" for value in values[:3]) if values else words.unknown

    return cell


_CELLS: Mapping[str, Callable[[Column, _Words], str]] = {
    "commit": _commit,
    "archived": _archived,
    "recent": _recent,
    "total": _total,
    "authors": _authors,
    "language": _language,
    "bytes": _bytes,
    "dependencies": _dependencies,
    "tests": _tests,
    "ci": _ci,
    "documentation": _list("documentation"),
    "changelog": _list("changelog"),
    **{key: _text(key) for key in ("description", "licence", "stars", "forks", "open_issues", "created")},
    **{key: _text(key) for key in ("last_commit", "files", "version", "requires")},
}

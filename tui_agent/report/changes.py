"""What has changed in a repository from one run to a later one: commits, files, facts, and what was said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tui_agent.events import JsonObject
from tui_agent.report.compare import told
from tui_agent.safe_text import one_line

MOST_LINES = 40
"""Lines that any list shows."""


@dataclass(frozen=True)
class Side:
    """One of the two runs.

    Args:
        when: epoch seconds at which it began.
        commit: what it saw, or None.
        blobs: SHA by path of every file in its tree.
        figures: what was computed of it.
    """

    when: float
    commit: str | None
    blobs: Mapping[str, str]
    figures: Mapping[str, Any]


@dataclass(frozen=True)
class Files:
    """Paths that differ between two trees, each list sorted.

    Args:
        added, removed, changed: the paths.
        is_cut: whether a tree was too large to be seen whole, so that nobody knows what was added or removed.
    """

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    is_cut: bool = False

    @classmethod
    def between(cls, old: Mapping[str, str], new: Mapping[str, str], *, is_cut: bool = False) -> Files:
        """The difference of two trees.

        Args:
            old, new: SHA by path.
            is_cut: whether either lacks files.
        """
        changed = sorted(path for path in old.keys() & new.keys() if old[path] != new[path])
        if is_cut:
            return cls(changed=changed, is_cut=True)
        return cls(sorted(new.keys() - old.keys()), sorted(old.keys() - new.keys()), changed)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)


@dataclass(frozen=True)
class Commits:
    """Commits since the earlier run, the newest first, as the tool tells them.

    Args:
        since: those that were seen.
        complete: whether the earlier run's commit stands behind them; else there are more, or history was rewritten.
    """

    since: Sequence[JsonObject] = ()
    complete: bool = True


@dataclass(frozen=True)
class Stale:
    """A claim of the earlier report that no longer holds.

    Args:
        claim: its words.
        path: the file that it rested on, or None.
        why: a key of `_WHY`.
    """

    claim: str
    path: str | None
    why: str


_WHY = {
    "gone": ("the file is no longer there", "该文件已不存在"),
    "differs": ("what is there now says otherwise", "现在的内容已不是这样"),
    "changed": ("the file has changed since and was not read again", "该文件此后有改动，未再读取"),
}


def outdated(
    supported: Iterable[JsonObject], still: Iterable[JsonObject], files: Files, read: frozenset[str]
) -> list[Stale]:
    """The claims that no longer hold, or may no longer hold.

    Args:
        supported: the claims that the earlier run supported.
        still: those of the same report that what is known now supports.
        files: what differs between the trees.
        read: the changed files that were read anew.
    """
    holds = {(str(item.get("kind")), str(item.get("claim"))) for item in still}
    removed, changed = set(files.removed), set(files.changed)
    found: list[Stale] = []
    for item in supported:
        path = item.get("path")
        claim = str(item.get("claim", ""))
        is_file = isinstance(path, str)
        if is_file and path in removed:
            found.append(Stale(claim, path, "gone"))
        elif (str(item.get("kind")), claim) in holds:
            continue
        elif is_file and path in changed:
            found.append(Stale(claim, path, "differs" if path in read else "changed"))
        elif not is_file:
            found.append(Stale(claim, None, "differs"))
    return found


def text(
    old: Side, new: Side, commits: Commits, files: Files, stale: Sequence[Stale], checked: int, *, chinese: bool
) -> str:
    """The difference, in Markdown.

    Args:
        old, new: the runs.
        commits: since the earlier one.
        files: that differ.
        stale: claims that no longer hold.
        checked: how many claims of the earlier report were looked at.
        chinese: in Simplified Chinese rather than English.
    """
    say = _ZH if chinese else _EN
    when = datetime.fromtimestamp(old.when, UTC).strftime("%Y-%m-%d %H:%M UTC")
    blocks = [say["then"].format(when=when, old=_sha(old.commit), new=_sha(new.commit))]
    facts = _facts(old.figures, new.figures, say, chinese=chinese)
    if old.commit == new.commit and not files and not facts and not stale:
        return "\n\n".join([*blocks, say["same"]]) + "\n"
    blocks += [f"### {say['commits']}", _commits(commits, say)]
    counts = say["cut" if files.is_cut else "counts"].format(
        added=len(files.added), removed=len(files.removed), changed=len(files.changed)
    )
    blocks += [f"### {say['files']}", "\n".join([counts, "", *_paths(files, say)]).strip()]
    blocks += [f"### {say['facts']}", facts or say["no_facts"]]
    if not checked:
        return "\n\n".join(blocks) + "\n"
    blocks.append(f"### {say['claims']}")
    lines = [f"- {_quote(one.claim)}{_at(one.path)}: {_WHY[one.why][chinese]}" for one in stale]
    blocks.append(
        "\n".join([say["held"].format(held=checked - len(stale), all=checked), "", *_cut(lines, say)]).strip()
    )
    return "\n\n".join(blocks) + "\n"


_EN = {
    "then": "The earlier run began on {when} and saw commit {old}; this one sees {new}.",
    "same": "Nothing has changed: the same commit, the same facts, and every claim of the earlier report still holds.",
    "commits": "Commits since",
    "none": "None.",
    "rewritten": "The earlier commit is not among the latest {n}: there are more since then, or history was rewritten.",
    "files": "Files",
    "counts": "{added} added, {removed} removed, {changed} changed.",
    "cut": "{changed} changed among those that were listed both times; the tree is too large to be listed whole, so "
    "what was added or removed is not known.",
    "added": "added",
    "removed": "removed",
    "changed": "changed",
    "facts": "Facts that differ",
    "no_facts": "None of those that both runs know.",
    "fact": "Fact",
    "before": "Then",
    "now": "Now",
    "claims": "What the earlier report said",
    "held": "{held} of its {all} supported claims still hold.",
    "more": "- and {n} more",
}
_ZH = {
    "then": "上次运行始于 {when}，所见提交为 {old}；本次为 {new}。",
    "same": "没有变化：提交相同，事实相同，上次报告中的说法依然成立。",
    "commits": "此后的提交",
    "none": "没有。",
    "rewritten": "上次的提交不在最近 {n} 个提交之中：此后还有更多提交，或者历史被改写。",
    "files": "文件",
    "counts": "新增 {added}，删除 {removed}，修改 {changed}。",
    "cut": "两次都列出的文件中有 {changed} 个被修改；文件树过大，无法完整列出，因此不知道新增和删除了哪些文件。",
    "added": "新增",
    "removed": "删除",
    "changed": "修改",
    "facts": "有变化的事实",
    "no_facts": "两次运行都知道的事实没有变化。",
    "fact": "事实",
    "before": "上次",
    "now": "本次",
    "claims": "上次报告的说法",
    "held": "上次有依据的 {all} 条说法中，{held} 条依然成立。",
    "more": "- 另有 {n} 项",
}


def _commits(commits: Commits, say: Mapping[str, str]) -> str:
    lines = []
    for one in commits.since:
        sha, date = _sha(str(one.get("sha", ""))), one_line(str(one.get("date", "")), 10)
        who, what = _quote(str(one.get("author", ""))), _quote(str(one.get("message", "")))
        lines.append(f"- {sha} {date} {who}: {what}")
    if not commits.complete:
        return "\n".join([say["rewritten"].format(n=len(commits.since)), "", *_cut(lines, say)])
    return "\n".join(_cut(lines, say)) or say["none"]


def _paths(files: Files, say: Mapping[str, str]) -> list[str]:
    kinds = (("added", files.added), ("removed", files.removed), ("changed", files.changed))
    return _cut([f"- {say[kind]} {_code(path)}" for kind, paths in kinds for path in paths], say)


_ABOUT_NOW = frozenset({"days_since", "commits_in_90_days", "commits_seen", "first_commit_seen"})
"""Figures that differ by the day on which one looks, or by how much was looked at."""


def _facts(old: Mapping[str, Any], new: Mapping[str, Any], say: Mapping[str, str], *, chinese: bool) -> str:
    """The figures that both runs know and that differ, as a table; "" where there are none."""
    names = [name for name in old if name in new and name not in _ABOUT_NOW and old[name] != new[name]]
    if not names:
        return ""
    rows = [(say["fact"], say["before"], say["now"]), ("---",) * 3]
    for name in names:
        label, before = told(name, old[name], chinese=chinese)
        rows.append((label, before, told(name, new[name], chinese=chinese)[1]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cut(lines: list[str], say: Mapping[str, str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], say["more"].format(n=more)]


def _at(path: str | None) -> str:
    return f" ({_code(path)})" if path else ""


def _sha(commit: str | None) -> str:
    return f"`{commit[:12]}`" if commit and commit.isalnum() else "–"


def _code(text_: str) -> str:
    return f"`{one_line(text_, 200).replace('`', chr(39))}`"


def _quote(text_: str) -> str:
    """Any text within a line, with nothing in it that Markdown would take for its own."""
    return "".join(f"\\{char}" if char in "\\`*_{}[]<>|#~" else char for char in one_line(text_, 200))

"""What the program itself adds below a model's report: how far it can be trusted, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import quote

MOST_UNSEEN = 8
"""Directories that are named as not looked into."""


class Clause(Protocol):
    """Why a report is partial, in both languages."""

    @property
    def en(self) -> str:
        """In English."""

    @property
    def zh(self) -> str:
        """In Chinese."""


@dataclass(frozen=True, slots=True)
class FileRead:
    """How much of a file was read, in characters."""

    path: str
    characters: int
    total: int


@dataclass(frozen=True)
class Basis:
    """What a report rests on.

    Args:
        repo: the repository's name (after any redirect).
        asked: the name that was asked for.
        ref, commit: the snapshot.
        files: how many files it has.
        read: what was read, in the order of reading.
        web: address of the repository for people, or None for a local one.
        uncommitted: changes of a local repository that were not looked at.
        author: who wrote it, such as the model's name.
        partial: why it is partial, or None.
        unseen: directories that were not looked into at all, with their files, the largest first.
    """

    repo: str
    asked: str
    ref: str
    commit: str | None
    files: int
    read: Sequence[FileRead]
    web: str | None
    uncommitted: int
    author: str
    partial: Clause | None
    unseen: Sequence[tuple[str, int]] = ()


def appendix(basis: Basis, *, chinese: bool) -> str:
    """The section below the report, in Markdown.

    Args:
        basis: the facts.
        chinese: in Simplified Chinese rather than English.
    """
    return "\n\n---\n\n" + "\n".join(f"- {line}" for line in (_zh(basis) if chinese else _en(basis)))


def partial_line(reason: Clause, *, chinese: bool) -> str:
    """The sentence that says that a report is partial, and why."""
    return f"**本报告不完整：** {reason.zh}。" if chinese else f"**This report is partial:** {reason.en}."


def _en(basis: Basis) -> list[str]:
    lines = [partial_line(basis.partial, chinese=False)] if basis.partial else []
    ref = _code(basis.ref)
    at = f"{ref} at commit {_commit(basis)}" if basis.commit else f"{ref}, which has no commits"
    lines.append(f"Written by {basis.author} about {basis.repo}, {at}.")
    if basis.repo.lower() != basis.asked.lower():
        lines.append(f"{basis.asked} is now called {basis.repo}.")
    if basis.uncommitted:
        one = basis.uncommitted == 1
        lines.append(f"{basis.uncommitted} uncommitted change{' was' if one else 's were'} not read.")
    read = ", ".join(_file(basis, one) + _part(one, "{} of {} characters") for one in basis.read) or "none"
    lines.append(f"Files read ({len(basis.read)} of {basis.files}): {read}.")
    rest = basis.files - len(basis.read)
    if rest > 0:
        what = "one other file" if rest == 1 else f"the other {rest} files"
        share = f" ({_share(basis)})" if basis.files > 1 else ""
        lines.append(f"What was not read: {what}{share}, of which at most name and size are known.")
    if basis.unseen:
        shown = ", ".join(
            f"{_code(path + '/')} ({files:,} file{'' if files == 1 else 's'})" for path, files in _some(basis)
        )
        more = len(basis.unseen) - MOST_UNSEEN
        lines.append(f"Directories not looked into at all: {shown}{f', and {more:,} more' if more > 0 else ''}.")
    return lines


def _zh(basis: Basis) -> list[str]:
    lines = [partial_line(basis.partial, chinese=True)] if basis.partial else []
    ref = _code(basis.ref)
    at = f"{ref}，提交 {_commit(basis)}" if basis.commit else f"{ref}，没有提交"
    lines.append(f"作者：{basis.author}；仓库：{basis.repo}（{at}）。")
    if basis.repo.lower() != basis.asked.lower():
        lines.append(f"{basis.asked} 现名 {basis.repo}。")
    if basis.uncommitted:
        lines.append(f"该文件夹中有 {basis.uncommitted} 处未提交的更改，未读取。")
    read = "、".join(_file(basis, one) + _part(one, "{}/{} 字符") for one in basis.read) or "无"
    lines.append(f"已读文件（{len(basis.read)}/{basis.files}）：{read}。")
    rest = basis.files - len(basis.read)
    if rest > 0:
        share = f"（占 {_share(basis)}）" if basis.files > 1 else ""
        lines.append(f"未读内容：其余 {rest} 个文件{share}，最多只知道其名称和大小。")
    if basis.unseen:
        shown = "、".join(f"{_code(path + '/')}（{files:,} 个文件）" for path, files in _some(basis))
        more = len(basis.unseen) - MOST_UNSEEN
        lines.append(f"完全没有查看的目录：{shown}{f'，另有 {more:,} 个' if more > 0 else ''}。")
    return lines


def _share(basis: Basis) -> str:
    """What part of the files was not read; never said to be all or none where it is not."""
    share = 100 * (basis.files - len(basis.read)) / basis.files
    return f"{share:.0f}%" if 99 >= share >= 1 or not basis.read else f"{share:.1f}%" if share < 99.95 else ">99.9%"


def _some(basis: Basis) -> Sequence[tuple[str, int]]:
    return basis.unseen[:MOST_UNSEEN]


def _commit(basis: Basis) -> str:
    short = f"`{(basis.commit or '')[:12]}`"
    return f"[{short}]({basis.web}/commit/{basis.commit})" if basis.web else short


def _file(basis: Basis, read: FileRead) -> str:
    code = _code(read.path)
    if basis.web is None or basis.commit is None:
        return code
    return f"[{code}]({basis.web}/blob/{basis.commit}/{_quoted(read.path)})"


def _quoted(path: str) -> str:
    """A path in an address; bytes of a name that are no UTF-8 stay the bytes that they are."""
    try:
        return quote(path, errors="surrogateescape")
    except UnicodeEncodeError:
        return quote(path, errors="replace")


def _part(read: FileRead, words: str) -> str:
    """How much of it, where it was not the whole."""
    return "" if read.characters >= read.total else f" ({words.format(f'{read.characters:,}', f'{read.total:,}')})"


def _code(text: str) -> str:
    """Text as inline code, whatever backticks and line ends it holds."""
    text = " ".join(text.split("\n"))
    if "`" not in text:
        return f"`{text}`"
    return f"`` {text} ``" if "``" not in text else text.replace("`", "'")

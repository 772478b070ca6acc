"""What a local repository or folder can be asked for; the routes put it into GitHub's words."""

from __future__ import annotations

import re
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from tui_agent.transports.local_text import decode_message

Kind = Literal["git", "folder"]

FILE, EXECUTABLE, LINK, TREE, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o040000, 0o160000
COMMIT_HEAD = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)")
"""What every commit begins with: its tree and its parents."""
MAX_BLOB = 100 * 1024 * 1024
"""Bytes of the largest blob that is answered, as on GitHub ("Get a blob" in its documentation)."""


class LocalRepositoryError(Exception):
    """There is nothing here that could be read; the text says why, in one plain sentence."""


class Refusal(Exception):
    """A request that cannot be answered: the status and the sentence that GitHub's reply would carry."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Interrupted(Exception):
    """Nobody waits for this answer any more."""


class Stop:
    """Tells long work in a thread that nobody waits for it any more."""

    def __init__(self) -> None:
        self._set = threading.Event()

    def set(self) -> None:
        """Ask the work to end."""
        self._set.set()

    def check(self) -> None:
        """Called by the work now and then.

        Raises:
            Interrupted: `set` was called.
        """
        if self._set.is_set():
            raise Interrupted


class TreeEntry(NamedTuple):
    """One entry of a git tree: its name, its mode in git's canonical form, its object."""

    name: bytes
    mode: int
    sha: str

    @property
    def type(self) -> str:
        """The object's type in GitHub's words."""
        return {TREE: "tree", SUBMODULE: "commit"}.get(self.mode, "blob")


def canonical_mode(mode: int) -> int:
    """The few modes that git knows, of the many that old trees hold (`canon_mode` in git's cache.h)."""
    if stat.S_ISREG(mode):
        return EXECUTABLE if mode & 0o100 else FILE
    if stat.S_ISLNK(mode):
        return LINK
    return TREE if stat.S_ISDIR(mode) else SUBMODULE


@dataclass(frozen=True, slots=True)
class Person:
    """Who made a commit, and when (epoch seconds)."""

    name: str
    email: str
    time: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as git stores it."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch or tag: its full name, the object that it names and that object's type, the commit behind it."""

    name: bytes
    sha: str
    type: str
    commit: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some commits of a history: whether there are more, and how many there are in all, where that is known."""

    commits: list[Commit]
    more: bool
    total: int | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a repository as a whole; None where nobody can know.

    Args:
        kind: what it is.
        default_branch: the branch that HEAD names.
        created, changed: epoch seconds of the first and of the last commit.
        size: bytes.
        licence: SPDX id, "NOASSERTION" for a licence that is not recognised, None for none.
        description: of the repository, in a sentence.
        local: what only a local repository is (`bare`, `detached`, `branch`).
    """

    kind: Kind
    default_branch: str | None
    created: int | None
    changed: int | None
    size: int
    licence: str | None
    description: str | None
    local: dict[str, bool | str | None] = field(default_factory=dict)


class Source(Protocol):
    """A repository or folder that answers; every method may block, and may be called from any thread."""

    @property
    def kind(self) -> Kind:
        """What it is."""

    def facts(self, stop: Stop) -> Facts:
        """The repository as a whole."""

    def resolve(self, ref: str) -> str:
        """The commit that a ref or SHA names."""

    def commit(self, sha: str) -> Commit:
        """A commit by its full SHA."""

    def history(self, sha: str, path: str, start: int, count: int, stop: Stop) -> Page:
        """Commits from `sha` backwards that touch `path` ("" for all), `count` of them after the first `start`."""

    def root(self, name: str, stop: Stop) -> str:
        """The tree that a ref, a commit's or a tree's SHA names."""

    def tree(self, sha: str) -> list[TreeEntry]:
        """What a tree holds, in git's order."""

    def size(self, sha: str) -> int | None:
        """Bytes of a blob, found without reading it; None where it is not there."""

    def blob(self, sha: str) -> bytes:
        """A blob's content."""

    def refs(self, prefix: bytes) -> Iterator[Ref]:
        """The refs whose full names begin with `prefix`, by name."""

    def incomplete(self) -> bool:
        """Whether the last listing left something out that is there."""

    def close(self) -> None:
        """Give back what is held open; a later question opens it again."""


def parse_commit(sha: str, raw: bytes) -> Commit:
    """A commit out of its object, however odd its headers are.

    Raises:
        ValueError: it names no tree.
    """
    start = COMMIT_HEAD.match(raw)
    if start is None:
        raise ValueError(f"commit {sha} names no tree")
    head, _, message = raw[start.end() - 1 :].partition(b"\n\n")
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        fields.setdefault(key, value)
    encoding = fields.get(b"encoding")
    return Commit(
        sha,
        start[1].decode("ascii"),
        tuple(start[2].decode("ascii").split()[1::2]),
        _person(fields.get(b"author", b""), encoding),
        _person(fields.get(b"committer", b""), encoding),
        decode_message(message, encoding),
    )


def _person(line: bytes, encoding: bytes | None) -> Person:
    name, _, rest = line.partition(b"<")
    email, _, moment = rest.rpartition(b">")
    return Person(decode_message(name.strip(), encoding), decode_message(email.strip(), encoding), epoch(moment))


def epoch(moment: bytes) -> int:
    """The seconds of git's `1700000000 +0100`; 0 for what is none, as git takes it."""
    first, _, _ = moment.strip().partition(b" ")
    try:
        return int(first)
    except ValueError:
        return 0

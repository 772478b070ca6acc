"""The names that a repository gives to its commits: HEAD, branches, tags; read, never written."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Protocol

from tui_agent.safe_text import visible
from tui_agent.transports.local_files import read_small
from tui_agent.transports.local_source import LocalRepositoryError

if TYPE_CHECKING:
    from dulwich.refs import RefsContainer

HEAD = b"HEAD"
_SYMBOLIC = re.compile(rb"ref:[ \t]*(.+)")
_SHA = re.compile(rb"[0-9a-f]{40}")
_PACKED = re.compile(rb"([0-9a-f]{40}) (refs/.+)")
_PACKED_LIMIT = 256 * 1024 * 1024
_REF_LIMIT = 4096
_MAX_HOPS = 5
# What git-check-ref-format(1) forbids anywhere in a name.
_FORBIDDEN = re.compile(rb"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
# Refs that each linked worktree has for itself (git-worktree(1), REFS).
_PER_WORKTREE = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")


def is_per_worktree(name: bytes) -> bool:
    """Whether a linked worktree has this ref for itself."""
    return name == HEAD or name.startswith(_PER_WORKTREE)


class RefStore(Protocol):
    """Where refs are kept."""

    def read(self, name: bytes) -> bytes | None:
        """What a ref says: a SHA, or `ref: ` and another ref's name; None where it is not there."""

    def names(self, prefix: bytes) -> list[bytes]:
        """The names of the refs under a prefix such as `refs/heads/`, sorted."""


def is_ref_name(name: bytes) -> bool:
    """Whether this can be the full name of a ref (git-check-ref-format(1)): nothing else is looked up."""
    if name == HEAD:
        return True
    if not name.startswith(b"refs/") or name.endswith((b"/", b".")) or _FORBIDDEN.search(name):
        return False
    return not any(part.startswith(b".") or part.endswith(b".lock") or not part for part in name.split(b"/"))


def follow(store: RefStore, name: bytes) -> tuple[bytes, str | None]:
    """Where a ref leads: the last name of the chain, and its SHA (None where that ref does not exist yet)."""
    for _ in range(_MAX_HOPS):
        value = store.read(name) if is_ref_name(name) else None
        if value is None:
            return name, None
        symbolic = _SYMBOLIC.match(value)
        if symbolic is None:
            return name, value.decode("ascii")
        name = symbolic[1].strip()
    return name, None


class DiskRefs:
    """Refs in files: loose ones, one a file, and those of `packed-refs` (gitrepository-layout(5)).

    Args:
        git_dir: the repository's, or the linked worktree's own.
        common_dir: the repository's that a linked worktree belongs to; else the same.
    """

    def __init__(self, git_dir: str, common_dir: str) -> None:
        self._git_dir = git_dir
        self._common_dir = common_dir
        self._packed: tuple[tuple[int, int, int], dict[bytes, bytes]] | None = None

    def read(self, name: bytes) -> bytes | None:
        """See `RefStore`."""
        if not is_ref_name(name):
            return None
        path = os.path.join(self._base(name), os.fsdecode(name))  # noqa: PTH118 - keeps bytes that are no UTF-8
        if name == HEAD and os.path.islink(path):  # noqa: PTH114 - as above
            # How HEAD was before 2006; some old repositories still have it.
            return b"ref: " + os.fsencode(os.readlink(path))  # noqa: PTH115 - as above
        content = read_small(path, limit=_REF_LIMIT)
        if content is not None:
            first = content.split(b"\n", 1)[0].rstrip()
            return first if _SYMBOLIC.match(first) or _SHA.fullmatch(first) else None
        return self._packed_refs().get(name)

    def names(self, prefix: bytes) -> list[bytes]:
        """See `RefStore`."""
        found = {name for name in self._packed_refs() if name.startswith(prefix)}
        base = os.path.join(os.fsencode(self._base(prefix)), b"")  # noqa: PTH118 - as above
        for folder, _, files in os.walk(base + prefix.rpartition(b"/")[0]):
            within = folder[len(base) :].replace(os.fsencode(os.sep), b"/")
            found.update(name for file in files if (name := within + b"/" + file).startswith(prefix))
        return sorted(filter(is_ref_name, found))

    def _base(self, name: bytes) -> str:
        return self._git_dir if is_per_worktree(name) else self._common_dir

    def _packed_refs(self) -> dict[bytes, bytes]:
        path = os.path.join(self._common_dir, "packed-refs")  # noqa: PTH118 - as above
        try:
            state = os.stat(path)  # noqa: PTH116 - as above
        except OSError:
            return {}
        key = (state.st_mtime_ns, state.st_size, state.st_ino)
        if self._packed is None or self._packed[0] != key:
            self._packed = key, _parse_packed(read_small(path, limit=_PACKED_LIMIT) or b"", path)
        return self._packed[1]


def _parse_packed(content: bytes, path: str) -> dict[bytes, bytes]:
    """The refs of `packed-refs`; lines with `^` tell what tags lead to, which the objects tell as well."""
    refs: dict[bytes, bytes] = {}
    for line in content.splitlines():
        match = _PACKED.fullmatch(line)
        if match is not None:
            refs[match[2]] = match[1]
        elif line and not line.startswith((b"#", b"^")):
            raise LocalRepositoryError(f"{visible(path, keep='')} is damaged: git itself would refuse it.")
    return refs


class StoredRefs:
    """The refs of a dulwich repository, such as one in memory."""

    def __init__(self, container: RefsContainer) -> None:
        self._container = container

    def read(self, name: bytes) -> bytes | None:
        """See `RefStore`."""
        from dulwich.refs import Ref

        return self._container.read_ref(Ref(name)) or None

    def names(self, prefix: bytes) -> list[bytes]:
        """See `RefStore`."""
        return sorted(name for name in self._container.allkeys() if name.startswith(prefix))

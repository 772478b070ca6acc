"""Which files a repository's ignore files leave out, as gitignore(5) says.

Patterns come from whoever wrote the repository: they are matched without backtracking, so that
none of them can make the match take for ever.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from tui_agent.transports.local_files import read_small

_LIMIT = 1024 * 1024
"""Bytes of an ignore file."""
_CLASSES = {
    b"alnum": b"0-9A-Za-z",
    b"alpha": b"A-Za-z",
    b"blank": b" \\t",
    b"cntrl": b"\\x00-\\x1f\\x7f",
    b"digit": b"0-9",
    b"graph": b"\\x21-\\x7e",
    b"lower": b"a-z",
    b"print": b"\\x20-\\x7e",
    b"punct": b"!-/:-@\\[-`{-~",
    b"space": b"\\t-\\r ",
    b"upper": b"A-Z",
    b"xdigit": b"0-9A-Fa-f",
}
_NEVER = b"(?!)"

Matcher = re.Pattern[bytes]


class _Glob(NamedTuple):
    """One part of a pattern, between slashes: its pieces of fixed length, with a `*` between each two.

    `literal` is the only text that it matches, if there is only one; `double` says that it is `**`.
    """

    pieces: list[bytes]
    literal: bytes | None
    double: bool = False

    def regex(self) -> bytes:
        """Each piece is taken where it first fits: later places could match no more than that one."""
        first, *rest = self.pieces
        if not rest:
            return first
        middle = b"".join(b"(?>.*?" + piece + b")" for piece in rest[:-1])
        return first + middle + b".*" + rest[-1]


@dataclass(frozen=True, slots=True)
class _Pattern:
    negated: bool
    only_folders: bool
    # None stands for `**`; a pattern without a slash has one part, and is matched against names alone.
    parts: tuple[Matcher | None, ...]
    anchored: bool

    def matches(self, name: bytes, path: list[bytes], folder: bool) -> bool:
        """Whether this is meant: its name, its path below the ignore file, whether it is a folder."""
        if self.only_folders and not folder:
            return False
        if not self.anchored:
            only = self.parts[0]
            return only is not None and only.fullmatch(name) is not None
        return _match_path(self.parts, path)


class IgnoreFile:
    """The patterns of one ignore file.

    Args:
        content: of the file.
        base: the folder that it speaks of, from the root, ending with a slash; b"" for the root.
        ignore_case: whether the file system does not tell cases apart (`core.ignoreCase`).
    """

    def __init__(self, content: bytes, base: bytes, *, ignore_case: bool = False) -> None:
        self._base = len(base)
        self._patterns: list[_Pattern] = []
        self._names: set[bytes] = set()
        self._quick: Matcher | None = None
        self._anchored: list[_Pattern] = []
        flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
        quick: list[bytes] = []
        for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            parsed = _parse(line, flags)
            if parsed is None:
                continue
            pattern, glob = parsed
            self._patterns.append(pattern)
            if pattern.anchored:
                self._anchored.append(pattern)
            elif glob.literal is not None and not ignore_case:
                self._names.add(glob.literal)
            else:
                quick.append(glob.regex())
        if quick:
            self._quick = re.compile(b"|".join(b"(?:" + regex + b")" for regex in quick), flags)

    def decides(self, path: bytes, name: bytes, folder: bool) -> bool | None:
        """Whether something is ignored; None where this file does not speak of it. The last pattern wins."""
        parts: list[bytes] = path[self._base :].split(b"/") if self._anchored else []
        if not (
            name in self._names
            or (self._quick is not None and self._quick.fullmatch(name))
            or any(pattern.matches(name, parts, folder) for pattern in self._anchored)
        ):
            return None
        for pattern in reversed(self._patterns):
            if pattern.matches(name, parts, folder):
                return not pattern.negated
        return None


@dataclass(frozen=True, slots=True)
class Ignores:
    """The ignore files that hold in a folder, those nearest to it last.

    Whoever walks a tree asks of each entry and does not enter what is ignored: below an ignored
    folder nothing can be taken back.
    """

    files: tuple[IgnoreFile, ...] = ()
    ignore_case: bool = False

    def within(self, folder: bytes, base: bytes) -> Ignores:
        """Those that hold in a folder: these, and its own `.gitignore`, which may be no symbolic link.

        Args:
            folder: where it is on disk.
            base: where it is from the root, ending with a slash; b"" for the root.
        """
        content = read_small(folder + b"/.gitignore", limit=_LIMIT, follow=False)
        return self if content is None else self.plus(content, base)

    def plus(self, content: bytes, base: bytes = b"") -> Ignores:
        """These and one more file's."""
        return Ignores((*self.files, IgnoreFile(content, base, ignore_case=self.ignore_case)), self.ignore_case)

    def ignored(self, path: bytes, name: bytes, folder: bool) -> bool:
        """Whether something is ignored: its path from the root, its name, whether it is a folder."""
        for file in reversed(self.files):
            decision = file.decides(path, name, folder)
            if decision is not None:
                return decision
        return False


def _parse(line: bytes, flags: int) -> tuple[_Pattern, _Glob] | None:
    """A line's pattern, and its last part; None for a line without one."""
    text = _trimmed(line.removesuffix(b"\r"))
    if not text or text.startswith(b"#"):
        return None
    negated = text.startswith(b"!")
    text = text[negated:]
    only_folders = text.endswith(b"/")
    text = text.removesuffix(b"/")
    anchored = b"/" in text
    globs = _globs(text.removeprefix(b"/"))
    if not text or not globs:
        return None
    parts: list[Matcher | None] = []
    for glob in globs:
        parts.append(None if anchored and glob.double else re.compile(glob.regex(), flags))
    if parts[-1] is None:
        # `a/**` is everything inside a, not a itself.
        parts.append(re.compile(b".*", flags))
    return _Pattern(negated, only_folders, tuple(parts), anchored), globs[-1]


def _trimmed(line: bytes) -> bytes:
    """Without blanks at the end, unless a backslash holds them."""
    stripped = line.rstrip(b" ")
    if len(stripped) == len(line):
        return line
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return stripped + b" " if backslashes % 2 else stripped


def _globs(text: bytes) -> list[_Glob]:
    """The parts of a pattern between its slashes."""
    globs: list[_Glob] = []
    pieces, literal, start = [b""], bytearray(), 0
    plain, after_star = True, False
    position = 0
    while position <= len(text):
        end = position
        if text.startswith(b"\\/", position):
            position += 1
        char = text[position : position + 1]
        star = char == b"*"
        if char in (b"", b"/"):
            is_double = end - start > 1 and not text[start:end].strip(b"*")
            globs.append(_Glob(pieces, bytes(literal) if plain else None, is_double))
            pieces, literal, plain, start = [b""], bytearray(), True, position + 1
        elif star:
            plain = False
            if not after_star:
                pieces.append(b"")
        elif char == b"?":
            plain = False
            pieces[-1] += b"."
        elif char == b"[":
            plain = False
            found, position = _bracket(text, position)
            pieces[-1] += found
        else:
            if char == b"\\":
                position += 1
                char = text[position : position + 1]
                if not char:
                    # A backslash with nothing behind it: git takes the pattern for invalid.
                    return [_Glob([_NEVER], None)]
            literal += char
            pieces[-1] += re.escape(char)
        after_star = star
        position += 1
    return globs


def _bracket(text: bytes, position: int) -> tuple[bytes, int]:
    """The set that begins at `[`, as a regular expression, and where it ends (wildmatch.c)."""
    position += 1
    negated = text[position : position + 1] in (b"!", b"^")
    position += negated
    members = b""
    first = True
    while first or text[position : position + 1] != b"]":
        first = False
        char = text[position : position + 1]
        if not char:
            return _NEVER, len(text) - 1
        if char == b"[" and text[position + 1 : position + 2] == b":":
            end = text.find(b":]", position + 2)
            name = text[position + 2 : end]
            if end >= 0 and b"]" not in name:
                if name not in _CLASSES:
                    return _NEVER, len(text) - 1
                members += _CLASSES[name]
                position = end + 2
                continue
        low, position = _member(text, position)
        if text[position : position + 1] == b"-" and text[position + 1 : position + 2] not in (b"", b"]"):
            high, position = _member(text, position + 1)
            members += b"\\x%02x-\\x%02x" % (low, max(low, high))
        else:
            members += b"\\x%02x" % low
    if negated:
        return (b"[^/" + members + b"]"), position
    return (b"(?!/)[" + members + b"]" if members else _NEVER), position


def _member(text: bytes, position: int) -> tuple[int, int]:
    if text[position : position + 1] == b"\\" and position + 1 < len(text):
        position += 1
    return text[position], position + 1


def _match_path(parts: tuple[Matcher | None, ...], path: list[bytes]) -> bool:
    """Whether the parts of a pattern, `**` among them, match a whole path."""
    here = there = 0
    double, mark = -1, 0
    while there < len(path):
        part = parts[here] if here < len(parts) else None
        if part is not None and part.fullmatch(path[there]):
            here, there = here + 1, there + 1
        elif here < len(parts) and part is None:
            double, mark = here, there
            here += 1
        elif double >= 0:
            mark += 1
            here, there = double + 1, mark
        else:
            return False
    return all(part is None for part in parts[here:])

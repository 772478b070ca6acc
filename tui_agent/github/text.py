"""Bytes of a file to the text that a person and a model read, or to the reason why there is none.

The order decides: a known LFS pointer, a byte order mark, NUL bytes (binary), strict UTF-8 over the whole, a guess,
else binary. So nothing is called text because its beginning looks like it, and nothing is guessed that is known.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "empty", "binary", "lfs"]

# The longer mark first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le", 4),
    (codecs.BOM_UTF32_BE, "utf-32-be", 4),
    (codecs.BOM_UTF16_LE, "utf-16-le", 2),
    (codecs.BOM_UTF16_BE, "utf-16-be", 2),
)
# https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md: under 1,024 bytes, "version" first, other keys sorted.
_LFS_LIMIT = 1024
_LFS = re.compile(
    rb"version https://(?:git-lfs|hawser)\.github\.com/spec/v1\r?\n"
    rb"(?:[a-z0-9.-]+ [^\n]*\n)*?oid sha256:[0-9a-f]{64}\r?\n(?:[a-z0-9.-]+ [^\n]*\n)*?size (\d{1,18})\r?\n?"
)
_HIGH = re.compile(rb"[\x80-\xff]")
_BAD = re.compile("[\udc80-\udcff]")
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_GUESS_FROM = 32 * 1024
# Where a short text fits several encodings equally well, the more usual one; a superset after its stricter subset.
_USUAL = (
    "cp1252 gb2312 big5 cp932 gb18030 cp949 euc_jp cp1251 koi8_r cp1250 iso8859_2 cp1253 cp1254 cp1255 cp1256 cp1257"
).split(" ")
# Without a byte order mark these would turn any even number of bytes into text, and plain ASCII into something else.
_NEVER_GUESSED = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "utf_7"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a file's bytes say.

    Args:
        text: the text with `\\n` as its only line end; None where there is none to show.
        encoding: what the bytes were read as; None where there is no text.
        remark: what a reader should know, a clause that ends with a full stop: why nothing is shown, that the file
            is empty, that the encoding is a guess. None where nothing is to be said.
        kind: "text", "empty" (a success that says so), "binary" or "lfs".
        lfs_size: bytes of the file that an LFS pointer stands for.
    """

    text: str | None
    encoding: str | None
    remark: str | None
    kind: Kind
    lfs_size: int | None = None


def decode(data: bytes) -> Decoded:
    """The text of a file's bytes. Never raises.

    Takes time in proportion to the length: milliseconds for 3 MB of UTF-8, under a second where the encoding has to
    be guessed.

    Source of the rules: `git` and GitHub call NUL bytes binary; the byte order marks are Unicode's (chapter 23.8).
    """
    if not data:
        return Decoded("", "utf-8", "the file is empty.", "empty")
    if len(data) < _LFS_LIMIT and (pointer := _LFS.fullmatch(data)):
        size = int(pointer[1])
        remark = f"it is a Git LFS pointer: the file itself ({size:,} bytes) is not in the repository."
        return Decoded(None, None, remark, "lfs", size)
    for mark, encoding, unit in _MARKS:
        if data.startswith(mark) and (marked := _marked(data[len(mark) :], encoding, unit)):
            return marked
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _binary("it begins like UTF-16 but is not, so it is taken for binary")
    body = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in body:
        return _binary("it holds NUL bytes, so it is taken for binary")
    try:
        return _text(body.decode("utf-8"), "utf-8", None)
    except UnicodeDecodeError as error:
        return _damaged(body, error, sure=body is not data) or _guessed(body)


def _binary(why: str) -> Decoded:
    return Decoded(None, None, f"{why}.", "binary")


def _text(text: str, encoding: str, remark: str | None) -> Decoded:
    """Decoded text with one kind of line end; what was only a byte order mark is empty."""
    if not text:
        return Decoded("", encoding, "the file is empty but for a byte order mark.", "empty")
    if "\r" in text:
        # a CR alone ends no line, for git and for whoever cites line numbers
        text = text.replace("\r\n", "\n")
    return Decoded(text, encoding, remark, "text")


def _marked(body: bytes, encoding: str, unit: int) -> Decoded | None:
    """What follows a byte order mark of UTF-16 or UTF-32, or None where it is no such text."""
    extra = len(body) % unit
    try:
        text = body[: len(body) - extra].decode(encoding)
    except UnicodeDecodeError:
        return None
    if "\0" in text:
        return None
    remark = f"its last character is cut off ({extra} of {unit} bytes)." if extra else None
    return _text(text, encoding, remark)


def _damaged(body: bytes, error: UnicodeDecodeError, *, sure: bool) -> Decoded | None:
    """UTF-8 with a few broken bytes, which any guess at another encoding would make worse; None for other bytes.

    Args:
        body: the bytes without a mark.
        error: what strict UTF-8 said.
        sure: a byte order mark said that it is UTF-8.
    """
    is_cut = error.reason == "unexpected end of data" and _HIGH.search(body, 0, error.start) is not None
    if is_cut:
        text = body[: error.start].decode("utf-8")
        return _text(text, "utf-8", "its last character is cut off.")
    text = body.decode("utf-8", "surrogateescape")
    bad = len(_BAD.findall(text))
    good = len(re.findall(r"[^\x00-\x7f\udc80-\udcff]", text))
    # In text of another encoding hardly any sequence of bytes is valid UTF-8 by chance.
    if not sure and good < 2 * bad:
        return None
    said = "1 byte is not valid UTF-8 and is" if bad == 1 else f"{bad:,} bytes are not valid UTF-8 and are"
    return _text(_BAD.sub("\ufffd", text), "utf-8", f"{said} shown as \ufffd.")


def _guessed(body: bytes) -> Decoded:
    """The best guess that decodes the whole without an error, said to be one; else binary."""
    if 50 * len(_CONTROL.findall(body)) > len(body):
        return _binary("it is neither UTF-8 nor free of control bytes, so it is taken for binary")
    for encoding in _guesses(_sample(body)):
        try:
            text = body.decode(encoding)
        except (UnicodeDecodeError, LookupError):
            continue
        return _text(text, encoding, f"its encoding is a guess ({encoding}): some characters may be wrong.")
    return _binary("its bytes are no text in any known encoding, so it is taken for binary")


def _sample(body: bytes) -> bytes:
    """The lines that tell encodings apart, up to a bound, so that a big file costs no more than a small one."""
    lines: list[bytes] = []
    size, position = 0, 0
    while high := _HIGH.search(body, position):
        start = body.rfind(b"\n", 0, high.start()) + 1
        position = body.find(b"\n", high.end()) + 1 or len(body)
        size += position - start
        if size > _GUESS_FROM:
            break
        lines.append(body[start:position])
    if lines or not high:
        return b"".join(lines)
    start = max(high.start() - 200, 0)
    window = body[start : start + _GUESS_FROM]
    # Below 0x30 no byte is the second half of a character in any encoding in use: cut there.
    ends = [match.start() for match in re.finditer(rb"[\x09-\x2f]", window)]
    return window[: ends[-1]] if ends and ends[-1] > _GUESS_FROM // 2 else window


def _guesses(sample: bytes) -> Iterator[str]:
    """Names of encodings, the likeliest first."""
    from charset_normalizer import from_bytes

    matches = list(from_bytes(sample, cp_exclusion=_NEVER_GUESSED))
    if not matches:
        return
    best = matches[0]
    names = [
        name
        for match in matches
        if (match.chaos, match.coherence) == (best.chaos, best.coherence)
        for name in (match.encoding, *match.could_be_from_charset)
    ]
    usual = [name for name in _USUAL if name in names]
    # GB2312 is read as the superset that its files really use.
    yield from ("gb18030" if name == "gb2312" else name for name in dict.fromkeys((*usual, *names)))
    yield from (match.encoding for match in matches)

"""Bytes of a repository as text that JSON can carry, and back: names, messages, dates."""

from __future__ import annotations

import codecs
import re
from datetime import datetime, timedelta

_EPOCH = datetime(1970, 1, 1)
_MARK = "\ufffd"
_MARK_BYTES = _MARK.encode()
_ESCAPED = re.compile(_MARK + "([0-9A-F]{2})")
_UNDECODED = re.compile("[\udc80-\udcff]")
# Codecs of Python that are notations, not character sets; no commit is written in them.
_NOTATIONS = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "unicode_escape", "raw_unicode_escape"}
)


def decode_name(raw: bytes) -> str:
    """A file's or ref's name as text; different names never become the same text.

    Git's names are bytes. Those that are UTF-8 are taken as they are; in others each byte that is
    not stands as U+FFFD, the sign that GitHub shows too, followed by the byte in hexadecimal.
    """
    text = raw.decode("utf-8", "surrogateescape")
    if _MARK in text:
        text = text.replace(_MARK, "".join(f"{_MARK}{byte:02X}" for byte in _MARK_BYTES))
    if text.isascii():
        return text
    return _UNDECODED.sub(lambda match: f"{_MARK}{ord(match[0]) - 0xDC00:02X}", text)


def encode_name(text: str) -> bytes:
    """The name that `decode_name` made this text of."""
    if _MARK not in text:
        return text.encode("utf-8", "surrogateescape")
    text = _ESCAPED.sub(lambda match: _lone(int(match[1], 16)), text)
    return text.encode("utf-8", "surrogateescape")


def decode_message(raw: bytes, encoding: bytes | None = None) -> str:
    """A commit's message or a person's name as text.

    The commit's own `encoding` header holds where it can; else UTF-8, in which each byte that is
    none counts as Latin-1: what git itself assumes of such messages (`verify_utf8` in commit.c).
    """
    if encoding:
        try:
            codec = codecs.lookup(encoding.decode("ascii"))
            if codec.name.replace("_", "-") not in _NOTATIONS:
                text = raw.decode(codec.name)
                text.encode()
                return text
        except (LookupError, ValueError):
            pass
    text = raw.decode("utf-8", "surrogateescape")
    return _UNDECODED.sub(lambda match: chr(ord(match[0]) - 0xDC00), text)


def github_date(seconds: int) -> str:
    """Epoch seconds the way GitHub writes dates: `2024-02-20T10:14:59Z`, always UTC.

    What no calendar holds becomes the epoch, as in git's own output.
    """
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        moment = _EPOCH
    return moment.isoformat() + "Z"


def _lone(byte: int) -> str:
    return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)

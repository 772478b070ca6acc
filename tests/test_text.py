"""Bytes of a file become the text that is meant, or a plain word on why there is none."""

from __future__ import annotations

import codecs
import subprocess
import sys
import time
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.github.text import decode

SAMPLE = "Hello, wörld — 漢字 😀\nsecond line\n"
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize 12345678\n" % (b"4d7a2146" * 8)


def test_utf8_is_read_as_it_is() -> None:
    decoded = decode(SAMPLE.encode())
    assert (decoded.kind, decoded.text, decoded.encoding, decoded.remark) == ("text", SAMPLE, "utf-8", None)


@given(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), min_size=1))
def test_any_utf8_comes_back_whole(text: str) -> None:
    decoded = decode(text.encode())
    assert decoded.text == text.removeprefix("\ufeff")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_decides_and_is_no_part_of_the_text(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + SAMPLE.encode(encoding))
    assert (decoded.kind, decoded.text, decoded.encoding, decoded.remark) == ("text", SAMPLE, encoding, None)


@pytest.mark.parametrize(("mark", "encoding"), [(codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")])
def test_utf16_with_an_odd_byte_is_shown_up_to_it(mark: bytes, encoding: str) -> None:
    decoded = decode(mark + "text".encode(encoding) + b"x")
    assert decoded.text == "text"
    assert decoded.remark == "its last character is cut off (1 of 2 bytes)."


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe\x00\xd8a\x00",  # a lone surrogate
        b"\xff\xfe" + b"\x00\x00" * 8,
        b"\xff\xfe\x00\x00\xff\xff\xff\xff",  # neither UTF-32 nor UTF-16
        codecs.BOM_UTF8 + b"text\0text",
    ],
)
def test_a_byte_order_mark_before_something_else_does_not_make_it_text(data: bytes) -> None:
    decoded = decode(data)
    assert (decoded.kind, decoded.text, decoded.encoding) == ("binary", None, None)


@pytest.mark.parametrize("data", [b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE])
def test_an_empty_file_is_a_success_that_says_so(data: bytes) -> None:
    decoded = decode(data)
    assert (decoded.kind, decoded.text) == ("empty", "")
    assert decoded.remark is not None and decoded.remark.startswith("the file is empty")


def test_a_newline_alone_is_no_empty_file() -> None:
    assert decode(b"\n").kind == "text"


def test_a_nul_byte_anywhere_means_binary() -> None:
    decoded = decode(b"text " * 200_000 + b"\0" + b" more text\n")
    assert (decoded.kind, decoded.text) == ("binary", None)
    assert decoded.remark == "it holds NUL bytes, so it is taken for binary."


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + b"IHDR", bytes(range(1, 256)) * 4, zlib.compress(bytes(range(256)) * 40)]
)
def test_bytes_that_are_no_text_are_binary(data: bytes) -> None:
    assert decode(data).kind == "binary"


def test_an_lfs_pointer_is_told_with_the_size_of_the_real_file() -> None:
    decoded = decode(POINTER)
    assert (decoded.kind, decoded.text, decoded.lfs_size) == ("lfs", None, 12345678)
    assert decoded.remark is not None and "12,345,678 bytes" in decoded.remark
    assert decode(POINTER.replace(b"\n", b"\r\n")).kind == "lfs"
    extended = POINTER.replace(b"\noid", b"\next-0-foo sha256:" + b"a" * 64 + b"\noid")
    assert decode(extended).kind == "lfs"


@pytest.mark.parametrize(
    "data", [b"About LFS\n" + POINTER, POINTER + b"and more\n" * 200, POINTER.replace(b"size", b"sise"), POINTER[:-40]]
)
def test_a_text_about_lfs_is_no_pointer(data: bytes) -> None:
    assert decode(data).kind == "text"


def test_every_line_end_becomes_one_newline() -> None:
    assert decode(b"a\r\nb\r\n").text == "a\nb\n"
    assert decode(b"a\rb\rc").text == "a\rb\rc"
    assert decode(b"a\r\n\rb\n\r\n").text == "a\n\rb\n\n"
    assert decode(codecs.BOM_UTF16_LE + "a\r\nb".encode("utf-16-le")).text == "a\nb"


def test_control_characters_in_utf8_are_text() -> None:
    assert decode(b"\x1b[31mred\x1b[0m\x07\x08\x0c").text == "\x1b[31mred\x1b[0m\x07\x08\x0c"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "Grüße, naïve café\n"),
        ("latin-1", "# author: José García\n"),
        ("latin-1", "Copyright © 2020\n"),
        ("cp1252", "smart “quotes” €\n"),
        ("shift-jis", "日本語\n"),
        ("euc-jp", "これは日本語の文書です。使い方を説明します。\n"),
        ("gbk", "// 作者:张三\nint main(){return 0;}\n"),
        ("gbk", "中文\n"),
        ("gb18030", "这是一个用于测试的中文文档,说明如何使用本项目。\n"),
        ("big5", "這是一個用於測試的中文文件,說明如何使用本專案。\n"),
        ("euc-kr", "이것은 한국어 문서입니다. 사용법을 설명합니다.\n"),
        ("cp1251", "Этот документ объясняет использование программы.\n"),
        ("koi8-r", "Это русский документ, который объясняет использование.\n" * 3),
    ],
)
def test_another_encoding_is_guessed_and_said_to_be_a_guess(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert decoded.text == text
    assert decoded.remark is not None and "guess" in decoded.remark
    assert decoded.encoding is not None and decoded.encoding in decoded.remark


def test_utf8_with_a_broken_byte_is_not_guessed_to_be_something_else() -> None:
    decoded = decode("这是一个用于测试的中文文档\n".encode() * 20 + b"\xff\n" + "完\n".encode())
    assert decoded.encoding == "utf-8" and decoded.text is not None
    assert decoded.text.startswith("这是一个") and decoded.text.endswith("\ufffd\n完\n")
    assert decoded.remark == "1 byte is not valid UTF-8 and is shown as \ufffd."


def test_utf8_that_is_cut_in_its_last_character_is_shown_up_to_it() -> None:
    decoded = decode("中文".encode()[:-1])
    assert (decoded.text, decoded.remark) == ("中", "its last character is cut off.")


def test_a_utf8_mark_holds_even_where_bytes_are_broken() -> None:
    decoded = decode(codecs.BOM_UTF8 + b"caf\xe9 au lait")
    assert (decoded.encoding, decoded.text) == ("utf-8", "caf\ufffd au lait")


@pytest.mark.parametrize(
    "data",
    [
        b"x" * 3_000_000 + b"\n" + "Größe\n".encode("latin-1"),
        ("Größe naïve café und so weiter " * 100_000).encode("latin-1"),
        ("Größe naïve café und so weiter\n" * 100_000).encode("latin-1"),
        ("这是一个用于测试的中文文档," * 120_000).encode("gbk"),
        b'{"rows":[' + b'{"id":1,"name":"row"},' * 130_000 + b"]}",
    ],
    ids=["late", "one-line", "lines", "multibyte-line", "json-line"],
)
def test_three_megabytes_do_not_take_seconds(data: bytes) -> None:
    start = time.process_time()
    decoded = decode(data)
    assert decoded.kind == "text"
    assert time.process_time() - start < 2


@given(st.binary(max_size=400) | st.binary(max_size=40).map(lambda data: codecs.BOM_UTF16_LE + data))
def test_any_bytes_give_a_text_or_a_reason(data: bytes) -> None:
    decoded = decode(data)
    assert (decoded.text is None) == (decoded.kind in ("binary", "lfs")) == (decoded.encoding is None)
    if decoded.text is None:
        assert decoded.remark is not None and decoded.remark.endswith(".")
    else:
        assert "\0" not in decoded.text and "\r\n" not in decoded.text
        decoded.text.encode()  # no lone surrogate


@given(st.text(min_size=1), st.sampled_from(["latin-1", "cp1252", "gb18030", "shift-jis", "utf-16-le", "euc-kr"]))
def test_text_of_any_encoding_never_raises(text: str, encoding: str) -> None:
    decode(text.encode(encoding, "replace"))


def test_the_guesser_is_imported_only_for_a_guess() -> None:
    code = (
        "import sys; from tui_agent.github.text import decode; decode('é'.encode());"
        "print('charset_normalizer' in sys.modules); decode(b'caf\\xe9'); print('charset_normalizer' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]

"""Text from outside never moves the cursor, hides or reorders anything on a screen."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.safe_text import cell_width, one_line, visible

FAMILY = "👩\u200d👩\u200d👧"
SURROGATES = st.characters(categories=["Cs", "Cc", "Cf", "Zl", "Zp", "Lu", "Lo", "Mn", "So"])
TEXT = st.text(st.one_of(st.characters(), SURROGATES, st.sampled_from("\r\n\t \x1b\u200d\ufe0f👩中é")))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain\n\ttext",
        "中文,日本語 한국어",
        "naïve — “quotes” …",
        "é e\u0301",
        "⏺ ● ▁▂▃ ├──",
        FAMILY,
        "❤\ufe0f",
        "1\ufe0f\u20e3",
    ],
)
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_joiners_stay_in_words_of_scripts_that_need_them() -> None:
    for word in ("می\u200cخواهم", "क्\u200dष", "ශ්\u200dරී"):
        assert visible(word) == word


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "␛[31mred"),
        ("\x00\x07\x08", "␀␇␈"),
        ("\x7f", "␡"),
        ("\x9b31m\x90", "\\x9b31m\\x90"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"),
        ("pass\u200bword", "pass⟨U+200B⟩word"),
        ("\ufeffhead", "⟨U+FEFF⟩head"),
        ("a\u2028b\u2029c", "a⟨U+2028⟩b⟨U+2029⟩c"),
        ("a\U000e0041\U000e007f", "a⟨U+E0041⟩⟨U+E007F⟩"),
        ("\ud83d", "⟨U+D83D⟩"),
        ("\u3164 = 1", "⟨U+3164⟩ = 1"),
        ("so\u00adft", "so⟨U+00AD⟩ft"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_joiner_between_letters_is_shown() -> None:
    assert visible("ad\u200dmin") == "ad⟨U+200D⟩min"
    assert visible("ad\u200cmin") == "ad⟨U+200C⟩min"


def test_a_message_hidden_in_variation_selectors_is_shown() -> None:
    assert visible("😀\U000e0128\U000e0159") == "😀⟨U+E0128⟩⟨U+E0159⟩"
    assert visible("a\ufe01\ufe02") == "a\ufe01⟨U+FE02⟩"
    assert visible("葛\U000e0100") == "葛\U000e0100"


def test_crlf_becomes_lf_and_a_lone_cr_is_shown() -> None:
    assert visible("one\r\ntwo\r\n") == "one\ntwo\n"
    assert visible("overwritten\rhonest") == "overwritten␍honest"


def test_what_is_kept_is_up_to_the_caller() -> None:
    assert visible("a\n\tb", keep="") == "a␊␉b"
    assert visible("a\n\tb", keep="\n") == "a\n␉b"
    assert visible("a\r\nb", keep="\r\n") == "a\r\nb"
    assert visible("a]^-\\", keep="]^-\\") == "a]^-\\"


@given(TEXT)
def test_nothing_that_moves_or_hides_gets_through(text: str) -> None:
    shown = visible(text)
    shown.encode()  # no lone surrogate is left
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Zl", "Zp"} and c not in "\n\t"]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff")
    assert visible(shown) == shown


def test_one_line_folds_blanks_and_newlines() -> None:
    assert one_line("  fix:\tthe\r\n\n  thing \n") == "fix: the thing"
    assert one_line("\n\t ") == ""
    assert one_line("a\x1b[2Jb\rc") == "a␛[2Jb␍c"


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("hello", 5, "hello"),
        ("hello world", 8, "hello w…"),
        ("hello world", 7, "hello…"),
        ("中文字符测试", 12, "中文字符测试"),
        ("中文字符测试", 7, "中文字…"),
        ("中文字符测试", 6, "中文…"),
        ("ab", 1, "…"),
        ("a", 1, "a"),
        ("中", 1, "…"),
        ("anything", 0, ""),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("\x1b[0m", 3, "␛[…"),
    ],
)
def test_one_line_is_cut_by_cells(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


@given(TEXT, st.integers(0, 30))
def test_one_line_never_overflows(text: str, width: int) -> None:
    line = one_line(text, width)
    assert cell_width(line) <= width
    assert "\n" not in line and "\t" not in line
    whole = one_line(text)
    if cell_width(whole) <= width:
        assert line == whole


def test_one_line_looks_at_no_more_than_it_shows() -> None:
    endless = "e" + "\u0301" * 5_000_000
    line = one_line(endless, 10)
    assert line.endswith("…") and len(line) < 500


def test_wide_characters_and_combining_marks_are_counted_in_cells() -> None:
    assert cell_width("abc") == 3
    assert cell_width("中文a") == 5
    assert cell_width("e\u0301") == 1
    assert cell_width("한글") == 4
    assert cell_width("❤\ufe0f") == 2


def test_it_needs_neither_rich_nor_textual() -> None:
    code = "import sys, tui_agent.safe_text; print([m for m in ('rich', 'textual', 'wcwidth') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"

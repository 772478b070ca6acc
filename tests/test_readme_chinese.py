"""The Chinese README is the English one, part by part; its messages are those of the Chinese interface."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from pathlib import Path

from babel.messages.catalog import Message

from tests import catalogue
from tests.test_readme import HOLE, quoted
from tui_agent import i18n
from tui_agent.settings import documented

ROOT = Path(__file__).parent.parent
ENGLISH, CHINESE = ROOT / "README.md", ROOT / ".github" / "README.zh-CN.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SHOWN = {"CLOSED", "OPEN 23 s", "HALF-OPEN", "completed", "partial"}
"""Words of the screen, which one README quotes in English, the other in Chinese."""
TEXTS = {path: path.read_text(encoding="utf-8") for path in (ENGLISH, CHINESE)}
PROSE = {path: BLOCK.sub("", text) for path, text in TEXTS.items()}
Table = list[list[str]]


def headings(path: Path) -> list[tuple[int, str]]:
    return [(len(marks), text) for marks, text in re.findall(r"^(#+) (.+)$", PROSE[path], re.MULTILINE)]


def anchors(path: Path) -> list[str]:
    """What GitHub makes of each heading."""
    return [re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for _, text in headings(path)]


def sections(path: Path) -> list[str]:
    return re.split(r"^#+ .+$", PROSE[path], flags=re.MULTILINE)


def links(path: Path) -> list[str]:
    return re.findall(r"\]\(([^)]+)\)", PROSE[path])


def tables(path: Path) -> Iterator[Table]:
    for table in re.findall(r"(?:^\|.*\n)+", PROSE[path], re.MULTILINE):
        head, _, *rows = table.splitlines()
        yield [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in (head, *rows)]


def skeleton(block: tuple[str, str]) -> tuple[str, str]:
    """A block without its comments, a diagram's arrows without what is written beside them."""
    language, text = block
    if language != "mermaid":
        return language, re.sub(r"\s*# .*", "", text)
    arrows = "\n".join(line.strip() for line in text.splitlines() if "->" in line or "subgraph" in line)
    written = r"\[[^\[\]*]+\]|\{[^{}]+\}|(?<=-- ).+?(?= -->)|(?<=-\. ).+?(?= \.->)|(?<=: ).*"
    return language, re.sub(written, "", arrows)


def both(of: str) -> list[tuple[Table, Table]]:
    """Tables of both files, side by side: those of messages, or all others."""
    pairs = list(zip(tables(ENGLISH), tables(CHINESE), strict=True))
    return [(one, other) for one, other in pairs if (one[0][0] == "message") is (of == "messages")]


def test_the_two_files_name_each_other_at_their_beginning() -> None:
    for path, other in ((ENGLISH, CHINESE), (CHINESE, ENGLISH)):
        found = re.findall(r"\]\(([^)]+)\)", "\n".join(TEXTS[path].splitlines()[:5]))
        assert [(path.parent / link).resolve() for link in found] == [other]


def test_the_sections_are_the_same_in_the_same_order() -> None:
    levels = [[level for level, _ in headings(path)] for path in (ENGLISH, CHINESE)]
    assert levels[0] == levels[1]
    names = [text for _, text in headings(CHINESE)]
    assert len(set(anchors(CHINESE))) == len(names)
    contents = sections(CHINESE)[names.index("目录") + 1]
    assert re.findall(r"\[([^\]]+)\]\(#", contents) == [name for name in names[1:] if name != "目录"]


def test_the_code_blocks_are_the_same_but_for_comments_and_labels() -> None:
    one, other = ([skeleton(block) for block in BLOCK.findall(TEXTS[path])] for path in (ENGLISH, CHINESE))
    assert len(one) > 20
    for english, chinese in zip_longest(one, other):
        assert english == chinese


def test_every_table_tells_the_same_names() -> None:
    for english, chinese in both("others"):
        assert [len(row) for row in english] == [len(row) for row in chinese], chinese[0]
        for one, other in zip(english, chinese, strict=True):
            assert quoted(one[0]) == quoted(other[0])
            assert sorted(quoted(" ".join(one))) == sorted(quoted(" ".join(other))), other
            assert re.findall(r"https?://[^\s`]+|\d+", one[0]) == re.findall(r"https?://[^\s`]+|\d+", other[0])


def test_every_section_quotes_the_same_code() -> None:
    for heading, one, other in zip(["", *headings(CHINESE)], sections(ENGLISH), sections(CHINESE), strict=True):
        told = [
            set(quoted(" ".join(line for line in text.splitlines() if not line.startswith("|")))) - SHOWN
            for text in (one, other)
        ]
        assert told[0] == told[1], heading


def test_links_lead_to_the_same_places_and_these_exist() -> None:
    places = {}
    for path in (ENGLISH, CHINESE):
        order = {anchor: number for number, anchor in enumerate(anchors(path))}
        inner = sorted(order[link[1:]] for link in links(path) if link.startswith("#"))
        files = {
            (path.parent / link.partition("#")[0]).resolve()
            for link in links(path)
            if not link.startswith(("#", "https:"))
        }
        assert all(file.exists() for file in files)
        outer = {link for link in links(path) if link.startswith("https://")}
        places[path] = (inner, files - {ENGLISH, CHINESE}, outer)
    assert places[ENGLISH] == places[CHINESE]


@cache
def pairs() -> list[tuple[str, str]]:
    """The catalogue's texts and their translations, with … for what is put in."""

    def texts(message: Message, of: str) -> tuple[str, ...]:
        found = getattr(message, of)
        return (found,) if isinstance(found, str) else tuple(found)

    found = []
    for message in catalogue.messages(catalogue.read("zh_CN")):
        for english in texts(message, "id"):
            found += [
                tuple(re.sub(r"\{[^}]*\}", HOLE, text) for text in (english, other))
                for other in texts(message, "string")
            ]
    return [(english, chinese) for english, chinese in found]


def holds(text: str, message: str) -> bool:
    return re.search(".*".join(map(re.escape, message.split(HOLE))), text, re.DOTALL) is not None


def test_messages_are_told_as_the_chinese_interface_shows_them() -> None:
    i18n.use(i18n.CHINESE)
    try:
        for english, chinese in both("messages"):
            assert len(english) == len(chinese), english[1]
            for one, other in zip(english[1:], chinese[1:], strict=True):
                (message,), (shown,) = quoted(one[0]), quoted(other[0])
                known = [translation for text, translation in pairs() if holds(text, message)]
                assert shown == i18n.told(message) or any(holds(text, shown) for text in known or [message]), shown
                assert set(quoted(one[1])) - SHOWN == set(quoted(other[1])) - SHOWN
    finally:
        i18n.use(i18n.ENGLISH)


def test_settings_are_told_in_the_words_of_the_chinese_help() -> None:
    known = dict(pairs())
    for setting in documented():
        (row,) = [line for line in TEXTS[CHINESE].splitlines() if line.startswith(f"| `{setting.names[0]}`")]
        cells = [cell.strip() for cell in row.split("|")]
        assert cells[3] == known[setting.help]
        assert setting.default in cells[2] or known[setting.default] == cells[2]

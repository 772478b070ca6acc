"""Markdown as lines: what streams in looks in the end as if it had been there at once; nothing in it can act."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_agent.tui.widgets.markdown_document import Document
from tui_agent.tui.widgets.markdown_inline import Inline, Run, openable
from tui_agent.tui.widgets.markdown_layout import Line, layout
from tui_agent.tui.widgets.markdown_parse import Kind, Reader, split

REPORT = """\
# Analysis of pallets/flask

Flask is a **lightweight** framework, *designed* for `pip install`, ~~nothing~~ else.
See [the docs](https://flask.palletsprojects.com/en/stable/) and https://github.com/pallets/flask.

## Directories

- `src/` the package
  - `json/` providers
- [x] has tests
- [ ] has a changelog

1. first
2. second

> A decision.
> > And another.

```python
def hello() -> str:
    return "Hello"  # said
```

| File | Bytes |
|:-----|------:|
| `app.py` | 61,234 |

---

Read [more][m] or <https://example.org/auto>.

[m]: https://example.org/more "A title"
"""

FRAGMENTS = [
    *("# H\n", "## H two\n", "text\n", "**bold** `code` [a] [b][a]\n", "- item\n", "- [x] task\n", "  - nested\n"),
    *("    deep\n", "1. one\n", "10) ten\n", "> quote\n", ">> deep\n", "lazy\n", "```python\n", "```\n", "~~~\n"),
    *("````md\n", "| a | b |\n", "|---|--:|\n", "| 1 | **2** |\n", "---\n", "***\n", "===\n", "\tcode\n", "\n", "\n"),
    *("[a]: http://x.org/1 'title'\n", "[b]: <http://y.org>\n'multi\nline title'\n", '[a]: /url\n"title\n', 'more"\n'),
    *(
        "<div>\n",
        "<!-- c\n",
        "text\\\n",
        "text  \n",
        "*em* ~~s~~\n",
        "&amp; &#x202e;\n",
        "中文，标点。\n",
        "x\r\n",
        "y\r",
    ),
    *("![img](u) https://z.org/a_b.\n", "[foo\nbar]: http://q.org\n", "[foo bar]\n", "`un", "**un", "[un", "|", "-"),
    *("+ plus\n", "\x00\x1b[31m\n", "  \n", "[c]:\n", "http://c.org\n", "[c] and [C]\n", "Setext\n---\n", "#", "``"),
    *("> ```\n> code\n", "- ```\n  c\n  ```\n", "- a\n\n  b\n\n", "> [d]: http://d.org\n", "[d]\n", "     five\n", "~"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=14).map("".join)


def looks(lines: Sequence[Line]) -> list[object]:
    """Everything that can be seen or copied of lines."""
    return [
        ([(run.text, run.styles, run.link.href if run.link else None, run.decor) for run in line.runs], *line[1:])
        for line in lines
    ]


def all_lines(document: Document, width: int) -> list[Line]:
    return [line for index in range(len(document.blocks)) for line in document.lines(index, width)]


def at_once(text: str, width: int = 60) -> list[Line]:
    document = Document()
    document.append(text)
    document.update(streaming=False)
    return all_lines(document, width)


def text_at_once(text: str, width: int = 60) -> list[str]:
    return [line.text for line in at_once(text, width)]


def parsed_as_a_whole(text: str, width: int) -> list[Line]:
    """The lines without any cleverness: the whole text parsed together."""
    parts, references = split(text.replace("\r\n", "\n").replace("\r", "\n"))
    reader, lines = Reader(references), list[Line]()
    above: Kind | None = None
    for part in parts:
        node = reader.node(part.tokens)
        lines += layout(node, width, above)
        above = node.kind
    return lines


# -- streaming ----------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(text=TEXTS, seed=st.integers(0, 2**32), width=st.sampled_from([13, 20, 40, 80]))
@example(text=REPORT, seed=1, width=40)
@example(text="```python\n" + "def f(x):\n    return x\n\n" * 200 + "```\n\nafter", seed=2, width=40)
@example(text="[x]\n\n[x]: http://x.org", seed=3, width=20)
def test_a_text_in_pieces_looks_in_the_end_like_the_text_at_once(text: str, seed: int, width: int) -> None:
    chance = random.Random(seed)
    document, at = Document(), 0
    longest = chance.choice([1, 5, 40])
    while at < len(text):
        piece = text[at : at + chance.randint(1, longest)]
        at += len(piece)
        document.append(piece)
        if chance.random() < 0.8:
            document.update(streaming=chance.random() < 0.9)
        if chance.random() < 0.3:
            all_lines(document, chance.choice([width, 17]))
    document.update(streaming=False)
    assert document.text == text
    assert looks(all_lines(document, width)) == looks(at_once(text, width))


@settings(deadline=None, max_examples=150)
@given(text=TEXTS, width=st.sampled_from([13, 20, 40, 80]))
@example(text=REPORT, width=60)
def test_blocks_read_one_by_one_look_like_the_text_read_as_a_whole(text: str, width: int) -> None:
    assert looks(at_once(text, width)) == looks(parsed_as_a_whole(text, width))


def test_a_definition_that_comes_late_gives_earlier_paragraphs_their_links() -> None:
    document = Document()
    for piece in ("See [docs].\n\n", "# Next\n\n", "More.\n\n"):
        document.append(piece)
        document.update(streaming=True)
    assert not any(run.link for line in document.lines(0, 40) for run in line.runs)
    document.append("[docs]: https://example.org/\n\nLast.\n\nEnd.")
    assert document.update(streaming=True) == 0
    links = [run.link for line in document.lines(0, 40) for run in line.runs if run.link]
    assert [link.href for link in links] == ["https://example.org/"]


def test_finished_blocks_are_laid_out_once() -> None:
    document = Document()
    document.append("# Title\n\nOne paragraph.\n\nAnother one.\n\nA third")
    document.update(streaming=True)
    finished = [document.lines(index, 40) for index in range(2)]
    document.append(" one grows.\n\nAnd a fourth.")
    assert document.update(streaming=True) == 2
    assert all(document.lines(index, 40) is lines for index, lines in enumerate(finished))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Text that is **bo", "Text that is bo"),
        ("Text that is **", "Text that is"),
        ("Call `f", "Call f"),
        ("See [the docs](https://exam", "See the docs"),
        ("Text\n\n- ", "Text"),
        ("Text\n\n##", "Text"),
        ("Text\n--", "Text"),
        ("Text\n\n```py", "Text"),
        ("Text\n\n| File | By", "Text"),
    ],
)
def test_half_written_marks_do_not_flicker(written: str, shown: str) -> None:
    document = Document()
    document.append(written)
    document.update(streaming=True)
    assert "\n".join(line.text for line in all_lines(document, 60)) == shown


# -- what blocks look like ----------------------------------------------------------------------


def test_every_element_has_its_shape_without_colour() -> None:
    assert text_at_once(REPORT, 44) == [
        "Analysis of pallets/flask",
        "━" * 44,
        "Flask is a lightweight framework, designed",
        "for pip install, nothing else. See the docs",
        "and https://github.com/pallets/flask.",
        "",
        "Directories",
        "─" * 44,
        "• src/ the package",
        "  ◦ json/ providers",
        "[✓] has tests",
        "[ ] has a changelog",
        "",
        "1. first",
        "2. second",
        "",
        "▌ A decision.",
        "▌ ",
        "▌ ▌ And another.",
        "",
        "│ python",
        "│ def hello() -> str:",
        '│     return "Hello"  # said',
        "",
        "File   │  Bytes",
        "━━━━━━━┿━━━━━━━",
        "app.py │ 61,234",
        "",
        "─" * 44,
        "",
        "Read more or https://example.org/auto.",
    ]


def test_html_is_literal_text_and_images_are_named() -> None:
    text = "<b>x</b> ![Logo](https://x.org/l.png) ![](y.png)\n\n<script>\nalert(1)\n</script>\n\n**still bold**"
    assert text_at_once(text) == [
        *("<b>x</b> [image: Logo] [image]", "", "<script> alert(1) </script>", "", "still bold"),
    ]


def test_cjk_text_breaks_between_signs_and_never_before_a_closing_one() -> None:
    lines = text_at_once("它基于 Werkzeug（工具库）和 Jinja（模板引擎）；“微框架”并不意味着功能缺失。\n下一行。", 20)
    assert all(cell_len(line) <= 20 for line in lines)
    assert not any(line[0] in "）；。，”" for line in lines)
    assert not any(line[-1] in "（“" for line in lines)
    assert "".join(lines).endswith("缺失。下一行。")


@settings(deadline=None, max_examples=100)
@given(
    text=st.lists(st.sampled_from([*"ab 中文，。「」é/-_—’“”\n", "👩\u200d💻", "e\u0301", "❤️"]), max_size=120).map(
        "".join
    ),
    width=st.integers(2, 30),
)
def test_wrapped_text_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    pieces = Inline([Run(text)]).wrapped(width)
    shown = ["".join(run.text for run in piece.runs) for piece in pieces]
    assert all(cell_len(line) <= width for line in shown)
    assert re.sub(r"\s", "", "".join(shown)) == re.sub(r"\s", "", text)


@pytest.mark.parametrize("width", [12, 20, 40, 80, 160])
def test_a_table_fits_its_width_by_wrapping_or_row_below_row(width: int) -> None:
    text = (
        "| 文件 | Lines | What it is for |\n|---|--:|:-:|\n| `src/flask/application.py` | 1,234 | "
        + "中文 words " * 9
        + "|\n"
    )
    lines = text_at_once(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "1,234" in "".join(lines)
    assert ("│" in "".join(lines)) == (width >= 40)


def test_code_keeps_its_text_and_marks_where_a_line_was_cut() -> None:
    lines = at_once("```python\nif x:\n\treturn 'a long string'  # and a comment\n```", 24)
    assert [line.text for line in lines] == [
        *("│ python", "│ if x:", "│     return 'a long ", "┊ string'  # and a ", "┊ comment"),
    ]
    assert ("return", ("fence", "code-keyword")) in [(run.text, run.styles) for line in lines for run in line.runs]


# -- text from outside --------------------------------------------------------------------------

HOSTILE: dict[str, str] = {
    "unclosed fence": "# T\n\n```python\nx = 1\n",
    "brackets": "[" * 5000 + "x" + "]" * 5000,
    "images": "![" * 5000,
    "quotes": ">" * 5000 + " x",
    "quote lines": (">" * 40 + " a\n") * 300,
    "lists": "".join(f"{'  ' * depth}- a\n" for depth in range(200)),
    "one line": "x" * 20_000,
    "words": "word " * 4000,
    "emphasis": "*_" * 5000,
    "ticks": "`" + " `a" * 4000,
    "entities": "&" * 10_000,
    "wide table": "|" + "a|" * 300 + "\n|" + "-|" * 300 + "\n",
    "long address": "https://x.org/" + ")" * 20_000,
    "java": "```java\n" + "a " * 5000,
    "blank code": "```c\n" + "\n" * 5000,
    "combining": "e" + "\u0301" * 10_000,
    "definitions": "[a]: /u\n'x\n" * 300,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_shown_without_recursion_or_blow_up(name: str) -> None:
    text = HOSTILE[name]
    began = time.process_time()
    lines = at_once(text, 60)
    document = Document()
    for at in range(0, len(text), 1000):
        document.append(text[at : at + 1000])
        document.update(streaming=True)
        all_lines(document, 60)
    document.update(streaming=False)
    assert looks(all_lines(document, 60)) == looks(lines)
    assert time.process_time() - began < 20
    assert all(cell_len(line.text) <= 60 for line in lines)


def test_what_is_nested_too_deep_is_shown_as_it_was_written() -> None:
    assert "deepest" in " ".join(text_at_once("> " * 60 + "deepest"))
    assert "deepest" in " ".join(
        text_at_once("".join(f"{'  ' * n}- a{n}\n" for n in range(30)) + "  " * 30 + "- deepest")
    )


@settings(deadline=None, max_examples=100)
@given(
    st.text(st.characters(codec=None), max_size=80),
    st.sampled_from(["{}", "`{}`", "```\n{}\n```", "|a|\n|-|\n|{}|", "![{}](x)"]),
)
@example("&#x202e;&#8203;&#27;\x1b]8;;http://evil\x07\u202e\x9b31m", "{}")
def test_no_control_reaches_the_screen(text: str, around: str) -> None:
    for line in at_once(around.replace("{}", text), 40):
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", line.text)


@pytest.mark.parametrize(
    ("href", "opens"),
    [
        ("https://example.org/a?b=c#d", True),
        ("http://例え.jp/", True),
        ("HTTPS://EXAMPLE.ORG", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("app.quit", False),
        ("docs/index.md", False),
        ("#section", False),
        ("//example.org", False),
        ("mailto:a@b.c", False),
        ("data:text/html,x", False),
        ("https://", False),
        ("https:///path", False),
        ("https://[bad", False),
        ("https://x.org/\x1b[31m", False),
        ("https://x.org/ --flag", False),
        ("https://x.org/" + "a" * 3000, False),
    ],
)
def test_only_web_addresses_open(href: str, opens: bool) -> None:
    assert openable(href) is opens

"""Names and words from a repository: what the survey reads out of them, and that none of them acts in its report."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.survey_fakes import Commits, report
from tui_agent.transports.survey.activity import is_bot, parse_time
from tui_agent.transports.survey.languages import is_generated
from tui_agent.transports.survey.listing import Entry, Listing
from tui_agent.transports.survey.markup import cell, code, quoted
from tui_agent.transports.survey.papers import NOTES, find_in_root, find_licences, find_readmes
from tui_agent.transports.survey.prose import first_paragraph, opening_comment
from tui_agent.transports.survey.purposes import purpose_of_name

RENDER = MarkdownIt("gfm-like")
EVIL = (
    "see https://evil.com/x and www.evil.com evil.com me@x.org [a](http://b) ![i](http://x/y.png) <b>x</b> "
    "<script>alert(1)</script> &lt;i&gt; **b** _i_ `c` ~~x~~ $x$ \\[q](z) <https://a.b> "
    "\x1b[31mred\x1b[0m \u202egpj.exe [//]: # (x)"
)


def actions(markdown: str) -> set[str]:
    """The kinds of tokens that act: links, pictures, HTML, emphasis."""
    kinds = set()
    for token in RENDER.parse(markdown):
        kinds.add(token.type)
        kinds.update(child.type for child in token.children or ())
    return {kind for kind in kinds if re.match(r"link|image|html|em_|s_open|strong", kind)}


def test_quoted_words_read_the_same_and_do_nothing() -> None:
    line = f"- “{quoted(EVIL, 2000)}”"
    assert actions(line) == set()
    shown = "".join(child.content for token in RENDER.parse(line) for child in token.children or ())
    assert (
        "see https://evil.com/x and www.evil.com evil.com me@x.org [a](http://b) ![i](http://x/y.png) <b>x</b>" in shown
    )
    assert "\x1b" not in line
    assert "\u202e" not in line


@example("__0__")
@given(text=st.text(max_size=80) | st.text(alphabet="`*_[]()<>!&~$\\.:/@ax\n #|-=1", max_size=40))
@settings(max_examples=150, deadline=None)
def test_no_text_acts_when_it_is_quoted_or_shown_as_code(text: str) -> None:
    assert actions(f"Said: “{quoted(text)}” and {code(text)} end") == set()
    tokens = RENDER.parse(f"| a |\n| --- |\n| {cell(code(text))} |")
    assert [token.type for token in tokens].count("td_open") == 1


def test_a_hostile_repository_yields_a_report_that_does_nothing() -> None:
    files: dict[str, str | bytes] = {
        "README.md": f"# {EVIL}\n\n{EVIL}\n",
        "LICENSE": EVIL,
        "package.json": json.dumps({"name": EVIL, "description": EVIL, "license": EVIL, "dependencies": {EVIL: EVIL}}),
        f"dir {EVIL.replace('/', '')}/a.py": f'"""{EVIL}"""\n',
        "a|b`c.txt": "x",
        ".github/workflows/x.yml": f"on: {json.dumps([EVIL])}\njobs: {{}}\n",
    }
    commits: Commits = [(EVIL, "2025-08-01T00:00:00Z", EVIL)]
    text = report(
        files, commits, info={"description": EVIL, "homepage": EVIL, "topics": [EVIL], "default_branch": EVIL}
    )
    assert actions(text) == {"strong_open", "strong_close"}  # the report's own, in its first line
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert EVIL not in text


def test_the_first_paragraph_of_prose_is_found_behind_badges_headings_and_html() -> None:
    text = (
        "---\ntitle: x\n---\n[![b](i.svg)](u) [![c](i.svg)](u)\n\n<h1>Big name here</h1>\n\nTitle of it\n===\n\n"
        "- a list of things\n\n> a quote of someone\n\n```\ncode that is long\n```\n\n"
        "[One link](a) • [other link](b)\n\n"
        "The *first* real\nparagraph with `code`.\n\nSecond paragraph here.\n"
    )
    found = first_paragraph("README.md", text)
    assert found is not None
    assert found.text == "The first real paragraph with code."
    assert text.split("\n")[found.first - 1 : found.last] == ["The *first* real", "paragraph with `code`."]
    assert first_paragraph("README.md", "# Only a title\n") is None
    chinese = first_paragraph("README.md", "# 标题\n\n这是一个很小的项目。\n")
    assert chinese is not None
    assert chinese.text == "这是一个很小的项目。"


def test_legal_notices_are_not_what_a_file_says_of_itself() -> None:
    assert opening_comment("a.js", "/* Copyright 2025 by all of us here */\n") is None
    assert opening_comment("a.py", "import os\n") is None
    found = opening_comment("a.go", "// Package a does\n// one thing well.\n\npackage a\n")
    assert found is not None
    assert (found.text, found.first, found.last) == ("Package a does one thing well.", 1, 2)


@pytest.mark.parametrize(
    ("name", "purpose"),
    [
        ("src", "source"), ("Tests", "tests"), ("my-tests", "tests"), ("App.Tests", "tests"), ("latest", None),
        ("node_modules", "vendored"), ("demo", "named_package"), ("coverage", "generated"), ("whatever", None),
    ],
)  # fmt: skip
def test_purposes_follow_the_habits_of_names(name: str, purpose: str | None) -> None:
    found = purpose_of_name(name, frozenset({"demo"}))
    assert (found.key if found else None) == purpose
    named = purpose_of_name("coverage", frozenset({"coverage"}))
    assert named is not None
    assert named.key == "named_package"


def test_small_rules_hold() -> None:
    assert is_bot("dependabot[bot]")
    assert is_bot("github-actions")
    assert not is_bot("Abbot")
    assert is_generated("a/app.min.js")
    assert not is_generated("a/admin.js")
    assert parse_time("2025-01-01T00:00:00+13:45") is not None
    assert parse_time("yesterday") is None
    assert code("a`b") == "``a`b``"
    assert code("`") == "`` ` ``"


def test_modules_are_no_papers() -> None:
    names = (
        "history.py",
        "security.go",
        "license.js",
        "readme.py",
        "CHANGES.rst",
        "LICENSE-MIT",
        "README.zh.md",
        "README.md",
    )
    root = Listing("", [Entry(name, "file", 1) for name in names], len(names))
    assert find_in_root(root, NOTES["changelog"]).paths == ["CHANGES.rst"]
    assert find_in_root(root, NOTES["security"]).state == "missing"
    assert find_licences(root).paths == ["LICENSE-MIT"]
    assert find_readmes(root).paths == ["README.md", "README.zh.md"]

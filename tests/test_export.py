"""Exports: what a report's file holds, that it loads nothing, and that it is written whole or not at all."""

from __future__ import annotations

import html.parser
import json
import os
import re
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.events import RunFinished, RunStarted, Snapshot
from tui_agent.report import export
from tui_agent.report.export import ExportError, ReportDocument, TargetExistsError, check_target, suggest_name, write
from tui_agent.safe_json import dumps

DOCUMENT = ReportDocument(
    repo="pallets/flask",
    commit="a" * 40,
    ref="HEAD",
    question="What is it?",
    engine="llm",
    model="deepseek-flash",
    outcome="completed",
    created=1_760_000_000.0,
    report="# Flask\n\nA *framework*.\n",
    files=221,
    turns=3,
    tool_calls=8,
    requests=12,
    elapsed=4.25,
)


def html_of(report: str) -> str:
    return export.render_html(replace(DOCUMENT, report=report))


def main_of(report: str) -> str:
    """What stands in the page's main part."""
    found = re.search(r'<main dir="auto">\n(.*)</main>', html_of(report), re.DOTALL)
    assert found is not None
    return found[1]


class Page(html.parser.HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


# --- what is written -------------------------------------------------------------------------------------------------


def test_a_document_knows_its_run_from_the_events() -> None:
    started = RunStarted(
        repo="a/b", source="github", ref=None, question="q", engine="survey", model="survey", run_id="1"
    )
    snapshot = Snapshot(repo="a/b", ref="HEAD", commit="c" * 40, files=3, truncated=False)
    finished = RunFinished(
        outcome="partial", report="# R", error="turns ran out", turns=2, tool_calls=5, requests=7, elapsed=1.5
    )
    document = ReportDocument.of(started, snapshot, finished, 0.0)
    assert (document.repo, document.commit, document.ref, document.files) == ("a/b", "c" * 40, "HEAD", 3)
    assert (document.outcome, document.error, document.report) == ("partial", "turns ran out", "# R")
    assert (document.turns, document.tool_calls, document.requests, document.elapsed) == (2, 5, 7, 1.5)
    assert document.date == "1970-01-01T00:00:00Z"
    assert ReportDocument.of(started, None, finished, 0.0).commit is None


@pytest.mark.parametrize("created", [1e15, -1.0, float("nan")])
def test_a_time_that_no_calendar_has_is_none(created: float) -> None:
    document = replace(DOCUMENT, created=created)
    assert json.loads(export.render_json(document))["created"] == ""
    assert "<dt>Written at</dt><dd></dd>" in export.render_html(document)


def test_markdown_is_the_report_alone() -> None:
    assert export.render_markdown(DOCUMENT) == "# Flask\n\nA *framework*.\n"


def test_markdown_moves_no_cursor_when_it_is_shown() -> None:
    text = export.render_markdown(replace(DOCUMENT, report="a\x1b[2Jb\x9b\u202ec\n"))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_json_holds_every_field_and_the_report_unchanged() -> None:
    report = "# 火腿 \x1b[31m \u202e \u2028 end"
    text = export.render_json(replace(DOCUMENT, report=report))
    data = json.loads(text)
    assert data["report"] == report
    assert data["created"] == "2025-10-09T08:53:20Z"
    assert (data["format"], data["repo"], data["commit"], data["turns"]) == (1, "pallets/flask", "a" * 40, 3)
    assert "火腿" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e]", text)


def test_lone_surrogates_do_not_break_any_format(tmp_path: Path) -> None:
    document = replace(DOCUMENT, report="bad \udcff name", question="\ud800?")
    for suffix in (".md", ".html", ".json"):
        path = write(tmp_path / f"r{suffix}", document)
        assert "bad" in path.read_text(encoding="utf-8")


# --- the web page ----------------------------------------------------------------------------------------------------


def test_the_page_says_what_has_to_be_known_to_trust_it() -> None:
    text = export.render_html(DOCUMENT)
    for fact in ("pallets/flask", "a" * 40, "What is it?", "deepseek-flash", "2025-10-09T08:53:20Z", "8 tool calls"):
        assert fact in text
    assert "no LLM" in export.render_html(replace(DOCUMENT, engine="survey", model="survey"))
    assert "no history" in export.render_html(replace(DOCUMENT, commit=None))


def test_a_partial_report_says_that_it_is_partial_and_why() -> None:
    text = export.render_html(replace(DOCUMENT, outcome="partial", error="The turns <ran> out."))
    assert "This report is partial: The turns &lt;ran&gt; out." in text
    assert "This report is" not in export.render_html(DOCUMENT)


def test_markdown_becomes_structure() -> None:
    body = main_of("## A\n\n1. **x**\n\n| n | m |\n|--:|:-:|\n| 1 | 2 |\n\n```py\na < b\n```\n\n~~old~~ `c`\n")
    for tag in ("<h2", "<ol>", "<strong>x", "<table>", "<pre><code", "a &lt; b", "<s>old", "<code>c"):
        assert tag in body
    assert '<th class="right">' in body and '<td class="center">' in body and "style=" not in body


@pytest.mark.parametrize(
    "report",
    [
        "<script>alert(1)</script>",
        "x <img src=https://evil.example/p.png onerror=alert(1)> y",
        "![alt](https://evil.example/p.png)",
        "[![badge](https://evil.example/b.svg)](https://evil.example)",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>)",
        "[x](vbscript:x) [y](file:///etc/passwd) <ftp://h/x> [z](//evil.example) [w](https:///x)",
        '[x](https://a.example "onmouseover=alert(1)")',
        '```"><script>\nx\n```',
        "<!-- --><style>@import url(https://evil.example)</style>",
        "[ref]\n\n[ref]: javascript:alert(1)",
        "| <b onclick=x> | b |\n|---|---|\n| <svg/onload=x> | ![](x) |",
    ],
)
def test_nothing_of_a_report_is_loaded_or_run(report: str) -> None:
    page = Page(html_of(report))
    assert not {"script", "img", "svg", "iframe", "link", "object", "embed", "form", "base", "b"} & set(page.tags)
    assert page.tags.count("style") == 1
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "style", "background")
        if name == "href":
            assert value.startswith(("https://", "http://", "#"))


def test_links_to_the_web_stay_and_others_leave_their_text() -> None:
    body = main_of("[good](https://a.example/?q=1&r=2) [evil](ftp://x) <https://b.example> [rel](docs/a.md)")
    assert '<a href="https://a.example/?q=1&amp;r=2" rel="noopener noreferrer nofollow">good</a>' in body
    assert 'href="https://b.example"' in body
    assert "evil" in body and "rel" in body and body.count("<a ") == 2


def test_an_image_is_its_alternative_text() -> None:
    assert "[a chart]" in main_of("![a *chart*](https://x.example/c.png)")
    assert "[image]" in main_of("![](x.png)")


def test_what_comes_from_outside_is_escaped_in_the_frame_too() -> None:
    text = export.render_html(replace(DOCUMENT, repo='"><script>x', question="<img src=x>\x1b[31m", model="<b>"))
    page = Page(text)
    assert not {"script", "img", "b"} & set(page.tags)
    assert "\x1b" not in text


def test_the_policy_allows_the_pages_own_style_and_nothing_else() -> None:
    import base64
    import hashlib

    text = export.render_html(DOCUMENT)
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text
    assert "url(" not in style[1] and "@import" not in style[1]
    assert "prefers-color-scheme: dark" in style[1] and "@media print" in style[1]


def test_a_long_report_has_contents_that_lead_to_its_chapters() -> None:
    text = html_of("## One\n\n## *Two* & `x`\n\n## ![Three](x)\n")
    links = dict(re.findall(r'<a href="#(s\d+)">(.*?)</a>', text))
    assert list(links.values()) == ["One", "Two &amp; x", "Three"]
    assert all(f'id="{name}"' in text for name in links)
    assert "<nav" not in html_of("## One\n\n## Two\n")


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repo", "name"),
    [
        ("pallets/flask", "pallets-flask-report.md"),
        ("vercel/next.js", "vercel-next.js-report.md"),
        ("local/my folder", "local-my-folder-report.md"),
        ("../../etc/passwd", "etc-passwd-report.md"),
        ("..", "repository-report.md"),
        ("", "repository-report.md"),
        ("C:\\x\\..\\y", "C-x-y-report.md"),
        ("local/火腿", "local-火腿-report.md"),
        ("-rf/.hidden", "rf-.hidden-report.md"),
        ("a\x00b/\x1b[31mc\n", "a-b-31mc-report.md"),
        ("con", "con-report.md"),
    ],
)
def test_a_suggested_name_is_only_ever_a_name(repo: str, name: str) -> None:
    assert suggest_name(repo) == name
    assert Path(name).name == name


def test_a_suggested_name_fits_every_file_system() -> None:
    assert len(suggest_name("火" * 500, ".html").encode()) <= 255


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.md", "r.HTML", "r.json"])
def test_the_suffix_chooses_the_format(tmp_path: Path, name: str) -> None:
    text = write(tmp_path / name, DOCUMENT).read_text(encoding="utf-8")
    assert {"r.md": "# Flask", "r.HTML": "<!DOCTYPE html>", "r.json": "{\n"}[name] in text


@pytest.mark.parametrize("name", ["r", "r.txt", ".md", "r.md.bak"])
def test_another_suffix_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ExportError, match=r"has to end in \.md, \.html or \.json"):
        write(tmp_path / name, DOCUMENT)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_unless_replacing_was_agreed(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("mine")
    with pytest.raises(TargetExistsError, match="is there already"):
        write(path, DOCUMENT)
    assert path.read_text() == "mine"
    write(path, DOCUMENT, force=True)
    assert path.read_text().startswith("# Flask")
    assert [file.name for file in tmp_path.iterdir()] == ["r.md"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.md"
    path.write_text("mine")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ExportError, match=r"r\.md cannot be written: No space left on device\."):
        write(path, DOCUMENT, force=True)
    assert path.read_text() == "mine"
    assert [file.name for file in tmp_path.iterdir()] == ["r.md"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_a_new_file_has_the_umasks_mode_and_a_replaced_one_keeps_its_own(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = write(tmp_path / "r.md", DOCUMENT)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        write(path, DOCUMENT, force=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_a_link_is_written_through_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "real" / "r.md")
    assert write(link, DOCUMENT) == tmp_path / "real" / "r.md"
    assert link.is_symlink() and link.read_text().startswith("# Flask")


def test_a_target_is_checked_before_a_run(tmp_path: Path) -> None:
    check_target(tmp_path / "new.md")
    with pytest.raises(ExportError, match="there is no folder"):
        check_target(tmp_path / "none" / "r.md")
    (tmp_path / "d.md").mkdir()
    with pytest.raises(ExportError, match="no regular file"):
        check_target(tmp_path / "d.md")
    loop = tmp_path / "loop.md"
    loop.symlink_to(loop)
    with pytest.raises(ExportError, match="cannot be written"):
        check_target(loop)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_folder_that_is_not_open_for_writing_is_said_before_a_run(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(ExportError, match="not open for writing"):
            check_target(tmp_path / "r.md")
    finally:
        tmp_path.chmod(0o700)


# --- JSON that any reader takes --------------------------------------------------------------------------------------


def test_json_is_valid_whatever_the_value_holds() -> None:
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    value = {"nan": float("nan"), "inf": float("-inf"), "path": Path("x"), "set": {1}, "deep": deep, 3: "key"}
    data = json.loads(dumps(value), parse_constant=lambda name: pytest.fail(name))
    assert (data["nan"], data["inf"], data["path"], data["set"], data["3"]) == (None, None, "x", [1], "key")


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x9b", "\u200b", "\u202e", "\u2028", "\ufeff", "\U000e0041"])
def test_json_escapes_what_is_invisible_and_loses_nothing(char: str) -> None:
    text = dumps({"a": f"x{char}y"})
    assert char not in text and text.isprintable()
    assert json.loads(text) == {"a": f"x{char}y"}


def test_json_replaces_lone_surrogates_which_strict_readers_refuse() -> None:
    text = dumps(["\udc80", "é😀"])
    assert json.loads(text) == ["\ufffd", "é😀"]
    text.encode("utf-8")


# --- evidence --------------------------------------------------------------------------------------------------------

WEB = f"https://github.com/pallets/flask/blob/{'a' * 40}"
NOTED = (
    "# Flask\n\nSee `src/app.py` and `src/app.py#L3-L9`; it has 221 files and 4,711 stars, `made_up()`.\n\n"
    "| part |\n| --- |\n| `src/app.py` |\n"
)


def claim(text: str, source: str | None, kind: str, report: str = NOTED, **more: object) -> dict[str, object]:
    return {"claim": text, "source": source, "kind": kind, "start": report.index(text), **more}


GROUNDED = replace(
    DOCUMENT,
    report=NOTED,
    grounding={
        "supported": [
            claim("src/app.py", "read", "path", path="src/app.py", url=f"{WEB}/src/app.py"),
            claim("src/app.py#L3-L9", "read", "lines", lines=[3, 9], url=f"{WEB}/src/app.py#L3-L9"),
            claim("221", "list_directory()", "number"),
        ],
        "unsupported": [
            claim("4,711", None, "number", reason="This number was not seen."),
            claim("made_up()", None, "code", reason="This text was not seen."),
        ],
    },
)


def test_markdown_has_links_at_the_commit_and_footnotes_that_name_the_source() -> None:
    text = export.render_markdown(GROUNDED)
    assert f"See [`src/app.py`]({WEB}/src/app.py) and [`src/app.py#L3-L9`]({WEB}/src/app.py#L3-L9);" in text
    assert "it has 221[^1] files and 4,711[^2] stars, `made_up()`[^3]." in text
    assert "Of 5 claims that can be checked, 3 are supported by what was observed in this run." in text
    assert "[^1]: list\\_directory()\n[^2]: **Not supported.** This number was not seen.\n" in text


def test_a_report_with_footnotes_of_its_own_keeps_them() -> None:
    report = NOTED + "\nText[^1]\n\n[^1]: own\n"
    text = export.render_markdown(replace(GROUNDED, report=report))
    assert "221[^s1]" in text
    assert "[^1]: own" in text


def test_the_page_refers_to_its_sources_and_links_what_was_seen_wherever_it_stands() -> None:
    text = export.render_html(GROUNDED)
    assert text.count(f'<a href="{WEB}/src/app.py" rel="noopener noreferrer nofollow"') == 2, "in the table as well"
    assert '221<sup><a href="#n1" id="r1" aria-label="source 1">1</a></sup>' in text
    assert '4,711<sup><a href="#n2" id="r2" class="no" aria-label="not supported, 2">2✗</a></sup>' in text
    assert '<li id="n2"><span class="no">✗ Not supported:</span> This number was not seen.' in text
    page = Page(text)
    targets = {value[1:] for name, value in page.attributes if name == "href" and value.startswith("#")}
    assert targets <= {value for name, value in page.attributes if name == "id"}


def test_the_page_with_sources_refers_to_nothing_that_would_be_loaded() -> None:
    evil = {
        "supported": [
            claim("221", "<script src=//x>", "number", url="javascript:alert(1)"),
            claim("src/app.py", "read", "path", url='https://x/" onload="x'),
        ],
        "unsupported": [claim("4,711", None, "number", reason='"><img src=//x>'), {"claim": None, "start": 9**9}, {}],
    }
    for grounding in (GROUNDED.grounding, evil):
        text = export.render_html(replace(GROUNDED, grounding=grounding))
        page = Page(text)
        assert not {"script", "img", "link", "iframe", "object", "embed", "svg", "form", "base"} & set(page.tags)
        names = {name for name, _ in page.attributes}
        assert not names & {"src", "srcset", "style", "background", "poster", "data", "onload", "onclick"}
        assert not re.search(r"url\(|@import|@font-face", text)
        assert all(value.startswith(("#", "https://")) for name, value in page.attributes if name == "href")


def test_claims_that_are_none_leave_the_others_their_notes() -> None:
    good = {"claim": "3.1", "source": "get_repo_info", "kind": "version", "start": 8}
    odd = [{"start": 0}, {"claim": None, "start": 1}, {"claim": ["a"], "source": "b", "start": 2}, "x", None]
    document = replace(
        DOCUMENT, report="Version 3.1.", grounding={"supported": [*odd, good], "unsupported": [{"reason": "?"}]}
    )
    text = export.render_markdown(document)
    assert "Version 3.1[^1]." in text and "[^1]: get" in text and "Of 1 claims" in text
    assert export.render_html(document).count('<li id="n') == 1


def test_a_line_of_thousands_of_claims_is_looked_through_once() -> None:
    words = [f"`{number:07x}`" for number in range(2_000)]
    report = " ".join(words)
    items = [
        {"claim": word[1:-1], "source": f"s{number}", "kind": "code", "start": number * 10 + 1}
        for number, word in enumerate(words)
    ]
    began = time.process_time()
    text = export.render_markdown(replace(DOCUMENT, report=report, grounding={"supported": items, "unsupported": []}))
    # a second for each look through the line, and it would be minutes
    assert time.process_time() - began < 2
    assert text.startswith("`0000000`[^1] `0000001`[^2] ") and "`00007cf`[^2000]" in text


def test_json_holds_the_claims_as_the_event_had_them() -> None:
    assert json.loads(export.render_json(GROUNDED))["grounding"] == GROUNDED.grounding
    assert json.loads(export.render_json(DOCUMENT))["grounding"] is None


def test_marks_of_the_page_cannot_come_from_the_report() -> None:
    report = "x \ue0001\ue001 y\n\n    code 221 files\n"
    grounding = {"supported": [claim("221", "here", "number", report)], "unsupported": []}
    text = export.render_html(replace(DOCUMENT, report=report, grounding=grounding))
    assert "x �1� y" in text
    assert "code 221 files" in text
    assert "\ue000" not in text


def test_a_chinese_report_has_a_chinese_frame() -> None:
    report = "# 概况\n\n这个仓库共有 221 个文件，`made_up()` 是其中的函数，其余内容没有读取。\n"
    grounding = {
        "supported": [claim("221", "snapshot", "number", report)],
        "unsupported": [claim("made_up()", None, "code", report, reason="This text was not seen.")],
    }
    document = replace(DOCUMENT, report=report, grounding=grounding, outcome="partial", error=None)
    page, text = export.render_html(document), export.render_markdown(document)
    assert '<html lang="zh-Hans">' in page
    for words in ("<dt>仓库</dt>", "✗ 未见依据：", "没有见过这段文字。", "本报告不完整", "快照"):
        assert words in page
    assert "## 来源" in text
    assert "可核对的陈述有 2 处，其中 1 处" in text
    assert '<html lang="en">' in export.render_html(DOCUMENT)

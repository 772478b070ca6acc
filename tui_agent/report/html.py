"""A report as one HTML page: readable on paper, in light and in dark, and nothing in it is loaded or run."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui_agent.report.footnotes import Annotated, annotate, links
from tui_agent.safe_text import one_line, visible

if TYPE_CHECKING:
    from markdown_it.token import Token

    from tui_agent.report.export import ReportDocument

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Around a note's number, until the Markdown is read; in the report itself they become another sign."""
_MARK = re.compile(f"{_OPEN}(!?\\d{{1,6}}){_CLOSE}")
_NO_MARKS = {ord(_OPEN): "\ufffd", ord(_CLOSE): "\ufffd"}

_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --shade: #f6f8fa; --page: #fff;
  --link: #0969da; --bad: #9a3412; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --shade: #151b23;
  --page: #0d1117; --link: #4493f8; --bad: #f0883e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 54rem; background: var(--page); color: var(--text);
  font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2, h3, h4 { line-height: 1.25; margin: 1.8em 0 .6em; }
h2 { border-bottom: 1px solid var(--line); padding-bottom: .25em; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; background: var(--shade); border-radius: 4px; }
code { padding: .1em .3em; }
pre { padding: .8em 1em; overflow-x: auto; }
pre code { padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3em .7em; text-align: left; vertical-align: top; }
.right { text-align: right; }
.center { text-align: center; }
blockquote { margin: 1em 0; padding: 0 1em; border-left: 4px solid var(--line); color: var(--soft); }
header, nav, footer { font-size: .875rem; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { font-weight: 600; }
dd { margin: 0; }
nav ul { padding-left: 1.2em; }
sup a { text-decoration: none; padding: 0 .15em; }
sup a.no { color: var(--bad); font-weight: 700; }
.notes { border-top: 1px solid var(--line); margin-top: 3rem; font-size: .875rem; }
.notes h2 { border: 0; font-size: 1.1rem; }
.notes li { margin: .2em 0; }
.notes .no { color: var(--bad); font-weight: 600; }
.partial { border: 1px solid #9a6700; border-radius: 4px; padding: .5em .8em; }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } nav { display: none; }
  pre { white-space: pre-wrap; } pre, blockquote, tr { break-inside: avoid; } h1, h2, h3, h4 { break-after: avoid; }
  main a:not(.seen, sup a)::after { content: " (" attr(href) ")"; font-size: .85em; overflow-wrap: anywhere; } }
"""


def page(document: ReportDocument) -> str:
    """The document as a whole HTML page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    noted = _noted(document)
    body, contents = _body(visible(noted.text), links(document.grounding or {}), chinese=document.chinese)
    title = escape(one_line(document.title))
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(one_line(text))}</dd>\n" for name, text in _facts(document))
    partial = ""
    if document.outcome != "completed":
        partial = f'<p class="partial">{escape(_partial(document))}</p>\n'
    return (
        f'<!DOCTYPE html>\n<html lang="{"zh-Hans" if document.chinese else "en"}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<meta name="generator" content="repo-agent-tui">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<dl>\n{facts}</dl>\n</header>\n{partial}{contents}"
        f'<main dir="auto">\n{body}</main>\n{_notes(document, noted)}</body>\n</html>\n'
    )


def _noted(document: ReportDocument) -> Annotated:
    """The report with a mark behind each claim, and the notes."""
    report = document.report.translate(_NO_MARKS)
    if document.grounding is None:
        return Annotated(report, [])
    return annotate(
        report,
        document.grounding,
        lambda note: f"{_OPEN}{'' if note.supported else '!'}{note.number}{_CLOSE}",
        chinese=document.chinese,
    )


def _notes(document: ReportDocument, noted: Annotated) -> str:
    """What the marks stand for."""
    if document.grounding is None:
        return ""
    from tui_agent.report.export import summary

    chinese = document.chinese
    items = ""
    for note in noted.notes:
        text = escape(one_line(visible(note.text), 300))
        if note.url and _leads_out(note.url):
            text = f'<a href="{escape(note.url)}" rel="noopener noreferrer nofollow">{text}</a>'
        if not note.supported:
            text = f'<span class="no">{"✗ 未见依据：" if chinese else "✗ Not supported:"}</span> {text}'
        shown = "、".join(note.claims[:4]) if chinese else ", ".join(note.claims[:4])
        claims = escape(one_line(visible(shown), 160))
        more = "…" if len(note.claims) > 4 else ""
        back = f'<a href="#r{note.number}" aria-label="{"返回正文" if chinese else "back to the text"}">↩</a>'
        items += f'<li id="n{note.number}">{text} <span class="claims">({claims}{more})</span> {back}</li>\n'
    heading = "来源" if chinese else "Sources"
    return (
        f'<section class="notes" aria-label="{heading}">\n<h2>{heading}</h2>\n<p>{escape(summary(document))}</p>\n'
        f"<ol>\n{items}</ol>\n</section>\n"
    )


def _partial(document: ReportDocument) -> str:
    """What stands above a report that is not whole."""
    reason = one_line(document.error) if document.error else ""
    if document.chinese:
        return f"本报告不完整（{document.outcome}）{'：' + reason if reason else '。'}"
    return f"This report is {document.outcome}{': ' + reason if reason else '.'}"


def _facts(document: ReportDocument) -> list[tuple[str, str]]:
    """What the page says of the report, as names and texts."""
    chinese = document.chinese
    state = document.commit or ("没有历史" if chinese else "no history")
    if document.ref and document.ref not in ("HEAD", document.commit):
        state += f" ({document.ref})"
    survey = "内置勘察，没有大语言模型" if chinese else "built-in survey, no LLM"
    writer = survey if document.engine == "survey" else document.model
    took = (document.turns, document.tool_calls, document.requests, document.elapsed)
    names: tuple[str, ...] = ("Repository", "Commit", "Question", "Written by", "Written at", "Run")
    run = "{:,} turns, {:,} tool calls, {:,} requests, {:.1f} s"
    if chinese:
        names = ("仓库", "提交", "问题", "作者", "时间", "运行")
        run = "{:,} 轮，{:,} 次工具调用，{:,} 次请求，{:.1f} 秒"
    return list(
        zip(names, (document.repo, state, document.question, writer, document.date, run.format(*took)), strict=True)
    )


def _body(markdown: str, targets: Mapping[str, str], *, chinese: bool) -> tuple[str, str]:
    """The report and its table of contents as HTML; raw HTML in it is text, images are their alternative text.

    Args:
        markdown: the report with the marks of its notes.
        targets: addresses by code span.
        chinese: the language of what is read out for a mark.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    entries: list[tuple[str, str]] = []
    dresser = _Dresser(targets, chinese)
    for index, token in enumerate(tokens):
        if token.children is not None:
            token.children = dresser.dressed(_harmless(token.children))
        if token.type in ("th_open", "td_open"):
            # The policy allows no style attribute.
            style = str(token.attrs.pop("style", ""))
            if align := style.removeprefix("text-align:"):
                token.attrSet("class", align)
        if token.type == "heading_open":
            token.attrSet("id", f"s{index}")
            if token.tag == "h2":
                entries.append((f"s{index}", _plain_text(tokens[index + 1].children or [])))
    contents = ""
    if len(entries) > 2:
        label = "目录" if chinese else "Contents"
        items = "".join(f'<li><a href="#{name}">{escape(one_line(text))}</a></li>\n' for name, text in entries)
        contents = f'<nav aria-label="{label}">\n<ul>\n{items}</ul>\n</nav>\n'
    # what stands where no reference can (in a block of code) is none
    return _MARK.sub("", parser.renderer.render(tokens, parser.options, {})), contents


def _harmless(children: Sequence[Token]) -> list[Token]:
    """Inline tokens without images and without links that lead elsewhere than to http(s); their text stays."""
    from markdown_it.token import Token

    kept: list[Token] = []
    open_links: list[bool] = []
    for token in children:
        if token.type == "link_open":
            open_links.append(_leads_out(str(token.attrGet("href") or "")))
            if not open_links[-1]:
                continue
            token.attrSet("rel", "noopener noreferrer nofollow")
        elif token.type == "link_close" and not open_links.pop():
            continue
        elif token.type == "image":
            token = Token("text", "", 0, content=f"[{_plain_text(token.children or []) or 'image'}]")
        kept.append(token)
    return kept


class _Dresser:
    """Turns marks into references, and code spans that name what was seen into links.

    Args:
        targets: addresses by code span.
        chinese: the language of what is read out for a mark.
    """

    def __init__(self, targets: Mapping[str, str], chinese: bool) -> None:
        self._targets = targets
        self._chinese = chinese
        self._referred: set[str] = set()

    def dressed(self, children: Sequence[Token]) -> list[Token]:
        """Inline tokens with references and links."""
        from markdown_it.token import Token

        kept: list[Token] = []
        inside = 0
        for token in children:
            inside += token.nesting if token.type in ("link_open", "link_close") else 0
            if token.type == "code_inline" and not inside and (url := self._targets.get(token.content.strip())):
                attributes: dict[str, str | int | float] = {"href": url, "rel": "noopener noreferrer nofollow"}
                opening = Token("link_open", "a", 1, attrs={**attributes, "class": "seen"})
                kept += [opening, token, Token("link_close", "a", -1)]
            elif token.type == "text" and _OPEN in token.content:
                for index, piece in enumerate(_MARK.split(token.content)):
                    kept.append(
                        Token("html_inline", "", 0, content=self._reference(piece))
                        if index % 2
                        else Token("text", "", 0, content=piece)
                    )
            else:
                kept.append(token)
        return kept

    def _reference(self, mark: str) -> str:
        number, bad = mark.lstrip("!"), mark.startswith("!")
        own = "" if number in self._referred else f' id="r{number}"'
        self._referred.add(number)
        label = f"{'来源' if self._chinese else 'source'} {number}"
        if bad:
            label = f"未见依据，{number}" if self._chinese else f"not supported, {number}"
        look = ' class="no"' if bad else ""
        return f'<sup><a href="#n{number}"{own}{look} aria-label="{label}">{number}{"✗" if bad else ""}</a></sup>'


def _leads_out(href: str) -> bool:
    """Whether an address is one that a reader may be led to."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _plain_text(children: Sequence[Token]) -> str:
    """The text of inline tokens."""
    texts = (
        _plain_text(token.children or []) if token.type == "image" else " " if "break" in token.type else token.content
        for token in children
    )
    return _MARK.sub("", "".join(texts))

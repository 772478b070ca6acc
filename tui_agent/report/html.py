"""A report as one HTML page: readable on paper, in light and in dark, and nothing in it is loaded or run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui_agent.safe_text import one_line, visible

if TYPE_CHECKING:
    from markdown_it.token import Token

    from tui_agent.report.export import ReportDocument

_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --soft: #59636e; --line: #d1d9e0; --shade: #f6f8fa; --page: #fff;
  --link: #0969da; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d; --shade: #151b23;
  --page: #0d1117; --link: #4493f8; } }
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
.partial { border: 1px solid #9a6700; border-radius: 4px; padding: .5em .8em; }
@media print { body { max-width: none; padding: 0; font-size: 10.5pt; } nav { display: none; }
  pre { white-space: pre-wrap; } pre, blockquote, tr { break-inside: avoid; } h1, h2, h3, h4 { break-after: avoid; }
  main a::after { content: " (" attr(href) ")"; font-size: .85em; overflow-wrap: anywhere; } }
"""


def page(document: ReportDocument) -> str:
    """The document as a whole HTML page."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    body, contents = _body(visible(document.report))
    title = escape(one_line(document.title))
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{escape(one_line(text))}</dd>\n" for name, text in _facts(document))
    partial = ""
    if document.outcome != "completed":
        reason = f": {one_line(document.error)}" if document.error else "."
        partial = f'<p class="partial">This report is {escape(document.outcome)}{escape(reason)}</p>\n'
    return (
        f'<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="referrer" content="no-referrer">\n<meta name="generator" content="repo-agent-tui">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<dl>\n{facts}</dl>\n</header>\n{partial}{contents}"
        f'<main dir="auto">\n{body}</main>\n</body>\n</html>\n'
    )


def _facts(document: ReportDocument) -> list[tuple[str, str]]:
    """What the page says of the report, as names and texts."""
    state = document.commit or "no history"
    if document.ref and document.ref not in ("HEAD", document.commit):
        state += f" ({document.ref})"
    facts = [("Repository", document.repo), ("Commit", state), ("Question", document.question)]
    writer = "built-in survey, no LLM" if document.engine == "survey" else document.model
    calls = f"{document.turns:,} turns, {document.tool_calls:,} tool calls, {document.requests:,} requests"
    return [
        *facts,
        ("Written by", writer),
        ("Written at", document.date),
        ("Run", f"{calls}, {document.elapsed:.1f} s"),
    ]


def _body(markdown: str) -> tuple[str, str]:
    """The report and its table of contents as HTML; raw HTML in it is text, images are their alternative text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(markdown)
    entries: list[tuple[str, str]] = []
    for index, token in enumerate(tokens):
        if token.children is not None:
            token.children = _harmless(token.children)
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
        items = "".join(f'<li><a href="#{name}">{escape(one_line(text))}</a></li>\n' for name, text in entries)
        contents = f'<nav aria-label="Contents">\n<ul>\n{items}</ul>\n</nav>\n'
    return parser.renderer.render(tokens, parser.options, {}), contents


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
    return "".join(texts)

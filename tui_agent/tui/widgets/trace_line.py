"""One line of the trace fitted to its width: what gives way, and in which order."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

from tui_agent.i18n import count
from tui_agent.safe_text import one_line
from tui_agent.tui.widgets.trace_text import elide, elide_start, first_line, last_line
from tui_agent.tui.widgets.trace_tree import Node

Piece = tuple[str, str]
"""Words and the component class that draws them."""
LABELS: Final = frozenset({"question", "reasoning", "said", "arguments", "observation"})
"""Nodes that are a label beside their text."""
MIN_NOTE: Final = 8
LONGEST: Final = 1000
MIN_SUBJECT: Final = 4
_FIRST: Final = re.compile(" · |, |，")
"""A note with less room than this is left out."""


def head(node: Node, room: int) -> list[Piece]:
    """A node's line in at most `room` cells, without indent and arrow."""
    pieces = _label_line(node, room) if node.kind in LABELS else _state_line(node, room)
    badge = _badge(node)
    if badge:
        used, size = sum(cell_len(text) for text, _ in pieces), cell_len(badge) + 1
        if used + size > room:
            pieces = cut(pieces, room - size)
        pieces += [(" ", "trace--plain"), (badge, "trace--hit")]
    return pieces


def _badge(node: Node) -> str:
    """How many hits of the search lie in what is folded away."""
    if node.open:
        return ""
    hits = node.hits_below + (node.hits if node.source is not None else 0)
    return f"({count('{hits} hit', '{hits} hits', hits, hits=hits)})" if hits else ""


def _label_line(node: Node, room: int) -> list[Piece]:
    name = f"{node.mark} {node.name}" if node.mark else node.name
    if cell_len(name) >= room:
        return [(elide(name, room), "trace--label")]
    pieces: list[Piece] = [(name, "trace--label")]
    room -= cell_len(name) + 2
    if node.open:
        text = count("{number:,} character", "{number:,} characters", len(node.text()))
        if cell_len(text) <= room:
            pieces.append((f"  {text}", "trace--muted"))
    else:
        if node.live:
            text = last_line(node.text(), room)
        else:
            text = first_line(node.subject or node.text(), room)
        if text:
            pieces += [("  ", "trace--muted"), (text, _FOLDED_TEXT.get(node.kind, "trace--muted"))]
    return pieces


def _words(text: str) -> str:
    """The text on one line, at most as long as any line can show."""
    # Most are clean already, and every line that is drawn asks three times.
    if len(text) < 200 and text.isascii() and text.isprintable() and "  " not in text:
        return text
    return one_line(text, LONGEST)


_FOLDED_TEXT: Final = {"said": "trace--text", "question": "trace--text"}
_NAMES: Final = {"turn": "trace--turn", "call": "trace--tool"}


def _state_line(node: Node, room: int) -> list[Piece]:
    tone = f"trace--{node.tone}"
    pieces: list[Piece] = [(f"{node.mark} ", tone)] if node.mark else []
    room -= 2 if node.mark else 0
    name = elide(_words(node.name), max(1, room))
    pieces.append((name, _NAMES.get(node.kind, tone)))
    room -= cell_len(name)
    subject, note = _words(node.subject), _words(node.note)
    status, gap = node.status, " … " if node.live else "  "
    # The first word of the status says how it stands: what follows it goes before any of the subject does.
    wanted = min(cell_len(subject), 12) + 1 if subject else 0
    if status and cell_len(status) + cell_len(gap) + wanted > room:
        status = _FIRST.split(status)[0]
    if status:
        room -= cell_len(status) + cell_len(gap)
    if room < 0:
        pieces.append((elide(gap + status, room + cell_len(status) + cell_len(gap)), tone))
        return pieces
    take = min(cell_len(subject), room - 1)
    if note and cell_len(subject) + cell_len(note) + 4 > room:
        take = min(take, max(room // 2, room - cell_len(note) - 4))
    if subject and take >= min(MIN_SUBJECT, cell_len(subject)):
        fit = elide_start if node.path else elide
        subject = fit(subject, take)
        pieces.append((f" {subject}", _SUBJECTS.get(node.kind, "trace--text")))
        room -= cell_len(subject) + 1
    if status:
        pieces.append((gap + status, tone))
    if note and room - 3 >= min(MIN_NOTE, cell_len(note)):
        pieces.append((f" · {elide(note, room - 3)}", "trace--muted"))
    return pieces


_SUBJECTS: Final = {"turn": "trace--muted"}


def cut(pieces: list[Piece], room: int) -> list[Piece]:
    """The pieces within `room` cells."""
    fitting: list[Piece] = []
    for text, style in pieces:
        size = cell_len(text)
        if size > room:
            fitting.append((elide(text, room), style))
            break
        fitting.append((text, style))
        room -= size
    return fitting

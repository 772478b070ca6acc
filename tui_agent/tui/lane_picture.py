"""How a call looks as a lane: a label, its phases on the time axis, and how it stands in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from textual.content import Content

from tui_agent.events import JsonObject
from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.state import Call, Phase
from tui_agent.tui.words import duration

LEAST_SPAN = 1.0
"""Seconds that the axis spans at least, so that a quick call is not blown up to the whole width."""
STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
WORDS, SHORT_WORDS = 21, 15
TICK_ROOM = 9
"""Cells between two marks of the axis at least."""
SHOWN_ARGUMENTS = ("path", "pattern", "file", "query")
HIDDEN_ARGUMENTS = frozenset({"owner", "repo"})

OK, BAD, WAIT, LIMIT, BUSY, FREE, FAINT = (
    "$text-success",
    "$text-error",
    "$text-warning",
    "$text-accent",
    "$text-primary",
    "$text-accent",
    "$foreground-disabled",
)
Cells = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class AxisSpan:
    """The run seconds that the axis shows."""

    start: float
    end: float

    def cell(self, at: float, width: int) -> int:
        """The cell of `width` in which a moment lies."""
        return int((at - self.start) / (self.end - self.start) * width + 1e-6)


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells: the call's name, the time axis, the words at the end."""

    label: int
    bars: int
    words: int

    @classmethod
    def fitting(cls, width: int) -> Columns:
        """Columns that fit into `width` cells, with a space between each two."""
        words = WORDS if width >= 64 else SHORT_WORDS if width >= 36 else 0
        label = min(36, max(8, (width - words) * 11 // 20))
        return cls(label, max(0, width - label - words - (2 if words else 1)), words)


def span_of(calls: Sequence[Call], now: float) -> AxisSpan:
    """The time that these calls take up, planned waits included."""
    start = min((call.started_at for call in calls), default=0.0)
    end = start + LEAST_SPAN
    for call in calls:
        end = max(end, now if call.finished_at is None else call.finished_at)
        waiting = call.waiting(now)
        if waiting is not None and waiting.until is not None:
            end = max(end, waiting.until)
    return AxisSpan(start, end)


def axis_line(columns: Columns, span: AxisSpan) -> Content:
    """The axis with its marks in run seconds."""
    cells: Cells = [("─", FAINT)] * columns.bars
    for cell, at in _ticks(columns.bars, span):
        text = f"╴{at:g} s╶" if at else "╴0 s╶"
        if cell + len(text) <= columns.bars:
            for offset, char in enumerate(text):
                cells[cell + offset] = (char, "$foreground-muted" if char not in "╴╶" else FAINT)
    return Content.assemble(" " * (columns.label + 1), _joined(cells))


def _ticks(width: int, span: AxisSpan) -> Iterable[tuple[int, float]]:
    length = span.end - span.start
    step = next((step for step in STEPS if step * width >= TICK_ROOM * length), length)
    number = math.ceil(span.start / step - 1e-9)
    while number * step <= span.end:
        yield span.cell(number * step, width), number * step
        number += 1


def lane_line(call: Call, columns: Columns, span: AxisSpan, now: float, *, first_of_turn: bool) -> Content:
    """One call as a line.

    Args:
        call: the call.
        columns: the widths.
        span: what the axis shows.
        now: run seconds.
        first_of_turn: whether the turn's number stands before it.
    """
    label = _label(call, columns.label, first_of_turn)
    line = Content.assemble(label, " ", _joined(_cells(call, columns.bars, span, now)))
    if columns.words:
        words, style = standing(call, now, short=columns.words < WORDS)
        line = Content.assemble(line, " ", (one_line(words, columns.words), style))
    return line


def argument_words(arguments: JsonObject) -> str:
    """What a call is about, in a word: its path or pattern, else whatever it was given."""
    for name in SHOWN_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    given = ((name, value) for name, value in arguments.items() if name not in HIDDEN_ARGUMENTS)
    return " ".join(f"{name}={value}" for name, value in given if value not in ("", None))


def _label(call: Call, width: int, first_of_turn: bool) -> Content:
    turn = f"{call.turn:>2} " if first_of_turn and call.turn else "   "
    tool = one_line(call.tool, width - 3)
    room = width - 3 - cell_width(tool) - 1
    about = one_line(argument_words(call.arguments))
    about = _tail(about, room) if "/" in about else one_line(about, room) if room >= 4 else ""
    label = Content.assemble((turn, FAINT), (tool, ""), " " if about else "", (about, "$foreground-muted"))
    return label.pad_right(max(0, width - label.cell_length))


def _tail(text: str, room: int) -> str:
    """The end of a text, since a path's end tells more than its beginning; nothing where little would be left."""
    if cell_width(text) <= room:
        return text
    if room < 4:
        return ""
    while text and cell_width(text) > room - 1:
        text = text[1:]
    return f"…{text}"


def _joined(cells: Cells) -> Content:
    runs = groupby(cells, key=lambda cell: cell[1])
    return Content.assemble(*(("".join(char for char, _ in run), style) for style, run in runs))


def _cells(call: Call, width: int, span: AxisSpan, now: float) -> Cells:
    """The phases, painted in order of time."""
    cells: Cells = [(" ", "")] * width
    if not width:
        return cells
    if call.finished_at is not None and call.attempts == 0 and not any(phase.failed for phase in call.phases):
        mark = ("▾", BAD) if call.outcome == "fallback" else ("!", WAIT) if call.outcome == "error" else ("◆", FREE)
        cells[min(width - 1, max(0, span.cell(call.started_at, width)))] = mark
        return cells
    phases = call.phases_at(now)
    for index, phase in enumerate(phases):
        end = phase.end if phase.end is not None else now
        first = min(width - 1, max(0, span.cell(phase.start, width)))
        last = min(width - 1, max(first, span.cell(end, width) - 1))
        _paint(cells, phase, first, last, is_last=index == len(phases) - 1, call=call)
        if phase.end is None and phase.until is not None:
            for cell in range(last + 1, min(width, span.cell(phase.until, width))):
                cells[cell] = ("·", FAINT)
    _mark_failures(cells, phases, span)
    if call.outcome == "fallback" and phases[-1].kind != "attempt" and call.finished_at is not None:
        cells[min(width - 1, max(0, span.cell(call.finished_at, width)))] = ("▾", BAD)
    return cells


def _paint(cells: Cells, phase: Phase, first: int, last: int, *, is_last: bool, call: Call) -> None:
    if phase.kind != "attempt":
        char, style = ("┄", WAIT) if phase.kind == "retry" else ("▒", LIMIT)
        for cell in range(first, last + 1):
            cells[cell] = (char, style)
        return
    style = BAD if phase.failed else BUSY if call.running else _outcome_style(call) if is_last else BUSY
    for cell in range(first, last + 1):
        cells[cell] = ("━", style)
    if is_last and call.running and not phase.failed:
        cells[last] = ("╸", BUSY)
    elif is_last and call.outcome == "error":
        cells[last] = ("!", WAIT)
    elif is_last and call.outcome == "cancelled":
        cells[last] = ("■", WAIT)


def _mark_failures(cells: Cells, phases: Sequence[Phase], span: AxisSpan) -> None:
    """Every failed attempt is seen, however short it was; its status stands in the wait behind it, if there is room."""
    width = len(cells)
    for phase, following in pairwise((*phases, None)):
        if phase is None or not phase.failed or phase.end is None:
            continue
        first = min(width - 1, max(0, span.cell(phase.start, width)))
        last = min(width - 1, max(first, span.cell(phase.end, width) - 1))
        cells[last] = ("✗", BAD)
        if following is None or following.kind == "attempt" or phase.status is None:
            continue
        end = following.end if following.end is not None else following.until
        text = str(phase.status)
        if end is not None and min(width, span.cell(end, width)) - last - 1 > len(text):
            cells[last + 1 : last + 1 + len(text)] = [(char, BAD) for char in text]


def _outcome_style(call: Call) -> str:
    return {"ok": OK, "error": WAIT, "fallback": BAD, "cancelled": WAIT}.get(call.outcome or "", BUSY)


def standing(call: Call, now: float, *, short: bool = False) -> tuple[str, str]:
    """How a call stands, in words, and their style."""
    waiting = call.waiting(now)
    if waiting is not None and waiting.until is not None:
        left = waiting.until - now
        seconds = f"{left:.1f} s" if left < 10 else f"{math.ceil(left)} s"
        if waiting.kind == "limit":
            text = say("limit, {seconds}", seconds=seconds) if short else say("rate limit, {seconds}", seconds=seconds)
            return text, LIMIT
        of = "" if short or waiting.of is None else f" ({waiting.attempt}/{waiting.of})"
        return say("retry in {seconds}{of}", seconds=seconds, of=of), WAIT
    if call.finished_at is None:
        attempt = call.phases_at(now)[-1].attempt
        again = "" if attempt == 1 else f"{attempt}: " if short else say("attempt {attempt}, ", attempt=attempt)
        return f"{again}{duration(max(0.0, now - call.started_at))}", BUSY
    return _ended(call, short)


def _ended(call: Call, short: bool) -> tuple[str, str]:
    took = duration(call.elapsed if call.elapsed is not None else (call.finished_at or 0.0) - call.started_at)
    if call.outcome == "fallback":
        failed = next((phase for phase in reversed(call.phases) if phase.failed), None)
        why = f" ({failed.status})" if failed is not None and failed.status and not short else ""
        return f"{say('fallback')}{why} {took}", BAD
    if call.outcome == "error":
        return f"{say('error')} {took}", WAIT
    if call.outcome == "cancelled":
        return (say("cancelled") if short else f"{say('cancelled')} {took}"), WAIT
    if call.cache == "memory":
        return (f"◆ {say('memory') if short else say('from memory')}"), FREE
    if call.cache == "hit":
        return (f"◆ {say('cache') if short else say('cache hit')}"), FREE
    if call.cache == "revalidated":
        return (f"◇ {took}" if short else f"◇ {say('revalidated')} {took}"), OK
    return f"{say('ok')} {took}", OK

"""The rate limit: what remains, when it is renewed, what this run spent and saved, whether another one fits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_agent.i18n import mark, say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.state import Area, DashboardState, QuotaRow
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.words import duration

BLOCKS = "▁▂▃▄▅▆▇█"
FILLED, EMPTY = "━", "╌"


def sparkline(values: list[int], width: int) -> str:
    """The last `width` values as blocks, from the lowest to the highest of them."""
    shown = values[-width:] if width > 0 else []
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    if low == high:
        return BLOCKS[-1] * len(shown)
    return "".join(BLOCKS[(value - low) * (len(BLOCKS) - 1) // (high - low)] for value in shown)


class RateLimitPane(Pane):
    """A few lines a limit.

    Args:
        epoch: the time as limits are told, in epoch seconds.
    """

    TITLE = mark("Rate limit")
    AREAS: ClassVar[tuple[Area, ...]] = ("quota", "run", "calls")
    REST: ClassVar[float] = 0.25

    def __init__(self, epoch: Callable[[], float]) -> None:
        super().__init__(id="rate-limit")
        self._epoch = epoch
        self._state = DashboardState()
        self._now = 0.0
        self._drawn = Content()
        self._lines = Static(id="rate-limit-text")

    def compose(self) -> ComposeResult:
        """The text, which scrolls where it does not fit."""
        with VerticalScroll():
            yield self._lines

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the limits as they stand at `now` (run seconds)."""
        self._state, self._now = state, now
        self._redraw()

    def tick(self, now: float) -> float | None:
        """Count down to the limits' renewal while that matters: while a run goes on or nothing remains."""
        self._now = now
        self._redraw()
        steps = [self._step(row.reset - self._epoch()) for row in self._state.quota.values() if self._counts(row)]
        until = self._waiting_until()
        if until is not None:
            steps.append(_to_next(until - now, 1.0))
        return min(steps, default=None)

    def on_resize(self) -> None:
        """The bar has another length now."""
        self._redraw()

    def _counts(self, row: QuotaRow) -> bool:
        matters = self._state.run.running or row.remaining == 0 or not self._lasts(row)
        return matters and row.reset > self._epoch()

    def _lasts(self, row: QuotaRow) -> bool:
        """Whether what remains is enough for one more run like this one."""
        return row.headroom(self._epoch()) >= row.spent

    @staticmethod
    def _step(left: float) -> float:
        return _to_next(left, 60.0 if left > 600 else 1.0)

    def _waiting_until(self) -> float | None:
        waits = (call.waiting(self._now) for call in self._state.under_way())
        ends = [wait.until for wait in waits if wait is not None and wait.kind == "limit" and wait.until is not None]
        return max(ends, default=None)

    def _redraw(self) -> None:
        width = self.content_size.width
        if not width:
            return
        content = self._text(width)
        if content.plain == self._drawn.plain and content.spans == self._drawn.spans:
            return
        same_height = content.plain.count("\n") == self._drawn.plain.count("\n")
        self._drawn = content
        self._lines.update(content, layout=not same_height or not content)

    def _text(self, width: int) -> Content:
        rows = list(self._state.quota.values())
        blocks = [self._block(row, width) for row in rows]
        until = self._waiting_until()
        if until is not None:
            left = math.ceil(until - self._now)
            text = f"◷ {say('waiting for a limit, {seconds} s left', seconds=left)}"
            text = text if cell_width(text) <= width else f"◷ {say('limit, {seconds} s left', seconds=left)}"
            blocks.insert(0, Content.styled(text, "bold $text-warning"))
        if not rows:
            blocks.append(Content.styled(self._why_none(), "$foreground-muted"))
        saved = self._saved(rows, width)
        if saved:
            blocks.append(Content.styled(saved, "$text-success" if self._state.run.cache_hits else "$foreground-muted"))
        return Content("\n").join(blocks)

    def _saved(self, rows: list[QuotaRow], width: int) -> str:
        """What the cache spared the run; empty where there is no run, or none that has a limit."""
        run = self._state.run
        if run.run_id is None or run.source == "local":
            return ""
        free = all(row.revalidating_is_free for row in rows)
        saved = run.cache_hits + (run.revalidated if free else 0)
        text = say("cache saved {saved:,}", saved=saved)
        if cell_width(text) > width:
            return say("saved {saved:,}", saved=saved)
        asked = (
            say(" ({revalidated:,} of them revalidated)", revalidated=run.revalidated)
            if free
            else say(", {revalidated:,} revalidated", revalidated=run.revalidated)
        )
        return text + asked if run.revalidated and cell_width(text) + cell_width(asked) <= width else text

    def _forecast(self, row: QuotaRow, width: int) -> Content:
        """Whether the headroom lasts for one more run of this size, in words."""
        lasts = self._lasts(row)
        long, short = (
            (say("enough left for one more such run"), say("another run fits"))
            if lasts
            else (say("too little left for one more such run"), say("another won't fit"))
        )
        return Content.styled(
            long if cell_width(long) <= width else short, "$text-success" if lasts else "$text-warning"
        )

    def _why_none(self) -> str:
        if self._state.run.source == "local":
            return say("no limit: local repository")
        return say("No reply has told a limit yet.")

    def _block(self, row: QuotaRow, width: int) -> Content:
        numbers = f"{row.remaining:,}/{row.limit:,}"
        name = one_line(row.resource, max(4, width - len(numbers) - 2))
        share = row.remaining / row.limit if row.limit > 0 else 0.0
        style = "$text-success" if share > 0.25 else "$text-warning" if share > 0.05 else "$text-error"
        percent = f" {share:4.0%}"
        length = max(4, width - len(percent))
        filled = min(length, math.ceil(share * length)) if row.remaining > 0 else 0
        spent = say("this run {spent:,}", spent=row.spent)
        gap = width - cell_width(name) - len(numbers)
        lines = [
            Content.assemble((name, "bold"), " " * max(gap, 1), (numbers, f"bold {style}")),
            Content.assemble(
                (FILLED * filled, style), (EMPTY * (length - filled), "$foreground-disabled"), (percent, style)
            ),
            Content.assemble(
                (spent, ""), "  ", (sparkline(row.history, width - cell_width(spent) - 2), "$text-primary")
            ),
            Content.styled(self._renewal(row, width), "$foreground-muted"),
        ]
        if row.counted or not self._state.run.running:
            lines.append(self._forecast(row, width))
        return Content("\n").join(lines)

    def _renewal(self, row: QuotaRow, width: int) -> str:
        left = row.reset - self._epoch()
        at = time.strftime("%H:%M", time.localtime(row.reset))
        if left <= 0:
            return say("renewed at {at}", at=at)
        if not self._counts(row):
            return say("resets at {at}", at=at)
        text = say("resets in {duration}", duration=duration(max(1, math.ceil(left))))
        whole = say("{renewal}, at {at}", renewal=text, at=at)
        return whole if cell_width(whole) <= width else text


def _to_next(left: float, step: float) -> float:
    """Seconds until `left`, which shrinks, passes the next multiple of `step`."""
    rest = math.fmod(left, step)
    return rest if rest > 0.01 else step

"""How states and numbers are said on the screen: one word, one shape, one colour each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tui_agent.i18n import mark
from tui_agent.safe_text import cell_width
from tui_agent.tui.state import RunWord


@dataclass(frozen=True, slots=True)
class Sign:
    """A state's shape and colour; the word says the same where there is no colour."""

    shape: str
    style: str


RUN_SIGNS: Final[dict[RunWord, Sign]] = {
    mark("idle"): Sign("○", "$foreground-muted"),
    mark("running"): Sign("▶", "$text-primary"),
    mark("completed"): Sign("✔", "$text-success"),
    mark("partial"): Sign("◐", "$text-warning"),
    mark("failed"): Sign("✘", "$text-error"),
    mark("cancelled"): Sign("■", "$text-warning"),
}


def padded(text: str, cells: int) -> str:
    """A text with blanks behind it, so many cells wide at least."""
    return text + " " * (cells - cell_width(text))


def short_count(number: int) -> str:
    """A number in at most five characters: 999, 12.3k, 128k, 1.25M."""
    for limit, unit, divisor in ((999_950, "k", 1_000), (999_950_000, "M", 1_000_000)):
        if number < 1_000:
            break
        if number < limit:
            value = number / divisor
            digits = f"{value:.0f}" if value >= 100 else f"{value:.1f}"
            return f"{digits.removesuffix('.0')}{unit}"
    return str(number) if number < 1_000 else f"{number / 1e9:.1f}G"


def clock_face(seconds: float) -> str:
    """Seconds as `00:12`, or `1:02:03` past an hour."""
    whole = max(0, int(seconds))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def duration(seconds: float) -> str:
    """Seconds as a person says them: `0.42 s`, `1.2 s`, `42 s`, `3 min 20 s`, `2 h 5 min`."""
    if seconds < 1:
        return f"{max(0.0, seconds):.2f} s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10 and rest:
        return f"{minutes} min {rest} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"

"""What a check has found, and how a list of that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tui_agent.i18n import count, say, told
from tui_agent.safe_text import cell_width, one_line

State = Literal["ok", "attention", "problem", "skipped"]
SIGNS: dict[State, tuple[str, str]] = {
    "ok": ("✔", "+"),
    "attention": ("!", "!"),
    "problem": ("✘", "x"),
    "skipped": ("·", "-"),
}
"""For each state its sign, and one in ASCII."""
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Args:
        name: what it is, in a word or two.
        state: `ok`; `attention`, where something works less well than it could; `problem`, where something does not
            work; `skipped`, where nobody looked.
        text: what was found.
        todo: what to do about it; "" for nothing.
    """

    name: str
    state: State
    text: str
    todo: str = ""


def as_text(findings: Iterable[Finding], clean: Callable[[str], str], *, signs: bool = True) -> str:
    """A line for each finding, and one more for what to do.

    Args:
        findings: in their order.
        clean: takes secrets out.
        signs: whether the terminal has more than ASCII.
    """
    found = list(findings)
    wide = max((cell_width(told(one.name)) for one in found), default=0)
    lines = []
    for one in found:
        begin = f"{SIGNS[one.state][0 if signs else 1]} {_padded(told(one.state), 9)}  "
        lines.append(f"{begin}{_padded(told(one.name), wide)}  {_line(told(clean(one.text)), clean)}")
        if one.todo:
            blanks = " " * (cell_width(begin) + wide + 2)
            lines.append(f"{blanks}{'→' if signs else '->'} {_line(told(clean(one.todo)), clean)}")
    return "\n".join(lines)


def summary(findings: Iterable[Finding]) -> str:
    """The last line: how many of what."""
    states = [one.state for one in findings]
    problems, attention = states.count("problem"), states.count("attention")
    if not problems:
        return (
            say("No problem.") if not attention else say("No problem; {number} for your attention.", number=attention)
        )
    many = count("{number} problem", "{number} problems", problems)
    return (
        f"{many}{say('.')}"
        if not attention
        else say("{many}; {number} for your attention.", many=many, number=attention)
    )


def as_json(findings: Iterable[Finding], clean: Callable[[str], str], version: str) -> dict[str, Any]:
    """One object: whether nothing is a problem, and each finding."""
    found = list(findings)
    checks = [
        {"name": one.name, "state": one.state, "text": _line(one.text, clean), "todo": _line(one.todo, clean)}
        for one in found
    ]
    return {"ok": is_well(found), "version": version, "checks": checks}


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether nothing is a problem."""
    return all(one.state != "problem" for one in findings)


def _padded(text: str, cells: int) -> str:
    return text + " " * (cells - cell_width(text))


def _line(text: str, clean: Callable[[str], str]) -> str:
    return one_line(clean(text), _LONGEST)

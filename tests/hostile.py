"""Text that would act on a terminal, a screen or a reader, and how to see that none of it did."""

from __future__ import annotations

import re

MARK = "31337"
"""Stands in every sequence, so that it can be told from the program's own."""

C0 = f"a\x00b\x01c\x07d\x08e\x0bf\x0cg\x0eh\x0fi\x1a\x1cj\x7f\rk{MARK}"
SEQUENCES = [
    f"\x1b[{MARK}m",
    "\x1b[2J\x1b[H",
    "\x1b[6n\x1b[c\x1b[>c\x1b[=c",
    "\x1b[?1049l\x1b[?25l",
    "\x1bc\x1b7\x1b8\x1bM",
    f"\x1b]0;owned{MARK}\x07",
    f"\x1b]2;owned{MARK}\x1b\\",
    f"\x1b]8;;http://evil.example/{MARK}\x1b\\link\x1b]8;;\x1b\\",
    f"\x1b]52;c;{MARK}b3duZWQ=\x07",
    f"\x1b]9;owned{MARK}\x07",
    f"\x1bP{MARK}q\x1b\\",
    f"\x1b_Gowned{MARK}\x1b\\",
    f"\x1b^owned{MARK}\x1b\\",
    f"\x1bXowned{MARK}\x1b\\",
    f"\x9b{MARK}m",
    f"\x9d0;owned{MARK}\x9c",
    f"\x90{MARK}q\x9c",
    "\x84\x85\x88\x8d",
]
HIDDEN = (
    "\u202egnp.exe\u202c \u2066x\u2069 \u200e\u200f \u061c pass\u200bword \u2060 \ufeff "
    "so\u00adft a\u2028b\u2029c \U000e0041\U000e007f \u3164 \u115f \udc80 \ud83d"
)
MARKUP = (
    "[red]x[/red] [@click=app.quit]y[/] [link=javascript:alert(1)]z[/link] [/nonsense] [bold [[] \\[ "
    "$text-error {escape} %s {0} ${HOME}"
)
MARKDOWN = (
    "[js](javascript:alert(1)) [data](data:text/html,x) [file](file:///etc/passwd) [act](action:app.quit) "
    "<javascript:alert(1)> ![img](http://evil.example/x.png) <script>alert(1)</script> <a href='javascript:x'>b</a> "
    "[good](https://good.example/) `[red]code[/red]` | a | b |"
)
ALL = " ".join([C0, *SEQUENCES, HIDDEN, MARKUP, MARKDOWN])

# What may reach a terminal of a text from outside: nothing that moves, hides, reorders or asks.
_ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def acting(text: str) -> list[str]:
    """Every character of a text that would act on a terminal, with what stands around it."""
    return [repr(text[max(0, m.start() - 20) : m.end() + 20]) for m in _ACTS.finditer(text)]


# -- what a program writes to a terminal ----------------------------------------------------------

_SEQUENCE = re.compile(
    "\x1b(?:"
    r"\[(?P<csi>[0-?]*[ -/]*[@-~])"
    "|\\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\\\)"
    "|[PX^_](?P<string>[^\x1b]*)\x1b\\\\"
    r"|(?P<other>[ -/]*[0-~])"
    ")"
)


def shapes(raw: str) -> set[str]:
    """The kinds of sequences in what was written: numbers left out of those that only colour or place."""
    found = set()
    for match in _SEQUENCE.finditer(raw):
        if match["csi"] is not None:
            csi = match["csi"]
            found.add(f"CSI {csi[-1]}" if csi[-1] in "mHABCDGJKX" and "?" not in csi else f"CSI {csi}")
        elif match["osc"] is not None:
            found.add(f"OSC {match['osc']}")
        else:
            found.add(f"ESC {match['string'] or match['other']}")
    return found


def without_sequences(raw: str) -> str:
    """What was written but for whole sequences."""
    return _SEQUENCE.sub("", raw)

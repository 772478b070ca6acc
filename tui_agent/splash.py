"""The first picture: a frame, the title and the repository, on the screen before anything heavy is imported.

It is written by the standard library alone, on the alternate screen, and only where a dashboard is about to follow on
a terminal that is known to take it. From its first byte on a signal puts the terminal back as it was.
"""

from __future__ import annotations

import os
import signal
import sys

from tui_agent.i18n import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType
    from typing import Any, Self

NAME = "repo-agent-tui"
INTERRUPTED = 130
# Options that take the next word as their value.
VALUED = frozenset(
    "-q --question --preset --ref --lang --engine --profile --model --base-url --max-turns --max-tokens -o --output "
    "--chaos --env-file --http --completion".split()
)
# Options that mean: no dashboard.
PLAIN = frozenset("-p --print --json -h --help --version --completion".split())
# Reserved words that mean the same; `demo` and `replay` open one.
WORDS = frozenset("runs mcp serve cache doctor".split())
# Textual's driver where `serve` draws a dashboard in a browser, through a pipe; named by the variable TEXTUAL_DRIVER.
BROWSER_DRIVER = "tui_agent.tui.served_driver:ServedDriver"
COMMANDS = frozenset("demo replay".split())
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[H\x1b[2J", "\x1b[0m\x1b[?25h\x1b[?1049l"
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_ROUND, _ASCII = "╭─╮│╰╯…", "+-+|++."


class Splash:
    """The picture while it stands. `Splash()` is none, and everything about it does nothing.

    Attributes:
        attributes: the terminal's own settings (`termios`), as they were before; None where there is no picture.
        standing: whether the screen is still this picture's to leave.
    """

    def __init__(self) -> None:
        self.attributes: list[Any] | None = None
        self.standing = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def show(self, text: str, size: os.terminal_size) -> bool:
        """Draw it; whether that could be done without a risk for the terminal.

        What is typed from now on waits unseen, byte for byte, for whoever reads the terminal next. Ctrl-C still
        interrupts.

        Args:
            text: shown in the middle; safe for a terminal.
            size: the terminal's.
        """
        import termios

        try:
            # In the background, a shell's `&`, changing the terminal would stop the process.
            if os.tcgetpgrp(0) != os.getpgrp():
                return False
            self.attributes = termios.tcgetattr(0)
            quiet = _without_echo(self.attributes)
            self._take_signals()
            self.standing = True
            _write(_ENTER + picture(text, size, _signs()))
            termios.tcsetattr(0, termios.TCSANOW, quiet)
        except (OSError, ValueError, termios.error):
            self.end()
            return False
        return True

    def hand_over(self) -> None:
        """From here on the screen is somebody else's to leave."""
        self.standing = False

    def end(self) -> None:
        """Put the terminal and the signals back as they were."""
        self._restore()
        self.attributes = None
        for number, handler in self._before.items():
            # Whoever has taken a signal over since then keeps it.
            if signal.getsignal(number) == self._interrupted:
                signal.signal(number, handler)
        self._before.clear()

    def _restore(self) -> None:
        standing, self.standing = self.standing, False
        if not standing or self.attributes is None:
            return
        import termios

        try:
            _write(_LEAVE)
            termios.tcsetattr(0, termios.TCSANOW, self.attributes)
        except (OSError, termios.error):
            # The terminal is gone.
            return

    def _take_signals(self) -> None:
        for name in _SIGNALS:
            number = getattr(signal, name)
            handler = signal.getsignal(number)
            # `nohup` asks to outlive the terminal; None was set by no Python code and could not be put back.
            if handler is not None and handler != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._interrupted)

    def _interrupted(self, *_: int | FrameType | None) -> None:
        """Nothing has begun that could be lost; an exception might be swallowed by what is being imported."""
        self._restore()
        os._exit(INTERRUPTED)


def show(argv: Sequence[str]) -> Splash:
    """The first picture, where a dashboard is about to follow; else none.

    Args:
        argv: what was typed, the program's name left out.
    """
    splash = Splash()
    repos = asked(argv)
    if repos is None or not _takes_pictures():
        return splash
    try:
        size = os.get_terminal_size(2)
    except OSError:
        return splash
    splash.show(", ".join(map(named, repos)), size)
    return splash


def asked(argv: Sequence[str]) -> list[str] | None:
    """What the dashboard is asked for, nothing where it is to ask; None where no dashboard follows.

    A quick look, for the picture alone: the command line is understood later, and its errors are told then.
    """
    repos: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            repos += words
        elif word.partition("=")[0] in PLAIN or (word[:1] == "-" and word[:2] in PLAIN):
            return None
        elif word in VALUED:
            next(words, None)
        elif not word.startswith("-"):
            repos.append(word)
    if repos and repos[0] in WORDS:
        return None
    # behind a command stands no repository
    return repos[:1] if repos and repos[0] in COMMANDS else repos


def is_served() -> bool:
    """Whether the dashboard is drawn in a browser: stdin and stdout are pipes to `serve`, which started it."""
    return os.environ.get("TEXTUAL_DRIVER") == BROWSER_DRIVER


def named(repo: str) -> str:
    """The short name of a repository as it was typed, without what an address may hold beside it, such as a key."""
    if repo[:1] in (".", "/", "~"):
        name = "local/" + os.path.basename(os.path.abspath(os.path.expanduser(repo)))  # noqa: PTH100, PTH111, PTH119
    else:
        # URLs and git's own addresses: neither scheme, user, query nor fragment; two parts behind the host.
        address = repo.split("?")[0].split("#")[0].partition("://")
        plain = (address[2] or address[0]).rpartition("@")[2].replace(":", "/")
        parts = [part for part in plain.split("/") if part]
        name = "/".join(parts[1:3] if len(parts) > 2 else parts).removesuffix(".git")
    if name.isascii() and name.isprintable():
        return name
    # 10 ms that only such a name pays.
    from tui_agent.safe_text import one_line

    return one_line(name)


def picture(text: str, size: os.terminal_size, signs: str = _ROUND) -> str:
    """The frame and what stands in it, as it is written to a cleared screen.

    Args:
        text: safe for a terminal; "" for none.
        size: columns and rows; a terminal that says 0 is taken as 80 by 24.
        signs: corners, lines and what stands for the rest of a text.
    """
    columns, rows = size.columns or 80, size.lines or 24
    top_left, line, top_right, side, low_left, low_right, ellipsis = tuple(signs)
    if columns < 24 or rows < 5:
        return f"\x1b[1m{_fit(text or NAME, columns, ellipsis)}\x1b[0m"
    shown = _fit(text, columns - 4, ellipsis)
    title = f"{line} \x1b[0;1m{NAME}\x1b[0;2m "
    lines = [f"\x1b[2m{top_left}{title}{line * (columns - len(NAME) - 5)}{top_right}"]
    lines += [f"{_at(row, 1)}{side}{_at(row, columns)}{side}" for row in range(2, rows)]
    lines.append(f"{_at(rows, 1)}{low_left}{line * (columns - 2)}{low_right}\x1b[0m")
    middle = rows // 2
    lines += _centred(shown, middle, columns, "\x1b[1m")
    lines += _centred(say("starting {ellipsis}", ellipsis=ellipsis), middle + 1, columns, "\x1b[2m")
    return "".join(lines)


def _centred(text: str, row: int, columns: int, style: str) -> Iterator[str]:
    if text:
        yield f"{_at(row, max((columns - _width(text)) // 2 + 1, 1))}{style}{text}\x1b[0m"


def _at(row: int, column: int) -> str:
    return f"\x1b[{row};{column}H"


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from tui_agent.safe_text import cell_width

    return cell_width(text)


def _fit(text: str, columns: int, ellipsis: str) -> str:
    if _width(text) <= columns:
        return text
    if text.isascii():
        return text[: max(columns - 1, 0)] + ellipsis
    from tui_agent.safe_text import one_line

    return one_line(text, columns)


def _takes_pictures() -> bool:
    """Whether stdin, stdout and stderr are all a terminal that can do without its lines."""
    if os.name != "posix" or os.environ.get("TERM", "") in ("", "dumb", "unknown") or "TEXTUAL_DRIVER" in os.environ:
        return False
    streams = (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    return all(stream is not None for stream in streams) and all(map(os.isatty, range(3)))


def _signs() -> str:
    """Rounded lines where the terminal's encoding has them."""
    encoding = getattr(sys.__stderr__, "encoding", None) or "ascii"
    return _ROUND if encoding.lower().replace("-", "") == "utf8" else _ASCII


def _write(text: str) -> None:
    data = text.encode(getattr(sys.__stderr__, "encoding", None) or "ascii", "replace")
    while data:
        data = data[os.write(2, data) :]


def _without_echo(attributes: list[Any]) -> list[Any]:
    """Settings under which keys wait as they were typed, Enter included; Ctrl-Z and Ctrl-\\ are keys like others."""
    import termios

    iflag, oflag, cflag, lflag, ispeed, ospeed, chars = attributes
    iflag &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    lflag &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    chars = list(chars)
    nothing = bytes([os.fpathconf(0, "PC_VDISABLE") & 0xFF])
    chars[termios.VMIN], chars[termios.VTIME] = 1, 0
    chars[termios.VSUSP] = chars[termios.VQUIT] = nothing
    return [iflag, oflag, cflag, lflag, ispeed, ospeed, chars]

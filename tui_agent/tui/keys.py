"""The dashboard's keys: bound once, and told once for the footer, the help and the palette."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui_agent.tui.widgets.trace import HELP as TRACE_HELP

# What opens a field has priority: what is typed behind it in one burst is the field's already.
BINDINGS: Final[list[Binding]] = [
    Binding("1", "pane(0)", "panes", key_display="1–5"),
    *(Binding(str(number), f"pane({number - 1})", show=False) for number in range(2, 6)),
    Binding("escape", "cancel", "cancel", key_display="esc"),
    Binding("r", "rerun", "re-run"),
    Binding("slash", "search(True)", "search", key_display="/", priority=True),
    Binding("z", "zoom", "zoom"),
    Binding("s", "save", "save"),
    Binding("y", "copy", "copy"),
    Binding("a", "ask(True)", "ask", priority=True),
    Binding("R", "rerun(True)", "no cache"),
    Binding("b", "reset", "reset"),
    Binding("B", "reset_all", "reset all"),
    Binding("i", "isolate", "isolate"),
    Binding("x", "fault", "fault"),
    Binding("ctrl+p", "command_palette", "palette", key_display="^p"),
    Binding("question_mark", "help", "help", key_display="?"),
    Binding("q", "quit", "quit"),
]

HELP: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Runs",
        (
            ("enter", "in the input: start a run, or ask about the repository"),
            ("a", "go to the input (tab does too)"),
            ("r", "run the same again"),
            ("R", "run the same again without the cache"),
            ("esc", "leave the input, else cancel the run"),
        ),
    ),
    (
        "Panes",
        (
            ("1–5", "trace, tool calls, breakers, rate limit, report"),
            ("tab", "next pane (shift+tab: the one before)"),
            ("z", "zoom the pane to the whole screen and back"),
            ("/", "search the trace"),
        ),
    ),
    ("Trace", TRACE_HELP),
    (
        "Report",
        (
            ("t", "its contents, or back to the text"),
            ("tab", "next link (shift+tab: the one before); enter opens it"),
            ("end", "follow the end again, where one has scrolled away"),
            ("s", "save it to a file"),
            ("y", "copy it, where the terminal allows that (OSC 52)"),
        ),
    ),
    (
        "Breakers",
        (
            ("↑ ↓", "choose one, in their pane"),
            ("b", "reset the chosen one, or the first that is not closed"),
            ("B", "reset all"),
            ("i", "hold the chosen one open, or let it go"),
            ("x", "inject a fault, for learning and for testing"),
        ),
    ),
    (
        "Program",
        (
            ("ctrl+p", "palette: every command by name, and the themes"),
            ("?", "this help"),
            ("q", "quit"),
        ),
    ),
)

COMMANDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("Re-run", "Run the same again", "rerun"),
    ("Re-run without the cache", "Run the same again, everything fetched anew", "rerun(True)"),
    ("Cancel the run", "Stop it; what was seen stays", "cancel"),
    ("Ask", "Go to the input: a repository or a question", "ask"),
    ("Save the report", "Write it to a file", "save"),
    ("Copy the report", "To the clipboard, where the terminal allows that", "copy"),
    ("Search the trace", "Find a text in thoughts, calls and observations", "search"),
    ("Zoom", "The pane on the whole screen, and back", "zoom"),
    ("Trace", "Go to this pane", "pane(0)"),
    ("Tool calls", "Go to this pane", "pane(1)"),
    ("Breakers", "Go to this pane", "pane(2)"),
    ("Rate limit", "Go to this pane", "pane(3)"),
    ("Report", "Go to this pane", "pane(4)"),
    ("Reset the breaker", "Close the chosen one, or the first that is not closed", "reset"),
    ("Reset all breakers", "Close them all", "reset_all"),
    ("Isolate the breaker", "Hold the chosen one open, or let it go", "isolate"),
    ("Inject a fault", "For learning and for testing", "fault"),
    ("Help", "What the keys do and what the shapes mean", "help"),
)

"""The dashboard's keys: bound once, and told once for the footer, the help and the palette."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui_agent.i18n import mark
from tui_agent.tui.widgets.trace import HELP as TRACE_HELP

# What opens a field has priority: what is typed behind it in one burst is the field's already.
# Those of a replay come first, and have priority over the trace's own: they mean something only while it stands.
BINDINGS: Final[list[Binding]] = [
    Binding("space", "walk('play')", mark("play/pause"), priority=True),
    Binding("right_square_bracket", "walk('event', 1)", mark("step"), key_display="[ ]"),
    Binding("left_square_bracket", "walk('event', -1)", show=False),
    Binding("right_curly_bracket", "walk('turn', 1)", mark("turn"), key_display="{ }"),
    Binding("left_curly_bracket", "walk('turn', -1)", show=False),
    Binding("n", "walk('failure', 1)", mark("failure"), key_display="n N", priority=True),
    Binding("N", "walk('failure', -1)", show=False, priority=True),
    Binding("plus", "walk('speed', 1)", mark("speed"), key_display="- +"),
    Binding("minus", "walk('speed', -1)", show=False, priority=True),
    Binding("less_than_sign", "walk('start')", mark("start/end"), key_display="< >"),
    Binding("greater_than_sign", "walk('end')", show=False),
    Binding("g", "walk('time')", mark("go to a time")),
    Binding("1", "pane(0)", mark("panes"), key_display="1–5"),
    *(Binding(str(number), f"pane({number - 1})", show=False) for number in range(2, 6)),
    Binding("escape", "walk('leave')", mark("leave"), key_display="esc"),
    Binding("escape", "cancel", mark("cancel"), key_display="esc"),
    Binding("r", "rerun", mark("re-run")),
    Binding("full_stop", "other_run(1)", mark("other run"), key_display=", ."),
    Binding("comma", "other_run(-1)", show=False),
    Binding("slash", "search(True)", mark("search"), key_display="/", priority=True),
    Binding("z", "zoom", mark("zoom")),
    Binding("s", "save", mark("save")),
    Binding("y", "copy", mark("copy")),
    Binding("a", "ask(True)", mark("ask"), priority=True),
    Binding("h", "history", mark("history")),
    Binding("e", "explain", mark("explain")),
    Binding("o", "options", mark("settings"), show=False),
    Binding("d", "changes", mark("changes"), show=False),
    Binding("R", "rerun(True)", mark("no cache")),
    Binding("b", "hand('reset')", mark("reset")),
    Binding("B", "hand('reset_all')", mark("reset all")),
    Binding("i", "hand('isolate')", mark("isolate")),
    Binding("x", "hand('fault')", mark("fault")),
    Binding("ctrl+p", "command_palette", mark("palette"), key_display="^p"),
    Binding("question_mark", "help", mark("help"), key_display="?"),
    Binding("q", "quit", mark("quit")),
]

HELP: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        mark("Runs"),
        (
            ("enter", mark("in the input: start a run, or ask about the repository")),
            ("", mark("(two addresses or more are compared: a/b c/d)")),
            (", .", mark("in a comparison: the run before, the next")),
            ("d", mark("what has changed since the last run")),
            ("a", mark("go to the input (tab does too)")),
            ("r", mark("run the same again")),
            ("R", mark("run the same again without the cache")),
            ("esc", mark("leave the input, else cancel the run")),
        ),
    ),
    (
        mark("Panes"),
        (
            ("1–5", mark("trace, tool calls, breakers, rate limit, report")),
            ("tab", mark("next pane (shift+tab: the one before)")),
            ("z", mark("zoom the pane to the whole screen and back")),
            ("/", mark("search the trace")),
        ),
    ),
    (mark("Trace"), TRACE_HELP),
    (
        mark("Report"),
        (
            ("t", mark("its contents, or back to the text")),
            ("tab", mark("next link (shift+tab: the one before); enter opens it")),
            ("v", mark("the evidence: which claims were observed, and where")),
            ("end", mark("follow the end again, where one has scrolled away")),
            ("s", mark("save it to a file")),
            ("y", mark("copy it, where the terminal allows that (OSC 52)")),
        ),
    ),
    (
        mark("Breakers"),
        (
            ("↑ ↓", mark("choose one, in their pane")),
            ("b", mark("reset the chosen one, or the first that is not closed")),
            ("B", mark("reset all")),
            ("i", mark("hold the chosen one open, or let it go")),
            ("x", mark("inject a fault, for learning and for testing")),
        ),
    ),
    (
        mark("Recorded runs"),
        (
            ("h", mark("the list of them: enter opens, / searches, d deletes, s saves")),
            ("space", mark("in a replay: play or pause, from its end from the start")),
            ("[ ]", mark("an event back, an event on")),
            ("{ }", mark("to the turn before, to the next")),
            ("n N", mark("to the next failure, to the one before")),
            ("- +", mark("slower, faster: 0.5x to 32x")),
            ("< >", mark("to the start, to the end")),
            ("g", mark("go to a time, such as 1:05 (a click on the slider does too)")),
            ("r", mark("run it again for real")),
            ("esc", mark("leave the replay")),
            ("", mark("A pause of more than 3 s passes in 3 s, its countdowns with it.")),
            ("e", mark("explain each event, here and in a run that goes on")),
        ),
    ),
    (
        mark("Program"),
        (
            ("ctrl+p", mark("palette: every command by name, and the themes")),
            ("o", mark("the settings: each value, where it came from, how to change it; the theme")),
            ("?", mark("this help")),
            ("q", mark("quit")),
        ),
    ),
)

COMMANDS: Final[tuple[tuple[str, str, str], ...]] = (
    (mark("Re-run"), mark("Run the same again"), "rerun"),
    (mark("Re-run without the cache"), mark("Run the same again, everything fetched anew"), "rerun(True)"),
    (mark("What has changed"), mark("Since the last run of this repository"), "changes"),
    (mark("Next run"), mark("Of a comparison, to the right"), "other_run(1)"),
    (mark("Run before"), mark("Of a comparison, to the left"), "other_run(-1)"),
    (mark("Cancel the run"), mark("Stop it; what was seen stays"), "cancel"),
    (mark("Ask"), mark("Go to the input: a repository or a question"), "ask"),
    (mark("Save the report"), mark("Write it to a file"), "save"),
    (mark("Save a picture"), mark("Write the screen to a file, as SVG"), "picture"),
    (mark("Evidence"), mark("Which claims of the report were observed, and where"), "evidence"),
    (mark("Copy the report"), mark("To the clipboard, where the terminal allows that"), "copy"),
    (mark("Search the trace"), mark("Find a text in thoughts, calls and observations"), "search"),
    (mark("Recorded runs"), mark("Open, search, save or delete one"), "history"),
    (mark("Explain each step"), mark("What the latest event is and means, and back"), "explain"),
    (mark("Replay: play or pause"), mark("From the end it begins again"), "replay('play')"),
    (mark("Replay: next event"), mark("One step on"), "replay('event', 1)"),
    (mark("Replay: event before"), mark("One step back"), "replay('event', -1)"),
    (mark("Replay: next turn"), mark("To where it begins"), "replay('turn', 1)"),
    (mark("Replay: turn before"), mark("To where it begins"), "replay('turn', -1)"),
    (mark("Replay: next failure"), mark("What goes wrong next"), "replay('failure', 1)"),
    (mark("Replay: failure before"), mark("What went wrong before"), "replay('failure', -1)"),
    (mark("Replay: faster"), mark("Up to 32x"), "replay('speed', 1)"),
    (mark("Replay: slower"), mark("Down to 0.5x"), "replay('speed', -1)"),
    (mark("Replay: start"), mark("Before the first event"), "replay('start')"),
    (mark("Replay: end"), mark("Behind the last event"), "replay('end')"),
    (mark("Replay: go to a time"), mark("Such as 1:05"), "replay('time')"),
    (mark("Leave the replay"), mark("Back to the session's run"), "replay('leave')"),
    (mark("Zoom"), mark("The pane on the whole screen, and back"), "zoom"),
    (mark("Trace"), mark("Go to this pane"), "pane(0)"),
    (mark("Tool calls"), mark("Go to this pane"), "pane(1)"),
    (mark("Breakers"), mark("Go to this pane"), "pane(2)"),
    (mark("Rate limit"), mark("Go to this pane"), "pane(3)"),
    (mark("Report"), mark("Go to this pane"), "pane(4)"),
    (mark("Reset the breaker"), mark("Close the chosen one, or the first that is not closed"), "hand('reset')"),
    (mark("Reset all breakers"), mark("Close them all"), "hand('reset_all')"),
    (mark("Isolate the breaker"), mark("Hold the chosen one open, or let it go"), "hand('isolate')"),
    (mark("Inject a fault"), mark("For learning and for testing"), "hand('fault')"),
    (mark("Settings"), mark("Each value, where it came from, how to change it"), "options"),
    (mark("Help"), mark("What the keys do and what the shapes mean"), "help"),
)

"""The dashboard's keys: bound once, and told once for the footer, the help and the palette."""

from __future__ import annotations

from typing import Final

from textual.binding import Binding

from tui_agent.tui.widgets.trace import HELP as TRACE_HELP

# What opens a field has priority: what is typed behind it in one burst is the field's already.
# Those of a replay come first, and have priority over the trace's own: they mean something only while it stands.
BINDINGS: Final[list[Binding]] = [
    Binding("space", "walk('play')", "play/pause", priority=True),
    Binding("right_square_bracket", "walk('event', 1)", "step", key_display="[ ]"),
    Binding("left_square_bracket", "walk('event', -1)", show=False),
    Binding("right_curly_bracket", "walk('turn', 1)", "turn", key_display="{ }"),
    Binding("left_curly_bracket", "walk('turn', -1)", show=False),
    Binding("n", "walk('failure', 1)", "failure", key_display="n N", priority=True),
    Binding("N", "walk('failure', -1)", show=False, priority=True),
    Binding("plus", "walk('speed', 1)", "speed", key_display="- +"),
    Binding("minus", "walk('speed', -1)", show=False, priority=True),
    Binding("less_than_sign", "walk('start')", "start/end", key_display="< >"),
    Binding("greater_than_sign", "walk('end')", show=False),
    Binding("g", "walk('time')", "go to a time"),
    Binding("1", "pane(0)", "panes", key_display="1–5"),
    *(Binding(str(number), f"pane({number - 1})", show=False) for number in range(2, 6)),
    Binding("escape", "walk('leave')", "leave", key_display="esc"),
    Binding("escape", "cancel", "cancel", key_display="esc"),
    Binding("r", "rerun", "re-run"),
    Binding("full_stop", "other_run(1)", "other run", key_display=", ."),
    Binding("comma", "other_run(-1)", show=False),
    Binding("slash", "search(True)", "search", key_display="/", priority=True),
    Binding("z", "zoom", "zoom"),
    Binding("s", "save", "save"),
    Binding("y", "copy", "copy"),
    Binding("a", "ask(True)", "ask", priority=True),
    Binding("h", "history", "history"),
    Binding("e", "explain", "explain"),
    Binding("d", "changes", "changes", show=False),
    Binding("R", "rerun(True)", "no cache"),
    Binding("b", "hand('reset')", "reset"),
    Binding("B", "hand('reset_all')", "reset all"),
    Binding("i", "hand('isolate')", "isolate"),
    Binding("x", "hand('fault')", "fault"),
    Binding("ctrl+p", "command_palette", "palette", key_display="^p"),
    Binding("question_mark", "help", "help", key_display="?"),
    Binding("q", "quit", "quit"),
]

HELP: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Runs",
        (
            ("enter", "in the input: start a run, or ask about the repository"),
            ("", "(two addresses or more are compared: a/b c/d)"),
            (", .", "in a comparison: the run before, the next"),
            ("d", "what has changed since the last run"),
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
            ("v", "the evidence: which claims were observed, and where"),
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
        "Recorded runs",
        (
            ("h", "the list of them: enter opens, / searches, d deletes, s saves"),
            ("space", "in a replay: play or pause, from its end from the start"),
            ("[ ]", "an event back, an event on"),
            ("{ }", "to the turn before, to the next"),
            ("n N", "to the next failure, to the one before"),
            ("- +", "slower, faster: 0.5x to 32x"),
            ("< >", "to the start, to the end"),
            ("g", "go to a time, such as 1:05 (a click on the slider does too)"),
            ("r", "run it again for real"),
            ("esc", "leave the replay"),
            ("", "A pause of more than 3 s passes in 3 s, its countdowns with it."),
            ("e", "explain each event, here and in a run that goes on"),
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
    ("What has changed", "Since the last run of this repository", "changes"),
    ("Next run", "Of a comparison, to the right", "other_run(1)"),
    ("Run before", "Of a comparison, to the left", "other_run(-1)"),
    ("Cancel the run", "Stop it; what was seen stays", "cancel"),
    ("Ask", "Go to the input: a repository or a question", "ask"),
    ("Save the report", "Write it to a file", "save"),
    ("Save a picture", "Write the screen to a file, as SVG", "picture"),
    ("Evidence", "Which claims of the report were observed, and where", "evidence"),
    ("Copy the report", "To the clipboard, where the terminal allows that", "copy"),
    ("Search the trace", "Find a text in thoughts, calls and observations", "search"),
    ("Recorded runs", "Open, search, save or delete one", "history"),
    ("Explain each step", "What the latest event is and means, and back", "explain"),
    ("Replay: play or pause", "From the end it begins again", "replay('play')"),
    ("Replay: next event", "One step on", "replay('event', 1)"),
    ("Replay: event before", "One step back", "replay('event', -1)"),
    ("Replay: next turn", "To where it begins", "replay('turn', 1)"),
    ("Replay: turn before", "To where it begins", "replay('turn', -1)"),
    ("Replay: next failure", "What goes wrong next", "replay('failure', 1)"),
    ("Replay: failure before", "What went wrong before", "replay('failure', -1)"),
    ("Replay: faster", "Up to 32x", "replay('speed', 1)"),
    ("Replay: slower", "Down to 0.5x", "replay('speed', -1)"),
    ("Replay: start", "Before the first event", "replay('start')"),
    ("Replay: end", "Behind the last event", "replay('end')"),
    ("Replay: go to a time", "Such as 1:05", "replay('time')"),
    ("Leave the replay", "Back to the session's run", "replay('leave')"),
    ("Zoom", "The pane on the whole screen, and back", "zoom"),
    ("Trace", "Go to this pane", "pane(0)"),
    ("Tool calls", "Go to this pane", "pane(1)"),
    ("Breakers", "Go to this pane", "pane(2)"),
    ("Rate limit", "Go to this pane", "pane(3)"),
    ("Report", "Go to this pane", "pane(4)"),
    ("Reset the breaker", "Close the chosen one, or the first that is not closed", "hand('reset')"),
    ("Reset all breakers", "Close them all", "hand('reset_all')"),
    ("Isolate the breaker", "Hold the chosen one open, or let it go", "hand('isolate')"),
    ("Inject a fault", "For learning and for testing", "hand('fault')"),
    ("Help", "What the keys do and what the shapes mean", "help"),
)

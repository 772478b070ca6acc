"""One pane a file.

Each pane is a `Pane` (`widgets/pane.py`): it names its title in `TITLE`, the parts of the state it
draws in `AREAS`, and draws them in `update_from(state, now)`, which the app calls when one of these
parts has changed and the pane can be seen (at most about 15 times a second). What counts down is
drawn in `tick(now)`, whose answer says when to be called next; None lets the clock stand still.
Text from outside goes through `safe_text.visible` and reaches a widget as `Content` or `Text` or
with `markup=False`. Each pane, or the one focusable widget in it, takes the focus; `TracePane` has
`action_search()`, which the app's `/` calls.
"""

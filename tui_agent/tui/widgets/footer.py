"""The last line: the keys that do something now; what does not fit is in the help and the palette."""

from __future__ import annotations

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from tui_agent.i18n import say

LAST = ("app.help", "help", "app.quit", "quit")


class KeyBar(Widget):
    """The active keys with a word each, in one line; a click on one presses it."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(id="footer")
        self._keys: list[tuple[int, int, str]] = []
        self._drawn = Content()

    def on_mount(self) -> None:
        """Follow the focus, since keys depend on it."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_updated)

    def on_resize(self) -> None:
        """Another number of keys fits."""
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Press the key under the mouse."""
        for begin, end, key in self._keys:
            if begin <= event.x < end:
                self.app.simulate_key(key)

    def render(self) -> Content:
        """The line."""
        return self._drawn

    def _bindings_updated(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self.redraw()

    def redraw(self) -> None:
        """Draw the keys that do something now."""
        content = self._line(self.content_size.width)
        if content != self._drawn:
            self._drawn = content
            self.refresh()

    def _line(self, width: int) -> Content:
        shown: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show and active.binding.description:
                shown.setdefault(active.binding.action, active.binding)
        last = [binding for action, binding in shown.items() if action in LAST]
        rest = [binding for action, binding in shown.items() if action not in LAST]
        labels = {id(binding): self._label(binding) for binding in (*rest, *last)}
        room = width - sum(labels[id(binding)].cell_length + 2 for binding in last) + 2
        fitting: list[Binding] = []
        for binding in rest:
            room -= labels[id(binding)].cell_length + 2
            if room < 0:
                break
            fitting.append(binding)
        line = Content()
        self._keys = []
        for binding in (*fitting, *last):
            begin = line.cell_length + (2 if line else 0)
            line = Content.assemble(line, "  " if line else "", labels[id(binding)])
            self._keys.append((begin, line.cell_length, binding.key))
        return line

    def _label(self, binding: Binding) -> Content:
        key = binding.key_display or self.app.get_key_display(binding)
        text = say(binding.description)
        words = text[:1].lower() + text[1:]
        return Content.assemble((key, "bold $footer-key-foreground"), (f" {words}", "$foreground-muted"))

"""Every setting: its value, where that came from, what it means, and how to change it."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_agent.i18n import mark, say, told
from tui_agent.safe_text import cell_width, one_line
from tui_agent.settings import Settings, documented
from tui_agent.tui.preferences import Preferences
from tui_agent.tui.rebinding import NAMES
from tui_agent.tui.widgets.footer import KeyBar

NOTHING_LIKE_IT = mark("No setting has all of these words. esc in the field shows them all again.")
TO_CHANGE = mark("To change it")
_NAME, _ORIGIN = 30, 20
"""Cells of the columns beside the value."""
WIDE = 72
"""Cells from which on the origin stands in the same row."""


class Row(NamedTuple):
    """One setting as it is shown.

    Args:
        name: the variable, or `keys.` and what is bound.
        value: in words; of a secret only whether it is set.
        origin: where it came from.
        about: what it means, and how to change it; lines.
    """

    name: str
    value: str
    origin: str
    about: str


def rows(settings: Settings, theme: str, theme_origin: str) -> list[Row]:
    """Every setting, in the order of its documentation, and the keys that the user has bound.

    Args:
        settings: the user's.
        theme: the one that is shown.
        theme_origin: where it comes from.
    """
    found = []
    for one in documented():
        value, origin = getattr(settings, one.field), settings.origin(one.field)
        if one.field == "theme":
            text, origin = theme, theme_origin
        elif one.secret:
            text = say("not set") if value is None else say("set")
            if one.field == "api_key" and value and not settings.has_key:
                text = say("none is needed")
        elif isinstance(value, bool):
            text = "1" if value else "0"
        else:
            text = (say(one.default) if one.default else "–") if value is None else str(value)
        name, *others = one.names
        also = say(" ({name} works too)", name=say(" or ").join(others)) if others else ""
        ways = [
            say("in the environment or in .env:  {way}", way=f"{name}=…{also}"),
            say("in config.toml:  {way}", way=f"{one.field} = …"),
        ]
        if one.flag:
            ways.insert(0, say("for one start:  {way}", way=one.flag + ("" if one.field == "record" else " …")))
        if one.field == "theme":
            ways.insert(0, say("here:  enter shows all themes; the choice is kept for the next start"))
        default = say("Default: {value}", value=say(one.default or mark("none")))
        about = _sentence(say(one.help))
        where = say("Now: {text} ({origin})", text=text, origin=told(origin))
        found.append(Row(name, text, told(origin), "\n".join((about, "", where, default, "", say(TO_CHANGE), *ways))))
    for name, wanted in settings.keys.items():
        keys = wanted if isinstance(wanted, str) else ", ".join(map(str, wanted)) if isinstance(wanted, list) else "?"
        way = say("in config.toml, under [keys]:  {way}", way=f"{name} = …")
        about = f"{say('The key of {name}.', name=name)}\n\n{say(TO_CHANGE)}\n{way}"
        if name not in NAMES:
            about = say("There is nothing of this name to be bound; the README lists what there is.")
        found.append(Row(f"keys.{name}", keys, "config.toml", about))
    return found


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + say(".")


class SearchSettings(Input):
    """Words to look for; the arrow keys go on to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", mark("all settings")),
        Binding("enter,down", "leave(False)", mark("to the list")),
    ]

    def __init__(self) -> None:
        super().__init__(
            placeholder=say("search: a name, a value, a source, a word …"), id="history-search", compact=True
        )
        self.cursor_blink = False

    def action_leave(self, clear: bool) -> None:
        """Go to the list, with all settings again where that was wanted."""
        if clear:
            self.value = ""
        self.screen.set_focus(self.screen.query_one(OptionList))


class SettingList(OptionList):
    """The list; its key stands in the line of keys."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", mark("what it means"))]


class SettingsScreen(ModalScreen[None]):
    """A list with a search field over it.

    Args:
        preferences: the user's.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", mark("back"), key_display="esc"),
        Binding("slash", "search", mark("search"), key_display="/", priority=True),
        Binding("t", "theme", mark("theme")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(self, preferences: Preferences) -> None:
        # It looks as the list of recorded runs does.
        super().__init__(id="history")
        self._preferences = preferences
        self._rows: list[Row] = []
        self._keys = KeyBar()

    def compose(self) -> ComposeResult:
        """The field, the list or that nothing is found, the keys."""
        with Vertical(id="history-box") as box:
            box.border_title = Content(say("Settings"))
            yield SearchSettings()
            yield Static(say(NOTHING_LIKE_IT), id="history-none", markup=False)
            yield SettingList(id="history-list", markup=False)
        yield self._keys

    def on_mount(self) -> None:
        """Show them all, and again when the theme has changed."""
        self._list.focus()
        self._keys.redraw()
        self._fill()
        self.app.theme_changed_signal.subscribe(self, lambda _: self._fill())

    @property
    def _list(self) -> OptionList:
        return self.query_one(OptionList)

    def _fill(self) -> None:
        """The settings that have all the words, with the cursor where it was."""
        every = rows(self._preferences.settings, self.app.theme, self._preferences.theme_origin(self.app))
        words = self.query_one(SearchSettings).value.casefold().split()
        self._rows = [row for row in every if all(word in " ".join(row).casefold() for word in words)]
        place = self._list.highlighted or 0
        width = self._list.scrollable_content_region.width or self.size.width - 6
        self._list.clear_options()
        self._list.add_options(Option(_drawn(row, width)) for row in self._rows)
        self._list.highlighted = min(place, len(self._rows) - 1) if self._rows else None
        self._list.display = bool(self._rows)
        self.query_one("#history-none").display = not self._rows
        count = say("{shown} of {runs}", shown=len(self._rows), runs=len(every)) if words else str(len(every))
        self.query_one("#history-box").border_subtitle = Content(count)

    @on(Input.Changed, "#history-search")
    def _typed(self) -> None:
        self._fill()

    def on_resize(self, event: events.Resize) -> None:
        """Rows are as wide as the screen."""
        self.call_after_refresh(self._fill)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has priority, so that letters typed right behind it are the field's, is a letter within it."""
        return action != "search" or not isinstance(self.focused, Input)

    def action_search(self) -> None:
        """Go to the field, before the next key comes."""
        self.set_focus(self.query_one(SearchSettings))

    def action_theme(self) -> None:
        """Choose a theme."""
        self.app.search_themes()

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        """Say what the setting under the cursor means."""
        place = self._list.highlighted
        if place is not None and place < len(self._rows):
            self.app.push_screen(OneSetting(self._rows[place]))


class OneSetting(ModalScreen[None]):
    """What a setting means, and how to change it.

    Args:
        row: the setting.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss(None)", mark("close")),
        Binding("enter", "choose", mark("choose")),
        Binding("ctrl+q", "app.quit", mark("quit"), show=False),
    ]

    def __init__(self, row: Row) -> None:
        super().__init__(classes="dialog")
        self._row = row

    @property
    def _chooses(self) -> bool:
        return self._row.name == "REPO_AGENT_THEME"

    def compose(self) -> ComposeResult:
        """One scrolling text."""
        with VerticalScroll(id="help") as box:
            box.border_title = Content(one_line(self._row.name, 60))
            box.border_subtitle = Content(
                say("enter shows the themes · esc closes") if self._chooses else say("esc closes")
            )
            lines = [one_line(line, 300) for line in self._row.about.split("\n")]
            parts = [Content.styled(line, "bold $text-primary") if line == say(TO_CHANGE) else line for line in lines]
            yield Static(Content("\n").join(Content(part) if isinstance(part, str) else part for part in parts))

    def on_mount(self) -> None:
        """Let the keys scroll it."""
        self.query_one("#help").focus()

    def action_choose(self) -> None:
        """Close; of the theme, show them all."""
        self.dismiss(None)
        if self._chooses:
            self.app.search_themes()


def _drawn(row: Row, width: int) -> Content:
    """Name, value and origin in columns; the origin is left out where there is no room."""
    origin = _ORIGIN if width >= WIDE else 0
    name = one_line(row.name, _NAME - 2)
    room = max(8, width - _NAME - origin)
    value = one_line(row.value, room - 2)
    is_set = row.origin != say("default")
    return Content.assemble(
        (name + " " * (_NAME - cell_width(name)), "bold" if is_set else ""),
        (value + " " * (room - cell_width(value)), "" if is_set else "$foreground-muted"),
        (one_line(row.origin, origin) if origin else "", "$text-primary" if is_set else "$foreground-muted"),
    )

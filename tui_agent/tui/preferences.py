"""What the user has set, as far as the dashboard has to do with it: keys, the theme, the screen of all settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from textual.app import App
from textual.binding import BindingsMap
from textual.theme import Theme

from tui_agent.i18n import mark, say, told
from tui_agent.settings import Settings
from tui_agent.tui import themes

if TYPE_CHECKING:
    from tui_agent.tui.rebinding import Bound

Keep = Callable[[str], str | None]
"""Keeps a theme for the next start; None, or why that could not be done."""
TOLD_FOR: Final = 12.0
"""Seconds for which it stands there what is wrong with the keys."""
REMEMBERED: Final = mark("chosen here")


class Preferences:
    """The user's settings, put to use in the dashboard.

    Args:
        settings: all of them.
        theme: what was chosen in the dashboard before; it counts where the settings name none.
        keep: keeps a choice; None where nothing is kept.
    """

    def __init__(self, settings: Settings | None = None, theme: str | None = None, keep: Keep | None = None) -> None:
        self.settings = settings or Settings()
        self._remembered = theme
        self._keep = keep
        self._bound: Bound | None = None
        self._said: Callable[[Any, str], None] = lambda level, text: None

    @property
    def bound(self) -> Bound:
        """Which keys do what."""
        if self._bound is None:
            from tui_agent.tui.rebinding import bound

            self._bound = bound(self.settings.keys)
        return self._bound

    def dress(self, app: App[Any], theme: str | None) -> str:
        """Choose the app's colours and keys before it begins; see `themes.dress`.

        Args:
            app: one that is being made.
            theme: what a setting names; None for what was chosen before.
        """
        if self.settings.keys:
            # Not Textual's keymap, which forgets what else stands on a key that something is moved away from.
            every = [binding for same in app._bindings.key_to_bindings.values() for binding in same]
            app._bindings = BindingsMap(self.bound.applied(every))
        if theme is None and self._remembered is not None and not themes.is_known(app, self._remembered):
            # Of another version, perhaps; nobody has to hear of it.
            self._remembered = None
        return themes.dress(app, theme or self._remembered)

    def begin(self, app: App[Any], say: Callable[[Any, str], None]) -> None:
        """Say what is wrong with the keys, and keep each theme that is chosen from now on."""
        self._said = say
        if self.settings.keys:
            for trouble in self.bound.troubles:
                # Not in the line for messages, which the run that begins now would clear.
                app.notify(told(trouble), severity="warning", markup=False, timeout=TOLD_FOR)
        app.theme_changed_signal.subscribe(app, self._theme_chosen)

    def _theme_chosen(self, theme: Theme) -> None:
        if self._keep is None or theme.name == self._remembered:
            return
        self._remembered = theme.name
        trouble = self._keep(theme.name)
        if trouble is not None:
            self._said("warning", say("The theme could not be kept for the next start: {trouble}.", trouble=trouble))
        elif self.settings.is_said("theme"):
            where = self.settings.origin("theme")
            self._said(
                "info",
                say(
                    "At the next start REPO_AGENT_THEME ({where}) comes first; unset it to keep this theme.",
                    where=where,
                ),
            )

    def theme_origin(self, app: App[Any]) -> str:
        """Where the theme that is shown comes from."""
        if app.theme == self._remembered:
            return REMEMBERED
        said = self.settings.theme
        if said is not None and app.theme == themes.ALIASES.get(said, said):
            return self.settings.origin("theme")
        return "default"

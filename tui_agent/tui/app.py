"""The dashboard: lets a session's events reach the state, and routes keys to what they mean."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.driver import Driver
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import Worker

from tui_agent import events as ev
from tui_agent.request import RunRequest, UsageError
from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.safe_text import one_line, typeable, visible
from tui_agent.settings import Settings
from tui_agent.tui import keys, saving, themes
from tui_agent.tui.refresher import Drawn, Refresher
from tui_agent.tui.running import RunControl
from tui_agent.tui.screens.dashboard import DashboardScreen
from tui_agent.tui.session_like import SessionLike
from tui_agent.tui.state import DEFAULT_THRESHOLD, DashboardState
from tui_agent.tui.widgets.prompt import AskInput

QUIT_PATIENCE = 2.0
"""Seconds that quitting waits for a cancelled run, and for the session to close."""
NO_RUN_YET = "No run yet: write a repository into the input first (a)."
BUSY = "A run is going on: escape cancels it."
EXPLAINED_FOR = 4.0
"""Seconds for which the answer to a key stands on the screen."""


class DashboardApp(App[int]):
    """One run at a time in five panes; the exit value is the process's exit code.

    Args:
        session: who runs; the dashboard closes it at the end.
        request: what to run at once; None to ask first.
        clock: the time that countdowns and the run's clock show.
        context_limit: tokens that the model's context holds, where known.
        threshold: failures that open a breaker, until an event says so.
        api_url: the API that names in the input are asked of.
        theme: a theme's name, or "dark" or "light".
        driver_class: who speaks with the terminal; None for the system's.
    """

    class KeyPassed(Message):
        """A key that was typed early has gone through the whole tree."""

    TITLE = "repo-agent-tui"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*keys.BINDINGS]

    def __init__(
        self,
        session: SessionLike,
        request: RunRequest | None = None,
        *,
        clock: Clock | None = None,
        context_limit: int | None = None,
        threshold: int = DEFAULT_THRESHOLD,
        api_url: str = Settings.github_api_url,
        theme: str | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        self.state = DashboardState(threshold=threshold)
        self._session = session
        self._first_request = request
        self._clock = clock or SystemClock()
        self._api_url = api_url
        self._begin_with(theme)
        self._early: list[Event] | None = []
        self._origin = self._clock.monotonic()
        self.board = DashboardScreen(self._clock.time, context_limit, self._wake)
        self._refresher = Refresher(self.state, self.run_time, self._visible, self.set_timer)
        self._runs = RunControl(
            session, self.state, self.run_time, self._emit, self._say, self._work, self.board.correct
        )

    def get_default_screen(self) -> Screen[Any]:
        """The screen with the panes."""
        return self.board

    def on_mount(self) -> None:
        """Listen to the session."""
        self._session.listen(self._emit)

    async def on_dashboard_screen_ready(self) -> None:
        """Draw the empty state; what is slow begins after the first paint."""
        self.board.focus_first(asking=self._first_request is None)
        await self._hand_on()
        self._refresher.flush()
        self.board.stand()
        if self._theme_missing:
            self._say("warning", f'There is no theme "{self._theme_missing[:40]}"; ctrl+p, Theme lists them all.')
        self.call_after_refresh(self._begin)

    async def on_event(self, event: Event) -> None:
        """Keep what is typed before the panes stand until somebody has the focus.

        And let nothing be pasted that no key could type: a field shows its text as it is.
        """
        if isinstance(event, Paste) and not event.is_forwarded:
            event.text = typeable(event.text)
        if self._early is not None and isinstance(event, Key | Paste):
            self._early.append(event)
        else:
            await super().on_event(event)

    async def on_dashboard_app_key_passed(self) -> None:
        """The next of the early keys."""
        await self._hand_on()

    async def _hand_on(self) -> None:
        """Hand on what was typed early: text at once; what stands behind a key that is none when that is done."""
        while self._early:
            event = self._early.pop(0)
            await super().on_event(event)
            if self._early and isinstance(event, Key) and not event.is_printable:
                # Such a key finds its command only here, on its way up; what is sent behind it comes after it.
                (self.focused or self.screen).post_message(self.KeyPassed())
                return
        self._early = None

    def _fatal_error(self) -> None:
        """One sentence in the place of Textual's traceback, which shows every local variable, keys among them."""
        if sys.flags.dev_mode:
            super()._fatal_error()
            return
        error = self._exception
        what = one_line(f"{type(error).__name__}: {error}", 300)
        self.panic(Text(f"repo-agent-tui: the dashboard broke ({what}); `python -X dev -m tui_agent` shows where."))

    def _begin_with(self, theme: str | None) -> None:
        """Choose the colours before the style sheet is read: a change afterwards would read it twice more."""
        for one in (themes.DARK, themes.LIGHT):
            self.register_theme(one)
        wanted = themes.ALIASES.get(theme or "dark", theme or "")
        self._theme_missing = "" if wanted in self.available_themes else wanted
        chosen = self.available_themes[themes.DARK.name if self._theme_missing else wanted]
        if chosen.ansi:
            self.theme = chosen.name
            return
        self.set_reactive(App.theme, chosen.name)
        looks = {f"-theme-{chosen.name}": True, "-dark-mode": chosen.dark, "-light-mode": not chosen.dark}
        self.update_classes(looks, update=False)
        self.stylesheet.set_variables(self.get_css_variables())

    def _begin(self) -> None:
        self._runs.prepare()
        if self._first_request is not None:
            self._runs.start(self._first_request)

    async def on_unmount(self) -> None:
        """Close what the session holds open."""
        await self._runs.close(QUIT_PATIENCE)

    # -- events -----------------------------------------------------------------------------

    def run_time(self) -> float:
        """Seconds since the run began, of the same kind as its events' `at`."""
        return self._clock.monotonic() - self._origin

    def _visible(self) -> Sequence[Drawn]:
        # while the dashboard closes, panes lose their parts before their timers
        return self.board.visible_parts() if self.is_running else ()

    def _wake(self) -> None:
        self._refresher.wake()

    def _say(self, level: ev.Level, text: str) -> None:
        self.board.message.say(level, text)

    def _work(self, run: Coroutine[Any, Any, None]) -> Worker[None]:
        return self.run_worker(run, group="run", exclusive=True, exit_on_error=False)

    def _emit(self, event: ev.Event) -> None:
        """Take in an event of the session; it is drawn with others that come soon after."""
        if not self.is_running:
            return  # a run that outlived the dashboard
        if event.run_id is None or isinstance(event, ev.RunStarted):
            self.state.advance(self.run_time())
        if isinstance(event, ev.RunStarted):
            self._origin = self._clock.monotonic() - event.at
            self.board.message.clear()
            self.board.leave_input()
        self.state.apply(event)
        if isinstance(event, ev.Notice):
            self._say(event.level, event.text)
        elif isinstance(event, ev.RunFinished) and event.run_id == self.state.run.run_id:
            self._tell_end(event)
        elif isinstance(event, ev.BreakerChanged):
            self.board.show_alarm(any(row.state != "closed" for row in self.state.breakers.values()))
        self._refresher.wake()

    def _tell_end(self, event: ev.RunFinished) -> None:
        if event.outcome == "completed":
            self._say("info", "The report is written: s saves it, y copies it, r runs again.")
        elif event.outcome == "cancelled":
            self._say("warning", "Cancelled; what was seen stays. r runs it again.")
        else:
            level: ev.Level = "error" if event.outcome == "failed" else "warning"
            self._say(level, event.error or f"The run ended as {event.outcome}.")

    # -- runs -------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Start what was asked in the input."""
        if not isinstance(event.input, AskInput):
            return
        text = event.value.strip()
        if self._runs.busy:
            self._explain(BUSY)
        elif not text:
            self._explain("Write a repository (owner/name, a URL, a folder) or a question.")
        else:
            from tui_agent.tui.asking import request_for

            try:
                current, follows = self._runs.request, self._runs.reported
                request = request_for(text, current, follows=follows, api_url=self._api_url)
            except UsageError as error:
                self._say("error", str(error))
                return
            event.input.remember(text)
            self._runs.start(request)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has priority as a key is a letter where there is a field, and nothing on other screens."""
        if action in ("search", "ask") and parameters:
            return self.screen is self.board and not isinstance(self.focused, Input)
        return True

    def action_ask(self, typed: bool = False) -> None:
        """Go to the input."""
        self.board.focus_input()

    def action_rerun(self, no_cache: bool = False) -> None:
        """Run the same again."""
        if self._runs.busy:
            self._explain(BUSY)
        elif self._runs.request is None:
            self._explain(NO_RUN_YET)
        else:
            self._runs.start(replace(self._runs.request, no_cache=no_cache))

    def action_cancel(self) -> None:
        """Cancel the run."""
        if not self._runs.cancel():
            self._explain("Nothing to cancel: no run is going on.")

    # -- panes ------------------------------------------------------------------------------

    def action_pane(self, index: int) -> None:
        """Go to a pane, counted from 0."""
        self.board.focus_pane(index)

    def action_zoom(self) -> None:
        """Give the pane the whole screen, or take it back."""
        if not self.board.toggle_zoom():
            self._explain("The pane has the whole screen already; from 100 columns on, all five are shown.")

    def action_search(self, typed: bool = False) -> None:
        """Search the trace.

        Args:
            typed: it was asked for by its key.
        """
        self.board.search_trace()

    # -- the report -------------------------------------------------------------------------

    def action_save(self) -> None:
        """Ask for a file and write the report there."""
        if not self.state.report.text:
            self._explain("Nothing to save: there is no report yet.")
            return
        if self.state.run.running:
            self._explain("The report is still being written; it can be saved when the run has ended.")
            return
        from tui_agent.report.export import RENDERERS, suggest_name
        from tui_agent.tui.screens.save import save_screen

        def saved(name: str | None) -> None:
            if name is not None:
                self._explain(f"Saved as {name}.")

        self.push_screen(save_screen(suggest_name(self.state.run.repo), tuple(RENDERERS), self._save), saved)

    def _save(self, path: Path, force: bool) -> str | None:
        from tui_agent.report.export import ExportError, TargetExistsError, write

        try:
            write(path, saving.document_of(self.state, self._clock.time()), force=force)
        except TargetExistsError as error:
            return f"{error} Enter again replaces it."
        except ExportError as error:
            return str(error)
        return None

    def action_copy(self) -> None:
        """Copy the report, where the terminal allows it (OSC 52)."""
        text = self.state.report.text
        if not text:
            self._explain("Nothing to copy: there is no report yet.")
            return
        self.copy_to_clipboard(text)
        self._explain(f"Copied {len(text):,} characters, if this terminal allows it (OSC 52).")

    def copy_to_clipboard(self, text: str) -> None:
        """Copy a text as it is shown: whoever pastes it is not told anything that cannot be seen."""
        super().copy_to_clipboard(visible(text))

    # -- breakers ---------------------------------------------------------------------------

    def action_reset(self) -> None:
        """Close the chosen breaker, or the first that is not closed."""
        name = self.board.breakers.chosen
        if name is None:
            self._explain("Nothing to reset: all breakers are closed.")
        elif self.state.breakers[name].calm:
            self._explain(f"Nothing to reset: {name} is closed.")
        else:
            self._session.reset_breaker(name)

    def action_reset_all(self) -> None:
        """Close all breakers."""
        if all(row.calm for row in self.state.breakers.values()):
            self._explain("Nothing to reset: all breakers are closed.")
        else:
            self._session.reset_breaker()

    def action_isolate(self) -> None:
        """Hold the chosen breaker open, or let it go."""
        name = self.board.breakers.chosen
        if name is None:
            self._explain("Choose a breaker first: 3 goes to them, ↑ and ↓ choose.")
        elif self.state.breakers[name].isolated:
            self._session.release_breaker(name)
        else:
            self._session.isolate_breaker(name)

    def action_fault(self) -> None:
        """Ask for a fault and inject it."""
        from tui_agent.tui.screens.fault import fault_screen

        def injected(spec: str | None) -> None:
            if spec is not None:
                self._explain(f"Injected {spec}.")

        self.push_screen(fault_screen(self.state.breakers, self._inject), injected)

    def _inject(self, spec: str) -> str | None:
        try:
            self._session.inject(spec)
        except ValueError as error:
            return str(error)
        return None

    # -- the program ------------------------------------------------------------------------

    def action_help(self) -> None:
        """What the keys do and what the shapes mean."""
        from tui_agent.tui.screens.help import HelpScreen

        own: dict[str, tuple[list[str], str]] = {}
        for node, binding, _, _ in self.board.active_bindings.values():
            if node not in (self, self.board) and binding.description:
                names = own.setdefault(binding.action, ([], binding.description))[0]
                names.append(binding.key_display or self.get_key_display(binding))
        self.push_screen(HelpScreen((" ".join(names), text) for names, text in own.values()))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's command by name, and Textual's own where they mean something here."""
        for title, text, action in keys.COMMANDS:
            yield SystemCommand(title, text, self._command(action))
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Quit", "Screenshot"):
                yield command

    def _command(self, action: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            await self.run_action(action)

        return run

    def _explain(self, text: str) -> None:
        """Say why a key did nothing, or what it did."""
        if self.board.has_class("-tiny"):
            self._say("info", text)  # a toast would cover all there is
        else:
            self.notify(one_line(text, 300), markup=False, timeout=EXPLAINED_FOR)

    def action_help_quit(self) -> None:
        """ctrl+c, where no text is selected."""
        self._explain("ctrl+c copies selected text; esc cancels the run, q quits.")

    async def action_quit(self) -> None:
        """Cancel the run, if one goes on, and leave with exit code 0."""
        await self._runs.end(QUIT_PATIENCE)
        self.exit(0)

"""The dashboard: lets a session's events reach the state, and routes keys to what they mean."""

from __future__ import annotations

import sys
from collections.abc import Coroutine, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.driver import Driver
from textual.events import Event, Key, Paste
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input
from textual.worker import Worker

from tui_agent import events as ev
from tui_agent.i18n import say, told
from tui_agent.request import RunRequest
from tui_agent.resilience.clock import Clock, SystemClock
from tui_agent.safe_text import one_line, typeable
from tui_agent.settings import Settings
from tui_agent.tui import keys, saving
from tui_agent.tui.copying import CopyingApp
from tui_agent.tui.hands import Hands
from tui_agent.tui.palette import commands, open_commands, open_themes
from tui_agent.tui.preferences import Preferences
from tui_agent.tui.receiving import Receiver
from tui_agent.tui.refresher import Drawn, Refresher
from tui_agent.tui.replaying import Opened, ReplayControl
from tui_agent.tui.running import RunControl
from tui_agent.tui.screens.dashboard import DashboardScreen
from tui_agent.tui.session_like import SessionLike
from tui_agent.tui.stage import Stage
from tui_agent.tui.starting import Starter
from tui_agent.tui.state import DEFAULT_THRESHOLD, DashboardState
from tui_agent.tui.telling import Teller
from tui_agent.tui.timers import once
from tui_agent.tui.widgets.prompt import AskInput
from tui_agent.tui.widgets.replay_bar import ReplayBar
from tui_agent.tui.widgets.run_tabs import RunTabs

if TYPE_CHECKING:
    from tui_agent.runs.store import RunStore

QUIT_PATIENCE = 2.0
"""Seconds that quitting waits for a cancelled run, and for the session to close."""
EXPLAINED_FOR = 4.0
"""Seconds for which the answer to a key stands on the screen."""


class DashboardApp(CopyingApp):
    """One run at a time in five panes; the exit value is the process's exit code.

    Args:
        session: who runs; the dashboard closes it at the end.
        request: what to run at once; None to ask first.
        replay: a recorded run to play at once.
        store: the records that the list shows; None for this user's own.
        clock: the time that countdowns and the run's clock show.
        context_limit: tokens that the model's context holds, where known.
        threshold: failures that open a breaker, until an event says so.
        api_url: the API that names in the input are asked of.
        theme: a theme's name, or "dark" or "light".
        preferences: what the user has set; None for nothing.
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
        replay: Opened | None = None,
        store: RunStore | None = None,
        clock: Clock | None = None,
        context_limit: int | None = None,
        threshold: int = DEFAULT_THRESHOLD,
        api_url: str = Settings.github_api_url,
        theme: str | None = None,
        preferences: Preferences | None = None,
        driver_class: type[Driver] | None = None,
    ) -> None:
        super().__init__(driver_class=driver_class)
        self._session = session
        self._first_request = request
        self._first_replay = replay
        self._store = store
        self._threshold = threshold
        self._clock = clock or SystemClock()
        self._preferences = preferences or Preferences()
        self._theme_missing = self._preferences.dress(self, theme)
        self._early: list[Event] | None = []
        stage = self._stage = Stage(self._clock, threshold)
        self.board = DashboardScreen(stage.epoch, context_limit, self._wake)
        self._refresher = Refresher(lambda: stage.state, stage.now, self._visible, partial(once, self), stage.passes)
        self._runs = RunControl(session, stage, self._emit, self._say, self._work, self._refused)
        self._hands = Hands(self, session, stage, self.board.breakers, self._explain)
        self._replays = ReplayControl(stage, self.board, self._refresher, self._clock, self.set_interval, self._explain)
        self._starter = Starter(session, stage, self._runs, self._replays, self._say, self._explain, api_url)
        teller = Teller(stage, self._say, lambda name: self._preferences.bound.shown(name))
        self._receiver = Receiver(stage, self.board, self._refresher, self._replays, teller, self.refresh_bindings)

    def get_default_screen(self) -> Screen[Any]:
        """The screen with the panes."""
        return self.board

    def on_mount(self) -> None:
        """Listen to the session."""
        self._session.listen(self._emit)

    async def on_dashboard_screen_ready(self) -> None:
        """Draw the empty state; what is slow begins after the first paint."""
        self.board.focus_first(asking=self._first_request is None and self._first_replay is None)
        await self._hand_on()
        self._refresher.flush()
        self.board.stand()
        if self._theme_missing:
            self._say(
                "warning",
                say(
                    'There is no theme "{theme_missing}"; ctrl+p, Theme lists them all.',
                    theme_missing=self._theme_missing[:40],
                ),
            )
        self._preferences.begin(self, self._say)
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
        self.panic(
            Text(
                say(
                    "repo-agent-tui: the dashboard broke ({what}); `python -X dev -m tui_agent` shows where.", what=what
                )
            )
        )

    def _begin(self) -> None:
        self._runs.prepare()
        if self._first_replay is not None:
            self.replay(self._first_replay, play=True)
        if self._first_request is not None:
            self._starter.start(self._first_request)

    async def on_unmount(self) -> None:
        """Close what the session holds open."""
        await self._runs.close(QUIT_PATIENCE)

    # -- events -----------------------------------------------------------------------------

    @property
    def state(self) -> DashboardState:
        """What is shown."""
        return self._stage.state

    def run_time(self) -> float:
        """Seconds since the run that is shown began, of the same kind as its events' `at`."""
        return self._stage.now()

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
        """Take in an event of the session; none of a run that outlived the dashboard."""
        if self.is_running:
            self._receiver.take(event)

    # -- runs -------------------------------------------------------------------------------

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Start what was asked in the input."""
        if not isinstance(event.input, AskInput):
            return
        text = event.value.strip()
        if self._starter.submit(text):
            event.input.remember(text)

    def _refused(self, request: RunRequest) -> None:
        if self._replays.shown is None:
            self.board.correct(request)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What has priority as a key is a letter where there is a field, and nothing on other screens."""
        if action == "walk" and self._replays.shown is None:
            return False
        if action == "other_run":
            return self._receiver.has_tabs
        if action == "walk" or (action in ("search", "ask") and parameters):
            return self.screen is self.board and not isinstance(self.focused, Input)
        return True

    def action_ask(self, typed: bool = False) -> None:
        """Go to the input."""
        self.board.focus_input()

    def action_rerun(self, no_cache: bool = False) -> None:
        """Run the same again."""
        self._starter.again(no_cache=no_cache)

    def action_changes(self) -> None:
        """Tell what has changed since the last run."""
        self._starter.changes()

    def action_other_run(self, by: int) -> None:
        """Show the next of several runs, or the one before."""
        self._receiver.choose_next(by)

    def on_run_tabs_chosen(self, event: RunTabs.Chosen) -> None:
        """A run's tab was clicked."""
        self._receiver.choose(event.index)

    def action_cancel(self) -> None:
        """Cancel the run."""
        if not self._runs.cancel():
            self._explain(say("Nothing to cancel: no run is going on."))

    # -- panes ------------------------------------------------------------------------------

    def action_pane(self, index: int) -> None:
        """Go to a pane, counted from 0."""
        self.board.focus_pane(index)

    def action_zoom(self) -> None:
        """Give the pane the whole screen, or take it back."""
        if not self.board.toggle_zoom():
            self._explain(say("The pane has the whole screen already; from 100 columns on, all five are shown."))

    def action_search(self, typed: bool = False) -> None:
        """Search the trace.

        Args:
            typed: it was asked for by its key.
        """
        self.board.search_trace()

    # -- the report -------------------------------------------------------------------------

    def action_save(self) -> None:
        """Ask for a file and write the report there."""
        saving.save(self, self._stage, self._explain)

    def action_picture(self) -> None:
        """Ask for a file and write a picture of the screen there."""
        # the palette, from which this is asked for, is gone by then
        once(self, 0.1, lambda: saving.save_picture(self, self._stage, self._explain))

    def action_evidence(self) -> None:
        """List which claims of the report were observed."""
        self.board.report.action_evidence()

    def action_copy(self) -> None:
        """Copy the report."""
        saving.copy(self, self._stage, self._explain)

    # -- breakers, records, learning --------------------------------------------------------

    def action_hand(self, what: str) -> None:
        """Lay a hand on the breakers, or put a fault in the way."""
        self._hands.do(what)

    def action_history(self) -> None:
        """Show the recorded runs."""
        from tui_agent.runs.store import RunStore
        from tui_agent.tui.recorded import Recorded

        store = self._store or RunStore()
        Recorded(self, store, self._threshold, self.replay, self._explain).open_list()

    def replay(self, opened: Opened, *, play: bool = False) -> None:
        """Put a recorded run on the panes; the session's own goes on behind it."""
        self._replays.show(opened, play=play)
        self.board.leave_input()
        self.refresh_bindings()

    def action_walk(self, what: str, how: int = 1) -> None:
        """Walk through a replay, by a key that means something only where one stands."""
        self.action_replay(what, how)

    def action_replay(self, what: str, how: int = 1) -> None:
        """Walk through a replay, or leave it."""
        if what == "leave":
            self._receiver.leave_replay()
        elif what == "time":
            from tui_agent.tui.screens.moment import moment_screen

            self.push_screen(moment_screen(self._replays.accept_time))
        else:
            self._replays.do(what, how)

    def on_replay_bar_sought(self, event: ReplayBar.Sought) -> None:
        """A moment was clicked."""
        self._replays.seek(event.seconds)

    def action_explain(self) -> None:
        """Explain each event, or no more."""
        self.board.toggle_explanation()

    # -- the program ------------------------------------------------------------------------

    def action_help(self) -> None:
        """What the keys do and what the shapes mean."""
        from tui_agent.tui.screens.help import HelpScreen, own_keys

        self.push_screen(HelpScreen(own_keys(self.board), self._preferences.bound.told))

    def action_options(self) -> None:
        """Every setting, and where it came from."""
        from tui_agent.tui.screens.settings import SettingsScreen

        self.push_screen(SettingsScreen(self._preferences))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every key's command by name, and Textual's own where they mean something here."""
        replay, several = self._replays.shown is not None, self._receiver.has_tabs
        yield from commands(self.run_action, self._preferences.bound, replay=replay, several=several)
        yield SystemCommand(say("Theme"), say("Change the current theme"), self.action_change_theme)
        yield SystemCommand(say("Quit"), say("Quit the program"), self.action_quit)

    def action_command_palette(self) -> None:
        """Every command by name."""
        open_commands(self)

    def search_themes(self) -> None:
        """Every theme by name."""
        open_themes(self)

    def _explain(self, text: str) -> None:
        """Say why a key did nothing, or what it did."""
        text = told(text)
        if self.board.has_class("-tiny"):
            self._say("info", text)  # a toast would cover all there is
        else:
            self.notify(one_line(text, 300), markup=False, timeout=EXPLAINED_FOR)

    def action_help_quit(self) -> None:
        """ctrl+c, where no text is selected."""
        self._explain(say("ctrl+c copies selected text; esc cancels the run, q quits."))

    async def action_quit(self) -> None:
        """Cancel the run, if one goes on, and leave with exit code 0."""
        await self._runs.end(QUIT_PATIENCE)
        self.exit(0)

"""The dashboard on a terminal: the terminal's ends, the signals, and what the command line says for every run."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tui_agent.cli_imports import Courtesy, polite
from tui_agent.cli_signals import INTERRUPTED, Interrupts
from tui_agent.cli_streams import quiet_logs
from tui_agent.events import Emit, RunFinished
from tui_agent.i18n import report_language
from tui_agent.request import RunRequest, UsageError
from tui_agent.settings import Settings
from tui_agent.splash import Splash, is_served

if TYPE_CHECKING:
    from tui_agent.cli_output import OutputFile
    from tui_agent.runs.store import RunStore, RunSummary
    from tui_agent.tui.app import DashboardApp
    from tui_agent.tui.replaying import Opened
    from tui_agent.tui.session_like import SessionLike

# Out of the alternate screen, cursor on, mouse, paste and focus reports off, plain keys, plain colours.
_RESET = b"\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[<u\x1b[0m"


class DashboardSession:
    """The session that the dashboard gets: what the command line says holds for every run that is started there.

    Args:
        session: who runs.
        wanted: the command line as a request; its `repo` is "" where none was named.
        output: the file that every report is written to as well.
    """

    def __init__(self, session: SessionLike, wanted: RunRequest, output: OutputFile | None) -> None:
        self._session = session
        self._wanted = wanted
        self._output = output
        self._refresh = wanted.refresh
        self.courtesy = Courtesy()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        """One run; UsageError as the session's."""
        told = self._output.before(emit, request) if self._output else emit
        return await self._session.run(self.completed(request), told)

    def completed(self, request: RunRequest) -> RunRequest:
        """The request with what only the command line says; what was asked on the screen comes first."""
        wanted = self._wanted
        if not wanted.repo:
            request = replace(
                request,
                question=request.question or wanted.question,
                ref=request.ref or wanted.ref,
                preset=wanted.preset if request.preset == "full" else request.preset,
                engine=wanted.engine if request.engine == "auto" else request.engine,
                lang=request.lang or wanted.lang,
            )
        request = replace(request, lang=report_language(request.lang, request.question))
        refresh, self._refresh = request.refresh or self._refresh, False
        return replace(request, refresh=refresh, no_cache=request.no_cache or wanted.no_cache)

    async def prepare(self) -> None:
        """Import what a run needs, while the dashboard answers keys."""
        with polite(self.courtesy):
            await self._session.prepare()


def load() -> None:
    """Import what the dashboard needs; the collector, which would walk through all of it meanwhile, rests."""
    gc.disable()
    importlib.import_module("tui_agent.tui.app")


async def run_dashboard(
    session: SessionLike,
    wanted: RunRequest,
    settings: Settings,
    output: OutputFile | None,
    splash: Splash,
    *,
    mouse: bool,
    replay: Opened | None = None,
) -> int:
    """The dashboard until it is left; the exit code.

    Args:
        session: who runs; the dashboard closes it.
        wanted: what to run at once; its `repo` is "" where the dashboard is to ask.
        settings: for what the screen shows.
        output: the file that every report is written to as well.
        splash: the first picture, if one stands; the dashboard takes the screen over from it.
        mouse: whether the dashboard takes the mouse from the terminal.
        replay: a recorded run to show first.

    Raises:
        UsageError: there is no theme of that name.
    """
    quiet_logs()
    restore = _restorer(splash)
    app = _app(DashboardSession(session, wanted, output), wanted, settings, splash, replay)
    with Interrupts(lambda: app.call_later(app.action_quit), restore) as interrupts:
        code = await app.run_async(mouse=mouse)
    if app.return_code:
        return app.return_code
    return INTERRUPTED if interrupts.received else code or 0


async def run_replay(
    session: SessionLike, store: RunStore, run: RunSummary, settings: Settings, splash: Splash, *, mouse: bool
) -> int:
    """The dashboard on a recorded run until it is left; the exit code.

    Args:
        session: who would run it again; the dashboard closes it.
        store: where the run is.
        run: the run, shown with those that it goes on with.
        settings: for what the screen shows.
        splash: the first picture, if one stands.
        mouse: whether the dashboard takes the mouse from the terminal.

    Raises:
        RecordError: the run cannot be read.
        UsageError: there is no theme of that name.
    """
    from tui_agent.tui.replaying import opened

    records = [store.load(one) for one in store.chain(run)]
    replay = opened(records, settings.breaker_threshold)
    return await run_dashboard(session, RunRequest(repo=""), settings, None, splash, mouse=mouse, replay=replay)


def _app(
    session: DashboardSession, wanted: RunRequest, settings: Settings, splash: Splash, replay: Opened | None
) -> DashboardApp:
    """The dashboard, imported only now."""
    from tui_agent import remembered
    from tui_agent.tui import themes
    from tui_agent.tui.app import DashboardApp
    from tui_agent.tui.preferences import Preferences

    driver = None
    if splash.attributes is not None:
        from tui_agent.tui.driver import driver_after

        driver = driver_after(splash.attributes, splash.hand_over, session.courtesy.typed)
    app = DashboardApp(
        session,
        wanted if wanted.repo else None,
        replay=replay,
        context_limit=settings.context_limit if settings.api_key and wanted.engine != "survey" else None,
        threshold=session.settings.breaker_threshold,  # the demo has its own
        api_url=settings.github_api_url,
        theme=settings.theme,
        preferences=Preferences(settings, remembered.read_theme(), remembered.keep_theme),
        driver_class=driver,
    )
    known = {*app.available_themes, *themes.ALIASES, themes.DARK.name, themes.LIGHT.name}
    if settings.theme is not None and settings.theme not in known:
        raise UsageError(f"REPO_AGENT_THEME ({settings.origin('theme')}) must be one of {', '.join(sorted(known))}.")
    return app


@contextlib.contextmanager
def terminal() -> Iterator[bool]:
    """A terminal at stdin and stderr, where Textual reads and draws; yields whether there is one.

    Stdout is one already. A redirected stdin gives way to the terminal itself, a redirected stderr to stdout, and both
    come back afterwards.
    """
    if is_served():
        yield True
        return
    with contextlib.ExitStack() as stack:
        try:
            for number, stream in ((0, sys.__stdin__), (2, sys.__stderr__)):
                if stream is None:
                    raise OSError("closed from the start")
                if not stream.isatty():
                    saved = os.dup(number)
                    stack.callback(_put_back, saved, number)
                    source = os.open("/dev/tty", os.O_RDWR) if number == 0 else os.dup(1)
                    os.dup2(source, number)
                    os.close(source)
        except OSError:
            yield False
            return
        yield True


def _put_back(saved: int, number: int) -> None:
    os.dup2(saved, number)
    os.close(saved)


def _restorer(splash: Splash) -> Callable[[], None]:
    """A function that puts the terminal back as it was, for an end that Textual does not see."""
    try:
        import termios
    except ImportError:
        return lambda: None
    try:
        before = splash.attributes or termios.tcgetattr(0)
    except termios.error:
        return lambda: None

    def restore() -> None:
        with contextlib.suppress(OSError, termios.error):
            os.write(2, _RESET)
            termios.tcsetattr(0, termios.TCSANOW, before)

    return restore

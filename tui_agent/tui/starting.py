"""What may be started from what stands on the screen: what was typed, the same again, what has changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tui_agent.events import Level
from tui_agent.i18n import mark, say
from tui_agent.request import RunRequest, UsageError
from tui_agent.tui.replaying import ReplayControl
from tui_agent.tui.running import RunControl
from tui_agent.tui.session_like import SessionLike
from tui_agent.tui.stage import Stage

NO_RUN_YET = mark("No run yet: write a repository into the input first (a).")
BUSY = mark("A run is going on: escape cancels it.")
BUSY_CHANGES = mark("A run is going on: d tells what has changed when it has ended.")
NO_REPORT = mark("There is no report here that an earlier one could be compared with.")
NO_EARLIER_COMPARISON = mark(
    "A comparison has no earlier run: , and . go to a repository of it, and d tells what changed there."
)
NOT_RECORDED = mark("Runs are not recorded here, so there is no earlier one to compare with.")


class Starter:
    """Turns what is wanted into a request, or says why it cannot be had now.

    Args:
        session: whose settings say whether runs are recorded.
        stage: what is shown.
        runs: runs it.
        replays: the replay that may stand there.
        say: shows a sentence that stays.
        explain: says why a key did nothing.
        api_url: the API that names are asked of.
    """

    def __init__(
        self,
        session: SessionLike,
        stage: Stage,
        runs: RunControl,
        replays: ReplayControl,
        say: Callable[[Level, str], None],
        explain: Callable[[str], None],
        api_url: str,
    ) -> None:
        self._session = session
        self._stage = stage
        self._runs = runs
        self._replays = replays
        self._say = say
        self._explain = explain
        self._api_url = api_url
        self._analysed: RunRequest | None = None

    def start(self, request: RunRequest) -> None:
        """Run a request; with its first event a replay gives way, what cannot be run leaves it standing."""
        self._replays.over = True
        if request.since is None:
            self._analysed = request
        self._runs.start(request, self._names(request))

    def submit(self, text: str) -> bool:
        """Start what was typed; answers whether that could be done."""
        if self._runs.busy:
            self._explain(BUSY)
            return False
        if not text:
            self._explain(say("Write a repository (owner/name, a URL, a folder) or a question."))
            return False
        from tui_agent.tui.asking import request_for

        asked, follows = self._current
        try:
            request = request_for(text, asked, follows=follows, api_url=self._api_url)
        except UsageError as error:
            self._say("error", str(error))
            return False
        self.start(request)
        return True

    def again(self, *, no_cache: bool) -> None:
        """Run the same again: of a comparison all of it, of what has changed the analysis that it speaks of."""
        shown = self._replays.shown
        asked = (self._stage.run.again or self._runs.request) if shown is None else shown.request
        if self._runs.busy:
            self._explain(BUSY)
        elif asked is None:
            self._explain(NO_RUN_YET)
        else:
            if asked.since is not None:
                analysed = None if shown is not None else self._analysed
                asked = analysed or replace(asked, question=None, since=None, follows=None)
            self.start(replace(asked, no_cache=no_cache))

    def changes(self) -> None:
        """Tell what has changed since the run before the one that is shown."""
        asked, follows = self._current
        run = self._stage.state.run
        if self._runs.busy:
            self._explain(BUSY_CHANGES)
        elif asked is None:
            self._explain(NO_RUN_YET)
        elif asked.others:
            self._explain(NO_EARLIER_COMPARISON)
        elif asked.since is not None:
            self.start(asked)
        elif follows is None:
            self._explain(NO_REPORT)
        elif run.previous is None:
            is_told = self._replays.shown is not None or self._session.settings.record
            self._explain(say("This is the first recorded run of {repo}.", repo=run.repo) if is_told else NOT_RECORDED)
        else:
            from tui_agent.agent.prompts import is_chinese

            lang = asked.lang or ("zh" if is_chinese(None, asked.question) else None)
            since = replace(asked, question=None, lang=lang, refresh=False, no_cache=False, since=run.previous)
            self.start(replace(since, follows=follows))

    @property
    def _current(self) -> tuple[RunRequest | None, str | None]:
        """What the run that is shown had been asked, and its id where a question could go on with its report."""
        if self._replays.shown is not None:
            return self._replays.shown.request, self._replays.shown.run_id
        run = self._stage.live.run
        return self._stage.run.asked or self._runs.request, run.run_id if run.outcome in (
            "completed",
            "partial",
        ) else None

    def _names(self, request: RunRequest) -> Sequence[str]:
        """The repositories' names as their first events will tell them."""
        if not request.others:
            return ()
        from tui_agent.github.address import parse

        try:
            return [parse(repo, api_url=self._api_url).full_name for repo in (request.repo, *request.others)]
        except UsageError:
            return ()  # the session will say what is wrong with them

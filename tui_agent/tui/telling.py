"""What is said above the input while the session's runs go on and when they end."""

from __future__ import annotations

from collections.abc import Callable

from tui_agent import events as ev
from tui_agent.i18n import mark, say, told
from tui_agent.tui.stage import Live, Stage


class Teller:
    """Finds a sentence for an event that deserves one.

    Args:
        stage: which runs there are, and which of them is shown.
        say: shows it.
        key: the key of an action, by its name in `[keys]`, as it is told.
    """

    def __init__(self, stage: Stage, say: Callable[[ev.Level, str], None], key: Callable[[str], str]) -> None:
        self._stage = stage
        self._say = say
        self._key = key

    def tell(self, event: ev.Event) -> None:
        """Say it, where there is something to say; of a run that is not shown, only what is not well."""
        run = self._stage.of(event.run_id)
        if isinstance(event, ev.Notice):
            if event.run_id is None or run is self._stage.run:
                self._say(event.level, event.text)
            elif run is not None and event.level != "info":
                self._say(event.level, f"{run.name}: {told(event.text)}")
        elif isinstance(event, ev.RunFinished) and run is not None:
            if event.outcome == "cancelled" or not self._stage.more_to_come(run):
                self._tell_end(run)
            elif event.outcome == "failed":
                self._say("error", f"{run.name}: {told(event.error or mark('the run failed.'))}")

    def tell_behind(self, event: ev.Event) -> None:
        """Say what has to be known while a replay stands before the runs."""
        run = self._stage.of(event.run_id) if isinstance(event, ev.RunFinished) else None
        if run is not None and not self._stage.more_to_come(run):
            self._say("info", say("The run behind this replay has ended; esc goes to it."))

    def tell_shown(self) -> bool:
        """Say how the run that is shown has ended; False where it has not."""
        has_ended = self._stage.live.run.outcome not in ("idle", "running")
        if has_ended:
            self._tell_end(self._stage.run)
        return has_ended

    def _tell_end(self, run: Live) -> None:
        info = run.state.run
        is_told = run.asked is not None and run.asked.since is not None
        since = ""
        if info.previous and not is_told:
            since = say(" {d} tells what has changed since the last run.", d=self._key("changes"))
        what = say("The comparison is written") if run.compares else say("The report is written")
        if info.outcome == "cancelled":
            self._say("warning", say("Cancelled; what was seen stays. {r} runs it again.", r=self._key("rerun")))
        elif info.outcome == "failed":
            self._say("error", info.error or say("The run failed."))
        elif info.outcome == "partial":
            self._say("warning", told(info.error or mark("The run ended as partial.")) + since)
        elif run is not self._stage.run:
            on, back = self._key("next_run"), self._key("previous_run")
            self._say("info", say("{what}: {on} and {back} go to its tab, the last one.", what=what, on=on, back=back))
        else:
            s, y, r = map(self._key, ("save", "copy", "rerun"))
            text = say(
                "{what}: {s} saves it, {y} copies it, {r} runs again.{since}", what=what, s=s, y=y, r=r, since=since
            )
            self._say("info", text)

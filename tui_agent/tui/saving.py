"""The report on the screen: written to a file, copied."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App

from tui_agent.events import JsonObject
from tui_agent.i18n import count, say, told
from tui_agent.safe_text import cell_width
from tui_agent.tui.copying import CopyingApp
from tui_agent.tui.stage import Stage
from tui_agent.tui.state import DashboardState

if TYPE_CHECKING:
    from tui_agent.report.export import ReportDocument

PICTURES = (".svg",)
_FONT_FACE = re.compile(r"@font-face\s*\{[^{}]*\}\s*")
_TEXT = re.compile(r'(<text [^>]*textLength=")([0-9.]+)("[^>]*>)([^<]+)(?=</text>)')


def document_of(state: DashboardState, created: float) -> ReportDocument:
    """The state's report and what has to be known to trust it.

    Args:
        state: of a run that has ended.
        created: when it is written, epoch seconds.
    """
    from tui_agent.report.export import ReportDocument

    run = state.run
    return ReportDocument(
        repo=run.repo,
        commit=run.commit,
        ref=run.ref,
        question=run.question,
        engine=run.engine or "survey",
        model=run.model,
        outcome="partial" if run.outcome in ("idle", "running") else run.outcome,
        created=created,
        report=state.report.text,
        error=run.error,
        files=run.files,
        turns=run.turn,
        tool_calls=run.tool_calls,
        requests=run.requests or 0,
        elapsed=run.elapsed or 0.0,
        grounding=_claims(state),
    )


def _claims(state: DashboardState) -> JsonObject | None:
    """The claims, each where it stands in the text with all its chapters."""
    grounding, before = state.grounding, len(state.report.before)
    if grounding is None:
        return None
    lists = {"supported": grounding.supported, "unsupported": grounding.unsupported}
    return {name: [moved(item, before) for item in items] for name, items in lists.items()}


def moved(item: JsonObject, by: int) -> JsonObject:
    """A claim that stands so many characters later."""
    start = item.get("start")
    return {**item, "start": start + by} if isinstance(start, int) else item


def save(app: App[int], stage: Stage, explain: Callable[[str], None]) -> None:
    """Ask for a file and write the report there.

    Args:
        app: where it is asked.
        stage: whose report it is.
        explain: says what came of it.
    """
    state = stage.state
    if not state.report.text:
        explain(say("Nothing to save: there is no report yet."))
        return
    if state.run.running:
        explain(say("The report is still being written; it can be saved when the run has ended."))
        return
    from tui_agent.report.export import RENDERERS, ExportError, TargetExistsError, suggest_name, write
    from tui_agent.tui.screens.save import save_screen

    def accept(path: Path, force: bool) -> str | None:
        try:
            write(path, document_of(state, stage.epoch()), force=force)
        except TargetExistsError as error:
            return say("{error} Enter again replaces it.", error=told(str(error)))
        except ExportError as error:
            return str(error)
        return None

    def saved(name: str | None) -> None:
        if name is not None:
            explain(say("Saved as {name}.", name=name))

    app.push_screen(save_screen(suggest_name(state.run.repo), tuple(RENDERERS), accept), saved)


def picture_of(app: App[int]) -> str:
    """The screen as an SVG that loads nothing: the fonts that Textual would have fetched are left to the viewer."""
    return _TEXT.sub(_in_cells, _FONT_FACE.sub("", app.export_screenshot()))


def _in_cells(found: re.Match[str]) -> str:
    """A text of the picture as wide as its cells; Rich counts characters, which squeezes Chinese into half of them."""
    before, length, between, text = found.groups()
    shown = unescape(text)
    if not shown.isascii() and (cells := cell_width(shown)) != len(shown):
        length = f"{float(length) * cells / len(shown):g}"
    return f"{before}{length}{between}{text}"


def save_picture(app: App[int], stage: Stage, explain: Callable[[str], None]) -> None:
    """Ask for a file and write a picture of the dashboard there, as it was when this was asked for.

    Args:
        app: whose screen.
        stage: what it shows.
        explain: says what came of it.
    """
    from tui_agent.report.export import ExportError, TargetExistsError, check_target, suggest_name, write_text
    from tui_agent.tui.screens.save import save_screen

    svg = picture_of(app)

    def accept(path: Path, force: bool) -> str | None:
        try:
            check_target(path, PICTURES)
            write_text(path, svg, force=force)
        except TargetExistsError as error:
            return say("{error} Enter again replaces it.", error=told(str(error)))
        except ExportError as error:
            return str(error)
        return None

    def saved(name: str | None) -> None:
        if name is not None:
            explain(say("Saved as {name}.", name=name))

    name = suggest_name(stage.state.run.repo or "dashboard", PICTURES[0], run_id="screen")
    app.push_screen(save_screen(name, PICTURES, accept, title=say("Save a picture")), saved)


def copy(app: CopyingApp, stage: Stage, explain: Callable[[str], None]) -> None:
    """Copy the report."""
    text = stage.state.report.text
    if not text:
        explain(say("Nothing to copy: there is no report yet."))
        return
    app.copy_to_clipboard(text)
    if (tool := app.clipboard_tool) is not None:
        explain(
            count(
                "Copied {number:,} character ({by}).", "Copied {number:,} characters ({by}).", len(text), by=tool.name
            )
        )
        return
    explain(
        count(
            "Copied {number:,} character, if this terminal allows it (OSC 52).",
            "Copied {number:,} characters, if this terminal allows it (OSC 52).",
            len(text),
        )
    )

"""The report pane: Markdown as it is written, its table of contents, and how far it is."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from tui_agent.i18n import mark, say, told
from tui_agent.safe_text import one_line, visible
from tui_agent.tui.state import Area, DashboardState, GroundingState, RunInfo
from tui_agent.tui.widgets.markdown_contents import Contents
from tui_agent.tui.widgets.markdown_parse import warm
from tui_agent.tui.widgets.markdown_view import MarkdownView
from tui_agent.tui.widgets.pane import Pane
from tui_agent.tui.words import RUN_SIGNS

WIDE = 74
"""Cells inside the pane from which on the contents stand beside the text."""
LEAST_HEADINGS = 2
"""Headings from which on contents are of use without being asked for."""


class ReportPane(Pane):
    """The report, streamed; the contents stand at its side where there is room, or over it when asked for."""

    TITLE = mark("Report")
    AREAS: ClassVar[tuple[Area, ...]] = ("report", "run", "grounding")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "contents", mark("Contents")),
        Binding("v", "evidence", mark("Evidence"), show=False),
    ]
    DEFAULT_CSS = """
    ReportPane {
        layout: horizontal;
        & > MarkdownView { width: 1fr; height: 1fr; }
        & > Contents {
            display: none;
            dock: left;
            width: 22;
            max-width: 34%;
            margin-right: 1;
        }
        &.-contents > Contents { display: block; }
        &.-over > Contents { width: 100%; max-width: 100%; margin: 0; }
        &.-over > MarkdownView { display: none; }
    }
    """

    def __init__(self, *, id: str | None = "report", classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.view = MarkdownView()
        self.contents = Contents()
        self._wanted: bool | None = None  # what the user said of the contents; None: as there is room
        self._visited = False  # the user is in them, or on the way
        self._warm = False
        self._source: DashboardState | None = None
        self._generation = -1
        self._drawn = 0
        self._chapter = ""  # the heading of the chapter that was shown last
        self._answering = False  # that chapter is still being written
        self._state = self._said = Content()
        self._href: str | None = None
        self._grounding: GroundingState | None = None
        self._before = 0  # characters of earlier chapters

    def compose(self) -> ComposeResult:
        """The text, and what docks beside it."""
        yield self.view
        yield self.contents

    def on_mount(self) -> None:
        """Say at the border how far the report is."""
        self.watch(self.view, "following", self._say, init=False)

    def focus(self, scroll_visible: bool = True) -> ReportPane:
        """Give the focus to the text."""
        self.view.focus(scroll_visible)
        return self

    @property
    def markdown_text(self) -> str:
        """The report's Markdown as far as it is written."""
        return self.view.markdown_text

    # -- from the app -----------------------------------------------------------------------

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw what the report has more than when it was last drawn.

        Args:
            state: what is known.
            now: run seconds.
        """
        report, run = state.report, state.run
        whole = report.final or not run.running
        if run.turn and not self._warm:
            # the model was asked, so there is time until it answers
            self._warm = True
            self.run_worker(warm, thread=True, group="report", exit_on_error=False)
        self.view.placeholder = _placeholder(run)
        followed = self.view.following
        other = state is not self._source and (report.text != self.view.markdown_text or whole is self.view.streaming)
        self._source = state
        if other or report.generation != self._generation:
            self._generation = report.generation
            self._begin(report.text, whole=whole)
            if report.heading != self._chapter:
                # whoever has asked wants to see the answer come
                self._chapter, self._answering = report.heading, bool(report.heading)
                self.view.follow()
        elif len(report) > self._drawn:
            text = report.text
            self.view.append(text[self._drawn :])
            self._drawn = len(text)
        if whole:
            self.view.finish()
            if self._answering and followed:
                self.view.scroll_to_text(report.begins)
            self._answering = False
        self._grounding = state.grounding if whole else None
        self._before = len(report.before) if self._grounding else 0
        self.view.link(_targets(self._grounding))
        self._state = _state(run, writing=self._drawn > 0 and not whole, grounding=self._grounding)
        self._say()

    def _begin(self, text: str, *, whole: bool) -> None:
        """Another text takes the place of the one that is shown."""
        view = self.view
        place = view.scroll_offset.y if self._drawn and not view.following else 0
        if whole and text:
            view.set_text(text)
            view.scroll_to(y=place, animate=False)
        else:
            view.clear()
            view.append(text)
        self._drawn = len(text)

    def _say(self) -> None:
        """At the border: where a link leads, else how far the report is."""
        words = self._state
        if self._href is not None:
            words = Content(one_line(self._href, max(10, self.size.width - 2)))
        elif self.view.streaming and not self.view.following:
            words = Content.assemble(self._state, " · ", say("end follows"))
        if words != self._said:
            # each time it is set, the whole pane is drawn again
            self._said = self.border_subtitle = words

    def action_evidence(self) -> None:
        """List the claims of the report and where each was seen."""
        grounding = self._grounding
        if grounding is None or not (grounding.supported or grounding.unsupported):
            self.notify(
                say("There is no evidence to show: the claims are checked when a report is written."), markup=False
            )
            return
        from tui_agent.tui.screens.evidence import EvidenceScreen

        def chosen(start: int | None) -> None:
            if start is not None:
                self.view.scroll_to_text(self._before + start)

        self.app.push_screen(EvidenceScreen(grounding), chosen)

    # -- contents ---------------------------------------------------------------------------

    def on_resize(self) -> None:
        """There may be room for the contents now, or none any more."""
        self._arrange()

    def action_contents(self) -> None:
        """Show the contents and go there, or take them away."""
        if self.has_class("-contents"):
            self._wanted = self._visited = False
            self.view.focus()
        elif not self.view.headings:
            self.notify(say("The report has no headings yet."), markup=False)
        else:
            self._wanted = self._visited = True
            self.call_after_refresh(self.contents.focus)
        self._arrange()

    def _arrange(self) -> None:
        is_wide = self.size.width >= WIDE
        enough = len(self.view.headings) >= (1 if self._wanted else LEAST_HEADINGS)
        shown = enough and self._wanted is not False and (is_wide or self._visited)
        self.set_class(shown, "-contents")
        self.set_class(shown and not is_wide, "-over")

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """Contents that cover the text are in the way once they are left."""
        if event.widget is self.contents:
            self._visited = False
            self._arrange()

    @on(MarkdownView.HeadingsChanged)
    def _headings_changed(self, event: MarkdownView.HeadingsChanged) -> None:
        event.stop()
        self.contents.show(event.headings)
        self.contents.mark(self.view.section)
        self._arrange()

    @on(MarkdownView.SectionChanged)
    def _section_changed(self, event: MarkdownView.SectionChanged) -> None:
        event.stop()
        self.contents.mark(event.index)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._leave_contents()
        self.view.scroll_to_heading(event.option_index)

    @on(Contents.Left)
    def _leave_contents(self) -> None:
        self._visited = False
        self._arrange()
        self.call_after_refresh(self.view.focus)

    @on(MarkdownView.LinkShown)
    def _link_shown(self, event: MarkdownView.LinkShown) -> None:
        event.stop()
        self._href = event.href
        self._say()


def _placeholder(run: RunInfo) -> str:
    """What stands where no report is yet."""
    if run.running:
        return say("The report is written here\nonce enough has been seen.")
    if run.error:
        return say("No report was written.\n\n{error}", error=visible(told(run.error)))
    if run.outcome == "cancelled":
        return say("Cancelled before a report was begun.")
    if run.outcome == "idle":
        return say("No report yet.\n\nName a repository below to have one written.")
    return say("No report was written.")


def _targets(grounding: GroundingState | None) -> dict[str, str]:
    """Where code leads that names what was seen; what was never seen leads nowhere."""
    if grounding is None:
        return {}
    return {
        str(item["claim"]): item["url"]
        for item in grounding.supported
        if item.get("kind") in ("path", "lines", "sha") and isinstance(item.get("url"), str) and item.get("claim")
    }


def _state(run: RunInfo, *, writing: bool, grounding: GroundingState | None = None) -> Content:
    """How far the report is and how much of it was observed, by shape, colour and word."""
    if writing:
        return Content.styled(f"▌ {say('streaming…')}", "$text-primary")
    if run.outcome in {"idle", "running"}:
        return Content()
    sign = RUN_SIGNS[run.outcome]
    said = Content.assemble((f"{sign.shape} {say(run.outcome)}", sign.style))
    if grounding is None or not (grounding.supported or grounding.unsupported):
        return said
    good, every = len(grounding.supported), len(grounding.supported) + len(grounding.unsupported)
    shape, style = ("▲", "$text-warning") if good < every else ("✓", "$text-success")
    return Content.assemble(
        said, " · ", (f"{shape} {say('evidence {good:,} of {every:,} (v)', good=good, every=every)}", style)
    )

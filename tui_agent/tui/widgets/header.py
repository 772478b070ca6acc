"""The first line: repository, commit, model, turn, tokens, clock, and the run's state in one word."""

from __future__ import annotations

import math
from typing import ClassVar

from textual.content import Content
from textual.widget import Widget

from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.state import Area, DashboardState
from tui_agent.tui.words import RUN_SIGNS, clock_face, short_count

NAME = "repo-agent-tui"
SEPARATOR = " · "


class RunHeader(Widget):
    """One line about the run. What does not fit is left out, the least important first.

    Args:
        context_limit: tokens that the model's context holds, where known.
    """

    ALLOW_SELECT = False
    AREAS: ClassVar[tuple[Area, ...]] = ("run",)
    REST: ClassVar[float] = 0.25

    def __init__(self, context_limit: int | None = None) -> None:
        super().__init__(id="header")
        self._context_limit = context_limit
        self._is_replay = False
        self._state = DashboardState()
        self._now = 0.0
        self._drawn = Content()

    def show_replay(self, is_replay: bool) -> None:
        """Say whether what is shown has happened before."""
        if is_replay != self._is_replay:
            self._is_replay = is_replay
            self._redraw()

    def update_from(self, state: DashboardState, now: float) -> None:
        """Draw the run as it stands at `now` (run seconds)."""
        self._state, self._now = state, now
        self._redraw()

    def tick(self, now: float) -> float | None:
        """Let the clock go on; answers the seconds until its next change, None while no run is going on."""
        if not self._state.run.running:
            return None
        self._now = now
        self._redraw()
        return math.floor(now) + 1 - now

    def on_resize(self) -> None:
        """Other pieces fit now."""
        self._redraw()

    def _redraw(self) -> None:
        content = self._line(self.size.width)
        if content.plain != self._drawn.plain or content.spans != self._drawn.spans:
            self._drawn = content
            self.refresh()

    def render(self) -> Content:
        """The line."""
        return self._drawn

    def _line(self, width: int) -> Content:
        run = self._state.run
        sign = RUN_SIGNS[run.outcome]
        word = Content.styled(f"{sign.shape} {say(run.outcome)}", f"bold {sign.style}")
        if self._is_replay:
            word = Content.assemble((f" {say('REPLAY')} ", "bold reverse $text-accent"), " ", word)
        room = width - word.cell_length - 2
        if not run.repo:
            name = Content.styled(NAME if room >= len(NAME) else "", "bold")
            return self._spread(name, word, width)
        pieces = self._pieces()
        while pieces and sum(len(SEPARATOR) + text.cell_length for _, text in pieces) > room - self._least_name():
            pieces.remove(max(pieces, key=lambda piece: piece[0]))
        left = room - sum(len(SEPARATOR) + text.cell_length for _, text in pieces)
        name = Content.styled(one_line(run.repo, max(left, 0)) if left > 2 else "", "bold $foreground")
        line = name
        for _, text in pieces:
            line = Content.assemble(line, (SEPARATOR, "$foreground-disabled"), text)
        return self._spread(line, word, width)

    def _least_name(self) -> int:
        return min(cell_width(one_line(self._state.run.repo)), 24)

    @staticmethod
    def _spread(left: Content, right: Content, width: int) -> Content:
        gap = width - left.cell_length - right.cell_length
        return Content.assemble(left, " " * max(gap, 1 if left else 0), right)

    def _pieces(self) -> list[tuple[int, Content]]:
        """What may follow the repository's name, with ranks: the higher, the sooner it is left out."""
        run, tokens = self._state.run, self._state.tokens
        pieces: list[tuple[int, Content]] = []
        where = self._where()
        if where:
            pieces.append((4, Content.styled(where, "$foreground-muted")))
        if run.model:
            pieces.append((3, Content.styled(one_line(run.model, 32), "$foreground-muted")))
        if run.turn:
            turn = say("turn {turn}/{max_turns}", turn=run.turn, max_turns=run.max_turns)
            pieces.append((1, Content.styled(turn, "$foreground")))
        if run.engine == "llm":
            of = f"/{short_count(self._context_limit)}" if self._context_limit else ""
            held = say("{tokens} tokens", tokens=f"{short_count(tokens.context)}{of}")
            pieces.append((2, Content.styled(held, "$foreground-muted")))
        if tokens.cost is not None:
            cost = f"≈ {tokens.cost:.4f} {one_line(tokens.currency or '', 8)}".rstrip()
            pieces.append((5, Content.styled(cost, "$foreground-muted")))
        seconds = self._now if run.running or run.elapsed is None else run.elapsed
        pieces.append((0, Content.styled(clock_face(seconds), "$foreground")))
        return pieces

    def _where(self) -> str:
        run = self._state.run
        ref = one_line(run.ref, 32) if run.ref else ""
        if run.commit:
            return f"{ref or 'HEAD'}@{one_line(run.commit)[:7]}"
        if run.files is not None:
            return say("{ref}, no commit", ref=ref) if ref and ref != "HEAD" else say("no commit")
        return ref

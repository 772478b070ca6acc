"""Where a replay stands: playing or paused, speed, time, a slider, event, turn, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tui_agent.explanations import explain
from tui_agent.i18n import say
from tui_agent.safe_text import cell_width, one_line
from tui_agent.tui.replay import Player
from tui_agent.tui.words import clock_face

GAP = "  "
LEAST_SLIDER, MOST_SLIDER = 12, 48
"""Cells of the slider; with less room there is none."""
NEXT = 34
"""Cells for what comes next, where there is more to show than fits."""


class ReplayBar(Widget):
    """One line; what does not fit is left out, the least important first."""

    ALLOW_SELECT = False

    @dataclass
    class Sought(Message):
        """A moment was clicked, in seconds along all runs."""

        seconds: float

    def __init__(self) -> None:
        super().__init__(id="replay")
        self._player: Player | None = None
        self._drawn = Content()
        self._slider = (0, 0)

    def show(self, player: Player | None) -> None:
        """Draw where a player stands; None where there is no replay."""
        self._player = player
        self._redraw()

    def on_resize(self) -> None:
        """Other pieces fit now."""
        self._redraw()

    def on_click(self, event: events.Click) -> None:
        """Go to the moment under the mouse."""
        begin, cells = self._slider
        offset = event.get_content_offset(self)
        if self._player is not None and offset is not None and begin <= offset.x < begin + cells:
            self.post_message(self.Sought((offset.x - begin) / max(1, cells - 1) * self._player.length))

    def render(self) -> Content:
        """The line."""
        return self._drawn

    def _redraw(self) -> None:
        line = Content() if self._player is None else self._line(self._player, self.content_size.width)
        if line.plain != self._drawn.plain or line.spans != self._drawn.spans:
            self._drawn = line
            self.refresh()

    def _line(self, player: Player, width: int) -> Content:
        sign, word = ("▶", say("playing")) if player.playing else ("‖", say("paused"))
        speed = f"{player.speed:g}x"
        place = f"{player.position:,}/{len(player.events):,}"
        turn, of = player.turn
        # What may stand there, with its rank: the higher, the sooner it is left out.
        pieces: list[tuple[int, Content]] = [
            (0, Content.styled(f"{sign} {word}", "bold $text-primary")),
            (3, Content.styled(speed, "$foreground")),
            (1, Content.styled(f"{clock_face(player.time)}/{clock_face(player.length)}", "$foreground")),
            (2, Content.styled(say("event {place}", place=place) if width >= 80 else place, "$foreground")),
            (
                5,
                Content.styled(
                    say("turn {turn}/{max_turns}", turn=turn, max_turns=of) if turn else "", "$foreground-muted"
                ),
            ),
            (4, self._next(player, NEXT if width >= 80 else 20)),
        ]
        pieces = [piece for piece in pieces if piece[1]]
        while len(pieces) > 1 and self._width(pieces) > width:
            pieces.remove(max(pieces, key=lambda piece: piece[0]))
        room = min(width - self._width(pieces) - len(GAP), MOST_SLIDER)
        line, self._slider = Content(), (0, 0)
        for rank, piece in pieces:
            line = Content.assemble(line, GAP if line else "", piece)
            if rank == 1 and room >= LEAST_SLIDER:
                self._slider = (line.cell_length + len(GAP), room)
                line = Content.assemble(line, GAP, self._slide(player, room))
        return line.truncate(width, ellipsis=True)

    @staticmethod
    def _width(pieces: list[tuple[int, Content]]) -> int:
        return sum(piece.cell_length for _, piece in pieces) + len(GAP) * (len(pieces) - 1)

    @staticmethod
    def _next(player: Player, width: int) -> Content:
        event = player.next
        if event is None:
            return Content.styled(say("the end"), "$foreground-muted")
        then = say("next ")
        return Content.assemble(
            (then, "$foreground-muted"), one_line(explain(event).title, max(1, width - cell_width(then)))
        )

    @staticmethod
    def _slide(player: Player, cells: int) -> Content:
        """The slider, with a mark at each failure."""

        def cell(seconds: float) -> int:
            return round(seconds / player.length * (cells - 1)) if player.length else 0

        here, failed = cell(player.time), {cell(seconds) for seconds in player.failures}

        def mark(index: int) -> tuple[str, str]:
            sign = "●" if index == here else "✗" if index in failed else "━" if index < here else "─"
            style = "$text-error" if index in failed else "$text-primary" if index <= here else "$foreground-disabled"
            return sign, style

        return Content.assemble(*map(mark, range(cells)))

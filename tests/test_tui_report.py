"""The report pane: what the state knows of the report, drawn as it grows."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Region
from textual.widgets import OptionList

from tests.tui_desk import dashboard
from tui_agent import events as ev
from tui_agent.tui.saving import picture_of
from tui_agent.tui.screens.evidence import EvidenceScreen
from tui_agent.tui.state import DashboardState
from tui_agent.tui.widgets.markdown_view import MarkdownView
from tui_agent.tui.widgets.report import ReportPane

SECTIONS = "".join(f"{'#' * (1 + n % 2)} Part {n}\n\n" + f"Words of part {n}.\n\n" * 6 for n in range(8))


class PaneApp(App[None]):
    """The pane alone, in a frame as on the dashboard, and the state that it draws."""

    CSS = "ReportPane { border: round white; padding: 0 1; height: 1fr; width: 1fr; }"

    def __init__(self) -> None:
        super().__init__()
        self.pane = ReportPane()
        self.state = DashboardState()
        self.opened: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.opened.append(url)

    def start(self) -> None:
        self.tell(
            ev.RunStarted(
                run_id="r", repo="a/b", source="local", ref=None, question="q", engine="llm", model="m", at=0.0
            )
        )

    def tell(self, *events: ev.Event) -> None:
        for event in events:
            self.state.apply(event)
        self.pane.update_from(self.state, self.state.at)
        self.pane.view.flush()

    def write(self, text: str, turn: int = 1) -> None:
        self.tell(ev.ReportDelta(run_id="r", turn=turn, text=text))

    def end(self, outcome: ev.Outcome, report: str, error: str | None = None) -> None:
        self.tell(
            ev.RunFinished(
                run_id="r",
                outcome=outcome,
                report=report,
                error=error,
                turns=1,
                tool_calls=0,
                requests=0,
                elapsed=1.0,
            )
        )

    def seen(self) -> str:
        view = self.pane.view
        return "\n".join(strip.text.rstrip() for strip in view.render_lines(Region(0, 0, *view.size)))

    def said(self) -> str:
        """What stands in the lower border."""
        return Content.from_markup(self.pane.border_subtitle or "").plain


async def test_the_title_is_report_and_an_empty_pane_says_what_will_come() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.tell()
        await pilot.pause()
        assert app.pane.border_title == "Report"
        assert "No report yet." in app.seen()
        app.start()
        await pilot.pause()
        assert "The report is written here" in app.seen()
        assert app.said() == ""


async def test_deltas_are_appended_and_the_border_says_streaming() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        for piece in ("# Ti", "tle\n\nIt is **fi", "ne**.\n"):
            app.write(piece)
        await pilot.pause()
        assert app.seen().startswith("Title\n━")
        assert "It is fine." in app.seen()
        assert "streaming…" in app.said()
        assert app.pane.markdown_text == "# Title\n\nIt is **fine**.\n"


async def test_a_thought_takes_the_text_away_and_the_next_turn_begins_anew() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write("I look around first.")
        app.tell(ev.Thought(run_id="r", turn=1, text="I look around first."))
        await pilot.pause()
        assert "look around" not in app.seen()
        assert "The report is written here" in app.seen()
        app.write("Half", turn=2)
        app.tell(ev.TurnRestarted(run_id="r", turn=2, reason="cut"))
        app.write("Whole", turn=2)
        await pilot.pause()
        assert app.pane.markdown_text == "Whole"
        assert "Half" not in app.seen()


async def test_what_the_program_adds_at_the_end_is_appended_where_the_reader_is() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write(SECTIONS)
        await pilot.pause()
        app.pane.view.scroll_to(y=20, animate=False)
        await pilot.pause()
        before = app.seen()
        app.end("partial", SECTIONS + "---\n\nThis report is partial.")
        await pilot.pause()
        assert app.seen() == before
        assert app.pane.markdown_text.endswith("This report is partial.")
        assert app.said() == "◐ partial"


async def test_another_final_text_replaces_what_had_streamed() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write("Draft that was thrown away")
        app.end("partial", "# From the observations\n\nText.", "The model was lost.")
        await pilot.pause()
        assert "Draft" not in app.seen()
        assert app.seen().startswith("From the observations")


@pytest.mark.parametrize(
    ("outcome", "error", "words", "said"),
    [
        ("failed", "There is no repository [b]a/b[/b].\x1b[31m", "There is no repository [b]a/b[/b].␛[31m", "✘ failed"),
        ("cancelled", None, "Cancelled before a report was begun.", "■ cancelled"),
    ],
)
async def test_a_run_without_a_report_says_why(outcome: ev.Outcome, error: str | None, words: str, said: str) -> None:
    app = PaneApp()
    async with app.run_test(size=(80, 12)) as pilot:
        app.start()
        app.end(outcome, "", error)
        await pilot.pause()
        assert words in app.seen()
        assert app.said() == said


async def test_a_cancelled_run_keeps_what_had_streamed() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write("Some **words")
        app.end("cancelled", "")
        await pilot.pause()
        assert "Some **words" in app.seen()
        assert app.said() == "■ cancelled"


async def test_a_new_run_begins_with_an_empty_pane() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write("Old")
        app.end("completed", "Old")
        app.start()
        await pilot.pause()
        assert app.pane.markdown_text == ""
        assert "The report is written here" in app.seen()


async def test_the_border_says_how_to_follow_again() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.start()
        app.write(SECTIONS)
        await pilot.pause()
        app.pane.focus()
        await pilot.press("home")
        await pilot.pause()
        assert app.said().endswith("end follows")
        await pilot.press("end")
        await pilot.pause()
        assert app.said().endswith("streaming…")
        app.write("\n\nThe very last words")
        await pilot.pause()
        assert "The very last words" in app.seen()


async def test_contents_stand_beside_the_text_where_there_is_room() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.start()
        app.write("# One\n\nText.\n\n")
        await pilot.pause()
        assert not app.pane.contents.display
        app.write(SECTIONS)
        await pilot.pause()
        assert app.pane.contents.display and app.pane.view.display
        assert app.pane.contents.region.right <= app.pane.view.region.x
        await pilot.resize_terminal(60, 20)
        await pilot.pause()
        assert not app.pane.contents.display and app.pane.view.display


async def test_contents_follow_the_section_and_enter_jumps() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 14)) as pilot:
        app.start()
        app.write(SECTIONS)
        app.end("completed", SECTIONS)
        await pilot.pause()
        app.pane.view.scroll_to(y=0, animate=False)
        await pilot.pause()
        assert app.pane.contents.highlighted == 0
        app.pane.contents.focus()
        await pilot.press("down", "down", "down", "enter")
        await pilot.pause()
        assert app.seen().startswith("Part 3")
        assert app.focused is app.pane.view
        assert app.pane.contents.highlighted == 3


async def test_t_shows_and_hides_the_contents_also_where_they_cover_the_text() -> None:
    app = PaneApp()
    async with app.run_test(size=(40, 14)) as pilot:
        app.start()
        app.pane.focus()
        await pilot.press("t")
        assert not app.pane.contents.display
        app.write(SECTIONS)
        await pilot.pause()
        await pilot.press("t")
        await pilot.pause()
        assert app.pane.contents.display and not app.pane.view.display
        assert app.focused is app.pane.contents
        await pilot.press("home", "down", "enter")
        await pilot.pause()
        assert app.pane.view.display and not app.pane.contents.display
        assert app.seen().startswith("Part 1")
        await pilot.press("t")
        await pilot.pause()
        await pilot.press("escape")
        await pilot.pause()
        assert app.pane.view.display and not app.pane.contents.display
        assert app.focused is app.pane.view


async def test_headings_from_outside_are_no_markup_in_the_contents() -> None:
    app = PaneApp()
    async with app.run_test(size=(100, 14)) as pilot:
        app.start()
        app.write("# [@click=app.quit]x[/]\n\n## [b]y[/b] \x1b[31m\n\nText.\n\nMore.")
        await pilot.pause()
        options = [str(app.pane.contents.get_option_at_index(index).prompt).strip() for index in range(2)]
        assert options == ["[@click=app.quit]x[/]", "[b]y[/b] ␛[31m"]
        await pilot.click(app.pane.contents, offset=(3, 0))
        await pilot.pause()
        assert app.is_running


async def test_a_link_is_told_before_it_is_opened() -> None:
    app = PaneApp()
    async with app.run_test(size=(70, 14)) as pilot:
        app.start()
        app.write("See [the docs](https://docs.example.org/en/) or [this](file:///etc/passwd).\n\n")
        await pilot.pause()
        app.pane.focus()
        await pilot.press("tab")
        await pilot.pause()
        assert app.said() == "https://docs.example.org/en/"
        await pilot.press("enter")
        assert app.opened == ["https://docs.example.org/en/"]
        await pilot.press("tab")
        await pilot.pause()
        assert "streaming…" in app.said()
        await pilot.hover(MarkdownView, offset=(6, 0))
        await pilot.pause()
        assert app.said() == "https://docs.example.org/en/"
        assert app.opened == ["https://docs.example.org/en/"]


@pytest.mark.parametrize("width", [160, 80, 40, 20])
async def test_every_width_shows_the_report_within_the_frame(width: int) -> None:
    app = PaneApp()
    async with app.run_test(size=(width, 30)) as pilot:
        app.start()
        app.write("# 标题 Title\n\n中文 words and `code` [link](https://x.org/)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n")
        await pilot.pause()
        assert "标题 Title" in app.seen()
        assert all(cell_len(line) <= width - 4 for line in app.seen().split("\n"))


def test_importing_the_pane_imports_neither_the_grammar_nor_the_lexers() -> None:
    code = "import sys, tui_agent.tui.widgets.report; print({'markdown_it', 'pygments'} & sys.modules.keys())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


async def test_a_tiny_pane_survives() -> None:
    app = PaneApp()
    async with app.run_test(size=(8, 3)) as pilot:
        app.start()
        app.write(SECTIONS)
        for size in ((3, 3), (1, 1), (20, 5), (60, 20)):
            await pilot.resize_terminal(*size)
            await pilot.pause()
        assert "Words of part 7." in app.seen()


# -- evidence -------------------------------------------------------------------------------

WEB = "https://github.com/a/b/blob/" + "c" * 40
CLAIMS = "# R\n\n" + "Words.\n\n" * 30 + "See `src/app.py` and `made_up()`.\n\n| f |\n| --- |\n| `src/app.py` |\n"


def grounding(*, url: str | None = f"{WEB}/src/app.py", bad: bool = True) -> ev.Grounding:
    seen = {"claim": "src/app.py", "source": "read", "kind": "path", "start": CLAIMS.index("src/app.py")}
    made_up = {"claim": "made_up()", "source": None, "kind": "code", "reason": "This text was not seen."}
    return ev.Grounding(
        run_id="r",
        supported=[seen if url is None else {**seen, "url": url}],
        unsupported=[{**made_up, "start": CLAIMS.index("made_up()")}] if bad else [],
    )


def links(pane: ReportPane) -> list[str]:
    placement = pane.view._placement
    placement.lay_out(0, placement.height)
    return [link.href for block in range(len(placement.document.blocks)) for link in placement.links(block)]


def shown_text(app: PaneApp) -> str:
    view = app.pane.view
    return "\n".join(view.render_line(y).text for y in range(view.size.height))


async def test_the_border_says_how_much_was_observed_by_word_and_shape() -> None:
    app = PaneApp()
    async with app.run_test(size=(90, 20)):
        app.start()
        app.tell(grounding())
        app.end("completed", CLAIMS)
        assert Content.from_markup(str(app.pane.border_subtitle)).plain == "✔ completed · ▲ evidence 1 of 2 (v)"
        app.start()
        app.tell(grounding(bad=False))
        app.end("completed", CLAIMS)
        assert Content.from_markup(str(app.pane.border_subtitle)).plain == "✔ completed · ✓ evidence 1 of 1 (v)"


async def test_what_was_seen_becomes_a_link_once_the_report_is_whole() -> None:
    app = PaneApp()
    async with app.run_test(size=(90, 20)):
        app.start()
        app.write(CLAIMS)
        before = app.pane.view._placement.height
        app.tell(grounding())
        assert links(app.pane) == [], "while it streams nothing is made of it"
        app.end("completed", CLAIMS)
        assert links(app.pane) == [f"{WEB}/src/app.py"] * 2
        assert app.pane.view._placement.height == before, "a link takes no room"
        app.start()
        app.end("completed", "# Other\n\n`src/app.py`\n")
        assert links(app.pane) == [], "they were another report's"


@pytest.mark.parametrize("url", [None, "javascript:alert(1)", "file:///etc/passwd", "https://", 'https://x/" y'])
async def test_only_addresses_of_the_web_become_links(url: str | None) -> None:
    app = PaneApp()
    async with app.run_test(size=(90, 20)):
        app.start()
        app.tell(grounding(url=url))
        app.end("completed", CLAIMS)
        assert links(app.pane) == []


async def test_v_lists_the_claims_what_was_not_observed_first() -> None:
    app = PaneApp()
    async with app.run_test(size=(90, 20)) as pilot:
        app.start()
        app.tell(grounding())
        app.end("completed", CLAIMS)
        app.pane.focus()
        await pilot.press("v")
        await pilot.pause()
        rows = app.screen.query_one(OptionList)
        shown = [str(rows.get_option_at_index(index).prompt) for index in range(rows.option_count)]
        assert shown[0] == "✗ made_up()  code\n  This text was not seen."
        assert shown[1].startswith("✓ src/app.py  path\n  read")
        await pilot.press("down", "enter")
        assert app.opened == [f"{WEB}/src/app.py"]
        await pilot.press("up", "enter")
        await pilot.pause()
        assert not isinstance(app.screen, EvidenceScreen)
        assert "made_up()" in shown_text(app), "enter on what has no address goes to its place"
        assert app.pane.view.scroll_offset.y > 20


async def test_v_lists_the_claims_whatever_pane_has_the_focus() -> None:
    async with dashboard() as desk:
        desk.session.tell(grounding())
        desk.session.finish("completed", CLAIMS)
        await desk.settle()
        for pane in "1234":
            await desk.press(pane, "v")
            assert isinstance(desk.app.screen, EvidenceScreen), pane
            await desk.press("escape")
        await desk.press("a", "v")
        assert not isinstance(desk.app.screen, EvidenceScreen), "in the input it is a letter"


async def test_v_says_that_there_is_nothing_while_nothing_was_checked() -> None:
    app = PaneApp()
    async with app.run_test(size=(90, 20)) as pilot:
        app.start()
        app.pane.focus()
        await pilot.press("v")
        assert not isinstance(app.screen, EvidenceScreen)


async def test_a_picture_of_the_screen_loads_nothing() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 10)):
        app.start()
        app.end("completed", CLAIMS)
        svg = picture_of(app)
        assert svg.startswith("<svg")
        assert not re.search(r"url\(\s*['\"]?(?!#)|@import|@font-face|<(?:script|image|use|foreignObject)\b", svg)
        assert re.findall(r"""(?:href|src)=["'](?!#)""", svg) == []


async def test_chinese_is_as_wide_in_a_picture_as_on_the_screen() -> None:
    app = PaneApp()
    async with app.run_test(size=(60, 10)):
        app.start()
        app.end("completed", report="仓库分析 is an analysis")
        svg = picture_of(app)
        widths = {text: float(width) for width, text in re.findall(r'textLength="([0-9.]+)"[^>]*>([^<]+)<', svg)}
        cell = next(width for text, width in widths.items() if text == "╭")
        (line,) = [text for text in widths if "仓库" in text]
        assert widths[line] == pytest.approx(cell * (len(unescape(line)) + 4))

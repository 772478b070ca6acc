"""The Markdown view: drawing, following, links, selection, themes."""

from __future__ import annotations

import random

import pytest
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.color import Color
from textual.geometry import Offset, Region
from textual.pilot import Pilot
from textual.strip import Strip

from tests.test_markdown_text import REPORT, at_once
from tui_agent.tui.widgets.markdown_style import NAMES, contrast
from tui_agent.tui.widgets.markdown_view import MarkdownView


class ViewApp(App[None]):
    """A view that fills the screen, and a list of what was opened."""

    def __init__(self, *views: MarkdownView) -> None:
        super().__init__()
        self.views = views or (MarkdownView(),)
        self.opened: list[str] = []

    @property
    def view(self) -> MarkdownView:
        return self.views[0]

    def compose(self) -> ComposeResult:
        yield from self.views

    def open_url(self, url: str, *, new_tab: bool = True) -> None:
        self.opened.append(url)


def seen(view: MarkdownView) -> list[str]:
    return [strip.text.rstrip() for strip in view.render_lines(Region(0, 0, *view.size))]


def where(view: MarkdownView, text: str) -> tuple[int, int]:
    """Column and row at which a text begins on the screen."""
    for row, line in enumerate(seen(view)):
        if text in line:
            return cell_len(line[: line.index(text)]) + view.region.x, row + view.region.y
    raise AssertionError(f"{text!r} is not on the screen")


async def test_streamed_and_set_views_paint_the_same_screen() -> None:
    streamed, whole = MarkdownView(), MarkdownView()
    async with ViewApp(streamed, whole).run_test(size=(50, 60)) as pilot:
        chance, at = random.Random(5), 0
        while at < len(REPORT):
            piece = REPORT[at : at + chance.randint(1, 20)]
            at += len(piece)
            streamed.append(piece)
            streamed.flush()
            if chance.random() < 0.2:
                await pilot.pause()
        streamed.finish()
        whole.set_text(REPORT)
        whole.follow()
        await pilot.pause()
        assert streamed.scroll_offset.y > 0
        assert seen(streamed) == seen(whole)
        assert streamed.render_lines(Region(0, 0, *streamed.size)) == whole.render_lines(Region(0, 0, *whole.size))
        assert streamed.markdown_text == whole.markdown_text == REPORT


async def test_the_end_is_followed_until_the_reader_goes_up_and_again_after_end() -> None:
    app = ViewApp()
    async with app.run_test(size=(40, 10)) as pilot:
        view = app.view
        view.focus()
        for number in range(40):
            view.append(f"Paragraph {number}\n\n")
        view.flush()
        await pilot.pause()
        assert "Paragraph 39" in "".join(seen(view))
        await pilot.press("up")
        await pilot.wait_for_animation()
        before = seen(view)
        view.append("Paragraph 40\n\nParagraph 41\n\n")
        view.flush()
        await pilot.pause()
        assert not view.following
        assert seen(view) == before
        await pilot.press("end")
        await pilot.pause()
        assert "Paragraph 41" in "".join(seen(view))
        view.append("Paragraph 42\n\n")
        view.flush()
        await pilot.pause()
        assert "Paragraph 42" in "".join(seen(view))


async def test_resizing_keeps_the_place_and_lays_out_what_is_seen_first() -> None:
    app = ViewApp()
    text = "".join(f"# Heading {n}\n\n{'some words of text ' * 30}\n\n" for n in range(150))
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.view
        view.set_text(text)
        await pilot.pause()
        index = next(i for i, heading in enumerate(view.headings) if heading.title == "Heading 70")
        view.scroll_to_heading(index)
        await pilot.pause()
        assert seen(view)[0] == "Heading 70"
        await pilot.resize_terminal(33, 20)
        await pilot.pause()
        assert seen(view)[0] == "Heading 70"
        assert all(cell_len(line) <= 33 for line in seen(view))
        for _ in range(500):
            if view.virtual_size.height == len(at_once(text, view.scrollable_content_region.width)):
                break
            await pilot.pause()
        assert view.virtual_size.height == len(at_once(text, view.scrollable_content_region.width))
        assert seen(view)[0] == "Heading 70"


async def test_tab_walks_over_links_on_the_screen_and_enter_opens() -> None:
    app = ViewApp(
        MarkdownView("[a](https://a.org/) [bad](javascript:x) [rel](x.md) [b](http://b.org/)\n\n[c](https://c.org/)")
    )
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.focus()
        await pilot.press("enter")
        for _ in range(3):
            await pilot.press("tab", "enter")
        await pilot.press("shift+tab", "enter")
        assert app.opened == ["https://a.org/", "http://b.org/", "https://c.org/", "http://b.org/"]
        await pilot.press("tab", "tab")
        assert app.view.active_link is None


async def test_a_definition_that_streams_in_late_makes_a_link_of_what_stands_above() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 12)) as pilot:
        app.view.focus()
        app.view.append("See [docs].\n\n# Next\n\nMore.\n\n")
        app.view.flush()
        await pilot.press("tab", "enter")
        assert app.opened == []
        app.view.focus()
        app.view.append("[docs]: https://docs.org/\n\nLast.\n\nEnd.")
        app.view.flush()
        await pilot.press("tab", "enter")
        assert app.opened == ["https://docs.org/"]
        assert seen(app.view)[0] == "See docs."


async def test_a_click_opens_web_addresses_only() -> None:
    text = "[@click=app.quit]quit[/] [good](https://good.org/) [js](javascript:alert(1)) [rel](quit)"
    app = ViewApp(MarkdownView(text))
    async with app.run_test(size=(100, 5)) as pilot:
        await pilot.pause()
        assert seen(app.view)[0] == "[@click=app.quit]quit[/] good [js](javascript:alert(1)) rel"
        for word in ("quit[", "js", "alert", "rel", "good", "@click"):
            await pilot.click(offset=where(app.view, word))
        assert app.opened == ["https://good.org/"]
        assert app.is_running


async def test_painted_lines_carry_no_action_and_no_terminal_link() -> None:
    app = ViewApp(MarkdownView(REPORT + "\n[@click=app.quit]x[/] [b]y[/b]"))
    async with app.run_test(size=(60, 50)):
        for strip in app.view.render_lines(Region(0, 0, *app.view.size)):
            assert all(
                segment.style is None or (not segment.style.meta and not segment.style.link) for segment in strip
            )


async def test_clicks_and_keys_while_text_streams_in_never_crash() -> None:
    app = ViewApp()
    chance = random.Random(3)
    async with app.run_test(size=(30, 12)) as pilot:
        for at in range(0, len(REPORT), 25):
            app.view.append(REPORT[at : at + 25])
            if chance.random() < 0.7:
                app.view.flush()
            await pilot.click(offset=(chance.randrange(30), chance.randrange(12)), times=chance.choice([1, 1, 2]))
            await pilot.press(chance.choice(["tab", "shift+tab", "up", "end", "pageup", "home"]))
            if chance.random() < 0.05:
                app.view.clear()
        app.view.finish()
        await pilot.pause()
        assert app.is_running


async def drag(pilot: Pilot[None], start: tuple[int, int], end: tuple[int, int]) -> str | None:
    """What is selected by dragging the mouse from one cell to another, that one included."""
    await pilot.mouse_down(offset=start)
    await pilot.hover(offset=end)
    await pilot.mouse_up(offset=end)
    return pilot.app.screen.get_selected_text()


async def test_selected_text_is_copied_as_it_was_written() -> None:
    app = ViewApp(MarkdownView("Some words that do not fit on one line here.\n\n```\nx = 1\ny = 2\n```\n\n> said"))
    async with app.run_test(size=(24, 20)) as pilot:
        view = app.view
        await pilot.pause()
        assert await drag(pilot, where(view, "words"), where(view, "line")) == "words that do not fit on one l"
        column, row = where(view, "x = 1")
        assert await drag(pilot, (column, row), (column + 4, row + 1)) == "x = 1\ny = 2"
        assert await drag(pilot, (0, row), (20, row + 3)) == "x = 1\ny = 2\n\nsaid"
        view.text_select_all()
        everything = app.screen.get_selected_text()
        assert everything == "Some words that do not fit on one line here.\n\nx = 1\ny = 2\n\nsaid"


async def test_the_end_of_a_selection_opens_no_link() -> None:
    app = ViewApp(MarkdownView("Go to [the docs](https://docs.org/) now."))
    async with app.run_test(size=(40, 5)) as pilot:
        await pilot.pause()
        await drag(pilot, (0, 0), where(app.view, "docs"))
        assert app.opened == []


async def test_headings_are_told_and_the_section_follows_the_reader() -> None:
    text = "".join(f"{'#' * (1 + n % 2)} Part {n}\n\n" + "text\n\n" * 10 for n in range(6))
    app = ViewApp(MarkdownView(text))
    async with app.run_test(size=(40, 8)) as pilot:
        view = app.view
        await pilot.pause()
        assert [(heading.level, heading.title) for heading in view.headings] == [
            (1 + n % 2, f"Part {n}") for n in range(6)
        ]
        view.scroll_to(y=0, animate=False)
        await pilot.pause()
        assert view.section == 0
        view.scroll_to_heading(3)
        await pilot.pause()
        assert (view.section, seen(view)[0]) == (3, "Part 3")
        view.scroll_to_heading(5)
        assert view.section == 5


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "nord", "solarized-light", "gruvbox"])
async def test_every_text_can_be_read_in_every_theme(theme: str) -> None:
    app = ViewApp(MarkdownView(REPORT))
    async with app.run_test(size=(60, 50)) as pilot:
        app.theme = theme
        await pilot.pause()
        for strip in app.view.render_lines(Region(0, 0, *app.view.size)):
            for text, style, _ in strip:
                if style is None or style.color is None or style.bgcolor is None or not text.strip(" │┊━─▌┿┼"):
                    continue
                ratio = contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))
                assert ratio >= 4.45, (text, style)


async def test_a_new_theme_recolours_what_is_seen() -> None:
    app = ViewApp(MarkdownView(REPORT))
    async with app.run_test(size=(60, 50)) as pilot:
        app.theme = "textual-dark"
        await pilot.pause()
        dark = app.view.render_lines(Region(0, 0, *app.view.size))
        app.theme = "textual-light"
        await pilot.pause()
        light = app.view.render_lines(Region(0, 0, *app.view.size))
        assert [strip.text for strip in dark] == [strip.text for strip in light]
        assert all(one != other for one, other in zip(dark, light, strict=True))


async def test_without_colour_attributes_still_tell_bold_links_and_code_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = ViewApp(MarkdownView(REPORT))
    async with app.run_test(size=(60, 50)) as pilot:
        await pilot.pause()
        styles = {
            text.strip(): style
            for strip in app.view.render_lines(Region(0, 0, *app.view.size))
            for text, style, _ in strip
            if style is not None
        }
        assert styles["lightweight"].bold and styles["designed"].italic and styles["nothing"].strike
        assert styles["the docs"].underline
        assert all(
            len(set(style.color.triplet)) == 1 for style in styles.values() if style.color and style.color.triplet
        )


async def test_appending_after_the_finish_goes_on_where_the_text_ended() -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 10)) as pilot:
        view = app.view
        for piece in ("One **bo", "ld** word", "\nand more"):
            view.append(piece)
            view.finish()
        await pilot.pause()
        assert seen(view)[0] == "One bold word and more"
        view.clear()
        await pilot.pause()
        assert (view.markdown_text, "".join(seen(view))) == ("", "")


async def test_nothing_is_drawn_once_the_text_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    app = ViewApp()
    async with app.run_test(size=(60, 10)) as pilot:
        app.view.append(REPORT)
        app.view.finish()
        for _ in range(20):
            await pilot.pause()
        drawn: list[Region] = []
        draw = app.view.render_lines

        def count(crop: Region) -> list[Strip]:
            drawn.append(crop)
            return draw(crop)

        monkeypatch.setattr(app.view, "render_lines", count)
        for _ in range(20):
            await pilot.pause()
        assert drawn == []


async def test_component_classes_are_styled_by_the_theme_alone() -> None:
    app = ViewApp()
    async with app.run_test(size=(20, 5)):
        for name in NAMES:
            assert app.view.get_component_styles(f"markdown--{name}").has_any_rules("color", "background", "text_style")


async def test_offsets_are_told_where_a_selection_may_begin() -> None:
    app = ViewApp(MarkdownView("one\n\ntwo"))
    async with app.run_test(size=(20, 5)) as pilot:
        await pilot.pause()
        assert app.screen.get_widget_and_offset_at(2, 2) == (app.view, Offset(2, 2))
        assert app.screen.get_widget_and_offset_at(5, 1)[1] is not None

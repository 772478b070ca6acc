"""The list of recorded runs over the dashboard: searched, opened, saved, deleted."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.records import BEGAN, record, some_records, story
from tests.tui_desk import WIDE, Desk, dashboard, names_in
from tui_agent import events as ev
from tui_agent.request import RunRequest
from tui_agent.runs.record import Recorder
from tui_agent.runs.store import RunStore, RunSummary


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@asynccontextmanager
async def history(
    store: RunStore, size: tuple[int, int] = WIDE, request: RunRequest | None = None
) -> AsyncIterator[Desk]:
    """A dashboard with the list open over it."""
    async with dashboard(request, size=size, store=store) as desk:
        if request is None:
            await desk.press("escape")
        await desk.press("h")
        await desk.until(lambda: "Reading" not in desk.screen)
        await desk.settle()
        yield desk


async def test_the_runs_stand_there_newest_first_with_what_tells_them_apart(tmp_path: Path) -> None:
    async with history(some_records(tmp_path), size=(100, 30)) as desk:
        rows = [line for line in desk.screen.splitlines() if "@1a2b3c4" in line]
        names = [(row.split("@")[0].split()[-1], row.split()[2]) for row in rows]
        assert names == [
            ("pallets/flask", "completed"),
            ("pallets/flask", "completed"),
            ("pallets/click", "failed"),
            ("Textualize/rich", "interrupted"),
        ]
        assert "12.3k tokens  2026-09-21 15:03" in rows[1]
        assert "↳ Who uses it?" in desk.screen and "What is it?" in desk.screen
        footer = desk.screen.splitlines()[-1]
        assert all(words in footer for words in ("open", "/ search", "d delete", "s save report", "esc back"))


async def test_enter_opens_a_run_at_its_end_with_what_it_goes_on_with(tmp_path: Path) -> None:
    async with history(some_records(tmp_path)) as desk:
        await desk.press("enter")
        await desk.until(lambda: "REPLAY" in desk.screen)
        await desk.settle()
        for words in ("pallets/flask", "✔ completed", "A micro framework.", "Many do.", "event 32/32", "paused"):
            assert words in desk.screen, words
        await desk.press("h", "down", "down", "enter")
        await desk.until(lambda: "pallets/click" in desk.screen)
        await desk.settle()
        assert "✘ failed" in desk.screen and "A micro framework." not in desk.screen


async def test_a_run_that_was_left_in_the_middle_opens_where_it_ends(tmp_path: Path) -> None:
    async with history(some_records(tmp_path)) as desk:
        await desk.press("up", "enter")
        await desk.until(lambda: "REPLAY" in desk.screen)
        await desk.settle()
        assert "Textualize/rich" in desk.screen and "HALF-OPEN" in desk.screen and "event 9/9" in desk.screen


async def test_typing_narrows_the_list_to_runs_that_have_all_the_words(tmp_path: Path) -> None:
    async with history(some_records(tmp_path)) as desk:
        await desk.press("slash")
        await desk.type("FLASK uses")
        await desk.settle()
        assert "Who uses it?" in desk.screen and "pallets/click" not in desk.screen and "1 of 4" in desk.screen
        await desk.type(" nowhere")
        await desk.settle()
        assert "No run has all of these words" in desk.screen
        await desk.press("escape")
        assert "pallets/click" in desk.screen
        await desk.press("slash")
        await desk.type("failed")
        await desk.press("enter", "enter")
        await desk.until(lambda: "REPLAY" in desk.screen)
        await desk.settle()
        assert "pallets/click" in desk.screen


async def test_a_run_is_deleted_only_after_asking(tmp_path: Path) -> None:
    async with history(some_records(tmp_path)) as desk:
        await desk.press("down", "down", "d")
        assert "Delete the run of pallets/click" in desk.screen
        await desk.press("n")
        assert len(names_in(tmp_path)) == 4
        await desk.press("d", "y")
        await desk.until(lambda: "Deleted." in desk.screen)
        await desk.until(lambda: "pallets/click" not in desk.screen)
        assert len(names_in(tmp_path)) == 3
        await desk.press("enter")
        await desk.until(lambda: "REPLAY" in desk.screen)
        await desk.settle()
        assert "Textualize/rich" in desk.screen, "the cursor stays where it was"


async def test_a_run_that_is_still_written_is_not_deleted_and_says_so(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, RunRequest(repo="pallets/flask"), now=lambda: BEGAN)
    for event in story()[:5]:
        recorder(event)
    async with history(RunStore(tmp_path)) as desk:
        assert "▶ running" in desk.screen
        await desk.press("d", "y")
        await desk.until(lambda: "still running" in desk.screen)
    recorder.close()
    assert len(names_in(tmp_path)) == 1


async def test_the_report_of_a_run_is_saved_from_the_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with history(some_records(tmp_path / "runs")) as desk:
        await desk.press("s", "enter")
        await desk.until(lambda: "Saved as" in desk.screen)
        (name,) = names_in(folder)
        assert "A micro framework." in (folder / name).read_text(encoding="utf-8")
        await desk.press("down", "down", "s")
        await desk.press("enter")
        assert "There is no report in this run." in desk.screen
        assert names_in(folder) == [name]


async def test_with_nothing_recorded_it_says_what_to_do(tmp_path: Path) -> None:
    async with history(RunStore(tmp_path / "none")) as desk:
        assert "No run is recorded yet." in desk.screen
        await desk.press("enter", "d", "s")
        assert "Nothing to save." in desk.screen
        await desk.press("escape")
        assert "Recorded runs" not in desk.screen and "○ idle" in desk.screen


async def test_what_cannot_be_read_is_counted_and_told(tmp_path: Path) -> None:
    store = some_records(tmp_path)
    (tmp_path / "20260101-000000-bad.jsonl").write_text("{", encoding="utf-8")
    async with history(store) as desk:
        assert "1 file in " in desk.screen and "could not be read" in desk.screen
        for name in names_in(tmp_path):
            (tmp_path / name).unlink()
        await desk.press("enter")
        await desk.until(lambda: any("There is no file" in told for told in desk.told))


class SlowStore(RunStore):
    """A disk that takes its time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.go_on = threading.Event()

    def list(self) -> list[RunSummary]:
        """Wait to be let go."""
        self.go_on.wait(20)
        return super().list()


async def test_a_slow_disk_holds_nothing_up(tmp_path: Path) -> None:
    some_records(tmp_path)
    store = SlowStore(tmp_path)
    async with dashboard(None, store=store) as desk:
        await desk.press("escape", "h")
        assert "Reading …" in desk.screen
        await desk.press("slash")
        await desk.type("click")
        await desk.settle()
        assert "click" in desk.screen
        await desk.press("enter", "escape")
        assert "Recorded runs" not in desk.screen
        await desk.press("h")
        store.go_on.set()
        await desk.until(lambda: "pallets/click" in desk.screen)


async def test_the_list_opens_over_a_run_which_goes_on(tmp_path: Path) -> None:
    async with history(some_records(tmp_path), request=RunRequest(repo="pallets/quart")) as desk:
        desk.session.tell(ev.TurnStarted(turn=7, max_turns=15))
        await desk.press("r", "b", "x", "escape")
        assert "turn 7/15" in desk.screen and desk.session.asked == [] and len(desk.session.requests) == 1
        await desk.press("h", "enter")
        await desk.until(lambda: "REPLAY" in desk.screen)
        assert desk.session.running
        await desk.press("escape")
        assert "turn 7/15" in desk.screen and desk.session.running


HOSTILE = "\x1b]0;owned\x07[red]x[/red]\u202e{a}"


async def test_text_from_a_record_acts_on_no_terminal(tmp_path: Path) -> None:
    record(tmp_path, story(repo=f"a/{HOSTILE}", question=HOSTILE * 30))
    async with history(RunStore(tmp_path)) as desk:
        assert "[red]x[/red]" in desk.screen
        await desk.press("d")
        assert "Delete the run of a/" in desk.screen and "[red]x" in desk.screen
        assert not {"\x1b", "\x07", "\u202e"} & set(desk.screen)
        await desk.press("n")
        assert not {"\x1b", "\x07", "\u202e"} & set(desk.screen)


@pytest.mark.parametrize("size", [(160, 48), (40, 14), (20, 5)])
async def test_the_list_fits_on_every_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async with history(some_records(tmp_path), size=size) as desk:
        assert max(len(line) for line in desk.screen.splitlines()) <= size[0]
        if size[1] > 5:
            assert "pallets/flask" in desk.screen or "pallets/fl" in desk.screen
        await desk.pilot.resize_terminal(60, 20)
        await desk.settle()
        assert "pallets/flask@1a2b3c4" in desk.screen
        await desk.press("escape")
        assert "Recorded runs" not in desk.screen

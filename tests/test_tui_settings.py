"""The screen of settings, the theme that is kept between starts, and the keys that a user binds."""

from __future__ import annotations

import os
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.test_settings import load
from tests.tui_desk import SIZES, WIDE, Desk, dashboard
from tests.tui_session import ScriptedSession
from tui_agent.cli_dashboard import DashboardSession, _app
from tui_agent.remembered import keep_theme, read_theme, remembered_file
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings, documented
from tui_agent.splash import Splash
from tui_agent.tui import keys
from tui_agent.tui.preferences import Preferences
from tui_agent.tui.rebinding import NAMES, TAKEN, bound

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
SECRET = "sk-hunter2-and-more"


@asynccontextmanager
async def options(settings: Settings, size: tuple[int, int] = WIDE, **more: Any) -> AsyncIterator[Desk]:
    """A dashboard with the settings open over it."""
    async with dashboard(None, size=size, preferences=Preferences(settings, **more)) as desk:
        await desk.press("escape")
        await desk.press("o")
        yield desk


def row(desk: Desk, name: str) -> str:
    return next((line for line in desk.screen.splitlines() if f" {name} " in line), "")


# --- the screen ------------------------------------------------------------------------------------------------------


async def test_each_value_stands_there_with_where_it_came_from_and_a_secret_only_as_set(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        flags={"max_turns": "3"},
        environ={"OPENROUTER_API_KEY": SECRET, "REPO_AGENT_PROFILE": "openrouter"},
        env="REPO_AGENT_LANG=zh\nGITHUB_TOKEN=ghp_hunter2",
        config='breaker_threshold = 9\n[keys]\nrerun = "ctrl+r"',
    )
    async with options(settings, size=(120, 40)) as desk:
        for name, words in {
            "REPO_AGENT_MAX_TURNS": ("3", "command line"),
            "REPO_AGENT_PROFILE": ("openrouter", "environment"),
            "REPO_AGENT_MODEL": ("openrouter/auto", "profile openrouter"),
            "API_KEY": ("set", "profile openrouter"),
            "GITHUB_TOKEN": ("set", ".env"),
            "REPO_AGENT_LANG": ("zh", ".env"),
            "REPO_AGENT_BREAKER_THRESHOLD": ("9", "config.toml"),
            "REPO_AGENT_MAX_RETRIES": ("3", "default"),
            "REPO_AGENT_THEME": ("repo-agent-dark", "default"),
            "keys.rerun": ("ctrl+r", "config.toml"),
        }.items():
            assert all(f" {word} " in row(desk, name) for word in words), (name, row(desk, name))
        assert "hunter2" not in desk.screen
        assert all(one.names[0] in desk.screen for one in documented())


async def test_typing_searches_and_enter_says_what_a_setting_means_and_how_to_change_it() -> None:
    async with options(Settings()) as desk:
        await desk.press("slash")
        await desk.type("breaker seconds")
        await desk.settle()
        assert "REPO_AGENT_BREAKER_RESET" in desk.screen and "REPO_AGENT_MODEL" not in desk.screen
        assert " 1 of " in desk.screen
        await desk.press("enter", "enter")
        for words in ("Seconds until an open breaker admits a probe", "Now: 30.0 (default)", "breaker_reset = …"):
            assert words in desk.screen
        await desk.press("escape")
        # What is typed in one burst is the field's, the second slash and the key of the theme too.
        await desk.burst("/thirty/")
        assert type(desk.app.screen).__name__ == "SettingsScreen" and "thirty/" in desk.screen
        assert "No setting has all of these words" in desk.screen
        await desk.press("escape", "escape")
        assert "─ Trace ─" in desk.screen


@pytest.mark.parametrize("size", SIZES[2:])
async def test_it_can_be_read_at_every_size(size: tuple[int, int]) -> None:
    async with options(Settings(), size=size) as desk:
        assert "API_KEY" in desk.screen or size[1] < 10
        await desk.press("down", "enter", "escape", "escape")
        assert desk.app.screen is desk.app.board


async def test_the_theme_is_chosen_there_and_kept() -> None:
    kept: list[str] = []
    async with options(Settings(), keep=kept.append) as desk:
        await desk.press("slash")
        await desk.type("theme")
        await desk.press("enter", "enter")
        assert "the choice is kept for the next start" in desk.screen
        await desk.press("enter")
        await desk.until(lambda: type(desk.app.screen).__name__ == "CommandPalette")
        await desk.type("nord")
        await desk.until(lambda: "nord" in desk.screen)
        await desk.pilot.pause(0.2)
        await desk.press("enter")
        await desk.until(lambda: bool(kept))
        assert kept == [desk.app.theme] == ["nord"]
        await desk.settle()
        assert "chosen here" in row(desk, "REPO_AGENT_THEME")


# --- the theme between starts ----------------------------------------------------------------------------------------


async def test_a_kept_theme_counts_where_no_source_names_one() -> None:
    async with dashboard(None, preferences=Preferences(theme="nord")) as desk:
        assert desk.app.theme == "nord"
    settings = Settings(theme="light")
    async with dashboard(None, theme="light", preferences=Preferences(settings, theme="nord")) as desk:
        assert desk.app.theme == "repo-agent-light"
    async with dashboard(None, preferences=Preferences(theme="of-another-version")) as desk:
        assert desk.app.theme == "repo-agent-dark" and "no theme" not in desk.screen


async def test_a_choice_that_a_setting_overrules_or_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    settings = load(tmp_path, environ={"REPO_AGENT_THEME": "light"})
    async with dashboard(None, theme="light", preferences=Preferences(settings, keep=lambda _: None)) as desk:
        desk.app.theme = "nord"
        await desk.settle()
        assert "REPO_AGENT_THEME (environment) comes first" in desk.screen
    async with dashboard(None, preferences=Preferences(keep=lambda _: "No space left on device")) as desk:
        desk.app.theme = "nord"
        await desk.settle()
        assert "could not be kept for the next start: No space left on device" in desk.screen


@pytest.mark.parametrize(("said", "shown"), [(None, "nord"), ("light", "repo-agent-light")])
def test_the_command_line_starts_with_the_theme_that_was_kept(said: str | None, shown: str) -> None:
    keep_theme("nord")
    session: Any = DashboardSession(ScriptedSession(), RunRequest(repo=""), None)
    app = _app(session, RunRequest(repo=""), Settings(theme=said) if said else Settings(), Splash(), None)
    assert app.theme == shown


def test_the_breakers_threshold_is_the_sessions_also_where_the_demo_sets_its_own() -> None:
    session: Any = DashboardSession(Session(Settings(), demo=True), RunRequest(repo=""), None)
    app = _app(session, RunRequest(repo=""), Settings(), Splash(), None)
    assert {row.threshold for row in app._stage.state.breakers.values()} == {3}


def test_what_is_kept_is_the_users_alone_and_replaced_whole() -> None:
    assert read_theme() is None and not remembered_file().exists()
    assert keep_theme("nord") is None and keep_theme("gruvbox") is None
    assert read_theme() == "gruvbox"
    assert [path.name for path in remembered_file().parent.iterdir()] == ["remembered.json"]
    if os.name == "posix":
        assert stat.S_IMODE(remembered_file().stat().st_mode) == 0o600
        assert stat.S_IMODE(remembered_file().parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"theme": 3}', b'{"theme": "a\\u001bb"}', b"[" * 9_000])
def test_a_broken_file_is_ignored_and_written_anew(data: bytes) -> None:
    remembered_file().parent.mkdir(parents=True)
    remembered_file().write_bytes(data)
    assert read_theme() is None
    assert keep_theme("nord") is None and read_theme() == "nord"


def test_a_place_that_takes_nothing_is_said_and_no_crash() -> None:
    remembered_file().parent.parent.mkdir(parents=True, exist_ok=True)
    remembered_file().parent.write_text("in the way", encoding="utf-8")
    assert keep_theme("nord") and read_theme() is None


# --- keys ------------------------------------------------------------------------------------------------------------


def test_every_key_of_the_dashboard_has_a_name_by_which_it_can_be_bound() -> None:
    assert {binding.action for binding in keys.BINDINGS} == set(NAMES.values())
    assert all(f"`{name}`" in README for name in NAMES)


@asynccontextmanager
async def bound_desk(wanted: Mapping[str, object], size: tuple[int, int] = (160, 40)) -> AsyncIterator[Desk]:
    async with dashboard(size=size, preferences=Preferences(Settings(keys=wanted))) as desk:
        yield desk


async def test_a_bound_key_does_it_and_the_former_one_no_more() -> None:
    async with bound_desk({"zoom": "ctrl+o, W", "cancel": ["f8"], "save": "?", "help": "f1"}) as desk:
        await desk.press("3", "z")
        assert "─ Trace ─" in desk.screen
        for key in ("ctrl+o", "W"):
            await desk.press(key)
            await desk.until(lambda key=key: ("─ Trace ─" in desk.screen) is (key == "W"))  # type: ignore[misc]
        await desk.press("escape")
        assert desk.session.running
        await desk.press("f8")
        await desk.until(lambda: not desk.session.running)


async def test_footer_help_and_palette_tell_the_keys_as_they_are_bound() -> None:
    async with bound_desk({"zoom": "ctrl+o", "report": "w", "next_event": "K"}) as desk:
        footer = desk.screen.splitlines()[-1]
        assert "^o zoom" in footer and "1 2 3 4 w panes" in footer and "z zoom" not in footer
        await desk.press("question_mark")
        assert "^o             zoom the pane" in desk.screen and "1 2 3 4 w      trace" in desk.screen
        await desk.press("escape")
        told = {command.title: command.help for command in desk.app.get_system_commands(desk.app.screen)}
        assert told["Zoom"].endswith("(^o)") and told["Report"].endswith("(w)") and told["Ask"].endswith("(a)")
    assert bound({"next_event": "K"}).told("[ ]") == "[ K"


async def test_the_line_at_a_runs_end_tells_the_keys_as_they_are_bound() -> None:
    async with bound_desk({"rerun": "ctrl+r", "save": "f2, ctrl+s"}) as desk:
        desk.session.finish("completed", "# A report")
        await desk.until(lambda: not desk.session.running)
        await desk.settle()
        assert "The report is written: f2 saves it, y copies it, ^r runs again." in desk.screen
        await desk.press("ctrl+r", "escape")
        await desk.until(lambda: not desk.session.running)
        await desk.settle()
        assert "^r runs it again." in desk.screen


async def test_what_cannot_be_bound_is_told_once_and_the_usual_key_holds() -> None:
    wanted = {"rerun": "s", "nonsense": "x", "copy": "enter", "zoom": "f13+", "history": 3, "save": "f9"}
    async with bound_desk({**wanted, "help": "q"}) as desk:
        for words in ("'nonsense'", "help: q is the key of quit", "copy: ⏎ is a key of the panes", "zoom: 'f13+'"):
            assert words in desk.told[0]
        # save has left its key to rerun
        assert len(desk.told) == 1 and "rerun" not in desk.told[0]
        await desk.press("z")
        assert "─ Breakers ─" not in desk.screen


@pytest.mark.parametrize(
    ("wanted", "changed", "troubles"),
    [
        ({"rerun": "s", "save": "r"}, {"rerun", "save"}, 0),
        ({"rerun": "s"}, set(), 1),
        ({"rerun": "f2", "save": "f2"}, {"save"}, 1),
        # what is refused has its own key again, which is nobody else's then
        ({"rerun": "s", "save": "enter"}, set(), 2),
        ({"rerun": "r,ctrl+r"}, {"rerun"}, 0),
        ({"next_run": "comma", "previous_run": "full_stop"}, {"next_run", "previous_run"}, 0),
        ({"play": "escape"}, set(), 1),
        ({"rerun": ""}, set(), 1),
        ({"rerun": "ctrl+nonsense"}, set(), 1),
        ({"rerun": ["x", 3]}, set(), 1),
        ({"rerun": "alt+r", "quit": "ctrl+x"}, {"rerun", "quit"}, 0),
        ({"a\x1b[31m": "x"}, set(), 1),
    ],
)
def test_which_keys_can_be_bound(wanted: dict[str, object], changed: set[str], troubles: int) -> None:
    found = bound(wanted)
    assert found.changed == changed
    assert len(found.troubles) == bool(troubles)
    assert "".join(found.troubles).count(";") == max(troubles - 1, 0)
    assert "".join(found.troubles).isprintable()
    own = [key for name, keys_ in found.keys.items() if name in changed for key in keys_]
    assert len(own) == len(set(own)) and not TAKEN.intersection(own)

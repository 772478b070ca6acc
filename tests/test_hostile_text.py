"""Text from outside never acts: not on a terminal, through whatever way out it comes, and not on the dashboard."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.hostile import ALL, HIDDEN, MARK, MARKDOWN, MARKUP, acting, shapes, without_sequences
from tests.servers import faults
from tests.servers.expect import WHO, read
from tests.servers.files import Commit, FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import wait_until
from tests.servers.model import ModelServer
from tests.servers.program import environment, run
from tests.servers.terminal import Terminal
from tests.servers.turns import call, error_in_stream, failure, say, think
from tests.sizes import DEEP, some
from tests.tui_desk import Desk, dashboard
from tests.tui_session import ScriptedSession, breaker, started
from tui_agent import events as ev
from tui_agent.request import RunRequest

# git's own names: anything but NUL and the slash.
NAME = ALL.replace("\x00", "").replace("/", "∕")
TAME = FilesTransport({"README.md": "# Tool\n\nIt is **harmless**.\n", "src/main.py": "x = 1\n"})


def hostile_repository() -> FilesTransport:
    """Everything that a repository can say, said by an enemy."""
    return FilesTransport(
        {NAME: ALL, "README.md": f"# {ALL}\n\n{ALL}\n", f"src/{NAME}.py": f"x = {ALL!r}\n", "big.txt": f"{ALL}\n" * 90},
        commits=[Commit(ALL, ALL, ALL), Commit()],
        about={
            "description": ALL,
            "homepage": f"javascript:{ALL}",
            "topics": [ALL],
            "language": ALL,
            "license": {"spdx_id": ALL},
            "full_name": f"team/{ALL}",
            "html_url": ALL,
        },
    )


HOSTILE_TURNS = [
    [
        # half a surrogate pair could not come back as it was
        think(ALL.replace("\udc80", "").replace("\ud83d", ""), by=5),
        say(f"I look at {ALL}.", by=5),
        call("get_repo_info", WHO),
        call("list_directory", WHO),
        call("get_commits", WHO),
        read("README.md"),
        read(NAME),
    ],
    [call(ALL, {ALL: ALL}), call("read_file", ALL), read(ALL), call("find_files", {**WHO, "pattern": ALL})],
    [error_in_stream(ALL, 500)],
    failure(503, ALL),
]
REPORT = [
    say(f"# {ALL}\n\n{ALL}\n\n- {MARKDOWN}\n\n```\n{ALL}\n```\n\n| {ALL} | b |\n|---|---|\n| {ALL} | 2 |\n", by=9)
]


def troubled(hub: GitHubServer) -> None:
    hub.on("get_repo_info", faults.refuse(502, ALL), faults.refuse(502, ALL))
    hub.on("get_commits", faults.secondary_limit("0"), faults.refuse(403, ALL))
    hub.on(
        "read_file", faults.html(502), faults.redirect(f"http://evil.example/{ALL}".replace("\r", "").replace("\n", ""))
    )


# -- ways out without a dashboard -----------------------------------------------------------------


@pytest.mark.parametrize("mode", ["--print", "--json"])
async def test_a_hostile_repository_and_model_reach_no_terminal_by_print_or_json(tmp_path: Path, mode: str) -> None:
    async with GitHubServer(hostile_repository()) as hub, ModelServer(*HOSTILE_TURNS, REPORT) as model:
        troubled(hub)
        args = (
            "team/tool",
            mode,
            "--no-cache",
            "-q",
            f"What is {ALL}?".replace("\x00", "").replace("\udc80", "").replace("\ud83d", ""),
        )
        done = await run(*args, "-o", "report.md", env=environment(tmp_path, hub, model), cwd=tmp_path)
    assert done.code == 0, done.err
    assert acting(done.out) == [] and acting(done.err) == []
    assert acting((tmp_path / "report.md").read_text()) == []
    said = done.out + done.err
    # It is shown, not dropped.
    assert ("␛]0;owned" in said) if mode == "--print" else (r"\u001b]0;owned" in said)
    if mode == "--json":
        report = done.finished["report"]
        assert report.startswith("# a\x00b\x01c") and "\x1b]0;owned" in report, "events hold the text as it is"


FAILURES: dict[str, Callable[[GitHubServer], object]] = {
    "message": lambda hub: hub.on("commit", always=faults.refuse(401, ALL)),
    "trouble": lambda hub: hub.on("commit", always=faults.refuse(500, ALL)),
    "limit": lambda hub: hub.on("tree", always=faults.refuse(429, ALL, retry_after="9999")),
    "branch": lambda hub: (
        hub.on("commit", faults.refuse(404, ALL)),
        hub.on("get_repo_info", always=faults.Answer(200, {}, json.dumps({"default_branch": ALL}).encode())),
    ),
    "redirect": lambda hub: hub.on(
        "commit", always=faults.redirect("http://\x1b]0;owned\x07.\u202eevil.example/".encode().decode("latin-1"))
    ),
}


@pytest.mark.parametrize(
    ("name", "mode"), some([(name, mode) for mode in ("--print", "--json") for name in FAILURES], 2)
)
async def test_the_sentence_of_a_failed_run_does_not_act(tmp_path: Path, name: str, mode: str) -> None:
    async with GitHubServer(TAME) as hub, ModelServer() as model:
        FAILURES[name](hub)
        more = {"REPO_AGENT_MAX_RETRIES": "0"}
        done = await run("team/tool", mode, "--no-cache", env=environment(tmp_path, hub, model, **more), cwd=tmp_path)
    assert done.code == 1
    assert acting(done.out) == [] and acting(done.err) == []


@pytest.mark.parametrize(
    "args",
    [
        ["owner/na\x1b]0;owned\x07me"],
        ["./\x1b[2J\u202e"],
        ["https://github.com/a/b\x9b31m"],
        ["team/tool", "--ref", "\x1b[31337m\u202e"],
        ["team/tool", "--chaos", "\x1b]0;owned\x07:500"],
        ["team/tool", "--preset", "\x1b[2J"],
        ["--\x1b[2J\u202e"],
        ["team/tool", "-o", "\x1b[2J.md/\u202e"],
        ["\x1b[2J", "\u202eb"],
    ],
)
async def test_what_was_typed_is_repeated_in_a_form_that_does_not_act(tmp_path: Path, args: list[str]) -> None:
    async with GitHubServer(TAME) as hub, ModelServer() as model:
        done = await run("--print", *args, env=environment(tmp_path, hub, model), cwd=tmp_path)
    assert done.code in (1, 2) and done.err
    assert acting(done.out) == [] and acting(done.err) == []


@pytest.mark.parametrize(
    "name", ["GITHUB_API_URL", "REPO_AGENT_MODEL", "REPO_AGENT_MAX_TURNS", "REPO_AGENT_LANG", "API_KEY"]
)
async def test_what_a_variable_holds_does_not_act(tmp_path: Path, name: str) -> None:
    env = environment(tmp_path) | {name: "\x1b]0;owned\x07\u202e\x9b31m"}
    done = await run("team/tool", "--print", env=env, cwd=tmp_path)
    assert done.code == 2 and name in done.err
    assert acting(done.err) == []


# -- the dashboard, as it draws -------------------------------------------------------------------


SCROLLBAR = {"grab", "release", "scroll_up", "scroll_down", "scroll_left", "scroll_right"}
"""What Textual's own scroll bars do when they are clicked."""


async def see_all(desk: Desk, panes: str = "12345") -> str:
    """The panes, everything in them opened and walked through; what was seen."""
    seen = []
    for key in panes:
        await desk.press(key)
        if key == "1":
            await desk.press("*")
        for step in ("home", "end"):
            await desk.press(step)
            assert_tame(desk)
            seen.append(desk.screen)
    return "\n".join(seen)


def assert_tame(desk: Desk) -> None:
    """Nothing on the screen acts: no character of it, no link of the terminal's, no action behind a style."""
    for strip in desk.app.screen._compositor.render_strips():
        for segment in strip:
            assert acting(segment.text) == [], segment
            style = segment.style
            assert style is None or style.link is None
            acts = {name: value for name, value in (style.meta if style else {}).items() if name.startswith("@")}
            assert set(acts) <= {"@mouse.down", "@mouse.up"}, acts
            assert set(acts.values()) <= SCROLLBAR, acts


def every_event(text: str) -> list[ev.Event]:
    """A text in every place that an event has for one."""
    return [
        ev.Snapshot(repo=text, ref=text, commit=text, files=3, truncated=True),
        ev.TurnStarted(turn=1, max_turns=15),
        ev.ReasoningDelta(turn=1, text=text),
        ev.Reasoning(turn=1, text=text),
        ev.ReportDelta(turn=1, text=text),
        ev.Thought(turn=1, text=text),
        started("c1", text, path=text, **{"x" + text: [text, {text: text}]}),
        started("c2", "read_file", path=text),
        ev.AttemptFailed(call_id="c1", name=text, attempt=1, reason=text, status=503),
        ev.RetryScheduled(call_id="c1", name=text, attempt=2, of=4, delay=900.0),
        ev.RateLimitWait(call_id="c2", name=text, kind="secondary", seconds=900.0, until=1_800_000_900.0),
        ev.ToolFinished(
            turn=1,
            call_id="c3",
            tool=text,
            arguments={text: text},
            outcome="error",
            result={"ok": False, "error": text, text: [text, {text: text}], "content": text},
            attempts=1,
            cache="miss",
            elapsed=1.0,
        ),
        ev.TurnRestarted(turn=1, reason=text),
        ev.AttemptFailed(call_id=None, name="llm", attempt=1, reason=text, status=None),
        breaker(text, "open", failures=5, retry_in=30.0),
        ev.Quota(resource=text, limit=60, remaining=0, used=60, reset=1_800_000_100),
        ev.Notice(level="error", text=text),
        ev.Grounding(supported=[{"claim": text, "source": text}], unsupported=[{"claim": text, "source": None}]),
        ev.TurnStarted(turn=2, max_turns=15),
        ev.ReportDelta(turn=2, text=f"# {text}\n\n{text}\n\n- {text}\n\n> {text}\n\n```\n{text}\n```\n"),
        ev.ReportDelta(turn=2, text=f"\n| {text} | b |\n|---|---|\n| {text} | c |\n\n{text}"),
    ]


@asynccontextmanager
async def full_of(text: str) -> AsyncIterator[Desk]:
    async with dashboard(RunRequest(repo=f"o/{text}", question=text, ref=text), size=(130, 36)) as desk:
        for event in every_event(text):
            desk.session.tell(event)
        await desk.settle()
        yield desk


async def test_no_text_in_any_place_of_any_event_acts_on_the_dashboard() -> None:
    text = ALL
    async with full_of(text) as desk:
        seen = await see_all(desk)
        await desk.pilot.resize_terminal(70, 24)
        await desk.settle()
        seen += await see_all(desk)
        desk.session.finish("partial", report=f"# {text}\n\n{text}\n", error=text)
        await desk.settle()
        seen += await see_all(desk, "15")
        await desk.press("?")
        assert_tame(desk)
        assert desk.app.is_running
    assert "[red]x[/red]" in seen and "[@click=app.quit]y[/]" in seen and "␛]0;owned" in seen


async def test_no_text_acts_in_a_search_a_dialog_or_what_is_said_in_answer_to_a_key() -> None:
    async with full_of(ALL) as desk:
        await desk.press("/")
        await desk.type("owned\x1b[2J\u202e[red]")
        assert_tame(desk)
        await desk.press("enter", "escape", "x")
        await desk.type(MARKUP + HIDDEN)
        await desk.press("enter")
        assert_tame(desk)
        assert desk.session.running, "the fault was taken, and its dialog has closed"
        await desk.press("a")
        await desk.type("./\x1b[2J[red]\u202e")
        await desk.press("enter")
        assert_tame(desk)
        desk.session.finish("completed", report=ALL)
        await desk.settle()
        await desk.press("escape", "y")
        assert acting(desk.app.clipboard) == [] and "␛]0;owned" in desk.app.clipboard
        await desk.press("1", "end", "c", "s")
        assert_tame(desk)
        assert acting(desk.app.clipboard) == []


async def test_a_click_anywhere_on_hostile_text_opens_nothing_but_http(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    async with full_of(f"{MARKUP} {MARKDOWN}") as desk:
        monkeypatch.setattr(type(desk.app), "open_url", lambda self, url, **_: opened.append(url))
        for y in range(1, 36, 4):
            for x in range(2, 130, 16 if DEEP else 32):
                await desk.pilot.click(offset=(x, y))
            if y % 8 == 1:
                desk.session.tell(ev.ReportDelta(turn=2, text=MARKDOWN))
                await desk.settle()
            assert desk.app.is_running
        await desk.press("escape", "escape")
    assert all(url.startswith(("http://", "https://")) for url in opened), opened


async def test_a_session_that_breaks_in_hostile_words_is_told_in_tame_ones() -> None:
    async with dashboard(session=ScriptedSession(refuse=ALL)) as desk:
        await desk.until(lambda: "owned" in desk.screen)
        assert_tame(desk)
    async with dashboard() as desk:
        desk.session.die(RuntimeError(ALL))
        await desk.until(lambda: desk.app.state.run.outcome == "failed")
        await desk.settle()
        assert_tame(desk)
        desk.session.between(ev.Notice(level="warning", text=ALL))
        await desk.settle()
        assert_tame(desk)


# -- the dashboard, as its terminal sees it -------------------------------------------------------


def drive(home: Path, hub: GitHubServer, model: ModelServer, *args: str) -> str:
    """A whole run on a terminal, everything opened and walked through; all that was written."""
    with hub.in_thread(), model.in_thread():
        env = environment(home, hub, model)
        with Terminal("team/tool", "--no-cache", *args, env=env, cwd=home, columns=150, rows=44) as terminal:
            terminal.see("completed")
            for keys in (
                "1",
                "*",
                "\x1b[H",
                "\x1b[6~",
                "\x1b[6~",
                "\x1b[F",
                "2",
                "3",
                "4",
                "5",
                "\x1b[F",
                "z",
                "z",
                "t",
                "?",
            ):
                terminal.send(keys)
                for _ in range(4):
                    terminal.read(0.05)
            terminal.see("esc closes")
            terminal.send("\x1b")
            terminal.see(lambda text: "esc closes" not in text)
            terminal.send("q")
            assert terminal.end() == 0
            terminal.assert_restored()
            raw = terminal.raw
    return raw.decode("utf-8", "surrogateescape")


def test_no_byte_from_outside_acts_on_the_dashboards_terminal(tmp_path: Path) -> None:
    calm = [call("get_repo_info", WHO), read("README.md")]
    harmless = drive(
        tmp_path, GitHubServer(TAME), ModelServer([think("Hm."), *calm], [say("# R\n\nIt [is](https://x.org).")])
    )
    hub = GitHubServer(hostile_repository())
    troubled(hub)
    hostile = drive(tmp_path, hub, ModelServer(*HOSTILE_TURNS, REPORT))
    assert "␛]0;owned" in hostile, "it is shown"
    assert f"\x1b[{MARK}" not in hostile and f"\x9b{MARK}" not in hostile
    # No sequence but those that the program writes of a harmless run too, and nothing between them that acts.
    assert shapes(hostile) - shapes(harmless) == set()
    assert acting(without_sequences(hostile).replace("\r\n", "\n")) == []


def test_hostile_files_of_a_local_folder_do_not_act_either(tmp_path: Path) -> None:
    folder = tmp_path / "tool"
    folder.mkdir()
    for name in ("\x1b]0;owned\x07", "\x1b[2J", "\u202egnp.exe", "[red]x[∕red]", "\x9b31m"):
        (folder / name).write_text(ALL, errors="replace")
    (folder / b"bad-\xe9\x1b.txt".decode("utf-8", "surrogateescape")).write_bytes(b"\x1b[2J\xff\xfe")
    (folder / "README.md").write_text(f"# {ALL}\n", errors="replace")
    env = environment(tmp_path)
    with Terminal("./tool", "--engine", "survey", env=env, cwd=tmp_path, columns=130, rows=40) as terminal:
        terminal.see("completed")
        terminal.send("1*")
        wait_until(lambda: terminal.read() and "list_directory" in terminal.text, seconds=20)
        terminal.send("q")
        assert terminal.end() == 0
    written = terminal.raw.decode("utf-8", "surrogateescape")
    assert not any("owned" in shape for shape in shapes(written))
    assert acting(without_sequences(written).replace("\r\n", "\n")) == []

"""Two thousand blobs and names through printer, JSON lines, dashboard and exports; a model's inventions over sockets.

What the tools themselves make of such blobs and names is shown in `test_tools_fuzz.py`.
"""

from __future__ import annotations

import io
import json
import random
import re
from typing import Any

import pytest

from tests.fakes import Content, settle
from tests.hostile import ALL, HIDDEN, MARKDOWN, MARKUP, SEQUENCES, acting
from tests.servers.expect import read
from tests.servers.files import FilesTransport
from tests.servers.github import GitHubServer
from tests.servers.http import Answer
from tests.servers.inside import TOKEN, nothing_left_behind, run_inside
from tests.servers.model import ModelServer
from tests.servers.turns import Turn, call, say
from tests.sizes import many
from tests.tool_bench import Bench
from tests.tui_desk import dashboard
from tui_agent import events as ev
from tui_agent.events import Event, from_json, to_json
from tui_agent.frontends.json_lines import JsonLines
from tui_agent.frontends.printer import Printer
from tui_agent.redact import Redactor
from tui_agent.report.export import RENDERERS, ReportDocument
from tui_agent.tools.toolbox import ToolCall
from tui_agent.tui.state import DashboardState

MANY = many(2_000, 500)
CHUNK = 40
_SIGNS = (
    "abc.-_ \t\n\r\\'\"[]{}()#?%&=+@:;*~$`<>|!\x00\x1b\x07\x7f\x9b\u202e\u200b\u2066é漢😀👩\u200d👧\ufe0f\udc80\u0301"
)
_BYTES = [
    b"text\n",
    b"\r\n",
    b"\r",
    b"\t",
    b"\x00",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xef\xbb\xbf",
    b"\xc3\xa9",
    b"\xe2\x82",
    b"\xed\xb2\x80",
    b"\xf0\x9f\x98\x80",
    b"\x1b[31m",
    b"\x1b]0;t\x07",
    b"\x80\x9b",
    "\u202e\u2066\u200b".encode(),
    b"# h\n\n",
    b"```\n",
    b"| a | b |\n|---|---|\n",
    b"[x](javascript:y) ",
    b"[red]x[/] ",
    b"> * 1. ",
    b"<b>&amp;",
    b"a" * 3000,
    b"word " * 400,
    b"[" * 200,
    b"*" * 200,
    "漢字".encode() * 200,
]


def name(chance: random.Random) -> str:
    return "".join(chance.choices(_SIGNS, k=chance.randint(1, 30)))


def blob(chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return chance.randbytes(chance.randint(0, 400))
    return b"".join(chance.choices(_BYTES, k=chance.randint(0, 8)))


def text(chance: random.Random) -> str:
    return blob(chance).decode("utf-8", chance.choice(["replace", "surrogateescape", "backslashreplace"]))


def value(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.random()
    if depth < 3 and kind < 0.2:
        return [value(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    if depth < 3 and kind < 0.4:
        return {name(chance): value(chance, depth + 1) for _ in range(chance.randint(0, 4))}
    return chance.choice([None, True, 0, -1, 10**18, 1.5, float("inf"), "", name(chance), text(chance)])


async def observed(seed: int) -> list[Event]:
    """What the tools really say of random files: one turn for every forty of them."""
    chance = random.Random(seed)
    files: dict[str, Content] = {}
    while len(files) < MANY:
        path = name(chance).replace("/", "")
        if path not in (".", "..", ""):
            files[path] = blob(chance)
    bench = Bench(files)
    await bench.open()
    events: list[Event] = bench.heard
    for number, path in enumerate(files):
        if number % CHUNK == 0:
            events.append(ev.TurnStarted(turn=number // CHUNK + 1, max_turns=MANY))
            events.append(ev.Thought(turn=number // CHUNK + 1, text=text(chance)))
        arguments = {"owner": "octo", "repo": "demo", "path": path}
        await bench.toolbox.execute(number // CHUNK + 1, ToolCall(f"c{number}", "read_file", arguments))
    await settle()
    return list(events)


def invented(seed: int, number: int) -> list[Event]:
    """Events with anything in them, in any order."""
    chance = random.Random(seed)

    def t() -> str:
        return text(chance)

    def n() -> int:
        return chance.choice([0, 1, 2, 3, 10**9])

    def s() -> float:
        return chance.choice([0.0, 0.01, 3.0, 1e7, -1.0])

    def call_id() -> str | None:
        return chance.choice(["a", "b", None, t()])

    makers = [
        lambda: ev.Snapshot(repo=t(), ref=t(), commit=chance.choice([None, t()]), files=n(), truncated=True),
        lambda: ev.TurnStarted(turn=n(), max_turns=n()),
        lambda: ev.ReasoningDelta(turn=n(), text=t()),
        lambda: ev.Reasoning(turn=n(), text=t()),
        lambda: ev.ReportDelta(turn=n(), text=t()),
        lambda: ev.ReportDelta(turn=1, text=t()),
        lambda: ev.Thought(turn=n(), text=t()),
        lambda: ev.TurnRestarted(turn=n(), reason=t()),
        lambda: ev.ToolStarted(turn=n(), call_id=call_id() or "x", tool=t(), arguments={t(): value(chance)}),
        lambda: ev.AttemptFailed(
            call_id=call_id(), name=t(), attempt=n(), reason=t(), status=chance.choice([None, 503])
        ),
        lambda: ev.RetryScheduled(call_id=call_id(), name="llm", attempt=n(), of=n(), delay=s()),
        lambda: ev.RateLimitWait(call_id=call_id(), name=t(), kind="primary", seconds=s(), until=s()),
        lambda: ev.BreakerChanged(
            name=chance.choice(["llm", t()]), state="open", failures=n(), threshold=n(), retry_in=s(), cause="user"
        ),
        lambda: ev.Quota(resource=t(), limit=n(), remaining=n(), used=n(), reset=n()),
        lambda: ev.ToolFinished(
            turn=n(),
            call_id=call_id() or "y",
            tool=t(),
            arguments={t(): value(chance)},
            outcome=chance.choice(["ok", "error", "fallback"]),
            result={t(): value(chance) for _ in range(3)} | {"ok": value(chance), "error": value(chance)},
            attempts=n(),
            cache=chance.choice(["miss", "hit", "revalidated", "memory"]),
            elapsed=s(),
        ),
        lambda: ev.Usage(
            prompt_tokens=n(),
            completion_tokens=n(),
            cached_tokens=n(),
            reasoning_tokens=n(),
            context_tokens=n(),
            cost=s(),
        ),
        lambda: ev.Notice(level="warning", text=t()),
        lambda: ev.Grounding(supported=[{"claim": value(chance)}], unsupported=[{"claim": t(), "source": None}, {}]),
    ]
    return [chance.choice(makers)() for _ in range(number)]


# -- printer, JSON lines, state -------------------------------------------------------------------


@pytest.mark.parametrize("source", ["observed", "invented"])
async def test_every_blob_and_name_has_a_line_a_json_line_and_a_state(source: str) -> None:
    events = await observed(1) if source == "observed" else invented(2, MANY)
    trace, lines, state = io.StringIO(), io.StringIO(), DashboardState()
    printer, json_lines = Printer(trace, Redactor([])), JsonLines(lines, Redactor([]), lambda: None)
    started = ev.RunStarted(
        repo="octo/demo", source="github", ref=None, question="?", engine="llm", model="m", run_id="r"
    )
    for number, event in enumerate([started, *events]):
        stamped = ev.stamp(event, number / 100, "r")
        printer(stamped)
        json_lines(stamped)
        state.apply(stamped)
    assert printer.heard and json_lines.trouble is None
    assert acting(trace.getvalue()) == []
    written = lines.getvalue()
    assert acting(written) == [] and written.count("\n") == len(events) + 1
    for event, line in zip([started, *events], written.split("\n"), strict=False):
        again = from_json(json.loads(line))
        assert again is not None and again.type == event.type
        assert to_json(again).keys() == to_json(event).keys()
    assert all(len(line) < 3_000 for line in trace.getvalue().splitlines())


def test_every_report_can_be_written_in_every_form() -> None:
    chance = random.Random(3)
    for _ in range(300):
        document = ReportDocument(
            repo=text(chance),
            commit=text(chance),
            ref=text(chance),
            question=text(chance),
            engine="llm",
            model=text(chance),
            outcome="partial",
            created=chance.choice([0.0, 1.8e9]),
            report="\n\n".join(text(chance) for _ in range(4)),
            error=text(chance),
        )
        for suffix, render in RENDERERS.items():
            written = render(document)
            assert acting(written) == [], suffix
            assert "<script" not in written or suffix != ".html"
            assert not re.search(r"(?:href|src)=.(?!https?://|#)", written) or suffix != ".html", written


# -- the dashboard --------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["observed", "invented"])
async def test_every_blob_and_name_can_be_drawn(source: str) -> None:
    events = await observed(4) if source == "observed" else invented(5, MANY)
    async with dashboard(size=(120, 36)) as desk:
        for number, event in enumerate(events):
            desk.clock.pass_(0.01)
            desk.session.tell(event)
            if number % 250 == 0:
                await desk.settle()
                assert acting(desk.screen) == []
        await desk.settle()
        for key in ("1", "*", "home", "pagedown", "pagedown", "end", "2", "home", "end", "3", "4", "5", "home", "end"):
            await desk.press(key)
            assert acting(desk.screen) == []
        for size in ((60, 20), (20, 5), (160, 48)):
            await desk.pilot.resize_terminal(*size)
            await desk.settle()
            assert acting(desk.screen) == []
        await desk.press("/")
        await desk.type("漢[red]")
        await desk.press("enter", "n", "N", "escape")
        desk.session.finish("completed", report="\n\n".join(text(random.Random(n)) for n in range(60)))
        await desk.settle()
        assert acting(desk.screen) == [] and desk.app.is_running


async def test_a_report_of_random_pieces_streams_in_at_any_cut() -> None:
    chance = random.Random(6)
    whole = "".join(text(chance) for _ in range(many(150, 60)))
    async with dashboard(size=(110, 34)) as desk:
        await desk.press("5")
        desk.session.tell(ev.TurnStarted(turn=1, max_turns=2))
        position, number = 0, 0
        while position < len(whole):
            size = chance.choice([1, 2, 7, 30, 400, 3_000])
            desk.session.tell(ev.ReportDelta(turn=1, text=whole[position : position + size]))
            position, number = position + size, number + 1
            if number % 10 == 0:
                await desk.settle()
                await desk.press(chance.choice(["home", "end", "pageup", "pagedown", "tab", "t", "down"]))
                assert acting(desk.screen) == []
        await desk.settle()
        assert desk.app.state.report.text == whole and desk.app.is_running


# -- what a model invents -------------------------------------------------------------------------

INVENTIONS = [
    *("..", "../..", "/", "//", "/etc/passwd", "~/.ssh/id_rsa", "C:\\x", "a/../../b", "./..", ".git/config"),
    *("%2e%2e", "%2f", "%2F..%2F", "..%2f..%2f", "%00", "%0d%0aHost: evil", "%252e%252e%252f", "..%c0%af"),
    *("?", "?ref=x", "a?b=c", "#", "#x", "a#b", "&", ";x", "a;b", "@evil.example", "https://evil.example/x"),
    *("//evil.example/x", "\\\\evil.example\\x", "http:/evil", "javascript:x", "file:///etc/passwd", "..\\..\\x"),
    *(
        "\r\nX-Evil: 1",
        "a\nb",
        "\x00",
        "\u2025/",
        "．．／",
        "/",
        "‥",
        "README.md/../../../x",
        "README.md/",
        "README.md\x00",
    ),
    *("x" * 10_000, " ", "\t", "", "README.md ", " README.md", "*", "**", "{a,b}", "[", "()", "$(id)", "`id`", "|id"),
    *(HIDDEN, MARKUP, MARKDOWN, *SEQUENCES[:4]),
]
ANYWHERE = ["", "..", "/", "other", "tool/../../other/secret", "tool?x", "tool#x", "%2e%2e", "tool/git", "evil.example"]


def inventive() -> list[Any]:
    """Calls with an invention in every place that takes one."""
    who = {"owner": "team", "repo": "tool"}
    calls: list[Any] = []
    for odd in INVENTIONS:
        calls += [
            call("read_file", {**who, "path": odd}),
            call("list_directory", {**who, "path": odd}),
            call("get_commits", {**who, "path": odd, "per_page": odd}),
            call("get_commits", {**who, "path": odd}),
            call("find_files", {**who, "pattern": odd}),
            call("read_file", {**who, "path": "README.md", "offset": odd}),
        ]
    for odd in [*ANYWHERE, *INVENTIONS[:20]]:
        calls += [
            call("get_repo_info", {"owner": odd, "repo": "tool"}),
            call("get_repo_info", {"owner": "team", "repo": odd}),
            call("read_file", {"owner": odd, "repo": odd, "path": "README.md"}),
            call("read_file", {**who, "path": "README.md", "ref": odd}),
            call("read_file", {**who, "path": "README.md", "url": odd}),
            call(f"read_file{odd}"[:200], {**who, "path": "README.md"}),
        ]
    return calls


async def test_what_a_model_invents_forms_no_request_outside_its_repository() -> None:
    calls, source = inventive(), FilesTransport({"README.md": "# Tool\n", "src/main.py": "x\n"}, truncated=True)
    turns: list[Turn] = [calls[start : start + 60] for start in range(0, len(calls), 60)]
    script = (*turns, [say("# Report")])
    async with nothing_left_behind(), GitHubServer(source, limit=5000) as github, ModelServer(*script) as model:
        heard = await run_inside(github, model, max_turns=len(script), context_tokens=4_000_000)
    assert model.errors == []
    assert heard.finished["outcome"] == "completed"
    ended = heard.of("tool_finished")
    assert len(ended) == len(calls)
    assert {event["outcome"] for event in ended} <= {"ok", "error"}
    allowed = re.compile(
        r"/repos/team/tool(?:/commits(?:/HEAD)?|/git/(?:trees|blobs)/[0-9a-f]{40})?(?:\?[A-Za-z0-9_.~%&=+*-]*)?"
    )
    for request in github.requests:
        assert request.method == "GET"
        assert allowed.fullmatch(request.target), request.target
        assert set(request.query) <= {"recursive", "sha", "per_page", "page", "path"}, request.query
        assert request.headers["host"] == github.url.removeprefix("http://")
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        assert "x-evil" not in request.headers
    assert all(len(json.dumps(event["result"])) < 20_000 for event in ended)


FEW_ROUTES = re.compile(r"/repos/team/tool/(commits/HEAD|git/(trees|blobs)/[0-9a-f]{40}(\?recursive=1)?)")


async def test_a_hostile_tree_forms_no_request_outside_its_repository_either() -> None:
    """Names, SHAs and links that an enemy's server tells."""
    entry = {"mode": "100644", "type": "blob", "size": 3}
    trees: list[list[dict[str, Any]]] = [
        [{**entry, "path": odd, "sha": "a" * 40} for odd in INVENTIONS if odd],
        [{**entry, "path": "x", "sha": odd} for odd in INVENTIONS],
        [{**entry, "path": 7, "sha": "a" * 40}],
        [{"path": "link", "mode": "120000", "type": "blob", "sha": "b" * 40, "size": 9}],
    ]
    for tree in trees:
        source, odd_paths = FilesTransport({"README.md": ALL}), ("link", "x", *INVENTIONS)
        script = ([read(odd) for odd in odd_paths], [say("# Report")])
        async with nothing_left_behind(), GitHubServer(source, limit=5000) as github, ModelServer(*script) as model:
            github.on("tree", _json({"tree": tree, "truncated": False}))
            github.on("read_file", always=_json({"content": "Li4vLi4vZXRjL3Bhc3N3ZA==", "encoding": "base64"}))
            heard = await run_inside(github, model, max_retries=0)
        assert heard.finished["outcome"] in ("completed", "failed")
        for request in github.requests:
            assert FEW_ROUTES.fullmatch(request.target), request.target


def _json(data: Any) -> Answer:
    return Answer(200, {}, json.dumps(data).encode())

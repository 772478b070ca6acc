"""Records: written as a run goes, whole after whatever ends it, private, bounded, read again by any later version."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import io
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes import Recorder as Heard
from tests.fakes import VirtualClock
from tests.repos import make_repo
from tests.servers.program import ROOT
from tui_agent.events import (
    Event,
    Notice,
    ReportDelta,
    RunFinished,
    RunStarted,
    Snapshot,
    ToolFinished,
    TurnStarted,
    Usage,
    to_json,
)
from tui_agent.frontends import run_texts
from tui_agent.frontends.printer import Printer
from tui_agent.redact import Redactor
from tui_agent.request import RunRequest
from tui_agent.runs import reading, room
from tui_agent.runs.record import FORMAT, Recorder, RecordError, runs_folder
from tui_agent.runs.store import RunStore
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.tui.state import DashboardState

BEGAN = 1_790_000_000.0
REQUEST = RunRequest(repo="octo/tool", question="What is it?", lang="en")


def events_of(run_id: str = "abc123", *, outcome: Any = "completed", follows: str | None = None) -> list[Event]:
    """A short run."""
    return [
        RunStarted(
            run_id=run_id,
            repo="octo/tool",
            source="github",
            ref=None,
            question="What is it?",
            engine="llm",
            model="m",
            follows=follows,
        ),
        Snapshot(run_id=run_id, at=0.1, repo="octo/tool", ref="HEAD", commit="c" * 40, files=3, truncated=False),
        TurnStarted(run_id=run_id, at=0.2, turn=1, max_turns=15),
        ToolFinished(
            run_id=run_id,
            at=0.5,
            turn=1,
            call_id="x",
            tool="read_file",
            arguments={"path": "火\x1b[31m"},
            outcome="ok",
            result={"ok": True, "content": "\u202e\ud800 …"},
            attempts=1,
            cache="miss",
            elapsed=0.2,
        ),
        Usage(
            run_id=run_id,
            at=0.6,
            prompt_tokens=1000,
            completion_tokens=234,
            cached_tokens=0,
            reasoning_tokens=0,
            context_tokens=1234,
            cost=None,
        ),
        RunFinished(
            run_id=run_id,
            at=0.7,
            outcome=outcome,
            report="# Tool\n\nIt is one.",
            error=None,
            turns=1,
            tool_calls=1,
            requests=3,
            elapsed=0.7,
        ),
    ]


def written(
    store: RunStore, run_id: str = "abc123", *, began: float = BEGAN, end: bool = True, follows: str | None = None
) -> Path:
    """A recorded run; without its last event where `end` is False."""
    recorder = Recorder(store.folder, REQUEST, now=lambda: began)
    for event in events_of(run_id, follows=follows)[: None if end else -1]:
        recorder(event)
    recorder.close()
    assert recorder.trouble is None and recorder.path is not None
    return recorder.path


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "state" / "runs")


# -- what is written ------------------------------------------------------------------------------


def test_a_record_is_every_event_of_the_run_one_a_line_between_head_and_end(store: RunStore) -> None:
    path = written(store)
    head, *lines, end = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert (head["type"], head["format"], head["began"], head["run_id"]) == ("record", FORMAT, BEGAN, "abc123")
    assert head["request"] == dataclasses.asdict(REQUEST) | {"others": []}
    assert [line["type"] for line in lines] == [event.type for event in events_of()]
    assert (end["type"], end["tokens"], end["events"], end["outcome"]) == ("record_end", 1234, 6, "completed")
    assert path.name == "20260921-141320-abc123.jsonl"
    raw = path.read_bytes()
    assert b"\x1b" not in raw and "\u202e".encode() not in raw, "looking at the file moves no cursor"


def test_what_is_read_is_what_was_told(store: RunStore) -> None:
    record = store.load(written(store))
    expected = [to_json(event) for event in events_of()]
    # What no text can hold is replaced, there as in `--json`.
    expected[3]["result"]["content"] = "\u202e\ufffd …"
    assert [to_json(event) for event in record.events] == expected
    assert (record.request, record.skipped) == (REQUEST, 0)
    assert record.summary == store.list()[0] == store.find("abc")
    summary = record.summary
    assert (summary.repo, summary.commit, summary.tokens, summary.events) == ("octo/tool", "c" * 40, 1234, 6)
    assert (summary.outcome, summary.elapsed, summary.began, summary.question) == (
        "completed",
        0.7,
        BEGAN,
        "What is it?",
    )


def test_what_happens_between_runs_or_in_another_is_not_recorded(store: RunStore) -> None:
    recorder = Recorder(store.folder, REQUEST)
    notice = Notice(level="info", text="between")
    recorder(notice)
    assert not store.folder.exists()
    first, *_, last = events_of()
    for event in (first, notice, dataclasses.replace(notice, run_id="another"), last, dataclasses.replace(first)):
        recorder(event)
    assert [event.type for event in store.load(store.find("abc123")).events] == ["run_started", "run_finished"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_records_are_the_users_alone(store: RunStore) -> None:
    before = os.umask(0)
    try:
        path = written(store)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ("https://me:hunter2@github.com/octo/tool?token=hunter2#hunter2", "https://github.com/octo/tool"),
        ("git@github.com:octo/tool.git", "git@github.com:octo/tool.git"),
        ("octo/tool", "octo/tool"),
        ("./some/../tool", "{cwd}/tool"),
    ],
)
def test_an_address_is_kept_without_its_key_and_a_folder_by_its_whole_path(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, kept: str
) -> None:
    monkeypatch.chdir(tmp_path)
    recorder = Recorder(store.folder, RunRequest(repo=named, others=(named,)))
    recorder(events_of()[0])
    recorder.close()
    request, kept = store.load(store.find("last")).request, kept.format(cwd=tmp_path.resolve())
    assert request is not None and (request.repo, request.others) == (kept, (kept,))
    assert recorder.path is not None and b"hunter2" not in recorder.path.read_bytes()


# -- what goes wrong while writing ----------------------------------------------------------------


def told(recorder: Recorder, events: list[Event]) -> list[Event]:
    heard: list[Event] = []
    emit = recorder.before(heard.append)
    for event in events:
        emit(event)
    recorder.close()
    return heard


@pytest.mark.parametrize("room", [0, 1, 3, 6])
def test_a_full_disk_ends_the_record_at_a_whole_line_and_not_the_run(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    write, lines = os.write, iter(range(100))

    def full(descriptor: int, data: bytes) -> int:
        number = next(lines)
        if number == room:
            return write(descriptor, data[:7])
        if number > room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    recorder = Recorder(store.folder, REQUEST)
    heard = told(recorder, events_of())
    notices = [event for event in heard if isinstance(event, Notice)]
    assert len(notices) == 1 and notices[0].level == "warning" and "No space left on device" in notices[0].text
    assert notices[0].run_id == "abc123"
    assert [event for event in heard if not isinstance(event, Notice)] == events_of()
    assert (heard[0].type, heard[-1].type) == ("run_started", "run_finished")
    if room == 0:
        assert store.list() == [] and store.unreadable == 0
        return
    assert recorder.path is not None
    lines_there = recorder.path.read_bytes().split(b"\n")
    assert len(lines_there) == room + 1 and lines_there[-1] == b""
    if room > 1:
        assert store.list()[0].outcome == "interrupted"


def _file(folder: Path) -> None:
    folder.parent.mkdir(parents=True)
    folder.write_text("")


def _closed(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o500)
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")


@pytest.mark.parametrize("make", [_file, _closed])
def test_a_place_that_cannot_be_used_is_one_notice(store: RunStore, make: Any) -> None:
    make(store.folder)
    heard = told(Recorder(store.folder, REQUEST), events_of())
    assert [event.type for event in heard].count("notice") == 1
    assert len(heard) == 1 + len(events_of()) and "not recorded: " in repr(heard)


def test_a_folder_that_cannot_be_written_is_one_notice_to_root_as_well(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> int:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    heard = told(Recorder(store.folder, REQUEST), events_of())
    assert "This run is not recorded: Permission denied." in repr(heard[1])


KILLED = """
import sys, os
from pathlib import Path
from tui_agent.runs.record import Recorder
from tests.test_runs import REQUEST, events_of
recorder = Recorder(Path(sys.argv[1]), REQUEST)
for event in events_of()[:-1]:
    recorder(event)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals and locks")
def test_a_killed_process_leaves_all_it_told_and_a_second_one_sees_the_first_at_work(store: RunStore) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(store.folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None and child.stdin is not None
    assert child.stdout.readline() == b"ready\n"
    written(store, "other")
    running = store.find("abc123")
    assert running.outcome == "running"
    with pytest.raises(RecordError, match="still running"):
        store.delete(running)
    assert store.delete_all() == (1, 1)
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    child.stdin.close()
    (left,) = store.list()
    assert (left.outcome, left.tokens, left.events, left.elapsed) == ("interrupted", 1234, 5, 0.6)
    assert [event.type for event in store.load(left).events] == [event.type for event in events_of()[:-1]]
    store.delete(left)
    assert store.list() == []


def test_what_is_being_written_in_this_process_is_running_too(store: RunStore) -> None:
    recorder = Recorder(store.folder, REQUEST)
    recorder(events_of()[0])
    assert store.list()[0].outcome == "running"
    recorder.close()
    assert store.list()[0].outcome == "interrupted"


# -- bounds ---------------------------------------------------------------------------------------


def test_the_oldest_make_room_and_what_is_being_written_stays(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    recorders = []
    for number in range(4):
        recorder = Recorder(store.folder, REQUEST, now=lambda number=number: BEGAN + number)  # type: ignore[misc]
        recorder(events_of(f"run{number}")[0])
        recorders.append(recorder)
    for recorder in recorders[1:]:
        recorder.close()
    (store.folder / "mine.jsonl").write_text("not a record of ours: never deleted")
    monkeypatch.setattr(room.make_room, "__defaults__", (3, 10**9))
    written(store, "run4", began=BEGAN + 4)
    assert [run.run_id for run in store.list()] == ["run4", "run3", "run0"]
    monkeypatch.setattr(room.make_room, "__defaults__", (200, 700))
    written(store, "run5", began=BEGAN + 5)
    assert [run.run_id for run in store.list()] == ["run5", "run0"]
    assert (store.folder / "mine.jsonl").exists()
    recorders[0].close()


# -- what is read ---------------------------------------------------------------------------------


def test_a_listing_reads_only_the_ends_of_whole_records(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    written(store)
    monkeypatch.setattr(reading, "read_record", None)
    assert store.list()[0].tokens == 1234


def test_a_record_of_an_older_version_stays_readable(store: RunStore) -> None:
    store.folder.mkdir(parents=True)
    path = store.folder / "20200101-000000-old1.jsonl"
    lines = [
        {"type": "record", "format": 0, "run_id": "old1", "request": {"repo": "octo/tool", "depth": 3}},
        # No `follows` yet, a field that has gone since, and no `at`.
        {"type": "run_started", "repo": "octo/tool", "source": "github", "ref": None, "question": "q"}
        | {"engine": "llm", "model": "m", "run_id": "old1", "mood": "good"},
        {"type": "weather", "run_id": "old1", "at": 1.0, "sky": "blue"},
        # `currency` is younger than this; `turn_started` lacks what it cannot do without.
        {"type": "usage", "run_id": "old1", "at": 2.0, "prompt_tokens": 5, "completion_tokens": 6, "cached_tokens": 0}
        | {"reasoning_tokens": 0, "context_tokens": 9, "cost": None},
        {"type": "turn_started", "run_id": "old1", "at": 2.0, "turn": 1},
        {"type": "report_delta", "run_id": "old1", "at": 2.0, "turn": "one", "text": "of another type"},
        {"type": "run_finished", "run_id": "old1", "at": 3.0, "outcome": "completed", "report": "# Old"}
        | {"error": None, "turns": 1, "tool_calls": 0, "requests": 1, "elapsed": 3.0},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    record = store.load(store.find("old1"))
    assert [event.type for event in record.events] == ["run_started", "usage", "run_finished"]
    assert record.skipped == 3
    assert record.request == RunRequest(repo="octo/tool")
    assert (record.summary.tokens, record.summary.outcome, record.summary.follows) == (11, "completed", None)


def test_a_newer_format_is_said_and_left_alone(store: RunStore) -> None:
    path = written(store)
    path.write_text(path.read_text().replace('"format":1', '"format":2', 1))
    with pytest.raises(RecordError, match=r"newer version.*format 2.*up to 1"):
        store.find("abc")
    assert store.list() == [] and store.unreadable == 1 and path.exists()


def _plain(text: str) -> str:
    """The record as `--json` would have written it."""
    return "".join(line + "\n" for line in text.splitlines() if '"record' not in line)


@pytest.mark.parametrize(
    ("change", "events"),
    [
        (_plain, 6),
        (lambda text: text[:-30], 6),
        (lambda text: text[: text.index('"commit"')], 1),
        (lambda text: text.replace('{"type":"turn_started"', "\x00\x00garbage", 1), 5),
        (lambda text: text.replace('"turn":1', '"turn":1e999', 1), 5),
        (lambda text: text.replace('"turn":1', '"turn":true', 1), 5),
        (lambda text: text.replace('"at":0.2', '"at":NaN', 1), 5),
        (lambda text: text.replace('"at":0.2', '"at":' + "9" * 5000, 1), 5),
        (lambda text: text.replace('"ok":true', '"ok":' + "[" * 100_000 + "]" * 100_000, 1), 5),
        (lambda text: text.replace("\n", "\r\n"), 6),
        (lambda text: "\ufeff" + text, 6),
        (lambda text: text + "[1, 2]\nnull\n\n", 6),
        (lambda text: text.replace('"run_id":"abc123","turn"', '"run_id":"another","turn"', 1), 5),
    ],
)
def test_what_is_whole_is_read_whatever_the_rest_is(store: RunStore, change: Any, events: int) -> None:
    path = written(store)
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    assert len(store.load(path).events) == events
    assert [run.run_id for run in store.list()] == ["abc123"]


def test_of_several_runs_in_one_output_the_last_to_begin_is_opened(store: RunStore, tmp_path: Path) -> None:
    parts = [_plain(written(store, run_id).read_text()).splitlines(keepends=True) for run_id in ("aaa", "bbb", "ccc")]
    mixed = [line for pair in zip(*parts[:2], strict=True) for line in pair]
    (tmp_path / "events.jsonl").write_text("".join([*mixed, *parts[2]]))
    record = store.load(tmp_path / "events.jsonl")
    assert (record.summary.run_id, record.summary.events, len(record.events)) == ("ccc", 6, 6)
    assert record.events == store.load(store.find("ccc")).events


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("run_finished"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["ok", "path", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 20), ANY), max_size=4), st.binary(max_size=5), st.data())
def test_whatever_a_file_holds_it_is_opened_or_refused_and_breaks_nobody(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int, Any]], noise: bytes, data: st.DataObject
) -> None:
    store = RunStore(tmp_path_factory.mktemp("runs"))
    path = written(store)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for number, place, value in changes:
        line = lines[number]
        line[list(line)[place % len(line)]] = value
    raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
    place = data.draw(st.integers(0, len(raw)))
    path.write_bytes(raw[:place] + noise + raw[place:])
    store.list()
    try:
        record = store.load(path)
    except RecordError:
        return
    assert record.summary.run_id or record.events
    state, printer = DashboardState(), Printer(io.StringIO(), Redactor([]))
    for event in record.events:
        state.apply(event)
        printer(event)
    assert printer.heard
    assert run_texts.page(record).endswith("\n") and run_texts.listing([record.summary], 80)
    run_texts.document_of(record)


@pytest.mark.parametrize("shape", ['{"a":' * 500 + "1" + "}" * 500, "[" * 500 + "]" * 500])
def test_what_nests_too_deep_for_a_stack_is_left_out(store: RunStore, shape: str) -> None:
    path = written(store)
    lines = path.read_text().splitlines(keepends=True)
    lines.insert(
        3, f'{{"type": "grounding", "at": 1, "run_id": "r", "supported": [{{"x": {shape}}}], "unsupported": []}}\n'
    )
    path.write_text("".join(lines))
    record = store.load(path)
    assert record.skipped == 1 and len(record.events) == len(lines) - 3


def _nothing(path: Path) -> None:
    path.write_bytes(b"")


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(5000) + b"\n" * 50)


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no pipes with names")
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


@pytest.mark.parametrize("make", [_nothing, _garbage, _folder, _pipe, _dangling])
def test_a_file_without_a_run_is_one_sentence_and_in_nobodys_way(store: RunStore, make: Any) -> None:
    written(store)
    path = store.folder / "20260101-000000-bad.jsonl"
    make(path)
    with pytest.raises(RecordError, match=r"^\S.*\.$"):
        store.find(str(path))
    assert [run.run_id for run in store.list()] == ["abc123"]
    assert make is _dangling or store.unreadable == 1


def test_a_run_is_named_by_its_id_a_beginning_of_it_last_or_a_file(store: RunStore, tmp_path: Path) -> None:
    assert store.list() == []
    with pytest.raises(RecordError, match="No run has been recorded"):
        store.find("last")
    written(store, "abc123")
    written(store, "abd456", began=BEGAN + 5)
    elsewhere = tmp_path / "kept.jsonl"
    elsewhere.write_text(_plain(written(store, "ab", began=BEGAN + 1).read_text()))
    named = {text: store.find(text).run_id for text in ("abc", "ab", "abd456", "last", str(elsewhere))}
    assert named == {"abc": "abc123", "ab": "ab", "abd456": "abd456", "last": "abd456", str(elsewhere): "ab"}
    for text, sentence in {
        "a": "could be abc123, ab, abd456",
        "zz": "no run",
        "": "no run",
        "./x.jsonl": "no file",
    }.items():
        with pytest.raises(RecordError, match=sentence):
            store.find(text)
    with pytest.raises(RecordError, match="not among the recorded runs"):
        store.delete(store.find(str(elsewhere)))


def test_a_conversation_is_found_from_its_last_run_and_a_ring_has_an_end(store: RunStore) -> None:
    written(store, "aaa")
    written(store, "bbb", follows="aaa")
    last = store.find(str(written(store, "ccc", follows="bbb")))
    assert [run.run_id for run in store.chain(last)] == ["aaa", "bbb", "ccc"]
    store.delete(store.find("aaa"))
    assert [run.run_id for run in store.chain(last)] == ["bbb", "ccc"]
    written(store, "bbb", began=BEGAN + 1, follows="ccc")
    store.find("last")
    assert len(store.chain(last)) <= 2


@pytest.mark.parametrize("before", ["last", "aa", "/file", " aaa", ""])
def test_a_record_goes_on_with_the_run_of_that_very_id_and_no_other(store: RunStore, before: str) -> None:
    first = written(store, "aaa")
    follows = str(first) if before == "/file" else before
    last = store.find(str(written(store, "ccc", began=BEGAN - 1, follows=follows)))
    assert store.chain(last) == [last]
    with pytest.raises(RecordError, match="among the records any more"):
        store.of(follows)
    assert store.of("aaa").path == first


# -- sessions -------------------------------------------------------------------------------------


def _records() -> Iterator[Path]:
    return runs_folder().glob("*") if runs_folder().exists() else iter(())


async def test_a_session_records_each_run_and_with_record_off_none(tmp_path: Path) -> None:
    path = make_repo(tmp_path / "tool", [("First", {"README.md": "# Tool\n"})])
    for record in (False, True):
        heard = Heard()
        session = Session(Settings(record=record))
        await session.run(RunRequest(repo=str(path), preset="overview"), heard)
        await session.aclose()
        assert len(list(_records())) == record
    record_ = RunStore().load(RunStore().find("last"))
    assert record_.events == list(heard)
    assert record_.request is not None and record_.request.repo == str(path.resolve())


async def test_a_cancelled_run_is_recorded_to_its_last_event_and_the_demo_as_well() -> None:
    session = Session(Settings(), clock=VirtualClock(), demo=True)
    task = asyncio.create_task(session.run(RunRequest(repo=""), lambda _: None))
    while not RunStore().list():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await session.aclose()
    (run,) = RunStore().list()
    assert (run.outcome, run.repo) == ("cancelled", "demo/tidepool")
    assert isinstance(RunStore().load(run).events[-1], RunFinished)


async def test_a_key_in_the_question_of_a_run_that_never_began_is_not_kept(tmp_path: Path) -> None:
    heard = Heard()
    session = Session(Settings(api_key="sk-hunter2-and-more"))
    request = RunRequest(repo="octo/tool", question="Why does sk-hunter2-and-more not work?")
    task = asyncio.create_task(session.run(request, heard))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await session.aclose()
    record = RunStore().load(RunStore().find("last"))
    assert record.request is not None and record.request.question == "Why does [secret] not work?"
    assert record.events == list(heard) and "hunter2" not in record.summary.path.read_text() + repr(heard)


def test_delta_by_delta_nothing_is_held_back(store: RunStore) -> None:
    recorder = Recorder(store.folder, REQUEST)
    recorder(events_of()[0])
    for number in range(3):
        recorder(ReportDelta(run_id="abc123", turn=1, text=str(number)))
        assert len(store.load(store.find("abc123")).events) == number + 2
    recorder.close()


def test_the_run_before_is_the_last_of_its_repository_with_a_commit_and_a_report_of_its_own(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    written(store, "aaa111", began=BEGAN)
    written(store, "zzz222", began=BEGAN + 100.1)
    written(store, "bbb333", began=BEGAN + 100.9)
    written(store, "ccc444", began=BEGAN + 200, follows="bbb333")
    written(store, "ddd555", began=BEGAN + 300, end=False)
    (store.folder / "20990101-000000-eee666.jsonl").write_text("no record\n")

    def found(**how: Any) -> str | None:
        run = store.previous(how.pop("repo", "Octo/Tool"), how.pop("source", "github"), how.pop("folder", None), **how)
        return run.run_id if run else None

    assert found() == "bbb333", "of one second, the later"
    assert found(before=BEGAN + 100.9) == "zzz222" and found(before=BEGAN + 100) == "aaa111"
    assert found(before=BEGAN) is found(repo="octo/other") is found(source="local") is found(folder=tmp_path) is None


def test_of_a_local_repository_the_very_folder_counts_and_a_name_that_is_none_is_another(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    for run_id, repo in (("aaa111", str(tmp_path / "one" / "tool")), ("bbb222", "~nobody-of-this-name/tool")):
        recorder = Recorder(store.folder, dataclasses.replace(REQUEST, repo=repo), now=lambda: BEGAN)
        for event in events_of(run_id):
            recorder(dataclasses.replace(event, source="local") if isinstance(event, RunStarted) else event)
    run = store.previous("octo/tool", "local", tmp_path / "one" / ".." / "one" / "tool")
    assert run is not None and run.run_id == "aaa111"
    assert store.previous("octo/tool", "local", tmp_path / "two" / "tool") is None

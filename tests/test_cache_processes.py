"""The cache under several processes at once, under `kill -9`, on a full disk, and spoilt: no run fails of it."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cache_bench import BLOB, CacheBench, fine
from tests.servers.expect import FINAL, WHO, read, servers
from tests.servers.github import GitHubServer
from tests.servers.model import ModelServer
from tests.servers.program import LIMIT, ROOT, environment, run
from tests.servers.turns import call
from tui_agent.transports import cache_store
from tui_agent.transports.cache_store import Record, Store

FIRST = "replies-v1.1.sqlite"

WORKER = """
import asyncio, sys
from pathlib import Path
from tests.cache_bench import CacheBench, fine

async def main(folder, order):
    bench = CacheBench(Path(folder), otherwise=lambda request: fine({"path": request.url.path, "x": "y" * 3000}))
    paths = [f"/repos/octo/demo/git/blobs/{n * order % 97:040x}" for n in range(1, 97)]
    async with bench.run() as run:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(2):
            for got, path in zip(await asyncio.gather(*map(run.get, paths)), paths):
                assert got["path"] == path, (got, path)
        assert run.notices == [], run.notices
        assert run.states[96:] == ["hit"] * 96, run.states
        print("done", flush=True)

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""

WRITER = """
import os, sys
from pathlib import Path
from tui_agent.transports.cache_store import Record, Store

store = Store(Path(sys.argv[1]))
n = int(sys.argv[2])
while True:
    store.write(n.to_bytes(32, "big"), Record(os.urandom(16), b"{}", os.urandom(1000 + n % 40 * 10_000)))
    n += 1
    print(n, flush=True)
"""

IN_THE_MIDDLE = """
import sys
from pathlib import Path
from tui_agent.transports.cache_store import Store

store = Store(Path(sys.argv[1]))
with store._change() as connection:
    connection.execute("DELETE FROM replies")
    connection.execute("INSERT INTO replies VALUES (x'01', x'01', 1.0, 1, x'01', zeroblob(20000000))")
    print("in the middle", flush=True)
    sys.stdin.read()
"""

BEING_MADE = """
import sys
from pathlib import Path
from tui_agent.transports import cache_store

is_ours, calls = cache_store._is_ours, []

def watched(connection):
    calls.append(1)
    if len(calls) == 2:
        connection.execute(cache_store._TABLES["replies"])
        print("in the middle", flush=True)
        sys.stdin.read()
    return is_ours(connection)

cache_store._is_ours = watched
cache_store.Store(Path(sys.argv[1])).read(b"key")
"""

FULL = """
import asyncio, resource, sys
from pathlib import Path
from tests.cache_bench import CacheBench, fine

async def main(folder):
    bench = CacheBench(Path(folder), otherwise=lambda request: fine({"path": request.url.path, "x": "y" * 3000}))
    async with bench.run() as run:
        for _ in range(2):
            for n in range(40):
                path = f"/repos/octo/demo/git/blobs/{n:040x}"
                assert (await run.get(path))["path"] == path
        print(len(run.notices), run.states[40:].count("hit"), *run.notices)

resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
asyncio.run(main(sys.argv[1]))
"""

WITHIN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from tui_agent.cli import main
sys.exit(main(sys.argv[2:]))
"""


@contextmanager
def child(script: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """A process of its own that carries out a script; killed at the end, if it still lives."""
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", script, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """The next line that a child says."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        process.wait(5)
        assert process.stderr is not None
        raise AssertionError(process.stderr.read())
    return line


def check(folder: Path) -> list[bytes]:
    """Every reply is whole, and so is the file; the keys."""
    with closing(sqlite3.connect(folder / FIRST)) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        keys = [key for (key,) in file.execute("SELECT key FROM replies ORDER BY key")]
    store = Store(folder)
    assert all(store.read(key) is not None for key in keys)
    store.close()
    return keys


# -- several at once -----------------------------------------------------------------------------------


def test_several_processes_make_and_use_one_file_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    with child(WORKER, folder, 1) as a, child(WORKER, folder, 5) as b, child(WORKER, folder, 31) as c:
        for one in (a, b, c):
            assert said(one) == "ready"
        assert not folder.exists()
        for one in (a, b, c):
            assert one.stdin is not None
            one.stdin.write("go\n")
            one.stdin.flush()
        for one in (a, b, c):
            assert said(one) == "done"
    assert len(check(folder)) == 96


async def test_what_one_process_keeps_another_has_at_once(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as first, bench.run() as second:
        await first.get(BLOB)
        assert await second.get(BLOB) == {"a": 1}
    assert second.states == ["hit"]


async def test_a_process_that_stands_still_in_a_write_costs_the_others_one_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_store, "BUSY_SECONDS", 0.05)
    bench = CacheBench(tmp_path, otherwise=lambda request: fine({"path": request.url.path}))
    async with bench.run() as run:
        await run.get(BLOB)
        with child(IN_THE_MIDDLE, tmp_path) as process:
            assert said(process) == "in the middle"
            for path in (BLOB[:-1] + "1", BLOB[:-1] + "2", BLOB):
                assert await run.get(path) == {"path": path}
    assert run.states == ["miss", "miss", "miss", "hit"], "reading waits for nobody"
    assert len(run.notices) == 1 and "locked" in run.notices[0]


# -- kill -9 -------------------------------------------------------------------------------------------


def test_processes_killed_while_they_write_leave_whole_replies_only(tmp_path: Path) -> None:
    kept = 0
    for killed_after in (1, 2, 5, 9, 14):
        with child(WRITER, tmp_path, kept) as process:
            for _ in range(killed_after):
                last = int(said(process))
            process.kill()
            process.wait(5)
        keys = check(tmp_path)
        assert [key.hex() for key in keys[:last]] == [n.to_bytes(32, "big").hex() for n in range(last)]
        kept = len(keys)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".sqlite") == [FIRST]


def test_a_process_killed_in_the_middle_of_a_write_has_changed_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(b"key", Record(b"1" * 16, b"{}", b"body"))
    with child(IN_THE_MIDDLE, tmp_path) as process:
        assert said(process) == "in the middle"
        process.kill()
        process.wait(5)
    assert (found := store.read(b"key")) is not None and found.body == b"body"
    store.write(b"another", Record(b"2" * 16, b"{}", b"body"))
    store.close()
    assert check(tmp_path) == [b"another", b"key"]


def test_a_file_whose_maker_was_killed_is_finished_by_the_next(tmp_path: Path) -> None:
    with child(BEING_MADE, tmp_path) as process:
        assert said(process) == "in the middle"
        process.kill()
        process.wait(5)
    assert (tmp_path / FIRST).exists()
    store = Store(tmp_path)
    store.write(b"key", Record(b"1" * 16, b"{}", b"body"))
    assert store.read(b"key") is not None
    store.close()
    assert check(tmp_path) == [b"key"]


# -- a full disk ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 1000, 10_000, 40_000, 100_000])
def test_wherever_the_disk_gets_full_it_is_one_notice_and_every_request_is_answered(tmp_path: Path, room: int) -> None:
    with child(FULL, tmp_path, room) as process:
        notices, hits, notice = said(process).split(" ", 2)
    assert notices == "1" and str(tmp_path) in notice
    assert int(hits) < 40
    # There is room again.
    with child(FULL, tmp_path, 10_000_000) as process:
        assert said(process) == "0 40"
    assert len(check(tmp_path)) == 40


# -- whole runs of the program -------------------------------------------------------------------------

FILES = {f"src/part_{n}.py": f"# {os.urandom(4000).hex()}\n" for n in range(8)}
CALLS = [call("get_repo_info", WHO), call("get_commits", WHO), *(read(path) for path in FILES)]


def asked(github: GitHubServer) -> int:
    return len(github.requests)


def notices(events: list[dict[str, Any]]) -> list[str]:
    return [event["text"] for event in events if event["type"] == "notice" and event["level"] == "warning"]


def cache_of(home: Path) -> Path:
    return home / ".cache" / "repo-agent-tui"


@contextmanager
def no_more_than(size: int, env: dict[str, str], cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """The program, where no file can grow beyond a size; what SQLite meets is what it meets on a full disk."""
    with subprocess.Popen(
        # -B: Python would not notice that its byte code is cut, too.
        [sys.executable, "-B", "-c", WITHIN, str(size), "team/tool", "--json"],
        env=env,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


async def test_a_full_disk_is_one_notice_and_a_whole_run(tmp_path: Path) -> None:
    async with servers(CALLS, FINAL, source=FILES) as (github, model):
        # A record would not fit either, and say so.
        env = environment(tmp_path, github, model) | {"REPO_AGENT_RECORD": "0"}
        with no_more_than(40_000, env, tmp_path) as process:
            out, err = await asyncio.wait_for(asyncio.to_thread(process.communicate), LIMIT)
        events = [json.loads(line) for line in out.splitlines()]
        assert (process.returncode, err) == (0, "")
        assert events[-1]["outcome"] == "completed" and events[-1]["requests"] == asked(github)
        assert len(notices(events)) == 1 and str(cache_of(tmp_path)) in notices(events)[0]
    # There is room again.
    async with servers(CALLS, FINAL, source=FILES) as (github, model):
        done = await run("team/tool", "--json", env=environment(tmp_path, github, model), cwd=tmp_path)
        assert (done.code, notices(done.events)) == (0, [])
    assert check(cache_of(tmp_path))


async def test_a_spoilt_file_is_one_notice_and_the_next_run_finds_everything_again(tmp_path: Path) -> None:
    async with GitHubServer(FILES, token="t0ken-123") as github:
        outcomes = []
        for number in range(3):
            if number == 1:
                (cache_of(tmp_path) / FIRST).write_bytes(b"\0spoilt" * 10_000)
            async with ModelServer(CALLS, FINAL) as model:
                env = environment(tmp_path, github, model, GITHUB_TOKEN="t0ken-123")
                done = await run("team/tool", "--json", env=env, cwd=tmp_path)
            outcomes.append((done.code, len(notices(done.events)), done.finished["requests"]))
    assert outcomes == [(0, 0, 12), (0, 1, 12), (0, 0, 1)]
    assert (cache_of(tmp_path) / FIRST).read_bytes().startswith(b"\0spoilt"), "set aside, not deleted"


async def test_programs_side_by_side_share_what_they_keep(tmp_path: Path) -> None:
    def answer(body: dict[str, Any]) -> Any:
        return CALLS if len(body["messages"]) == 2 else FINAL

    async with GitHubServer(FILES) as github, ModelServer(by_function=answer) as model:
        env = environment(tmp_path, github, model)
        runs = [run("team/tool", "--json", env=env, cwd=tmp_path) for _ in range(3)]
        for done in await asyncio.gather(*runs):
            assert (done.code, notices(done.events)) == (0, [])
        spent = asked(github)
        done = await run("team/tool", "--json", env=env, cwd=tmp_path)
        assert done.finished["requests"] == asked(github) - spent == 1
    assert len(check(cache_of(tmp_path))) == 12

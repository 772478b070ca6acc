"""The file that replies are kept in: whose it is, how large it gets, and what comes of one that is not what it was."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.cache_bench import BLOB, HEAD, CacheBench, fine
from tests.fakes import VirtualClock
from tui_agent.transports.cache_store import ForeignFile, Record, Store, is_damage

FIRST, SECOND, THIRD = (f"replies-v1.{n}.sqlite" for n in (1, 2, 3))


def record(body: bytes = b"body", *, name: bytes = b"1" * 16) -> Record:
    return Record(name, b"{}", body)


def key(n: int) -> bytes:
    return n.to_bytes(32, "big")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def execute(path: Path, statement: str) -> Any:
    """Carry out a statement on a file from outside; its first row."""
    with closing(sqlite3.connect(path)) as file, file:
        return file.execute(statement).fetchone()


def lay_waste(path: Path, at: int = 0, length: int = 65536) -> None:
    """Overwrite a part of a file with rubbish."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(b"rubbish!" * (length // 8))


# -- whose it is ---------------------------------------------------------------------------------------


def test_files_and_folders_are_for_the_user_alone_whatever_the_umask(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        store = Store(tmp_path / "home" / ".cache" / "app")
        store.write(key(1), record(b"x" * 10_000))
        files = list(store.folder.iterdir())
        assert len(files) == 3, "the file, its log, and the log's index"
        assert {mode(path) for path in files} == {0o600}
        assert {mode(path) for path in (store.folder, *list(store.folder.parents)[:2])} == {0o700}
    finally:
        os.umask(umask)
        store.close()


def test_a_folder_and_files_that_others_could_read_are_closed(tmp_path: Path) -> None:
    store = Store(tmp_path / "app")
    store.write(key(1), record())
    for path in store.folder.iterdir():
        path.chmod(0o666)
    store.folder.chmod(0o755)
    again = Store(tmp_path / "app")
    assert again.read(key(1)) is not None
    assert mode(again.folder) == 0o700
    assert {mode(path) for path in again.folder.iterdir()} == {0o600}
    store.close()
    again.close()


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    store = Store(tmp_path / "app")
    totals = store.totals()
    store.clear()
    store.close()
    assert (totals.entries, totals.size) == (0, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_user_without_a_home_gets_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    with pytest.raises(OSError, match="no home"):
        Store(tmp_path / "nowhere" / ".cache" / "app").read(key(1))
    assert list(tmp_path.iterdir()) == []


# -- how large it gets ---------------------------------------------------------------------------------


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_what_was_used_longest_ago_makes_room(tmp_path: Path) -> None:
    clock = VirtualClock()
    store = Store(tmp_path, clock.time, limit=1_000_000)
    for n in range(9):
        store.write(key(n), record(b"x" * 90_000))
        clock.advance(100)
    for n in (0, 3):
        store.touch(key(n))
    clock.advance(100)
    store.write(key(9), record(b"x" * 240_000))
    assert [n for n in range(10) if store.read(key(n)) is None] == [1, 2]
    store.close()


def test_a_reply_that_is_read_now_and_then_stays(tmp_path: Path) -> None:
    clock = VirtualClock()
    store = Store(tmp_path, clock.time, limit=1_000_000)
    for n in range(100):
        store.write(key(n), record(b"x" * 50_000))
        first = store.read(key(0))
        assert first is not None
        if store.is_long_unused(first):
            store.touch(key(0))
        clock.advance(45)
    assert store.read(key(1)) is None
    store.close()


def test_the_files_stay_within_the_limit(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=20_000_000)
    largest = 0
    for n in range(300):
        store.write(key(n), record(os.urandom(50_000 + 10_000 * (n % 30))))
        largest = max(largest, size_of(tmp_path))
    # The log takes some megabytes more, which a limit of 500 has room for.
    assert 18_000_000 < largest <= 20_000_000 * 0.95 + 6_000_000
    assert store.read(key(299)) is not None
    store.close()
    assert 18_000_000 < size_of(tmp_path) <= 20_000_000 * 0.95


def test_making_room_is_rare(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=2_000_000)
    rooms: list[int] = []
    before = 0
    for n in range(500):
        store.write(key(n), record(b"x" * 10_000))
        entries = store.totals().entries
        if entries <= before:
            rooms.append(n)
        before = entries
    assert 10 < len(rooms) < 160, "two or three replies make room at a time"
    store.close()


def test_a_reply_in_place_of_another_of_its_key_takes_no_more_room(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=1_000_000)
    store.write(key(1), record(b"first"))
    for n in range(100):
        store.write(key(2), record(bytes([n]) * 200_000))
    assert store.read(key(1)) is not None
    assert store.totals().entries == 2
    store.close()


def test_clearing_gives_the_space_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for n in range(50):
        store.write(key(n), record(b"x" * 100_000))
    (tmp_path / "somebody elses.txt").write_text("stays")
    store.clear()
    totals = store.totals()
    assert totals.entries == 0 and totals.size < 100_000
    store.write(key(1), record())
    store.close()
    assert (tmp_path / "somebody elses.txt").exists()


def test_clearing_beside_another_process_leaves_it_a_file_that_works(tmp_path: Path) -> None:
    mine, other = Store(tmp_path), Store(tmp_path)
    other.write(key(1), record())
    mine.clear()
    assert other.read(key(1)) is None
    other.write(key(2), record(b"new"))
    assert (found := mine.read(key(2))) is not None and found.body == b"new"
    mine.close()
    other.close()


# -- what is not what it was ---------------------------------------------------------------------------


def test_another_head_is_given_only_to_the_body_it_was_made_for(tmp_path: Path) -> None:
    mine, other = Store(tmp_path), Store(tmp_path)
    mine.write(key(1), record(b"old"))
    other.write(key(1), record(b"new", name=b"2" * 16))
    mine.amend(key(1), Record(b"1" * 16, b"[for the old body]", b"old"))
    found = mine.read(key(1))
    assert found is not None and (found.head, found.body) == (b"{}", b"new")
    mine.close()
    other.close()


@pytest.mark.parametrize("column", ["body", "head", "id"])
def test_a_changed_byte_is_noticed(tmp_path: Path, column: str) -> None:
    store = Store(tmp_path)
    store.write(key(1), record(b"abcdefgh"))
    store.close()
    execute(tmp_path / FIRST, f"UPDATE replies SET {column} = CAST(x'7878' || substr({column}, 3) AS BLOB)")
    assert store.read(key(1)) is None
    store.close()


@pytest.mark.parametrize("value", ["NULL OR 1", "'text'", "3.5", "x''", "'' || char(55296)"])
@pytest.mark.parametrize("column", ["id", "head", "body", "used", "checksum"])
def test_a_value_of_another_kind_is_no_reply(tmp_path: Path, column: str, value: str) -> None:
    store = Store(tmp_path)
    store.write(key(1), record())
    store.close()
    execute(tmp_path / FIRST, f"UPDATE replies SET {column} = {value}")
    if (column, value) not in (("used", "3.5"), ("used", "NULL OR 1")):
        assert store.read(key(1)) is None
    store.close()


def rubbish(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 500)


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def laid_waste(path: Path) -> None:
    lay_waste(path, at=8192)


def wasted_header(path: Path) -> None:
    lay_waste(path, length=64)


def another_database(path: Path) -> None:
    path.unlink()
    execute(path, "CREATE TABLE photos (name)")


def a_later_form(path: Path) -> None:
    execute(path, "ALTER TABLE replies ADD COLUMN more")


def with_a_trigger(path: Path) -> None:
    execute(path, "CREATE TRIGGER spy AFTER INSERT ON replies BEGIN DELETE FROM replies; END")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link(path: Path) -> None:
    path.unlink()
    (path.parent.parent / "elsewhere").write_bytes(b"")
    path.symlink_to(path.parent.parent / "elsewhere")


def a_socket(path: Path) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as one:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


SPOILED: list[Callable[[Path], None]] = [
    rubbish,
    half,
    laid_waste,
    wasted_header,
    another_database,
    a_later_form,
    with_a_trigger,
    a_folder,
    a_pipe,
    a_link,
    a_socket,
]


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
async def test_a_file_that_is_damaged_or_not_ours_is_set_aside_with_one_notice(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    bodies = [fine({"n": n, "x": os.urandom(3000).hex()}) for n in range(20)]
    bench = CacheBench(tmp_path / "cache", *bodies, otherwise=lambda _: fine({"n": "new"}))
    async with bench.run() as run:
        for n in range(20):
            await run.get(f"/repos/octo/demo/git/blobs/{n:040x}")
    file = bench.folder / FIRST
    spoil(file)
    before = file.read_bytes() if file.is_file() and not file.is_symlink() else None
    async with bench.run() as run:
        for n in range(20):
            assert (await run.get(f"/repos/octo/demo/git/blobs/{n:040x}"))["n"] in (n, "new")
    assert len(run.notices) == 1 and FIRST in run.notices[0] and "set aside" in run.notices[0]
    assert before is None or file.read_bytes() == before, "nobody has written into it"
    assert (bench.folder / SECOND).is_file()
    sent = len(bench.sent)
    async with bench.run() as run:
        for n in range(20):
            await run.get(f"/repos/octo/demo/git/blobs/{n:040x}")
    assert run.notices == [] and len(bench.sent) == sent, "the new one is used from now on"


async def test_an_empty_file_is_made_ours(tmp_path: Path) -> None:
    (tmp_path / FIRST).touch()
    bench = CacheBench(tmp_path, fine({"a": 1}))
    async with bench.run() as run:
        assert await run.get(BLOB) == await run.get(BLOB)
    assert run.states == ["miss", "hit"] and run.notices == []


async def test_damage_that_shows_while_two_use_the_file_leads_both_to_the_same_new_one(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, *(fine({"n": n, "x": "y" * 5000}) for n in range(50)), otherwise=fine({"n": "new"}))
    paths = [f"/repos/octo/demo/git/blobs/{n:040x}" for n in range(50)]
    async with bench.run() as first, bench.run() as second:
        for path in paths:
            await first.get(path)
        execute(tmp_path / FIRST, "PRAGMA wal_checkpoint(TRUNCATE)")
        lay_waste(tmp_path / FIRST, at=4096, length=200_000)
        for path in paths:
            await first.get(path)
            await second.get(path)
        assert sorted(path.name for path in bench.files if path.suffix == ".sqlite") == [FIRST, SECOND]
    assert len(first.notices) <= 1 and len(second.notices) <= 1
    assert any("set aside" in notice for notice in first.notices + second.notices)


def test_only_the_last_one_set_aside_is_left_lying(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for _ in range(2):
        store.write(key(1), record())
        store.set_aside()
    store.write(key(1), record())
    store.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [SECOND, THIRD]
    store.clear()
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [THIRD]


def test_damage_is_told_from_trouble_that_may_pass() -> None:
    assert is_damage(ForeignFile("x"))
    assert not is_damage(sqlite3.OperationalError("made up")) and not is_damage(OSError())


# -- a place that cannot be used -----------------------------------------------------------------------


def below_a_file(folder: Path) -> Path:
    (folder / "file").write_text("in the way")
    return folder / "file" / "cache"


def where_nothing_can_be_made(folder: Path) -> Path:
    return Path("/proc/nowhere/cache")


def with_a_bad_name(folder: Path) -> Path:
    return folder / "a\0b"


def with_too_long_a_name(folder: Path) -> Path:
    return folder / ("x" * 300)


@pytest.mark.parametrize(
    "place",
    [below_a_file, where_nothing_can_be_made, with_a_bad_name, with_too_long_a_name],
    ids=lambda place: place.__name__,
)
async def test_a_place_that_cannot_be_used_is_one_notice_and_every_request_is_answered(
    tmp_path: Path, place: Callable[[Path], Path]
) -> None:
    bench = CacheBench(place(tmp_path), otherwise=lambda _: fine({"a": 1}))
    async with bench.run() as run:
        for path in (BLOB, BLOB, HEAD):
            assert await run.get(path) == {"a": 1}
    assert len(run.notices) == 1 and "cannot be used" in run.notices[0] and "GitHub" in run.notices[0]
    assert (run.states, run.client.requests) == (["miss"] * 3, 3)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_a_folder_that_may_only_be_read_is_one_notice(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path / "cache", otherwise=lambda _: fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
    bench.folder.chmod(0o500)
    try:
        async with bench.run() as run:
            for path in (BLOB, HEAD, HEAD):
                assert await run.get(path) == {"a": 1}
    finally:
        bench.folder.chmod(0o700)
    assert len(run.notices) == 1


async def test_a_file_that_may_only_be_read_is_one_notice(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, otherwise=lambda _: fine({"a": 1}))
    async with bench.run() as run:
        await run.get(BLOB)
        cache = run.client._http._transport._inner  # type: ignore[attr-defined]
        cache._shelf._store._connection.execute("PRAGMA query_only = 1")
        for _ in range(3):
            assert await run.get(HEAD) == {"a": 1}
        assert await run.get(BLOB) == {"a": 1}
    assert len(run.notices) == 1 and "takes no more" in run.notices[0]
    assert run.states == ["miss", "miss", "miss", "miss", "hit"], "what it has is still used"


async def test_a_full_disk_is_one_notice_and_what_was_kept_is_still_used(tmp_path: Path) -> None:
    bench = CacheBench(tmp_path, otherwise=lambda _: fine({"a": "x" * 20_000}))
    async with bench.run() as run:
        await run.get(BLOB)
        cache = run.client._http._transport._inner  # type: ignore[attr-defined]
        cache._shelf._store._connection.execute("PRAGMA max_page_count = 10")
        for n in range(5):
            assert await run.get(f"/repos/octo/demo/git/blobs/{n:040x}") == {"a": "x" * 20_000}
        await run.get(BLOB)
    assert len(run.notices) == 1 and "full" in run.notices[0]
    assert run.states == ["miss"] * 6 + ["hit"]
    assert execute(tmp_path / FIRST, "PRAGMA integrity_check") == ("ok",)

"""What two runs observed, for the labelled set of `grounding_reports`; and how its marks are read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from tui_agent.events import ToolFinished
from tui_agent.report.evidence import Scene

_MARK = re.compile(r"⟦([TF]):([^⟦⟧]+)⟧")
TODAY = date(2026, 3, 1)


@dataclass(frozen=True)
class Label:
    """One marked claim: where it stands in the report without marks, and whether it is true."""

    text: str
    start: int
    true: bool

    @property
    def end(self) -> int:
        return self.start + len(self.text)


def read(marked: str) -> tuple[str, list[Label]]:
    """The report without marks, and its labels."""
    labels: list[Label] = []
    plain, at = "", 0
    for match in _MARK.finditer(marked):
        plain += marked[at : match.start()]
        labels.append(Label(match[2], len(plain), match[1] == "T"))
        plain += match[2]
        at = match.end()
    return plain + marked[at:], labels


def call(tool: str, result: dict[str, Any], **arguments: Any) -> ToolFinished:
    """A tool call that ended well."""
    return ToolFinished(
        turn=1,
        call_id=f"c{id(result)}",
        tool=tool,
        arguments={"owner": "acme", "repo": "kestrel", **arguments},
        outcome="ok",
        result={"ok": True, **result},
        attempts=1,
        cache="miss",
        elapsed=0.1,
    )


def file(path: str, text: str, *, first: int = 1, lines: int | None = None) -> ToolFinished:
    """`read_file`, of the whole or of a window."""
    shown = text.count("\n")
    result: dict[str, Any] = {"path": path, "characters": len(text), "lines": lines or shown}
    if lines:
        result |= {"first_line": first, "last_line": first + shown - 1}
    return call("read_file", {**result, "truncated": False, "content": text}, path=path)


_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.25"]
build-backend = "hatchling.build"

[project]
name = "kestrel"
version = "2.4.1"
description = "A durable task queue on PostgreSQL."
requires-python = ">=3.10"
license = "Apache-2.0"
authors = [{ name = "Ingrid Halvorsen", email = "ingrid@kestrel.example" }]
dependencies = [
    "asyncpg>=0.29",
    "click>=8.1.7,<9",
    "structlog==24.4.0",
]

[project.optional-dependencies]
web = ["starlette>=0.37", "uvicorn~=0.30"]

[project.scripts]
kestrel = "kestrel.cli:main"

[tool.pytest.ini_options]
addopts = "-q --strict-markers"
testpaths = ["tests"]

[tool.mypy]
strict = true
"""
_README = """\
# kestrel

A durable task queue on PostgreSQL, without a broker.

Tasks are rows; workers take them with `SELECT ... FOR UPDATE SKIP LOCKED`. On one machine with 8 cores it carries
about 12,500 tasks a second (see `bench/throughput.md`).

## Install

    pip install kestrel

Python 3.10 or newer and PostgreSQL 13 or newer are needed. The project was begun in 2019 at Nordlys AS.

## Licence

Apache License 2.0. Thanks to Teodor Brandt for the scheduler.
"""
_WORKER = """\
import asyncio
from kestrel.store import Store, LeaseLost

DEFAULT_CONCURRENCY = 16
LEASE_SECONDS = 45


class Worker:
    def __init__(self, store: Store, *, concurrency: int = DEFAULT_CONCURRENCY) -> None:
        self.store = store
        self._slots = asyncio.Semaphore(concurrency)

    async def run_forever(self) -> None:
        while not self._stopping:
            await self._slots.acquire()
            task = await self.store.claim(lease=LEASE_SECONDS)
            if task is None:
                await asyncio.sleep(self._idle_delay())
                continue
            self._spawn(task)

    async def _heartbeat(self, task: Task) -> None:
        try:
            await self.store.extend(task.id)
        except LeaseLost:
            task.cancel()
"""
_CI = """\
name: ci
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-24.04
    strategy:
      matrix:
        python: ["3.10", "3.11", "3.12"]
        postgres: ["13", "16"]
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e .[web] && pytest
"""
_KESTREL_TREE = [
    ".github/workflows/ci.yml", "LICENSE", "README.md", "bench/throughput.md", "docs/index.md", "docs/operations.md",
    "kestrel/__init__.py", "kestrel/cli.py", "kestrel/migrations/0001_initial.sql",
    "kestrel/migrations/0002_leases.sql", "kestrel/schedule.py", "kestrel/store.py", "kestrel/worker.py",
    "pyproject.toml",
    "tests/conftest.py",
    "tests/test_schedule.py", "tests/test_store.py", "tests/test_worker.py",
]  # fmt: skip


def _tree(files: list[str]) -> frozenset[str]:
    folders = {path.rsplit("/", depth)[0] for path in files for depth in range(1, path.count("/") + 1)}
    return frozenset({*files, *folders})


KESTREL = Scene(
    repo="acme/kestrel",
    asked="acme/kestrel",
    ref="main",
    commit="9f3c1d7e5b2a48c6d0e1f2a3b4c5d6e7f8091a2b",
    files=18,
    today=TODAY,
    tree=_tree(_KESTREL_TREE),
    web="https://github.com/acme/kestrel",
)
KESTREL_SEEN = [
    call(
        "get_repo_info",
        {
            "full_name": "acme/kestrel",
            "description": "A durable task queue on PostgreSQL.",
            "language": "Python",
            "topics": ["queue", "postgresql"],
            "license": "Apache-2.0",
            "default_branch": "main",
            "stars": 3482,
            "forks": 217,
            "open_issues": 41,
            "created_at": "2019-05-14",
            "pushed_at": "2026-02-20",
            "size_kb": 1240,
        },
    ),
    call(
        "list_directory",
        {
            "path": "",
            "entries": [
                {"name": ".github", "type": "dir", "files": 1},
                {"name": "bench", "type": "dir", "files": 1},
                {"name": "docs", "type": "dir", "files": 2},
                {"name": "kestrel", "type": "dir", "files": 7},
                {"name": "tests", "type": "dir", "files": 4},
                {"name": "LICENSE", "size": 11357},
                {"name": "README.md", "size": 720},
                {"name": "pyproject.toml", "size": 812},
            ],
            "files": 18,
            "size": 96420,
            "by_extension": {
                ".py": [9, 61200],
                ".md": [4, 18400],
                ".sql": [2, 3100],
                ".yml": [1, 1551],
                ".toml": [1, 812],
            },
            "largest": {"kestrel/store.py": 24810},
        },
    ),
    call(
        "list_directory",
        {
            "path": "kestrel",
            "entries": [
                {"name": "migrations", "type": "dir", "files": 2},
                {"name": "__init__.py", "size": 310},
                {"name": "cli.py", "size": 6120},
                {"name": "schedule.py", "size": 9900},
                {"name": "store.py", "size": 24810},
                {"name": "worker.py", "size": 7350},
            ],
            "files": 7,
            "size": 51590,
        },
        path="kestrel",
    ),
    call(
        "get_commits",
        {
            "commits": [
                {"sha": "9f3c1d7e5b", "author": "Ingrid Halvorsen", "date": "2026-02-20", "message": "Release 2.4.1"},
                {"sha": "4be07a1c92", "author": "Teodor Brandt", "date": "2026-02-11", "message": "schedule: keep DST"},
                {
                    "sha": "c81d22f06a",
                    "author": "Ingrid Halvorsen",
                    "date": "2026-01-30",
                    "message": "store: extend leases",
                },
                {"sha": "07aa5e9b3d", "author": "Mei Tanaka", "date": "2025-12-19", "message": "docs: operations"},
                {"sha": "e5f90b1777", "author": "Ingrid Halvorsen", "date": "2025-12-02", "message": "Drop Python 3.9"},
            ],
            "total": 1186,
        },
    ),
    call("find_files", {"pattern": "tests/**", "total": 4, "files": {p: 2000 for p in _KESTREL_TREE if "tests/" in p}}),
    file("pyproject.toml", _PYPROJECT),
    file("README.md", _README),
    file("kestrel/worker.py", _WORKER, lines=212),
    file(".github/workflows/ci.yml", _CI),
]

_PACKAGE = """\
{
  "name": "mochi-editor",
  "version": "0.18.3",
  "license": "MIT",
  "author": "陈屿 <chenyu@mochi.example>",
  "engines": { "node": ">=20.11" },
  "scripts": {
    "dev": "vite",
    "build": "tsc -b && vite build",
    "test": "vitest run"
  },
  "dependencies": {
    "prosemirror-state": "^1.4.3",
    "prosemirror-view": "^1.33.6",
    "yjs": "^13.6.15"
  },
  "devDependencies": {
    "typescript": "~5.4.5",
    "vite": "^5.2.11",
    "vitest": "^1.6.0"
  }
}
"""
_MOCHI_README = """\
# 墨池编辑器

墨池是一个离线优先的协同写作编辑器，基于 ProseMirror 与 Yjs。

- 支持 23 种语言的拼写检查
- 单个文档在 50,000 字以内输入延迟低于 16 毫秒

项目始于 2021年3月，由陈屿发起，现由林晓雯维护。

## 许可

MIT
"""
_SYNC = """\
import * as Y from 'yjs';

export const RETRY_LIMIT = 7;
export const SNAPSHOT_EVERY = 250;

export class SyncSession {
  constructor(private readonly doc: Y.Doc, private readonly url: string) {}

  async connect(): Promise<void> {
    for (let attempt = 0; attempt < RETRY_LIMIT; attempt += 1) {
      if (await this.handshake()) return;
      await this.backoff(attempt);
    }
    throw new SyncError('gave up');
  }
}
"""
_MOCHI_TREE = [
    "LICENSE", "README.md", "package.json", "src/main.ts", "src/editor/schema.ts", "src/editor/toolbar.ts",
    "src/sync/session.ts", "src/sync/storage.ts", "src/spell/index.ts", "test/session.test.ts", "test/schema.test.ts",
    "vite.config.ts",
]  # fmt: skip
MOCHI = Scene(
    repo="inkpond/mochi",
    asked="inkpond/mochi",
    ref="HEAD",
    commit="51ab90ce77f0d3e2416b8a9c5d4e3f2019876abc",
    files=12,
    today=TODAY,
    tree=_tree(_MOCHI_TREE),
    web="https://github.com/inkpond/mochi",
)
MOCHI_SEEN = [
    call(
        "get_repo_info",
        {
            "full_name": "inkpond/mochi",
            "description": "离线优先的协同写作编辑器",
            "language": "TypeScript",
            "license": "MIT",
            "default_branch": "trunk",
            "stars": 12840,
            "forks": 963,
            "open_issues": 128,
            "created_at": "2021-03-09",
            "pushed_at": "2026-02-27",
        },
    ),
    call(
        "list_directory",
        {
            "path": "",
            "entries": [
                {"name": "src", "type": "dir", "files": 6},
                {"name": "test", "type": "dir", "files": 2},
                {"name": "LICENSE", "size": 1068},
                {"name": "README.md", "size": 420},
                {"name": "package.json", "size": 560},
                {"name": "vite.config.ts", "size": 340},
            ],
            "files": 12,
            "size": 48200,
            "by_extension": {".ts": [9, 44900], ".md": [1, 420], ".json": [1, 560], "": [1, 1068]},
        },
    ),
    call(
        "find_files", {"pattern": "src/**", "total": 6, "files": {p: 5000 for p in _MOCHI_TREE if p.startswith("src/")}}
    ),
    call(
        "get_commits",
        {
            "commits": [
                {"sha": "51ab90ce77", "author": "林晓雯", "date": "2026-02-27", "message": "sync: 重试上限"},
                {"sha": "8d0e44b1f3", "author": "林晓雯", "date": "2026-02-21", "message": "schema: 表格"},
                {"sha": "2c7719ae05", "author": "陈屿", "date": "2026-02-02", "message": "发布 0.18.3"},
                {"sha": "b6630fd8c1", "author": "Pavel Novotny", "date": "2026-01-15", "message": "spell: add Czech"},
            ],
            "total": 2310,
        },
    ),
    file("package.json", _PACKAGE),
    file("README.md", _MOCHI_README),
    file("src/sync/session.ts", _SYNC, lines=96),
]

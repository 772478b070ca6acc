# ruff: noqa: E501 - reports are prose
"""A small labelled set: reports in English and Chinese in which every claim of note is marked.

`⟦T:…⟧` is true and was observed; `⟦F:…⟧` is a planted falsehood. The reports of HELD_OUT were written together with
the others, by the same hand, and nothing of the check was changed for their sake.
"""

from __future__ import annotations

from tests.grounding_set import KESTREL, KESTREL_SEEN, MOCHI, MOCHI_SEEN

TUNED = [
    (
        KESTREL,
        KESTREL_SEEN,
        """\
# kestrel

kestrel is a durable task queue on PostgreSQL (`⟦T:README.md#L3⟧`). It has ⟦T:3,482⟧ stars and ⟦F:412⟧ forks, and was
created on ⟦T:2019-05-14⟧.

## Stack

- Version `⟦T:2.4.1⟧`, Python ⟦T:3.10⟧ or newer (`⟦T:pyproject.toml#L9⟧`); an older release, ⟦F:2.3.7⟧, is still used.
- `⟦T:asyncpg>=0.29⟧`, `⟦T:click⟧`, `⟦T:structlog==24.4.0⟧` and `⟦F:sqlalchemy⟧`.
- The command `⟦T:kestrel⟧` starts `⟦T:kestrel.cli:main⟧`.

## Layout

1. `⟦T:kestrel/⟧` holds the code; the worker is in `⟦T:kestrel/worker.py#L8-L20⟧`, and its tests in `⟦T:tests/test_worker.py⟧`.
2. `⟦F:kestrel/broker.py⟧` talks to the broker; see also ⟦F:docs/architecture.md⟧.
3. The class `⟦T:Worker⟧` calls `⟦T:self.store.claim()⟧` and `⟦F:requeue_stalled()⟧`.
4. The lease is extended in `⟦F:kestrel/worker.py#L150-L170⟧`, and kept in `⟦F:kestrel/store.py#L40-L60⟧`.

## Activity

The last commit, `⟦T:9f3c1d7⟧`, is by ⟦T:Ingrid Halvorsen⟧; ⟦F:Anders Lindqvist⟧ maintains the scheduler. There are
⟦T:1,186⟧ commits. The last one but one is from ⟦T:February 11, 2026⟧; the release before was made on ⟦F:2025-11-03⟧.

There is no `⟦T:Dockerfile⟧`. The licence is ⟦T:Apache-2.0⟧.
""",
    ),
    (
        MOCHI,
        MOCHI_SEEN,
        """\
# 墨池（mochi）分析

墨池是离线优先的协同编辑器，星标 ⟦T:12,840⟧，复刻 ⟦F:1,963⟧，开放议题 ⟦T:128⟧ 个。项目始于 ⟦T:2021年3月⟧。

## 技术栈

- 版本 `⟦T:0.18.3⟧`，需要 Node ⟦T:20.11⟧ 以上（`⟦T:package.json#L6⟧`）。
- 依赖 `⟦T:yjs⟧`、`⟦T:prosemirror-state⟧`，以及 `⟦F:quill⟧`。TypeScript ⟦F:4.9.5⟧。
- 构建命令 `⟦T:tsc -b && vite build⟧`，测试用 `⟦F:jest --ci⟧`。

## 结构

- `⟦T:src/sync/session.ts#L6-L16⟧`：`⟦T:SyncSession⟧` 负责连接，最多重试 `⟦T:RETRY_LIMIT⟧` 次。
- `⟦T:src/editor/schema.ts⟧` 定义文档结构；`⟦F:src/editor/plugins/table.ts⟧` 处理表格。
- 存储在 `⟦F:src/sync/storage.ts:12-30⟧`。

## 活跃度

共 ⟦T:2,310⟧ 次提交，最近一次在 ⟦T:2026-02-27⟧。作者：⟦T:林晓雯⟧、⟦T:陈屿⟧和⟦F:王立群⟧。上一次发布在 ⟦F:2026年1月20日⟧。
许可证为 ⟦T:MIT⟧。
""",
    ),
    (
        KESTREL,
        KESTREL_SEEN,
        """\
## Risks of kestrel

| part | files | bytes |
| --- | ---: | ---: |
| `⟦T:kestrel/⟧` | ⟦T:7⟧ | ⟦T:51,590⟧ |
| `⟦T:tests/⟧` | ⟦T:4⟧ | |
| `⟦F:scripts/⟧` | ⟦F:9⟧ | ⟦F:14,200⟧ |

- Few people: ⟦T:3⟧ authors in the last ⟦T:5⟧ commits; one of them, ⟦T:Ingrid Halvorsen⟧, made ⟦T:60%⟧ of them.
- ⟦T:41⟧ open issues. Throughput is said to be ⟦T:12,500⟧ tasks a second (README), up from ⟦F:9,800⟧.
- CI runs Python ⟦T:3.10⟧ to ⟦T:3.12⟧ on `⟦T:ubuntu-24.04⟧`, and on Python ⟦F:3.14⟧ nightly.
- `⟦T:DEFAULT_CONCURRENCY⟧` is 16 and `⟦T:LEASE_SECONDS⟧` 45 (kestrel/worker.py#L4-L5); `⟦F:MAX_ATTEMPTS⟧` limits retries.
- It is under ⟦F:GPL-3.0⟧ for the web part.
- Contact: ⟦T:ingrid@kestrel.example⟧. Commit `⟦F:deadbeef12⟧` broke the leases.

```python
queue.enqueue(made_up_in_a_fence, "no/such/file.py", 99999)
```
""",
    ),
    (
        MOCHI,
        MOCHI_SEEN,
        """\
# mochi in five sentences

mochi is a collaborative editor in TypeScript with ⟦T:12.8k⟧ stars, of which the README says that it checks spelling in
⟦T:23⟧ languages. It rests on ProseMirror and Yjs ⟦T:13.6.15⟧ and is built with Vite ⟦T:5.2.11⟧ and webpack ⟦F:5.90.0⟧.
The newest commit is by ⟦T:林晓雯⟧ (⟦T:27 February 2026⟧), the oldest one seen by ⟦T:Pavel Novotny⟧; the maintainer
⟦F:Lucas Moreau⟧ left in ⟦F:2023⟧. It has ⟦T:12⟧ files, of them ⟦T:9⟧ in TypeScript (⟦T:95.6 %⟧ of the bytes), not
⟦F:140⟧ files. A snapshot is taken every `⟦T:SNAPSHOT_EVERY⟧` changes (`⟦T:src/sync/session.ts#L4⟧`), and merged by
`⟦F:mergeSnapshots⟧`; ⟦F:src/sync/session.ts#L90-L120⟧ shows this.
""",
    ),
]

HELD_OUT = [
    (
        KESTREL,
        KESTREL_SEEN,
        """\
# Architecture of kestrel

Execution begins in `⟦T:kestrel/cli.py⟧`, which `⟦T:pyproject.toml#L22⟧` names as the entry point. A `⟦T:Worker⟧`
(`⟦T:worker.py:8⟧`) runs up to ⟦T:16⟧ tasks side by side through an `⟦T:asyncio.Semaphore⟧`; when a lease is lost,
`⟦T:LeaseLost⟧` cancels the task (`⟦T:kestrel/worker.py#L22-L26⟧`). The scheduler in `⟦T:kestrel/schedule.py⟧` feeds
`⟦F:kestrel/dispatcher.py⟧` by way of `⟦F:DispatchTable⟧`.

* Schema changes: `⟦T:kestrel/migrations/⟧` with ⟦T:2⟧ files; the next one is `⟦F:0003_priorities.sql⟧`.
* Optional: starlette ⟦T:0.37⟧, uvicorn `⟦T:~=0.30⟧`, redis ⟦F:5.0.4⟧.
* Operations are written down in ⟦T:docs/operations.md⟧, security in ⟦F:docs/security.md⟧.
* The tests (`⟦T:tests/⟧`, ⟦T:4⟧ files) run with `⟦T:--strict-markers⟧` and with `⟦F:--cov-fail-under=95⟧`.

The repository has ⟦T:18⟧ files with ⟦T:96,420⟧ bytes, ⟦F:34⟧ directories, and no ⟦T:CONTRIBUTING.md⟧. Its maintainers are
⟦T:Ingrid Halvorsen⟧, ⟦T:Teodor Brandt⟧ and ⟦F:Olga Petrova⟧. The licence is ⟦T:Apache 2.0⟧.
""",
    ),
    (
        MOCHI,
        MOCHI_SEEN,
        """\
# mochi 的风险与亮点

仓库共有 ⟦T:12⟧ 个文件，其中 `⟦T:src/⟧` 有 ⟦T:6⟧ 个文件，`⟦F:packages/⟧` 有 ⟦F:48⟧ 个文件。贡献者包括 ⟦T:林晓雯⟧、⟦F:赵明远⟧。

1. 提交 `⟦T:8d0e44b1f3⟧`（⟦T:2026年2月21日⟧）改动了表格；提交 `⟦F:3fa9c0de11⟧` 回退了它。
2. `⟦T:vitest⟧` 的版本为 `⟦T:^1.6.0⟧`，`⟦T:vite⟧` 为 ⟦T:5.2.11⟧，react 为 ⟦F:18.3.1⟧。
3. 说明文档称单个文档 ⟦T:50,000⟧ 字以内延迟低于 16 毫秒，峰值并发 ⟦F:8,000⟧ 人。
4. 仓库没有 `⟦T:.github/workflows⟧`，也没有 ⟦T:CHANGELOG.md⟧。
5. 重试逻辑见 `⟦T:src/sync/session.ts#L9-L15⟧`，退避见 `⟦F:src/sync/backoff.ts⟧` 的 `⟦F:jitterWindow⟧`。

许可证为 ⟦F:AGPL-3.0⟧，星标约 ⟦T:1.28万⟧，关注度高于 ⟦F:2万⟧ 星的同类。仓库创建于 ⟦T:2021-03-09⟧，距今约 ⟦T:5 年⟧。
""",
    ),
    (
        KESTREL,
        KESTREL_SEEN,
        """\
# kestrel：概况

kestrel 是基于 PostgreSQL 的任务队列，默认分支 `⟦T:main⟧`，分析所据提交 `⟦T:9f3c1d7e5b2a⟧`。它由 ⟦T:Ingrid Halvorsen⟧ 维护，
另有 ⟦F:Marta Kowalska⟧ 参与维护。最近提交在 ⟦T:2026-02-20⟧，首个版本发布于 ⟦F:2018 年⟧。

- Python 要求 `⟦T:>=3.10⟧`，PostgreSQL ⟦T:13⟧ 以上；`⟦T:hatchling⟧` 构建。
- 租约为 `⟦T:LEASE_SECONDS⟧`（`⟦T:kestrel/worker.py#L5⟧`），见 `⟦F:kestrel/lease.py#L1-L40⟧`。
- 代码 ⟦T:7⟧ 个文件，测试 ⟦T:4⟧ 个文件，文档 ⟦F:26⟧ 个文件。
- 提交 ⟦T:1186⟧ 次，贡献者 ⟦F:87⟧ 位，未关闭的议题 ⟦T:41⟧ 个。
- 最大的文件是 `⟦T:kestrel/store.py⟧`（⟦T:24,810⟧ 字节）。
- 命令行基于 `⟦T:click⟧`，而非 typer；配置用 `⟦F:pydantic-settings⟧` ⟦F:2.6.1⟧。
""",
    ),
    (
        MOCHI,
        MOCHI_SEEN,
        """\
# What is in mochi

- **Stars:** ⟦T:12,840⟧ · **Forks:** ⟦T:963⟧ · **Watchers:** ⟦F:310⟧ · **Licence:** ⟦T:MIT⟧
- Default branch `⟦T:trunk⟧`, commit `⟦T:51ab90ce77f0⟧`.
- Created in ⟦T:March 2021⟧, last pushed on ⟦T:Feb 27, 2026⟧, archived on ⟦F:June 5, 2024⟧.

The package `⟦T:mochi-editor⟧` ⟦T:0.18.3⟧ needs Node `⟦T:>=20.11⟧`. Of its ⟦T:12⟧ files ⟦T:2⟧ files are tests, such as
`⟦T:test/session.test.ts⟧`; `⟦F:test/e2e/collab.spec.ts⟧` covers two clients. `⟦T:Y.Doc⟧` is handed to the
`⟦T:SyncSession⟧` constructor (`⟦T:src/sync/session.ts#L7⟧`), which calls `⟦T:handshake⟧` and `⟦F:flushQueue⟧`.
`⟦T:package.json#L12-L16⟧` lists the dependencies; there are ⟦F:64⟧ of them in all, with a lock file of ⟦F:4,312⟧ lines.
The authors seen are ⟦T:陈屿⟧, ⟦T:林晓雯⟧ and ⟦T:Pavel Novotny⟧, of ⟦F:Brno University⟧; commit ⟦T:b6630fd8c1⟧ added Czech.
Issues are handled by ⟦F:@novotny-p⟧. Average response time is ⟦F:3.7 days⟧.
""",
    ),
]

"""Evidence: what of a report was observed, what was made up, and how sure the check is of that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from tests import agent_fakes as fake
from tests import grounding_reports as labelled
from tests.grounding_set import KESTREL, KESTREL_SEEN, MOCHI, MOCHI_SEEN, Label, call, file
from tests.grounding_set import read as read_marks
from tests.repos import make_repo
from tui_agent.events import Event, Grounding, JsonObject, Notice, RunFinished, ToolFinished
from tui_agent.report.evidence import Scene
from tui_agent.report.grounding import check, link
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings

Case = tuple[Scene, list[ToolFinished], str]


def covers(item: JsonObject, label: Label) -> bool:
    start = int(item["start"])
    return start < label.end and label.start < start + len(str(item["claim"]))


def score(cases: Iterable[Case]) -> tuple[float, float, list[str]]:
    """Precision and recall of "not supported", and what went wrong.

    Precision: of all that is marked as unsupported, labelled or not, how much is a planted falsehood.
    Recall: of the planted falsehoods, how many are marked.
    """
    flagged = right = planted = found = 0
    wrong: list[str] = []
    for scene, seen, marked in cases:
        report, labels = read_marks(marked)
        false = [label for label in labels if not label.true]
        grounding = check(report, seen, scene)
        for item in grounding.unsupported:
            flagged += 1
            if any(covers(item, label) for label in false):
                right += 1
            else:
                wrong.append(f"flagged though true: {item['kind']} {item['claim']!r} ({item['reason']})")
        for label in false:
            planted += 1
            if any(covers(item, label) for item in grounding.unsupported):
                found += 1
            else:
                wrong.append(f"not noticed: {label.text!r}")
    return right / max(1, flagged), found / max(1, planted), wrong


def test_the_labelled_set_is_large_enough_to_say_something() -> None:
    labels = [label for case in (*labelled.TUNED, *labelled.HELD_OUT) for label in read_marks(case[2])[1]]
    assert len(labels) >= 100
    assert sum(not label.true for label in labels) >= 40


@pytest.mark.parametrize(
    ("cases", "least"), [(labelled.TUNED, 0.95), (labelled.HELD_OUT, 0.9)], ids=["tuned", "held out"]
)
def test_planted_falsehoods_are_found_and_truths_left_alone(cases: Sequence[Case], least: float) -> None:
    precision, recall, wrong = score(cases)
    told = f"precision {precision:.3f}, recall {recall:.3f}\n" + "\n".join(wrong)
    assert precision >= least, told
    assert recall >= least, told


def kinds(report: str, scene: Scene = KESTREL, seen: list[ToolFinished] = KESTREL_SEEN) -> dict[str, bool]:
    grounding = check(report, seen, scene)
    return {item["claim"]: item in grounding.supported for item in (*grounding.supported, *grounding.unsupported)}


def one(report: str, scene: Scene = KESTREL, seen: list[ToolFinished] = KESTREL_SEEN) -> JsonObject:
    grounding = check(report, seen, scene)
    (item,) = (*grounding.supported, *grounding.unsupported)
    return item


@pytest.mark.parametrize(
    ("claim", "source", "lines"),
    [
        ("`kestrel/worker.py`", "read", None),
        ("`worker.py`", "read", None),
        ("`kestrel/store.py`", "listed, not read", None),
        ("`bench/throughput.md`", "exists; it was not looked at", None),
        ("`kestrel/worker.py#L8-L20`", "read", [8, 20]),
        ("kestrel/worker.py:8-20", "read", [8, 20]),
        ("kestrel/worker.py#L5", "read", [5, 5]),
        ("`DEFAULT_CONCURRENCY`", "kestrel/worker.py#L4", [4, 4]),
        ("提交 `9f3c1d7e5b2a`", "snapshot", None),
        ("commit 4be07a1", "get_commits", None),
    ],
)
def test_a_supported_claim_names_where_it_was_seen(claim: str, source: str, lines: list[int] | None) -> None:
    item = one(f"See {claim}.")
    assert (item["source"], item.get("lines")) == (source, lines)


@pytest.mark.parametrize(
    ("claim", "reason"),
    [
        ("`kestrel/engine.py`", "This path is not in the repository."),
        ("`kestrel/store.py#L1-L9`", "The file was not read."),
        ("`kestrel/worker.py#L20-L90`", "These lines were not read."),
        ("`kestrel/worker.py#L200-L900`", "The file has 212 lines."),
        ("`kestrel/worker.py#L20-L10`", "The file has 212 lines."),
        ("asyncpg 0.31.7", "This version was not seen."),
        ("hatchling 8.1.7", "This version was seen, but not of hatchling."),
        ("5,000 stars", "This number was not seen."),
        ("on 2024-02-30", "This date was not seen."),
        ("`enqueue_all`", "This text was not seen."),
    ],
)
def test_an_unsupported_claim_says_why_and_leads_nowhere(claim: str, reason: str) -> None:
    item = one(f"See {claim}.")
    assert item["source"] is None
    assert item["reason"] == reason
    assert "url" not in item


@pytest.mark.parametrize(
    "text",
    [
        "1. First\n2. Second",
        "It has two parts and 12 sections, see chapter 7.",
        "the other 214 files, and 31 more",
        "in the last 90 days",
        "client/server, and/or, CI/CD, Node.js",
        "```\n`no/such/file.py` 4,711 stars\n```",
        "~~~text\nmade_up.py\n~~~",
        "“a quotation of 4,711 words”",
        "https://example.org/no/such/file.py",
        "协议层与传输层",
    ],
)
def test_ordinary_text_holds_no_claims(text: str) -> None:
    assert kinds(text) == {}


def test_what_the_report_says_is_missing_is_right_when_it_is_missing() -> None:
    assert kinds("There is no `Dockerfile`, nor `setup.py`. `tox.ini` was not found. 没有 `CHANGELOG.md`。") == {
        "Dockerfile": True,
        "setup.py": True,
        "tox.ini": True,
        "CHANGELOG.md": True,
    }


def test_only_what_was_observed_is_linked_and_only_where_there_is_an_address() -> None:
    web = f"https://github.com/acme/kestrel/blob/{KESTREL.commit}"
    assert one("`kestrel/worker.py#L8-L20`")["url"] == f"{web}/kestrel/worker.py#L8-L20"
    assert "url" not in one("`bench/throughput.md`"), "in the tree, but nobody looked at it"
    local = replace(KESTREL, web=None)
    assert "url" not in one("`kestrel/worker.py#L8-L20`", local)
    odd = file("a dir/we#ird?.md", "x\n")
    assert link("https://h/o/r", "c0ffee", "a dir/we#ird?.md", 1) == (
        "https://h/o/r/blob/c0ffee/a%20dir/we%23ird%3F.md?plain=1#L1"
    )
    assert odd.outcome == "ok"


def test_a_path_told_by_its_end_is_linked_only_when_it_can_mean_one() -> None:
    two = [call("find_files", {"pattern": "**", "files": {"a/app.py": 1, "b/app.py": 1}})]
    item = one("`app.py`", seen=two)
    assert item["source"] == "listed, not read"
    assert "url" not in item


def test_failed_calls_are_no_observations() -> None:
    failed = [replace(event, outcome="fallback") for event in KESTREL_SEEN]
    assert not any(kinds("`kestrel/worker.py#L8`, 3,482 stars, `Semaphore`", seen=failed).values())


def test_lines_count_over_several_windows() -> None:
    text = "a\nb\nc\n"
    seen = [file("x.py", text, first=first, lines=9) for first in (1, 4)]
    scene = replace(KESTREL, tree=frozenset({"x.py"}))
    assert one("`x.py#L2-L6`", scene, seen)["source"] == "read"
    assert one("`x.py#L2-L7`", scene, seen)["source"] is None


@pytest.mark.parametrize(
    ("claim", "supported"),
    [
        ("12.8k stars", True),
        ("12.4k stars", False),
        ("星标 1.28 万", True),
        ("12840 stars", True),
        ("963 stars", False),
        ("TypeScript has 95.6% of the bytes", True),
        ("TypeScript has 85.6% of the bytes", False),
        ("2 commits by 林晓雯", True),
        ("44.9 kB", True),
        ("距今 2 天", True),
        ("距今 200 天", False),
    ],
)
def test_numbers_count_what_they_say(claim: str, supported: bool) -> None:
    assert set(kinds(claim, MOCHI, MOCHI_SEEN).values()) == {supported}


def test_a_claim_is_told_once_and_where_it_first_stands() -> None:
    report = "# `kestrel/worker.py`\n\nAgain `kestrel/worker.py`, and `kestrel/worker.py`."
    item = one(report)
    assert report[item["start"] :].startswith("kestrel/worker.py`\n")


def cost(report: str, seen: list[ToolFinished]) -> float:
    """CPU seconds of one check, the better of two."""
    taken = []
    for _ in range(2):
        began = process_time()
        check(report, seen, KESTREL)
        taken.append(process_time() - began)
    return min(taken)


def long_run(files: int) -> tuple[str, list[ToolFinished]]:
    """A report with a line a file, most of its claims false and of words that stand everywhere; what was observed."""
    body = "".join(f"def handler_{n}(request): return value_{n % 97} + {n * 7}\n" for n in range(126))
    seen = [file(f"src/m{n}.py", body.replace("handler", f"h{n}")) for n in range(files)]
    report = "".join(
        f"- `src/m{n}.py#L{n}` and `handler_{n} request value` has {n * 31:,} files, `request: return x{n}`, v{n}.4\n"
        for n in range(1, files)
    )
    return report, seen


def test_the_check_grows_with_report_and_observations_and_not_with_their_product() -> None:
    small, large = cost(*long_run(150)), cost(*long_run(600))
    assert large < max(0.2, 9 * small), "four times as much of both"


HOSTILE = [
    "a/", "`", "1,", "A b", "1.2", "[](", "甲、", "x@", "2024-", "no ", "(", "#L1-", "A. ", "| 1 ", "`a` ",
    "作者：甲、", "1 ",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_makes_the_check_slow(piece: str) -> None:
    def folded(length: int) -> str:
        text = piece * (length // len(piece))
        return text + "\n" + "\n".join(text[at : at + 500] for at in range(0, len(text), 500))

    small, large = cost(folded(4_000), KESTREL_SEEN), cost(folded(16_000), KESTREL_SEEN)
    assert large < max(0.2, 9 * small), "four times the text"


# -- in a run -------------------------------------------------------------------------------

FILES = {
    "README.md": "# Demo\n\nIt demonstrates.\n",
    "src/app.py": "print('hi')\n",
    "docs/a.md": "x",
    "docs/b/c.md": "y",
}
READ = [*fake.call("read_file", {"path": "README.md"}, call_id="d"), *fake.end("tool_calls")]
PLANTED = [*fake.say("# Demo\n\n`README.md#L3`, 4,711 stars, `src/app.py`, `src/no.py`."), *fake.end()]


async def told(script: list[Any], **options: Any) -> list[Event]:
    run, events = fake.make_run(fake.FakeGitHub(FILES), fake.FakeModel(script), **options)
    await run.execute()
    return events


async def test_a_run_tells_its_evidence_right_before_its_end() -> None:
    events = await told([READ, PLANTED])
    grounding, finished = events[-2:]
    assert isinstance(grounding, Grounding) and isinstance(finished, RunFinished)
    assert [item["claim"] for item in grounding.unsupported] == ["4,711", "src/no.py"]
    seen = {item["claim"]: item for item in grounding.supported}
    assert seen["README.md#L3"]["url"].endswith(f"/blob/{fake.COMMIT}/README.md?plain=1#L3")
    assert "url" not in seen["src/app.py"], "it is there, but the model never saw it"
    for item in (*grounding.supported, *grounding.unsupported):
        assert finished.report[item["start"] :].startswith(item["claim"])


async def test_the_report_names_the_directories_that_nobody_looked_into() -> None:
    finished = (await told([READ, PLANTED]))[-1]
    assert isinstance(finished, RunFinished)
    assert "the other 3 files (75%), of which at most name and size are known" in finished.report
    assert "Directories not looked into at all: `docs/` (2 files), `src/` (1 file)." in finished.report
    finished = (await told([READ, PLANTED], lang="zh"))[-1]
    assert isinstance(finished, RunFinished)
    assert "完全没有查看的目录：`docs/`（2 个文件）、`src/`（1 个文件）。" in finished.report


async def test_a_fault_of_the_check_is_told_and_does_not_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr("tui_agent.report.grounding.check", broken)
    notice, finished = (await told([READ, PLANTED]))[-2:]
    assert isinstance(notice, Notice) and isinstance(finished, RunFinished)
    assert notice.text == "The report's claims could not be checked (RuntimeError: no)."
    assert finished.outcome == "completed"


@pytest.mark.parametrize("lang", ["en", "zh"])
async def test_the_surveys_own_report_is_supported_throughout(tmp_path: Path, lang: str) -> None:
    manifest = '[project]\nname = "tool"\nversion = "1.4.2"\nlicense = "MIT"\ndependencies = ["httpx>=0.28", "rich"]\n'
    files = {
        **FILES,
        "pyproject.toml": manifest,
        "LICENSE": "MIT License\n\nCopyright (c) 2024 Ann Author\n",
        "src/tool/__init__.py": '"""A tool."""\n',
        "src/tool/__main__.py": "print('hi')\n",
        "src/tool/py.typed": "",
        "web/a.css": "a {}\n" * 40,
        # four languages, and endings of none: what is computed of them all is as true as what is told
        "web/a.html": "<p>" * 77,
        "web/a.js": "f()\n" * 61,
        "web/a.tcss": "a {}\n" * 53,
        "tool.po": 'msgid "a"\n' * 47,
        "tests/test_tool.py": "def test(): pass\n",
    }
    session, events = Session(Settings(lang=lang)), list[Event]()
    await session.run(RunRequest(repo=str(make_repo(tmp_path / "tool", [("First", files)])), lang=lang), events.append)
    await session.aclose()
    grounding = events[-2]
    assert isinstance(grounding, Grounding)
    assert grounding.unsupported == []
    assert len(grounding.supported) > 30
    assert not any("url" in item for item in grounding.supported), "a local repository has no address"

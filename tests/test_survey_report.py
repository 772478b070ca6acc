"""The survey's report: true statements, labelled counts, nothing missing that was not looked for, nothing that acts."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.survey_fakes import COMMIT, NOW, Commits, FakeRepository, Json, from_checkout, play, report, task
from tui_agent.events import Event, ToolFinished
from tui_agent.request import RunRequest
from tui_agent.session import Session
from tui_agent.settings import Settings
from tui_agent.transports.survey import phrases_en, phrases_zh
from tui_agent.transports.survey.model import decide
from tui_agent.transports.survey.units import UNITS


def claims(text: str) -> Counter[str]:
    """The facts of a report whatever its language: its names as code, and its numbers."""
    prose = re.sub(r"`[^`]*`", "", text)
    return Counter(re.findall(r"`[^`]+`", text)) + Counter(re.findall(r"\d[\d,.]*\d|\d", prose))


ECOSYSTEMS: dict[str, tuple[dict[str, str | bytes], list[str]]] = {
    "python": (
        {
            "README.rst": "Demo\n====\n\n.. image:: x.png\n\nDemo `counts <https://x.org>`_ things for people.\n",
            "setup.cfg": "[metadata]\nname = demo\n[options]\ninstall_requires =\n  six\n",
            "demo/__init__.py": "",
            "demo/__main__.py": '"""Starts the demo for everyone."""\n',
            "tests/test_demo.py": "x",
            "poetry.lock": "",
            "COPYING": "GNU GENERAL PUBLIC LICENSE\n",
        },
        [
            "The first paragraph of prose in `README.rst`: “Demo counts things for people.” (`README.rst#L6`)",
            "Runtime dependencies (1): `six`",
            "1 of the 1 runtime dependencies have no version constraint.",
            "| `demo/` | 2 | the package that bears the project's name |",
            "`demo/__main__.py`: by the habit of its name; it says of itself “Starts the demo for everyone.”",
            "Tests: `tests/` (1 file), 1 file by the name `test_*.py`.",
            "Licence: `COPYING`.",
            "Lock files: `poetry.lock`",
        ],
    ),
    "node": (
        {
            "package.json": '{"name": "app", "main": "./src/index.js", "license": "MIT",'
            ' "dependencies": {"react": "^18"}}',
            "src/index.js": "/** Renders the page for its readers. */\n",
            "src/index.test.js": "x",
            "tsconfig.json": "{}",
        },
        [
            "Runtime dependencies (1): `react ^18`",
            "`src/index.js`: named in `package.json`; it says of itself “Renders the page for its readers.”",
            "Tests: 1 file by the name `*.test.*`.",
            "No licence file in the root, although `package.json` declares one.",
            "Known by their files in the root: TypeScript (`tsconfig.json`)",
        ],
    ),
    "go": (
        {
            "go.mod": "module example.com/tool\n\ngo 1.22\n\nrequire github.com/spf13/cobra v1.8.0\n",
            "cmd/tool/main.go": "// Command tool does one thing well.\npackage main\n",
            "internal/x/x_test.go": "package x\n",
            "go.sum": "x",
        },
        [
            "Requires Go `1.22`",
            "Runtime dependencies (1, `go.mod#L5`): `github.com/spf13/cobra v1.8.0`",
            "`cmd/tool/main.go`: by the habit of its name; it says of itself “Command tool does one thing well.”",
            "Tests: 1 file by the name `*_test.go`.",
        ],
    ),
    "rust": (
        {
            "Cargo.toml": '[package]\nname = "crab"\nedition = "2021"\n\n[dependencies]\nserde = "1"\n',
            "src/main.rs": "//! A crab that walks through files.\n",
            "tests/it.rs": "x",
        },
        [
            "Requires Rust edition `2021`",
            "Runtime dependencies (1, `Cargo.toml#L5-L6`): `serde 1`",
            "`src/main.rs`: by the habit of its name; it says of itself “A crab that walks through files.”",
            "(`src/main.rs#L1`)",
        ],
    ),
    "java": (
        {
            "pom.xml": "<project><groupId>g</groupId><artifactId>shop</artifactId><properties>"
            "<java.version>17</java.version></properties><dependencies><dependency><groupId>a</groupId><artifactId>b</artifactId><version>1</version>"
            "</dependency></dependencies></project>",
            "src/main/java/g/App.java": "x",
            "src/test/java/g/AppTest.java": "x",
        },
        [
            "Project `g:shop`",
            "Requires Java `17`",
            "Runtime dependencies (1, `pom.xml#L1`): `a:b 1`",
            "Tests: `src/test/` (1 file), 1 file by the name `*Test.java`.",
        ],
    ),
    "ruby": (
        {
            "Gemfile": 'gem "rails", "~> 7.1"\n',
            "lib/demo.rb": "# Everything about the demo.\n",
            "spec/demo_spec.rb": "x",
        },
        ["Runtime dependencies (1, `Gemfile#L1`): `rails ~> 7.1`", "Tests: `spec/` (1 file)", "`lib/demo.rb`"],
    ),
    "php": (
        {
            "composer.json": '{"require": {"php": ">=8.1", "x/y": "^1"}, "bin": ["bin/site"]}',
            "bin/site": "#!/usr/bin/env php\n",
            "src/Site.php": "<?php\n",
            "tests/SiteTest.php": "<?php\n",
        },
        [
            "Requires PHP `>=8.1`",
            "Runtime dependencies (1, `composer.json#L1`): `x/y ^1`",
            "`bin/site`: command `site`, as `composer.json` says",
        ],
    ),
    "no licence": (
        {"README.md": "# X\n\nSome words about this.\n", "main.py": "x"},
        ["No licence: there is no licence file in the root, and no manifest that was read declares one.", "`main.py`"],
    ),
    "hostile manifests": (
        {
            "pyproject.toml": "[project\nname =",
            "package.json": "[" * 9000,
            "pom.xml": '<!DOCTYPE x [<!ENTITY a "b">]><project>&a;</project>',
            "Cargo.toml": b"\xff\xfe\x00",
        },
        [
            "`pyproject.toml` could not be parsed",
            # In whose words is up to the version of Python, as is how deep is too deep.
            "`package.json` could not be parsed (`",
            "`pom.xml` could not be parsed (`it declares a document type, which is refused`).",
            "`Cargo.toml` is in the root and could not be read.",
        ],
    ),
}


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_a_report_states_what_the_repository_declares(name: str) -> None:
    files, expected = ECOSYSTEMS[name]
    text = report(files)
    for line in expected:
        assert line in text


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_english_and_chinese_state_the_same_facts(name: str) -> None:
    files, _ = ECOSYSTEMS[name]
    commits: Commits = [("Ada", "2025-08-01T00:00:00Z", "One"), ("x[bot]", "2024-08-01T00:00:00Z", "Two")]
    english, chinese = report(files, commits, lang="en"), report(files, commits, lang="zh")
    assert claims(english) == claims(chinese)
    assert "没有大语言模型参与" in chinese
    assert english.count("\n## ") == chinese.count("\n## ") == 10


@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_every_cited_line_and_every_named_file_exists(name: str) -> None:
    files, _ = ECOSYSTEMS[name]
    for path, first, last in re.findall(r"`([^`#\s]+)#L(\d+)(?:-L(\d+))?`", report(files)):
        text = files[path]
        assert isinstance(text, str)
        assert 1 <= int(first) <= int(last or first) <= text.count("\n") + 1


def test_both_tables_of_phrases_have_the_same_keys_and_fields() -> None:
    def fields(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text))

    assert phrases_en.PHRASES.keys() == phrases_zh.PHRASES.keys()
    assert all(fields(form) == {"n"} for forms in UNITS.values() for form in forms)
    for key, text in phrases_en.PHRASES.items():
        assert fields(text) == fields(phrases_zh.PHRASES[key]), key


def test_every_phrase_is_used() -> None:
    room = Path(phrases_en.__file__).parent
    source = "".join(path.read_text() for path in room.glob("*.py") if not path.name.startswith("phrases_"))
    families = tuple(re.findall(r"f\"(\w+_)\{", source))
    for key in (key.removesuffix("_unasked") for key in phrases_en.PHRASES):
        assert re.search(rf"[\"']{key}[\"']", source) or key.startswith(families), key


# --- the head, presets and languages


def first_lines(text: str) -> str:
    return text.partition("\n## ")[0]


def test_the_first_lines_say_that_no_llm_took_part_and_which_commit() -> None:
    head = first_lines(report({"a.py": "x"}))
    assert "**No LLM took part.**" in head
    assert f"commit `{COMMIT}` (ref `HEAD`)" in head


def test_the_head_tells_what_the_agent_said_of_the_snapshot() -> None:
    lines = {"Path": "src/x", "Uncommitted changes (not part of the snapshot)": 3}
    head = first_lines(play(FakeRepository({"a.py": "x"}), task(**lines)).report)  # type: ignore[arg-type]
    assert "The folder has 3 uncommitted changes; they are not part of this report." in head
    assert "The address named `src/x`; the survey speaks of the whole repository." in head


def test_a_repository_that_has_moved_is_named_by_both_names() -> None:
    text = report({"a.py": "x"}, info={"full_name": "new/home"})
    assert "Asked for as `octo/demo`, the repository is now called `new/home`." in first_lines(text)


def test_a_folder_and_a_repository_without_commits_are_told_apart() -> None:
    folder = FakeRepository({"a.py": "x"}, info={"local": {"kind": "folder", "bare": False}})
    text = play(folder, task(commit="")).report
    assert "a folder without git history" in first_lines(text)
    assert "A folder without git has no history." in text
    text = play(FakeRepository({}), task(commit="")).report
    assert "no commits at ref `HEAD`" in first_lines(text)


def test_a_free_question_gets_the_facts_and_is_told_so_first() -> None:
    text = play(FakeRepository({"a.py": "x"}), task("How does routing work?", preset="")).report
    first = next(line for line in text.split("\n") if line.startswith(">"))
    assert (
        first == "> The built-in survey cannot answer free questions; here are the facts that it can compute instead."
    )
    assert "## Strengths" in text


@pytest.mark.parametrize(
    ("question", "headings"),
    [
        ("Which dependencies does it have, and are there tests?", ["Tech stack and dependencies"]),
        ("它用什么构建？", ["技术栈与依赖"]),
    ],
)
def test_a_free_question_that_touches_facts_gets_those_and_no_others(question: str, headings: list[str]) -> None:
    text = play(FakeRepository({"a.py": "x", "requirements.txt": "httpx\n"}), task(question, preset="")).report
    told = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert told[0] in headings and len(told) <= 3
    assert "Strengths" not in told and "优点" not in told


@pytest.mark.parametrize(
    ("lang", "question", "heading", "sentence"),
    [
        ("", "What is this?", "Overview", ""),
        ("en", "这是什么？", "Overview", ""),
        ("", "这个仓库是做什么的？", "概览", ""),
        ("zh-CN", "What is this?", "概览", ""),
        ("zh-TW", "What is this?", "概览", "勘察写的是简体中文；所要求的是 `zh-TW`。"),
        ("fr", "Qu'est-ce ?", "Overview", "English and Simplified Chinese only; `fr` was asked for."),
        ("", "これは何ですか", "Overview", "English and Simplified Chinese only."),
    ],
)
def test_the_report_speaks_the_language_that_is_wanted(lang: str, question: str, heading: str, sentence: str) -> None:
    text = play(FakeRepository({"a.py": "x"}), task(question, lang=lang)).report
    assert f"## {heading}\n" in text
    assert sentence in first_lines(text)
    assert "Simplified Chinese only" in sentence or "Simplified Chinese only" not in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ECOSYSTEMS)
def test_the_overview_preset_is_five_sentences(name: str, lang: str) -> None:
    files, _ = ECOSYSTEMS[name]
    commits: Commits = [("Ada", "2025-08-01T00:00:00Z", "One")]
    text = play(FakeRepository(files, commits), task(preset="overview", lang=lang)).report
    body = text.split("\n\n")[2]
    plain = re.sub(r"`[^`]*`|“[^”]*”|\d\.\d", "", body)
    assert len(re.findall(r"[.。](?:\s|$)|。", plain)) == 5
    assert text.count("\n## ") == 1


def test_the_architecture_preset_is_about_layout_alone() -> None:
    files, _ = ECOSYSTEMS["python"]
    text = play(FakeRepository(files), task(preset="architecture")).report
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "Directories",
        "Architecture and layout",
        "Languages",
        "What this rests on",
    ]


# --- facts


def test_what_only_github_knows_is_absent_for_a_local_repository() -> None:
    text = report({"a.py": "x"}, info={"local": {"kind": "git", "bare": True, "detached": True}})
    assert "GitHub counts" not in text
    assert "The repository is bare." in text
    assert "Its HEAD is detached." in text
    there = report({"a.py": "x"}, info={"stars": 1, "forks": 2, "open_issues": 0, "archived": True})
    assert "GitHub counts 1 star, 2 forks, 0 open issues and pull requests." in there
    assert "The repository is archived: it takes no more changes." in there


def test_a_licence_that_is_not_recognised_is_said_to_be_so() -> None:
    odd = report({"LICENSE": "Do what you like.\n"}, info={"license": "NOASSERTION"})
    assert "The licence file `LICENSE` was not recognised as a well-known licence: read it." in odd
    good = report({"LICENSE": "MIT License\n"}, info={"license": "MIT"})
    assert "A recognised licence: `MIT`." in good
    assert "No licence" not in good


def test_activity_keeps_bots_future_dates_and_nameless_commits_apart() -> None:
    commits: Commits = [
        ("Ada", "2030-01-01T00:00:00Z", "From the future"),
        ("dependabot[bot]", "2024-05-31T00:00:00Z", "Bump"),
        (None, "2024-05-21T00:00:00Z", "Nameless"),
        ("Ada", "2024-05-11T00:00:00+00:00", "Second"),
        ("Ada", "not a date", "Undated"),
        ("Ada", "2024-05-01T00:00:00Z", "First"),
    ]
    text = report({"a.py": "x"}, commits)
    assert "Seen: 6 commits, which is the whole history from this commit back." in text
    assert "Those dated up to today run from 2024-05-01 to 2024-05-31." in text
    assert "the next is 10.0 days; 0 of the commits seen are dated within the last 90 days." in text
    assert "People: 1 author name, by commits: “Ada” (4)." in text
    assert "Automation, by commits: “dependabot\\[bot]” (1)." in text
    assert "Commits without an author name: 1." in text
    assert "Commits dated after today, left out of the figures on dates: 1." in text
    assert "Commits without a readable date: 1." in text
    assert "Stale: the latest commit date up to today, 2024-05-31, is 458 days old." in text
    assert "One author" not in text  # the nameless commit may be someone else's


def test_one_author_is_a_risk_over_the_commits_that_were_seen() -> None:
    commits: Commits = [("Ada", f"2025-08-{day:02}T00:00:00Z", "x") for day in (20, 10, 5)]
    text = report({"a.py": "x"}, [*commits, ("renovate[bot]", "2025-08-01T00:00:00Z", "x")], older=True)
    assert "One author: every commit seen that is not a bot's (3) is by “Ada”." in text
    assert "Seen: the latest 4 commits; there are older ones." in text
    assert "The latest commit date up to today, 2025-08-20, is 12 days old." in text


def test_staleness_is_told_by_the_clock_that_is_handed_in() -> None:
    messages = play(FakeRepository({"a.py": "x"}, [("Ada", "2025-08-20T00:00:00Z", "x")])).messages
    late = decide(messages, [], NOW + 400 * 86400).content
    assert "Stale:" in late
    assert "Stale:" not in decide(messages, [], NOW).content


def test_huge_vendored_generated_and_secret_files_are_told() -> None:
    files: dict[str, str | bytes] = {
        "data.bin": b"\0" * 1_500_000,
        "dist/app.js": "x" * 5000,
        "src/app.js": "x" * 100,
        "src/app.min.js": "x" * 900,
        ".env": "KEY=1",
    }
    text = report(files, submodules=("lib/other",), links={"link": "src"})
    assert "Among the largest files, those of 1,000,000 bytes and more: `data.bin` (1,500,000 bytes)." in text
    assert "Left out as copied or built: `dist/` (1 file, 5,000 bytes)." in text
    assert "Left out as generated, by its name: `src/app.min.js` (900 bytes)." in text
    assert "| JavaScript | 1 | 100 | 100.0 % |" in text
    assert "A file with the name of local secrets is in the root: `.env`." in text
    assert "Symbolic links in the root: `link`" in text
    assert "Code from other repositories comes in as submodules: `lib/other`." in text


def test_ci_is_named_by_its_files_and_workflows_by_what_they_say() -> None:
    files = {".gitlab-ci.yml": "x", ".github/workflows/a.yml": "on: [push]\njobs: {build: {}}\n", "a.py": "x"}
    text = report({**files, ".github/workflows/b.yml": "\t:", ".ci/run": "x"})
    assert (
        "CI: GitLab CI (`.gitlab-ci.yml`), `.ci`, a directory by the name of CI, GitHub Actions (`.github/workflows`)."
        in text
    )
    assert "`.github/workflows/a.yml` runs on `push`; jobs: `build`." in text
    assert "`.github/workflows/b.yml` could not be parsed" in text
    none = report({"a.py": "x", ".github/FUNDING.yml": "x"})
    assert "CI: no configuration of a CI system that the survey knows was found." in none


def test_a_directory_by_the_name_of_ci_is_named_and_no_strength() -> None:
    text = report({"ci/deploy.sh": "x", "a.py": "x"})
    assert "CI: `ci`, a directory by the name of CI." in text
    assert "CI is set up" not in text
    assert "No CI was found." not in text


def test_a_tree_that_came_cut_is_not_counted_and_nothing_in_it_is_said_to_be_missing() -> None:
    def cut(name: str, arguments: Json) -> Json | None:
        note = "The tree is too large to be counted; sizes below directories are not known."
        if name == "list_directory" and not arguments.get("path"):
            return {"ok": True, "path": "", "dirs": {"src": None}, "files": {"a.py": 1}, "note": note}
        if name == "find_files":
            return {"ok": True, "pattern": arguments["pattern"], "total": 0, "files": {}, "note": note}
        return None

    text = report({"src/a.py": "x", "a.py": "x"}, fault=cut)
    assert "The tree is too large for one reply, so its files are not counted." in text
    assert "Tests: none seen so far, but not everything could be searched." in text
    assert "No tests were found" not in text
    assert "No file has an extension" not in text


# --- a real repository


def git(folder: Path, *arguments: str, author: str = "Ada", date: str = "2025-08-01T10:00:00+00:00") -> str:
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", author), ("EMAIL", "a@x.org"), ("DATE", date))
        },
    }
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True, env=env
    ).stdout


def test_over_a_git_checkout_the_counts_are_gits_own(tmp_path: Path) -> None:
    files = ECOSYSTEMS["python"][0]
    git(tmp_path, "init", "-q", "-b", "main")
    for number, (path, text) in enumerate(files.items()):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
        git(tmp_path, "add", path)
        author = ("Ada", "Ben")[number % 2]
        git(
            tmp_path, "commit", "-q", "-m", f"Add {path}", author=author, date=f"2025-07-{number + 1:02}T10:00:00+00:00"
        )
    repository = from_checkout(tmp_path)
    text = play(repository, task(files=len(files))).report
    tracked = git(tmp_path, "ls-files").split()
    size = sum((tmp_path / path).stat().st_size for path in tracked)
    assert f"The tree has {len(tracked)} regular files with {size:,} bytes in all." in text
    assert f"Seen: {len(files)} commits, which is the whole history" in text
    assert "“Ada” (4), “Ben” (3)." in text
    assert "Those dated up to today run from 2025-07-01 to 2025-07-07." in text
    assert "the next is 1.0 days; 7 of the commits seen" in text


async def test_the_agents_own_tools_lead_to_the_same_report_as_these_tests_do(tmp_path: Path) -> None:
    files = ECOSYSTEMS["python"][0] | {"docs/guide.md": "x" * 7000, "data/big.json": "[1]" * 3000}
    git(tmp_path, "init", "-q", "-b", "main")
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(str(text))
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "Begin")
    session = Session(Settings(record=False))
    events: list[Event] = []
    finished = await session.run(RunRequest(repo=str(tmp_path), engine="survey", no_cache=True), events.append)
    await session.aclose()
    assert finished.outcome == "completed"
    assert {event.outcome for event in events if isinstance(event, ToolFinished)} == {"ok"}
    here = play(from_checkout(tmp_path), task(files=len(files)))
    for heading in ("Tech stack and dependencies", "Directories", "Languages", "What this rests on"):
        theirs = finished.report.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        assert theirs.strip() == here.section(heading).strip()

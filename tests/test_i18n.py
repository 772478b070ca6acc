"""The interface's languages: chosen by option, settings or locale; complete; as wide as it is; data stay English."""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import catalogue
from tests.records import story
from tests.test_startup import imported_by
from tests.test_tui_snapshots import compare, frame
from tests.tui_desk import dashboard
from tests.tui_session import ScriptedSession
from tui_agent import i18n
from tui_agent.agent.prompts import PRESETS, PRESETS_IN_CHINESE, preset_question, task
from tui_agent.cli import main
from tui_agent.cli_dashboard import DashboardSession
from tui_agent.cli_options import wrapped
from tui_agent.explanations import explain
from tui_agent.i18n import CHINESE, ENGLISH, count, say, told
from tui_agent.request import RunRequest
from tui_agent.safe_text import cell_width

ZH = "zh_CN"
HAN = re.compile("[\u4e00-\u9fff]")


@pytest.fixture
def chinese() -> Iterator[None]:
    """The interface speaks Chinese."""
    i18n.use(CHINESE)
    yield


# -- which language ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8"}, CHINESE),
        ({"LANG": "zh_TW.UTF-8"}, CHINESE),
        ({"LANG": "zh-Hans"}, CHINESE),
        ({"LANG": "Chinese (Simplified)_China.936"}, CHINESE),
        ({"LANG": "Chinese_China.936"}, CHINESE),
        ({"LANG": "de_DE.UTF-8"}, ENGLISH),
        ({"LANG": "C.UTF-8", "LANGUAGE": "zh_CN"}, ENGLISH),
        ({"LANG": "de_DE.UTF-8", "LANGUAGE": "fr:zh_CN:en"}, CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en_GB:zh"}, ENGLISH),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, ENGLISH),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_SG.GB2312", "LC_MESSAGES": "en_US"}, CHINESE),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "POSIX"}, ENGLISH),
    ],
)
def test_the_locale_decides_where_nothing_else_does(environ: dict[str, str], language: str) -> None:
    assert i18n.wanted(None, environ) == language


@pytest.mark.parametrize(
    ("lang", "language"),
    [("zh", CHINESE), ("zh-Hant", CHINESE), ("Chinese", CHINESE), ("中文", CHINESE), ("fr", ENGLISH)],
)
def test_what_is_set_comes_before_the_locale(lang: str, language: str) -> None:
    other = "en_US.UTF-8" if language == CHINESE else "zh_CN.UTF-8"
    assert i18n.wanted(lang, {"LANG": other}) == language
    assert i18n.typed(["a/b", "--lang", lang], {"LANG": other}) == language
    assert i18n.typed([f"--lang={lang}"], {"LANG": other, "REPO_AGENT_LANG": "de"}) == language
    assert i18n.typed([], {"LANG": other, "REPO_AGENT_LANG": lang}) == language


def test_the_locale_alone_decides_the_report_of_a_ready_question_and_of_no_other(chinese: None) -> None:
    assert i18n.report_language(None, None) == "zh"
    assert i18n.report_language(None, "Where is the parser?") is None
    assert i18n.report_language("en", None) == "en"
    i18n.use(ENGLISH)
    assert i18n.report_language(None, None) is None


def test_a_ready_question_is_asked_in_the_reports_language() -> None:
    assert PRESETS.keys() == PRESETS_IN_CHINESE.keys()
    assert preset_question("full", "zh-CN") == PRESETS_IN_CHINESE["full"]
    assert preset_question("full", "de") == preset_question("full", None) == PRESETS["full"]
    said = task(repo="a/b", ref="main", commit=None, files=1, question=None, preset="overview", lang="zh")
    assert "Report language: zh" in said and said.endswith(PRESETS_IN_CHINESE["overview"])


# -- English costs nothing ----------------------------------------------------------------------


def test_english_imports_no_gettext() -> None:
    code = "from tui_agent import i18n; i18n.use(i18n.typed([], {'LANG': 'en_US.UTF-8'})); i18n.say('x {y}', y=1)"
    assert imported_by(code, "gettext", "re", "typing") == []


# -- the catalogue ------------------------------------------------------------------------------


def test_the_compiled_catalogue_is_that_of_the_texts() -> None:
    assert catalogue.po_file(ZH).with_suffix(".mo").read_bytes() == catalogue.compiled(catalogue.read(ZH))


def test_every_marked_text_is_translated_and_no_entry_is_dead() -> None:
    known = catalogue.messages(catalogue.read(ZH))
    here = {catalogue.key_of(one) for one in known if one.context is None}
    assert here == catalogue.marked().keys(), "python -m tests.catalogue, then translate"
    made = catalogue.sentences()
    assert [one.id for one in known if one.context == catalogue.TOLD and catalogue.bare(one.id) not in made] == []
    for one in known:
        strings = [one.string] if isinstance(one.string, str) else list(one.string)
        assert strings and all(strings) and not one.fuzzy, one.id


def test_the_placeholders_of_a_translation_are_those_of_its_text() -> None:
    for one in catalogue.messages(catalogue.read(ZH)):
        texts = [one.id] if isinstance(one.id, str) else [one.id[1]]
        strings = [one.string] if isinstance(one.string, str) else one.string
        for string in strings:
            here, there = catalogue.placeholders(string), catalogue.placeholders(texts[0])
            assert here == there or (one.context == catalogue.TOLD and here <= there), one.id


def test_a_number_is_said_in_two_literal_texts() -> None:
    for place, tree in catalogue.sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "count":
                if place.endswith("i18n.py"):
                    continue
                assert all(isinstance(text, ast.Constant) for text in node.args[:2]), f"{place}:{node.lineno}"


# -- what is said ---------------------------------------------------------------------------------


def test_texts_numbers_and_known_sentences_are_said_in_chinese(chinese: None) -> None:
    assert say("Breakers") == "熔断器"
    assert say("turn {turn}/{max_turns}", turn=2, max_turns=15) == "第 2/15 轮"
    assert count("{number:,} file", "{number:,} files", 1221) == "1,221 个文件"
    assert told("a/b is now called c/d.") == "a/b 现已改名为 c/d。"
    assert told("The report is partial: all 15 turns were used up.") == "报告不完整：全部 15 轮已用完。"
    assert told("X (in the environment) must be a whole number of at least 1, not 'x'.") == (
        "环境变量 X 必须是不小于 1 的整数，而不是 'x'。"
    )
    assert told("The breaker of snapshot is half-open and its probe is under way; nothing else is sent meanwhile.") == (
        "snapshot 的熔断器处于半开，正在探测；其间不发送其他请求。"
    ), "a name stays one, though it is a word as well"
    assert told("x is read; y is not there") == "已读取 x；y 不存在"
    assert told("Something {else} that nobody knows") == "Something {else} that nobody knows"
    assert say("") == told("") == ""


def test_in_english_every_text_stays_as_it_is() -> None:
    assert say("turn {turn}/{max_turns}", turn=2, max_turns=15) == "turn 2/15"
    assert count("{number} hit", "{number} hits", 1) == "1 hit"
    assert told("a/b is now called c/d.") == "a/b is now called c/d."


def test_every_event_is_explained_in_chinese(chinese: None) -> None:
    for event in story():
        title, text = explain(event)
        assert HAN.search(title) and HAN.search(text), title


def test_help_is_in_chinese_and_fits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    for argv in (["--help"], ["runs", "--help"]):
        assert main(argv) == 0
        text = capsys.readouterr().out
        assert text.startswith("用法：") and "界面和报告的语言" in text
        rows = [line for line in text.splitlines() if "repo-agent-tui" not in line]
        assert max(map(cell_width, rows)) <= 72
    assert main(["--lang", "en", "--help"]) == 0
    assert capsys.readouterr().out.isascii()


def test_chinese_breaks_anywhere_but_before_its_full_stops() -> None:
    text = "报告写成了，格式看后缀：.md、.html 或 .json；绝不覆盖已有文件。"
    for room in range(6, 40):
        lines = wrapped(text, room)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert not any(line[0] in "，。：；、" for line in lines)
        assert room < 10 or max(map(cell_width, lines)) <= room


def test_what_is_wrong_is_told_in_chinese_and_machines_are_told_in_english(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.chdir(tmp_path)
    assert main(["--print", "nothing-like-it"]) == 2
    assert "不是仓库" in capsys.readouterr().err
    Path("src").mkdir()
    Path("src/a.py").write_text("a = 1\n", encoding="utf-8")
    assert main(["--json", "--engine", "survey", "."]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    notices = [event["text"] for event in events if event["type"] == "notice"]
    assert notices and not any(HAN.search(text) for text in notices)
    assert not HAN.search(json.dumps([e["result"] for e in events if e["type"] == "tool_finished"], ensure_ascii=False))
    assert events[0]["question"] == PRESETS_IN_CHINESE["full"]
    assert len(HAN.findall(events[-1]["report"])) > 100
    assert main(["--json", "--engine", "survey", "-q", "What is this?", "."]) == 0
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert not HAN.search(last["report"])


def test_the_trace_that_is_printed_is_in_chinese(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text("a = 1\n", encoding="utf-8")
    assert main(["--print", "--lang", "zh", "--engine", "survey", "."]) == 0
    err = capsys.readouterr().err
    assert "第 1/15 轮" in err and "调用：list_directory" in err and "已完成 (" in err


# -- the dashboard --------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["idle", "running", "completed"])
@pytest.mark.parametrize("width", [40, 60, 80, 160])
async def test_the_dashboard_in_chinese_looks_as_it_did(chinese: None, width: int, state: str) -> None:
    seen = await frame(width, state)
    assert all(cell_width(line) <= width for line in seen.splitlines())
    compare(seen, f"zh-{state}-{width}.txt")


def test_the_tests_do_without_this_machines_locale() -> None:
    assert os.environ["LANG"] == "C.UTF-8" and "LANGUAGE" not in os.environ
    assert i18n.language() == ENGLISH


async def test_what_a_key_could_not_do_is_explained_in_chinese(chinese: None) -> None:
    async with dashboard(None) as desk:
        await desk.press("escape", "r", "b", "y")
        said = [note.message for note in desk.app._notifications]
        assert [text[:4] for text in said] == ["还没有运", "无需重置", "没有可复"]


def test_the_dashboard_asks_for_a_chinese_report_only_where_the_question_has_no_language(chinese: None) -> None:
    session = DashboardSession(ScriptedSession(), RunRequest(repo=""), None)
    assert session.completed(RunRequest(repo="a/b")).lang == "zh"
    assert session.completed(RunRequest(repo="a/b", question="Where is the parser?")).lang is None
    assert session.completed(RunRequest(repo="a/b", lang="en")).lang == "en"

"""The command line: what it takes, what it says, and with which code it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli_fakes import KEY, ROOT, FakeSession, be_alone
from tui_agent.cli import main
from tui_agent.cli_options import COMMAND_HELP, OTHER_VARIABLES, build_parser
from tui_agent.request import RunRequest
from tui_agent.settings import documented


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_alone(tmp_path, monkeypatch)


def run(*argv: str) -> int:
    return main(argv, make_session=FakeSession)


# --- what is said without doing anything


def test_help_names_every_option_command_and_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--help") == 0
    text = capsys.readouterr().out
    options = """-q --question --preset --ref --lang --engine --model --base-url --max-turns --max-tokens --no-cache
        --refresh -o --output --force -p --print --json --chaos --no-record --env-file --no-mouse --version --all
        --help""".split()
    for word in [*options, *COMMAND_HELP, *(name for setting in documented() for name in setting.names)]:
        assert word in text.replace(",", " ").split(), word
    for names in OTHER_VARIABLES:
        assert names in text
    assert max(map(len, text.splitlines())) <= 100
    assert text.isascii()


def test_help_names_every_variable_that_the_code_reads() -> None:
    import re

    text = build_parser().format_help()
    for file in (ROOT / "tui_agent").rglob("*.py"):
        for name in re.findall(r"""environ(?:\.get\(|\[)["'](\w+)""", file.read_text(encoding="utf-8")):
            assert name in text, f"{file.name} reads {name}"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import tui_agent

    assert run("--version") == 0
    assert capsys.readouterr().out == f"repo-agent-tui {tui_agent.__version__}\n"


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["--nope"], ["a/b", "c d"], []])
def test_what_needs_no_run_imports_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys; from tui_agent.cli import main; main(sys.argv[1:]);"
        "heavy = {'textual', 'openai', 'httpx', 'dulwich', 'asyncio', 'rich', 'markdown_it', 'dotenv'};"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr


def test_python_m_is_the_same_program() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "tui_agent", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (result.returncode, result.stdout.startswith("repo-agent-tui ")) == (0, True)


# --- usage errors: one sentence on stderr, exit code 2, no session


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--nope"], "there is no option --nope"),
        (["--api-key=sk-hunter2", "a/b"], "there is no option --api-key (see"),
        (["--quest", "x", "a/b"], "there is no option --quest"),
        (["--max-turns"], "--max-turns: expected one argument"),
        (["a/b", "--max-turns", "0"], "--max-turns must be a whole number of at least 1"),
        (["a/b", "--max-turns", "x"], "--max-turns must be"),
        (["a/b", "--max-tokens", "-5"], "--max-tokens must be"),
        (["a/b", "--base-url", "nowhere"], "--base-url must be"),
        (["a/b", "--model", ""], "--model needs a value"),
        (["a/b", "--lang", "en\nfr"], "--lang must be"),
        (["a/b", "--preset", "short"], "--preset: invalid choice"),
        (["a/b", "--engine", "best"], "--engine: invalid choice"),
        (["a/b", "-q", " "], "--question needs a value"),
        (["a/b", "--ref", ""], "--ref needs a value"),
        (["a/b", "-q", "what\udcff"], "--question is not valid text"),
        (["a/b", "-q", "x", "--preset", "full"], "not allowed with argument"),
        (["a/b", "-p", "--json"], "not allowed with argument"),
        (["a/b", "--engine", "llm"], "--engine llm needs a key: set API_KEY"),
        (["a/b", "--chaos", "nonsense"], "is no fault"),
        (["a/b", "--env-file", "gone"], "--env-file (gone) cannot be read"),
        (["a/b", "-o", "r.pdf"], "--output: r.pdf has to end in .md, .html or .json"),
        (["a/b", "-o", "none/r.md"], "there is no folder none"),
        (["a/b", "-o", ""], "--output needs a value"),
        (["a/b", "--force"], "--force goes with --output"),
        (["a/b", "--all"], "--all belongs to `runs delete`"),
        (["a/b", "demo"], "demo"),
        (["a/b", " "], "No repository was named"),
        (["demo", "a/b"], "`demo` takes no repository"),
        (["demo", "--engine", "llm"], "`demo` brings its own model"),
        ([], "Which repository?"),
        (["--json"], "Which repository?"),
        ([""], "No repository was named"),
        (["flask"], "names no repository"),
        (["./none"], "There is no folder"),
        (["https://example.com/a/b"], "another host"),
        (["a/b", "--model", "usage"], "There is no such thing."),
    ],
)
def test_a_usage_error_is_one_sentence_and_code_2(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("repo-agent-tui: ") and says in err
    assert err.count("\n") == 1 and err.rstrip("\n").isprintable()
    assert "Traceback" not in err and "hunter2" not in err


def test_a_folder_of_a_reserved_name_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    assert run("-p", "./runs") == 0
    assert FakeSession.made.requests[0].repo == "./runs"


def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("REPO_AGENT_MAX_TURNS", "many")
    assert run("-p", "a/b") == 2
    assert "REPO_AGENT_MAX_TURNS (in the environment) must be a whole number" in capsys.readouterr().err


def test_a_key_and_an_endpoint_of_a_cloned_folder_do_not_mix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    (tmp_path / ".env").write_text("REPO_AGENT_BASE_URL=https://evil.example")
    assert run("-p", "a/b") == 2
    err = capsys.readouterr().err
    assert "API_KEY" in err and "REPO_AGENT_BASE_URL" in err and "hunter2" not in err
    assert run("-p", "a/b", "--base-url", "https://mine.example") == 0


def test_config_toml_of_the_user_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "repo-agent-tui"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("max_turns = 4")
    assert run("-p", "a/b") == 0
    if sys.platform == "linux":
        assert FakeSession.made.settings.max_turns == 4


# --- what is asked becomes the request


def test_options_become_settings_and_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "k")
    argv = """-p --ref v1 --lang zh --engine llm --model m --base-url https://h/v1 --max-turns 3 --max-tokens 99
        --no-cache --refresh --no-record --chaos read_file:500x2 -q why? a/b""".split()
    assert run(*argv) == 0
    session = FakeSession.made
    assert session.requests == [
        RunRequest(
            repo="a/b", question="why?", ref="v1", lang="zh", engine="llm", refresh=True, no_cache=True, preset="full"
        )
    ]
    settings = session.settings
    assert (settings.model, settings.base_url, settings.max_turns, settings.max_tokens) == ("m", "https://h/v1", 3, 99)
    assert (settings.record, settings.lang, session.chaos, session.demo) == (False, "zh", "read_file:500x2", False)
    assert session.closed


def test_options_may_stand_anywhere_and_a_preset_is_passed_on() -> None:
    assert run("a/b", "-p", "--preset", "overview") == 0
    assert FakeSession.made.requests[0] == RunRequest(repo="a/b", preset="overview")


def test_the_language_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPO_AGENT_LANG", "zh")
    assert run("-p", "a/b") == 0
    assert FakeSession.made.requests[0].lang == "zh"


def test_the_demo_is_a_session_of_its_own() -> None:
    assert run("demo", "--print") == 0
    assert FakeSession.made.demo


# --- without a dashboard


def test_print_puts_the_report_on_stdout_and_the_trace_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--print", "a/b", "--model", "m") == 0
    out, err = capsys.readouterr()
    assert out == "# Report\n\nfrom ␛[31mm é 火\n"
    assert "turn 1 of 15" in err and "call: read_file path=a␛[31m" in err
    assert "\x1b" not in err


def test_print_is_assumed_where_stdout_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("a/b") == 0
    assert capsys.readouterr().out.startswith("# Report")


def test_json_puts_one_event_a_line_on_stdout_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "a/b") == 0
    out, err = capsys.readouterr()
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["type"] for event in events] == [
        "run_started",
        "snapshot",
        "turn_started",
        "tool_started",
        "run_finished",
    ]
    assert events[-1]["report"].startswith("# Report\n\nfrom \x1b[31m")
    assert err == "" and "\x1b" not in out


def test_a_partial_report_is_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-p", "a/b", "--model", "partial") == 0
    out, err = capsys.readouterr()
    assert out.startswith("# Report") and "Turns ran out." in err


@pytest.mark.parametrize("mode", ["--print", "--json"])
def test_a_failed_run_is_one_sentence_and_code_1(
    mode: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    assert run(mode, "a/b", "--model", "failed") == 1
    out, err = capsys.readouterr()
    assert err.splitlines()[-1] == "repo-agent-tui: No such repository ([secret]); try another."
    assert "hunter2" not in out + err
    if mode == "--json":
        assert json.loads(out.splitlines()[-1])["outcome"] == "failed" and err.count("\n") == 1
    else:
        assert out == ""


def test_a_bug_is_one_sentence_and_code_1_without_a_traceback_or_a_secret(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("API_KEY", KEY)
    assert run("-p", "a/b", "--model", "broken") == 1
    err = capsys.readouterr().err
    assert err.startswith("repo-agent-tui: something broke that should not (RuntimeError") and err.count("\n") == 1
    assert "hunter2" not in err
    assert FakeSession.made.closed


def test_output_goes_over_no_file_that_is_there_unless_that_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "r.md"
    path.write_text("old")
    FakeSession.made = None  # type: ignore[assignment]
    assert run("-p", "a/b", "-o", str(path)) == 2
    assert "r.md is there already; --force replaces it." in capsys.readouterr().err
    assert FakeSession.made is None and path.read_text() == "old", "said before anything has begun"
    assert run("-p", "a/b", "-o", str(path), "--force") == 0
    assert path.read_text().startswith("# Report")


def test_output_that_comes_to_be_there_meanwhile_stays(tmp_path: Path) -> None:
    from tests.test_runs import events_of
    from tui_agent.cli_output import OutputFile
    from tui_agent.events import Event

    output, heard = OutputFile(tmp_path / "r.md"), list[Event]()
    (tmp_path / "r.md").write_text("another's")
    for event in events_of():
        output.before(heard.append, RunRequest(repo="octo/tool"))(event)
    assert output.trouble is not None and "r.md is there already" in output.trouble
    assert (tmp_path / "r.md").read_text() == "another's"
    (tmp_path / "r.md").unlink()
    for _ in range(2):
        for event in events_of():
            output.before(heard.append, RunRequest(repo="octo/tool"))(event)
        assert output.trouble is None, "its own report gives way to the next one"


def test_of_several_repositories_only_the_comparison_is_written_whatever_comes_of_it(tmp_path: Path) -> None:
    from tests.test_runs import events_of
    from tui_agent.cli_output import OutputFile
    from tui_agent.events import Event

    output, path = OutputFile(tmp_path / "r.md"), tmp_path / "r.md"
    emit = output.before(list[Event]().append, RunRequest(repo="a/one", others=("b/two",)))
    first, second = events_of("one"), events_of("two")
    for event in (first[0], second[0], *first[1:], *second[1:]):
        emit(event)
        assert not path.exists()
    for event in events_of("both"):
        emit(event)
    assert path.exists() and output.trouble is None


@pytest.mark.parametrize("suffix", [".md", ".html", ".json"])
def test_output_is_written_beside_what_is_printed(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"r{suffix}"
    assert run("-p", "a/b", "-o", str(path)) == 0
    text = path.read_text(encoding="utf-8")
    assert "Report" in text and "c" * 40 in text + "c" * 40 * (suffix == ".md")
    assert capsys.readouterr().out.startswith("# Report")
    assert run("--json", "a/b", "--force", "-o", str(path)) == 0


def test_a_failed_run_leaves_the_output_alone(tmp_path: Path) -> None:
    path = tmp_path / "r.md"
    path.write_text("old")
    assert run("-p", "a/b", "--force", "-o", str(path), "--model", "failed") == 1
    assert path.read_text() == "old"


@pytest.mark.parametrize("mode", ["--print", "--json"])
def test_output_that_cannot_be_written_is_said_and_the_report_still_comes(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert run(mode, "a/b", "-o", "r.md") == 1
    out, err = capsys.readouterr()
    assert "# Report" in out
    assert err.splitlines()[-1].endswith("The report was not saved: r.md cannot be written: No space left on device.")
    if mode == "--json":
        events = [json.loads(line) for line in out.splitlines()]
        assert [event["type"] for event in events[-2:]] == ["notice", "run_finished"]

"""What the README tells is what the code does; the project's own rules hold."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tui_agent.settings import documented
from tui_agent.tools.schemas import TOOL_NAMES

ROOT = Path(__file__).parent.parent
SIDES, KINDS = ("left", "right") * 2, ("square", "square", "curly", "curly")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_first_block_of_the_quick_start_is_two_command_lines() -> None:
    section = README.split("\n## Quick start\n")[1]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block is not None
    lines = block[1].strip().splitlines()
    assert len(lines) == 2
    assert "repo-agent-tui --engine survey ." in lines[0]
    assert "pytest" in lines[1]


def test_every_setting_stands_in_the_readme_as_it_is() -> None:
    for setting in documented():
        row = next((line for line in README.splitlines() if line.startswith(f"| `{setting.names[0]}`")), "")
        assert setting.help in row, setting.names[0]
        assert all(f"`{name}`" in row for name in setting.names)
        assert setting.default in row
        assert setting.flag is None or f"`{setting.flag}`" in row


def test_every_tool_stands_in_the_changelog_or_readme() -> None:
    told = README + (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in told for name in TOOL_NAMES)


def test_the_keys_of_the_readme_are_those_that_are_bound() -> None:
    from tui_agent.tui import keys

    table = README.split("| key | what it does |")[1].split("\n\n")[0]
    told = set(re.findall(r"`([^`]+)`", "".join(line.split("|")[1] for line in table.splitlines() if "|" in line)))
    signs = {"slash": "/", "question_mark": "?", "less_than_sign": "<", "greater_than_sign": ">"}
    signs |= {"comma": ",", "full_stop": "."}
    signs |= {f"{side}_{kind}_bracket": sign for sign, side, kind in zip("[]{}", SIDES, KINDS, strict=True)}
    bound = {signs.get(binding.key, binding.key) for binding in keys.BINDINGS}
    assert bound - told == {"2", "3", "4"}
    assert told - bound == {"enter", "v"}, "what panes bind for themselves"


def test_every_dependency_has_its_reason_in_a_comment() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = text.split("\ndependencies = [\n")[1].split("\n]")[0].splitlines()
    for number, line in enumerate(block):
        before = block[number - 1].strip()
        assert line.strip().startswith("#") or before.startswith(("#", '"')), line
    project = tomllib.loads(text)["project"]
    assert project["name"] == "repo-agent-tui"
    assert all(re.search(r"[<>]=?\d", requirement) for requirement in project["dependencies"])


def test_the_top_level_holds_what_belongs_there_and_no_lock_file() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    top = {path.split("/")[0] for path in listed if path}
    allowed = {"tui_agent", "tests", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md"}
    assert {name for name in top if not name.startswith(".")} <= allowed
    assert not [path for path in listed if path.endswith((".lock", "package-lock.json"))]


def test_a_bare_import_of_the_command_line_brings_nothing_heavy() -> None:
    code = "import sys, tui_agent.cli; print([m for m in ('textual','openai','httpx','dulwich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""What is handed out: the wheel and the sdist, the example of a workflow, and what scripts are told."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tests.servers.program import ROOT, environment
from tui_agent import __version__
from tui_agent.cli_help import EXIT_CODES
from tui_agent.events import EVENT_TYPES, Event

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / ".github" / "examples" / "report.yml"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of a copy of the tree, built without a network."""
    copy = tmp_path_factory.mktemp("tree")
    ignored = shutil.ignore_patterns("__pycache__", ".*_cache")
    for name in ("tui_agent", ".github"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    (copy / "tests").mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".env.example"):
        shutil.copy(ROOT / name, copy / name)
    for builder in (WheelBuilder(str(copy)), SdistBuilder(str(copy))):
        assert list(builder.build(directory=str(copy / "dist"), versions=["standard"]))
    return copy / "dist"


def package_files() -> set[str]:
    files = (path.relative_to(ROOT) for path in (ROOT / "tui_agent").rglob("*") if path.is_file())
    return {path.as_posix() for path in files if not any(part.startswith((".", "__pycache__")) for part in path.parts)}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (meta,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(meta).decode())
        points = archive.read(meta.replace("METADATA", "entry_points.txt")).decode()
    assert {name for name in names if ".dist-info/" not in name} == package_files()
    assert {"tui_agent/py.typed", "tui_agent/tui/app.tcss", "tui_agent/frontends/browser/page.html"} <= names
    assert "tui_agent/locale/zh_CN/LC_MESSAGES/repo-agent-tui.mo" in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert metadata["Version"] == __version__
    assert {"mcp", "serve", "all"} <= set(metadata.get_all("Provides-Extra") or [])
    assert points.split() == ["[console_scripts]", "repo-agent-tui", "=", "tui_agent.start:main"]


def test_the_sdist_holds_what_the_wheel_is_built_from_and_what_the_readme_shows(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert package_files() <= names
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", ".env.example"} <= names
    assert set(re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)) <= names


def test_the_wheel_runs_from_another_folder(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    target = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    (tmp_path / "empty").mkdir()
    code = "import sys; from tui_agent.start import main; sys.argv = ['repo-agent-tui', '--version']; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment(tmp_path, PYTHONPATH=str(target)),
        cwd=tmp_path / "empty",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, f"repo-agent-tui {__version__}\n"), done.stderr


def test_every_extra_is_tested_and_told() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    development = set(PROJECT["dependency-groups"]["dev"])
    for name, requirements in extras.items():
        if name != "all":
            assert set(requirements) <= development, name
            assert f"repo-agent-tui[{name}]" in README
    assert extras["all"] == [f"repo-agent-tui[{','.join(name for name in extras if name != 'all')}]"]


# --- continuous integration of whoever uses it


def test_the_example_of_a_workflow_reads_only() -> None:
    workflow = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    # YAML 1.1 reads the key `on` as true.
    assert {"schedule", "workflow_dispatch"} == set(workflow[True])
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert job["timeout-minutes"] <= 60
    checkout = next(step for step in job["steps"] if step.get("uses", "").startswith("actions/checkout@"))
    assert checkout["with"]["persist-credentials"] is False
    assert EXAMPLE.relative_to(ROOT).as_posix() in README


@pytest.mark.parametrize(
    ("typed", "code", "said"),
    [
        ('"$@"', 0, ""),
        ('--engine llm "$@"', 2, "::error::The command line"),
        ('"${@:1:$#-1}" no/such', 1, "::error::There"),
    ],
)
def test_the_example_of_a_workflow_does_what_it_says(typed: str, code: int, said: str, tmp_path: Path) -> None:
    """Its script, as GitHub runs it, with the program itself; what goes wrong is in what the program is given."""
    steps = next(iter(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["jobs"].values()))["steps"]
    script = next(step["run"] for step in steps if step.get("name") == "Write the report")
    folder, temporary, programs = tmp_path / "checkout", tmp_path / "temp", tmp_path / "bin"
    for path in (folder, temporary, programs):
        path.mkdir()
    (folder / "README.md").write_text("# Tool\n")
    program = programs / "repo-agent-tui"
    program.write_text(f'#!/bin/bash\nexec "{sys.executable}" -m tui_agent {typed}\n')
    program.chmod(0o755)
    env = environment(
        tmp_path,
        API_KEY="",
        GITHUB_API_URL="http://127.0.0.1:9",
        REPO_AGENT_MAX_RETRIES="0",
        RUNNER_TEMP=str(temporary),
        GITHUB_STEP_SUMMARY=str(temporary / "summary.md"),
    )
    env["PATH"] = f"{programs}{os.pathsep}{env['PATH']}"
    done = subprocess.run(["bash", "-e", "-c", script], env=env, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert said in done.stdout and bool(said) == bool(done.stdout)
    assert (temporary / "summary.md").exists() is (code == 0)


# --- what scripts may rely on


def test_the_readme_tells_every_event_and_field() -> None:
    table = README.split("| event | fields |")[1].split("\n\n")[0]
    told = {}
    for line in table.splitlines():
        if match := re.match(r"\| `(\w+)` \| (.*) \|$", line):
            told[match[1]] = re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", match[2]))
    common = {field.name for field in dataclasses.fields(Event)}
    fields = {
        name: [field.name for field in dataclasses.fields(cls) if field.name not in common]
        for name, cls in EVENT_TYPES.items()
    }
    assert told == fields


def test_the_readme_tells_every_exit_code() -> None:
    table = README.split("| exit code | when |")[1].split("\n\n")[0]
    assert re.findall(r"^\| (\d+) \|", table, re.MULTILINE) == [code for code, _ in EXIT_CODES]

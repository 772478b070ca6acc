"""Completion: the script of each shell, run by that shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from tests.servers.program import LIMIT, ROOT, environment
from tui_agent.cli import main
from tui_agent.cli_completion import SHELLS, completion
from tui_agent.cli_options import COMMAND_HELP, build_parser
from tui_agent.splash import PLAIN, VALUED, asked

COMMANDS = set(COMMAND_HELP)
ROWS: list[tuple[str, set[str], set[str]]] = [
    ("", COMMANDS | {"folder"}, {"file.txt", "clear"}),
    ("--no", {"--no-cache", "--no-record", "--no-mouse"}, set()),
    ("--engine ", {"auto", "llm", "survey"}, COMMANDS),
    ("--engine llm d", {"demo", "doctor"}, {"runs", "llm"}),
    ("--profile l", {"lmstudio", "llamacpp", "local"}, {"openai"}),
    ("runs ", {"list", "show", "delete", "export", "diff"}, COMMANDS),
    ("runs show ", {"last", "3f2a00000001"}, COMMANDS),
    ("--json replay ", {"last", "3f2a00000001"}, COMMANDS),
    ("cache ", {"clear"}, COMMANDS),
    ("serve ", {"demo", "folder"}, {"runs", "file.txt"}),
    ("-o f", {"file.txt"}, {"folder2"}),
]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder to complete in, with a program of that name that knows one run."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file.txt").touch()
    program = tmp_path / "bin" / "repo-agent-tui"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n[ "$*" = runs ] && echo "3f2a00000001  team/tool  completed"\n')
    program.chmod(0o755)
    return tmp_path


def variables(desk: Path) -> dict[str, str]:
    return environment(desk) | {"PATH": f"{desk / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def told_by(desk: Path, *argv: str) -> str:
    return subprocess.run(argv, env=variables(desk), cwd=desk, capture_output=True, text=True, check=True).stdout


def by_bash(desk: Path, lines: list[str]) -> list[str]:
    script = desk / "bin" / "script"
    tries = "".join(f"try repo-agent-tui {line}{' ' * (not line or line[-1] == ' ')}\n" for line in lines)
    tries = tries.replace("  \n", " ''\n").replace(" \n", " ''\n")
    asking = (
        'compopt() { :; }\ntry() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); COMPREPLY=(); _shtab_repo_agent_tui; '
        'echo "${COMPREPLY[*]}"; }\n'
    )
    script.write_text(completion("bash") + "\n" + asking + tries)
    return told_by(desk, "bash", str(script)).splitlines()


def by_fish(desk: Path, lines: list[str]) -> list[str]:
    script = desk / "bin" / "script.fish"
    tries = "".join(f"complete -C 'repo-agent-tui {line}'; echo =\n" for line in lines)
    script.write_text(completion("fish") + "\n" + tries)
    answers = told_by(desk, "fish", "--no-config", str(script)).split("=\n")
    return [" ".join(line.split("\t")[0].rstrip("/") for line in answer.splitlines()) for answer in answers]


def by_zsh(desk: Path, lines: list[str]) -> list[str]:
    (desk / "bin" / "_repo-agent-tui").write_text(completion("zsh"))
    shell = pexpect.spawn(
        "zsh", ["-f"], env=variables(desk), cwd=str(desk), encoding="utf-8", timeout=LIMIT, dimensions=(60, 400)
    )
    answers = []
    with shell:
        # Candidates are listed, never put in; what was typed goes away again.
        shell.sendline(
            "PS1='>> '; unsetopt ZLE_SINGLE PROMPT_SP; setopt NO_ALWAYS_LAST_PROMPT; zmodload zsh/complist; "
            f"fpath=({desk}/bin $fpath); autoload -U compinit; compinit -u -D; bindkey '^T' list-choices; "
            "zstyle ':completion:*' verbose no; zstyle ':completion:*' list-separator ''; echo rea''dy"
        )
        shell.expect("ready")
        for line in lines:
            shell.sendcontrol("u")
            shell.send(f"repo-agent-tui {line}\x14")
            shell.sendcontrol("u")
            shell.sendline("echo do''ne")
            shell.expect("done\r")
            answers.append(re.sub(r"\x1b\[[?0-9;]*[a-zA-Z]|[\x08/]", " ", shell.before or ""))
    return answers


@pytest.mark.parametrize(("shell", "ask"), [("bash", by_bash), ("zsh", by_zsh), ("fish", by_fish)])
def test_a_shell_completes_options_choices_commands_runs_and_folders(
    shell: str, ask: Callable[[Path, list[str]], list[str]], desk: Path
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} is installed here")
    for (line, those, not_those), answer in zip(ROWS, ask(desk, [row[0] for row in ROWS]), strict=False):
        found = set(answer.split())
        assert those <= found, f"{line!r}: {answer!r}"
        if shell != "zsh":
            assert not found & not_those, f"{line!r}: {answer!r}"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_every_option_and_is_what_the_option_writes(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"--completion={shell}"]) == 0
    script = capsys.readouterr().out
    assert script.strip() == completion(shell).strip()
    for action in build_parser()._actions:
        for option in action.option_strings:
            assert option in script or f"-l {option[2:]}" in script or f"-s {option[1:]}" in script, option


def test_another_shell_is_a_usage_error_and_no_picture_comes_before_a_script() -> None:
    assert main(["--completion", "csh"]) == 2
    assert "--completion" in VALUED & PLAIN
    assert asked(["--completion", "bash"]) is asked(["--completion=bash"]) is None
    code = "import sys, tui_agent.cli; sys.exit('shtab' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

"""`repo-agent-tui cache`: what it shows and clears, and what starting the program never imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.program import ROOT
from tui_agent.cli import main
from tui_agent.transports.cache_store import Record, Store, cache_folder


def filled(replies: int = 3) -> Path:
    """This test's own cache, with some replies in it."""
    store = Store(cache_folder())
    for n in range(replies):
        store.write(bytes([n]), Record(b"1" * 16, b"{}", b"x" * 400_000))
    store.close()
    return store.folder


def test_it_shows_the_place_the_size_and_the_entries(capsys: pytest.CaptureFixture[str]) -> None:
    folder = filled()
    assert main(["cache"]) == 0
    out, err = capsys.readouterr()
    assert out == f"place    {folder}\nsize     1.2 MB of at most 500.0 MB\nentries  3\n"
    assert err == ""


def test_where_nothing_is_kept_it_says_so_and_makes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["cache"], ["cache", "clear"]):
        assert main(arguments) == 0
        assert "0.0 MB" in capsys.readouterr().out
    assert not cache_folder().exists()


def test_clear_forgets_everything_and_gives_the_space_back(capsys: pytest.CaptureFixture[str]) -> None:
    filled()
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().out == "forgotten: 3 entries, 1.2 MB\n"
    main(["cache"])
    assert "size     0.0 MB" in capsys.readouterr().out


def test_it_needs_no_settings(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPO_AGENT_MAX_TURNS", "many")
    assert main(["cache"]) == 0


@pytest.mark.parametrize("arguments", [["clean"], ["clear", "now"], ["owner/name"], ["clear", "clear"]])
def test_anything_else_is_a_usage_error(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    filled()
    assert main(["cache", *arguments]) == 2
    assert "cache clear" in capsys.readouterr().err
    assert Store(cache_folder()).totals().entries == 3


def test_a_damaged_file_is_said_and_cleared(capsys: pytest.CaptureFixture[str]) -> None:
    folder = filled()
    (file,) = folder.iterdir()
    file.write_bytes(b"rubbish" * 1000)
    assert main(["cache"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "damaged" in err and "cache clear" in err and err.count("\n") == 1
    assert file.read_bytes() == b"rubbish" * 1000, "looking changes nothing"
    assert main(["cache", "clear"]) == 0
    assert not file.exists()
    capsys.readouterr()
    assert main(["cache"]) == 0


def test_what_was_set_aside_is_cleared_too(capsys: pytest.CaptureFixture[str]) -> None:
    folder = filled()
    store = Store(folder)
    store.set_aside()
    store.write(b"1", Record(b"1" * 16, b"{}", b""))
    store.close()
    assert main(["cache"]) == 0
    assert "size     1.2 MB" in capsys.readouterr().out, "it takes room"
    assert main(["cache", "clear"]) == 0
    assert len(list(folder.iterdir())) == 1


def test_a_place_that_cannot_be_used_is_one_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["cache"]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("repo-agent-tui: The cache in ") and err.count("\n") == 1


def test_a_strange_folder_reaches_no_terminal_raw(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "\x1b[31mred"))
    assert main(["cache"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def loaded(code: str) -> set[str]:
    """What a new process has imported of the heavy things, after some code."""
    heavy = "{'hishel', 'httpx', 'openai', 'textual', 'sqlite3', 'msgpack'}"
    script = f"import sys\n{code}\nprint(*({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "code",
    [
        "import tui_agent",
        "import tui_agent.cli; tui_agent.cli.main(['--help'])",
        "import tui_agent.cli; tui_agent.cli.main(['--version'])",
        "import tui_agent.session, tui_agent.assembly, tui_agent.settings",
    ],
)
def test_nothing_of_the_cache_is_imported_before_a_run_needs_it(code: str) -> None:
    assert loaded(code) == set()


def test_the_command_imports_no_rules_of_http() -> None:
    assert loaded("import tui_agent.cli; tui_agent.cli.main(['cache'])") == {"sqlite3"}


def test_a_run_on_a_local_repository_imports_no_cache() -> None:
    code = (
        "import asyncio; from tui_agent.session import Session; from tui_agent.settings import Settings\n"
        "asyncio.run(Session(Settings()).prepare())"
    )
    assert "hishel" not in loaded(code)

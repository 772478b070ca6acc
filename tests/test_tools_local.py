"""The tools on a real git repository: what they tell is what git says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.fakes import Layers, Recorder
from tests.repos import git, make_repo
from tui_agent.github.snapshot import take_snapshot
from tui_agent.resilience.call import Call
from tui_agent.resilience.clock import SystemClock
from tui_agent.tools.toolbox import Toolbox, ToolCall
from tui_agent.tools.workspace import Workspace
from tui_agent.transports.local_git import LocalTransport

ODD: dict[str, bytes | str | Path | None] = {
    " leading space.txt": "1\n",
    "trailing space ": "2\n",
    "new\nline.txt": "3\n",
    "back\\slash.txt": "4\n",
    "hash#tag?x&y=%2f.txt": "5\n",
    "für/漢字 😀.txt": "6\n",
    "...": "7\n",
    "-rf": "8\n",
    "[red]x[/].txt": "9\n",
    "long.txt": "ünï\n" * 3000,
    "crlf.txt": b"a\r\nb\r\n",
    "empty.txt": "",
    "binary.bin": bytes(range(256)),
    "links/to-long": Path("../long.txt"),
    "links/to-dir": Path("../für"),
    "links/out": Path("../../../../etc/passwd"),
    "links/broken": Path("nothing"),
    "links/loop": Path("loop"),
}


async def _toolbox(path: Path) -> tuple[Toolbox, str, Recorder]:
    transport = LocalTransport.open(path)
    heard, layers = Recorder(), Layers(SystemClock())
    client = layers.client(transport, api_url="http://local.invalid")
    owner, _, name = transport.name.partition("/")
    snapshot, _ = await take_snapshot(client, Call("snapshot", heard), owner, name, ref=None, tail=None)
    return Toolbox(Workspace(client, snapshot), heard, layers.clock), name, heard


async def test_every_file_is_read_as_git_has_it(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "demo", [("Odd names", ODD), ("", {"late.txt": "x"})])
    toolbox, name, heard = await _toolbox(repo)

    async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
        call = ToolCall(f"call_{len(heard)}", tool, {"owner": "local", "repo": name, **arguments})
        return (await toolbox.execute(1, call)).result

    listed = [path.decode() for path in git(repo, "ls-files", "-z").split(b"\0") if path]
    found = await ask("find_files", pattern="**")
    assert set(found["files"]) == {path for path in listed if not path.startswith("links/")}
    for path in listed:
        if path.startswith("links/") or path == "binary.bin":
            continue
        result = await ask("read_file", path=path)
        text = git(repo, "cat-file", "blob", f"HEAD:./{path}").decode().replace("\r\n", "\n")
        assert (result["content"], result["characters"]) == (text[:6000], len(text))
    assert (await ask("read_file", path="links/to-long"))["symlink_to"] == "long.txt"
    assert (await ask("list_directory", path="links/to-dir"))["files"] == {"漢字 😀.txt": 2}
    for path, words in (("out", "not followed"), ("broken", "does not exist"), ("loop", "circle")):
        assert words in (await ask("read_file", path=f"links/{path}"))["error"]
    commits = (await ask("get_commits"))["commits"]
    told = git(repo, "log", "--format=%H %cs").decode().split()
    assert [part for sha, day, _, _ in commits for part in (sha, day)] == [
        text[:7] if len(text) == 40 else text for text in told
    ]
    assert [message for *_, message in commits] == ["", "Odd names"]
    assert (await ask("get_commits", path="late.txt"))["total"] == 1
    assert (await ask("get_repo_info"))["local"]["kind"] == "git"
    assert [event.type for event in heard if event.type not in ("tool_started", "tool_finished")] == []


async def test_a_plain_folder_has_files_and_no_history(tmp_path: Path) -> None:
    (tmp_path / "plain" / "src").mkdir(parents=True)
    (tmp_path / "plain" / "src" / "a.py").write_text("x = 1\n")
    toolbox, name, _ = await _toolbox(tmp_path / "plain")
    who = {"owner": "local", "repo": name}
    read = await toolbox.execute(1, ToolCall("1", "read_file", {**who, "path": "src/a.py"}))
    assert read.result["content"] == "x = 1\n"
    history = await toolbox.execute(1, ToolCall("2", "get_commits", who))
    assert history.outcome == "error" and str(history.result["error"]).startswith("There is no history")
    listing = await toolbox.execute(1, ToolCall("3", "list_directory", who))
    assert listing.result["dirs"] == {"src": 1}

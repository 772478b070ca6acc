"""A recorded run on a terminal of its own: opened by name, walked through, left as it was found."""

from __future__ import annotations

import re
from pathlib import Path

from tests.records import some_records
from tests.servers.program import environment
from tests.servers.terminal import Terminal


def test_a_recorded_run_is_replayed_stepped_through_and_left(tmp_path: Path) -> None:
    env = environment(tmp_path, XDG_STATE_HOME=str(tmp_path / "state"))
    folder = Path(env["XDG_STATE_HOME"]) / "repo-agent-tui" / "runs"
    some_records(folder)
    with Terminal("replay", "last", env=env, cwd=tmp_path) as terminal:
        terminal.see("REPLAY", "playing", "pallets/flask")
        terminal.send(">")
        terminal.see("completed", "A micro framework.", "Many do.", re.compile(r"event 32/32"))
        terminal.send("N")
        terminal.see(re.compile(r"read_file +OPEN 30 s"), "event 24/32")
        terminal.send("h")
        terminal.see("Recorded runs", "pallets/click", "interrupted")
        terminal.send("\x1b")
        terminal.see("event 24/32")
        terminal.send("q")
        assert terminal.end() == 0
        terminal.assert_restored()
    assert len(list(folder.iterdir())) == 4, "a replay is no run: nothing was recorded"

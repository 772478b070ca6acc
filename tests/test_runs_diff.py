"""`runs diff`: what has changed from one recorded run to another, told like a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli_fakes import FakeSession, be_alone
from tests.repos import commit, make_repo
from tests.test_runs import BEGAN
from tests.test_runs_command import recorded, said
from tui_agent.cli import main
from tui_agent.events import Emit, RunFinished
from tui_agent.request import RunRequest
from tui_agent.runs.store import RunStore


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    be_alone(tmp_path, monkeypatch)
    yield


class Asked(FakeSession):
    """A session of which one wants to know what it was asked for."""

    request: RunRequest | None = None

    async def run(self, request: RunRequest, emit: Emit) -> RunFinished:
        Asked.request = request
        return await super().run(request, emit)


def test_it_tells_the_difference_as_a_run_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = make_repo(tmp_path / "tool", [("First", {"README.md": "# Tool\n", "old.py": "pass\n"})])
    said(capsys, "--print", str(folder))
    _, error = said(capsys, "runs", "diff", "last", code=1)
    assert "This is the first recorded run of local/tool" in error
    commit(folder, "Second step", {"old.py": None})
    said(capsys, "--print", str(folder))
    second, first = (run.run_id for run in RunStore().list())

    told, trace = said(capsys, "runs", "diff", "last", "-o", "diff.md")
    assert "Second step" in told and "removed `old.py`" in told and "local/tool" in trace
    assert "removed `old.py`" in Path("diff.md").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in said(capsys, "runs", "diff", "last", "--json")[0].splitlines()]
    assert (lines[0]["type"], lines[0]["follows"]) == ("run_started", second), "a difference is no state of its own"
    assert "removed `old.py`" in lines[-1]["report"]
    assert said(capsys, "runs", "diff", second, first, "--no-record")[0] == told
    assert len(RunStore().list()) == 4


def test_the_earlier_run_is_the_named_one_or_the_one_the_run_names_or_the_last_before_it() -> None:
    recorded("aaa111", began=BEGAN)
    recorded("bbb222", began=BEGAN + 100, repo="octo/other")
    recorded("ccc333", began=BEGAN + 200)
    recorded("ddd444", began=BEGAN + 300, outcome="failed")
    recorded("eee555", began=BEGAN + 400, previous="aaa111")
    recorded("fff666", began=BEGAN + 500, previous="gone999")
    for names, follows, since in (
        (("fff",), "fff666", "eee555"),
        (("eee",), "eee555", "aaa111"),
        (("ccc",), "ccc333", "aaa111"),
        (("fff", "ccc"), "fff666", "ccc333"),
    ):
        assert main(["runs", "diff", *names, "--lang", "zh", "--refresh"], make_session=Asked) == 0
        assert Asked.request == RunRequest(repo="octo/tool", lang="zh", refresh=True, follows=follows, since=since)


@pytest.mark.parametrize(
    ("names", "code", "sentence"),
    [
        ((), 2, "diff RUN [OLDER]"),
        (("aaa", "bbb", "ccc"), 2, "diff RUN [OLDER]"),
        (("aaa", "ccc"), 2, "is the later of the two"),
        (("ccc", "ccc"), 2, "is no earlier run of octo/tool"),
        (("ccc", "bbb"), 2, "is no earlier run of octo/tool"),
        (("ddd",), 1, "has no report"),
        (("aaa",), 1, "first recorded run of octo/tool"),
        (("zzz",), 1, 'There is no run "zzz"'),
        (("aaa", "--engine", "survey"), 2, "takes no --engine"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    capsys: pytest.CaptureFixture[str], names: tuple[str, ...], code: int, sentence: str
) -> None:
    recorded("aaa111", began=BEGAN)
    recorded("bbb222", began=BEGAN + 100, repo="octo/other")
    recorded("ccc333", began=BEGAN + 200)
    recorded("ddd444", began=BEGAN + 300, outcome="failed")
    out, error = said(capsys, "runs", "diff", *names, code=code)
    assert out == "" and sentence in error and error.count("\n") == 1

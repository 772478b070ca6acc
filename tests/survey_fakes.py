"""A repository that answers the survey's calls from memory or from a git checkout, and a loop that plays the agent."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tui_agent.tools.globs import compile_glob
from tui_agent.transports.survey.model import Turn, decide

Json = dict[str, Any]
Commits = list[tuple[str | None, str, str]]
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NOW = datetime(2025, 9, 1, 12, tzinfo=UTC).timestamp()
WINDOW = 6000
PAGE = 200
TOOLS = [
    {"type": "function", "function": {"name": name}}
    for name in ("get_repo_info", "list_directory", "find_files", "read_file", "get_commits")
]
FALLBACK: Json = {"ok": False, "fallback": True, "error": "The service did not answer (503)."}
Fault = Callable[[str, Json], Json | None]


@dataclass
class FakeRepository:
    """Files by path (a str is text, bytes are what they are), answering like the tools do.

    Args:
        files: the tree.
        commits: newest first, as `(author, date, message)`.
        info: what `get_repo_info` says beside the usual; a value of None takes a key away.
        links, submodules: further entries; a link's value is its target.
        fault: may answer a call in the repository's place.
        on_wait: is told when the survey waits before a turn's calls, in seconds.
        older: whether there are more commits than these.
    """

    files: Mapping[str, str | bytes]
    commits: list[tuple[str | None, str, str]] = field(default_factory=list)
    info: Json = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    submodules: tuple[str, ...] = ()
    fault: Fault | None = None
    on_wait: Callable[[float], None] | None = None
    older: bool = False
    asked: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.data = {path: text.encode() if isinstance(text, str) else text for path, text in self.files.items()}

    def call(self, name: str, arguments: Json) -> Json:
        """Answer one call; every answer has been through JSON, as in the agent."""
        self.asked[f"{name} {json.dumps(arguments, sort_keys=True)}"] += 1
        assert arguments.pop("owner") == "octo"
        assert arguments.pop("repo") == "demo"
        result = self.fault(name, arguments) if self.fault else None
        result = result if result is not None else getattr(self, f"_{name}")(**arguments)
        return dict(json.loads(json.dumps(result)))

    def _get_repo_info(self) -> Json:
        facts: Json = {"ok": True, "full_name": "octo/demo", "default_branch": "main", "license": None, **self.info}
        return {key: value for key, value in facts.items() if value is not None or key == "license"}

    def _get_commits(self, per_page: int = 30) -> Json:
        if not self.commits:
            return {"ok": False, "error": "There is no history: Git Repository is empty."}
        commits = [
            [f"{number:07x}", date, author, message]
            for number, (author, date, message) in enumerate(self.commits[:per_page], 1)
        ]
        more = {"more": "There are older commits."} if self.older or len(self.commits) > per_page else {}
        return {"ok": True, "commits": commits, **more}

    def _below(self, path: str) -> dict[str, bytes]:
        return {name: data for name, data in self.data.items() if not path or name.startswith(f"{path}/")}

    def _list_directory(self, path: str = "", offset: int = 0) -> Json:
        below = self._below(path)
        cut = len(path) + 1 if path else 0
        kinds: dict[str, Json] = {}
        for name, data in below.items():
            first, slash, _ = name[cut:].partition("/")
            if slash:
                entry = kinds.setdefault(first, {"name": first, "type": "dir", "files": 0, "size": 0})
                entry["files"] += 1
                entry["size"] += len(data)
            else:
                kinds[first] = {"name": first, "type": "file", "size": len(data)}
        for kind, names in (("symlink", self.links), ("submodule", self.submodules)):
            for name in names:
                if name.rpartition("/")[0] == path:
                    kinds[name[cut:]] = {"name": name[cut:], "type": kind}
                elif name.startswith(f"{path}/" if path else ""):
                    first = name[cut:].partition("/")[0]
                    kinds.setdefault(first, {"name": first, "type": "dir", "files": 0, "size": 0})
        if path and not kinds:
            return {"ok": False, "error": f"There is no {path!r} at this commit."}
        entries = sorted(kinds.values(), key=lambda entry: (entry["type"] != "dir", entry["name"]))
        shown = entries[offset : offset + PAGE]
        result: Json = {"ok": True, "path": path}
        for key, kind, number in (("dirs", "dir", "files"), ("files", "file", "size")):
            result[key] = {entry["name"]: entry[number] for entry in shown if entry["type"] == kind}
        for key, kind in (("symlinks", "symlink"), ("submodules", "submodule")):
            result[key] = [entry["name"] for entry in shown if entry["type"] == kind]
        result = {key: value for key, value in result.items() if value or key == "path"}
        if len(shown) < len(entries):
            result["total_entries"] = len(entries)
        if offset + PAGE < len(entries):
            result["more"] = f"call list_directory with offset={offset + PAGE}."
        if offset == 0 and ("dirs" in result or "more" in result):
            own = {f"{path}/{entry['name']}" if path else entry["name"] for entry in shown}
            result["below"] = self._summary(below, own)
        return result

    def _summary(self, below: Mapping[str, bytes], own: set[str]) -> Json:
        files, sizes = Counter[str](), Counter[str]()
        for name, data in below.items():
            stem, dot, extension = name.rpartition("/")[2].rpartition(".")
            key = f".{extension.lower()}" if dot and stem else ""
            files[key] += 1
            sizes[key] += len(data)
        common = sizes.most_common()
        shares = {key: [files[key], size] for key, size in common[:15]}
        if common[15:]:
            rest = common[15:]
            shares["(other)"] = [sum(files[key] for key, _ in rest), sum(size for _, size in rest)]
        largest = sorted(below, key=lambda name: (-len(below[name]), name))[:5]
        return {
            "files": len(below),
            "size": sizes.total(),
            "by_extension": shares,
            "largest": {name: len(below[name]) for name in largest if name not in own},
        }

    def _find_files(self, pattern: str, offset: int = 0) -> Json:
        matches = compile_glob(pattern)
        found = [(name, len(data)) for name, data in sorted(self.data.items()) if matches(name)]
        shown = dict(found[offset : offset + PAGE])
        return {"ok": True, "pattern": pattern, "total": len(found), "files": shown}

    def _read_file(self, path: str, offset: int = 0) -> Json:
        target = self.links.get(path, path)
        if target not in self.data:
            return {"ok": False, "error": f"There is no {path!r} at this commit."}
        try:
            text = self.data[target].decode().replace("\r\n", "\n")
        except UnicodeDecodeError:
            return {"ok": False, "error": f"{path!r} cannot be shown: it is binary."}
        content = text[offset : offset + WINDOW]
        stop = offset + len(content)
        result: Json = {"ok": True, "path": path, "characters": len(text)}
        if target != path:
            result["symlink_to"] = target
        result |= {
            "lines": text.count("\n") + (not text.endswith("\n")),
            "first_line": text.count("\n", 0, offset) + 1,
            "content": content,
            "truncated": stop < len(text),
        }
        return result


@dataclass
class Played:
    """A run that was played to its end: every turn, the last one with the report."""

    turns: list[Turn]
    messages: list[Json]
    repository: FakeRepository

    @property
    def report(self) -> str:
        """The report."""
        return self.turns[-1].content

    def calls(self, name: str) -> list[Json]:
        """The arguments of every call of a tool, in order."""
        return [
            json.loads(call["function"]["arguments"])
            for turn in self.turns
            for call in turn.calls
            if call["function"]["name"] == name
        ]

    @property
    def read(self) -> list[str]:
        """The files that were asked for, each once."""
        return list(dict.fromkeys(arguments["path"] for arguments in self.calls("read_file")))

    def section(self, heading: str) -> str:
        """The text under a heading of level two."""
        return self.report.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def task(
    question: str = "", *, preset: str = "full", lang: str = "", commit: str = COMMIT, files: int = 0, **lines: object
) -> Json:
    """The question as the agent puts it."""
    head = ["Repository: octo/demo", f"Snapshot: ref HEAD, commit {commit or 'none'}, {files} files"]
    head += [f"Report language: {lang}"] if lang else []
    head += [f"Preset: {preset}"] if preset else []
    head += [f"{key}: {value}" for key, value in lines.items()]
    return {"role": "user", "content": "\n".join([*head, "", "Question:", question or "Analyse this repository."])}


def assistant(turn: Turn) -> Json:
    """A turn as the agent keeps it."""
    return {"role": "assistant", "content": turn.content or None, "tool_calls": list(turn.calls)}


def play(repository: FakeRepository, question: Json | None = None, *, now: float = NOW, most: int = 30) -> Played:
    """Play the agent: answer every call until the survey writes its report."""
    asked = question or task(files=len(repository.data))
    messages: list[Json] = [{"role": "system", "content": "You are an analyst."}, asked]
    turns: list[Turn] = []
    while len(turns) < most:
        turn = decide(messages, TOOLS, now)
        turns.append(turn)
        if not turn.calls:
            return Played(turns, messages, repository)
        if turn.wait and repository.on_wait:
            repository.on_wait(turn.wait)
        messages.append(assistant(turn))
        for call in turn.calls:
            result = repository.call(call["function"]["name"], json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
    raise AssertionError(f"no report after {most} turns")


def from_checkout(path: Path) -> FakeRepository:
    """The committed tree and history of a git repository."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}

    def git(*arguments: str) -> bytes:
        return subprocess.run(["git", "-C", str(path), *arguments], check=True, capture_output=True, env=env).stdout

    files: dict[str, str | bytes] = {}
    links: dict[str, str] = {}
    submodules: list[str] = []
    for line in git("ls-tree", "-r", "-z", "HEAD").split(b"\0"):
        if not line:
            continue
        head, _, raw = line.partition(b"\t")
        mode, _, sha = head.decode().split()
        name = raw.decode("utf-8", "replace")
        if mode == "160000":
            submodules.append(name)
        elif mode == "120000":
            links[name] = git("cat-file", "blob", sha).decode("utf-8", "replace")
        else:
            files[name] = git("cat-file", "blob", sha)
    log = git("log", "-z", "--format=%an%x01%aI%x01%s").decode("utf-8", "replace")
    commits: list[tuple[str | None, str, str]] = []
    for entry in filter(None, log.split("\0")):
        author, date, message = entry.split("\x01", 2)
        commits.append((author or None, date, message.strip("\n")))
    return FakeRepository(files, commits=commits, links=links, submodules=tuple(submodules))


def report(files: dict[str, str | bytes], commits: Commits | None = None, lang: str = "", **more: Any) -> str:
    """The report on a repository of these files."""
    repository = FakeRepository(files, commits or [], **more)
    return play(repository, task(lang=lang, files=len(files))).report


class Today:
    """A clock that stands still."""

    def monotonic(self) -> float:
        return 0.0

    def time(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("a writer does not sleep")

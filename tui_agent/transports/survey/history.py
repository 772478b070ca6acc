"""The messages of a chat, read back: what was asked, which calls were made, what came of them.

The survey keeps no state of its own. Every request brings the whole history, made by itself or by another model;
this module turns it into `History`, and takes nothing in it for granted.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tui_agent.transports.survey.listing import FileView, Found, Listing, file_views, listings, searches
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, number_of, object_from, plain_path, text_of

CALL_PREFIX = "call_survey_"
Status = Literal["ok", "error", "fallback", "unanswered"]
_SNAPSHOT = re.compile(r"ref (?P<ref>.*), commit (?P<commit>\S+), (?P<files>[\d,]+) files?(?P<rest>.*)")
_IGNORED = frozenset({"owner", "repo"})
_MAIN_PART = {
    "list_directory": "path",
    "find_files": "files",
    "read_file": "content",
    "get_commits": "commits",
    "get_repo_info": "full_name",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the history with what came of it; `turn` counts the assistant's turns from 1."""

    turn: int
    name: str
    arguments: Json
    status: Status
    result: Json
    by_survey: bool

    @property
    def key(self) -> str:
        """What makes two calls the same question."""
        return call_key(self.name, self.arguments)


@dataclass(frozen=True, slots=True)
class Request:
    """What the first lines of the question say; empty where they are absent."""

    repo: str = ""
    ref: str = ""
    commit: str = ""
    files: int | None = None
    files_truncated: bool = False
    language: str = ""
    preset: str = ""
    question: str = ""
    path: str = ""
    uncommitted: int | None = None
    is_follow_up: bool = False
    figures: str = ""

    @property
    def owner(self) -> str:
        """The part of the name before its first slash."""
        return self.repo.partition("/")[0]

    @property
    def name(self) -> str:
        """The part of the name behind its first slash."""
        return self.repo.partition("/")[2]


@dataclass(slots=True)
class History:
    """Everything that the messages say, in the form that the rules and the facts need."""

    request: Request
    calls: list[Call]
    turn: int
    listings: dict[str, Listing] = field(default_factory=dict)
    files: dict[str, FileView] = field(default_factory=dict)
    searches: dict[str, Found] = field(default_factory=dict)
    info: Json | None = None
    by_key: dict[str, list[Call]] = field(default_factory=dict)

    def last(self, name: str, **arguments: object) -> Call | None:
        """The latest call that asks the same; an answered one is preferred to one that fell back."""
        calls = self.by_key.get(call_key(name, arguments), [])
        return next((call for call in reversed(calls) if call.status in ("ok", "error")), calls[-1] if calls else None)

    def status(self, name: str, **arguments: object) -> Status | None:
        """What came of a call; None where it was never made."""
        call = self.last(name, **arguments)
        return call.status if call else None

    def read_paths(self) -> Counter[str]:
        """The files that were asked for, each with the number of its different windows."""
        firsts = (calls[0] for calls in self.by_key.values())
        return Counter(plain_path(call.arguments.get("path")) for call in firsts if call.name == "read_file")

    @property
    def explored_by_survey(self) -> bool:
        """Whether every call of the history is one that this survey chose."""
        return all(call.by_survey for call in self.calls)

    @property
    def failures(self) -> list[Call]:
        """The calls that never got an answer they could use, each question once, in order."""
        bad = []
        for calls in self.by_key.values():
            if not any(call.status == "ok" for call in calls):
                bad.append(next((call for call in reversed(calls) if call.status == "error"), calls[-1]))
        return bad


def call_key(name: str, arguments: Mapping[str, object]) -> str:
    """A name for the question that a call asks: paths tidied, the repository and empty arguments left out."""
    kept: dict[str, object] = {}
    for key, value in arguments.items():
        if key in _IGNORED or value is None or value == "":
            continue
        if key == "path":
            value = plain_path(value)
            if not value:
                continue
        elif key != "pattern":
            whole = number_of(value)
            value = value if whole is None else whole
            if key == "offset" and value == 0:
                continue
        kept[key] = value
    return f"{name} {json.dumps(kept, sort_keys=True, default=str)}"


def read_history(messages: Sequence[Mapping[str, Any]]) -> History:
    """Everything that the messages of a request say.

    Args:
        messages: chat messages in OpenAI's form; anything unexpected in them is passed over.
    """
    calls: list[Call] = []
    told: dict[str, Json] = {}
    turn = 0
    request = Request()
    index = 0
    items = [dict_of(message) for message in messages]
    while index < len(items):
        message = items[index]
        index += 1
        role = message.get("role")
        if role == "user":
            request = _request(_content(message), request) or request
        elif role == "assistant":
            turn += 1
            answers = []
            while index < len(items) and items[index].get("role") == "tool":
                answers.append(items[index])
                index += 1
            calls.extend(_calls(turn, message, answers, told))
    history = History(request=_completed(request, calls), calls=calls, turn=turn)
    for call in calls:
        history.by_key.setdefault(call.key, []).append(call)
    _observe(history)
    return history


def _observe(history: History) -> None:
    """Sort the answers that can be used into listings, searches, files and the repository's facts."""
    answered = [call for call in history.calls if call.status == "ok"]

    def of(name: str) -> Iterator[tuple[Json, Json]]:
        return ((call.arguments, call.result) for call in answered if call.name == name)

    history.listings = listings(of("list_directory"))
    history.files = file_views(of("read_file"))
    history.searches = searches(of("find_files"))
    for _, result in of("get_repo_info"):
        history.info = result


def _content(message: Json) -> str:
    """A message's text, whether it came whole or in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(text_of(dict_of(part).get("text")) for part in content)
    return text_of(content)


def _request(text: str, before: Request) -> Request | None:
    """The lines that open the question; None where the message has none (the call for a report, say)."""
    lines: dict[str, str] = {}
    rest = text.split("\n")
    for number, line in enumerate(rest):
        key, colon, value = line.partition(":")
        if not line.strip() or key == "Question" or not colon:
            rest = rest[number:]
            break
        lines[key.strip()] = value.strip()
    else:
        rest = []
    question = "\n".join(rest).strip().removeprefix("Question:").strip()
    if "Follow-up" in lines:
        language = lines.get("Report language", "")
        return replace(before, language=language, preset="", question=question, is_follow_up=True)
    if "Comparison" in lines:
        question = question.partition("\n\nReport on ")[0]
        language = lines.get("Report language", "")
        return Request(language=language, question=question, figures=lines.get("Figures", ""))
    if "Repository" not in lines:
        return None
    snapshot = _SNAPSHOT.fullmatch(lines.get("Snapshot", ""))
    commit = snapshot["commit"] if snapshot else ""
    return Request(
        repo=lines["Repository"],
        ref=snapshot["ref"] if snapshot else "",
        commit=commit if re.fullmatch(r"[0-9a-fA-F]{7,64}", commit) else "",
        files=number_of(snapshot["files"].replace(",", "")) if snapshot else None,
        files_truncated=bool(snapshot and "truncated" in snapshot["rest"]),
        language=lines.get("Report language", ""),
        preset=lines.get("Preset", ""),
        question=question,
        path=lines.get("Path", ""),
        uncommitted=next((number_of(v) for k, v in lines.items() if k.startswith("Uncommitted changes")), None),
    )


def _completed(request: Request, calls: Sequence[Call]) -> Request:
    """The request; where its lines were absent, the repository's name comes from the calls that were made."""
    if request.repo:
        return request
    for call in calls:
        owner, repo = text_of(call.arguments.get("owner")), text_of(call.arguments.get("repo"))
        if owner and repo:
            return Request(repo=f"{owner}/{repo}")
    return request


def _calls(turn: int, message: Json, answers: list[Json], told: dict[str, Json]) -> Iterator[Call]:
    """The calls of one turn, each with its own answer: by id, else by place.

    Args:
        turn: counted from 1.
        message: the assistant's.
        answers: the tools' messages behind it.
        told: answers by the ids of their calls, to be filled; a repetition names the call that was answered.
    """
    asked = [dict_of(call) for call in list_of(message.get("tool_calls"))]
    left = list(answers)
    paired: list[Json | None] = []
    for call in asked:
        wanted = call.get("id")
        match = next((answer for answer in left if wanted and answer.get("tool_call_id") == wanted), None)
        if match is not None:
            left.remove(match)
        paired.append(match)
    for call, answer in zip(asked, paired, strict=True):
        if answer is None and left:
            answer = left.pop(0)
        function = dict_of(call.get("function"))
        result = object_from(_content(answer)) if answer is not None else None
        if result is not None:
            if result.get("repeated"):
                result = told.get(text_of(result.get("call_id")), result)
            told[text_of(call.get("id"))] = result
        yield Call(
            turn=turn,
            name=text_of(function.get("name")),
            arguments=object_from(function.get("arguments")) or {},
            status=_status(text_of(function.get("name")), result),
            result=result or {},
            by_survey=text_of(call.get("id")).startswith(CALL_PREFIX),
        )


def _status(name: str, result: Json | None) -> Status:
    """What an answer is worth; one that was shortened to fit a window, or lacks its main part, answers nothing."""
    if result is None:
        return "unanswered"
    if result.get("ok") is True:
        return "ok" if isinstance(result.get(_MAIN_PART.get(name, "ok")), str | list | dict | bool) else "unanswered"
    return "fallback" if result.get("fallback") is True else "error"

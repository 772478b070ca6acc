"""What a client of the MCP server is told of the tools: what they take, what they answer. Plain JSON Schema."""

from __future__ import annotations

from typing import Any

from tui_agent.agent.prompts import PRESETS
from tui_agent.events import JsonObject
from tui_agent.tools.schemas import SCHEMAS

ANALYZE = "analyze_repository"
TITLES = {
    "get_repo_info": "Facts about a repository",
    "list_directory": "List a directory",
    "find_files": "Find files",
    "read_file": "Read a file",
    "get_commits": "Latest commits",
    ANALYZE: "Analyse a repository",
}
_REF: JsonObject = {"type": "string", "description": "Branch, tag or commit. Default: the default branch."}
_PLACE: dict[str, JsonObject] = {
    "owner": {"type": "string", "description": "The account, such as pallets; local for a folder of this server."},
    "repo": {"type": "string", "description": "The repository's name, such as flask; the folder's for a local one."},
}


def _string(about: str) -> JsonObject:
    return {"type": "string", "description": about}


def _integer(about: str) -> JsonObject:
    return {"type": "integer", "minimum": 0, "description": about}


def _or_null(schema: JsonObject) -> JsonObject:
    return {**schema, "type": [schema["type"], "null"]}


def _map(values: JsonObject, about: str) -> JsonObject:
    return {"type": "object", "additionalProperties": values, "description": about}


_TEXT: JsonObject = {"type": "string"}
_LINES: JsonObject = {"type": "array", "items": _TEXT}
_SIZE: JsonObject = {"type": ["integer", "null"]}
_PAIR: JsonObject = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_SIZES = _map(_SIZE, "Files with their bytes.")
_NOTE = _string("What else is to be known.")
_MORE = _string("How to ask for the rest.")
_LINK = _string("Where a symbolic link on the way has led.")

_ANSWERS: dict[str, tuple[dict[str, JsonObject], list[str]]] = {
    "get_repo_info": (
        {
            **dict.fromkeys(("full_name", "description", "homepage", "language", "default_branch", "parent"), _TEXT),
            **{name: {"type": "integer"} for name in ("stars", "forks", "open_issues", "watchers", "size_kb")},
            **{name: {"type": "boolean"} for name in ("archived", "fork", "private")},
            "created_at": _string("The day."),
            "pushed_at": _string("The day."),
            "topics": _LINES,
            "license": _or_null(_string("SPDX id; null for none.")),
            "local": {"type": "object", "description": "Of a local repository: its kind, and what is special."},
        },
        ["license"],
    ),
    "list_directory": (
        {
            "path": _TEXT,
            "symlink_to": _LINK,
            "dirs": _map(_SIZE, "Directories with the number of files below."),
            "files": _SIZES,
            "symlinks": _LINES,
            "submodules": _LINES,
            "total_entries": _integer("Where not all are told."),
            "more": _MORE,
            "note": _NOTE,
            "below": {
                "type": "object",
                "description": "All files below.",
                "properties": {
                    "files": {"type": "integer"},
                    "size": {"type": "integer"},
                    "by_extension": _map(_PAIR, "[files, bytes]"),
                    "largest": _SIZES,
                },
                "required": ["files", "size", "by_extension"],
            },
        },
        ["path"],
    ),
    "find_files": (
        {"pattern": _TEXT, "total": _integer("Files that match."), "files": _SIZES, "more": _MORE, "note": _NOTE},
        ["pattern", "total", "files"],
    ),
    "read_file": (
        {
            "path": _TEXT,
            "symlink_to": _LINK,
            "characters": _integer("Of the whole file."),
            "lines": _integer("Of the whole file."),
            "first_line": _integer("Where not the file's first."),
            "last_line": _integer("Where not the file's last."),
            "truncated": {"type": "boolean"},
            "content": _string("The text alone, at most 6,000 characters."),
            "rest": _MORE,
            "encoding": _string("Where it is not UTF-8."),
            "note": _NOTE,
        },
        ["path", "characters", "lines", "truncated", "content"],
    ),
    "get_commits": (
        {
            "path": _TEXT,
            "commits": {
                "type": "array",
                "items": {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 4, "maxItems": 4},
                "description": "[SHA, day, author, first line of the message], newest first.",
            },
            "total": _integer("Where all are told."),
            "more": _MORE,
            "note": _NOTE,
        },
        ["commits"],
    ),
}


def input_schemas() -> dict[str, tuple[str, JsonObject]]:
    """Description and input schema of each repository tool: the model's own, and `ref`."""
    found: dict[str, tuple[str, JsonObject]] = {}
    for schema in SCHEMAS:
        function: dict[str, Any] = schema["function"]
        parameters = function["parameters"]
        properties = {**parameters["properties"], **_PLACE, "ref": _REF}
        found[function["name"]] = function["description"], {**parameters, "properties": properties}
    return found


def output_schema(tool: str) -> JsonObject:
    """What a repository tool answers: its own fields, and which state of the repository they speak of."""
    own, required = _ANSWERS[tool]
    properties = {
        **own,
        "ref": _string("What was resolved, once; every answer for it speaks of the same commit."),
        "commit": _or_null(_string("The commit's full SHA; null where there is no history.")),
    }
    return {"type": "object", "properties": properties, "required": [*required, "ref", "commit"]}


ANALYZE_ABOUT = (
    "A whole analysis: an agent explores the repository by itself and writes a report in Markdown, with what of it was "
    "observed. It takes from seconds to minutes and tells its progress. Use it for an overview, or for a question that "
    "would take many calls; for a single file or fact use the other tools."
)
ANALYZE_INPUT: JsonObject = {
    "type": "object",
    "properties": {
        "repo": _string("owner/name, a GitHub URL, or local/<folder> of this server."),
        "question": _string("What to find out. Default: what the preset asks."),
        "preset": {
            "type": "string",
            "enum": list(PRESETS),
            "description": "A ready question: full (default), overview (five sentences), architecture.",
        },
        "ref": _REF,
        "lang": _string("The report's language, such as en or zh. Default: the question's."),
        "engine": {
            "type": "string",
            "enum": ["auto", "llm", "survey"],
            "description": "Who decides: auto (default) takes the server's LLM where it has a key, else the survey.",
        },
    },
    "required": ["repo"],
    "additionalProperties": False,
}
ANALYZE_OUTPUT: JsonObject = {
    "type": "object",
    "properties": {
        "run_id": _TEXT,
        "repo": _TEXT,
        "ref": _or_null(_string("What was resolved; null where no snapshot was taken.")),
        "commit": _or_null(_string("The commit's full SHA; null where there is none.")),
        "outcome": {"type": "string", "enum": ["completed", "partial"]},
        "error": _or_null(_string("Why the report is partial.")),
        "report": _string("Markdown."),
        "engine": {"type": "string", "enum": ["llm", "survey"]},
        "model": _TEXT,
        "turns": _integer("Of the loop."),
        "tool_calls": _integer("Of the agent."),
        "requests": _integer("Sent to GitHub."),
        "elapsed": {"type": "number", "minimum": 0, "description": "Seconds."},
        "usage": {
            "type": "object",
            "properties": {
                "prompt_tokens": _integer("In."),
                "completion_tokens": _integer("Out."),
                "cached_tokens": _integer("Of those in."),
                "cost": {"type": ["number", "null"], "description": "An estimate; null where no price is known."},
                "currency": _or_null(_TEXT),
            },
            "required": ["prompt_tokens", "completion_tokens", "cached_tokens", "cost", "currency"],
        },
        "grounding": {
            "type": "object",
            "description": "Claims of the report that could be checked against what was observed.",
            "properties": {"supported": _integer("They hold."), "unsupported": _integer("They were not observed.")},
            "required": ["supported", "unsupported"],
        },
        "resource": _or_null(_string("Where the recorded report can be read again; null where nothing is recorded.")),
    },
    "required": [
        "run_id", "repo", "ref", "commit", "outcome", "error", "report", "engine", "model", "turns", "tool_calls",
        "requests", "elapsed", "usage", "grounding", "resource",
    ],
}  # fmt: skip

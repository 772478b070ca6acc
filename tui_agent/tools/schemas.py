"""The tools as the model is told of them: a name that says what, a description that ends with when, exact arguments.

Adding a tool: describe it here, write its function in a module beside this one, name it in `toolbox.TOOLS`.
"""

from __future__ import annotations

from typing import Any

from tui_agent.events import JsonObject

_REPOSITORY: dict[str, JsonObject] = {
    "owner": {"type": "string", "description": "Owner of the repository, as given in the task."},
    "repo": {"type": "string", "description": "Name of the repository, as given in the task."},
}
_OFFSET: JsonObject = {"type": "integer", "minimum": 0}


def _schema(name: str, description: str, required: list[str], **parameters: JsonObject) -> JsonObject:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {**_REPOSITORY, **parameters},
                "required": ["owner", "repo", *required],
                "additionalProperties": False,
            },
        },
    }


SCHEMAS: list[JsonObject] = [
    _schema(
        "get_repo_info",
        "Facts about the repository as a whole: description, main language, topics, licence, default branch, stars, "
        "forks, open issues (pull requests included), dates of creation and last push, size, whether it is archived "
        "or a fork. Facts that are not known are left out. Use it once, at the beginning, together with "
        "list_directory and get_commits.",
        [],
    ),
    _schema(
        "list_directory",
        "What a directory holds, at the commit under analysis: name, type (file, dir, symlink, submodule) and size in "
        "bytes of each entry; for directories the number and size of all files below; for the whole directory the "
        "files below by extension and the largest ones. It costs no request. Use it to find your way: first the root, "
        "then the directories that matter for the question.",
        [],
        path={
            "type": "string",
            "description": "Directory from the root, such as src/core; empty or left out: the root.",
        },
        offset={**_OFFSET, "description": "Number of entries to skip, for a long directory."},
    ),
    _schema(
        "find_files",
        "Files of the whole repository whose path matches a glob pattern: * within a name, ** across directories; a "
        "pattern without a slash matches names at any depth. It costs no request. Use it to find files by name or "
        "extension (such as *.toml or tests/**/test_*.py) without listing directory by directory.",
        ["pattern"],
        pattern={"type": "string", "description": "Glob pattern, such as **/*.go, Dockerfile* or docs/*.md."},
        offset={**_OFFSET, "description": "Number of matches to skip, for a long list."},
    ),
    _schema(
        "read_file",
        "The text of one file at the commit under analysis, at most 6,000 characters at a time, with its full length; "
        "`first_line` tells the number of the first line shown, so that lines can be cited. Binary files are named as "
        "such. Use it for files that a listing has shown: README, manifests, entry points, then what the question "
        "needs; read several files side by side in one turn.",
        ["path"],
        path={"type": "string", "description": "Path of the file from the root, exactly as a listing shows it."},
        offset={**_OFFSET, "description": "Character to start at (from 0), to go on where a truncated answer ended."},
        start_line={"type": "integer", "minimum": 1, "description": "Line to start at (from 1), instead of offset."},
        end_line={"type": "integer", "minimum": 1, "description": "Last line to show; left out: as much as fits."},
    ),
    _schema(
        "get_commits",
        "The latest commits, newest first, as of the commit under analysis: SHA, first line of the message, author, "
        "date. Use it to judge how active the repository is, by whom, and what is being worked on.",
        [],
        per_page={
            "type": "integer",
            "minimum": 1,
            "maximum": 100,
            "description": "How many commits; 30 if left out, at most 100.",
        },
        page={"type": "integer", "minimum": 1, "description": "Page of that size, from 1."},
        path={"type": "string", "description": "Only commits that changed this file or directory."},
    ),
]

TOOL_NAMES: tuple[str, ...] = tuple(schema["function"]["name"] for schema in SCHEMAS)
PARAMETERS: dict[str, JsonObject] = {schema["function"]["name"]: schema["function"]["parameters"] for schema in SCHEMAS}


class ArgumentError(ValueError):
    """The model's arguments do not fit; the text tells it what would."""


def parse_arguments(tool: str, raw: Any) -> JsonObject:
    """The model's arguments for a tool, checked and in their types.

    Args:
        tool: a name of `TOOL_NAMES`.
        raw: a mapping, as JSON gives it.

    Returns:
        the arguments that were given; null counts as left out, integers written as strings are integers,
        `per_page` is clamped to its bounds.

    Raises:
        ArgumentError: one sentence for the model.
    """
    if not isinstance(raw, dict):
        raise ArgumentError(f"The arguments of {tool} must be one JSON object.")
    schema = PARAMETERS[tool]
    properties = schema["properties"]
    known = ", ".join(properties)
    arguments: JsonObject = {}
    for name, value in raw.items():
        if name not in properties:
            raise ArgumentError(f"{tool} has no argument {name!r}; it takes {known}.")
        if value is not None:
            arguments[name] = _typed(tool, name, value, properties[name])
    missing = [name for name in schema["required"] if name not in arguments]
    if missing:
        raise ArgumentError(f"{tool} needs {' and '.join(missing)}; it takes {known}.")
    return arguments


def _typed(tool: str, name: str, value: Any, schema: JsonObject) -> str | int:
    if schema["type"] == "string":
        if not isinstance(value, str):
            raise ArgumentError(f"The argument {name} of {tool} must be a string.")
        return value
    number = _integer(value)
    if number is None:
        raise ArgumentError(f"The argument {name} of {tool} must be an integer.")
    lowest, highest = schema["minimum"], schema.get("maximum")
    if highest is not None:
        return int(min(max(number, lowest), highest))
    if number < lowest:
        raise ArgumentError(f"The argument {name} of {tool} must be at least {lowest}.")
    return number


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) <= 300:
        text = value.strip()
        if text.lstrip("-").isascii() and text.removeprefix("-").isdigit():
            return int(text)
    return None

"""The tools as the model is told of them: a name that says what, a description that ends with when, exact arguments.

Adding a tool: describe it here, write its function in a module beside this one, name it in `toolbox.TOOLS`.
"""

from __future__ import annotations

from typing import Any

from tui_agent.events import JsonObject

_REPOSITORY: dict[str, JsonObject] = {
    "owner": {"type": "string", "description": "As given."},
    "repo": {"type": "string", "description": "As given."},
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
        "Facts about the repository: description, language, topics, licence (null: none), stars, forks, open issues "
        "and pull requests, dates; unknown or false ones are left out. Use it once, first.",
        [],
    ),
    _schema(
        "list_directory",
        "A directory's dirs with the number of files below, its files with their bytes; where it has dirs, all files "
        "below by extension as [files, bytes]. Use it on the root first, then on what matters.",
        [],
        path={"type": "string", "description": "Default: the root."},
        offset={**_OFFSET, "description": "Entries to skip."},
    ),
    _schema(
        "find_files",
        "Files whose path matches a glob, with their bytes; without a slash it matches names at any depth. Use it to "
        "find files without listing directories.",
        ["pattern"],
        pattern={"type": "string", "description": "Such as src/**/*.go."},
        offset={**_OFFSET, "description": "Files to skip."},
    ),
    _schema(
        "read_file",
        "A file's text, at most 6,000 characters, and its whole length; of a part, first_line and last_line. Use it on "
        "files that a listing has shown, several in one turn.",
        ["path"],
        path={"type": "string", "description": "From the root."},
        offset={**_OFFSET, "description": "Character to start at."},
        start_line={"type": "integer", "minimum": 1, "description": "Instead of offset."},
        end_line={"type": "integer", "minimum": 1, "description": "Last line wanted."},
    ),
    _schema(
        "get_commits",
        "Latest commits, newest first: [SHA, day, author, first line of the message]. Use it to judge how active the "
        "repository is, by whom, on what.",
        [],
        per_page={"type": "integer", "minimum": 1, "maximum": 100, "description": "Default 30."},
        page={"type": "integer", "minimum": 1, "description": "Page of that size."},
        path={"type": "string", "description": "Only what changed this."},
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

"""`read_file`: the text of a file, a window at a time."""

from __future__ import annotations

import re

from tui_agent.events import JsonObject
from tui_agent.resilience.call import Call
from tui_agent.tools.workspace import ToolError, Workspace, find, instead, quoted

CONTENT_LIMIT = 6000
"""Characters of a file in one answer."""
BLOB_LIMIT = 12 * 1024 * 1024 - 512 * 1024
"""Bytes of a file: in base64, with its line breaks, that is what a reply may have."""


async def read_file(work: Workspace, call: Call, arguments: JsonObject) -> JsonObject:
    """The text of one file, or a window of it.

    Raises:
        ToolError: there is no such file, or no text in it.
        GitHubError, Trouble, Unavailable: it could not be had.
    """
    found = await find(work, call, arguments["path"])
    name, entry = quoted(found.path), found.entry
    if entry.kind != "file":
        raise ToolError(f"{name} is a {entry.kind}, no file{instead(entry)}.")
    if (entry.size or 0) > BLOB_LIMIT:
        raise ToolError(f"{name} has {entry.size:,} bytes; files above {BLOB_LIMIT:,} bytes are not read.")
    decoded = await work.text(call, entry)
    if decoded.text is None:
        raise ToolError(f"{name} ({entry.size or 0:,} bytes) cannot be shown: {decoded.remark}")
    result: JsonObject = {"ok": True, "path": found.path}
    if found.symlink_to is not None:
        result["symlink_to"] = found.symlink_to
    result.update(_window(decoded.text, arguments))
    if decoded.encoding != "utf-8":
        result["encoding"] = decoded.encoding
    if decoded.remark:
        result["note"] = decoded.remark
    return result


def _window(text: str, arguments: JsonObject) -> JsonObject:
    begin, end = _bounds(text, arguments)
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    if begin > len(text) or (begin == len(text) and text):
        raise ToolError(f"The file ends before that: it has {len(text):,} characters in {lines:,} lines.")
    content = text[begin : min(end, begin + CONTENT_LIMIT)]
    stop = begin + len(content)
    # what was asked for, and not all of the file, is what can have been cut
    truncated = stop < min(end, len(text))
    window: JsonObject = {"characters": len(text), "lines": lines}
    first_line = text.count("\n", 0, begin) + 1
    if first_line > 1:
        window["first_line"] = first_line
    if stop < len(text):
        window["last_line"] = first_line + content.removesuffix("\n").count("\n")
    window |= {"truncated": truncated, "content": content}
    if truncated:
        window["rest"] = f"Call read_file with offset={stop}."
    return window


def _bounds(text: str, arguments: JsonObject) -> tuple[int, int]:
    """Where the asked part of a text begins and ends, its limit apart."""
    offset = int(arguments.get("offset", 0))
    if "start_line" not in arguments and "end_line" not in arguments:
        return offset, len(text)
    if offset:
        raise ToolError("Give either offset or start_line and end_line, not both.")
    first, last = int(arguments.get("start_line", 1)), arguments.get("end_line")
    if last is not None and last < first:
        raise ToolError("end_line lies before start_line.")
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    begin = starts[first - 1] if first <= len(starts) else len(text) + 1
    end = starts[last] if last is not None and last < len(starts) else len(text)
    return begin, end

"""What the report rests on: files read, directories listed, searches made, and what could not be had."""

from __future__ import annotations

import json

from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.history import Call
from tui_agent.transports.survey.listing import FileView
from tui_agent.transports.survey.markup import code
from tui_agent.transports.survey.phrases import Phrases
from tui_agent.transports.survey.shapes import text_of

_SHOWN_ERRORS = 10


def sources(facts: Facts, phrases: Phrases, unasked: int) -> list[str]:
    """The section's blocks.

    Args:
        facts: what was found.
        phrases: the report's language.
        unasked: calls that the survey would still have made.
    """
    history = facts.history
    read = [_read(view, phrases) for view in history.files.values()]
    lines = [phrases.say("sources_read", list=phrases.some(read, 40)) if read else phrases.say("sources_read_none")]
    listed = [code(path + "/") if path else phrases.say("root_name") for path in history.listings]
    if listed:
        lines.append(phrases.say("sources_listed", list=phrases.some(listed, 40)))
    if history.searches:
        lines.append(phrases.say("sources_searched", list=phrases.codes(history.searches, 30)))
    failures = history.failures
    trouble = [_asked(call) for call in failures if call.status == "fallback"]
    if trouble:
        lines.append(phrases.say("failed_trouble", list=phrases.some(trouble, 20)))
    errors = [call for call in failures if call.status == "error"]
    for call in errors[:_SHOWN_ERRORS]:
        error = code(text_of(call.result.get("error")) or "?", 240)
        lines.append(phrases.say("failed_error", call=_asked(call), error=error))
    if len(errors) > _SHOWN_ERRORS:
        lines.append(phrases.say("and_more", more=phrases.count(len(errors) - _SHOWN_ERRORS, "more")))
    lost = [_asked(call) for call in failures if call.status == "unanswered"]
    if lost:
        lines.append(phrases.say("failed_lost", list=phrases.some(lost, 20)))
    if unasked:
        lines.append(phrases.say("unasked", calls=phrases.count(unasked, "call")))
    if not facts.empty:
        lines.append(phrases.say("sources_rest"))
    return ["\n".join(f"- {line}" for line in lines)]


def _read(view: FileView, phrases: Phrases) -> str:
    path = code(view.path)
    if view.symlink_to:
        path = phrases.say("read_through", path=path, target=code(view.symlink_to))
    if view.complete:
        return path
    if view.characters is None or not view.text:
        return phrases.say("read_begun", path=path)
    return phrases.say("read_part", path=path, n=f"{len(view.text):,}", total=f"{view.characters:,}")


def _asked(call: Call) -> str:
    """A call in short: its name and what it asks, the repository left out."""
    arguments = {key: value for key, value in call.arguments.items() if key not in ("owner", "repo")}
    if set(arguments) == {"path"} and isinstance(arguments["path"], str):
        return code(f"{call.name} {arguments['path']}")
    if not arguments:
        return code(call.name or "?")
    return code(f"{call.name} {json.dumps(arguments, ensure_ascii=False, sort_keys=True, default=str)}")

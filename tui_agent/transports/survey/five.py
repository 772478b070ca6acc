"""The overview preset: five sentences."""

from __future__ import annotations

import re

from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.manifest_model import RUNTIME
from tui_agent.transports.survey.markup import cite, code
from tui_agent.transports.survey.phrases import Phrases, day, percent
from tui_agent.transports.survey.section_overview import base_of, own_manifests, size_lines

_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")


def five_sentences(facts: Facts, phrases: Phrases) -> str:
    """What it is, how large, on what it stands, in what state, how active: a sentence each."""
    parts = [_what, _size, _tech, _state, _activity]
    return phrases.table["stop"].join(part(facts, phrases) for part in parts)


def first_sentence(text: str) -> str:
    """A text's first sentence, without its full stop."""
    return _END.split(" ".join(text.split()), maxsplit=1)[0].rstrip(".。!！?？ ")


def _what(facts: Facts, phrases: Phrases) -> str:
    who = code(facts.history.request.repo or "?")
    described = [manifest for manifest in own_manifests(facts) if manifest.description]
    if facts.info and facts.info.description:
        words, source = facts.info.description, phrases.say("five_source_info")
    elif facts.prose and facts.readme_view:
        words, source = facts.prose.text, cite(facts.readme_view.path, (facts.prose.first, facts.prose.last))
    elif described:
        words, source = described[0].description, code(described[0].path)
    else:
        return phrases.say("five_what_none", who=who)
    return phrases.say("five_what", who=who, quote=phrases.quote(first_sentence(words)), source=source)


def _size(facts: Facts, phrases: Phrases) -> str:
    root = facts.root
    if root is None or root.files is None or facts.empty:
        return size_lines(facts, phrases)[0]
    values = {"files": phrases.count(root.files, "regular_file"), "bytes": phrases.count(root.size or 0, "byte")}
    main = facts.languages.main() if facts.languages else None
    if main is None:
        return phrases.say("five_size_no_code", **values)
    return phrases.say("five_size", **values, language=main[0], share=percent(main[1]), base=base_of(facts, phrases))


def _tech(facts: Facts, phrases: Phrases) -> str:
    manifest = next((manifest for manifest in facts.manifests if manifest.parsed), None)
    if manifest is None:
        known = facts.root is not None and facts.root.complete and not facts.unread_manifests and not facts.manifests
        return phrases.say("no_manifest" if known else "manifests_unknown")
    unit = "dependency" if manifest.groups.get(RUNTIME) else "listed"
    needed = manifest.groups.get(RUNTIME) or manifest.groups.get(("listed", "")) or []
    if not needed:
        return phrases.say("five_tech", path=code(manifest.path), what=phrases.say("five_tech_none"))
    count = phrases.count(len(needed), unit)
    listed = phrases.codes((dependency.name for dependency in needed), 8)
    what = phrases.say("five_tech_list", dependencies=count, list=listed)
    return phrases.say("five_tech", path=code(manifest.path), what=what)


def _state(facts: Facts, phrases: Phrases) -> str:
    states = {
        "word_readme": facts.readme.state,
        "word_licence": facts.licences.state,
        "word_tests": facts.tests.state,
        "word_ci": facts.ci.state,
        "word_docs": facts.docs.state,
    }
    values = {
        wanted: phrases.join(phrases.say(word) for word, state in states.items() if state == wanted)
        or phrases.say("five_nothing")
        for wanted in ("found", "missing", "unknown")
    }
    return phrases.say("five_state", **values)


def _activity(facts: Facts, phrases: Phrases) -> str:
    found = facts.activity
    if found is None or not found.commits:
        folder = facts.info is not None and facts.info.folder
        key = (
            "activity_folder"
            if folder
            else "activity_none"
            if found is not None
            else facts.unseen("activity_unknown", "get_commits")
        )
        return phrases.say(key)
    seen = phrases.count(len(found.commits), "commit")
    dates = found.dates
    if not dates or found.days_since is None:
        return phrases.say("five_activity_undated", seen=seen)
    return phrases.say(
        "five_activity",
        seen=seen,
        first=day(dates[0]),
        last=day(dates[-1]),
        authors=phrases.count(len(found.people), "author"),
        days=phrases.count(found.days_since, "day"),
        today=day(found.today),
    )

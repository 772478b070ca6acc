"""A repository in figures: what a comparison sets side by side, computed from observations alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tui_agent.transports.survey.activity import Commit, read_activity
from tui_agent.transports.survey.facts import Facts, gather
from tui_agent.transports.survey.history import History, read_history
from tui_agent.transports.survey.languages import by_language
from tui_agent.transports.survey.manifest_model import RUNTIME
from tui_agent.transports.survey.manifests import format_of, rank
from tui_agent.transports.survey.papers import FORGES, WORKFLOWS
from tui_agent.transports.survey.phrases import day
from tui_agent.transports.survey.rules import ANYWHERE, COMMITS, TEST_PATTERNS, Wish

RECENT_DAYS = 90
MOST_MANIFESTS = 3
MOST_NAMES = 40


def lookups(messages: Sequence[Mapping[str, Any]]) -> list[Wish]:
    """The calls that the figures still need, in the next turn; none where all was asked.

    Listings and searches cost no request where the tree came whole, and what the run has asked is remembered: at most
    the facts, the commits and a few manifests are asked of the service.
    """
    history = read_history(messages)
    wishes = {wish.key: wish for wish in (*_first(), *_papers(history))}
    return [wish for key, wish in wishes.items() if key not in history.by_key]


def _first() -> Iterator[Wish]:
    yield Wish("get_repo_info")
    yield Wish("list_directory")
    yield Wish("get_commits", {"per_page": COMMITS})


def _papers(history: History) -> Iterator[Wish]:
    root = history.listings.get("")
    if root is None:
        return
    names = [entry.name for entry in root.entries if entry.kind in ("file", "symlink") and format_of(entry.name)]
    for name in sorted(names, key=lambda name: (rank(name), name))[:MOST_MANIFESTS]:
        yield Wish("read_file", {"path": name})
    for forge in FORGES:
        if forge in root.names():
            yield Wish("find_files", {"pattern": f"{forge}/{WORKFLOWS}"})
    for language in list(by_language(root.by_extension))[:2]:
        for pattern in TEST_PATTERNS.get(language, ()):
            yield Wish("find_files", {"pattern": pattern})
    yield Wish("find_files", {"pattern": ANYWHERE})


def profile(messages: Sequence[Mapping[str, Any]], now: float) -> dict[str, Any]:
    """The figures.

    Args:
        messages: the chat's history with every observation.
        now: seconds since the epoch.

    Returns:
        what is known, by name; what is not known is left out. Dates are ISO days, sizes bytes; `tests` and `ci` are
        "found", "missing" or "unknown".
    """
    facts = gather(read_history(messages), now)
    figures = {**_about(facts), **_tree(facts), **_history(facts), **_tech(facts)}
    return {name: value for name, value in figures.items() if value not in (None, "", [])}


def commits_of(messages: Sequence[Mapping[str, Any]], now: float) -> list[Commit]:
    """The commits that were seen, in the order in which they were told.

    Args:
        messages: the chat's history with every observation.
        now: seconds since the epoch.
    """
    activity = read_activity(read_history(messages).calls, now)
    return activity.commits if activity else []


def _about(facts: Facts) -> dict[str, Any]:
    info = facts.info
    declared = next((manifest.licence for manifest in facts.manifests if manifest.licence), None)
    licence = info.licence if info and info.licence not in ("", "NOASSERTION") else declared
    if licence is None and facts.licences.state == "found":
        licence = f"see {facts.licences.paths[0]}"
    return {
        "description": info.description if info else None,
        "licence": licence or ("none" if facts.licences.state == "missing" else None),
        "stars": info.stars if info else None,
        "forks": info.forks if info else None,
        "open_issues": info.open_issues if info else None,
        "created": info.created_at[:10] if info else None,
        "archived": info.archived if info else None,
    }


def _tree(facts: Facts) -> dict[str, Any]:
    main = facts.languages.main() if facts.languages else None
    tests = facts.tests
    files = sum(room.files or 0 for room in tests.rooms) or sum(files for _, files, _ in tests.matches)
    return {
        "files": facts.root.files if facts.root else None,
        "bytes": facts.root.size if facts.root else None,
        "language": main[0] if main else None,
        "language_share": round(main[1], 3) if main else None,
        "tests": tests.state,
        "test_files": files or len(tests.root_files) or None,
        "ci": facts.ci.state,
        "ci_systems": list(dict.fromkeys(system or path for path, system in facts.ci.systems)),
        "documentation": [f"{path}/" for path in facts.docs.paths] if facts.docs.state == "found" else None,
        "changelog": facts.notes["changelog"].paths[:1],
    }


def _history(facts: Facts) -> dict[str, Any]:
    found = facts.activity
    if found is None or not found.commits:
        return {}
    dates, named = found.dates, sum(found.people.values())
    top = found.people.most_common(1)
    return {
        "commits_seen": len(found.commits),
        "commits_total": len(found.commits) if found.complete else found.total,
        "last_commit": day(dates[-1]) if dates else None,
        "first_commit_seen": day(dates[0]) if dates else None,
        "days_since": found.days_since,
        f"commits_in_{RECENT_DAYS}_days": found.within(RECENT_DAYS) if dates else None,
        "authors_seen": len(found.people) or None,
        "busiest_author_share": round(top[0][1] / named, 3) if top and named else None,
    }


def _tech(facts: Facts) -> dict[str, Any]:
    own = [manifest for manifest in facts.manifests if "/" not in manifest.path and manifest.parsed]
    needed = list(dict.fromkeys(one.name for manifest in own for one in manifest.groups.get(RUNTIME, [])))
    return {
        "version": next((manifest.version for manifest in own if manifest.version), None),
        "requires": next((f"{name} {want}" for manifest in own for name, want in manifest.requires), None),
        "dependencies": len(needed) if own else None,
        "dependency_names": needed[:MOST_NAMES],
        "manifests": [manifest.path for manifest in own],
    }

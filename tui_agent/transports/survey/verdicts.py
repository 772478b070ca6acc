"""Strengths and risks that follow from facts by a fixed rule each; none is a matter of taste."""

from __future__ import annotations

from tui_agent.transports.survey.activity import FRESH_DAYS, STALE_DAYS
from tui_agent.transports.survey.facts import HUGE_BYTES, Facts
from tui_agent.transports.survey.manifest_model import RUNTIME, Manifest
from tui_agent.transports.survey.markup import code
from tui_agent.transports.survey.phrases import Phrases, day
from tui_agent.transports.survey.section_state import ci_found, tests_found

_SECRETS = (".env", "id_rsa", "id_ed25519", ".npmrc", ".pypirc", "credentials.json", "secrets.yml", "secrets.yaml")
_TYPE_TOOLS = frozenset({"mypy", "pyright", "basedpyright", "ty", "pyre"})
_TYPE_FILES = ("mypy.ini", "pyrightconfig.json", "tsconfig.json")
_FEW_COMMITS = 3


def strengths(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    lines = []
    info = facts.info
    if facts.licences.state == "found" and info and info.licence not in ("", "NOASSERTION"):
        lines.append(phrases.say("s_licence", licence=code(info.licence)))
    if facts.tests.state == "found":
        lines.append(phrases.say("s_tests", list=tests_found(facts, phrases)))
    if any(system for _, system in facts.ci.systems):
        lines.append(phrases.say("s_ci", list=ci_found(facts, phrases)))
    if facts.docs.state == "found":
        lines.append(phrases.say("s_docs", list=phrases.codes(f"{path}/" for path in facts.docs.paths)))
    for kind in ("changelog", "contributing", "security"):
        if facts.notes[kind].paths:
            lines.append(phrases.say(f"s_{kind}", list=phrases.codes(facts.notes[kind].paths)))
    if facts.locks:
        lines.append(phrases.say("s_lock", list=phrases.codes(facts.locks)))
    types = _type_checks(facts)
    if types:
        lines.append(phrases.say("s_types", list=phrases.codes(types)))
    for manifest in facts.manifests:
        needed = manifest.groups.get(RUNTIME, [])
        if needed and "/" not in manifest.path and all(dependency.constrained for dependency in needed):
            lines.append(phrases.say("s_constrained", n=f"{len(needed):,}", path=code(manifest.path)))
    lines += _lively(facts, phrases)
    return ["\n".join(f"- {line}" for line in lines or [phrases.say("no_strengths")])]


def _type_checks(facts: Facts) -> list[str]:
    """The places where a type checker is configured: a file of its own, or a table in pyproject.toml."""
    found = [name for name in _TYPE_FILES if facts.root and name in facts.root.names()]
    for manifest in facts.manifests:
        if "/" not in manifest.path and manifest.ecosystem == "Python":
            table = "tool." if manifest.path == "pyproject.toml" else ""
            found += [f"{manifest.path} [{table}{tool}]" for tool in manifest.tools if tool in _TYPE_TOOLS]
    return found


def _lively(facts: Facts, phrases: Phrases) -> list[str]:
    activity = facts.activity
    if activity is None:
        return []
    lines = []
    if activity.latest and activity.days_since is not None and activity.days_since <= FRESH_DAYS:
        days = phrases.count(activity.days_since, "day")
        lines.append(phrases.say("s_fresh", date=day(activity.latest), days=days))
    if len(activity.people) > 1:
        lines.append(phrases.say("s_authors", authors=phrases.count(len(activity.people), "author")))
    return lines


def risks(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    lines = [*_licence_risks(facts, phrases)]
    if facts.info and facts.info.archived:
        lines.append(phrases.say("r_archived"))
    lines += _history_risks(facts, phrases)
    if not facts.empty:
        if facts.tests.state == "missing":
            lines.append(phrases.say("r_tests"))
        if facts.ci.state == "missing":
            lines.append(phrases.say("r_ci"))
    if facts.readme.state == "missing":
        lines.append(phrases.say("r_readme"))
    elif facts.readme_view and facts.readme_view.complete and not facts.readme_view.text.strip():
        lines.append(phrases.say("r_readme_empty", path=code(facts.readme_view.path)))
    lines += _tree_risks(facts, phrases)
    lines += _manifest_risks(facts, phrases)
    return ["\n".join(f"- {line}" for line in lines or [phrases.say("no_risks")])]


def _licence_risks(facts: Facts, phrases: Phrases) -> list[str]:
    info = facts.info
    if facts.licences.state == "found":
        if info and info.licence == "NOASSERTION":
            return [phrases.say("r_licence_odd", path=code(facts.licences.paths[0]))]
        return []
    if facts.licences.state == "unknown" or facts.empty or (info and info.licence):
        return []
    declared = [manifest.path for manifest in facts.manifests if manifest.licence and "/" not in manifest.path]
    return [phrases.say("r_licence_file", list=phrases.codes(declared)) if declared else phrases.say("r_licence")]


def _history_risks(facts: Facts, phrases: Phrases) -> list[str]:
    activity = facts.activity
    if activity is None:
        return []
    lines = []
    made = sum(activity.people.values())
    if activity.sole_author and made >= _FEW_COMMITS:
        lines.append(phrases.say("r_sole", n=f"{made:,}", name=phrases.quote(activity.sole_author, 60)))
    if activity.latest and activity.days_since is not None and activity.days_since > STALE_DAYS:
        days = phrases.count(activity.days_since, "day")
        lines.append(phrases.say("r_stale", date=day(activity.latest), days=days))
    if activity.future:
        lines.append(phrases.say("r_future", n=f"{activity.future:,}"))
    return lines


def _tree_risks(facts: Facts, phrases: Phrases) -> list[str]:
    lines = []
    if facts.huge:
        huge = [phrases.say("sized", name=code(path), size=phrases.count(size, "byte")) for path, size in facts.huge]
        lines.append(phrases.say("r_huge", bytes=phrases.count(HUGE_BYTES, "byte"), list=phrases.join(huge)))
    kept = [room for room in facts.layout.rooms if room.role in ("vendored", "generated") and room.files]
    if kept:
        shown = [
            phrases.say("sized", name=code(room.path + "/"), size=phrases.count(room.files or 0, "file"))
            for room in kept
        ]
        lines.append(phrases.say("r_vendored", list=phrases.join(shown)))
    if facts.root:
        secrets = [entry.name for entry in facts.root.of_kind("file") if entry.name in _SECRETS]
        if secrets:
            lines.append(phrases.say("r_env", list=phrases.codes(secrets)))
    modules = [
        listing.join(entry.name)
        for listing in facts.history.listings.values()
        for entry in listing.of_kind("submodule")
    ]
    if modules:
        lines.append(phrases.say("r_submodules", list=phrases.codes(modules, 10)))
    return lines


def _manifest_risks(facts: Facts, phrases: Phrases) -> list[str]:
    lines = []
    for manifest in facts.manifests:
        for remark in manifest.remarks:
            if remark.key == "invalid":
                error = code(str(remark.values["error"]))
                lines.append(phrases.say("r_invalid", path=code(manifest.path), error=error))
        needed = manifest.groups.get(RUNTIME, [])
        loose = sum(1 for dependency in needed if not dependency.constrained)
        if loose and "/" not in manifest.path and not _leaves_open(manifest):
            values = {"n": f"{loose:,}", "total": f"{len(needed):,}", "path": code(manifest.path)}
            lines.append(phrases.say("r_unconstrained", **values))
    return lines


def _leaves_open(manifest: Manifest) -> bool:
    """Whether versions are kept elsewhere by habit (a parent POM, a catalogue, a gemspec)."""
    return manifest.ecosystem in ("Maven", "Gradle")

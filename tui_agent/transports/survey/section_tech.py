"""Tech stack and dependencies: every manifest that was read, and what other files give away by their names."""

from __future__ import annotations

from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.manifest_model import RUNTIME, Group, Manifest, Remark
from tui_agent.transports.survey.markup import cite, code
from tui_agent.transports.survey.phrases import Phrases

_SHOWN = 40  # dependencies of a group in the root's manifests
_SHOWN_BELOW = 12  # … in those below
_SHOWN_GROUPS = 25


def tech(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    blocks = []
    for manifest in facts.manifests:
        blocks.append(f"### {code(manifest.path)} ({manifest.ecosystem})")
        blocks.append("\n".join(f"- {line}" for line in manifest_lines(manifest, phrases)))
    failed = {path for call in facts.history.failures if (path := str(call.arguments.get("path", "")))}
    lines = [
        phrases.say("manifest_failed" if path in failed else "manifest_unread", path=code(path))
        for path in facts.unread_manifests
    ]
    if not facts.manifests and not facts.unread_manifests:
        known = facts.root is not None and facts.root.complete
        lines.append(phrases.say("no_manifest" if known else "manifests_unknown"))
    read = {manifest.path for manifest in facts.manifests}
    further = [path for path in facts.further_manifests if path not in read]
    if further:
        lines.append(phrases.say("further_manifests", list=phrases.codes(further, 10)))
    if facts.tools:
        tools: dict[str, list[str]] = {}
        for file, name in facts.tools:
            tools.setdefault(name, []).append(code(file))
        shown = [phrases.say("tool", name=name, file=phrases.join(files)) for name, files in tools.items()]
        lines.append(phrases.say("tools", list=phrases.join(shown)))
    if facts.locks:
        lines.append(phrases.say("locks", list=phrases.codes(facts.locks)))
    return [*blocks, "\n".join(f"- {line}" for line in lines)]


def manifest_lines(manifest: Manifest, phrases: Phrases) -> list[str]:
    """What one manifest says, a line a fact."""
    lines = []
    first = []
    if manifest.name:
        key = "project_version" if manifest.version else "project"
        first.append(phrases.say(key, name=code(manifest.name), version=code(manifest.version)))
    if manifest.licence:
        first.append(phrases.say("declared_licence", licence=code(manifest.licence)))
    if first:
        lines.append(phrases.table["clause"].join(first))
    if manifest.requires:
        shown = [
            f"{name} {code(want)}" if _plain(name) else f"{code(name)} {code(want)}" for name, want in manifest.requires
        ]
        lines.append(phrases.say("requires", list=phrases.some(shown, 12)))
    if manifest.build and phrases.has(f"build_{manifest.ecosystem}"):
        lines.append(phrases.say(f"build_{manifest.ecosystem}", build=code(manifest.build)))
    lines += _group_lines(manifest, phrases)
    if manifest.commands:
        shown = [
            phrases.say("command", name=code(name), target=code(target)) if target else code(name)
            for name, target in manifest.commands
        ]
        lines.append(phrases.say("commands", list=phrases.some(shown, 12)))
    if manifest.scripts:
        lines.append(phrases.say("scripts", list=phrases.codes(manifest.scripts, 20)))
    if manifest.members:
        lines.append(phrases.say("members", list=phrases.codes(manifest.members, 20)))
    if manifest.tools and phrases.has(f"tables_{manifest.ecosystem}"):
        lines.append(phrases.say(f"tables_{manifest.ecosystem}", list=phrases.codes(manifest.tools, 25)))
    lines += [_remark(remark, phrases) for remark in manifest.remarks[:10]]
    return lines


def _plain(name: str) -> bool:
    return name.replace(" ", "").replace(".", "").isalpha() and name.isascii() and len(name) < 20


def _remark(remark: Remark, phrases: Phrases) -> str:
    values = {key: code(value) if isinstance(value, str) else f"{value:,}" for key, value in remark.values.items()}
    return phrases.say(f"remark_{remark.key}", **values)


def _group_lines(manifest: Manifest, phrases: Phrases) -> list[str]:
    if not manifest.parsed:
        return []
    most = _SHOWN_BELOW if "/" in manifest.path else _SHOWN
    lines = []
    for group, dependencies in list(manifest.groups.items())[:_SHOWN_GROUPS]:
        source = manifest.spans.get(group)
        where = phrases.table["clause"] + cite(manifest.path, source) if source else ""
        listed = phrases.codes((dependency.written for dependency in dependencies), most)
        label = _label(group, phrases)
        lines.append(phrases.say("group", label=label, n=f"{len(dependencies):,}", source=where, list=listed))
    hidden = len(manifest.groups) - _SHOWN_GROUPS
    if hidden > 0:
        lines.append(phrases.say("and_more", more=phrases.count(hidden, "more")))
    if not manifest.groups and not manifest.members and not manifest.remarks:
        lines.append(phrases.say("group_none"))
    needed = manifest.groups.get(RUNTIME, [])
    loose = sum(1 for dependency in needed if not dependency.constrained)
    if loose:
        lines.append(phrases.say("group_unconstrained", n=f"{loose:,}", total=f"{len(needed):,}"))
    return lines


def _label(group: Group, phrases: Phrases) -> str:
    kind, name = group
    if name:
        return phrases.say(f"label_{kind}_named", name=code(name))
    return phrases.say(f"label_{kind}")

"""The report's overview: what the repository says it is, its size, and what the service knows of it."""

from __future__ import annotations

from tui_agent.transports.survey.activity import parse_time
from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.markup import cite, code
from tui_agent.transports.survey.phrases import Phrases, day, percent


def overview(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    lines = _own_words(facts, phrases) or [phrases.say("nothing_describes")]
    lines += size_lines(facts, phrases)
    lines += _about(facts, phrases)
    return ["\n".join(f"- {line}" for line in lines)]


def _own_words(facts: Facts, phrases: Phrases) -> list[str]:
    lines = []
    seen: set[str] = set()
    if facts.info and facts.info.description:
        seen.add(_bare(facts.info.description))
        lines.append(phrases.say("description", quote=phrases.quote(facts.info.description)))
    if facts.prose and facts.readme_view:
        path, prose = facts.readme_view.path, facts.prose
        source = cite(path, (prose.first, prose.last))
        seen.add(_bare(prose.text))
        lines.append(phrases.say("readme_opens", path=code(path), quote=phrases.quote(prose.text), source=source))
    for manifest in own_manifests(facts):
        if manifest.description and _bare(manifest.description) not in seen:
            seen.add(_bare(manifest.description))
            quote = phrases.quote(manifest.description)
            lines.append(phrases.say("manifest_describes", path=code(manifest.path), quote=quote))
    return lines


def own_manifests(facts: Facts) -> list[Manifest]:
    """The manifests in the root."""
    return [manifest for manifest in facts.manifests if "/" not in manifest.path]


def _bare(text: str) -> str:
    return " ".join(text.split()).rstrip(".。").lower()


def size_lines(facts: Facts, phrases: Phrases) -> list[str]:
    """How large the tree is, and its main language."""
    root = facts.root
    if root is None:
        return [phrases.say(facts.unseen("tree_unseen", "list_directory"))]
    if facts.empty:
        return [phrases.say("tree_empty")]
    if root.files is None:
        return [phrases.say("size_unknown")]
    files, size = phrases.count(root.files, "regular_file"), phrases.count(root.size or 0, "byte")
    lines = [phrases.say("size", files=files, bytes=size)]
    main = facts.languages.main() if facts.languages else None
    if main:
        share, base = percent(main[1]), base_of(facts, phrases)
        lines.append(phrases.say("main_language", language=main[0], share=share, base=base))
    else:
        lines.append(phrases.say("no_code"))
    return lines


def base_of(facts: Facts, phrases: Phrases) -> str:
    """What shares of languages are shares of."""
    found = facts.languages
    return phrases.say("base_own" if found and (found.left_out_dirs or found.left_out_files) else "base_all")


def _about(facts: Facts, phrases: Phrases) -> list[str]:
    """What the service that holds the repository says of it."""
    info = facts.info
    if info is None:
        return [phrases.say(facts.unseen("info_unknown", "get_repo_info"))]
    lines = []
    if info.local:
        lines.append(phrases.say("is_local_folder" if info.folder else "is_local_git"))
        lines += [phrases.say(key) for key, holds in (("is_bare", info.bare), ("is_detached", info.detached)) if holds]
    else:
        counts = ((info.stars, "star"), (info.forks, "fork"), (info.open_issues, "issue"))
        told = [phrases.count(number, unit) for number, unit in counts if number is not None]
        if told:
            lines.append(phrases.say("github_counts", counts=phrases.join(told)))
        created = parse_time(info.created_at)
        if created:
            lines.append(phrases.say("created", date=day(created)))
    if info.default_branch and not info.folder:
        lines.append(phrases.say("default_branch", branch=code(info.default_branch)))
    if info.topics:
        lines.append(phrases.say("topics", topics=phrases.codes(info.topics, 20)))
    if info.homepage:
        lines.append(phrases.say("homepage", url=code(info.homepage)))
    if info.archived:
        lines.append(phrases.say("is_archived"))
    if info.parent:
        lines.append(phrases.say("is_fork_of", parent=code(info.parent)))
    elif info.fork:
        lines.append(phrases.say("is_fork"))
    if info.private:
        lines.append(phrases.say("is_private"))
    return lines

"""Directories and what each is for; the layout of the source and where it is entered."""

from __future__ import annotations

from tui_agent.transports.survey.facts import Facts
from tui_agent.transports.survey.languages import by_language
from tui_agent.transports.survey.layout import Room
from tui_agent.transports.survey.listing import Listing
from tui_agent.transports.survey.markup import cell, cite, code
from tui_agent.transports.survey.phrases import Phrases, percent

_SHOWN_ROOMS = 40
_SHOWN_SOURCES = 12
_SHOWN_ENTRIES = 8
_SHOWN_NAMES = 4


def directories(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    root = facts.root
    if root is None and not facts.layout.rooms:
        return [phrases.say(facts.unseen("tree_unseen", "list_directory"))]
    if facts.empty:
        return [phrases.say("tree_empty")]
    blocks = []
    rooms = facts.layout.rooms
    if rooms:
        rows = [_row(room, phrases) for room in rooms[:_SHOWN_ROOMS]]
        blocks += ["\n".join([phrases.say("directories_head"), *rows]), phrases.say("directories_note")]
    lines = [] if rooms else [phrases.say("no_directories")]
    if len(rooms) > _SHOWN_ROOMS:
        lines.append(phrases.say("more_directories", n=f"{len(rooms) - _SHOWN_ROOMS:,}"))
    if root is None:
        lines.append(phrases.say(facts.unseen("tree_unseen", "list_directory")))
        return [*blocks, _list(lines)]
    if not root.complete:
        total = phrases.count(root.total, "entry")
        lines.append(phrases.say("root_partly", seen=f"{len(root.entries):,}", total=total))
    for kind, key in (("file", "root_files"), ("submodule", "submodules"), ("symlink", "links")):
        names = [entry.name for entry in root.entries if entry.kind == kind]
        if names:
            lines.append(phrases.say(key, list=phrases.codes(names, 30)))
    return [*blocks, _list(lines)]


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _row(room: Room, phrases: Phrases) -> str:
    files = "" if room.files is None else f"{room.files:,}"
    inside = _inside(room.listing, phrases) if room.listing else ""
    return f"| {cell(code(room.path + '/'))} | {files} | {cell(purpose(room, phrases))} | {cell(inside)} |"


def _inside(listing: Listing, phrases: Phrases) -> str:
    """The first names in a directory, those of its directories in front."""
    dirs = [f"{entry.name}/" for entry in listing.of_kind("dir")]
    names = dirs + [entry.name for entry in listing.entries if entry.kind != "dir"]
    shown = [code(name, 40) for name in names[:_SHOWN_NAMES]]
    rest = listing.total - len(shown)
    if rest > 0:
        shown.append(phrases.say("and_more", more=phrases.count(rest, "more")))
    return phrases.join(shown)


def purpose(room: Room, phrases: Phrases) -> str:
    """What a directory is for, in words."""
    found = room.purpose
    if found is None:
        return phrases.say("purpose_unseen" if room.listing is None else "purpose_unknown")
    values: dict[str, str | int] = {}
    for key, value in found.values.items():
        values[key] = phrases.count(value, "file") if isinstance(value, int) else value
    for key in ("extension", "extensions"):
        if key in values:
            values[key] = phrases.codes(str(values[key]).split())
    return phrases.say(f"purpose_{found.key}", **values)


def architecture(facts: Facts, phrases: Phrases) -> list[str]:
    """The section's blocks."""
    blocks = []
    rooms = sorted(facts.source_rooms, key=lambda room: room.path)[:_SHOWN_SOURCES]
    for room in rooms:
        if room.listing:
            blocks.append(_room(room.listing, facts, phrases))
    if not rooms:
        blocks.append(phrases.say("no_source_room" if facts.root else facts.unseen("tree_unseen", "list_directory")))
    members = [manifest for manifest in facts.manifests if manifest.members]
    if members:
        blocks.append(
            _list(
                [
                    f"{code(manifest.path)}: {phrases.say('members', list=phrases.codes(manifest.members, 20))}"
                    for manifest in members
                ]
            )
        )
    if facts.root is None:
        return blocks
    blocks.append(f"### {phrases.say('h_entries')}")
    lines = []
    for entry in facts.entries[:_SHOWN_ENTRIES]:
        values = {"path": code(entry.path), "command": code(entry.command), "source": code(entry.source)}
        key = "entry_command" if entry.command else "entry_named" if entry.source else "entry_by_name"
        line = phrases.say(key, **values)
        comment = facts.comments.get(entry.path)
        if comment:
            source = cite(entry.path, (comment.first, comment.last))
            line += phrases.say("entry_comment", quote=phrases.quote(comment.text, 160), source=source)
        lines.append(line)
    return [*blocks, _list(lines or [phrases.say("no_entries")])]


def _room(listing: Listing, facts: Facts, phrases: Phrases) -> str:
    """One directory of source: how large, in which languages, what it holds."""
    if listing.files is None:
        head = code(listing.path + "/")
    else:
        languages = by_language(listing.by_extension)
        total = sum(share.size for share in languages.values())
        shares = [f"{name} {percent(share.size / total)}" for name, share in languages.items()] if total else []
        head = phrases.say(
            "room",
            path=code(listing.path + "/"),
            files=phrases.count(listing.files, "file"),
            bytes=phrases.count(listing.size or 0, "byte"),
            languages=phrases.say("room_languages", list=phrases.some(shares, 4)) if shares else "",
        )
    lines = []
    dirs = [
        phrases.say("sized", name=code(entry.name + "/"), size=phrases.count(entry.files, "file"))
        if entry.files is not None
        else code(entry.name + "/")
        for entry in listing.of_kind("dir")
    ]
    if dirs:
        lines.append(phrases.say("room_dirs", list=phrases.some(dirs, 20)))
    for entry in listing.of_kind("dir"):
        path = f"{listing.join(entry.name)}/__init__.py"
        said = facts.comments.get(path)
        if said:
            quote, source = phrases.quote(said.text, 160), cite(path, (said.first, said.last))
            lines.append(phrases.say("room_said", path=code(entry.name + "/"), quote=quote, source=source))
    files = [entry.name for entry in listing.of_kind("file")]
    if files:
        lines.append(phrases.say("room_modules", list=phrases.codes(files, 30)))
    largest = [
        phrases.say("sized", name=code(path), size=phrases.count(size, "byte")) for path, size in listing.largest
    ]
    if largest:
        lines.append(phrases.say("room_largest", list=phrases.join(largest)))
    return "\n".join([f"- {head}", *(f"  - {line}" for line in lines)])

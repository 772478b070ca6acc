"""go.mod, go.work and Cargo.toml."""

from __future__ import annotations

import re

from tui_agent.transports.survey.manifest_model import (
    BUILD,
    DEV,
    INDIRECT,
    RUNTIME,
    Dependency,
    Group,
    Lines,
    Manifest,
)
from tui_agent.transports.survey.manifests_python import constraint_of
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, strings_of, text_of
from tui_agent.transports.survey.toml_text import load_toml

_REQUIRE = re.compile(r"(?P<module>\S+)\s+(?P<version>v\S+)")
_CARGO: tuple[tuple[str, Group], ...] = (
    ("dependencies", RUNTIME),
    ("dev-dependencies", DEV),
    ("build-dependencies", BUILD),
)


def parse_go_mod(manifest: Manifest, text: str) -> None:
    """Fill a manifest from go.mod (grammar: https://go.dev/ref/mod#go-mod-file-grammar)."""
    found: dict[Group, list[tuple[Dependency, int]]] = {RUNTIME: [], INDIRECT: []}
    replaced = 0
    for verb, rest, comment, number in _directives(text):
        if verb == "module":
            manifest.name = rest.strip('"`')
        elif verb == "go":
            manifest.requires.append(("Go", rest))
        elif verb == "toolchain":
            manifest.requires.append(("toolchain", rest))
        elif verb == "replace":
            replaced += 1
        elif verb == "tool":
            manifest.tools.append(rest)
        elif verb == "require" and (match := _REQUIRE.fullmatch(rest)):
            group = INDIRECT if re.match(r"indirect\b", comment) else RUNTIME
            found[group].append((Dependency(match["module"].strip('"`'), match["version"]), number))
    for group, entries in found.items():
        if entries:
            span = (entries[0][1], entries[-1][1])
            manifest.add(group, [dependency for dependency, _ in entries], span)
    if replaced:
        manifest.remark("go_replace", n=replaced)


def parse_go_work(manifest: Manifest, text: str) -> None:
    """Fill a manifest from go.work: the modules that are used together."""
    for verb, rest, _, _ in _directives(text):
        if verb == "use":
            manifest.members.append(rest.strip('"`').removeprefix("./") or ".")
        elif verb == "go":
            manifest.requires.append(("Go", rest))


def _directives(text: str) -> list[tuple[str, str, str, int]]:
    """Verb, the rest of the line, its comment and its number, blocks in parentheses taken apart."""
    result = []
    block = ""
    for number, raw in enumerate(text.split("\n"), 1):
        # A comment begins with // behind a blank; "https://" inside a word does not.
        match = re.search(r"(?:^|\s)//\s?(.*)$", raw)
        line, comment = (raw[: match.start()].strip(), match[1].strip()) if match else (raw.strip(), "")
        if block:
            if line == ")":
                block = ""
            elif line:
                result.append((block, line, comment, number))
            continue
        verb, _, rest = line.partition(" ")
        if rest.strip() == "(" or line.endswith("("):
            block = verb.rstrip("(").strip()
        elif verb and rest.strip():
            result.append((verb, rest.strip(), comment, number))
    return result


def parse_cargo(manifest: Manifest, text: str) -> None:
    """Fill a manifest from Cargo.toml; what a member inherits from its workspace is said to be inherited."""
    data = load_toml(text)
    lines = Lines(text)
    workspace = dict_of(data.get("workspace"))
    package = dict_of(data.get("package"))
    manifest.name = text_of(package.get("name"))
    manifest.version = text_of(package.get("version"))
    if dict_of(package.get("version")).get("workspace") is True:
        manifest.remark("inherited_version")
    manifest.description = text_of(package.get("description"))
    manifest.licence = text_of(package.get("license"))
    manifest.requires = [
        (label, text_of(package.get(key)))
        for key, label in (("edition", "Rust edition"), ("rust-version", "Rust"))
        if text_of(package.get(key))
    ]
    for table, group in _CARGO:
        entries = dict_of(data.get(table))
        manifest.add(group, _crates(entries), lines.table(table, entries))
        for name, target in dict_of(data.get("target")).items():
            manifest.add((f"target_{group[0]}", name), _crates(dict_of(dict_of(target).get(table))))
    shared = dict_of(workspace.get("dependencies"))
    manifest.add(("workspace", ""), _crates(shared), lines.table("workspace.dependencies", shared))
    manifest.members = strings_of(list_of(workspace.get("members")))
    for binary in list_of(data.get("bin")):
        name, path = text_of(dict_of(binary).get("name")), text_of(dict_of(binary).get("path"))
        if name:
            manifest.commands.append((name, path))
        if path:
            manifest.entry_files.append(path)


def _crates(entries: Json) -> list[Dependency]:
    return [Dependency(name, constraint_of(value)) for name, value in entries.items()]

"""Manifests in JSON: package.json (npm and its kin) and composer.json (PHP)."""

from __future__ import annotations

import json
import re

from tui_agent.transports.survey.manifest_model import DEV, RUNTIME, Dependency, Group, Lines, Manifest, ManifestError
from tui_agent.transports.survey.shapes import Json, clean, dict_of, list_of, strings_of, text_of

_NPM: tuple[tuple[str, Group], ...] = (
    ("dependencies", RUNTIME),
    ("peerDependencies", ("peer", "")),
    ("optionalDependencies", ("optional", "")),
    ("devDependencies", DEV),
)


def load_object(text: str) -> Json:
    """The JSON object that a file holds.

    Raises:
        ManifestError: where it holds something else, or nests too deeply.
        ValueError: where it is no JSON.
    """
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise ManifestError("nested too deeply") from error
    if not isinstance(data, dict):
        raise ManifestError("the file holds no JSON object")
    return data


def parse_package_json(manifest: Manifest, text: str) -> None:
    """Fill a manifest from package.json."""
    data = load_object(text)
    lines = Lines(text)
    _identity(manifest, data)
    licence = data.get("license")
    manifest.licence = text_of(licence) or text_of(dict_of(licence).get("type"))
    manifest.requires = [(name, want) for name, want in _strings(data.get("engines")).items()]
    if text_of(data.get("packageManager")):
        manifest.build = text_of(data.get("packageManager"))
    for key, group in _NPM:
        _add(manifest, group, _strings(data.get(key)), lines, key)
    manifest.scripts = list(_strings(data.get("scripts")))
    commands = data.get("bin")
    if isinstance(commands, str):
        manifest.commands = [(manifest.name.rpartition("/")[2] or "bin", commands)]
    else:
        manifest.commands = list(_strings(commands).items())
    main = text_of(data.get("main")) or text_of(data.get("module"))
    targets = [target for _, target in manifest.commands] + ([main] if main else [])
    manifest.entry_files = [target.removeprefix("./") for target in targets]
    spaces = data.get("workspaces")
    manifest.members = strings_of(list_of(spaces)) or strings_of(list_of(dict_of(spaces).get("packages")))
    if data.get("private") is True:
        manifest.remark("private_package")


def parse_composer(manifest: Manifest, text: str) -> None:
    """Fill a manifest from composer.json; PHP itself and its extensions are what it requires of the platform."""
    data = load_object(text)
    lines = Lines(text)
    _identity(manifest, data)
    manifest.licence = " or ".join(strings_of(data.get("license")))
    needed = _strings(data.get("require"))
    platform = {name: want for name, want in needed.items() if name == "php" or name.startswith(("ext-", "lib-"))}
    manifest.requires = [("PHP" if name == "php" else name, want) for name, want in platform.items()]
    _add(manifest, RUNTIME, {n: w for n, w in needed.items() if n not in platform}, lines, "require")
    _add(manifest, DEV, _strings(data.get("require-dev")), lines, "require-dev")
    manifest.scripts = list(dict_of(data.get("scripts")))
    commands = strings_of(data.get("bin"))
    manifest.commands = [(path.rpartition("/")[2], path) for path in commands]
    manifest.entry_files = commands


def _identity(manifest: Manifest, data: Json) -> None:
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    manifest.description = text_of(data.get("description"))


def _strings(value: object) -> dict[str, str]:
    """The entries of an object whose values are strings."""
    return {clean(key): clean(item) for key, item in dict_of(value).items() if isinstance(item, str)}


def _add(manifest: Manifest, group: Group, entries: dict[str, str], lines: Lines, key: str) -> None:
    start = lines.find(rf'\s*(?:\{{\s*)?"{re.escape(key)}"\s*:')
    span = lines.span(start, [json.dumps(name, ensure_ascii=False) for name in entries])
    manifest.add(group, [Dependency(name, want) for name, want in entries.items()], span)

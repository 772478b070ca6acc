"""Python's manifests: pyproject.toml (PEP 621, PEP 735, Poetry, PDM, uv), setup.cfg, requirements files, Pipfile."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable
from typing import Any

from tui_agent.transports.survey.manifest_model import (
    BUILD,
    DEV,
    RUNTIME,
    Dependency,
    Group,
    Lines,
    Manifest,
    ManifestError,
    Span,
)
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, strings_of, text_of
from tui_agent.transports.survey.toml_text import load_toml

_NAME = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?P<extras>\[[^\]]*\])?\s*(?P<rest>.*)", re.DOTALL)
_LONGEST = 1000
_MOST_LOCATED = 40  # groups whose lines are searched for: each search may walk the whole file


def requirement(text: str) -> Dependency | None:
    """A requirement as pip reads it (PEP 508); None where it is none.

    Name, version and marker are kept as they are written.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        Requirement(text)
    except (InvalidRequirement, RecursionError):
        return None
    match = _NAME.match(text)
    if match is None:
        return None
    rest, _, marker = match["rest"].partition(" ;" if match["rest"].startswith("@") else ";")
    name = match["name"] + re.sub(r"\s", "", match["extras"] or "")
    constraint = rest.strip()
    if constraint.startswith("(") and constraint.endswith(")"):
        constraint = constraint[1:-1].strip()
    return Dependency(name, constraint, marker.strip())


def parse_pyproject(manifest: Manifest, text: str) -> None:
    """Fill a manifest from pyproject.toml."""
    data = load_toml(text)
    lines = Lines(text)
    _build_system(manifest, dict_of(data.get("build-system")), lines)
    _project(manifest, dict_of(data.get("project")), lines)
    _dependency_groups(manifest, dict_of(data.get("dependency-groups")), lines)
    tools = dict_of(data.get("tool"))
    manifest.tools = sorted(tools)
    _poetry(manifest, dict_of(tools.get("poetry")), lines)
    for group, entries in dict_of(dict_of(tools.get("pdm")).get("dev-dependencies")).items():
        _requirements(manifest, ("group", group), strings_of(entries))
    _requirements(manifest, DEV, strings_of(dict_of(tools.get("uv")).get("dev-dependencies")))
    manifest.members = strings_of(dict_of(dict_of(tools.get("uv")).get("workspace")).get("members"))


def parse_pipfile(manifest: Manifest, text: str) -> None:
    """Fill a manifest from Pipenv's Pipfile."""
    data = load_toml(text)
    lines = Lines(text)
    for table, group in (("packages", RUNTIME), ("dev-packages", DEV)):
        entries = dict_of(data.get(table))
        manifest.add(group, _tabled(entries), lines.table(table, entries))
    python = dict_of(data.get("requires"))
    version = text_of(python.get("python_full_version")) or text_of(python.get("python_version"))
    if version:
        manifest.requires.append(("Python", version))


def parse_setup_cfg(manifest: Manifest, text: str) -> None:
    """Fill a manifest from setuptools' declarative setup.cfg."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise ManifestError(" ".join(str(error).split())) from error

    def get(section: str, key: str) -> str:
        return parser.get(section, key, fallback="") or ""

    manifest.name, manifest.version = get("metadata", "name").strip(), get("metadata", "version").strip()
    manifest.description, manifest.licence = get("metadata", "description").strip(), get("metadata", "license").strip()
    python = get("options", "python_requires").strip()
    if python:
        manifest.requires.append(("Python", python))
    _setup_list(manifest, RUNTIME, get("options", "install_requires"))
    _setup_list(manifest, BUILD, get("options", "setup_requires"))
    if parser.has_section("options.extras_require"):
        for extra, value in parser.items("options.extras_require"):
            _setup_list(manifest, ("optional", extra), value or "")
    for line in get("options.entry_points", "console_scripts").splitlines():
        name, _, target = line.partition("=")
        if name.strip() and target.strip():
            manifest.commands.append((name.strip(), target.strip()))
    manifest.tools = sorted(s for s in parser.sections() if not re.match(r"(metadata|options|bdist|sdist|egg_info)", s))


def parse_requirements(manifest: Manifest, text: str) -> None:
    """Fill a manifest from a requirements file in pip's format: options skipped, continued lines joined."""
    found: list[Dependency] = []
    first = last = odd = references = 0
    pending, began = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        began = began or number
        if raw.rstrip().endswith("\\"):
            pending += raw.rstrip()[:-1] + " "
            continue
        line, start = re.sub(r"(^|\s)#.*", "", pending + raw).strip(), began
        pending, began = "", 0
        if not line:
            continue
        if line.startswith("-"):
            references += bool(re.match(r"(-r|--requirement|-c|--constraint|-e|--editable)\b", line))
            continue
        dependency = requirement(re.sub(r"\s--(?:hash|config-settings|global-option)\b.*", "", line))
        if dependency is None:
            odd += 1
            continue
        found.append(dependency)
        first, last = first or start, number
    manifest.add(_requirements_group(manifest.path), found, (first, last) if found else None)
    if references:
        manifest.remark("requirements_references", n=references)
    if odd:
        manifest.remark("odd_entries", n=odd)


def _requirements_group(path: str) -> Group:
    """What a requirements file is for, as far as its name says so."""
    name = path.rpartition("/")[2].lower()
    words = set(re.split(r"[^a-z]+", name))
    if words & {"dev", "develop", "development"}:
        return DEV
    if words & {"test", "tests", "testing", "ci"}:
        return ("test", "")
    extra = next((word for word in ("docs", "doc", "lint", "build", "typing") if word in words), "")
    return ("group", extra) if extra else ("listed", "")


def _requirements(manifest: Manifest, group: Group, entries: Iterable[str], span: Span | None = None) -> None:
    found, odd = [], 0
    for entry in entries:
        dependency = requirement(entry)
        if dependency is None:
            odd += 1
        else:
            found.append(dependency)
    manifest.add(group, found, span)
    if odd:
        manifest.remark("odd_entries", n=odd)


def _setup_list(manifest: Manifest, group: Group, value: str) -> None:
    entries = [line.strip() for line in value.splitlines()]
    plain = [line for line in entries if line and not line.startswith(("#", "file:"))]
    if any(line.startswith("file:") for line in entries):
        manifest.remark("dependencies_in_file")
    _requirements(manifest, group, plain)


def _build_system(manifest: Manifest, table: Json, lines: Lines) -> None:
    manifest.build = text_of(table.get("build-backend"))
    entries = strings_of(list_of(table.get("requires")))
    _requirements(manifest, BUILD, entries, _listed(lines, "build-system", "requires", entries))


def _project(manifest: Manifest, table: Json, lines: Lines) -> None:
    manifest.name, manifest.version = text_of(table.get("name")), text_of(table.get("version"))
    manifest.description = text_of(table.get("description"))
    licence = table.get("license")
    manifest.licence = text_of(licence) or _short(text_of(dict_of(licence).get("text")))
    if text_of(table.get("requires-python")):
        manifest.requires.append(("Python", text_of(table.get("requires-python"))))
    if "version" in strings_of(table.get("dynamic")):
        manifest.remark("dynamic_version")
    if "dependencies" in strings_of(table.get("dynamic")):
        manifest.remark("dynamic_dependencies")
    entries = strings_of(list_of(table.get("dependencies")))
    _requirements(manifest, RUNTIME, entries, _listed(lines, "project", "dependencies", entries))
    optional = dict_of(table.get("optional-dependencies"))
    _grouped(manifest, "optional", optional, lines, "project.optional-dependencies")
    for table_name in ("scripts", "gui-scripts"):
        commands = dict_of(table.get(table_name))
        manifest.commands.extend((name, text_of(target)) for name, target in commands.items() if text_of(target))


def _dependency_groups(manifest: Manifest, table: Json, lines: Lines) -> None:
    _grouped(manifest, "group", table, lines, "dependency-groups")
    for group, entries in table.items():
        for include in (text_of(dict_of(entry).get("include-group")) for entry in list_of(entries)):
            if include:
                manifest.remark("includes_group", group=group, include=include)


def _grouped(manifest: Manifest, kind: str, table: Json, lines: Lines, header: str) -> None:
    for number, (group, value) in enumerate(table.items()):
        entries = strings_of(list_of(value))
        span = _listed(lines, header, group, entries) if number < _MOST_LOCATED else None
        _requirements(manifest, (kind, group), entries, span)


def _listed(lines: Lines, header: str, key: str, entries: list[str]) -> Span | None:
    """Where a table's key and the strings of its list stand."""
    start = lines.find(rf"\s*\[{re.escape(header)}\]")
    if start is None or not entries:
        return None
    # A header stands alone between its brackets; the lines of a list hold quotes.
    return lines.span(lines.find(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", start + 1, r"\s*\[[^\"',]+\]\s*$"), entries)


def _poetry(manifest: Manifest, table: Json, lines: Lines) -> None:
    if not table:
        return
    manifest.name = manifest.name or text_of(table.get("name"))
    manifest.version = manifest.version or text_of(table.get("version"))
    manifest.description = manifest.description or text_of(table.get("description"))
    manifest.licence = manifest.licence or text_of(table.get("license"))
    main = dict_of(table.get("dependencies"))
    if text_of(main.get("python")):
        manifest.requires.append(("Python", text_of(main.get("python"))))
    optional = {name: value for name, value in main.items() if dict_of(value).get("optional") is True}
    needed = {name: value for name, value in main.items() if name != "python" and name not in optional}
    span = lines.table("tool.poetry.dependencies", main)
    manifest.add(RUNTIME, _tabled(needed), span)
    manifest.add(("optional", ""), _tabled(optional), span)
    old = dict_of(table.get("dev-dependencies"))
    manifest.add(DEV, _tabled(old), lines.table("tool.poetry.dev-dependencies", old))
    for number, (group, value) in enumerate(dict_of(table.get("group")).items()):
        entries = dict_of(dict_of(value).get("dependencies"))
        header = f"tool.poetry.group.{group}.dependencies"
        span = lines.table(header, entries) if number < _MOST_LOCATED else None
        manifest.add(("group", group), _tabled(entries), span)
    for name, target in dict_of(table.get("scripts")).items():
        if text_of(target):
            manifest.commands.append((name, text_of(target)))


def _tabled(entries: Json) -> list[Dependency]:
    """Dependencies written as `name = "constraint"` or `name = {version = …}`."""
    return [Dependency(name, constraint_of(value)) for name, value in entries.items()]


def constraint_of(value: Any) -> str:
    """What a table's value asks of a version: the string, its `version`, or the place that it comes from."""
    if isinstance(value, list):
        return " or ".join(filter(None, (constraint_of(item) for item in value if isinstance(item, str | dict))))
    if isinstance(value, dict):
        if text_of(value.get("version")):
            return text_of(value.get("version"))
        place = next((key for key in ("git", "path", "url", "workspace") if key in value), "")
        return f"({place})" if place else ""
    return text_of(value)


def _short(text: str) -> str:
    """A licence named in a line; a whole licence text is no name."""
    return text.strip() if len(text.strip()) <= 80 and "\n" not in text.strip() else ""

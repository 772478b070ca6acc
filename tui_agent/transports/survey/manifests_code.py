"""Manifests that are programs (Gradle, Gemfile, gemspec, mix.exs): read for their plain declarations, never run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui_agent.transports.survey.manifest_model import (
    BUILD,
    DEV,
    RUNTIME,
    TEST,
    Dependency,
    Group,
    Manifest,
)
from tui_agent.transports.survey.manifests_python import constraint_of
from tui_agent.transports.survey.shapes import dict_of, text_of
from tui_agent.transports.survey.toml_text import load_toml

_CONFIGURATIONS: dict[str, Group] = {
    "implementation": RUNTIME,
    "api": RUNTIME,
    "compile": RUNTIME,
    "runtimeOnly": ("scope", "runtimeOnly"),
    "compileOnly": ("scope", "compileOnly"),
    "annotationProcessor": ("scope", "annotationProcessor"),
    "kapt": ("scope", "kapt"),
    "ksp": ("scope", "ksp"),
    "testImplementation": TEST,
    "testCompile": TEST,
    "testRuntimeOnly": TEST,
    "androidTestImplementation": TEST,
    "debugImplementation": DEV,
    "classpath": BUILD,
}
_DECLARED = re.compile(rf"\s*(?P<configuration>{'|'.join(_CONFIGURATIONS)})(?:\s*\(|\s+)\s*(?P<what>\S.*)")
_COORDINATES = re.compile(
    r"(?:platform\(|enforcedPlatform\()?[\"'](?P<name>[^\"':\s]+:[^\"':\s]+)(?::(?P<version>[^\"']*))?[\"']"
)
_CATALOGUE = re.compile(r"(?:platform\()?(?P<name>libs\.[\w.]+)")
_PROJECT = re.compile(r"project\(\s*(?:path\s*[:=]\s*)?[\"'](?P<name>[^\"']+)[\"']")
_KOTLIN = re.compile(r"kotlin\(\s*[\"'](?P<name>[^\"']+)[\"'](?:\s*,\s*[\"'](?P<version>[^\"']+)[\"'])?")
_PLUGIN = re.compile(r"\s*(?:id\s*\(?\s*[\"'](?P<id>[^\"']+)[\"']\)?|alias\(\s*(?P<alias>libs\.plugins\.[\w.]+)\s*\))")
_PLUGIN_VERSION = re.compile(r"version\s*\(?\s*[\"']([^\"']+)[\"']")
_QUOTED = re.compile(r"[\"']([^\"']*)[\"']")
_GEM = re.compile(r"\s*gem[\s(]\s*[\"'](?P<name>[^\"']+)[\"'](?P<rest>.*)")
_GEM_VERSION = re.compile(r"\s*,\s*[\"'](?P<version>[~<>=!\d][^\"']*)[\"']")
_GEM_GROUP = re.compile(r"\s*group[\s(]\s*(?P<names>:[^#]*?)\)?\s*\bdo\b")
_ADDED = re.compile(
    r"\s*\w+\.add_(?P<kind>runtime_|development_)?dependency[\s(]\s*[\"'](?P<name>[^\"']+)[\"'](?P<rest>.*)"
)
_SPECIFIED = re.compile(
    r"\s*\w+\.(?P<key>name|version|summary|license|required_ruby_version)\s*=\s*[\"'](?P<value>[^\"']*)[\"']"
)
_MIX = re.compile(r"\{\s*:(?P<name>\w+)\s*(?:,\s*\"(?P<version>[^\"]*)\")?(?P<rest>[^}]*)\}")
_MIX_FACT = re.compile(r"\s*(?P<key>app|version|elixir|description):\s*(?::(?P<atom>\w+)|\"(?P<text>[^\"]*)\")")


def _statements(text: str, comment: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a program without what its comments say (as far as that can be told line by line)."""
    block = False
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw
        if comment == "//":
            if block:
                if "*/" not in line:
                    continue
                line, block = line.partition("*/")[2], False
            if line.lstrip().startswith("/*") and "*/" not in line:
                block = True
                continue
        elif raw.startswith(("=begin", "=end")):
            block = raw.startswith("=begin")
            continue
        if block or line.lstrip().startswith(comment):
            continue
        yield number, line[:2000]


def parse_gradle(manifest: Manifest, text: str) -> None:
    """Fill a manifest from a build.gradle or build.gradle.kts."""
    for number, line in _statements(text, "//"):
        plugin = _PLUGIN.match(line)
        if plugin:
            version = _PLUGIN_VERSION.search(line)
            manifest.tools.append(" ".join(filter(None, (plugin["id"] or plugin["alias"], version and version[1]))))
            continue
        declared = _DECLARED.match(line)
        if declared:
            dependency = _gradle_dependency(declared["what"])
            if dependency:
                manifest.add(_CONFIGURATIONS[declared["configuration"]], [dependency], (number, number))
    manifest.remark("read_not_run")


def _gradle_dependency(what: str) -> Dependency | None:
    for pattern, label in ((_COORDINATES, "{}"), (_CATALOGUE, "{}"), (_PROJECT, "project {}"), (_KOTLIN, "kotlin {}")):
        match = pattern.match(what)
        if match:
            return Dependency(label.format(match["name"]), match.groupdict().get("version") or "")
    return None


def parse_gradle_settings(manifest: Manifest, text: str) -> None:
    """Fill a manifest from settings.gradle(.kts): the projects that the build is made of."""
    for _, line in _statements(text, "//"):
        if re.match(r"\s*include\b(?!Build)", line):
            manifest.members.extend(name.lstrip(":").replace(":", "/") for name in _QUOTED.findall(line) if name)
        name = re.match(r"\s*rootProject\.name\s*=\s*[\"']([^\"']+)[\"']", line)
        if name:
            manifest.name = name[1]
    manifest.remark("read_not_run")


def parse_version_catalogue(manifest: Manifest, text: str) -> None:
    """Fill a manifest from Gradle's libs.versions.toml."""
    data = load_toml(text)
    versions = dict_of(data.get("versions"))
    found = []
    for value in dict_of(data.get("libraries")).values():
        if isinstance(value, str):
            name, _, version = value.rpartition(":")
        else:
            table = dict_of(value)
            name = text_of(table.get("module")) or f"{text_of(table.get('group'))}:{text_of(table.get('name'))}"
            version = text_of(table.get("version")) or constraint_of(
                versions.get(text_of(dict_of(table.get("version")).get("ref")))
            )
        found.append(Dependency(name, version))
    manifest.add(("catalogue", ""), found)


def parse_gemfile(manifest: Manifest, text: str) -> None:
    """Fill a manifest from a Gemfile; a gem inside `group … do` belongs to that group."""
    group: Group = RUNTIME
    depth = 0
    for number, line in _statements(text, "#"):
        ruby = re.match(r"\s*ruby[\s(]\s*[\"']([^\"']+)[\"']", line)
        if ruby:
            manifest.requires.append(("Ruby", ruby[1]))
        if re.match(r"\s*gemspec\b", line):
            manifest.remark("gems_in_gemspec")
        opened = _GEM_GROUP.match(line)
        gem = _GEM.match(line)
        if gem:
            version = _GEM_VERSION.match(gem["rest"])
            own = re.search(r"\bgroups?:\s*(\[[^\]]*\]|:\w+)", gem["rest"])
            place = _named_group(own[1]) if own else group
            manifest.add(place, [Dependency(gem["name"], version["version"] if version else "")], (number, number))
        elif opened:
            group, depth = _named_group(opened["names"]), 1
        elif depth and re.search(r"\bdo\b\s*(\|[^|]*\|)?\s*$", line):
            depth += 1
        elif depth and re.match(r"\s*end\b", line):
            depth -= 1
            if not depth:
                group = RUNTIME
    manifest.remark("read_not_run")


def _named_group(text: str) -> Group:
    names = re.findall(r"\w+", text)
    return DEV if names == ["development"] else TEST if names == ["test"] else ("group", ", ".join(names))


def parse_gemspec(manifest: Manifest, text: str) -> None:
    """Fill a manifest from a .gemspec."""
    for number, line in _statements(text, "#"):
        added = _ADDED.match(line)
        if added:
            versions = re.findall(r",\s*[\"']([~<>=!\d][^\"']*)[\"']", added["rest"])
            group = DEV if added["kind"] == "development_" else RUNTIME
            manifest.add(group, [Dependency(added["name"], ", ".join(versions))], (number, number))
            continue
        said = _SPECIFIED.match(line)
        if said:
            key, value = said["key"], said["value"]
            if key == "required_ruby_version":
                manifest.requires.append(("Ruby", value))
            else:
                setattr(manifest, {"summary": "description", "license": "licence"}.get(key, key), value)
    manifest.remark("read_not_run")


def parse_mix(manifest: Manifest, text: str) -> None:
    """Fill a manifest from mix.exs: the project's facts, and the tuples of its `deps`."""
    inside = False
    for number, line in _statements(text, "#"):
        if re.match(r"\s*defp?\s+", line):
            inside = re.match(r"\s*defp?\s+deps\b", line) is not None
        if not inside:
            fact = _MIX_FACT.match(line)
            if fact:
                value = fact["atom"] or fact["text"] or ""
                if fact["key"] == "elixir":
                    manifest.requires.append(("Elixir", value))
                else:
                    setattr(manifest, {"app": "name"}.get(fact["key"], fact["key"]), value)
            continue
        for match in _MIX.finditer(line):
            only = re.findall(r":(dev|test|prod)\b", match["rest"]) if "only:" in match["rest"] else []
            group: Group = ("group", ", ".join(only)) if only else RUNTIME
            manifest.add(group, [Dependency(match["name"], match["version"] or "")], (number, number))
    manifest.remark("read_not_run")

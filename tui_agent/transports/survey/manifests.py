"""Which files are manifests, and one way to parse them all: a hostile one yields a remark, never an exception."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from tui_agent.transports.survey.manifest_model import Manifest
from tui_agent.transports.survey.manifests_code import (
    parse_gemfile,
    parse_gemspec,
    parse_gradle,
    parse_gradle_settings,
    parse_mix,
    parse_version_catalogue,
)
from tui_agent.transports.survey.manifests_json import parse_composer, parse_package_json
from tui_agent.transports.survey.manifests_native import parse_cargo, parse_go_mod, parse_go_work
from tui_agent.transports.survey.manifests_python import (
    parse_pipfile,
    parse_pyproject,
    parse_requirements,
    parse_setup_cfg,
)
from tui_agent.transports.survey.manifests_xml import parse_dotnet, parse_pom
from tui_agent.transports.survey.manifests_yaml import parse_conda, parse_pnpm_workspace, parse_pubspec

Parser = Callable[[Manifest, str], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of manifest: how its file is named, whose it is, who parses it.

    `by_lines` formats can be read as far as they were seen; the others only as a whole. `search` is the pattern that
    finds more of them in the tree.
    """

    name: re.Pattern[str]
    ecosystem: str
    parse: Parser
    by_lines: bool = False
    search: str = ""


def _format(name: str, ecosystem: str, parse: Parser, by_lines: bool = False, search: str = "") -> Format:
    return Format(re.compile(name), ecosystem, parse, by_lines, search)


# In the order in which they are worth reading.
FORMATS: tuple[Format, ...] = (
    _format(r"pyproject\.toml", "Python", parse_pyproject, search="pyproject.toml"),
    _format(r"package\.json", "Node.js", parse_package_json, search="package.json"),
    _format(r"go\.mod", "Go", parse_go_mod, by_lines=True, search="go.mod"),
    _format(r"Cargo\.toml", "Rust", parse_cargo, search="Cargo.toml"),
    _format(r"pom\.xml", "Maven", parse_pom, search="pom.xml"),
    _format(r"build\.gradle(\.kts)?", "Gradle", parse_gradle, by_lines=True, search="build.gradle*"),
    _format(r"composer\.json", "PHP", parse_composer, search="composer.json"),
    _format(r"Gemfile", "Ruby", parse_gemfile, by_lines=True),
    _format(r".+\.gemspec", "Ruby", parse_gemspec, by_lines=True, search="*.gemspec"),
    _format(r".+\.(csproj|fsproj|vbproj)", ".NET", parse_dotnet, search="*.csproj"),
    _format(r"mix\.exs", "Elixir", parse_mix, by_lines=True, search="mix.exs"),
    _format(r"pubspec\.yaml", "Dart", parse_pubspec, search="pubspec.yaml"),
    _format(r"setup\.cfg", "Python", parse_setup_cfg),
    _format(r"Pipfile", "Python", parse_pipfile),
    _format(r"requirements[\w.-]*\.txt|[\w.-]*requirements\.txt", "Python", parse_requirements, by_lines=True),
    _format(r"environment\.ya?ml", "conda", parse_conda),
    _format(r"go\.work", "Go", parse_go_work, by_lines=True),
    _format(r"pnpm-workspace\.yaml", "Node.js", parse_pnpm_workspace),
    _format(r"settings\.gradle(\.kts)?", "Gradle", parse_gradle_settings, by_lines=True),
    _format(r"libs\.versions\.toml", "Gradle", parse_version_catalogue, search="libs.versions.toml"),
)


def format_of(path: str) -> Format | None:
    """The kind of manifest that a file's name says it is."""
    name = path.rpartition("/")[2]
    return next((kind for kind in FORMATS if kind.name.fullmatch(name)), None)


def rank(path: str) -> int:
    """How early a manifest is worth reading: smaller is earlier."""
    kind = format_of(path)
    return FORMATS.index(kind) if kind else len(FORMATS)


@lru_cache(maxsize=32)
def parse_manifest(path: str, text: str, complete: bool = True) -> Manifest | None:
    """The facts of a manifest; None where the file's name is not one of a manifest.

    The rules ask turn after turn for the same ones, so the last few are kept; nobody changes what is returned.

    Args:
        path: its place in the repository.
        text: its text from the beginning on.
        complete: whether the text is the whole file. A part is parsed only in formats made of lines, up to the last
            whole line.
    """
    kind = format_of(path)
    if kind is None:
        return None
    manifest = Manifest(path, kind.ecosystem)
    if not complete:
        if not kind.by_lines:
            manifest.parsed = False
            manifest.remark("not_whole")
            return manifest
        text = text.rpartition("\n")[0]
        manifest.remark("only_part")
    if complete and not text.strip():
        manifest.remark("empty")
        return manifest
    try:
        kind.parse(manifest, text)
    except (ValueError, RecursionError) as error:
        broken = Manifest(path, kind.ecosystem, parsed=False)
        broken.remark("invalid", error=str(error))
        return broken
    return manifest

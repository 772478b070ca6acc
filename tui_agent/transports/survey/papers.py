"""Files that speak by their names: README, licence, change log, CI, lock files, tools' settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tui_agent.transports.survey.languages import language_of
from tui_agent.transports.survey.listing import Entry, Listing

State = Literal["found", "missing", "unknown"]

_README = re.compile(r"readme(?:\.[a-z0-9.-]+)?", re.IGNORECASE)
_LICENCE = re.compile(r"(?:licen[cs]e|copying|unlicense)(?:[.-].*)?|licenses", re.IGNORECASE)
_README_ORDER = (".md", ".markdown", ".rst", ".adoc", ".org", ".txt", "")
NOTES: dict[str, re.Pattern[str]] = {
    "changelog": re.compile(r"(?:changes|changelog|history|news|release[-_]?notes)(?:\..*)?", re.IGNORECASE),
    "contributing": re.compile(r"contributing(?:\..*)?", re.IGNORECASE),
    "conduct": re.compile(r"code[-_]of[-_]conduct(?:\..*)?", re.IGNORECASE),
    "security": re.compile(r"security(?:\.(?:md|rst|txt|adoc))?", re.IGNORECASE),
}
# CI systems by the file or directory in the root that sets them up.
CI: dict[str, str] = {
    ".gitlab-ci.yml": "GitLab CI",
    ".travis.yml": "Travis CI",
    "azure-pipelines.yml": "Azure Pipelines",
    "azure-pipelines.yaml": "Azure Pipelines",
    "Jenkinsfile": "Jenkins",
    "appveyor.yml": "AppVeyor",
    ".appveyor.yml": "AppVeyor",
    ".drone.yml": "Drone",
    ".cirrus.yml": "Cirrus CI",
    "bitbucket-pipelines.yml": "Bitbucket Pipelines",
    ".woodpecker.yml": "Woodpecker CI",
    ".woodpecker": "Woodpecker CI",
    ".circleci": "CircleCI",
    ".buildkite": "Buildkite",
    ".semaphore": "Semaphore",
    ".teamcity": "TeamCity",
    ".builds": "builds.sr.ht",
    ".build.yml": "builds.sr.ht",
    "codemagic.yaml": "Codemagic",
}
CI_BY_NAME = (".ci", "ci")
FORGES = {".github": "GitHub Actions", ".forgejo": "Forgejo Actions", ".gitea": "Gitea Actions"}
WORKFLOWS = "workflows/*"
LOCKS = frozenset(
    "uv.lock poetry.lock pdm.lock Pipfile.lock package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock"
    " bun.lockb deno.lock Cargo.lock go.sum Gemfile.lock composer.lock mix.lock pubspec.lock packages.lock.json"
    " gradle.lockfile flake.lock conda-lock.yml pylock.toml".split()
)
TOOLS: dict[str, str] = {
    "Makefile": "Make",
    "makefile": "Make",
    "GNUmakefile": "Make",
    "justfile": "just",
    "Justfile": "just",
    "Taskfile.yml": "Task",
    "Rakefile": "Rake",
    "CMakeLists.txt": "CMake",
    "meson.build": "Meson",
    "configure.ac": "Autoconf",
    "BUILD.bazel": "Bazel",
    "MODULE.bazel": "Bazel",
    "WORKSPACE": "Bazel",
    "build.sbt": "sbt",
    "build.zig": "Zig build",
    "Package.swift": "Swift Package Manager",
    "Dockerfile": "Docker",
    "Containerfile": "container image",
    "docker-compose.yml": "Docker Compose",
    "docker-compose.yaml": "Docker Compose",
    "compose.yml": "Docker Compose",
    "compose.yaml": "Docker Compose",
    "Vagrantfile": "Vagrant",
    "flake.nix": "Nix",
    "shell.nix": "Nix",
    "tox.ini": "tox",
    "noxfile.py": "nox",
    "pytest.ini": "pytest",
    "mypy.ini": "mypy",
    "ruff.toml": "Ruff",
    ".flake8": "Flake8",
    ".pre-commit-config.yaml": "pre-commit",
    ".editorconfig": "EditorConfig",
    "tsconfig.json": "TypeScript",
    "jsconfig.json": "JavaScript",
    "deno.json": "Deno",
    "turbo.json": "Turborepo",
    "nx.json": "Nx",
    "lerna.json": "Lerna",
    "biome.json": "Biome",
    ".eslintrc.json": "ESLint",
    ".eslintrc.js": "ESLint",
    "eslint.config.js": "ESLint",
    "eslint.config.mjs": "ESLint",
    ".prettierrc": "Prettier",
    "vite.config.ts": "Vite",
    "vite.config.js": "Vite",
    "webpack.config.js": "webpack",
    "rollup.config.js": "Rollup",
    "jest.config.js": "Jest",
    "jest.config.ts": "Jest",
    "vitest.config.ts": "Vitest",
    "babel.config.js": "Babel",
    ".golangci.yml": "golangci-lint",
    ".golangci.yaml": "golangci-lint",
    "rustfmt.toml": "rustfmt",
    "clippy.toml": "Clippy",
    "rust-toolchain.toml": "Rust toolchain",
    "phpunit.xml": "PHPUnit",
    "phpunit.xml.dist": "PHPUnit",
    "phpstan.neon": "PHPStan",
    ".rubocop.yml": "RuboCop",
    ".rspec": "RSpec",
    "mkdocs.yml": "MkDocs",
    ".readthedocs.yaml": "Read the Docs",
    ".readthedocs.yml": "Read the Docs",
    "setup.py": "setuptools",
    "MANIFEST.in": "setuptools",
    "renovate.json": "Renovate",
    ".gitmodules": "git submodules",
}


@dataclass(slots=True)
class Finding:
    """Whether something was found; `missing` only where it was looked for and could be seen."""

    state: State
    paths: list[str] = field(default_factory=list)


def find_in_root(root: Listing | None, pattern: re.Pattern[str], dirs: bool = False) -> Finding:
    """Files (with `dirs`, directories too) in the root whose whole name matches."""
    if root is None:
        return Finding("unknown")
    paths = [entry.name for entry in root.entries if _is_paper(entry, dirs) and pattern.fullmatch(entry.name)]
    return Finding("found" if paths else "missing" if root.complete else "unknown", paths)


def _is_paper(entry: Entry, dirs: bool) -> bool:
    if entry.kind == "dir":
        return dirs
    # `history.py` is a module, no history.
    return entry.kind in ("file", "symlink") and language_of(entry.name) in (None, "HTML")


def find_readmes(root: Listing | None) -> Finding:
    """READMEs in the root, the one to read first in front: English before translations, full before empty."""
    finding = find_in_root(root, _README)
    sizes = {entry.name: entry.size for entry in root.entries} if root else {}

    def order(name: str) -> tuple[bool, int, int, str]:
        stem, dot, suffix = name.lower().partition(".")
        suffix = dot + suffix
        known = _README_ORDER.index(suffix) if suffix in _README_ORDER else len(_README_ORDER)
        return sizes.get(name) == 0, known, len(stem), name

    finding.paths.sort(key=order)
    return finding


def find_licences(root: Listing | None) -> Finding:
    """Licence files (and a LICENSES directory) in the root."""
    return find_in_root(root, _LICENCE, dirs=True)


def is_readme(path: str) -> bool:
    """Whether a file's name is one of a README."""
    return _README.fullmatch(path.rpartition("/")[2]) is not None and language_of(path) in (None, "HTML")


def is_licence(path: str) -> bool:
    """Whether a file's name is one of a licence."""
    return _LICENCE.fullmatch(path.rpartition("/")[2]) is not None and language_of(path) in (None, "HTML")


def named_in_root(root: Listing | None, names: Iterable[str]) -> list[str]:
    """Those of the names that the root holds, in the root's order."""
    wanted = frozenset(names)
    return [entry.name for entry in root.entries if entry.name in wanted] if root else []


def without_vendored(paths: Sequence[str], vendored: frozenset[str]) -> list[str]:
    """The paths that no vendored or generated directory holds, whatever its depth."""
    return [path for path in paths if not any(part.lower() in vendored for part in path.split("/")[:-1])]

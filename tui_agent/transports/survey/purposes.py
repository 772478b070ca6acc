"""What a directory is for, as far as its name (by the habits of the field) or its contents say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from tui_agent.languages import FAMILY
from tui_agent.transports.survey.languages import OTHER_BUCKET, by_language
from tui_agent.transports.survey.listing import Listing, Share

Role = Literal["source", "tests", "docs", "vendored", "generated", "other"]

# Purpose -> names. A purpose is the key of a phrase ("purpose_…").
_NAMES: dict[str, str] = {
    "source": "src source sources lib libs",
    "app": "app application",
    "commands": "cmd bin cli",
    "internal": "internal",
    "packages": "packages pkg pkgs crates modules libraries workspaces",
    "apps": "apps services",
    "server": "server backend api",
    "client": "client frontend web webapp www ui",
    "include": "include inc headers",
    "tests": "test tests testing spec specs __tests__ e2e integration_tests integration-tests unittests t testdata",
    "fixtures": "fixtures fixture __fixtures__",
    "benchmarks": "bench benches benchmark benchmarks perf",
    "docs": "doc docs documentation manual wiki website",
    "examples": "example examples sample samples demo demos cookbook",
    "scripts": "script scripts tools tool hack utils utilities",
    "ci": ".ci ci .circleci .buildkite .woodpecker .teamcity",
    "github": ".github",
    "config": "config configs configuration conf etc settings",
    "deploy": "deploy deployment deployments docker helm charts chart k8s kubernetes terraform infra infrastructure"
    " ansible",
    "assets": "assets static public resources res images img media icons fonts imgs",
    "styles": "styles css scss",
    "templates": "template templates",
    "locales": "locale locales i18n l10n translations lang",
    "database": "migrations db database sql",
    "data": "data dataset datasets",
    "types": "typings types @types",
    "proto": "proto protos protobuf",
    "vendored": "node_modules vendor vendors third_party third-party thirdparty 3rdparty bower_components pods carthage"
    " site-packages _vendor",
    "generated": "dist out target __pycache__ .next coverage htmlcov",
    "build": "build cmake make buildtools build-tools",
    "editor": ".vscode .idea .devcontainer .vs .zed",
    "hooks": ".husky .githooks",
    "changes": "changelog changes news newsfragments .changeset changelog.d",
    "notebooks": "notebooks notebook",
    "plugins": "plugins plugin extensions addons",
    "licences": "licenses licences",
    "packaging": "packaging debian rpm snap flatpak",
}
_PURPOSE = {name: purpose for purpose, names in _NAMES.items() for name in names.split()}
# Names that say so little that mainly code inside says more.
_WEAK = frozenset({"assets", "data", "config", "database", "types", "styles", "locales", "templates"})
_OF_PAGES = frozenset({"HTML", "CSS", "SCSS", "Sass", "Less", "JavaScript", "Jinja"})
VENDORED = frozenset(_NAMES["vendored"].split())
_SOURCES = frozenset(
    {"source", "app", "commands", "internal", "packages", "apps", "server", "client", "include", "plugins"}
)
_ROLES: dict[str, Role] = {"tests": "tests", "docs": "docs", "vendored": "vendored", "generated": "generated"}
# "my-tests", "App.Tests", "UnitTests"; not "latest".
_TEST_WORD = re.compile(r"(?i:(?:^|[._-])(?:tests?|specs?)(?:$|[._-]))|[a-z0-9]Tests?$")


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a directory is for: a phrase's key, what goes into it, and what kind of room that makes it."""

    key: str
    role: Role
    by_name: bool
    values: Mapping[str, str | int]

    def says_more_than(self, name: Purpose) -> bool:
        """Whether these contents contradict a name, or say more than a name that says little."""
        if self.key in ("holds_links", "holds_submodules"):
            return True
        return name.key in _WEAK and self.key == "code_in" and self.values["language"] not in _OF_PAGES


def purpose_of_name(name: str, packages: frozenset[str] = frozenset()) -> Purpose | None:
    """What a directory's name says; None where it says nothing.

    Args:
        name: the directory's own name.
        packages: normalised names (see `normal_name`) of the projects that the manifests declare.
    """
    known = _PURPOSE.get(name.lower())
    if known is None and _TEST_WORD.search(name):
        known = "tests"
    role = _ROLES.get(known or "", "other")
    if role not in ("tests", "docs") and normal_name(name) in packages and not name.startswith("."):
        return Purpose("named_package", "source", True, {})
    if known is None:
        return None
    return Purpose(known, "source" if known in _SOURCES else role, True, {})


def purpose_of_contents(listing: Listing) -> Purpose | None:
    """What a directory holds most of; None where no kind of file makes up half of it."""
    counted = {key: share for key, share in listing.by_extension.items() if key != OTHER_BUCKET}
    total = listing.files or 0
    kinds = {entry.kind for entry in listing.entries}
    if not total and len(kinds) == 1 and listing.complete:
        only = {"symlink": "holds_links", "submodule": "holds_submodules"}.get(kinds.pop())
        return Purpose(only, "other", False, {}) if only else None
    if not total or not counted:
        return None
    languages = by_language(listing.by_extension)
    if sum(share.files for share in languages.values()) * 2 >= total:
        language, share = next(iter(languages.items()))
        return Purpose("code_in", "source", False, {"language": language, "n": share.files})
    families: dict[str, int] = {}
    for extension, share in counted.items():
        family = FAMILY.get(extension.lower())
        if family:
            families[family] = families.get(family, 0) + share.files
    for family, files in families.items():
        if files * 2 > total:
            role: Role = "docs" if family == "prose" and _is_written(counted) else "other"
            return Purpose(f"holds_{family}", role, False, {"n": files})
    extension, share = max(counted.items(), key=lambda item: item[1].files)
    if share.files * 2 > total and extension:
        return Purpose("holds_extension", "other", False, {"extension": extension, "n": share.files})
    common = sorted((key for key in counted if key), key=lambda key: (-counted[key].files, key))
    return Purpose("holds_mixed", "other", False, {"extensions": " ".join(common[:3])}) if common else None


def _is_written(counted: Mapping[str, Share]) -> bool:
    """Whether prose is marked-up text; plain .txt files may be anything."""
    prose = {key: share.files for key, share in counted.items() if FAMILY.get(key.lower()) == "prose"}
    return sum(files for key, files in prose.items() if key.lower() != ".txt") * 2 > sum(prose.values())


def normal_name(name: str) -> str:
    """A project's or directory's name without the differences that packaging tools ignore."""
    return re.sub(r"[-_.\s]+", "_", name.rpartition("/")[2].rpartition(":")[2]).lower()

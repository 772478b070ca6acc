"""What stands in YAML: pubspec.yaml (Dart), environment.yml (conda), pnpm-workspace.yaml, and GitHub's workflows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tui_agent.transports.survey.manifest_model import DEV, RUNTIME, Dependency, Manifest, ManifestError
from tui_agent.transports.survey.manifests_python import requirement
from tui_agent.transports.survey.shapes import Json, dict_of, list_of, strings_of, text_of

_BRACKETS = re.compile(r"[\[\]{}]")
_DEEPEST = 64  # PyYAML's time grows with the square of the nesting
_CONDA = re.compile(r"(?:[^:\s]+::)?(?P<name>[A-Za-z0-9._-]+)\s*(?P<rest>.*)")


def load_yaml(text: str) -> Json:
    """The mapping that a document holds, every scalar as its text (so that `on` stays a word and 3.10 a version).

    Aliases are refused: a handful of lines of them can stand for billions of nodes.

    Raises:
        ManifestError: where it is no YAML, holds no mapping, uses aliases, or is nested too deeply.
    """
    import yaml

    depth = 0
    for bracket in _BRACKETS.findall(text):
        depth += 1 if bracket in "[{" else -1
        if depth > _DEEPEST:
            raise ManifestError("nested too deeply")

    class Loader(yaml.BaseLoader):
        """The base loader (no tags, no objects) without aliases."""

        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                raise ManifestError("it uses YAML aliases, which are refused")
            return super().compose_node(parent, index)

    try:
        data = yaml.load(text, Loader=Loader)
    except yaml.YAMLError as error:
        raise ManifestError(" ".join(str(error).split())) from error
    except RecursionError as error:
        raise ManifestError("nested too deeply") from error
    if not isinstance(data, dict):
        raise ManifestError("the file holds no mapping")
    return data


def parse_pubspec(manifest: Manifest, text: str) -> None:
    """Fill a manifest from Dart's pubspec.yaml."""
    data = load_yaml(text)
    manifest.name, manifest.version = text_of(data.get("name")), text_of(data.get("version"))
    manifest.description = text_of(data.get("description"))
    for key, want in dict_of(data.get("environment")).items():
        manifest.requires.append(({"sdk": "Dart SDK", "flutter": "Flutter"}.get(str(key), str(key)), text_of(want)))
    for table, group in (("dependencies", RUNTIME), ("dev_dependencies", DEV)):
        manifest.add(group, [Dependency(str(n), _dart(value)) for n, value in dict_of(data.get(table)).items()])
    manifest.members = strings_of(list_of(data.get("workspace")))


def _dart(value: object) -> str:
    if isinstance(value, dict):
        place = next((key for key in ("sdk", "git", "path", "hosted") if key in value), "")
        own = text_of(value.get("version"))
        return own or (f"({place})" if place else "")
    return "" if value == "any" else text_of(value)


def parse_conda(manifest: Manifest, text: str) -> None:
    """Fill a manifest from a conda environment.yml."""
    data = load_yaml(text)
    manifest.name = text_of(data.get("name"))
    found, odd = [], 0
    pip: list[Dependency] = []
    for entry in list_of(data.get("dependencies")):
        for text_in_pip in strings_of(list_of(dict_of(entry).get("pip"))):
            dependency = None if text_in_pip.startswith("-") else requirement(text_in_pip)
            if dependency:
                pip.append(dependency)
            odd += dependency is None
        match = _CONDA.fullmatch(text_of(entry))
        if match and match["name"] == "python":
            manifest.requires.append(("Python", match["rest"].strip() or "*"))
        elif match:
            found.append(Dependency(match["name"], match["rest"].strip()))
    manifest.add(("listed", ""), found)
    manifest.add(("group", "pip"), pip)
    if odd:
        manifest.remark("odd_entries", n=odd)


def parse_pnpm_workspace(manifest: Manifest, text: str) -> None:
    """Fill a manifest from pnpm-workspace.yaml."""
    manifest.members = strings_of(list_of(load_yaml(text).get("packages")))


@dataclass(slots=True)
class Workflow:
    """What a GitHub workflow says of itself: its events, its jobs, and whether it could be parsed."""

    path: str
    name: str = ""
    events: list[str] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    error: str = ""


def parse_workflow(path: str, text: str) -> Workflow:
    """The events and jobs of a workflow; `error` says why there are none where it could not be parsed."""
    workflow = Workflow(path)
    try:
        data = load_yaml(text)
    except ValueError as error:
        workflow.error = str(error)
        return workflow
    workflow.name = text_of(data.get("name"))
    events = data.get("on")
    workflow.events = [str(key) for key in events] if isinstance(events, dict) else strings_of(events)
    workflow.jobs = [str(key) for key in dict_of(data.get("jobs"))]
    return workflow

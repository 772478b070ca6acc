"""Manifests in XML: Maven's pom.xml and .NET's project files, read without document types and entities."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from tui_agent.transports.survey.manifest_model import (
    BUILD,
    RUNTIME,
    TEST,
    Dependency,
    Group,
    Manifest,
    ManifestError,
)

_DEEPEST = 64
_PROPERTY = re.compile(r"\$\{([^{}$]{1,200})\}")
_JAVA_VERSION = ("maven.compiler.release", "java.version", "maven.compiler.source")


@dataclass(slots=True)
class Node:
    """One element: its name without namespace, its own text, and the lines that it begins and ends on."""

    tag: str
    line: int
    last_line: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Node] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside, on one line."""
        return " ".join("".join(self.parts).split())

    def all(self, tag: str) -> Iterator[Node]:
        """The children of that name."""
        return (child for child in self.children if child.tag == tag)

    def first(self, *path: str) -> Node | None:
        """The first descendant along a path of names."""
        node: Node | None = self
        for tag in path:
            node = next(node.all(tag), None) if node else None
        return node

    def value(self, *path: str) -> str:
        """The text of the first descendant along a path of names; "" where there is none."""
        node = self.first(*path)
        return node.text if node else ""


def load_xml(text: str) -> Node:
    """The document's root element.

    A document type is refused as a whole: entities (and with them "billion laughs") can only be declared there.

    Raises:
        ManifestError: where it is no well-formed XML, declares a document type, or is nested too deeply.
    """
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    top = Node("", 0)
    stack = [top]

    def doctype(*_: object) -> None:
        raise ManifestError("it declares a document type, which is refused")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(stack) > _DEEPEST:
            raise ManifestError("nested too deeply")
        node = Node(tag.rpartition(" ")[2], parser.CurrentLineNumber, attributes=attributes)
        stack[-1].children.append(node)
        stack.append(node)

    def end(_: str) -> None:
        stack.pop().last_line = parser.CurrentLineNumber

    def data(text: str) -> None:
        stack[-1].parts.append(text)

    parser.StartDoctypeDeclHandler = doctype
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    try:
        # The text is decoded already: what its declaration says of an encoding no longer holds.
        # (Its lines stay, so that what follows keeps its numbers.)
        parser.Parse(re.sub(r"\A\ufeff?\s*<\?xml[^>]*\?>", lambda m: "\n" * m[0].count("\n"), text), True)
    except expat.ExpatError as error:
        raise ManifestError(str(error)) from error
    return top.children[0]


def parse_pom(manifest: Manifest, text: str) -> None:
    """Fill a manifest from pom.xml; `${…}` is filled in where the file itself says what it stands for."""
    root = load_xml(text)
    if root.tag != "project":
        raise ManifestError("its root element is not <project>")
    known = {child.tag: child.text for node in root.all("properties") for child in node.children}
    group = root.value("groupId") or root.value("parent", "groupId")
    version = root.value("version") or root.value("parent", "version")
    known |= {"project.version": version, "project.groupId": group, "project.artifactId": root.value("artifactId")}

    def filled(text: str) -> str:
        return _PROPERTY.sub(lambda match: known.get(match[1]) or match[0], text)

    manifest.name = ":".join(filter(None, (group, root.value("artifactId"))))
    manifest.version = filled(version)
    manifest.description = root.value("description")
    manifest.licence = " or ".join(node.value("name") for box in root.all("licenses") for node in box.all("license"))
    manifest.build = root.value("packaging")
    java = next((known[key] for key in _JAVA_VERSION if known.get(key)), "")
    if java:
        manifest.requires.append(("Java", filled(java)))
    parent = ":".join(filter(None, (root.value("parent", "groupId"), root.value("parent", "artifactId"))))
    if parent:
        manifest.remark("maven_parent", parent=f"{parent} {filled(root.value('parent', 'version'))}".strip())
    managed = sum(
        1 for box in root.all("dependencyManagement") for inner in box.children for _ in inner.all("dependency")
    )
    if managed:
        manifest.remark("maven_managed", n=managed)
    for box in root.all("dependencies"):
        for node in box.all("dependency"):
            name = ":".join(filter(None, (filled(node.value("groupId")), filled(node.value("artifactId")))))
            if name:
                dependency = Dependency(name, filled(node.value("version")))
                manifest.add(_scope(node.value("scope")), [dependency], (node.line, node.last_line))
    manifest.members = [node.text for box in root.all("modules") for node in box.all("module") if node.text]


def _scope(scope: str) -> Group:
    if scope == "test":
        return TEST
    return ("scope", scope) if scope in ("provided", "runtime", "system", "import") else RUNTIME


def parse_dotnet(manifest: Manifest, text: str) -> None:
    """Fill a manifest from an MSBuild project file (.csproj, .fsproj, .vbproj)."""
    root = load_xml(text)
    if root.tag != "Project":
        raise ManifestError("its root element is not <Project>")
    manifest.name = manifest.path.rpartition("/")[2].rpartition(".")[0]
    for group in root.all("PropertyGroup"):
        manifest.version = manifest.version or group.value("Version")
        manifest.description = manifest.description or group.value("Description")
        manifest.licence = manifest.licence or group.value("PackageLicenseExpression")
        target = group.value("TargetFramework") or group.value("TargetFrameworks")
        if target:
            manifest.requires.append((".NET", target))
    manifest.build = root.attributes.get("Sdk", "")
    for group in root.all("ItemGroup"):
        for node in group.all("PackageReference"):
            name = node.attributes.get("Include", "")
            version = node.attributes.get("Version", "") or node.value("Version")
            if name:
                private = (node.attributes.get("PrivateAssets") or node.value("PrivateAssets")).lower() == "all"
                manifest.add(BUILD if private else RUNTIME, [Dependency(name, version)], (node.line, node.last_line))
        for node in group.all("ProjectReference"):
            path = node.attributes.get("Include", "").replace("\\", "/")
            if path:
                manifest.add(("project", ""), [Dependency(path)], (node.line, node.last_line))

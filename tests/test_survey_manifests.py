"""The survey's parsers: each manifest yields what it declares, and a hostile one a remark, never an exception."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.transports.survey.manifest_model import DEV, INDIRECT, RUNTIME, TEST, Group, Manifest
from tui_agent.transports.survey.manifests import FORMATS, format_of, parse_manifest
from tui_agent.transports.survey.manifests_yaml import parse_workflow

NAMES = (
    "pyproject.toml setup.cfg Pipfile requirements.txt package.json composer.json go.mod go.work Cargo.toml pom.xml"
    " build.gradle settings.gradle libs.versions.toml Gemfile x.gemspec x.csproj mix.exs pubspec.yaml environment.yml"
    " pnpm-workspace.yaml"
).split()


def parsed(path: str, text: str, complete: bool = True) -> Manifest:
    manifest = parse_manifest(path, text, complete)
    assert manifest is not None
    return manifest


def written(manifest: Manifest, group: Group = RUNTIME) -> list[str]:
    return [dependency.written for dependency in manifest.groups.get(group, [])]


def remarks(manifest: Manifest) -> dict[str, dict[str, str | int]]:
    return {remark.key: remark.values for remark in manifest.remarks}


def lines(text: str, span: tuple[int, int]) -> str:
    return "\n".join(text.split("\n")[span[0] - 1 : span[1]])


def test_every_format_is_known_by_an_example_of_its_name() -> None:
    assert {format_of(name) for name in NAMES} == set(FORMATS)
    assert format_of("README.md") is None
    assert format_of("docs/conf.py") is None


PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "demo"
version = "1.2"
description = "A demo."
license = {text = "MIT"}
requires-python = ">=3.11"
dependencies = [
  "httpx[http2] >= 0.28, < 1",
  "tomli; python_version < '3.11'",
  "tool @ https://example.org/tool.zip",
  "not a requirement !!",
]

[project.optional-dependencies]
docs = ["sphinx"]

[project.scripts]
demo = "demo.cli:main"

[dependency-groups]
test = ["pytest>=8"]
all = [{include-group = "test"}, "ruff"]

[tool.mypy]
strict = true
[tool.uv.workspace]
members = ["packages/*"]
"""


def test_pyproject_with_pep_621_and_735_keeps_declarations_as_they_are_written() -> None:
    manifest = parsed("pyproject.toml", PYPROJECT)
    assert (manifest.name, manifest.version, manifest.licence) == ("demo", "1.2", "MIT")
    assert manifest.requires == [("Python", ">=3.11")]
    assert written(manifest) == [
        "httpx[http2] >= 0.28, < 1",
        "tomli; python_version < '3.11'",
        "tool @ https://example.org/tool.zip",
    ]
    assert written(manifest, ("optional", "docs")) == ["sphinx"]
    assert written(manifest, ("group", "test")) == ["pytest >=8"]
    assert manifest.commands == [("demo", "demo.cli:main")]
    assert manifest.members == ["packages/*"]
    assert manifest.tools == ["mypy", "uv"]
    assert remarks(manifest) == {"odd_entries": {"n": 1}, "includes_group": {"group": "all", "include": "test"}}


def test_the_lines_that_are_cited_hold_what_is_cited() -> None:
    manifest = parsed("pyproject.toml", PYPROJECT)
    cited = lines(PYPROJECT, manifest.spans[RUNTIME])
    assert cited.startswith("dependencies = [")
    assert cited.count("\n") == 4
    assert lines(PYPROJECT, manifest.spans["group", "test"]) == 'test = ["pytest>=8"]'
    assert lines(PYPROJECT, manifest.spans["optional", "docs"]) == 'docs = ["sphinx"]'


def test_what_only_a_build_knows_is_said_to_be_dynamic() -> None:
    manifest = parsed("pyproject.toml", '[project]\nname = "x"\ndynamic = ["version", "dependencies"]\n')
    assert set(remarks(manifest)) == {"dynamic_version", "dynamic_dependencies"}


def test_poetry_tells_needed_from_optional_and_grouped() -> None:
    text = """\
[tool.poetry]
name = "rich"
version = "15"
license = "MIT"
[tool.poetry.dependencies]
python = ">=3.9"
pygments = "^2.13"
ipywidgets = { version = ">=7", optional = true }
local = { path = "../local" }
anything = "*"
[tool.poetry.group.test.dependencies]
pytest = "^8"
[tool.poetry.dev-dependencies]
black = "^22"
"""
    manifest = parsed("pyproject.toml", text)
    assert manifest.requires == [("Python", ">=3.9")]
    assert written(manifest) == ["pygments ^2.13", "local (path)", "anything *"]
    assert [dependency.constrained for dependency in manifest.groups[RUNTIME]] == [True, True, False]
    assert written(manifest, ("optional", "")) == ["ipywidgets >=7"]
    assert written(manifest, ("group", "test")) == ["pytest ^8"]
    assert lines(text, manifest.spans[DEV]) == '[tool.poetry.dev-dependencies]\nblack = "^22"'


def test_setup_cfg_and_pipfile() -> None:
    text = """\
[metadata]
name = old
version = attr: old.__version__
[options]
python_requires = >=3.8
install_requires =
    requests>=2
    # a comment
    six
[options.extras_require]
test = pytest
[options.entry_points]
console_scripts =
    old = old.main:run
[mypy]
strict = True
"""
    manifest = parsed("setup.cfg", text)
    assert written(manifest) == ["requests >=2", "six"]
    assert manifest.commands == [("old", "old.main:run")]
    assert manifest.tools == ["mypy"]
    pipfile = parsed(
        "Pipfile", '[packages]\nflask = "*"\n[dev-packages]\npytest = "==8"\n[requires]\npython_version = "3.12"\n'
    )
    assert (written(pipfile), written(pipfile, DEV), pipfile.requires) == (
        ["flask *"],
        ["pytest ==8"],
        [("Python", "3.12")],
    )


def test_requirements_are_read_as_pip_reads_them() -> None:
    text = """\
# pinned
-r base.txt
--index-url https://example.org/simple
flask==3.0 \\
    --hash=sha256:abc
celery[redis]>=5  # queue
-e ./local
./wheel.whl
"""
    manifest = parsed("requirements.txt", text)
    assert written(manifest, ("listed", "")) == ["flask ==3.0", "celery[redis] >=5"]
    assert manifest.spans["listed", ""] == (4, 6)
    assert remarks(manifest) == {"requirements_references": {"n": 2}, "odd_entries": {"n": 1}}
    assert written(parsed("requirements-dev.txt", "ruff\n"), DEV) == ["ruff"]


def test_package_json() -> None:
    text = """\
{
  "name": "@scope/app", "version": "2.0.0", "license": "ISC", "private": true,
  "engines": {"node": ">=20"},
  "bin": {"app": "./bin/app.js"},
  "main": "./lib/index.js",
  "scripts": {"build": "tsc", "test": "vitest"},
  "workspaces": {"packages": ["packages/*"]},
  "dependencies": {
    "react": "^18.2.0",
    "left-pad": "*"
  },
  "peerDependencies": {"react-dom": ">=18"},
  "devDependencies": {"vitest": "1"}
}
"""
    manifest = parsed("package.json", text)
    assert written(manifest) == ["react ^18.2.0", "left-pad *"]
    assert lines(text, manifest.spans[RUNTIME]).strip().startswith('"dependencies"')
    assert written(manifest, ("peer", "")) == ["react-dom >=18"]
    assert manifest.requires == [("node", ">=20")]
    assert manifest.entry_files == ["bin/app.js", "lib/index.js"]
    assert (manifest.members, manifest.scripts) == (["packages/*"], ["build", "test"])


def test_composer_tells_the_platform_from_packages() -> None:
    text = """{"name":"a/b","license":["MIT","GPL-2.0"],
        "require":{"php":">=8","ext-json":"*","x/y":"^1"},"require-dev":{"p/u":"10"}}"""
    manifest = parsed("composer.json", text)
    assert manifest.licence == "MIT or GPL-2.0"
    assert manifest.requires == [("PHP", ">=8"), ("ext-json", "*")]
    assert (written(manifest), written(manifest, DEV)) == (["x/y ^1"], ["p/u 10"])


def test_go_mod_tells_direct_from_indirect() -> None:
    text = """\
module example.com/m // the module

go 1.22
toolchain go1.22.1
require github.com/a/b v1.0.0
require (
\tgithub.com/c/d v2.0.0+incompatible
\tgolang.org/x/sync v0.6.0 // indirect
)
replace github.com/a/b => ../b
"""
    manifest = parsed("go.mod", text)
    assert manifest.name == "example.com/m"
    assert manifest.requires == [("Go", "1.22"), ("toolchain", "go1.22.1")]
    assert written(manifest) == ["github.com/a/b v1.0.0", "github.com/c/d v2.0.0+incompatible"]
    assert written(manifest, INDIRECT) == ["golang.org/x/sync v0.6.0"]
    assert manifest.spans[RUNTIME] == (5, 7)
    assert remarks(manifest) == {"go_replace": {"n": 1}}
    assert parsed("go.work", "go 1.22\nuse (\n\t./a\n\t./b\n)\n").members == ["a", "b"]


def test_cargo_reads_tables_targets_and_workspaces() -> None:
    text = """\
[package]
name = "crab"
version.workspace = true
edition = "2021"
[dependencies]
serde = { version = "1", features = ["derive"] }
shared = { workspace = true }
local = { path = "../local" }
[target.'cfg(unix)'.dependencies]
nix = "0.27"
[dev-dependencies]
proptest = "1"
[workspace]
members = ["crates/*"]
[[bin]]
name = "crab"
path = "src/bin/crab.rs"
"""
    manifest = parsed("Cargo.toml", text)
    assert written(manifest) == ["serde 1", "shared (workspace)", "local (path)"]
    assert written(manifest, ("target_runtime", "cfg(unix)")) == ["nix 0.27"]
    assert lines(text, manifest.spans[DEV]) == '[dev-dependencies]\nproptest = "1"'
    assert (manifest.commands, manifest.members) == ([("crab", "src/bin/crab.rs")], ["crates/*"])
    assert manifest.version == ""
    assert "inherited_version" in remarks(manifest)


POM = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <parent><groupId>org.p</groupId><artifactId>parent</artifactId><version>3</version></parent>
  <artifactId>shop</artifactId>
  <properties><java.version>17</java.version><junit>5.10</junit></properties>
  <dependencyManagement><dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId></dependency></dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency><groupId>${project.groupId}</groupId><artifactId>core</artifactId><version>${unknown}</version></dependency>
    <dependency>
      <groupId>junit</groupId><artifactId>junit</artifactId><version>${junit}</version><scope>test</scope>
    </dependency>
  </dependencies>
  <modules><module>web</module></modules>
</project>
"""


def test_pom_fills_in_properties_where_it_can_and_counts_managed_versions_apart() -> None:
    manifest = parsed("pom.xml", POM)
    assert (manifest.name, manifest.version) == ("org.p:shop", "3")
    assert manifest.requires == [("Java", "17")]
    assert written(manifest) == ["org.p:core ${unknown}"]
    assert written(manifest, TEST) == ["junit:junit 5.10"]
    assert "junit" in lines(POM, manifest.spans[TEST])
    assert manifest.members == ["web"]
    assert remarks(manifest) == {"maven_parent": {"parent": "org.p:parent 3"}, "maven_managed": {"n": 1}}


def test_dotnet_projects() -> None:
    text = """\
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup><TargetFramework>net8.0</TargetFramework></PropertyGroup>
  <ItemGroup>
    <PackageReference Include="Serilog" Version="3.1.1" />
    <PackageReference Include="StyleCop" Version="1" PrivateAssets="all" />
    <ProjectReference Include="..\\Core\\Core.csproj" />
  </ItemGroup>
</Project>
"""
    manifest = parsed("src/App/App.csproj", text)
    assert (manifest.name, manifest.build, manifest.requires) == ("App", "Microsoft.NET.Sdk", [(".NET", "net8.0")])
    assert written(manifest) == ["Serilog 3.1.1"]
    assert written(manifest, ("project", "")) == ["../Core/Core.csproj"]


def test_gradle_is_read_for_plain_declarations_and_not_run() -> None:
    text = """\
plugins {
    id("org.springframework.boot") version "3.2.0"
    alias(libs.plugins.kotlin)
}
/* implementation("commented:out:1") */
dependencies {
    implementation("com.squareup.okhttp3:okhttp:4.12.0")
    // implementation("also:commented:1")
    implementation(platform("io.ktor:ktor-bom:2.3"))
    api(libs.coroutines)
    testImplementation 'junit:junit:4.13'
    implementation project(':core')
    implementation(kotlin("stdlib"))
}
"""
    manifest = parsed("build.gradle.kts", text)
    assert written(manifest) == [
        "com.squareup.okhttp3:okhttp 4.12.0",
        "io.ktor:ktor-bom 2.3",
        "libs.coroutines",
        "project :core",
        "kotlin stdlib",
    ]
    assert written(manifest, TEST) == ["junit:junit 4.13"]
    assert manifest.tools == ["org.springframework.boot 3.2.0", "libs.plugins.kotlin"]
    assert "read_not_run" in remarks(manifest)
    assert parsed("settings.gradle", "include ':app', ':lib:core'\n").members == ["app", "lib/core"]
    catalogue = '[versions]\nk = "1.9"\n[libraries]\na = { module = "g:a", version.ref = "k" }\nb = "g:b:2"\n'
    assert written(parsed("gradle/libs.versions.toml", catalogue), ("catalogue", "")) == ["g:a 1.9", "g:b 2"]


def test_gems_belong_to_their_groups() -> None:
    text = """\
source "https://rubygems.org"
ruby "3.3.0"
gemspec
gem "rails", "~> 7.1", ">= 7.1.2"
# gem "commented"
group :development, :test do
  platforms :mri do
    gem "debug"
  end
  gem "rspec"
end
gem 'puma', group: :test
"""
    manifest = parsed("Gemfile", text)
    assert written(manifest) == ["rails ~> 7.1"]
    assert written(manifest, ("group", "development, test")) == ["debug", "rspec"]
    assert written(manifest, TEST) == ["puma"]
    gemspec = 'Gem::Specification.new do |s|\n  s.license = "MIT"\n  s.add_dependency "rack", ">= 2", "< 4"\nend\n'
    assert written(parsed("x.gemspec", gemspec)) == ["rack >= 2, < 4"]
    assert parsed("x.gemspec", gemspec).licence == "MIT"


def test_mix_pubspec_conda_and_pnpm() -> None:
    mix = """\
defmodule X do
  def project do
    [app: :x, version: "0.1.0", elixir: "~> 1.15"]
  end
  defp deps do
    [{:phoenix, "~> 1.7"}, {:credo, "~> 1.7", only: [:dev, :test], runtime: false}]
  end
end
"""
    manifest = parsed("mix.exs", mix)
    assert written(manifest) == ["phoenix ~> 1.7"]
    assert written(manifest, ("group", "dev, test")) == ["credo ~> 1.7"]
    pubspec = "name: app\ndependencies:\n  http: ^1.0.0\n  flutter:\n    sdk: flutter\n  any_pkg: any\n"
    assert written(parsed("pubspec.yaml", pubspec)) == ["http ^1.0.0", "flutter (sdk)", "any_pkg"]
    conda = "name: e\ndependencies:\n  - python=3.11\n  - conda-forge::numpy>=1.2\n  - pip:\n    - flask>=2\n"
    assert written(parsed("environment.yml", conda), ("listed", "")) == ["numpy >=1.2"]
    assert written(parsed("environment.yml", conda), ("group", "pip")) == ["flask >=2"]
    assert parsed("pnpm-workspace.yaml", "packages:\n  - 'p/*'\n").members == ["p/*"]


def test_a_workflow_tells_its_events_and_jobs() -> None:
    workflow = parse_workflow(
        "ci.yml", "name: CI\non:\n  push:\n    branches: [main]\n  pull_request:\njobs:\n  test:\n    x: 1\n"
    )
    assert (workflow.name, workflow.events, workflow.jobs) == ("CI", ["push", "pull_request"], ["test"])
    assert parse_workflow("ci.yml", "on: [push]\njobs: {a: {}}\n").events == ["push"]
    assert parse_workflow("ci.yml", "on: push\n").events == ["push"]
    assert parse_workflow("ci.yml", "\t- :").error


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_that_is_not_whole_states_nothing_or_its_part(name: str) -> None:
    manifest = parsed(name, "x\n" * 10, complete=False)
    kind = format_of(name)
    assert kind is not None
    assert set(remarks(manifest)) & {"only_part" if kind.by_lines else "not_whole"}


def test_a_part_ends_with_its_last_whole_line() -> None:
    manifest = parsed("requirements.txt", "flask==3.0\nrequests==2.3", complete=False)
    assert written(manifest, ("listed", "")) == ["flask ==3.0"]


HOSTILE = {
    "syntax": "[project\nname = \n{{{ <<< \x00",
    "deep json": "[" * 30_000,
    "deep object": '{"a":' * 10_000,
    "deep toml": "a = " + "[" * 20_000,
    "dotted toml": "a" + ".a" * 25_000 + " = 1",
    "deep xml": "<project>" * 5_000,
    "deep yaml": "a: " + "[" * 20_000,
    "deep yaml block": "".join(" " * n + "a:\n" for n in range(300)),
    "billion laughs": '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    "<project>&b;</project>",
    "yaml bomb": "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n",
    "external entity": '<!DOCTYPE p [<!ENTITY x SYSTEM "file:///etc/passwd">]><project><name>&x;</name></project>',
    "long number": '{"version": ' + "9" * 20_000 + "}",
    "no object": "[1, 2]",
    "wrong shapes": '{"dependencies": [1], "scripts": 5, "bin": [], "workspaces": {"packages": 7}, "license": 3,'
    ' "engines": []}',
    "wrong tables": "project = 5\n[tool]\npoetry = [1]\n[dependency-groups]\na = 7\nb = [1, {}]\n[build-system]\n"
    "requires = 3\n",
    "blanks": " \n\t\n" * 10_000,
    "one long line": "x" * 60_000,
    "quotes": "\"'" * 20_000,
    "many groups": "[dependency-groups]\n" + "".join(f'g{n} = ["x"]\n' for n in range(3_000)),
    "group of blanks": "group " + " " * 3_000 + ":" + " " * 3_000,
    "nul": "\x00" * 1000,
    "surrogate": '{"name": "\\ud800"}',
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_manifest_yields_a_manifest_and_soon(name: str, text: str) -> None:
    began = time.process_time()
    manifest = parsed(name, text)
    assert time.process_time() - began < 2
    for remark in manifest.remarks:
        assert "Traceback" not in str(remark.values)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pom.xml", HOSTILE["billion laughs"]),
        ("pom.xml", HOSTILE["external entity"]),
        ("environment.yml", HOSTILE["yaml bomb"]),
        ("package.json", HOSTILE["deep json"]),
        ("pyproject.toml", HOSTILE["deep toml"]),
        ("pyproject.toml", HOSTILE["dotted toml"]),
        ("Cargo.toml", HOSTILE["syntax"]),
        ("package.json", HOSTILE["no object"]),
        ("setup.cfg", "no section"),
    ],
)
def test_what_cannot_be_parsed_is_said_and_states_nothing(name: str, text: str) -> None:
    manifest = parsed(name, text)
    assert not manifest.parsed
    assert list(remarks(manifest)) == ["invalid"]
    assert not manifest.groups


@given(name=st.sampled_from(NAMES), text=st.text(max_size=300), complete=st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_text_makes_a_parser_raise(name: str, text: str, complete: bool) -> None:
    parsed(name, text, complete)

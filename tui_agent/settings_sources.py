"""Where settings come from: which source ranks higher, and the two files among them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_agent.i18n import mark
from tui_agent.request import UsageError
from tui_agent.settings_kinds import SWITCH, Kind

if TYPE_CHECKING:
    from pathlib import Path

# By rank, the lowest first.
RANKS = (mark("default"), "config.toml", ".env", mark("environment"), mark("command line"))
LARGEST_FILE = 1_000_000
# The tables of `config.toml`; everything else there is a setting.
TABLES = frozenset({"profiles", "keys"})


class Found(NamedTuple):
    """A value as one source has it: under which name, and as which text.

    Where a profile has it, name and source are those of what chose the profile, or of the variable of its key.
    """

    name: str
    source: str
    text: str
    profile: str = ""

    @property
    def label(self) -> str:
        """The name and where it stands, for a sentence."""
        if self.source == "command line":
            return self.name
        if self.source == "environment":
            return f"{self.name} (in the environment)"
        return f"{self.name} (in {self.source})"

    @property
    def origin(self) -> str:
        """Where it came from, for a table: the source, or the profile."""
        return f"profile {self.profile}" if self.profile else self.source

    @property
    def rank(self) -> int:
        """Its source's place in `RANKS`."""
        return RANKS.index(self.source)

    def value(self, kind: Kind) -> Any:
        """The text read as its kind; UsageError where it is none."""
        try:
            value = kind.read(self.text)
        except ValueError:
            value = None
        if not kind.holds(value):
            raise bad_value(self.label, kind, self.text)
        return value


def bad_value(label: str, kind: Kind, text: str) -> UsageError:
    """What is wrong with a value; one that may hold a secret is not repeated."""
    if kind.echo:
        return UsageError(f"{label} must be {kind.must}, not {shown(text, 40)!r}.")
    return UsageError(f"{label} must be {kind.must}.")


def read_env_file(cwd: Path | None, env_file: Path | None, ours: Collection[str]) -> Mapping[str, str | None]:
    """The variables of a `.env` file.

    `${NAME}` stays as it is: the file could otherwise copy a key of the environment into an endpoint. A line that is
    no assignment is an error where it speaks of one of our variables; else it is somebody else's.

    Args:
        cwd: the folder whose `.env` is read, where it is a file.
        env_file: read instead, and has to exist.
        ours: the names that mean something here.

    Raises:
        UsageError: the file cannot be read, or a line of ours cannot.
    """
    what = "The file .env in this folder"
    if env_file is not None:
        path, what = env_file, f"The file of --env-file ({shown(str(env_file), 80)})"
    elif cwd is not None and _is_file(cwd / ".env", what):
        path = cwd / ".env"
    else:
        return {}
    text = _read_text(path, what)
    # 45 ms that only a folder with a `.env` pays.
    import io

    from dotenv.parser import parse_stream

    texts: dict[str, str | None] = {}
    for binding in parse_stream(io.StringIO(text)):
        if binding.error and not set(ours).isdisjoint(re.findall(r"\w+", binding.original.string)):
            raise UsageError(f"{what} has a line that cannot be read: line {binding.original.line}.")
        if binding.key is not None:
            texts[binding.key] = binding.value
    return texts


class Config(NamedTuple):
    """What a `config.toml` holds: settings as text, by the name they have there, and its tables."""

    texts: Mapping[str, str]
    tables: Mapping[str, Mapping[str, Any]]


def read_config(path: Path, kinds: Mapping[str, Kind]) -> Config:
    """The settings of a TOML file; empty where there is no file.

    Args:
        path: the file.
        kinds: each name that means something, and what its value is.

    Raises:
        UsageError: the file cannot be read or is no TOML, a name means nothing, a value has the wrong type.
    """
    what = f"The file {shown(str(path), 120)}"
    if not _is_file(path, what):
        return Config({}, {})
    text = _read_text(path, what)
    import tomllib

    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{what} is not valid TOML: {shown(str(error), 120)}.") from error
    texts: dict[str, str] = {}
    tables: dict[str, Mapping[str, Any]] = {}
    for name, value in table.items():
        label = f"{shown(name, 60)} (in config.toml)"
        if name in TABLES:
            if not isinstance(value, dict):
                raise UsageError(f"{label} must be a table.")
            tables[name] = value
            continue
        if name not in kinds:
            raise UsageError(f"{label} is no setting; --help lists them.")
        kind = kinds[name]
        if not isinstance(value, str | int | float) or (isinstance(value, bool) and kind is not SWITCH):
            raise UsageError(f"{label} must be {kind.must}.")
        texts[name] = str(value)
    return Config(texts, tables)


def _is_file(path: Path, what: str) -> bool:
    """Whether a regular file stands there (a folder may: virtual environments are called `.env` as well)."""
    try:
        return path.is_file()
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or 'unknown reason'}.") from error


def _read_text(path: Path, what: str) -> str:
    """A small text file."""
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise UsageError(f"{what} cannot be read: {error.strerror or 'unknown reason'}.") from error
    if len(data) > LARGEST_FILE:
        raise UsageError(f"{what} is too large for a file of settings.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} is not UTF-8 text.") from error


def shown(text: str, width: int) -> str:
    """Text from outside, on one line of so many cells."""
    # `--help` does without.
    from tui_agent.safe_text import one_line

    return one_line(text, width)

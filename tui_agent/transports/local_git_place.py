"""Where a path's git repository is, and whether it can be read at all; nothing in it is executed."""

from __future__ import annotations

import io
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from dulwich.config import ConfigFile

from tui_agent.safe_text import visible
from tui_agent.transports.local_files import read_small
from tui_agent.transports.local_source import LocalRepositoryError
from tui_agent.transports.local_text import decode_name

_HEAD = re.compile(rb"ref:[ \t]*refs/|[0-9a-f]{40}")
# Extensions (Documentation/technical/repository-version.txt) that do not change how objects and refs are read.
_HARMLESS = frozenset({"noop", "noop-v1", "worktreeconfig", "partialclone", "preciousobjects", "relativeworktrees"})
_KNOWN_OBJECTS, _KNOWN_REFS = frozenset({"sha1"}), frozenset({"files", "reftable"})


@dataclass(frozen=True, slots=True)
class GitPlace:
    """A git repository on disk.

    Args:
        root: the folder that a person would name: the working tree, or a bare repository's own folder.
        git_dir: the repository's, or the linked worktree's own.
        common_dir: the repository's that a linked worktree belongs to; else the same.
        work_tree: where its files are checked out; None for a bare one.
        reftable: whether its refs are kept in the reftable format.
        config: its own settings, lower-cased `section.key` to value; none of them is ever a command to run.
    """

    root: Path
    git_dir: str
    common_dir: str
    work_tree: str | None
    reftable: bool
    config: dict[str, str]


def find_git(path: Path) -> GitPlace | None:
    """The repository that a folder lies in, looked for upwards as git does (git(1), GIT_CEILING_DIRECTORIES).

    Args:
        path: an existing folder, resolved.

    Returns:
        None where there is none up to the root of the file system.

    Raises:
        LocalRepositoryError: there is one, and it cannot be read.
    """
    ceilings = {
        os.path.realpath(item) for item in os.environ.get("GIT_CEILING_DIRECTORIES", "").split(os.pathsep) if item
    }
    device = path.stat().st_dev
    for folder in (path, *path.parents):
        if folder != path and (str(folder) in ceilings or folder.stat().st_dev != device):
            return None
        place = _at(folder)
        if place is not None:
            return place
    return None


def _at(folder: Path) -> GitPlace | None:
    inside = folder / ".git"
    mode = _mode(inside)
    if stat.S_ISREG(mode):
        return _open(folder, _linked(inside), folder)
    if stat.S_ISDIR(mode):
        if not may_enter(inside):
            raise LocalRepositoryError(f"{_show(inside)} cannot be read: permission denied.")
        if _is_git_dir(inside):
            return _open(folder, str(inside), folder)
        if any(_mode(inside / part) for part in ("objects", "refs", "config")):
            raise LocalRepositoryError(f"{_show(folder)} holds a damaged git repository: {_missing(inside)}.")
    if _is_git_dir(folder):
        work_tree = folder.parent if folder.name == ".git" else None
        return _open(work_tree or folder, str(folder), work_tree)
    return None


def _linked(file: Path) -> str:
    """The folder that a `.git` file names: of a linked worktree, a submodule, or a repository kept elsewhere."""
    content = read_small(str(file)) or b""
    if not content.startswith(b"gitdir:"):
        raise LocalRepositoryError(f"{_show(file)} is no link to a git repository, though it should be one.")
    target = os.fsdecode(content[len(b"gitdir:") :].strip())
    git_dir = os.path.normpath(file.parent / target)
    if not _is_git_dir(Path(git_dir)):
        raise LocalRepositoryError(
            f"{_show(file)} points to {_show(git_dir)}, where there is no git repository (moved, or deleted?)."
        )
    return git_dir


def _is_git_dir(folder: Path) -> bool:
    """Whether git would take this for a repository (setup.c, is_git_directory)."""
    return _missing(folder) is None


def _missing(folder: Path) -> str | None:
    head = folder / "HEAD"
    is_link = os.path.islink(head)  # noqa: PTH114 - where it cannot be asked, this is no error
    if not is_link and not _HEAD.match(read_small(str(head), limit=4096) or b""):
        return "it has no valid HEAD"
    common = Path(_common_dir(str(folder)))
    for part in ("objects", "refs"):
        if not stat.S_ISDIR(_mode(common / part)):
            return f"it has no {part}"
    return None


def _common_dir(git_dir: str) -> str:
    content = read_small(f"{git_dir}/commondir")
    return os.path.normpath(os.path.join(git_dir, os.fsdecode(content.strip()))) if content else git_dir  # noqa: PTH118


def _open(root: Path, git_dir: str, work_tree: Path | None) -> GitPlace:
    common_dir = _common_dir(git_dir)
    name = _show(root)
    config = _read_config(f"{common_dir}/config", name)
    if config.get("extensions.worktreeconfig", "").lower() in ("true", "yes", "on", "1"):
        config |= _read_config(f"{git_dir}/config.worktree", name)
    version = config.get("core.repositoryformatversion", "0")
    if version not in ("0", "1"):
        raise LocalRepositoryError(
            f"{name} uses version {version} of git's repository format, which is not known here."
        )
    storage = config.get("extensions.refstorage", "files").lower()
    if version == "1" or storage != "files":
        _check_extensions(name, config)
    if git_dir == common_dir and config.get("core.bare", "").lower() in ("true", "yes", "on", "1"):
        work_tree = None
    return GitPlace(
        root=root,
        git_dir=git_dir,
        common_dir=common_dir,
        work_tree=None if work_tree is None else str(work_tree),
        reftable=storage == "reftable",
        config=config,
    )


def _check_extensions(name: str, config: dict[str, str]) -> None:
    for key, value in config.items():
        section, _, extension = key.partition(".")
        if section != "extensions" or extension in _HARMLESS:
            continue
        if extension == "objectformat" and value.lower() not in _KNOWN_OBJECTS:
            raise LocalRepositoryError(
                f"{name} names its objects by {value.upper()}, which GitHub's API has no place for; "
                "only SHA-1 repositories can be read."
            )
        if extension == "refstorage" and value.lower() not in _KNOWN_REFS:
            raise LocalRepositoryError(f"{name} keeps its refs in the format {value!r}, which is not known here.")
        if extension not in ("objectformat", "refstorage"):
            raise LocalRepositoryError(f"{name} needs git's extension {extension!r}, which is not known here.")


def _read_config(path: str, name: str) -> dict[str, str]:
    """A configuration file's settings; files that it would include are not looked at."""
    content = read_small(path)
    if content is None:
        return {}
    try:
        parsed = ConfigFile.from_file(io.BytesIO(content), expand_includes=False)
    except ValueError as error:
        raise LocalRepositoryError(f"{name} has a damaged git configuration: {error}.") from error
    settings: dict[str, str] = {}
    for section in parsed.sections():
        if len(section) == 1:
            for key, value in parsed.items(section):
                settings[f"{decode_name(section[0])}.{decode_name(key)}".lower()] = decode_name(value)
    return settings


def may_enter(folder: Path) -> bool:
    """Whether a folder can be listed and what it holds be looked at."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                entry.stat(follow_symlinks=False)
                break
    except PermissionError:
        return False
    return True


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _show(path: Path | str) -> str:
    return visible(decode_name(os.fsencode(path)), keep="")


def user_excludes(config: dict[str, str]) -> bytes | None:
    """The patterns that a person has ignored everywhere (gitignore(5), core.excludesFile).

    Args:
        config: the repository's settings, which go before the person's own.
    """
    home = os.path.expanduser("~")  # noqa: PTH111 - where there is no home, this is no error
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config") / "git"
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    named = config.get("core.excludesfile")
    for file in [chosen] if chosen is not None else [f"{home}/.gitconfig", str(folder / "config")]:
        if named is None:
            try:
                named = _read_config(file, file).get("core.excludesfile")
            except LocalRepositoryError:
                continue
    return read_small(os.path.expanduser(named) if named else str(folder / "ignore"))  # noqa: PTH111 - as above

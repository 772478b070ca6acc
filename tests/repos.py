"""Real git repositories for tests, built by the git binary: the same commits, hence the same hashes, each time."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

Files = Mapping[str, "bytes | str | Path | None"]
"""Path to content; text for UTF-8, a `Path` for a symbolic link to it, None to delete the file."""
Step = tuple[str, Files] | tuple[str, Files, str, str]
"""Message, files, and, where they matter, the author (`Name <email>`) and the date (`2024-02-20 10:14:59 +0100`)."""

AUTHOR = "Ada Author <ada@example.org>"
DATE = "2024-02-{day:02d} 10:14:59 +0000"


def git_environment(author: str = AUTHOR, date: str = DATE.format(day=1)) -> dict[str, str]:
    """An environment in which git knows no settings but its own, with a fixed author and date."""
    name, _, email = author.rstrip(">").partition(" <")
    kept = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return {
        **kept,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_DEFAULT_REF_FORMAT": "files",
        "GIT_DEFAULT_HASH": "sha1",
        **{
            f"GIT_{who}_{what}": value
            for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", name), ("EMAIL", email), ("DATE", date))
        },
    }


def git(
    folder: Path, *arguments: str, data: bytes | None = None, author: str = AUTHOR, date: str = DATE.format(day=1)
) -> bytes:
    """Run git in a folder and return what it prints; fails where git does."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=git_environment(author, date), input=data, capture_output=True, check=False
    )
    if done.returncode:
        raise AssertionError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace')}")
    return done.stdout


def make_repo(path: Path, steps: Sequence[Step] = (), *, branch: str = "main", object_format: str = "sha1") -> Path:
    """A repository with one commit a step.

    Args:
        path: a folder that does not exist yet, or is empty.
        steps: what each commit changes; where no date is given, each is a day after the one before.
        branch: that HEAD names.
        object_format: of git init.
    """
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "-b", branch, f"--object-format={object_format}")
    for number, step in enumerate(steps):
        message, files, author, date = step if len(step) == 4 else (*step, AUTHOR, DATE.format(day=number % 28 + 1))
        commit(path, message, files, author=author, date=date)
    return path


def commit(
    path: Path, message: str, files: Files | None = None, *, author: str = AUTHOR, date: str = DATE.format(day=1)
) -> str:
    """Change files, commit everything, and return the new commit's SHA."""
    write(path, files or {})
    git(path, "add", "-A", "-f")
    git(
        path, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "--allow-empty-message",
        "--cleanup=verbatim", "-F", "-", data=message.encode(), author=author, date=date,
    )  # fmt: skip
    return sha(path)


def write(path: Path, files: Files) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        place = path / name
        if place.is_symlink() or place.is_file():
            place.unlink()
        elif place.is_dir() and content is None:
            shutil.rmtree(place)
        if content is None:
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            place.symlink_to(content)
        else:
            place.write_bytes(content.encode() if isinstance(content, str) else content)


def sha(path: Path, name: str = "HEAD") -> str:
    """The full SHA of what a name stands for."""
    return git(path, "rev-parse", name).decode().strip()

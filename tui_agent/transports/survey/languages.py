"""How many bytes each language of a tree takes, by file extensions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tui_agent.languages import FAMILY, LANGUAGE
from tui_agent.transports.survey.listing import Listing, Share

OTHER_BUCKET = "(other)"
# Names that tools give to what they write; nobody edits these by hand.
_GENERATED = re.compile(
    r"(?:[.-]min\.(?:js|css|mjs)|\.bundle\.js|\.chunk\.js|_pb2(?:_grpc)?\.pyi?|\.pb\.(?:go|cc|h|dart)|_generated\.\w+"
    r"|\.designer\.cs|\.g\.(?:dart|cs)|\.freezed\.dart)$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Languages:
    """Bytes by language, with what was left out of the count and why."""

    shares: dict[str, Share] = field(default_factory=dict)
    families: dict[str, Share] = field(default_factory=dict)
    left_out_dirs: dict[str, Share] = field(default_factory=dict)
    left_out_files: dict[str, int] = field(default_factory=dict)
    rare_files: int = 0
    rare_in_left_out: bool = False

    @property
    def total(self) -> int:
        """Bytes in files whose extension names a language."""
        return sum(share.size for share in self.shares.values())

    def main(self) -> tuple[str, float] | None:
        """The language of most bytes and its share of them, from 0 to 1; None where there is no code."""
        if not self.total:
            return None
        name = max(self.shares, key=lambda language: self.shares[language].size)
        return name, self.shares[name].size / self.total


def language_of(path: str) -> str | None:
    """The language that a file's extension names."""
    return LANGUAGE.get(PurePosixPath(path).suffix.lower())


def is_generated(path: str) -> bool:
    """Whether a file's name is one that tools give to what they write."""
    return _GENERATED.search(path) is not None


def by_language(shares: Mapping[str, Share]) -> dict[str, Share]:
    """A listing's `by_extension` summed by language, the largest first."""
    summed: dict[str, Share] = {}
    for extension, share in shares.items():
        language = LANGUAGE.get(extension.lower())
        if language:
            old = summed.get(language, Share(0, 0))
            summed[language] = Share(old.files + share.files, old.size + share.size)
    return dict(sorted(summed.items(), key=lambda item: (-item[1].size, item[0])))


def count_languages(root: Listing, vendored: Iterable[Listing]) -> Languages:
    """Languages of a tree without its vendored directories and the generated files known by name.

    Args:
        root: the root's listing; its `by_extension` covers the whole tree.
        vendored: the listings of the directories to leave out.
    """
    result = Languages()
    counts = {extension: [share.files, share.size] for extension, share in root.by_extension.items()}
    # Only what the root's own table names can be taken off it exactly.
    for listing in vendored:
        if not listing.files:
            continue
        result.left_out_dirs[listing.path] = Share(listing.files, listing.size or 0)
        result.rare_in_left_out |= OTHER_BUCKET in listing.by_extension
        for extension, share in listing.by_extension.items():
            if extension in counts and extension != OTHER_BUCKET:
                counts[extension][0] -= share.files
                counts[extension][1] -= share.size
    for path, size in root.largest:
        extension = PurePosixPath(path).suffix
        inside = any(path.startswith(f"{directory}/") for directory in result.left_out_dirs)
        key = next((known for known in (extension, extension.lower()) if known in counts), None)
        if is_generated(path) and not inside and key is not None:
            result.left_out_files[path] = size
            counts[key][0] -= 1
            counts[key][1] -= size
    left = {key: Share(files, size) for key, (files, size) in counts.items() if files > 0 and size > 0}
    result.shares = by_language(left)
    for extension, share in left.items():
        family = FAMILY.get(extension.lower())
        if family:
            old = result.families.get(family, Share(0, 0))
            result.families[family] = Share(old.files + share.files, old.size + share.size)
    result.rare_files = root.by_extension.get(OTHER_BUCKET, Share(0, 0)).files
    return result

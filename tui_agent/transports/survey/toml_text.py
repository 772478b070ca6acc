"""TOML, guarded: a key of thousands of parts would keep the standard parser busy for minutes."""

from __future__ import annotations

import re
import tomllib

from tui_agent.transports.survey.manifest_model import ManifestError
from tui_agent.transports.survey.shapes import Json

_MOST_PARTS = 64
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_JOINT = re.compile(r"[\w\-][ \t]*\.[ \t]*(?=[\w\-])")


def load_toml(text: str) -> Json:
    """The document as a dictionary.

    Raises:
        ManifestError: where it is nested beyond reason.
        ValueError: where it is no TOML.
    """
    for piece in re.split(r"[,=\[\]{}\n]", _QUOTED.sub("q", text)):
        if piece.count(".") > _MOST_PARTS and len(_JOINT.findall(piece)) > _MOST_PARTS:
            raise ManifestError(f"a key has more than {_MOST_PARTS} parts")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise ManifestError("nested too deeply") from error

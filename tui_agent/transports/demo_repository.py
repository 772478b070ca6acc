"""The repository that the demo explores: small, made for it, with a history of its own."""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """One commit: `files` are written (None deletes); `date` in epoch seconds, UTC."""

    message: str
    author: str
    date: int
    files: dict[str, str | None]


_README = """\
# tidepool

Tides for small boats: tidepool computes high and low water for a harbour from its harmonic constants, offline.

## Install

    pip install tidepool

## Use

    tidepool next --harbour examples/harbour.json

The prediction is a sum of cosines, one for each constituent (M2, S2, K1, O1). It knows nothing of wind and pressure:
never navigate by it alone.
"""

_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "tidepool"
version = "0.4.0"
description = "Tides for small boats, computed offline"
requires-python = ">=3.11"
license = "MIT"
dependencies = ["click>=8.1", "numpy>=1.26"]

[project.optional-dependencies]
plot = ["matplotlib>=3.8"]

[project.scripts]
tidepool = "tidepool.cli:main"

[dependency-groups]
dev = ["pytest>=8", "ruff"]
"""

_LICENSE = """\
MIT License

Copyright (c) 2025 The tidepool authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""

_TIDE = '''\
"""The height of the water as a sum of cosines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Constituent:
    """One term of the tide: amplitude in metres, speed in degrees an hour, phase in degrees."""

    name: str
    amplitude: float
    speed: float
    phase: float


def height(constituents: list[Constituent], hours: np.ndarray, mean: float = 0.0) -> np.ndarray:
    """Height above the datum in metres at each of `hours` since the epoch of the phases."""
    level = np.full_like(hours, mean, dtype=float)
    for c in constituents:
        level += c.amplitude * np.cos(np.radians(c.speed * hours - c.phase))
    return level


def turning_points(hours: np.ndarray, level: np.ndarray) -> list[tuple[float, float]]:
    """High and low waters: where the slope changes its sign."""
    slope = np.diff(level)
    turns = np.nonzero(np.sign(slope[1:]) != np.sign(slope[:-1]))[0] + 1
    return [(float(hours[i]), float(level[i])) for i in turns]
'''

_CLI = '''\
"""The command line: `tidepool next --harbour FILE`."""

from __future__ import annotations

import json

import click
import numpy as np

from tidepool.tide import Constituent, height, turning_points


@click.group()
def main() -> None:
    """Tides for small boats."""


@main.command("next")
@click.option("--harbour", type=click.File(), required=True)
def next_tide(harbour) -> None:
    """The next high and low waters."""
    constituents = [Constituent(**item) for item in json.load(harbour)]
    hours = np.arange(0.0, 25.0, 0.05)
    for hour, level in turning_points(hours, height(constituents, hours)):
        click.echo(f"{hour:5.1f} h  {level:+.2f} m")
'''

_TEST = """\
import numpy as np

from tidepool.tide import Constituent, height, turning_points

M2 = Constituent("M2", 1.2, 28.984, 0.0)


def test_height_at_the_phase_is_the_amplitude():
    assert np.isclose(height([M2], np.array([0.0]))[0], 1.2)


def test_two_highs_and_two_lows_a_day():
    hours = np.arange(0.0, 24.9, 0.05)
    assert len(turning_points(hours, height([M2], hours))) == 3
"""

_HARBOUR = """\
[
  {"name": "M2", "amplitude": 1.21, "speed": 28.984, "phase": 118.0},
  {"name": "S2", "amplitude": 0.38, "speed": 30.0, "phase": 160.0},
  {"name": "K1", "amplitude": 0.07, "speed": 15.041, "phase": 20.0},
  {"name": "O1", "amplitude": 0.06, "speed": 13.943, "phase": 310.0}
]
"""

_CI = """\
name: tests
on: [push, pull_request]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e . --group dev
      - run: pytest
"""

_DOCS = """\
# How it computes

The level is a mean plus one cosine for each constituent. Speeds come from astronomy and are the same everywhere;
amplitudes and phases belong to a harbour and come from its tide tables.
"""

_CHANGES = """\
# Changes

## 0.4.0

- `tidepool next` shows low waters too.

## 0.3.0

- First public release.
"""

COMMITS = [
    Change(
        "Compute the height of the tide",
        "Mara Quay",
        1748854800,
        {"README.md": _README, "LICENSE": _LICENSE, "src/tidepool/__init__.py": "", "src/tidepool/tide.py": _TIDE},
    ),
    Change(
        "Package it",
        "Mara Quay",
        1750237200,
        {"pyproject.toml": _PYPROJECT.replace("0.4.0", "0.3.0"), ".gitignore": "__pycache__/\n.venv/\n"},
    ),
    Change(
        "Add the command line\n\nReads a harbour's constants from JSON.",
        "Ben Sluice",
        1752224400,
        {"src/tidepool/cli.py": _CLI, "examples/harbour.json": _HARBOUR},
    ),
    Change("Test the tide", "Ben Sluice", 1754211600, {"tests/test_tide.py": _TEST}),
    Change("Run the tests on every push", "Mara Quay", 1755853200, {".github/workflows/tests.yml": _CI}),
    Change("Explain the computation", "Ines Marsh", 1758272400, {"docs/computation.md": _DOCS}),
    Change(
        "Release 0.4.0: low waters too",
        "Mara Quay",
        1760950800,
        {"pyproject.toml": _PYPROJECT, "CHANGELOG.md": _CHANGES},
    ),
]
"""Oldest first."""

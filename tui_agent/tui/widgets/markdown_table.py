"""Tables that fit: columns as wide as they need if there is room, else wrapped, else one row below the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from tui_agent.tui.widgets.markdown_inline import Inline, Piece, Run, Styles, combine
from tui_agent.tui.widgets.markdown_parse import Node

LEAST_COLUMN = 7
"""Cells below which a column that needs more is not squeezed."""
BETWEEN = " │ "

_EMPTY = Inline(())


def table_lines(table: Node, width: int, outer: Styles) -> Iterator[Piece]:
    """The lines of a table.

    Args:
        table: rows of cells, the first row being the head.
        width: terminal cells that a line may take.
        outer: styles of what is around the table.
    """
    rows = [[cell.inline or _EMPTY for cell in row.children] for row in table.children]
    if not rows or not rows[0]:
        return
    needed = [max(row[column].cells if column < len(row) else 0 for row in rows) for column in range(len(rows[0]))]
    widths = fit(needed, width - len(BETWEEN) * (len(needed) - 1))
    if widths is None:
        yield from _records(rows, width, outer)
    else:
        yield from _grid(rows, widths, [cell.align for cell in table.children[0].children], outer)


def fit(needed: Sequence[int], room: int) -> list[int] | None:
    """Widths of columns that need so many cells each; None where they would be too narrow to read.

    What the narrow columns leave over is shared by the wide ones.
    """
    if sum(needed) <= room:
        return [max(1, cells) for cells in needed]
    if room < len(needed):
        return None
    widths = [0] * len(needed)
    left = len(needed)
    for cells, column in sorted((cells, column) for column, cells in enumerate(needed)):
        share = room // left
        widths[column] = max(1, min(cells, share))
        if widths[column] < min(cells, LEAST_COLUMN):
            return None
        room -= widths[column]
        left -= 1
    return widths


def _grid(
    rows: Sequence[Sequence[Inline]], widths: Sequence[int], aligns: Sequence[str], outer: Styles
) -> Iterator[Piece]:
    line = combine(outer, ("table-line",))
    head = combine(outer, ("table-head",))
    between = Run(BETWEEN, line)
    wrapped = [
        [(row[column] if column < len(row) else _EMPTY).wrapped(cells) for column, cells in enumerate(widths)]
        for row in rows
    ]
    parted = any(len(cell) > 1 for row in wrapped[1:] for cell in row)
    for number, row in enumerate(wrapped):
        if number == 1 or (number > 1 and parted):
            stroke, cross = ("━", "━┿━") if number == 1 else ("─", "─┼─")
            yield Piece((Run(cross.join(stroke * cells for cells in widths), line, decor=True),), "\n")
        for height in range(max(map(len, row))):
            runs: list[Run] = []
            for column, cell in enumerate(row):
                if column:
                    runs.append(between)
                runs += _cell(cell, height, widths[column], aligns[column], outer if number else head)
            yield Piece(tuple(runs), "\n")


def _cell(cell: Sequence[Piece], height: int, cells: int, align: str, styles: Styles) -> Iterator[Run]:
    runs = cell[height].runs if height < len(cell) else ()
    missing = cells - sum(cell_len(run.text) for run in runs)
    left = missing if align == "right" else missing // 2 if align == "center" else 0
    if left > 0:
        yield Run(" " * left, styles)
    for run in runs:
        yield run._replace(styles=combine(styles, run.styles)) if styles else run
    if missing > left:
        yield Run(" " * (missing - left), styles)


def _records(rows: Sequence[Sequence[Inline]], width: int, outer: Styles) -> Iterator[Piece]:
    """Each row by itself, a line (or a few) a cell, each after its column's name."""
    head = combine(outer, ("table-head",))
    line = combine(outer, ("table-line",))
    for number, row in enumerate(rows[1:] or rows):
        if number:
            yield Piece((Run("─" * width, line, decor=True),), "\n")
        for name, cell in zip(rows[0], row, strict=False):
            if cell is _EMPTY or not cell.text:
                continue
            runs = [run._replace(styles=combine(head, run.styles)) for run in name.runs] if rows[1:] else []
            if runs:
                runs.append(Run(": ", head))
            runs += [run._replace(styles=combine(outer, run.styles)) for run in cell.runs]
            yield from Inline(runs).wrapped(width)

"""Covariance matrices as text: sample size, names, lower triangle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import DataError


def read_covariance(path: str | Path) -> tuple[NDArray[np.float64], int, tuple[str, ...]]:
    """Matrix, sample size, and names from a file in Tetrad's lower-triangle format.

    The first line holds n, the second the names, the following ones the rows of the lower
    triangle; tabs, spaces, and runs of them separate. Refusals name the line.
    """
    return parse_covariance(Path(path).read_text(encoding="utf-8"), str(path))


def format_covariance(matrix: NDArray[np.float64], n: int, names: Sequence[str]) -> str:
    """The text of a file that `read_covariance` reads back with every digit."""
    spaced = [name for name in names if len(name.split()) != 1]
    if spaced:
        raise DataError(f"names in a covariance file must have no spaces; rename {spaced[0]!r}.")
    rows = [" ".join(map(repr, row[: i + 1])) for i, row in enumerate(matrix.tolist())]
    return "\n".join([str(n), " ".join(names), *rows]) + "\n"


def parse_covariance(text: str, where: str) -> tuple[NDArray[np.float64], int, tuple[str, ...]]:
    """The same from a text; `where` names it in refusals."""
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, cells) for number, cells in lines if cells]
    if len(lines) < 3:
        raise DataError(f"{where}: expected sample size, names, and a lower triangle.")
    n = _sample_size(lines[0], where)
    names = tuple(lines[1][1])
    rows = lines[2:]
    if len(rows) != len(names):
        raise DataError(
            f"{where}, line {rows[-1][0]}: {len(rows)} rows for {len(names)} names; the lower "
            "triangle needs one row a name."
        )
    matrix = np.zeros((len(names), len(names)))
    for i, (number, cells) in enumerate(rows):
        if len(cells) != i + 1:
            raise DataError(
                f"{where}, line {number}: {len(cells)} numbers; row {i + 1} of a lower triangle "
                f"has {i + 1}."
            )
        try:
            matrix[i, : i + 1] = [float(cell) for cell in cells]
        except ValueError as problem:
            raise DataError(f"{where}, line {number}: {problem}.") from None
    return matrix + np.tril(matrix, -1).T, n, names


def _sample_size(line: tuple[int, list[str]], where: str) -> int:
    number, cells = line
    if len(cells) != 1 or not cells[0].isdigit():
        raise DataError(
            f"{where}, line {number}: expected the sample size alone, got {' '.join(cells)!r}."
        )
    return int(cells[0])

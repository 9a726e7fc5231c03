"""Reading tables and graphs, and writing files so that a failure leaves nothing half done."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from loopscm.errors import DataError
from loopscm.graph import LatentGraph
from loopscm.stats import GaussianStats


def read_stats(path: Path, *, center: bool) -> GaussianStats:
    """Statistics of a table with a header line (.csv, .tsv) or a covariance file (.cov.txt)."""
    if path.is_file() and path.name.endswith(".cov.txt"):
        from loopscm.datasets import read_covariance

        S, n, names = read_covariance(path)
        return GaussianStats.from_covariance(S, n, names)
    rows, names = _table(path)
    return GaussianStats.from_data(rows, names=names, center=center)


def read_halves(path: Path) -> tuple[GaussianStats, GaussianStats]:
    """Statistics of every second row of a table, and of the other rows about the same means."""
    rows, names = _table(path)
    if len(rows) < 4:
        raise DataError(f"{path} has {len(rows)} data rows; splitting it takes at least 4.")
    values = np.array(rows)
    values = values - values[::2].mean(axis=0)
    first, second = (
        GaussianStats.from_data(part, names=names, center=False)
        for part in (values[::2], values[1::2])
    )
    return first, second


def _table(path: Path) -> tuple[Any, list[str]]:
    import csv

    if not path.is_file():
        raise DataError(f"{path} is not a file; give a .csv or .tsv table with a header line.")
    with path.open(encoding="utf8", newline="") as stream:
        rows = list(csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ","))
    if len(rows) < 2:
        raise DataError(f"{path} has no data rows below its header line.")
    names, body = rows[0], [row for row in rows[1:] if row]
    ragged = next((k for k, row in enumerate(body, 2) if len(row) != len(names)), None)
    if ragged is not None:
        raise DataError(f"{path}, line {ragged}: expected {len(names)} fields as in the header.")
    return [[_number(cell, path, k) for cell in row] for k, row in enumerate(body, 2)], names


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        raise DataError(f"{path}, line {line}: {cell!r} is not a number.") from None


def edge_list(graph: LatentGraph) -> str:
    """A graph as the text that `loopscm compare` reads."""
    lines = [f"# observed: {' '.join(graph.names)}"]
    if graph.n_latent:
        lines.append(f"# latent: {' '.join(graph.latent_names)}")
    return "\n".join([*lines, *("\t".join(edge) for edge in graph.to_edges())]) + "\n"


def write_atomically(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid4().hex}")  # not mkstemp: private to its owner
    try:
        with temporary.open("x", encoding="utf8") as stream:
            stream.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise

"""Reading tables and graphs, and writing files so that a failure leaves nothing half done."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from uuid import uuid4

import numpy as np

from loopscm.errors import DataError, OptionError
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


def read_text(path: Path) -> str:
    """The text of a file in UTF-8, without the mark that some programs put first."""
    try:
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{path} is not text in UTF-8; save it as UTF-8.") from None


def _table(path: Path) -> tuple[list[list[float]], list[str]]:
    """The rows of numbers and the header line."""
    if not path.is_file():
        raise DataError(f"{path} is not a file; give a .csv or .tsv table with a header line.")
    separator = "\t" if path.suffix == ".tsv" else ","
    rows = list(csv.reader(StringIO(read_text(path)), delimiter=separator))
    if len(rows) < 2:
        raise DataError(f"{path} has no data rows below its header line.")
    names = _header(rows[0], separator, path)
    body = [(line, row) for line, row in enumerate(rows[1:], 2) if row]
    ragged = next((line for line, row in body if len(row) != len(names)), None)
    if ragged is not None:
        raise DataError(f"{path}, line {ragged}: expected {len(names)} fields as in the header.")
    return [[_number(cell, path, line) for cell in row] for line, row in body], names


def _header(cells: list[str], separator: str, path: Path) -> list[str]:
    """The names of the columns, once it is plausible that they are names."""
    names = [cell.strip() for cell in cells]
    other = next((mark for mark in ";\t," if len(names) == 1 and mark in names[0]), None)
    if other is not None:
        words = {";": "semicolons", "\t": "tabs", ",": "commas"}
        raise DataError(
            f"{path} seems to be separated by {words[other]}, not {words[separator]}; use commas "
            "in a .csv file and tabs in a .tsv file."
        )
    if "" in names:
        raise DataError(
            f"{path}: column {names.index('') + 1} has no name in the header line; name it, or "
            "remove it if it only numbers the rows."
        )
    if all(_is_measurement(name) for name in names):
        raise DataError(f"{path} begins with numbers; add a header line with the variables' names.")
    return names


def _is_measurement(text: str) -> bool:
    """Whether this is a number, and no column number that may serve as a name."""
    try:
        float(text)
    except ValueError:
        return False
    return not text.isdigit()


def _number(cell: str, path: Path, line: int) -> float:
    try:
        return float(cell) if cell.strip() else float("nan")
    except ValueError:
        raise DataError(
            f"{path}, line {line}: {cell!r} is not a number; encode it, or remove the line or the "
            "column."
        ) from None


def edge_list(graph: LatentGraph) -> str:
    """A graph as the text that `loopscm compare` reads."""
    lines = [f"# observed: {' '.join(graph.names)}"]
    if graph.n_latent:
        lines.append(f"# latent: {' '.join(graph.latent_names)}")
    return "\n".join([*lines, *("\t".join(edge) for edge in graph.to_edges())]) + "\n"


def check_writable(path: Path, endings: tuple[str, ...]) -> None:
    """Refuse a file that could not be written, or would not be what its name says."""
    if path.suffix.lower() not in endings:
        raise OptionError(
            f"cannot write {path}; choose a name that ends in {' or '.join(endings)}."
        )
    if path.is_dir():
        raise OptionError(f"cannot write {path}, which is a folder; give the name of a file.")


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

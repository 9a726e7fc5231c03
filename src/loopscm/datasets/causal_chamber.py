"""A loader for Causal Chambers files that the user has downloaded."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import numpy as np

from loopscm._checks import frozen, listed
from loopscm.datasets.dataset import Dataset, Reference
from loopscm.errors import DataError
from loopscm.graph import LatentGraph

NAME = "causal-chamber-pressure-control"
TITLE = "wind tunnel whose fans are steered by a pressure sensor: a real feedback loop"
EXPERIMENT = "hatch_0.csv"
URL = "https://causalchamber.s3.eu-central-1.amazonaws.com/downloadables/wt_pressure_control_v1.zip"
INSTRUCTIONS = (
    f"Causal Chambers data are not bundled (CC BY 4.0, 10,000 rows). Download {URL} (MD5 "
    "8cb1c9bf19cedc5baea7a9c15e54af6a), then call datasets.load_causal_chamber(path), or "
    f"`loopscm datasets {NAME} --export FILE --path PATH`, with the zip file, the unpacked "
    f"folder, or {EXPERIMENT} itself."
)
# Effects of the wind tunnel (Gamella et al. 2025); the last row is the controller.
EFFECTS = {
    "hatch": "rpm_in rpm_out pressure_upwind pressure_downwind pressure_intake mic",
    "pot_1": "mic signal_1 signal_2",
    "pot_2": "signal_2",
    "osr_1": "signal_1",
    "osr_2": "signal_2",
    "osr_mic": "mic",
    "osr_in": "current_in",
    "osr_out": "current_out",
    "osr_upwind": "pressure_upwind",
    "osr_downwind": "pressure_downwind",
    "osr_ambient": "pressure_ambient",
    "osr_intake": "pressure_intake",
    "v_1": "signal_1",
    "v_2": "signal_2",
    "v_mic": "mic",
    "v_in": "current_in",
    "v_out": "current_out",
    "load_in": "current_in current_out rpm_in rpm_out pressure_upwind pressure_downwind "
    "pressure_intake mic",
    "load_out": "current_in current_out rpm_in rpm_out pressure_upwind pressure_downwind "
    "pressure_intake mic",
    "res_in": "rpm_in",
    "res_out": "rpm_out",
    "pressure_downwind": "load_in load_out",
}


def load_causal_chamber(path: str | Path | None = None) -> Dataset:
    """The wind tunnel under pressure control, from a downloaded zip, folder, or CSV file.

    Columns that never vary (settings held fixed) are left out, of the graph as well: a
    constant confounds nothing.
    """
    if path is None or not Path(path).exists():
        missing = "" if path is None else f"{path} does not exist. "
        raise DataError(f"{missing}{INSTRUCTIONS}")
    with _open(Path(path)) as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        variables = sorted(set(EFFECTS) | {v for heads in EFFECTS.values() for v in heads.split()})
        absent = [name for name in variables if name not in header]
        if absent:
            raise DataError(
                f"{path} lacks the column(s) {listed(absent)}; it is not {EXPERIMENT} of the "
                f"pressure-control data. {INSTRUCTIONS}"
            )
        columns = [j for j, name in enumerate(header) if name in variables]
        data = _numbers(rows, columns, header, path)
    varying = np.flatnonzero((data != data[0]).any(axis=0))
    names = [header[columns[j]] for j in varying]
    fixed = [header[columns[j]] for j in np.setdiff1d(np.arange(len(columns)), varying)]
    return Dataset(
        name=NAME,
        title=TITLE,
        variables=tuple(names),
        source="Causal Chambers, wt_pressure_control_v1; Gamella, Peters, Bühlmann (2025)",
        licence="CC BY 4.0 (the user's download)",
        notes=(
            f"Constant columns left out: {', '.join(fixed)}. Rows are a time series. The "
            "controller has memory (error, delta_error, sum_error), left out here as in the "
            "published graph."
        ),
        n=len(data),
        data=frozen(data[:, varying].copy()),
        references={"ground-truth": Reference(_graph(names), "causalchamber, wind tunnel")},
    )


def _graph(names: list[str]) -> LatentGraph:
    edges = [(tail, head) for tail, heads in EFFECTS.items() for head in heads.split()]
    kept = [(tail, head) for tail, head in edges if tail in names and head in names]
    return LatentGraph.from_edges(kept, names=names)


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """The experiment's CSV text, wherever it lies."""
    if path.is_dir():
        found = sorted(path.rglob(EXPERIMENT))
        if not found:
            raise DataError(f"{path} holds no {EXPERIMENT}. {INSTRUCTIONS}")
        path = found[0]
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            inside = [name for name in archive.namelist() if name.endswith(EXPERIMENT)]
            if not inside:
                raise DataError(f"{path} holds no {EXPERIMENT}. {INSTRUCTIONS}")
            with archive.open(inside[0]) as stream:
                yield io.TextIOWrapper(stream, encoding="utf-8", newline="")
        return
    with path.open(encoding="utf-8", newline="") as stream:
        yield stream


def _numbers(
    rows: Iterator[list[str]], columns: list[int], header: list[str], path: str | Path
) -> np.ndarray:
    values = []
    for number, row in enumerate(rows, 2):
        try:
            values.append([float(row[j]) for j in columns])
        except (ValueError, IndexError):
            wrong = next((header[j] for j in columns if not _is_number(row, j)), "?")
            raise DataError(f"{path}, line {number}: column {wrong!r} holds no number.") from None
    if len(values) < 2:
        raise DataError(f"{path} has fewer than two observations.")
    return np.array(values)


def _is_number(row: list[str], j: int) -> bool:
    try:
        float(row[j])
    except (ValueError, IndexError):
        return False
    return True

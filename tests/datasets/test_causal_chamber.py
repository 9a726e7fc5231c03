"""The loader for downloaded Causal Chambers files, on a made-up file of the same form."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

from loopscm.datasets import describe, load, load_causal_chamber
from loopscm.datasets.causal_chamber import EFFECTS, EXPERIMENT
from loopscm.errors import DataError

VARYING = ("load_in", "load_out", "rpm_in", "pressure_downwind", "pressure_ambient", "mic")


def variables():
    return sorted(set(EFFECTS) | {head for heads in EFFECTS.values() for head in heads.split()})


def text(rows=6, without=()):
    rng = np.random.default_rng(0)
    header = ["timestamp", "config", *(name for name in variables() if name not in without)]
    lines = [",".join(header)]
    for t in range(rows):
        cells = [f"{rng.normal():.6f}" if name in VARYING else "1" for name in header[2:]]
        lines.append(",".join([str(t), "pressure_control", *cells]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "wt_pressure_control_v1" / EXPERIMENT
    path.parent.mkdir()
    path.write_text(text())
    return path


def test_the_graph_has_32_variables_and_its_loop():
    edges = [(tail, head) for tail, heads in EFFECTS.items() for head in heads.split()]
    assert len(variables()) == 32
    assert len(set(edges)) == len(edges) == 44
    assert ("pressure_downwind", "load_in") in edges
    assert ("load_in", "pressure_downwind") in edges


def test_file_folder_and_archive_give_the_same(file, tmp_path):
    archive = tmp_path / "download.zip"
    with zipfile.ZipFile(archive, "w") as target:
        target.write(file, f"wt_pressure_control_v1/{EXPERIMENT}")
    loaded = [load_causal_chamber(path) for path in (file, file.parent, tmp_path, archive)]
    loaded.append(load("causal-chamber-pressure-control", file))
    for data in loaded:
        assert set(data.variables) == set(VARYING)
        assert data.data is not None
        assert data.data.shape == (6, len(VARYING))
        assert (data.data == loaded[0].data).all()
    graph = loaded[0].references["ground-truth"].graph
    (loop,) = [c for c in graph.strongly_connected_components() if len(c) > 1]
    assert {graph.names[j] for j in loop} == {"load_in", "load_out", "pressure_downwind"}
    assert "hatch" in loaded[0].notes


@pytest.mark.parametrize("path", [None, "nowhere.zip"])
def test_absent_files_are_answered_with_instructions(path):
    with pytest.raises(DataError, match=r"Download https://.*MD5"):
        load_causal_chamber(path)
    assert "Download https://" in describe("causal-chamber-pressure-control")


def test_wrong_files_are_refused(file, tmp_path):
    file.write_text(text(without=("mic",)))
    with pytest.raises(DataError, match="lacks the column"):
        load_causal_chamber(file)
    lines = text().splitlines()
    file.write_text("\n".join([*lines[:2], lines[2].replace(",1,", ",one,", 1)]))
    with pytest.raises(DataError, match=r"line 3: column .* holds no number"):
        load_causal_chamber(file)
    file.write_text(text(rows=1))
    with pytest.raises(DataError, match="fewer than two"):
        load_causal_chamber(file)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=f"holds no {EXPERIMENT}"):
        load_causal_chamber(empty)
    with zipfile.ZipFile(empty / "x.zip", "w") as archive:
        archive.writestr("other.csv", "a\n1\n")
    with pytest.raises(DataError, match=f"holds no {EXPERIMENT}"):
        load_causal_chamber(empty / "x.zip")

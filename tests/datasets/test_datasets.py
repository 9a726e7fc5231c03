"""Bundled data: shapes, published facts, references that disagree, licences."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import loopscm.datasets as datasets
from loopscm.datasets import describe, load, names, read_covariance
from loopscm.errors import DataError, LoopscmError, OptionError

BUNDLED = [name for name in names() if name != "causal-chamber-pressure-control"]
PROTEINS = ("raf", "mek", "plc", "pip2", "pip3", "erk", "akt", "pka", "pkc", "p38", "jnk")
CONDITIONS = (
    *("cd3_cd28", "icam2", "aktinhib", "g0076", "psitect"),
    *("u0126", "ly", "pma", "b2camp"),
)


@pytest.mark.parametrize("name", BUNDLED)
def test_every_bundled_set_says_where_it_comes_from(name):
    data = load(name)
    assert data.name == name
    assert data.source
    assert data.licence
    assert data.notes
    text = describe(name)
    assert data.title in text
    assert data.licence in text
    for key, reference in data.references.items():
        assert reference.graph.names == data.variables
        assert f"reference {key}: {reference.graph.n_edges} edges" in text
    for array in (data.data, data.covariance):
        assert array is None or not array.flags.writeable


def test_licence_notes_name_every_file():
    folder = Path(datasets.__file__).parent / "data"
    notes = (folder / "LICENSES.md").read_text(encoding="utf-8")
    for file in folder.iterdir():
        stem = "dream4-*" if file.name.startswith("dream4-") else file.name
        assert file.name == "LICENSES.md" or stem.split("*")[0] in notes


def test_sachs_measurements_are_the_published_ones():
    """Logarithms of intensity + 10: the first cell's intensities are 26.4, 13.2, 8.82, ..."""
    sachs = load("sachs")
    assert sachs.data is not None
    assert sachs.data.shape == (7466, 11)
    assert sachs.variables == PROTEINS
    intensities = np.exp(sachs.data[0]) - 10
    published = [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17, 414, 17, 44.9, 40]
    np.testing.assert_allclose(intensities, published, rtol=1e-3)
    assert sachs.data.min() == pytest.approx(np.log(11), abs=1e-4)


def test_sachs_conditions():
    sachs = load("sachs")
    assert sachs.conditions is not None
    counts = Counter(sachs.conditions.tolist())
    assert list(counts.values()) == [853, 902, 911, 723, 810, 799, 848, 913, 707]
    assert next(iter(counts)) == "cd3_cd28"
    assert (sachs.conditions[:853] == "cd3_cd28").all()
    columns = sachs.condition_columns
    assert tuple(columns) == CONDITIONS
    assert sum(column.sum() for column in columns.values()) == 7466 + 4993
    assert sachs.stats(condition="cd3_cd28").n == 853
    assert sachs.stats(condition=["pma", "b2camp"]).n == 913 + 707
    assert sachs.stats().n == 7466
    with pytest.raises(OptionError, match="no condition 'x'"):
        sachs.stats(condition="x")


def test_sachs_comes_with_references_that_disagree():
    references = load("sachs").references
    assert {key: ref.graph.n_edges for key, ref in references.items()} == {
        "tetrad-20": 20,
        "cdt-18": 18,
    }
    tetrad, cdt = (references[key].graph for key in ("tetrad-20", "cdt-18"))
    assert tetrad.is_acyclic
    loop = {cdt.names[j] for c in cdt.strongly_connected_components() if len(c) > 1 for j in c}
    assert loop == {"plc", "pip2", "pip3"}
    assert (tetrad.directed != cdt.directed).any()
    assert "disagree" in describe("sachs")


@pytest.mark.parametrize(
    ("name", "edges", "largest", "two_cycles"),
    [
        *((f"dream4-size10-{k + 1}", n, None, None) for k, n in enumerate((15, 16, 15, 13, 12))),
        ("dream4-size100-1", 176, 4, 7),
        ("dream4-size100-2", 249, 4, 7),
    ],
)
def test_dream4_topologies(name, edges, largest, two_cycles):
    data = load(name)
    graph = data.references["gold-standard"].graph
    assert graph.n_edges == edges
    assert not graph.is_acyclic
    assert graph.names[-1] == f"G{graph.n_observed}"
    if largest:
        assert max(map(len, graph.strongly_connected_components())) == largest
        assert (graph.directed & graph.directed.T).sum() == 2 * two_cycles
    with pytest.raises(DataError, match="reference graphs only"):
        data.stats()


@pytest.mark.parametrize(
    ("name", "p", "n"), [("spartina", 15, 45), ("goldberg", 6, 645), ("lead", 7, 221)]
)
def test_covariance_examples(name, p, n):
    data = load(name)
    stats = data.stats()
    assert (stats.p, stats.n) == (p, n)
    assert stats.names == data.variables
    assert (stats.S == stats.S.T).all()
    assert np.linalg.eigvalsh(stats.S)[0] > 0
    with pytest.raises(OptionError, match="no conditions"):
        data.stats(condition="x")


def test_lower_triangles_are_read_with_any_separators(tmp_path):
    file = tmp_path / "m.txt"
    file.write_text("12\n\na\tb   c\n2\n.5 3\n-.25\t 0   4e0\n")
    matrix, n, labels = read_covariance(file)
    assert (n, labels) == (12, ("a", "b", "c"))
    assert (matrix == [[2, 0.5, -0.25], [0.5, 3, 0], [-0.25, 0, 4]]).all()


@pytest.mark.parametrize("name", ["spartina", "goldberg", "lead"])
def test_covariance_files_round_trip(name, tmp_path):
    data = load(name)
    assert data.covariance is not None
    text = datasets.format_covariance(data.covariance, data.n, data.variables)
    (tmp_path / "m.cov.txt").write_text(text)
    matrix, n, labels = read_covariance(tmp_path / "m.cov.txt")
    assert (n, labels) == (data.n, data.variables)
    assert (matrix == data.covariance).all()
    with pytest.raises(DataError, match="no spaces"):
        datasets.format_covariance(data.covariance, n, ["a b", *labels[1:]])
    with pytest.raises(DataError, match="covariance only"):
        data.observations()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a b\n1\n1 2\n", "line 1: expected the sample size"),
        ("5\na b\n1\n1 2 3\n", "line 4: 3 numbers"),
        ("5\na b\n1\n", "line 3: 1 rows for 2 names"),
        ("5\na b\n1\nx 2\n", "line 4: could not convert"),
        ("5\n", "lower triangle"),
    ],
)
def test_bad_covariance_files_are_refused(text, reason, tmp_path):
    file = tmp_path / "m.txt"
    file.write_text(text)
    with pytest.raises(DataError, match=reason):
        read_covariance(file)


def test_unknown_names_and_needless_paths_are_refused():
    with pytest.raises(LoopscmError, match="choose from sachs"):
        load("saks")
    with pytest.raises(OptionError, match="without a path"):
        load("sachs", "somewhere")

"""`loopscm compare`: formats, tables, JSON, refusals."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

from loopscm import GaussianStats, LatentGraph, fit
from loopscm.equivalence import heldout_log_likelihood
from loopscm.simulate import random_scm

typer = pytest.importorskip("typer")
pytest.importorskip("rich")
from typer.testing import CliRunner  # noqa: E402

from loopscm.cli.compare import compare_graphs, read_graph  # noqa: E402

app = typer.Typer()
app.command("compare")(compare_graphs)
GRAPH = LatentGraph.from_edges(
    [("a", "b"), ("b", "c"), ("L1", "a"), ("L1", "c")], latents=["L1"], names=["a", "b", "c", "d"]
)


@pytest.fixture
def files(tmp_path):
    text = "# latent: H\n# observed: a b c d\na\tb\nb\tc\nH\ta\nH\tc\n"
    (tmp_path / "graph.tsv").write_text(text)
    content = {"observed": ["a", "b", "c", "d"], "latents": ["H"]}
    content["edges"] = [["a", "b"], ["b", "c"], ["H", "a"], ["H", "c"]]
    (tmp_path / "graph.json").write_text(json.dumps(content))
    nx.write_graphml(GRAPH.to_networkx(), tmp_path / "graph.graphml")
    (tmp_path / "other.tsv").write_text("c b\na b\na <-> c\n".replace("a <-> c", "a c <->"))
    (tmp_path / "bad.tsv").write_text("a b c d\n")
    (tmp_path / "bad.json").write_text("[1, 2")
    return tmp_path


@pytest.mark.parametrize("name", ["graph.tsv", "graph.json", "graph.graphml"])
def test_formats(files, name):
    assert read_graph(files / name) == GRAPH


def test_bidirected_edges(files):
    graph = read_graph(files / "other.tsv")
    assert graph.bidirected.sum() == 2 and graph.directed.sum() == 2


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_tables(files):
    result = run(files / "graph.tsv", files / "other.tsv", "--draws", 2)
    assert result.exit_code == 0
    for word in ("compatibility error", "quasi-equivalent", "directed edges", "SHD"):
        assert word in result.output


def test_json(files):
    result = run(files / "graph.tsv", files / "graph.json", "--draws", 2, "--json")
    record = json.loads(result.output)
    assert record["compatibility"]["total"] <= 1e-6
    assert len(record["compatibility"]["forward_draws"]) == 2
    assert np.isfinite(record["metrics"]["skeleton"]["f1"])


def test_inclusion_is_told(files):
    result = run(files / "graph.tsv", files / "other.tsv", "--draws", 2)
    assert "reference inside recovered" in result.output


def test_heldout_likelihood_of_a_table(files):
    """The columns may stand in another order than in the graphs."""
    model = random_scm(GRAPH, 0)
    rows = model.sample(400, np.random.default_rng(0)) + 5.0
    order = [3, 1, 0, 2]
    table = "\n".join(",".join(map(str, row)) for row in rows[:, order].tolist())
    (files / "data.csv").write_text("d,b,a,c\n" + table + "\n")
    arguments = (files / "graph.tsv", files / "other.tsv", "--draws", 2, "--data")
    record = json.loads(run(*arguments, files / "data.csv", "--json").output)
    training, fresh = (rows[k::2] - rows[::2].mean(axis=0) for k in (0, 1))
    fitted = fit(GaussianStats.from_data(training, names=GRAPH.names, center=False), GRAPH)
    expected = heldout_log_likelihood(fitted.scm, fresh)
    assert record["heldout_log_likelihood"][0] == pytest.approx(expected, abs=1e-6)
    assert "held-out log-likelihood" in run(*arguments, files / "data.csv").output
    (files / "short.csv").write_text("a,b,c,d\n1,2,3,4\n")
    assert "at least 4" in run(*arguments, files / "short.csv").output


def test_data_over_other_variables_are_refused(files):
    (files / "data.csv").write_text("a,b,e\n" + "1,2,3\n4,5,7\n2,8,1\n3,0,5\n9,1,6\n" * 3)
    result = run(files / "graph.tsv", files / "other.tsv", "--data", files / "data.csv")
    assert result.exit_code == 2
    assert "no column 'c', 'd', which the graphs name; their columns are" in result.output


@pytest.mark.parametrize("name", ["bad.tsv", "bad.json", "missing.tsv"])
def test_refusals_are_one_line(files, name):
    result = run(files / "graph.tsv", files / name)
    assert result.exit_code == 2
    assert "Error:" in result.output and "Traceback" not in result.output

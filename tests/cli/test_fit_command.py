"""The commands as a user types them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from loopscm import LatentGraph
from loopscm.cli.compare import read_graph
from loopscm.cli.files import edge_list, write_atomically
from loopscm.cli.main import app

run = CliRunner().invoke


@pytest.fixture
def world(tmp_path):
    result = run(app, ["simulate", str(tmp_path), "-p", "6", "-n", "500", "--seed", "4"])
    assert result.exit_code == 0, result.output
    return tmp_path


def test_simulate_then_fit_the_graph(world):
    files = [str(world / name) for name in ("data.csv", "graph.tsv", "fit.json")]
    result = run(app, ["fit", files[0], "--graph", files[1], "--output", files[2]])
    assert result.exit_code == 0, result.output
    assert "structural score" in result.output and "spectral radius" in result.output
    content = json.loads((world / "fit.json").read_text())
    assert len(content["coefficients"]) == len(content["edges"])
    assert read_graph(world / "fit.json") == read_graph(world / "graph.tsv")


def test_learning_writes_a_graph_that_compare_reads(world):
    data, found = str(world / "data.csv"), str(world / "found.tsv")
    arguments = ["fit", data, "--max-latents", "0", "--time-limit", "2", "--output", found]
    result = run(app, arguments)
    assert result.exit_code == 0, result.output
    assert set(read_graph(world / "found.tsv").names) == {f"X{j}" for j in range(6)}


def test_simulation_is_reproducible(world, tmp_path):
    again = tmp_path / "again"
    run(app, ["simulate", str(again), "-p", "6", "-n", "500", "--seed", "4"])
    for name in ("data.csv", "graph.tsv"):
        assert (again / name).read_bytes() == (world / name).read_bytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: expected 2 fields"),
        ("a,b\n1,x\n2,3\n", "line 2: 'x' is not a number"),
        ("a,b\n", "no data rows"),
        ("a,b\n1,\n2,3\n4,5\n", "'b'"),
    ],
)
def test_bad_tables_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run(app, ["fit", str(path)])
    assert result.exit_code == 2 and message in result.output
    assert "Traceback" not in result.output


def test_missing_file_and_unknown_method(world):
    result = run(app, ["fit", "nowhere.csv"])
    assert result.exit_code == 2 and "not a file" in result.output
    result = run(app, ["fit", str(world / "data.csv"), "--method", "magic"])
    assert result.exit_code == 2 and "method must be one of" in result.output


def test_edge_lists_keep_isolated_variables_and_latents(tmp_path):
    graph = LatentGraph.from_edges(
        [("a", "b"), ("L", "a"), ("L", "c"), ("b", "c", "<->")],
        names=["a", "b", "c", "alone"], latents=["L"],
    )  # fmt: skip
    (tmp_path / "g.tsv").write_text(edge_list(graph))
    assert read_graph(tmp_path / "g.tsv") == graph


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "kept.txt"
    write_atomically(path, "old")
    with pytest.raises(TypeError):
        write_atomically(path, None)  # type: ignore[arg-type]
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_written_files_are_as_readable_as_any_other(tmp_path):
    plain, ours = tmp_path / "plain.txt", tmp_path / "ours.txt"
    plain.write_text("x")
    write_atomically(ours, "x")
    assert ours.stat().st_mode == plain.stat().st_mode


def test_version():
    assert run(app, ["--version"]).output.startswith("loopscm ")

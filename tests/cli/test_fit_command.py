"""The commands as a user types them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from loopscm import LatentGraph
from loopscm.cli.compare import read_graph
from loopscm.cli.files import edge_list, read_stats, write_atomically
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
    assert "dimension score" in result.output and "spectral radius" in result.output
    content = json.loads((world / "fit.json").read_text())
    assert len(content["coefficients"]) == len(content["edges"])
    assert read_graph(world / "fit.json") == read_graph(world / "graph.tsv")


@pytest.mark.parametrize(
    ("arguments", "penalty"),
    [
        ([], "dimension"),
        (["--penalty", "structural"], "structural"),
        (["--method", "paper"], "structural"),
    ],
)
def test_the_score_is_that_of_the_penalty_minimised(world, arguments, penalty):
    data = str(world / "data.csv")
    result = run(app, ["fit", data, "--max-latents", "0", "--time-limit", "1", *arguments])
    assert result.exit_code == 0, result.output
    assert f"{penalty} score" in result.output


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
        ("a,b\n1,2\n\nNA,3\n", "line 4: 'NA' is not a number; encode it, or remove"),
        ("a;b\n1;2\n3;4\n", "separated by semicolons, not commas; use commas"),
        ("a\tb\n1\t2\n3\t4\n", "separated by tabs, not commas"),
        ("0.5,1.5\n1,2\n3,5\n", "begins with numbers; add a header line"),
        (",a,b\n0,1,2\n1,3,5\n", "column 1 has no name in the header line; name it, or remove"),
        ("a,b,c\n1,2,3\n4,5,7\n", "full rank; collect more observations than variables"),
        ("a,b\n1,2\n1,3\n1,5\n", "constant column(s) 'a'; remove them"),
        ("a,a\n1,2\n2,3\n1,5\n", "rename 'a'"),
    ],
)
def test_bad_tables_are_refused_with_the_line(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    result = run(app, ["fit", str(path)])
    assert result.exit_code == 2 and message in result.output
    assert "Traceback" not in result.output


def test_text_in_another_encoding_is_refused(tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,b\n1,2\n".encode("latin-1"))
    for arguments in (["fit", str(path)], ["compare", str(path), str(path)]):
        result = run(app, arguments)
        assert result.exit_code == 2 and "save it as UTF-8" in result.output


def test_headers_are_read_without_the_byte_order_mark_and_blanks(tmp_path):
    path = tmp_path / "spreadsheet.csv"
    path.write_text("a, b\n1,2\n2,5\n4,3\n", encoding="utf-8-sig")
    assert read_stats(path, center=True).names == ("a", "b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--graph", "g.tsv"], "the graph names 'z', but the columns of the data are 'X0'"),
        (["--graph", "nowhere.tsv"], "nowhere.tsv is not a file; give a graph"),
        (["--graph", "data.csv"], "data.csv: line 1 is not an edge"),
        (["--graph", "list.json"], "list.json: not a graph; expected an object with lists 'edges'"),
        (["--graph", "nested.json"], "nested.json: an edge is (tail, head)"),
        (["--graph", "number.json"], "number.json: not a graph; expected"),
        (["--graph", "broken.graphml"], "broken.graphml: not GraphML"),
        (["--graph", "graph.tsv", "--time-limit", "1"], "--time-limit has no meaning with --graph"),
        (["--graph", "graph.tsv", "--seed", "3"], "--seed has no meaning with --graph"),
        (["--graph", "graph.tsv", "--jobs", "2"], "--jobs has no meaning with --graph"),
        (["--output", "found.graphml"], "choose a name that ends in .tsv or .txt or .json"),
        (["--output", "folder.tsv"], "folder.tsv, which is a folder; give the name of a file"),
        (["--time-limit", "-1"], "time_limit must be a finite number >= 0"),
        (["--jobs", "0"], "n_jobs must be a positive integer or -1"),
    ],
)
def test_mistakes_are_told_before_any_work(world, monkeypatch, options, message):
    monkeypatch.chdir(world)
    (world / "g.tsv").write_text("X0\tX1\nz\tX2\n")
    (world / "list.json").write_text('[["X0", "X1"]]')
    (world / "nested.json").write_text('{"edges": [[["X0"], "X1"]], "observed": ["X0", "X1"]}')
    (world / "number.json").write_text('{"edges": [["X0", "X1"]], "latents": 2}')
    (world / "broken.graphml").write_text("nonsense")
    (world / "folder.tsv").mkdir()
    result = run(app, ["fit", "data.csv", *options])
    assert result.exit_code == 2
    assert message in result.output and "Traceback" not in result.output


def test_no_time_gives_the_first_graph_and_says_so(world):
    result = run(app, ["fit", str(world / "data.csv"), "--time-limit", "0"])
    assert result.exit_code == 0
    assert "a larger --time-limit may find better" in result.output


def test_marks_may_stand_between_the_ends(tmp_path):
    (tmp_path / "between.tsv").write_text("a -> b\nb <-> c\n")
    (tmp_path / "behind.tsv").write_text("a b\nb c <->\n")
    assert read_graph(tmp_path / "between.tsv") == read_graph(tmp_path / "behind.tsv")


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

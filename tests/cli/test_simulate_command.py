"""`loopscm simulate`: protocol models, gene networks, named scenarios, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from loopscm.cli.compare import read_graph  # noqa: E402
from loopscm.cli.simulate import simulate_world  # noqa: E402
from loopscm.simulate import GeneNetwork, expression, scenario  # noqa: E402

APP = typer.Typer()
APP.command()(simulate_world)
KINETICS = Path(__file__).parents[1] / "simulate" / "data" / "custom10_kinetics.json"


@pytest.fixture(autouse=True)
def no_shared_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LOOPSCM_CACHE", str(tmp_path / "cache"))


def run(*arguments):
    return CliRunner().invoke(APP, [str(argument) for argument in arguments])


def table(folder):
    text = (folder / "data.csv").read_text().splitlines()
    return tuple(text[0].split(",")), np.array([row.split(",") for row in text[1:]], float)


def test_a_scenario_is_written_with_every_digit(tmp_path):
    name = "synthetic/p8-d2-r0.2-n40/seed1"
    assert run(tmp_path, "--scenario", name).exit_code == 0
    world = scenario(name, cache=False)
    names, X = table(tmp_path)
    assert names == world.graph.names
    assert (world.data == X).all()
    assert read_graph(tmp_path / "graph.tsv") == world.graph
    metadata = json.loads((tmp_path / "metadata.json").read_text())
    assert metadata == world.metadata


def test_gene_networks_from_kinetics(tmp_path):
    options = ("-n", 30, "--seed", 5, "--record", "support", "--noise", "lognormal", "--jobs", 2)
    assert run(tmp_path, "--genes", KINETICS, *options).exit_code == 0
    network = GeneNetwork.from_json(KINETICS)
    names, X = table(tmp_path)
    assert names == network.names
    assert (expression(network, 30, 5, record="support", measurement="lognormal") == X).all()
    assert GeneNetwork.from_json(tmp_path / "kinetics.json") == network


def test_gene_networks_from_edges_keep_their_drawn_kinetics(tmp_path):
    file = tmp_path / "net.tsv"
    file.write_text("A\tB\t+\nB\tA\t-\n")
    assert run(tmp_path / "one", "--genes", file, "-n", 9, "--seed", 2).exit_code == 0
    assert run(tmp_path / "two", "--genes", file, "-n", 9, "--seed", 2).exit_code == 0
    for name in ("data.csv", "graph.tsv", "kinetics.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    drawn = GeneNetwork.from_json(tmp_path / "one" / "kinetics.json")
    assert [edge.sign for edge in drawn.interactions()] == ["-", "+"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--scenario", "gnw"), "unknown scenario"),
        (("--scenario", "gnw/12-3", "-n", "5"), "--observations has no meaning"),
        (("--genes", KINETICS, "--degree", "3"), "--degree has no meaning"),
        (("--genes", KINETICS, "--scenario", "gnw/12-3"), "exclude each other"),
        (("--genes", "nowhere.json"), "not a file"),
        (("--jobs", "2"), "--jobs has no meaning"),
        (("-p", "1"), "latents need p >= 2"),
    ],
)
def test_wrong_input_is_refused_and_writes_nothing(arguments, reason, tmp_path):
    result = run(tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert reason in result.output
    assert not (tmp_path / "out").exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "taken").write_text("mine")
    result = run(tmp_path / "taken", "-p", 4, "-n", 5)
    assert result.exit_code == 2 and "is a file; give a folder" in result.output
    assert (tmp_path / "taken").read_text() == "mine"


def test_the_help_says_where_names_come_from():
    text = " ".join(run("--help").output.split())
    assert "gnw/" in text
    assert "synthetic/p" in text

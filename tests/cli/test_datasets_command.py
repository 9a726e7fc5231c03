"""`loopscm datasets`: list, describe, export."""

from __future__ import annotations

import csv

import pytest

typer = pytest.importorskip("typer")
from typer.testing import CliRunner  # noqa: E402

from loopscm.cli.datasets import show_datasets  # noqa: E402
from loopscm.cli.files import read_stats  # noqa: E402
from loopscm.datasets import load, names  # noqa: E402
from loopscm.datasets.causal_chamber import EFFECTS, EXPERIMENT  # noqa: E402

APP = typer.Typer()
APP.command()(show_datasets)


def run(*arguments):
    return CliRunner().invoke(APP, [str(argument) for argument in arguments])


def test_the_list_names_every_set():
    out = run().stdout
    assert all(name in out for name in names())


def test_a_description_lists_all_references():
    result = run("sachs")
    assert result.exit_code == 0
    assert "tetrad-20" in result.stdout
    assert "cdt-18" in result.stdout
    assert "licence" in result.stdout


def test_exported_data_can_be_read_back(tmp_path):
    file = tmp_path / "sachs.csv"
    assert run("sachs", "--export", file, "--labels").exit_code == 0
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 7466
    assert rows[0]["raf"] == "3.5946"
    assert rows[0]["condition"] == "cd3_cd28"


def test_what_is_exported_can_be_fitted(tmp_path):
    """Observations of some conditions, and covariance examples with their sample size."""
    file, options = tmp_path / "sachs.csv", ("--condition", "pma", "--condition", "ly")
    assert run("sachs", "--export", file, *options).exit_code == 0
    chosen = load("sachs").stats(condition=["ly", "pma"])
    assert same(read_stats(file, center=True), chosen)
    matrix = tmp_path / "lead.cov.txt"
    result = run("lead", "--export", matrix)
    assert result.exit_code == 0
    assert "written to" in result.stdout
    assert same(read_stats(matrix, center=True), load("lead").stats())


def same(a, b):
    return (a.S == b.S).all() and (a.n, a.names) == (b.n, b.names)


def test_labels_follow_the_chosen_rows(tmp_path):
    file = tmp_path / "part.csv"
    assert run("sachs", "--export", file, "--condition", "u0126", "--labels").exit_code == 0
    lines = file.read_text().splitlines()
    assert len(lines) == 800
    assert all(line.endswith(",u0126") for line in lines[1:])


def test_downloaded_data_are_exported_from_their_path(tmp_path):
    name = "causal-chamber-pressure-control"
    refused = run(name, "--export", tmp_path / "x.csv")
    assert refused.exit_code == 2
    assert "Download https://" in refused.output
    text = chamber_text()
    (tmp_path / EXPERIMENT).write_text(text)
    out = tmp_path / "out.csv"
    assert run(name, "--export", out, "--path", tmp_path / EXPERIMENT).exit_code == 0
    assert len(out.read_text().splitlines()) == len(text.splitlines())


def chamber_text():
    """A small made-up file of the form of the download."""
    variables = sorted(set(EFFECTS) | {v for heads in EFFECTS.values() for v in heads.split()})
    rows = [",".join(str((k * (j + 3)) % 7) for j in range(len(variables))) for k in range(5)]
    return "\n".join([",".join(variables), *rows]) + "\n"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--export", "x.csv"), "need a data set's name"),
        (("sachs", "--labels"), "--labels would need --export"),
        (("sachs", "--condition", "pma"), "need --export"),
        (("sachs", "--reference", "cdt-18"), "need --edges"),
        (("sachs", "--path", "x"), "need --export or --edges"),
        (("sachs", "--export", "x.csv", "--condition", "z"), "no condition 'z'"),
        (("lead", "--export", "x.csv"), ".cov.txt"),
        (("lead", "--export", "x.cov.txt", "--labels"), "without --condition"),
        (("lead", "--edges", "x.tsv"), "--reference: none"),
    ],
)
def test_options_that_do_nothing_are_refused(arguments, reason, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert reason in result.output
    assert not list(tmp_path.iterdir())


def test_one_of_several_references_must_be_named(tmp_path):
    file = tmp_path / "edges.tsv"
    refused = run("sachs", "--edges", file)
    assert refused.exit_code == 2
    assert "tetrad-20" in refused.output
    assert run("sachs", "--edges", file, "--reference", "cdt-18").exit_code == 0
    assert len(file.read_text().splitlines()) == 19
    assert run("dream4-size10-1", "--edges", file).exit_code == 0
    assert len(file.read_text().splitlines()) == 16


def test_unknown_names_and_absent_data_are_refused(tmp_path):
    assert run("saks").exit_code == 2
    result = run("dream4-size10-1", "--export", tmp_path / "x.csv")
    assert result.exit_code == 2
    assert "no data to export" in result.output

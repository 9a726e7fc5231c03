"""`loopscm simulate`: data from a random model, a gene network, or a named scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from loopscm.cli.files import edge_list, write_atomically
from loopscm.cli.meter import Bar
from loopscm.errors import LoopscmError, OptionError
from loopscm.graph import LatentGraph
from loopscm.simulate import (
    GeneNetwork,
    expression,
    random_graph,
    random_scm,
    scenario,
)
from loopscm.simulate.genes.langevin import Record
from loopscm.simulate.genes.noise import MEASUREMENTS, Measurement

# Which options belong to which source of data, with their defaults there.
PROTOCOL = {"variables": 16, "degree": 4, "latent_ratio": 0.2, "observations": 10_000, "seed": 0}
GENES = {"observations": 1000, "seed": 0, "record": "state", "noise": "none", "jobs": 1}
SCENARIO = {"jobs": 1}

Files = dict[str, tuple[str, str]]  # name → (text, what it holds)
Folder = Annotated[Path, typer.Argument(help="Where to write data.csv, graph.tsv, ...")]
Variables = Annotated[
    int | None, typer.Option("--variables", "-p", min=1, help="Observed variables. [default: 16]")
]
Degree = Annotated[
    int | None, typer.Option(min=1, help="Most edges at one observed variable. [default: 4]")
]
LatentRatio = Annotated[
    float | None, typer.Option(min=0, help="Latents per observed variable. [default: 0.2]")
]
Observations = Annotated[
    int | None,
    typer.Option("--observations", "-n", min=2, help="Rows. [default: 10000; of genes 1000]"),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Seed of all random numbers. [default: 0]")]
Genes = Annotated[
    Path | None,
    typer.Option(
        help="Simulate this gene network instead: kinetics (.json), or edges with random kinetics "
        "(.tsv or .graphml: source, target, optional sign)."
    ),
]
GeneRecord = Annotated[
    Record | None,
    typer.Option(
        metavar="<name>",
        help="Genes: what is recorded, the true state or the support point as in GeneNetWeaver: "
        "state, support. [default: state]",
    ),
]
GeneNoise = Annotated[
    Measurement | None,
    typer.Option(
        metavar="<name>",
        help=f"Genes: measurement noise: {', '.join(MEASUREMENTS)}. [default: none]",
    ),
]
Name = Annotated[
    str | None, typer.Option("--scenario", metavar="<name>", help="Write this named world instead.")
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Genes and scenarios: threads; -1 takes every core. [default: 1]"),
]


def simulate_world(
    folder: Folder,
    variables: Variables = None,
    degree: Degree = None,
    latent_ratio: LatentRatio = None,
    observations: Observations = None,
    seed: Seed = None,
    genes: Genes = None,
    record: GeneRecord = None,
    noise: GeneNoise = None,
    name: Name = None,
    jobs: Jobs = None,
) -> None:
    """Draw data from a model with loops and latents, and write them with the true graph.

    Without further options: a random linear model of the paper's protocol. With --genes: a gene
    network with GeneNetWeaver's dynamics. With --scenario: a world that benchmarks refer to by
    name, such as

    - `synthetic/p16-d4-r0.2/seed3`
    - `gnw/100-20`
    - `dream4/size100-1`
    - `stress/cycles-p30/seed0`
    """
    given = {
        "variables": variables, "degree": degree, "latent_ratio": latent_ratio,
        "observations": observations, "seed": seed, "record": record, "noise": noise, "jobs": jobs,
    }  # fmt: skip
    try:
        if folder.is_file():
            raise OptionError(f"{folder} is a file; give a folder, which need not exist yet.")
        files = _world(name, genes, given)
        _write(folder, files)
    except (LoopscmError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from None
    for file, (_, what) in files.items():
        typer.echo(f"{folder / file}: {what}")


def _world(name: str | None, genes: Path | None, given: dict[str, Any]) -> Files:
    """The files of the one source that is asked for."""
    if name is not None and genes is not None:
        raise OptionError("--genes and --scenario exclude each other; give one.")
    if name is not None:
        return _named(name, **_options(given, SCENARIO, "--scenario"))
    if genes is not None:
        return _expressed(genes, **_options(given, GENES, "--genes"))
    return _protocol(**_options(given, PROTOCOL, "the paper's protocol"))


def _write(folder: Path, files: Files) -> None:
    for file, (text, _) in files.items():
        write_atomically(folder / file, text)


def _options(given: dict[str, Any], known: dict[str, Any], source: str) -> dict[str, Any]:
    """The options of one source; those that would do nothing there are refused."""
    chosen = {key: value for key, value in given.items() if value is not None}
    idle = [f"--{key.replace('_', '-')}" for key in chosen if key not in known]
    if idle:
        raise OptionError(f"{', '.join(idle)} has no meaning for {source}; leave it out.")
    return {**known, **chosen}


def _protocol(
    variables: int, degree: int, latent_ratio: float, observations: int, seed: int
) -> Files:
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(variables, degree, latent_ratio, rng), rng)
    return _files(model.graph, model.sample(observations, rng))


def _expressed(
    path: Path, observations: int, seed: int, record: Record, noise: Measurement, jobs: int
) -> Files:
    if not path.is_file():
        raise OptionError(f"{path} is not a file; give kinetics (.json) or edges (.tsv, .graphml).")
    rng = np.random.default_rng(seed)
    if path.suffix.lower() == ".json":
        network = GeneNetwork.from_json(path)
    else:
        network = GeneNetwork.random(path, rng, name=path.stem)
    with Bar() as progress:
        X = expression(
            network, observations, rng, record=record, measurement=noise, n_jobs=jobs,
            progress=progress,
        )  # fmt: skip
    kinetics = network.to_text(), f"kinetics of {network.n_genes} genes"
    return {**_files(network.graph(), X), "kinetics.json": kinetics}


def _named(name: str, jobs: int) -> Files:
    with Bar() as progress:
        world = scenario(name, n_jobs=jobs, progress=progress)
        text = json.dumps(world.metadata, indent=2) + "\n"
    return {**_files(world.graph, world.data), "metadata.json": (text, "what it is, and its hash")}


def _files(graph: LatentGraph, X: np.ndarray) -> Files:
    """The data with all their digits, and the graph."""
    rows = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    data = f"{','.join(graph.names)}\n{rows}\n"
    return {
        "data.csv": (data, f"{len(X)} rows of {graph.n_observed} variables"),
        "graph.tsv": (edge_list(graph), f"{graph.n_edges} edges, {graph.n_latent} latents"),
    }

"""`loopscm fit`: learn a graph from a table, or fit a given one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from loopscm._checks import listed
from loopscm.cli.files import check_writable, edge_list, read_stats, write_atomically
from loopscm.cli.graph_files import read_graph
from loopscm.cli.meter import Bar
from loopscm.errors import GraphError, LoopscmError, OptionError
from loopscm.fitting import Fit, fit, score
from loopscm.graph import LatentGraph
from loopscm.learning import LearnStatus, learn
from loopscm.learning.registry import usual_penalty
from loopscm.likelihood.penalty import Penalty
from loopscm.scm import LinearSCM
from loopscm.stats import GaussianStats


def fit_or_learn(
    data: Annotated[
        Path,
        typer.Argument(
            help="A .csv or .tsv table with a header line, or a covariance matrix with its "
            "sample size (.cov.txt)."
        ),
    ],
    graph: Annotated[
        Path | None,
        typer.Option(help="Fit this graph instead of learning one (.tsv, .json, .graphml)."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the graph here (.tsv or .json).")
    ] = None,
    method: Annotated[
        str,
        typer.Option(metavar="<name>", help="How to learn: search, paper, bernoulli, or concrete."),
    ] = "search",
    penalty: Annotated[
        Penalty | None,
        typer.Option(
            metavar="<name>",
            help="What a graph costs: structural or dimension. By default what the method uses.",
        ),
    ] = None,
    max_latents: Annotated[int | None, typer.Option(min=0, help="Most latents to learn.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    time_limit: Annotated[float | None, typer.Option(help="Seconds to learn at most.")] = None,
    jobs: Annotated[int, typer.Option(help="Threads to learn with; -1 for all cores.")] = 1,
    center: Annotated[bool, typer.Option(help="Whether to remove the columns' means.")] = True,
) -> None:
    """Learn a causal graph from a table, or fit the graph given with --graph.

    Prints the structural equations and how good the fit is. Loops are allowed, and latents
    stand for hidden common causes.
    """
    try:
        if output is not None:
            check_writable(output, (".tsv", ".txt", ".json"))
        if graph is not None:
            _refuse_idle(method, max_latents, seed, time_limit, jobs)
        stats = read_stats(data, center=center)
        penalty = usual_penalty(method) if penalty is None else penalty
        if graph is None:
            result = _learned(stats, method, penalty, max_latents, seed, time_limit, jobs)
        else:
            result = fit(stats, _ordered(read_graph(graph), stats.names))
        value = score(stats, result.scm.graph, penalty=penalty)
        if output is not None:
            write_atomically(output, _as_text(result, output))
    except (LoopscmError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from None
    _print(result, value, penalty, output)


def _refuse_idle(
    method: str, max_latents: int | None, seed: int, time_limit: float | None, jobs: int
) -> None:
    """Refuse options of learning, which would do nothing for a given graph."""
    given = {
        "--method": method != "search",
        "--max-latents": max_latents is not None,
        "--seed": seed != 0,
        "--time-limit": time_limit is not None,
        "--jobs": jobs != 1,
    }
    idle = [option for option, is_given in given.items() if is_given]
    if idle:
        raise OptionError(
            f"{', '.join(idle)} has no meaning with --graph, which is fitted as it is; leave it "
            "out."
        )


def _learned(
    stats: GaussianStats,
    method: str,
    penalty: Penalty,
    max_latents: int | None,
    seed: int,
    time_limit: float | None,
    jobs: int,
) -> Fit:
    with Bar() as progress:
        found = learn(
            stats, method=method, penalty=penalty, max_latents=max_latents, seed=seed,
            time_limit=time_limit, n_jobs=jobs, progress=progress,
        )  # fmt: skip
    if found.status is LearnStatus.TIME_LIMIT:
        typer.echo("The time limit came first; a larger --time-limit may find better.", err=True)
    elif found.status is not LearnStatus.FINISHED:
        typer.echo(found.status.value, err=True)
    return fit(stats, found.graph, start=found.scm)


def _ordered(graph: LatentGraph, names: tuple[str, ...]) -> LatentGraph:
    """The graph with its variables in the order of the data; variables without edges are added."""
    unknown = [name for name in graph.names if name not in names]
    if unknown:
        raise GraphError(
            f"the graph names {listed(unknown)}, but the columns of the data are {listed(names)}. "
            "Rename or remove the others; latents are named on a line '# latent: L1 L2'."
        )
    return LatentGraph.from_edges(graph.to_edges(), names=names, latents=graph.latent_names)


def _as_text(result: Fit, path: Path) -> str:
    if path.suffix != ".json":
        return edge_list(result.scm.graph)
    scm, graph = result.scm, result.scm.graph
    content = {
        "observed": list(graph.names),
        "latents": list(graph.latent_names),
        "edges": [list(edge) for edge in graph.to_edges()],
        "coefficients": _coefficients(scm),
        "noise_variances": dict(zip(graph.names, scm.noise_variances.tolist(), strict=True)),
        "nll": result.nll,
        "status": result.status.name,
    }
    return json.dumps(content, indent=2) + "\n"


def _coefficients(scm: LinearSCM) -> list[float]:
    """One number an edge, in the order of `to_edges`."""
    graph, values = scm.graph, []
    for matrix, mask in ((scm.coefficients, graph.directed), (scm.loadings, graph.children)):
        values += matrix[mask].tolist()
    upper = np.triu(graph.bidirected)
    return values + scm.noise_covariances[upper].tolist()


def _print(result: Fit, value: float, penalty: Penalty, output: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console, scm, graph = Console(), result.scm, result.scm.graph
    errors = result.standard_errors()
    table = Table("edge", "coefficient", "standard error", title="Structural equations")
    marks = {2: "->", 3: "<->"}
    for edge, number in zip(graph.to_edges(), _coefficients(scm), strict=True):
        label = f"{edge[0]} {marks[len(edge)]} {edge[1]}"
        error = errors[label]
        table.add_row(
            label, f"{number:.4g}", "not identified" if error != error else f"{error:.2g}"
        )
    console.print(table)
    console.print(f"{penalty} score {value:.4f}, negative log-likelihood {result.nll:.4f}")
    console.print(result.status.value)
    console.print(str(scm.stability))
    if output is not None:
        console.print(f"graph written to {output}")

"""`loopscm compare`: how close a recovered graph is to a reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from loopscm._checks import listed
from loopscm.cli.files import read_halves
from loopscm.cli.graph_files import FORMATS, read_graph
from loopscm.equivalence import Comparison, Recovery, compare
from loopscm.errors import DataError, LoopscmError
from loopscm.graph import LatentGraph


def compare_graphs(
    reference: Annotated[Path, typer.Argument(help=f"The true graph: {FORMATS}.")],
    recovered: Annotated[Path, typer.Argument(help="The graph to judge, in the same formats.")],
    draws: Annotated[int, typer.Option(min=1, help="Parameter draws in each direction.")] = 20,
    starts: Annotated[int, typer.Option(min=1, help="Starts of each fit.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    jobs: Annotated[int, typer.Option(help="Threads; -1 takes every core.")] = 1,
    data: Annotated[
        Path | None,
        typer.Option(
            help="A .csv or .tsv table: fit both graphs to every second row, judge on the others."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare a recovered graph with a reference.

    Prints the compatibility error (how far the covariances that the two graphs can generate
    are apart, zero if the data cannot tell them apart), whether they are quasi-equivalent,
    and the ordinary metrics. Two lines of an edge list are no edges:

    - the latents' names, `# latent: L1 L2`
    - names of variables that have no edges, `# observed: X7 X9`
    """
    try:
        halves = None if data is None else read_halves(data)
        names = None if halves is None else halves[0].names
        left, right = _same_variables(read_graph(reference), read_graph(recovered), names)
        result = compare(
            left, right, draws=draws, starts=starts, seed=seed, n_jobs=jobs, data=halves
        )
    except (LoopscmError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from None
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
    else:
        _print_tables(result)


def _same_variables(
    left: LatentGraph, right: LatentGraph, columns: tuple[str, ...] | None
) -> tuple[LatentGraph, LatentGraph]:
    """Both graphs over the union of their variables, which have no edges where they are new.

    With data, that must be their columns, in their order.
    """
    names = tuple(dict.fromkeys([*left.names, *right.names]))
    if columns is not None:
        absent = [name for name in names if name not in columns]
        if absent:
            raise DataError(
                f"the data have no column {listed(absent)}, which the graphs name; their columns "
                f"are {listed(columns)}. Give data over the variables of the graphs."
            )
        names = columns
    return _extended(left, names), _extended(right, names)


def _extended(graph: LatentGraph, names: tuple[str, ...]) -> LatentGraph:
    return LatentGraph.from_edges(graph.to_edges(), names=names, latents=graph.latent_names)


def _print_tables(result: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    c = result.compatibility
    table = Table("", "reference", "recovered", title="Graphs")
    table.add_row("complexity", *map(str, result.complexity))
    table.add_row("dimension of the family", *map(str, result.dimension))
    table.add_row("latents", *map(str, result.metrics.n_latents))
    if result.heldout_log_likelihood is not None:
        values = (f"{value:.4f}" for value in result.heldout_log_likelihood)
        table.add_row("held-out log-likelihood a row", *values)
    console.print(table)
    table = Table("compatibility error", "value", "status", title="Can data tell them apart?")
    table.add_row("reference → recovered", f"{c.forward:.3g}", c.forward_status.value)
    table.add_row("recovered → reference", f"{c.reverse:.3g}", c.reverse_status.value)
    table.add_row("total", f"{c.total:.3g}", "zero means: no")
    if result.verdict is not None:
        v = result.verdict
        table.add_row("quasi-equivalent", v.verdict.value, v.reason)
        table.add_row("equivalent", v.equivalent.value, "")
        table.add_row("reference inside recovered", v.included.value, "")
        table.add_row("recovered inside reference", v.includes.value, "")
    console.print(table)
    console.print(_metrics_table(result))


def _metrics_table(result: Comparison) -> Any:
    from rich.table import Table

    m = result.metrics
    table = Table("structure", "precision", "recall", "F1", title="Structural metrics")
    rows: list[tuple[str, Recovery]] = [
        ("adjacent pairs", m.skeleton),
        ("directed edges", m.orientation),
        ("pairs on a loop", m.loops),
        ("confounded pairs", m.confounded),
        ("latent edges (latents matched)", m.latents),
    ]
    for name, r in rows:
        table.add_row(name, f"{r.precision:.3f}", f"{r.recall:.3f}", f"{r.f1:.3f}")
    caption = f"SHD {m.shd}, latent SHD {m.latent_shd}, latent similarity {m.latent_similarity:.3f}"
    if result.class_shd is not None:
        known = "all" if result.class_complete else "the first"
        caption += (
            f"; to the nearest of {known} {result.class_size} equivalent graphs {result.class_shd}"
        )
    table.caption = caption
    return table

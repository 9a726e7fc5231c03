"""`loopscm datasets`: what real data come with the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from loopscm import datasets
from loopscm.cli.files import edge_list, write_atomically
from loopscm.datasets import Dataset
from loopscm.errors import DataError, LoopscmError, OptionError
from loopscm.graph import LatentGraph


def show_datasets(
    name: Annotated[str | None, typer.Argument(help="A data set; without it, list all.")] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            help="Write the observations here (.csv), or a covariance example (.cov.txt); "
            "`loopscm fit` reads both."
        ),
    ] = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(help="Export only the rows of this condition; may be repeated."),
    ] = None,
    labels: Annotated[
        bool, typer.Option(help="Export the conditions too, as a last column of text.")
    ] = False,
    edges: Annotated[
        Path | None,
        typer.Option(help="Write a reference graph here, one tab-separated edge a line."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Which reference graph, where there are several.")
    ] = None,
    path: Annotated[
        Path | None, typer.Option(help="Where your download lies, for data that are not bundled.")
    ] = None,
) -> None:
    """List the bundled data sets, describe one, or export it.

    Published reference graphs of one data set can disagree; the description lists them all,
    and exporting one of several needs its name.
    """
    try:
        _check(name, export, condition, labels, edges, reference, path)
        if name is None:
            _print_list()
            return
        typer.echo(datasets.describe(name))
        if export is not None:
            text = _as_text(datasets.load(name, path), export, condition or None, labels)
            write_atomically(export, text)
            typer.echo(f"data written to {export}")
        if edges is not None:
            write_atomically(edges, edge_list(_reference(datasets.load(name, path), reference)))
            typer.echo(f"edges written to {edges}")
    except (LoopscmError, OSError) as problem:
        typer.echo(f"Error: {problem}", err=True)
        raise typer.Exit(2) from None


def _check(
    name: str | None,
    export: Path | None,
    condition: list[str] | None,
    labels: bool,
    edges: Path | None,
    reference: str | None,
    path: Path | None,
) -> None:
    """Refuse options that would do nothing."""
    wanted = {
        "a data set's name": (name, {"--export": export, "--edges": edges, "--path": path}),
        "--export": (export, {"--condition": condition, "--labels": labels}),
        "--edges": (edges, {"--reference": reference}),
        "--export or --edges": (export or edges, {"--path": path}),
    }
    for needed, (given, dependants) in wanted.items():
        idle = [option for option, value in dependants.items() if value]
        if given is None and idle:
            options = ", ".join(idle)
            raise OptionError(f"{options} would need {needed}; give that too, or leave this out.")


def _print_list() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("name", "what it is")
    for name in datasets.names():
        table.add_row(name, datasets.describe(name).splitlines()[0].partition(": ")[2])
    Console().print(table)


def _as_text(data: Dataset, file: Path, condition: list[str] | None, labels: bool) -> str:
    """Observations as CSV, or a covariance matrix with its sample size."""
    if data.covariance is not None:
        if not file.name.endswith(".cov.txt") or condition or labels:
            raise DataError(
                f"{data.name} is a covariance matrix; export it to a file ending in .cov.txt, "
                "without --condition or --labels."
            )
        return datasets.format_covariance(data.covariance, data.n, data.variables)
    if data.data is None:
        raise DataError(f"{data.name} has no data to export; use --edges for its graph.")
    table = [list(map(repr, row)) for row in data.observations(condition).tolist()]
    header = list(data.variables)
    if labels:
        if data.conditions is None:
            raise DataError(f"{data.name} has no conditions; leave --labels out.")
        header.append("condition")
        kept = [c for c in data.conditions.tolist() if condition is None or c in condition]
        table = [[*row, label] for row, label in zip(table, kept, strict=True)]
    return "\n".join(map(",".join, [header, *table])) + "\n"


def _reference(data: Dataset, key: str | None) -> LatentGraph:
    choices = ", ".join(map(repr, data.references)) or "none"
    if key is None and len(data.references) == 1:
        key = next(iter(data.references))
    if key is None or key not in data.references:
        raise DataError(f"choose a reference graph of {data.name} by --reference: {choices}.")
    return data.references[key].graph

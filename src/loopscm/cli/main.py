"""The `loopscm` command and its sub-commands."""

from __future__ import annotations

from typing import Annotated

import typer

from loopscm._version import __version__
from loopscm.cli.compare import compare_graphs
from loopscm.cli.datasets import show_datasets
from loopscm.cli.fit import fit_or_learn
from loopscm.cli.simulate import simulate_world

app = typer.Typer(
    help="Learn causal graphs with feedback loops and hidden common causes.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # joins the lines of a paragraph, so that it wraps anywhere
    pretty_exceptions_enable=False,
)
app.command("fit")(fit_or_learn)
app.command("simulate")(simulate_world)
app.command("compare")(compare_graphs)
app.command("datasets")(show_datasets)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"loopscm {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Print the version and stop.")
    ] = False,
) -> None:
    """Learn causal graphs with feedback loops and hidden common causes."""

"""The two calls that most users need: a random gene network, and its expression data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_generator, listed
from loopscm._progress import Progress
from loopscm.errors import ParameterError
from loopscm.simulate.genes.langevin import Langevin, Record
from loopscm.simulate.genes.network import GeneNetwork
from loopscm.simulate.genes.noise import Measurement, measured, normalised


def gene_network(
    edges: Any,
    rng: np.random.Generator | int,
    *,
    genes: Sequence[str] | None = None,
    name: str = "",
) -> GeneNetwork:
    """A network with random kinetics; see `GeneNetwork.random` for the forms of `edges`."""
    return GeneNetwork.random(edges, rng, genes=genes, name=name)


def expression(
    network: GeneNetwork,
    n: int,
    rng: np.random.Generator | int,
    *,
    observed: Sequence[str] | None = None,
    record: Record = "state",
    measurement: Measurement = "none",
    normalise: bool = False,
    settings: Langevin | None = None,
    n_jobs: int = 1,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """mRNA of n independent unperturbed cells, shape (n, observed genes).

    Parameters
    ----------
    observed : genes to keep, in this order; the others still act but stay hidden.
    record : `"state"`, or `"support"` for what the original program records.
    measurement : noise added after the simulation; the original's own default is
        `"microarray"`, followed by `normalise=True`.
    """
    if not isinstance(network, GeneNetwork):
        raise ParameterError(f"network must be a GeneNetwork, got {network!r:.60}.")
    generator = as_generator(rng)
    columns = _columns(network, observed)
    mrna = network.sample(n, generator, record, n_jobs, settings=settings, progress=progress)
    values = measured(mrna, generator, measurement)
    if normalise:
        (values,), _ = normalised(values)
    return values[:, columns]


def _columns(network: GeneNetwork, observed: Sequence[str] | None) -> list[int]:
    if isinstance(observed, str):
        raise ParameterError(f"observed must be a list of names, got {observed!r}.")
    names = network.names if observed is None else tuple(observed)
    unknown = [name for name in names if name not in network.names]
    if unknown or not names:
        reason = f"names unknown genes: {listed(unknown)}" if unknown else "is empty; name genes"
        raise ParameterError(f"observed {reason}.")
    return [network.names.index(name) for name in names]

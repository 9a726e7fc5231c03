"""Whether the likelihood of a graph is bounded when S is singular.

A variable whose parents reproduce it exactly in the sample can have its noise variance
driven to zero, and so can one of two siblings whose common factor takes the other's
residual: these graphs are refused. Conversely the likelihood is bounded when S has full rank
on every set of siblings and their parents (the maximum-likelihood threshold of path
diagrams, Drton, Fox, Käufl & Pouliot, Annals of Statistics 2019; feedback loops do not
matter). In between, the fit runs and its status reports a variance that reached the floor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import UnboundedLikelihoodError
from loopscm.graph import LatentGraph
from loopscm.stats import COLLINEAR_SHARE, GaussianStats


def refuse_unbounded(stats: GaussianStats, graph: LatentGraph) -> None:
    """Raise when the likelihood is certainly unbounded."""
    if stats.n > stats.p or not stats.is_singular:
        return
    parents = [np.flatnonzero(graph.directed[:, j]) for j in range(graph.n_observed)]
    for j, tails in enumerate(parents):
        if _explained(stats.correlation, j, tails):
            raise UnboundedLikelihoodError(
                f"the likelihood is unbounded: with n = {stats.n} observations the "
                f"{len(tails)} parents of {graph.names[j]!r} explain it exactly. Remove "
                "parents or add observations."
            )
    for i, j in np.argwhere(_siblings(graph)):
        tails = np.setdiff1d(np.concatenate([parents[i], parents[j], [i]]), [j])
        if _explained(stats.correlation, int(j), tails):
            raise UnboundedLikelihoodError(
                f"the likelihood is unbounded: with n = {stats.n} observations a common cause "
                f"of {graph.names[i]!r} and {graph.names[j]!r}, together with their parents, "
                "explains one of them exactly. Remove the latent, remove parents, or add "
                "observations."
            )


def _siblings(graph: LatentGraph) -> NDArray[np.bool_]:
    """Pairs i < j with a common latent parent or a bidirected edge."""
    shared = graph.children.T.astype(int) @ graph.children.astype(int) > 0
    return np.triu(shared | graph.bidirected, 1)


def _explained(correlation: NDArray[np.float64], j: int, tails: NDArray[np.intp]) -> bool:
    """Whether the given variables reproduce variable j without residual."""
    if not tails.size:
        return False
    weights = np.linalg.lstsq(
        correlation[np.ix_(tails, tails)], correlation[tails, j], rcond=COLLINEAR_SHARE
    )[0]
    return bool(1.0 - correlation[tails, j] @ weights < COLLINEAR_SHARE)

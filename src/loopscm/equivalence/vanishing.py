"""Covariances that vanish throughout a family: pairs of variables without common ancestor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm.graph import LatentGraph


def zero_pairs(graph: LatentGraph) -> NDArray[np.bool_]:
    """Pairs whose covariance is zero at every parameter value, [i, j] and [j, i].

    Exactly those without a common ancestor, each variable counted as its own (Appendix
    "Failure of structural minimality"); a bidirected edge counts as a common parent.
    """
    p = graph.n_observed
    reach = np.eye(p, dtype=bool) | graph.directed
    for k in range(p):
        reach |= reach[:, k : k + 1] & reach[k]
    arcs = np.argwhere(np.triu(graph.bidirected))
    extra = np.zeros((len(arcs), p), bool)
    for row, (i, j) in zip(extra, arcs.tolist(), strict=True):
        row[[i, j]] = True
    sources = np.concatenate([reach, (graph.children @ reach), (extra @ reach)]).astype(int)
    return sources.T @ sources == 0

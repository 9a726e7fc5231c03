"""The near-optimal set: what the best graphs met by a search agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscm.graph import LatentGraph
from loopscm.search.pool import Pool

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NearOptimal:
    """Distinct graphs with their scores, best first.

    The search fits only what it changes, so scores are upper bounds.
    The frequencies weight each graph by exp(−(score − best)), its posterior weight under the
    penalty as a prior. They describe the graphs that the search met: a graph that it missed
    counts for nothing, so they are no confidence statement.
    """

    graphs: tuple[LatentGraph, ...]
    scores: Matrix

    @property
    def weights(self) -> Matrix:
        """Weight of each graph; they sum to one."""
        raw = np.exp(self.scores.min() - self.scores)
        return raw / raw.sum()

    def edge_frequencies(self) -> Matrix:
        """Share of the weight on graphs with i → j."""
        return self._share([graph.directed for graph in self.graphs])

    def two_cycle_frequencies(self) -> Matrix:
        """Share of the weight on graphs with both i → j and j → i."""
        return self._share([graph.directed & graph.directed.T for graph in self.graphs])

    def confounding_frequencies(self) -> Matrix:
        """Share of the weight on graphs in which i and j have a latent in common."""
        p = self.graphs[0].n_observed
        rows = [graph.children.astype(np.int64) for graph in self.graphs]
        return self._share([(row.T @ row > 0) & ~np.eye(p, dtype=bool) for row in rows])

    def _share(self, masks: list[NDArray[np.bool_]]) -> Matrix:
        return np.tensordot(self.weights, np.array(masks, dtype=np.float64), axes=1)


def near_optimal(
    pools: Sequence[Pool], names: tuple[str, ...], shift: float, keep: int
) -> NearOptimal:
    """The best graphs of some pools with zero-based scores."""
    places = [(pool.scores[k], int(pool.keys[k]), pool, k) for pool in pools for k in _taken(pool)]
    places.sort(key=lambda place: place[:2])
    seen, graphs, scores = set(), [], []
    for score, key, pool, k in places:
        if key not in seen and len(graphs) < keep:
            seen.add(key)
            graphs.append(_graph_at(pool, k, names))
            scores.append(score - shift)
    return NearOptimal(tuple(graphs), np.array(scores))


def _taken(pool: Pool) -> NDArray[np.int64]:
    return np.flatnonzero(np.isfinite(pool.scores))


def _graph_at(pool: Pool, place: int, names: tuple[str, ...]) -> LatentGraph:
    p = len(names)
    directed = np.zeros((p, p), bool)
    for j in range(p):
        directed[pool.tails[place, j, : pool.n_tails[place, j]], j] = True
    used = np.flatnonzero(pool.n_children[place])
    children = np.zeros((len(used), p), bool)
    for row, h in zip(children, used, strict=True):
        row[pool.children[place, h, : pool.n_children[place, h]]] = True
    return LatentGraph(directed, children, names)

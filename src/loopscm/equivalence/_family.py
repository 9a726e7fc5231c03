"""A covariance family with the tables that fits of it need, built once per graph."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loopscm.equivalence._loops import Loops, loops_of, turned
from loopscm.graph import LatentGraph
from loopscm.likelihood import factorised
from loopscm.likelihood.kinds import EDGE, LOADING, VARIANCE
from loopscm.likelihood.layout import Layout, layout_of
from loopscm.scm import LinearSCM

# In standardised units: product of the two largest loadings below which a latent is dead,
# slope worth reviving it for, and share of the noise's standard deviation it gets.
DEAD, DEAD_SLOPE, REVIVED = 1e-3, 1e-6, 0.3

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Family:
    """A graph with its parameters in two orders: by component, and all in one block.

    `order` takes a vector from the first order to the second, `noise_order` to that of `noise`,
    the graph of just `siblings`, variables with correlated noise (if any), without its edges:
    each of its blocks is a set of siblings.
    """

    graph: LatentGraph
    local: Layout
    whole: Layout
    local_tables: factorised.Tables
    whole_tables: factorised.Tables
    loops: Loops
    order: NDArray[np.intp]
    siblings: NDArray[np.intp]
    noise: Layout
    noise_tables: factorised.Tables
    noise_order: NDArray[np.intp]

    def block(self, b: int) -> slice:
        """The parameters of component b in the order by component."""
        return slice(int(self.local.par_ptr[b]), int(self.local.par_ptr[b + 1]))

    @property
    def has_loops(self) -> bool:
        """Whether the graph has directed cycles."""
        return len(self.loops.variable) > 0

    def random_parameters(self, rng: np.random.Generator, spread: float) -> Vector:
        """A random start in standardised units, by component: normal coefficients and loadings."""
        kind = self.local.kind
        theta = np.zeros(self.local.size)
        free = (kind == EDGE) | (kind == LOADING)
        theta[free] = rng.normal(0.0, spread, int(free.sum()))
        theta[kind == VARIANCE] = rng.uniform(0.2, 1.0, self.graph.n_observed)
        return theta

    def kicked(self, theta: Vector, rng: np.random.Generator) -> Vector:
        """Parameters by component with all loadings drawn anew, and noise to hold them."""
        return kicked(self.local, theta, rng)

    def turned(self, theta: Vector, S: Matrix, rng: np.random.Generator) -> Vector:
        """Parameters by component with all loops fitted anew, on any side of det A = 0."""
        return turned(self.loops, self.local, S, theta, rng)

    def revived(self, theta: Vector, slope: Matrix) -> Vector | None:
        """Parameters with dead latents switched on, None if there are none to revive.

        A latent without two sizeable loadings adds no covariance, and zero is a stationary
        point of its loadings. Given half the derivative of an objective in Ψ, the loadings
        along the most negative eigenvector of its off-diagonal part lower the objective once
        the variances make room for them.
        """
        local = self.local
        loading, variance = local.kind == LOADING, np.flatnonzero(local.kind == VARIANCE)
        place = np.empty(self.graph.n_observed, np.intp)
        place[local.head[variance]] = variance
        result = None
        for h in range(self.graph.n_latent):
            mine = np.flatnonzero(loading & (local.row == h))
            sizes = np.sort(np.abs(theta[mine]))
            if len(mine) < 2 or sizes[-1] * sizes[-2] > DEAD:
                continue
            heads = local.head[mine]
            part = slope[np.ix_(heads, heads)] * (1 - np.eye(len(mine)))
            values, vectors = np.linalg.eigh(part)
            if values[0] > -DEAD_SLOPE:
                continue
            result = theta.copy() if result is None else result
            room = result[place[heads]] + theta[mine] ** 2
            result[mine] = REVIVED * vectors[:, 0] * np.sqrt(room)
            result[place[heads]] = room - result[mine] ** 2
        return result

    def projected(self, model: LinearSCM, scale: Vector, floor: float) -> Vector:
        """Standardised parameters closest in form to a model on another graph, by component.

        Shared edges keep their coefficients, matched latents the loadings they share; free
        covariances and variances take what is left of the model's noise covariance. When the
        family contains the model because its graph has more edges, latents, or children, the
        result is the model.
        """
        B = np.where(self.graph.directed, model.coefficients, 0.0)
        Gamma = np.zeros(self.graph.children.shape)
        for h, g in matched_latents(self.graph, model.graph):
            Gamma[h] = np.where(self.graph.children[h], model.loadings[g], 0.0)
        rest = model.noise_covariance() - Gamma.T @ Gamma
        arcs = np.where(self.graph.bidirected, rest, 0.0)
        variances = np.maximum(np.diagonal(rest), floor * scale**2)
        theta = self.local.gather(B, Gamma, variances, arcs) / self.local.units(scale)
        return theta


def kicked(layout: Layout, theta: Vector, rng: np.random.Generator) -> Vector:
    """Parameters with all loadings drawn anew, and noise to hold them."""
    kind, result = layout.kind, theta.copy()
    loadings = kind == LOADING
    count = int(loadings.sum())
    result[loadings] = rng.uniform(0.1, 0.8, count) * rng.choice((-1.0, 1.0), count)
    result[kind == VARIANCE] = np.maximum(result[kind == VARIANCE], 0.1)
    return result


def matched_latents(left: LatentGraph, right: LatentGraph) -> list[tuple[int, int]]:
    """Pairs (latent of left, latent of right) with the most similar sets of children.

    An assignment of greatest total Jaccard similarity; latents without a shared child stay
    unmatched.
    """
    if not left.n_latent or not right.n_latent:
        return []
    from scipy.optimize import linear_sum_assignment

    a, b = left.children.astype(float), right.children.astype(float)
    shared = a @ b.T
    union = a.sum(axis=1)[:, None] + b.sum(axis=1) - shared
    similarity = shared / np.maximum(union, 1.0)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [(h, g) for h, g in pairs if shared[h, g] > 0]


@lru_cache(maxsize=16)
def family_of(graph: LatentGraph) -> Family:
    """The family of a graph."""
    local, whole = layout_of(graph), layout_of(graph, whole=True)
    siblings = np.flatnonzero(graph.children.any(axis=0) | graph.bidirected.any(axis=0))
    siblings = siblings if len(siblings) else np.arange(1)
    noise = layout_of(
        LatentGraph(
            np.zeros((len(siblings), len(siblings))),
            graph.children[:, siblings],
            bidirected=graph.bidirected[np.ix_(siblings, siblings)],
        )
    )
    sorted_local = _sorted_parameters(local)
    order, noise_order = np.empty(local.size, np.intp), np.empty(noise.size, np.intp)
    order[_sorted_parameters(whole)] = sorted_local
    shared = (local.kind != EDGE) & np.isin(local.head, siblings)
    noise_order[_sorted_parameters(noise)] = sorted_local[shared[sorted_local]]
    tables = factorised.tables_of(local), factorised.tables_of(whole)
    return Family(
        graph, local, whole, *tables, loops_of(local), order,
        siblings, noise, factorised.tables_of(noise), noise_order,
    )  # fmt: skip


def _sorted_parameters(layout: Layout) -> NDArray[np.intp]:
    return np.lexsort((layout.head, layout.row, layout.kind))

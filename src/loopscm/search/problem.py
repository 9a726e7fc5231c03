"""What a search is about: the data, the penalty, and what is allowed; compiled helpers on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel
from loopscm.graph import LatentGraph
from loopscm.search.state import State


class Problem(NamedTuple):
    """Constants of one search, in standardised units."""

    S: np.ndarray  # (p, p) correlations
    n: float  # number of observations
    weight: float  # λ, the price of one unit of cost
    dimension: bool  # whether latents cost the dimension they add, else children plus one
    allowed: np.ndarray  # (p, p) edges that may be added, by columns
    required: np.ndarray  # (p, p) edges that may not be removed
    floor: float  # of noise variances
    tolerance: float  # of local fits, in units of f
    max_iterations: int  # of local fits
    company: int  # heads of a local fit, neighbours of the changed ones included
    slack: float  # by which the company may help a change, in units of f
    largest_loop: int  # graphs with more variables on one loop are not fitted
    most_heads: int  # changed heads beyond this number are not fitted


@kernel
def latent_cost(problem: Problem, children: int) -> float:
    """Cost of a latent with that many children; zero for a free slot."""
    if children == 0:
        return 0.0
    if problem.dimension:
        return 1.0 if children == 2 else float(children)
    return children + 1.0


def counted_cost(graph: LatentGraph, dimension: bool) -> int:
    """The cost by which the search compares graphs.

    For the dimension penalty it counts parameters, less the scale of two-child latents. That is
    the dimension of the family except for graphs with more parameters than they can use, which
    the final score charges less.
    """
    if not dimension:
        return graph.complexity
    sizes = graph.children.sum(axis=1)
    return graph.n_edges - int(sizes.sum()) + int(np.where(sizes == 2, 1, sizes).sum())


@kernel
def cost_of(problem: Problem, state: State) -> float:
    """The cost of a graph, in units of λ."""
    cost = 0.0
    for j in range(state.noise.shape[0]):
        cost += state.n_tails[j]
    for h in range(state.n_children.shape[0]):
        cost += latent_cost(problem, state.n_children[h])
    return cost

"""What a graph costs: the paper's structural penalty and the dimension of its family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from loopscm._checks import as_choice
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension

Penalty = Literal["structural", "dimension"]


def structural_cost(graph: LatentGraph) -> int:
    """c(G) = edges + latents (Eq. complexity)."""
    return graph.complexity


def dimension_cost(graph: LatentGraph) -> int:
    """Dimension of the covariance family beyond the p variances.

    A latent with two children costs one, with k ≥ 3 children k, unless the family's generic
    rank is smaller.
    """
    return family_dimension(graph) - graph.n_observed


_COSTS: dict[str, Callable[[LatentGraph], int]] = {
    "structural": structural_cost,
    "dimension": dimension_cost,
}


def penalty_weight(n: int) -> float:
    """The paper's λ_n = ½ log n (Eq. joint-objective)."""
    return 0.5 * float(np.log(n))


def penalty_cost(graph: LatentGraph, penalty: Penalty) -> int:
    """The number that a penalty multiplies by λ."""
    return _COSTS[as_choice(penalty, "penalty", get_args(Penalty))](graph)

"""What a graph costs: the paper's structural penalty and the dimension of its family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from loopscm._checks import as_choice, as_real
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension

Penalty = Literal["structural", "dimension"]
Weight = Literal["paper", "bic", "ebic"]


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
# The paper's own, and what recovers graphs best (BENCHMARKS.md, "Which penalty").
_PRICES: dict[str, Weight] = {"structural": "paper", "dimension": "ebic"}
_NAMED = get_args(Weight)


def penalty_weight(n: int) -> float:
    """The paper's λ_n = ½ log n (Eq. joint-objective), which is also BIC's."""
    return 0.5 * float(np.log(n))


def price(penalty: Penalty, n: int, p: int, weight: Weight | float | None = None) -> float:
    """λ, what a penalty charges for one unit of cost.

    "paper" and "bic" are ½ log n; "ebic", ½ log n + log p, also pays for the choice among p² edges
    (extended BIC with γ = ½). None is the penalty's own price: the paper's for the structural
    penalty, EBIC's for the dimension.
    """
    as_choice(penalty, "penalty", get_args(Penalty))
    if weight is None:
        weight = _PRICES[penalty]
    if not isinstance(weight, str):
        return as_real(weight, "weight", minimum=0.0)
    extra = float(np.log(p)) if as_choice(weight, "weight", _NAMED) == "ebic" else 0.0
    return penalty_weight(n) + extra


def penalty_cost(graph: LatentGraph, penalty: Penalty) -> int:
    """The number that a penalty multiplies by λ."""
    return _COSTS[as_choice(penalty, "penalty", get_args(Penalty))](graph)

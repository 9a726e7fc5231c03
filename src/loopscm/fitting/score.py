"""The penalised score of a graph."""

from __future__ import annotations

from loopscm.fitting.fit import fit, matched
from loopscm.graph import LatentGraph
from loopscm.likelihood.penalty import Penalty, Weight, penalty_cost, price
from loopscm.stats import GaussianStats


def score(
    stats: GaussianStats,
    graph: LatentGraph,
    *,
    penalty: Penalty = "structural",
    weight: Weight | float | None = None,
) -> float:
    """n·D(S‖Σ̂) + λ·cost(G), zero-based: lower is better (Eq. graph-score without C_n).

    `weight` is λ: "paper" and "bic" are ½ log n, "ebic" is ½ log n + log p, or a number. By default
    the structural penalty has the paper's and the dimension penalty EBIC's, as in `learn`.
    With a singular S the saturated model has no likelihood, and the score counts from the
    model of independent variables instead, so it may be negative.
    """
    graph = matched(stats, graph)
    cost = price(penalty, stats.n, stats.p, weight) * penalty_cost(graph, penalty)
    zero = stats.independent if stats.is_singular else stats.saturated
    return fit(stats, graph).nll - stats.n * zero + cost

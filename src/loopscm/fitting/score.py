"""The penalised score of a graph."""

from __future__ import annotations

from loopscm.fitting.fit import fit, matched
from loopscm.graph import LatentGraph
from loopscm.likelihood.penalty import Penalty, penalty_cost, penalty_weight
from loopscm.stats import GaussianStats


def score(stats: GaussianStats, graph: LatentGraph, *, penalty: Penalty = "structural") -> float:
    """n·D(S‖Σ̂) + λ_n·cost(G), zero-based: lower is better (Eq. graph-score without C_n).

    With a singular S the saturated model has no likelihood, and the score counts from the
    model of independent variables instead, so it may be negative.
    """
    graph = matched(stats, graph)
    cost = penalty_weight(stats.n) * penalty_cost(graph, penalty)
    zero = stats.independent if stats.is_singular else stats.saturated
    return fit(stats, graph).nll - stats.n * zero + cost

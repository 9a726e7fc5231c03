"""From gates to a graph: thresholds, the conversion of useless latents, and the refit."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from loopscm.fitting import Fit, fit
from loopscm.gates.parameters import GateParameters
from loopscm.gates.problem import Problem
from loopscm.gates.settings import GateSettings
from loopscm.graph import LatentGraph
from loopscm.likelihood.penalty import Penalty, penalty_cost, price
from loopscm.scm import LinearSCM
from loopscm.stats import GaussianStats


@dataclass(frozen=True, eq=False)
class Candidate:
    """A graph with its best parameters and its discrete penalised score, zero-based."""

    graph: LatentGraph
    fit: Fit
    score: float


def extract(
    problem: Problem, parameters: GateParameters, settings: GateSettings, names: tuple[str, ...]
) -> LinearSCM:
    """The model that the gates select, in the units of the data.

    Gates above `gate_threshold` are on, and so are edges whose |coefficient| exceeds
    `coefficient_threshold`. Latents that are off or have no child disappear, the variance of
    a latent with one child moves into that child's noise (Appendix "Details and proof of the
    Bernoulli formulation").
    """
    bar, smallest = settings.gate_threshold, settings.coefficient_threshold
    edges = (parameters.q > bar) & (np.abs(parameters.W) > smallest)
    active = parameters.pi > bar
    children = (parameters.r > bar) & (np.abs(parameters.Gamma) > smallest) & active[:, None]
    loadings = np.where(children, parameters.Gamma, 0.0)
    lone = children.sum(axis=1) == 1
    omega = parameters.omega(problem.floor) + (loadings[lone] ** 2).sum(axis=0)
    kept = children.sum(axis=1) >= 2
    scale = problem.scale
    return LinearSCM.trusted(
        LatentGraph(edges, children[kept], names),
        np.where(edges, parameters.W, 0.0) * scale / scale[:, None],
        loadings[kept] * scale,
        omega * scale**2,
        np.zeros(edges.shape),
    )


def refitted(
    stats: GaussianStats, graph: LatentGraph, start: LinearSCM | None, penalty: Penalty
) -> Candidate:
    """The graph with its best parameters, from the given start and from a cold one."""
    result = fit(stats, graph)
    if start is not None and np.isfinite(start.noise_variances).all():
        warm = fit(stats, graph, start=start)
        result = warm if warm.nll < result.nll else result
    return rescored(stats, Candidate(graph, result, np.nan), penalty)


def rescored(stats: GaussianStats, candidate: Candidate, penalty: Penalty) -> Candidate:
    """The same candidate, its score under a penalty."""
    zero = stats.independent if stats.is_singular else stats.saturated
    cost = price(penalty, stats.n, stats.p) * penalty_cost(candidate.graph, penalty)
    return replace(candidate, score=candidate.fit.nll - stats.n * zero + cost)

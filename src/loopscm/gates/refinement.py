"""Compound support refinement: deletions and reversals with a deletion, at plateaus.

The paper says that at a plateau "deletion and reversal-plus-deletion candidates are
evaluated" in ten branches each of one deleted edge, "accepted deletions are permanently
removed from the search space, and optimization continues from the best improving support".
Which ten is left open: here those whose closed-form effect on the likelihood, all other
parameters fixed, is smallest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import UnboundedLikelihoodError
from loopscm.gates.extraction import Candidate, refitted
from loopscm.gates.parameters import GateParameters, inverse_softplus
from loopscm.gates.problem import Problem
from loopscm.gates.settings import Refinement
from loopscm.graph import LatentGraph
from loopscm.likelihood.flips import Flips
from loopscm.likelihood.penalty import Penalty
from loopscm.scm import LinearSCM
from loopscm.stats import GaussianStats

Edge = tuple[int, int]
LEAST_GAIN = 1e-6  # of the score; below, two fits differ by their tolerance


@dataclass(frozen=True, eq=False)
class Branch:
    """A changed support: its refit, the deleted edge, and the reversed one if any."""

    candidate: Candidate
    deleted: Edge
    reversed: Edge | None = None


def plateaued(objective: list[float], since: int, plan: Refinement) -> bool:
    """Whether the objective, recorded from update `since` on, has stopped falling."""
    w = plan.window
    if len(objective) - since < 2 * w:
        return False
    before, now = np.mean(objective[-2 * w : -w]), np.mean(objective[-w:])
    return bool(np.isfinite(before + now) and abs(before - now) <= plan.tolerance * abs(before))


def best_branch(
    stats: GaussianStats,
    base: Candidate,
    plan: Refinement,
    penalty: Penalty,
    allowed: NDArray[np.bool_],
) -> Branch | None:
    """The best of all branches that improves on the base; `allowed[i, j]` for i → j."""
    branches = [
        *_deletions(stats, base, plan.deletions, penalty),
        *_reversals(stats, base, plan.reversals, penalty, allowed),
    ]
    best = min(branches, key=lambda branch: branch.candidate.score, default=None)
    if best is None or best.candidate.score > base.score - LEAST_GAIN:
        return None
    return best


def _cheapest(stats: GaussianStats, model: LinearSCM, keep: Edge | None = None) -> list[Edge]:
    """Edges in the order of what their removal costs."""
    costs = Flips(stats.S, model).removals()
    edges = [(int(i), int(j)) for i, j in np.argwhere(model.graph.directed)]
    return sorted((e for e in edges if e != keep), key=lambda e: (costs[e], e))


def _changed(model: LinearSCM, drop: Edge, add: Edge | None = None) -> LinearSCM:
    """The model without one edge, and with another at coefficient zero."""
    directed, B = model.graph.directed.copy(), model.coefficients.copy()
    directed[drop], B[drop] = False, 0.0
    if add is not None:
        directed[add] = True
    graph = LatentGraph(directed, model.graph.children, model.graph.names)
    return LinearSCM.trusted(
        graph, B, model.loadings, model.noise_variances, model.noise_covariances
    )


def _deletions(stats: GaussianStats, base: Candidate, count: int, penalty: Penalty) -> list[Branch]:
    result = []
    for edge in _cheapest(stats, base.fit.scm)[:count]:
        model = _changed(base.fit.scm, edge)
        result.append(Branch(refitted(stats, model.graph, model, penalty), edge))
    return result


def _reversals(
    stats: GaussianStats,
    base: Candidate,
    count: int,
    penalty: Penalty,
    allowed: NDArray[np.bool_],
) -> list[Branch]:
    """Reverse an edge, refit, then delete the edge that is cheapest there."""
    if count == 0:
        return []
    model = base.fit.scm
    removals = Flips(stats.S, model).removals()
    costs: dict[Edge, float] = {}
    for i, j in np.argwhere(model.graph.directed):
        edge, back = (int(i), int(j)), (int(j), int(i))
        if allowed[back] and not model.graph.directed[back]:
            gains = Flips(stats.S, _changed(model, edge)).best_changes[1]
            costs[edge] = float(removals[edge] + gains[back])
    result = []
    for edge in sorted(costs, key=lambda e: (costs[e], e))[:count]:
        back = (edge[1], edge[0])
        turned = _changed(model, edge, back)
        try:
            turned = refitted(stats, turned.graph, turned, penalty).fit.scm
        except UnboundedLikelihoodError:  # more parents than few observations can tell apart
            continue
        for victim in _cheapest(stats, turned, keep=back)[:1]:
            last = _changed(turned, victim)
            result.append(Branch(refitted(stats, last.graph, last, penalty), victim, edge))
    return result


def continued(problem: Problem, parameters: GateParameters, branch: Branch) -> GateParameters:
    """Parameters from which the optimisation goes on with a branch's support.

    The selected coefficients and the noise variances are those of the refit; the logits of a
    reversed edge change places; the deleted edge is not allowed any more.
    """
    shape, scale = parameters.shape, problem.scale
    theta, allowed = parameters.theta.copy(), parameters.allowed.copy()
    moved = replace(parameters, theta=theta, allowed=allowed)
    model = branch.candidate.fit.scm
    W, edges = moved.W, model.graph.directed
    W[edges] = (model.coefficients * scale[:, None] / scale)[edges]
    omega = model.noise_variances / scale**2
    moved.noise[:] = inverse_softplus(np.maximum(omega - problem.floor, 1e-8 * omega))
    alpha = shape.split(moved.logits)[0].T
    if branch.reversed is not None:
        i, j = branch.reversed
        alpha[i, j], alpha[j, i] = alpha[j, i], alpha[i, j]
    shape.split(allowed)[0].T[branch.deleted] = False  # type: ignore[arg-type]
    return moved

"""Predicted gains of all latent moves, compiled.

New covariances are judged by score tests on T − Π, present ones by Wald tests; both with the
Fisher information at constant Ψ_jj, in which a loading moves only covariances.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.candidates import Candidates, offer
from loopscm.search.moves import CONFOUND, DISSOLVE, JOIN, LEAVE, Move
from loopscm.search.problem import Problem, latent_cost
from loopscm.search.state import State, child_place, free_slot
from loopscm.search.tables import Tables, information_of


@kernel
def _reach(state: State, tables: Tables, h: int, j: int) -> float:
    """(Πγ_h)_j."""
    total = 0.0
    for k in range(state.n_children[h]):
        total += tables.precision[j, state.children[h, k]] * state.loadings[h, k]
    return total


@kernel
def strength_of(state: State, tables: Tables, h: int) -> float:
    """γ_hᵀ Π γ_h."""
    total = 0.0
    for k in range(state.n_children[h]):
        total += state.loadings[h, k] * _reach(state, tables, h, state.children[h, k])
    return total


@merged
def offer_confounding(
    problem: Problem,
    state: State,
    tables: Tables,
    candidates: Candidates,
    j: int,
    slopes: np.ndarray,
    strengths: np.ndarray,
    marks: np.ndarray,
    hope: float,
) -> None:
    """A new latent over j and another node, or j as a new child of a latent.

    Given are column j of S A Π, and the strengths of all latents.
    """
    p = state.noise.shape[0]
    T = np.empty(p)
    information_of(state, tables, slopes, T)
    own = tables.diagonal[j]
    if free_slot(state) >= 0:
        price = problem.weight * latent_cost(problem, 2)
        least = 2.0 * (price - hope) / problem.n
        for k in range(p):
            cross = tables.precision[j, k]
            slope, curvature = T[k] - cross, cross * cross + own * tables.diagonal[k]
            if slope * slope > least * curvature and k != j and (k > j or not marks[k]):
                predicted = price - 0.5 * problem.n * slope * slope / curvature
                offer(candidates, j, Move(CONFOUND, j, k, 0, slope / curvature), predicted)
    for h in range(state.n_children.shape[0]):
        count = state.n_children[h]
        if count == 0:
            continue
        slope = 0.0
        for k in range(count):
            head = state.children[h, k]
            slope += state.loadings[h, k] * (T[head] - tables.precision[j, head])
        added = latent_cost(problem, count + 1) - latent_cost(problem, count)
        price = problem.weight * added
        least = 2.0 * (price - hope) / problem.n
        if slope * slope <= least * own * strengths[h] or child_place(state, h, j) >= 0:
            continue
        reach = _reach(state, tables, h, j)
        step = slope / (reach * reach + own * strengths[h])
        predicted = price - 0.5 * problem.n * step * slope
        if predicted < hope:
            offer(candidates, j, Move(JOIN, h, j, 0, step), predicted)


@merged
def offer_latent_changes(
    problem: Problem, state: State, tables: Tables, candidates: Candidates, h: int, hope: float
) -> None:
    """Loss of a child, and removal."""
    row, count = state.noise.shape[0] + h, state.n_children[h]
    strength = strength_of(state, tables, h)
    total = 0.0
    for k in range(count):
        j, loading = state.children[h, k], state.loadings[h, k]
        own, reach = tables.diagonal[j], _reach(state, tables, h, j)
        # w = γ_h without its own entry: only covariances of j move.
        rest = strength - 2.0 * loading * reach + loading * loading * own
        across = reach - loading * own
        loss = 0.5 * loading * loading * (across * across + own * rest)
        total += 0.5 * loss
        if count > 2:
            price = latent_cost(problem, count - 1) - latent_cost(problem, count)
            predicted = problem.n * loss + problem.weight * price
            if predicted < hope:
                offer(candidates, row, Move(LEAVE, h, j, 0, 0.0), predicted)
    price = -problem.weight * latent_cost(problem, count)
    predicted = problem.n * total + price
    if predicted < hope:
        offer(candidates, row, Move(DISSOLVE, h, 0, 0, 0.0), predicted)

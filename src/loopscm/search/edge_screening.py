"""Predicted gains of all edge moves into one head, compiled.

Cycles are taken exactly (`closed_forms`); the other parents of the head adjust to second order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import small_spd_inverse
from loopscm.search.candidates import Candidates, offer
from loopscm.search.closed_forms import best_edge_change
from loopscm.search.moves import ADD, DELETE, REVERSE, SWAP, Move
from loopscm.search.problem import Problem
from loopscm.search.state import State, parent_place
from loopscm.search.tables import Tables, effects_of, slope_at

LEAST_CURVATURE = 0.2  # share of a new coefficient's curvature that its company cannot take

LARGE_EFFECT = 0.06  # share of the curvature, from which a cycle may pay beyond det A = 0


class Head(NamedTuple):
    """One head and how its parents move together."""

    j: int
    effects: np.ndarray  # (p,) total effects of j
    slopes: np.ndarray  # (p,) column j of S A Π
    inverse: np.ndarray  # inverse of the Hessian of f in the coefficients of the parents
    freed: np.ndarray  # curvature of each coefficient, the others adjusted
    losses: np.ndarray  # rise of f without each parent, the others adjusted (Wald)


@merged
def look_at(
    problem: Problem,
    state: State,
    tables: Tables,
    j: int,
    effects: np.ndarray,
    slopes: np.ndarray,
) -> Head:
    """The head j, whose total effects and slopes are given."""
    count, precision = state.n_tails[j], tables.diagonal[j]
    H = np.empty((count, count))
    for x in range(count):
        for y in range(count):
            k, l = state.tails[j, x], state.tails[j, y]
            H[x, y] = problem.S[k, l] * precision + effects[k] * effects[l]
    freed, losses = np.full(count, np.inf), np.zeros(count)
    definite, _log_det, inverse = small_spd_inverse(H)
    if definite:
        for x in range(count):
            freed[x] = 1.0 / inverse[x, x]
            losses[x] = 0.5 * state.weights[j, x] ** 2 * freed[x]
    else:
        inverse[:] = 0.0
    return Head(j, effects, slopes, inverse, freed, losses)


@kernel
def _may_fall(effect: float, gradient: float, curvature: float, rise: float) -> bool:
    """Whether a new coefficient may change f by less than `rise`.

    On the near side of det A = 0 the cycle only adds curvature; the far side is out of reach
    where the total effect is small.
    """
    if effect * effect > LARGE_EFFECT * curvature:
        return True
    return -0.5 * gradient * gradient < rise * curvature


@merged
def _company(
    problem: Problem, state: State, tables: Tables, head: Head
) -> tuple[np.ndarray, np.ndarray]:
    """(curvature of each new coefficient when the parents adjust, shift of each parent)."""
    p, count, precision = state.noise.shape[0], state.n_tails[head.j], tables.diagonal[head.j]
    cross = np.empty((count, p))
    shifts = np.zeros((count, p))
    curvatures = np.full(p, precision)
    for x in range(count):
        tail = state.tails[head.j, x]
        effect = head.effects[tail]
        for i in range(p):
            cross[x, i] = problem.S[tail, i] * precision + effect * head.effects[i]
    for x in range(count):
        for y in range(count):
            for i in range(p):
                shifts[x, i] += head.inverse[x, y] * cross[y, i]
        for i in range(p):
            curvatures[i] -= cross[x, i] * shifts[x, i]
    return curvatures, shifts


@kernel
def _may_enter(problem: Problem, state: State, i: int, j: int) -> bool:
    """Whether i may become a parent of j."""
    return i != j and problem.allowed[i, j] and parent_place(state, i, j) < 0


@merged
def offer_entries(
    problem: Problem, state: State, tables: Tables, candidates: Candidates, head: Head, hope: float
) -> None:
    """All new parents of a head, besides the present ones and in the place of each."""
    j, effects, slopes, p = head.j, head.effects, head.slopes, state.noise.shape[0]
    own, shifts = _company(problem, state, tables, head)
    least = LEAST_CURVATURE * tables.diagonal[j]
    rise = (hope - problem.weight) / problem.n
    for i in range(p):
        slope, curvature = slopes[i], max(own[i], least)
        if _may_fall(effects[i], effects[i] - slope, curvature, rise):
            t, change = best_edge_change(effects[i], slope, curvature)
            predicted = problem.n * change + problem.weight
            if predicted < hope and _may_enter(problem, state, i, j):
                offer(candidates, j, Move(ADD, i, j, 0, t), predicted)
    for x in range(state.n_tails[j]):
        tail, freed, weight = state.tails[j, x], head.freed[x], state.weights[j, x]
        if not freed < np.inf or problem.required[tail, j]:
            continue
        best, entry, value = hope, -1, 0.0
        share = 1.0 / (1.0 + weight * effects[tail])
        for i in range(p):
            effect, shift = effects[i], shifts[x, i]
            moved = effect * share
            gradient = effect - slopes[i] - weight * shift * freed
            curvature = max(own[i] + effect * effect + shift * shift * freed - moved * moved, least)
            rise = best / problem.n - head.losses[x]
            if _may_fall(moved, gradient, curvature, rise) and _may_enter(problem, state, i, j):
                t, change = best_edge_change(moved, moved - gradient, curvature)
                predicted = problem.n * (head.losses[x] + change)
                if predicted < best:
                    best, entry, value = predicted, i, t
        if entry >= 0:
            offer(candidates, j, Move(SWAP, tail, j, entry, value), best)


@merged
def offer_exits(
    problem: Problem, state: State, tables: Tables, candidates: Candidates, head: Head, hope: float
) -> None:
    """Deletion and reversal of every parent of a head."""
    j, effects = head.j, head.effects
    for x in range(state.n_tails[j]):
        i, s = state.tails[j, x], -state.weights[j, x]
        if problem.required[i, j]:
            continue
        predicted = problem.n * head.losses[x] - problem.weight
        if predicted < hope:
            offer(candidates, j, Move(DELETE, i, j, 0, 0.0), predicted)
        alpha = 1.0 - s * effects[i]  # factor of det A when i → j goes
        if abs(alpha) < 1e-9 or not problem.allowed[j, i] or parent_place(state, j, i) >= 0:
            continue
        other = effects_of(state, tables, i)
        loop = other[j] + s * other[i] * effects[j] / alpha
        slope = slope_at(state, tables, i, j) - s * problem.S[i, j] * tables.precision[j, i]
        curvature = problem.S[j, j] * tables.diagonal[i]
        t, change = best_edge_change(loop, slope, curvature)
        predicted = problem.n * (head.losses[x] + change)
        if predicted < hope:
            offer(candidates, j, Move(REVERSE, i, j, 0, t), predicted)

"""Predicted gains of edge ↔ latent over two nodes, compiled.

Both explain one covariance. What the exchange loses is judged to second order: the coefficients
of the head's parents, the exchanged edge among them, and the free covariance of the two errors
move together, the one that goes to zero.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import small_spd_inverse
from loopscm.search.candidates import Candidates, offer
from loopscm.search.moves import DIRECT, VEIL, Move
from loopscm.search.problem import Problem, latent_cost
from loopscm.search.state import State, parent_place
from loopscm.search.tables import Tables, effects_of


@kernel
def _exchange(
    problem: Problem,
    state: State,
    tables: Tables,
    tail: int,
    head: int,
    gone: float,
    edge_goes: bool,
) -> tuple[float, float]:
    """(rise of f, value of the new parameter) when an edge and a covariance change places.

    `gone` is the present value of the one that goes.
    """
    count = state.n_tails[head]
    ends, starts = effects_of(state, tables, head), effects_of(state, tables, tail)
    own, cross = tables.precision[head, head], tables.precision[head, tail]
    nodes = np.empty(count + 1, np.int64)
    nodes[:count] = state.tails[head, :count]
    place, size = parent_place(state, tail, head), count
    if place < 0:
        place, nodes[count] = count, tail
        size += 1
    H = np.empty((size + 1, size + 1))
    for x in range(size):
        k = nodes[x]
        for y in range(size):
            l = nodes[y]
            H[x, y] = problem.S[k, l] * own + ends[k] * ends[l]
        H[x, size] = starts[k] * own + ends[k] * cross
        H[size, x] = H[x, size]
    H[size, size] = cross * cross + own * tables.precision[tail, tail]
    definite, _log_det, inverse = small_spd_inverse(H)
    if not definite:
        return np.inf, 0.0
    goes, comes = (place, size) if edge_goes else (size, place)
    shift = -gone * inverse[comes, goes] / inverse[goes, goes]
    return 0.5 * gone * gone / inverse[goes, goes], shift


@merged
def offer_directing(
    problem: Problem, state: State, tables: Tables, candidates: Candidates, h: int, hope: float
) -> None:
    """A latent over two nodes becomes an edge, in either direction."""
    row = state.noise.shape[0] + h
    a, b = state.children[h, 0], state.children[h, 1]
    covariance = state.loadings[h, 0] * state.loadings[h, 1]
    price = problem.weight * (1.0 - latent_cost(problem, 2))
    for _ in range(2):
        if problem.allowed[a, b] and parent_place(state, a, b) < 0:
            loss, value = _exchange(problem, state, tables, a, b, covariance, False)
            predicted = problem.n * loss + price
            if predicted < hope:
                offer(candidates, row, Move(DIRECT, h, a, b, value), predicted)
        a, b = b, a


@merged
def offer_veiling(
    problem: Problem, state: State, tables: Tables, candidates: Candidates, j: int, hope: float
) -> None:
    """An edge into j becomes a latent over its ends."""
    price = problem.weight * (latent_cost(problem, 2) - 1.0)
    if price >= hope:
        return
    for x in range(state.n_tails[j]):
        i = state.tails[j, x]
        if not problem.required[i, j]:
            loss, value = _exchange(problem, state, tables, i, j, state.weights[j, x], True)
            predicted = problem.n * loss + price
            if predicted < hope:
                offer(candidates, j, Move(VEIL, i, j, 0, value), predicted)

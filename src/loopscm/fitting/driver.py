"""Fits every block of a graph, compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import entry, kernel
from loopscm.fitting.newton import Limits, minimise
from loopscm.fitting.restart import LARGE, RESTARTS, another_start, is_suspect
from loopscm.fitting.start import cold_start
from loopscm.likelihood.dense import cholesky
from loopscm.likelihood.factorised import Tables, take_block


@entry
def starting_point(tables: Tables, S: np.ndarray) -> np.ndarray:
    """Cold starting parameters of all blocks."""
    theta = np.empty(tables.kind.shape[0])
    empty = np.zeros((0, 0))
    for b in range(tables.n_heads.shape[0]):
        first = tables.par_ptr[b]
        found = cold_start(take_block(tables, S, empty, b))
        for a in range(found.shape[0]):
            theta[first + a] = found[a]
    return theta


@kernel
def _best_possible(S: np.ndarray, heads: int) -> float:
    """½(log det S_C·pa + m): no parameters give a block a smaller f; −∞ if S is singular."""
    size = S.shape[0]
    M = np.empty((size, size))  # parents first, so that the last pivots are those of C given pa
    for i in range(size):
        for j in range(size):
            M[i, j] = S[(i + heads) % size, (j + heads) % size]
    if not cholesky(M):
        return -np.inf
    total = 0.5 * heads
    for i in range(size - heads, size):
        total += np.log(M[i, i])
    return total


@entry
def minimise_blocks(
    tables: Tables,
    S: np.ndarray,
    inverse: np.ndarray,
    starts: np.ndarray,
    weights: tuple,
    floor: float,
    limits: Limits,
    restarts: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(parameters, outcome of each block, iterations of each, trace of the total objective).

    Every row of `starts` is tried on every block, and the best result of each kept; a block
    whose objective reaches its lower bound is not started again. With `restarts` the first
    row is the cold start, and blocks that end on the noise floor or stall get the further
    starts of `restart`. Iterations and trace are those of the start that won.
    """
    count = tables.n_heads.shape[0]
    theta = np.empty(starts.shape[1])
    outcomes = np.empty(count, np.int64)
    iterations = np.zeros(count, np.int64)
    trace = np.zeros(limits.max_iterations + 1)
    path = trace
    longest = 0
    for b in range(count):
        first, last = tables.par_ptr[b], tables.par_ptr[b + 1]
        block = take_block(tables, S, inverse, b)
        given, extra = starts.shape[0], 0
        if restarts:
            extra = RESTARTS if block.heads <= LARGE else 1
        best, bound = np.inf, 0.5 * block.heads  # of J before its constant
        for k in range(given + extra):
            if k == 1 and weights[1] == 0.0:
                bound = _best_possible(block.S, block.heads)
            if k >= 1 and best - bound < limits.tolerance:
                break
            if k < given:
                start = starts[k, first:last]
            elif is_suspect(block, theta[first:last], outcomes[b], floor):
                start = another_start(
                    block, starts[0, first:last], theta[first:last], floor, k - given
                )
            else:
                break
            found, value, outcome, values = minimise(block, start, weights, floor, limits)
            if value < best or k == 0:
                best, outcomes[b], iterations[b] = value, outcome, values.shape[0] - 1
                for a in range(found.shape[0]):
                    theta[first + a] = found[a]
                path = values
        longest = max(longest, iterations[b])
        for k in range(limits.max_iterations + 1):
            trace[k] += path[min(k, iterations[b])]
    return theta, outcomes, iterations, trace[: longest + 1]

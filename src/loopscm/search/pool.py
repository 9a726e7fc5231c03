"""The best distinct graphs met during a search, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.random import mixed
from loopscm.search.state import State


class Pool(NamedTuple):
    """Graphs with their scores, in no order; a score is infinite where the place is free."""

    scores: np.ndarray  # (k,)
    keys: np.ndarray  # (k,) content keys
    n_tails: np.ndarray  # (k, p)
    tails: np.ndarray  # (k, p, capacity)
    n_children: np.ndarray  # (k, l)
    children: np.ndarray  # (k, l, capacity)


def empty_pool(state: State, places: int) -> Pool:
    """A pool for graphs of the shape of a state."""
    shapes = [state.n_tails.shape, state.tails.shape, state.n_children.shape, state.children.shape]
    arrays = [np.zeros((places, *shape), np.int32) for shape in shapes]
    return Pool(np.full(places, np.inf), np.zeros(places, np.uint64), *arrays)


@merged
def content_key(state: State) -> np.uint64:
    """A key of the graph that ignores the order of its lists."""
    p = state.noise.shape[0]
    key = np.uint64(0)
    for j in range(p):
        for k in range(state.n_tails[j]):
            key += mixed(np.uint64(state.tails[j, k] * p + j + 1))
    for h in range(state.n_children.shape[0]):
        if state.n_children[h] > 0:
            members = np.uint64(0)
            for k in range(state.n_children[h]):
                members += mixed(np.uint64(state.children[h, k] + p * p + 1))
            key += mixed(members)
    return key


@kernel
def remember(pool: Pool, state: State, score: float) -> None:
    """Keep a graph if it is new and better than the worst in the pool."""
    worst = 0
    for k in range(1, pool.scores.shape[0]):
        if pool.scores[k] > pool.scores[worst]:
            worst = k
    if score >= pool.scores[worst]:
        return
    key = content_key(state)
    for k in range(pool.scores.shape[0]):
        if pool.keys[k] == key and pool.scores[k] < np.inf:
            pool.scores[k] = min(pool.scores[k], score)
            return
    pool.scores[worst] = score
    pool.keys[worst] = key
    for j in range(state.noise.shape[0]):
        pool.n_tails[worst, j] = state.n_tails[j]
        for k in range(state.n_tails[j]):
            pool.tails[worst, j, k] = state.tails[j, k]
    for h in range(state.n_children.shape[0]):
        pool.n_children[worst, h] = state.n_children[h]
        for k in range(state.n_children[h]):
            pool.children[worst, h, k] = state.children[h, k]

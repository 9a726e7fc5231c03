"""Kicks: random rearrangements of a small neighbourhood, compiled.

A kick leaves a graph that the local search would not reach, from where it finds another local
optimum or the same again. All of them act on a connected set of nodes; the whole of the state
outside stays. What each contributes is measured in `benchmarks/search_ablation.py`.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.fitting.start import leading_vector
from loopscm.search.moves import confound, connect, disconnect
from loopscm.search.problem import Problem
from loopscm.search.random import below, uniform
from loopscm.search.state import (
    State,
    add_child,
    child_place,
    free_slot,
    parent_place,
    remove_child,
    remove_latent,
)

CLEAR = 0  # no edges inside
CLEAR_CONFOUND = 1  # the same, and a latent over the set
DROP = 2  # one latent that meets the set goes
TRANSPOSE = 3  # all edges inside are reversed
HALF = 4  # each edge inside goes with probability one half
HALF_CONFOUND = 5
CHAIN = 6  # a directed path is reversed
ORPHAN = 7  # a node loses its parents
CHILDLESS = 8  # a node loses its children
MERGE = 9  # two latents become one
SPLIT = 10  # a latent becomes two
STAR = 11  # a latent becomes edges from one child to the others
TOGGLE = 12  # some edges inside appear or disappear
REBUILD = 13  # no edges into the set
REBUILD_CONFOUND = 14
KINDS = 15

_SMALL = 0.1  # coefficient of a new edge before its fit


@merged
def draw_kind(rng: np.ndarray, used: np.ndarray) -> int:
    """One of the kinds in use, all with the same probability."""
    return int(used[below(rng, used.shape[0])])


@kernel
def kick(
    problem: Problem,
    state: State,
    rng: np.ndarray,
    kind: int,
    nodes: np.ndarray,
) -> None:
    """Apply one kick to a connected set of nodes; may turn out to change nothing."""
    first = nodes[0]
    if kind in (CLEAR, CLEAR_CONFOUND):
        _thin(problem, state, rng, nodes, 1.0)
    elif kind in (HALF, HALF_CONFOUND):
        _thin(problem, state, rng, nodes, 0.5)
    elif kind in (REBUILD, REBUILD_CONFOUND):
        _thin(problem, state, rng, nodes, 1.0)
        for x in range(nodes.shape[0]):
            _orphan(problem, state, nodes[x])
    if kind in (CLEAR_CONFOUND, HALF_CONFOUND, REBUILD_CONFOUND):
        _confound_all(problem, state, nodes)
    elif kind in (DROP, MERGE, SPLIT, STAR):
        _rearrange_latents(problem, state, rng, kind, nodes)
    elif kind == TRANSPOSE:
        _transpose(problem, state, nodes)
    elif kind == CHAIN:
        _reverse_chain(problem, state, rng, first)
    elif kind == ORPHAN:
        _orphan(problem, state, first)
    elif kind == CHILDLESS:
        for j in range(state.noise.shape[0]):
            disconnect(problem, state, first, j)
    elif kind == TOGGLE:
        _toggle(problem, state, rng, nodes)


@kernel
def _thin(
    problem: Problem, state: State, rng: np.ndarray, nodes: np.ndarray, chance: float
) -> None:
    """Remove edges inside the set, and half the time the set's latent ties as well."""
    for x in range(nodes.shape[0]):
        for y in range(nodes.shape[0]):
            if x != y and (chance >= 1.0 or uniform(rng) < chance):
                disconnect(problem, state, nodes[x], nodes[y])
    if uniform(rng) < 0.5:
        for h in range(state.n_children.shape[0]):
            for x in range(nodes.shape[0]):
                if state.n_children[h] > 0:
                    remove_child(state, h, nodes[x])


@kernel
def _orphan(problem: Problem, state: State, node: int) -> None:
    """Remove all edges into a node."""
    for k in range(state.n_tails[node] - 1, -1, -1):
        disconnect(problem, state, state.tails[node, k], node)


@merged
def _confound_all(problem: Problem, state: State, nodes: np.ndarray) -> None:
    """A new latent over the set, its loadings from the residuals' correlations."""
    slot, size = free_slot(state), nodes.shape[0]
    if slot < 0:
        return
    C = np.zeros((size, size))
    for x in range(size):
        for y in range(x):
            i, j = nodes[x], nodes[y]
            total = _residual(problem, state, i, j)
            scale = _residual(problem, state, i, i) * _residual(problem, state, j, j)
            C[x, y] = total / np.sqrt(scale)
            C[y, x] = C[x, y]
    vector = leading_vector(C)
    for x in range(size):
        share = min(max(abs(vector[x]), 0.1), 0.8)
        loading = np.copysign(share, vector[x]) * np.sqrt(state.noise[nodes[x]])
        add_child(state, slot, nodes[x], loading)


@kernel
def _residual(problem: Problem, state: State, i: int, j: int) -> float:
    """R_ij = (AᵀSA)_ij."""
    total = problem.S[i, j]
    for k in range(state.n_tails[i]):
        total -= state.weights[i, k] * problem.S[state.tails[i, k], j]
    for l in range(state.n_tails[j]):
        tail = state.tails[j, l]
        part = problem.S[i, tail]
        for k in range(state.n_tails[i]):
            part -= state.weights[i, k] * problem.S[state.tails[i, k], tail]
        total -= state.weights[j, l] * part
    return total


@merged
def _transpose(problem: Problem, state: State, nodes: np.ndarray) -> None:
    for x in range(nodes.shape[0]):
        for y in range(x):
            i, j = nodes[x], nodes[y]
            forth, back = parent_place(state, i, j) >= 0, parent_place(state, j, i) >= 0
            if forth and not back:
                if disconnect(problem, state, i, j):
                    connect(problem, state, j, i, _SMALL)
            elif back and not forth and disconnect(problem, state, j, i):
                connect(problem, state, i, j, _SMALL)


@merged
def _reverse_chain(problem: Problem, state: State, rng: np.ndarray, node: int) -> None:
    """Reverse a random path of two to five edges that ends in a node."""
    path = np.empty(6, np.int64)
    path[0] = node
    count, length = 1, 3 + below(rng, 4)
    while count < length and state.n_tails[path[count - 1]] > 0:
        last = path[count - 1]
        path[count] = state.tails[last, below(rng, state.n_tails[last])]
        count += 1
    for x in range(1, count):
        if disconnect(problem, state, path[x], path[x - 1]):
            connect(problem, state, path[x - 1], path[x], _SMALL)


@merged
def _toggle(problem: Problem, state: State, rng: np.ndarray, nodes: np.ndarray) -> None:
    """One to three random edges of the set appear or disappear."""
    for _ in range(1 + below(rng, 3)):
        i, j = nodes[below(rng, nodes.shape[0])], nodes[below(rng, nodes.shape[0])]
        if not disconnect(problem, state, i, j):
            connect(problem, state, i, j, _SMALL)


@merged
def _latents_of(state: State, nodes: np.ndarray) -> np.ndarray:
    """The latents with a child in the set."""
    found = np.empty(state.n_children.shape[0], np.int64)
    count = 0
    for h in range(state.n_children.shape[0]):
        meets = False
        for x in range(nodes.shape[0]):
            meets = meets or child_place(state, h, nodes[x]) >= 0
        if meets:
            found[count] = h
            count += 1
    return found[:count]


@merged
def _rearrange_latents(
    problem: Problem, state: State, rng: np.ndarray, kind: int, nodes: np.ndarray
) -> None:
    """Drop, merge, split, or turn into edges a latent that meets the set."""
    latents = _latents_of(state, nodes)
    if latents.shape[0] == 0:
        return
    h = latents[below(rng, latents.shape[0])]
    count = state.n_children[h]
    if kind == DROP:
        remove_latent(state, h)
    elif kind == MERGE and latents.shape[0] > 1:
        other = latents[below(rng, latents.shape[0])]
        if other != h:
            for k in range(state.n_children[other]):
                add_child(state, h, state.children[other, k], state.loadings[other, k])
            remove_latent(state, other)
    elif kind == SPLIT and count > 3:
        second = count // 2
        a, b = state.children[h, 0], state.children[h, 1]
        covariance = state.loadings[h, 0] * state.loadings[h, 1]
        if second > 1 and confound(state, a, b, covariance):
            remove_child(state, h, a)
            remove_child(state, h, b)
    elif kind == STAR:
        children = state.children[h, :count].copy()
        centre = children[below(rng, count)]
        remove_latent(state, h)
        for k in range(count):
            if children[k] != centre:
                connect(problem, state, centre, children[k], _SMALL)

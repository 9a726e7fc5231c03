"""Random connected sets of nodes, where kicks act; compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel
from loopscm.search.random import below, uniform
from loopscm.search.state import State, child_place, parent_place


@kernel
def mark_neighbours(state: State, inside: np.ndarray, found: np.ndarray) -> int:
    """List the parents, children, and siblings of a set that are outside it; their number."""
    p = state.noise.shape[0]
    near = np.zeros(p, np.bool_)
    for j in range(p):
        for k in range(state.n_tails[j]):
            tail = state.tails[j, k]
            if inside[j]:
                near[tail] = True
            elif inside[tail]:
                near[j] = True
    for h in range(state.n_children.shape[0]):
        meets = False
        for k in range(state.n_children[h]):
            meets = meets or inside[state.children[h, k]]
        if meets:
            for k in range(state.n_children[h]):
                near[state.children[h, k]] = True
    count = 0
    for j in range(p):
        if near[j] and not inside[j]:
            found[count] = j
            count += 1
    return count


@kernel
def is_tied(state: State, i: int, j: int) -> bool:
    """Whether an edge joins two nodes, or they have a latent in common."""
    if parent_place(state, i, j) >= 0 or parent_place(state, j, i) >= 0:
        return True
    for h in range(state.n_children.shape[0]):
        if child_place(state, h, i) >= 0 and child_place(state, h, j) >= 0:
            return True
    return False


@kernel
def connected_set(state: State, rng: np.ndarray, start: int, size: int) -> np.ndarray:
    """A random connected set grown from a start; unconnected nodes join where none is left.

    Half of the sets grow by any neighbour, the other half by one with most ties to the set, so
    that cliques of edges, which often stand for a latent, are found as a whole.
    """
    p = state.noise.shape[0]
    size = min(size, p)
    members = np.empty(size, np.int64)
    inside = np.zeros(p, np.bool_)
    found = np.empty(p, np.int64)
    members[0] = start
    inside[start] = True
    tight = below(rng, 2) == 0
    for x in range(1, size):
        count = mark_neighbours(state, inside, found)
        node = found[below(rng, count)] if count > 0 else below(rng, p)
        if tight and count > 0:
            node = _most_tied(state, rng, found[:count], members[:x])
        while inside[node]:
            node = (node + 1) % p
        members[x] = node
        inside[node] = True
    return members


@kernel
def _most_tied(state: State, rng: np.ndarray, nodes: np.ndarray, members: np.ndarray) -> int:
    """The node tied to most members by an edge or a latent; any of those where several are."""
    best, most = nodes[0], -1.0
    for y in range(nodes.shape[0]):
        ties = uniform(rng)
        for x in range(members.shape[0]):
            ties += is_tied(state, nodes[y], members[x])
        if ties > most:
            best, most = nodes[y], ties
    return best

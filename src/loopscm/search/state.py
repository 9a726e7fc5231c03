"""The search state: one graph with its parameters, as flat arrays for compiled code.

Parents are lists by head, children lists by latent; a latent without children is a free slot.
Every edit marks the heads and the latents it changes in `touched` and `stirred`, so that it can
be undone, or taken over by another state, at the price of what it changed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.errors import GraphError
from loopscm.graph import LatentGraph

MOST_PARENTS, MOST_CHILDREN = 32, 32  # list capacities; a fit with more is no longer local


class State(NamedTuple):
    """A graph, its parameters, and what is derived from its structure."""

    n_tails: np.ndarray  # (p,) number of parents of each head
    tails: np.ndarray  # (p, capacity) parents of each head
    weights: np.ndarray  # (p, capacity) their coefficients
    n_children: np.ndarray  # (l,) number of children of each latent slot
    children: np.ndarray  # (l, capacity)
    loadings: np.ndarray  # (l, capacity)
    noise: np.ndarray  # (p,) noise variances
    district: np.ndarray  # (p,) smallest node among those tied by common latents
    first: np.ndarray  # (p,) where the members of each district begin, at its smallest node
    size: np.ndarray  # (p,) how many they are, at its smallest node
    members: np.ndarray  # (p,) nodes by district
    loop: np.ndarray  # (p,) one node of each node's strong component
    order: np.ndarray  # (p,) nodes with ancestors first, strong components together
    place: np.ndarray  # (p,) where each node stands in the order
    touched: np.ndarray  # (p,) nodes whose parents, coefficients, loadings, or noise changed
    stirred: np.ndarray  # (l,) latents whose children or loadings changed


def empty_state(p: int, slots: int) -> State:
    """The graph without edges, noise variances one, in standardised units."""
    parents, children = min(p, MOST_PARENTS), min(p, MOST_CHILDREN)
    return State(
        n_tails=np.zeros(p, np.int64),
        tails=np.zeros((p, parents), np.int64),
        weights=np.zeros((p, parents)),
        n_children=np.zeros(slots, np.int64),
        children=np.zeros((slots, children), np.int64),
        loadings=np.zeros((slots, children)),
        noise=np.ones(p),
        district=np.arange(p),
        first=np.arange(p),
        size=np.ones(p, np.int64),
        members=np.arange(p),
        loop=np.arange(p),
        order=np.arange(p),
        place=np.arange(p),
        touched=np.zeros(p, np.bool_),
        stirred=np.zeros(slots, np.bool_),
    )


def state_of(
    graph: LatentGraph, slots: int, weights: np.ndarray, loadings: np.ndarray, noise: np.ndarray
) -> State:
    """The state of a graph with the given parameters (standardised units)."""
    p = graph.n_observed
    state = empty_state(p, slots)
    widest = max(graph.directed.sum(axis=0).max(), graph.children.sum(axis=1).max(initial=0))
    if widest > state.tails.shape[1] or graph.n_latent > slots:
        raise GraphError(
            f"the search starts from graphs with at most {slots} latents, {MOST_PARENTS} parents "
            f"a variable and {MOST_CHILDREN} children a latent; thin out the start."
        )
    for j in range(p):
        tails = np.flatnonzero(graph.directed[:, j])
        state.n_tails[j] = len(tails)
        state.tails[j, : len(tails)] = tails
        state.weights[j, : len(tails)] = weights[tails, j]
    for h in range(graph.n_latent):
        heads = np.flatnonzero(graph.children[h])
        state.n_children[h] = len(heads)
        state.children[h, : len(heads)] = heads
        state.loadings[h, : len(heads)] = loadings[h, heads]
    state.noise[:] = noise
    return state


def matrices_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """(B, Γ) of a state; free latent slots are left out."""
    p = len(state.noise)
    B = np.zeros((p, p))
    for j in range(p):
        count = state.n_tails[j]
        B[state.tails[j, :count], j] = state.weights[j, :count]
    used = np.flatnonzero(state.n_children)
    Gamma = np.zeros((len(used), p))
    for row, h in zip(Gamma, used, strict=True):
        count = state.n_children[h]
        row[state.children[h, :count]] = state.loadings[h, :count]
    return B, Gamma


def graph_of(state: State, names: tuple[str, ...]) -> LatentGraph:
    """The graph of a state, by its lists: a coefficient of zero is still an edge."""
    p = len(state.noise)
    directed = np.zeros((p, p), bool)
    for j in range(p):
        directed[state.tails[j, : state.n_tails[j]], j] = True
    used = np.flatnonzero(state.n_children)
    children = np.zeros((len(used), p), bool)
    for row, h in zip(children, used, strict=True):
        row[state.children[h, : state.n_children[h]]] = True
    return LatentGraph(directed, children, names)


def differences(one: State, other: State) -> tuple[np.ndarray, np.ndarray]:
    """(heads, latents) in which two states differ, in structure or parameters."""
    heads = (one.n_tails != other.n_tails) | (one.noise != other.noise)
    heads |= _lists_differ(one.n_tails, one.tails, other.tails)
    heads |= _lists_differ(one.n_tails, one.weights, other.weights)
    latents = one.n_children != other.n_children
    latents |= _lists_differ(one.n_children, one.children, other.children)
    latents |= _lists_differ(one.n_children, one.loadings, other.loadings)
    return heads, latents


def _lists_differ(counts: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    used = np.arange(one.shape[1]) < counts[:, None]
    return (used & (one != other)).any(axis=1)


@kernel
def copy_head(target: State, source: State, j: int) -> None:
    """Overwrite the parents, coefficients, and noise of one node."""
    target.n_tails[j] = source.n_tails[j]
    for k in range(source.n_tails[j]):
        target.tails[j, k] = source.tails[j, k]
        target.weights[j, k] = source.weights[j, k]
    target.noise[j] = source.noise[j]


@kernel
def copy_latent(target: State, source: State, h: int) -> None:
    """Overwrite one latent."""
    target.n_children[h] = source.n_children[h]
    for k in range(source.n_children[h]):
        target.children[h, k] = source.children[h, k]
        target.loadings[h, k] = source.loadings[h, k]


@kernel
def take_over(target: State, source: State, marks: State) -> None:
    """Overwrite the heads and latents that are marked in a state."""
    for j in range(source.noise.shape[0]):
        if marks.touched[j]:
            copy_head(target, source, j)
    for h in range(source.n_children.shape[0]):
        if marks.stirred[h]:
            copy_latent(target, source, h)


@kernel
def clear_marks(state: State) -> None:
    """Forget what was changed."""
    for j in range(state.touched.shape[0]):
        state.touched[j] = False
    for h in range(state.stirred.shape[0]):
        state.stirred[h] = False


@kernel
def parent_place(state: State, tail: int, head: int) -> int:
    """Where the tail stands among the parents of the head, −1 if it is none."""
    for k in range(state.n_tails[head]):
        if state.tails[head, k] == tail:
            return k
    return -1


@kernel
def child_place(state: State, latent: int, head: int) -> int:
    """Where the head stands among the children of the latent, −1 if it is none."""
    for k in range(state.n_children[latent]):
        if state.children[latent, k] == head:
            return k
    return -1


@merged
def add_edge(state: State, tail: int, head: int, weight: float) -> bool:
    """Add tail → head; False if it is there already or the list is full."""
    count = state.n_tails[head]
    if tail == head or count >= state.tails.shape[1] or parent_place(state, tail, head) >= 0:
        return False
    state.tails[head, count] = tail
    state.weights[head, count] = weight
    state.n_tails[head] = count + 1
    state.touched[head] = True
    return True


@merged
def remove_edge(state: State, tail: int, head: int) -> bool:
    """Remove tail → head; False if it is not there."""
    place = parent_place(state, tail, head)
    if place < 0:
        return False
    last = state.n_tails[head] - 1
    for k in range(place, last):
        state.tails[head, k] = state.tails[head, k + 1]
        state.weights[head, k] = state.weights[head, k + 1]
    state.n_tails[head] = last
    state.touched[head] = True
    return True


@kernel
def add_child(state: State, latent: int, head: int, loading: float) -> bool:
    """Add latent → head, its share taken from the head's noise; False if impossible.

    At least a fifth of the noise is left, so that the next fit starts in the interior.
    """
    count = state.n_children[latent]
    if count >= state.children.shape[1] or child_place(state, latent, head) >= 0:
        return False
    state.children[latent, count] = head
    state.loadings[latent, count] = loading
    state.n_children[latent] = count + 1
    state.noise[head] = max(state.noise[head] - loading * loading, 0.2 * state.noise[head])
    state.touched[head] = True
    state.stirred[latent] = True
    return True


@kernel
def remove_child(state: State, latent: int, head: int) -> bool:
    """Remove latent → head, giving its share back to the noise; False if it is not there.

    A latent left with one child goes as well.
    """
    place = child_place(state, latent, head)
    if place < 0:
        return False
    last = state.n_children[latent] - 1
    state.noise[head] += state.loadings[latent, place] ** 2
    state.touched[head] = True
    state.stirred[latent] = True
    for k in range(place, last):
        state.children[latent, k] = state.children[latent, k + 1]
        state.loadings[latent, k] = state.loadings[latent, k + 1]
    state.n_children[latent] = last
    if last == 1:
        remove_latent(state, latent)
    return True


@kernel
def remove_latent(state: State, latent: int) -> None:
    """Remove a latent, giving its shares back to the noise."""
    for k in range(state.n_children[latent]):
        head = state.children[latent, k]
        state.noise[head] += state.loadings[latent, k] ** 2
        state.touched[head] = True
    state.stirred[latent] = True
    state.n_children[latent] = 0


@kernel
def free_slot(state: State) -> int:
    """The first latent slot without children, −1 if all are used."""
    for h in range(state.n_children.shape[0]):
        if state.n_children[h] == 0:
            return h
    return -1

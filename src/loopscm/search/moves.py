"""The moves of the local search: small values, and how they edit a state; compiled.

A move is (kind, a, b, c) with a starting value for its new parameter. Applying one that no
longer fits the graph, or that is forbidden, returns False and may leave the state half
edited: moves are applied to copies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.problem import Problem
from loopscm.search.state import (
    State,
    add_child,
    add_edge,
    free_slot,
    remove_child,
    remove_edge,
    remove_latent,
)

ADD = 0  # a → b
DELETE = 1  # a → b
REVERSE = 2  # a → b becomes b → a
SWAP = 3  # a → b is replaced by c → b
JOIN = 4  # latent a gets child b
LEAVE = 5  # latent a loses child b
CONFOUND = 6  # a new latent over a and b
DISSOLVE = 7  # latent a goes
DIRECT = 8  # latent a, over two children, becomes the edge b → c
VEIL = 9  # a → b becomes a latent over both


class Move(NamedTuple):
    """One candidate change; `value` starts the new coefficient, loading, or covariance."""

    kind: int
    a: int
    b: int
    c: int
    value: float


@kernel
def connect(problem: Problem, state: State, tail: int, head: int, weight: float) -> bool:
    """Add an edge if it is allowed."""
    return problem.allowed[tail, head] and add_edge(state, tail, head, weight)


@kernel
def disconnect(problem: Problem, state: State, tail: int, head: int) -> bool:
    """Remove an edge unless it is required."""
    return not problem.required[tail, head] and remove_edge(state, tail, head)


@kernel
def confound(state: State, a: int, b: int, covariance: float) -> bool:
    """A new latent over two nodes that gives their noises about this covariance."""
    slot = free_slot(state)
    if slot < 0:
        return False
    scale = np.sqrt(state.noise[a] * state.noise[b])
    share = np.sqrt(min(max(abs(covariance) / scale, 0.01), 0.64))
    second = share * np.sqrt(state.noise[b])
    add_child(state, slot, a, share * np.sqrt(state.noise[a]))
    return add_child(state, slot, b, np.copysign(second, covariance))


@merged
def apply(problem: Problem, state: State, move: Move) -> bool:
    """Edit the state; False if the move does not fit it."""
    kind, a, b, c = move.kind, move.a, move.b, move.c
    if kind == ADD:
        return connect(problem, state, a, b, move.value)
    if kind == DELETE:
        return disconnect(problem, state, a, b)
    if kind == REVERSE:
        return disconnect(problem, state, a, b) and connect(problem, state, b, a, move.value)
    if kind == SWAP:
        return disconnect(problem, state, a, b) and connect(problem, state, c, b, move.value)
    if kind == VEIL:
        return disconnect(problem, state, a, b) and confound(state, a, b, move.value)
    if kind == CONFOUND:
        return confound(state, a, b, move.value)
    if state.n_children[a] == 0:
        return False
    if kind == JOIN:
        return add_child(state, a, b, move.value)
    if kind == LEAVE:
        return remove_child(state, a, b)
    if kind == DIRECT and not connect(problem, state, b, c, move.value):
        return False
    remove_latent(state, a)
    return True

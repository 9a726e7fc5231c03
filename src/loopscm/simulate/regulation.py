"""Regulatory topologies of the paper's gene-network benchmark."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_generator, as_integer, as_real
from loopscm.errors import OptionError
from loopscm.graph import LatentGraph

Mask = NDArray[np.bool_]
# The paper leaves these open; our choices: the largest degree of its synthetic protocol, a
# third more edges than a tree has, every tenth edge a back edge, latents as in the protocol.
MAX_DEGREE = 4
DENSITY = 1.33
BACK_EDGES = 0.1
CHILDREN = (2, 4)
ATTEMPTS = 100


def regulatory_graph(
    p: int,
    n_latent: int,
    rng: np.random.Generator | int,
    *,
    max_degree: int = MAX_DEGREE,
    density: float = DENSITY,
    back_edges: float = BACK_EDGES,
) -> LatentGraph:
    """A weakly connected DAG with bounded total degree, plus back edges, plus latents.

    Parameters
    ----------
    p : observed genes, named G1, G2, ...
    n_latent : parentless hidden regulators with 2 to 4 random observed children each.
    max_degree : bound on in- plus out-degree among the observed, back edges included.
    density : edges of the DAG per gene, as far as the degree bound has room.
    back_edges : edges that close directed cycles, per gene.
    """
    p = as_integer(p, "p", minimum=2)
    n_latent = as_integer(n_latent, "n_latent", minimum=0)
    max_degree = as_integer(max_degree, "max_degree", minimum=2)
    density = as_real(density, "density", minimum=0.0)
    back_edges = as_real(back_edges, "back_edges", minimum=0.0)
    rng = as_generator(rng)
    directed = _accepted(p, max_degree, round(density * p), round(back_edges * p), rng)
    children = np.zeros((n_latent, p), bool)
    for row in children:
        size = min(int(rng.integers(CHILDREN[0], CHILDREN[1] + 1)), p)
        row[rng.choice(p, size, replace=False)] = True
    return LatentGraph(directed, children, [f"G{j + 1}" for j in range(p)])


def _accepted(p: int, cap: int, n_forward: int, n_backward: int, rng: np.random.Generator) -> Mask:
    """Graphs are drawn until one has room for all its back edges."""
    for _ in range(ATTEMPTS):
        order = rng.permutation(p)
        directed = _tree(order, cap, rng)
        _add_forward(directed, order, cap, n_forward, rng)
        before = int(directed.sum())
        _add_backward(directed, cap, n_backward, rng)
        if directed.sum() == before + n_backward:
            return directed
    raise OptionError(
        f"{n_backward} back edges do not fit under max_degree = {cap} ({ATTEMPTS} graphs tried); "
        "raise it, or lower density or back_edges."
    )


def _tree(order: NDArray[np.intp], cap: int, rng: np.random.Generator) -> Mask:
    """Each gene in turn is linked to a random earlier one that has room."""
    p = len(order)
    directed = np.zeros((p, p), bool)
    degree = np.zeros(p, np.int64)
    for place in range(1, p):
        earlier = order[:place]
        tail, head = rng.choice(earlier[degree[earlier] < cap]), order[place]
        directed[tail, head] = True
        degree[[tail, head]] += 1
    return directed


def _add_forward(
    directed: Mask, order: NDArray[np.intp], cap: int, target: int, rng: np.random.Generator
) -> None:
    """Random edges along the order until there are `target` in all, in place."""
    first, second = np.triu_indices(len(order), 1)
    _add(directed, rng.permutation(len(first)), (order[first], order[second]), cap, target)


def _add_backward(directed: Mask, cap: int, target: int, rng: np.random.Generator) -> None:
    """Edges from descendants to ancestors, each closing a cycle of three or more, in place."""
    before = int(directed.sum())
    ancestors, descendants = np.nonzero(_descendants(directed) & ~directed)
    candidates = rng.permutation(len(ancestors))
    _add(directed, candidates, (descendants, ancestors), cap, before + target)


def _add(
    directed: Mask,
    candidates: NDArray[np.intp],
    ends: tuple[NDArray[np.intp], NDArray[np.intp]],
    cap: int,
    target: int,
) -> None:
    """Candidate edges in turn while both ends have room, until there are `target` in all."""
    degree = directed.sum(axis=0) + directed.sum(axis=1)
    missing = target - int(directed.sum())
    for c in candidates:
        if missing <= 0:
            return
        tail, head = ends[0][c], ends[1][c]
        if not directed[tail, head] and max(degree[tail], degree[head]) < cap:
            directed[tail, head] = True
            degree[[tail, head]] += 1
            missing -= 1


def _descendants(directed: Mask) -> Mask:
    """Transitive closure of an acyclic relation."""
    below = directed.copy()
    while True:
        further = below | (below.astype(np.float32) @ below.astype(np.float32) > 0)
        if (further == below).all():
            return below
        below = further

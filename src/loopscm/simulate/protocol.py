"""The paper's synthetic protocol: random cyclic graphs with latents, random parameters.

Appendix "Synthetic data generation"; the growth procedure is that of Ghassami et al. (2020),
written anew. The stream of random numbers is fixed: a seed names a graph for good.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_generator, as_integer, as_real
from loopscm.errors import GraphError, OptionError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM
from loopscm.simulate._conditioning import ConditionRule

MAGNITUDE = (0.2, 0.8)  # |coefficient| and |loading|, random sign
NOISE_VARIANCE = (1.0, 3.0)
SPECTRAL_RADIUS = 0.99  # of B, exclusive
CONDITION_NUMBER = 20.0  # of I − B, inclusive
CHILDREN = (2, 4)  # of a latent, inclusive
MAX_DRAWS = 10_000  # of one set of parameters, before the rule counts as unsatisfiable
PATIENCE = 100  # draws after which loops are asked for their share of the condition number
MAX_NODE_DRAWS = 2_000_000  # the same for large graphs: draws times p


def random_graph(
    p: int,
    max_degree: int,
    latent_ratio: float,
    rng: np.random.Generator | int,
    max_cycle: int = 5,
) -> LatentGraph:
    """A random graph of the paper's protocol.

    Parameters
    ----------
    p : number of observed variables.
    max_degree : bound on in- plus out-degree among the observed.
    latent_ratio : latents per observed variable, ⌊p·ratio + ½⌋; at least one when positive.
    rng : generator or seed.
    max_cycle : largest strongly connected component.

    Each node draws its own cap on its degree from {1, ..., max_degree}; then each node in turn
    walks through the others in random order and links up, in a random direction, while both
    caps allow it and no strong component outgrows `max_cycle`. A pair may get both directions.
    """
    p = as_integer(p, "p", minimum=1)
    max_degree = as_integer(max_degree, "max_degree", minimum=1)
    latent_ratio = as_real(latent_ratio, "latent_ratio", minimum=0.0)
    max_cycle = as_integer(max_cycle, "max_cycle", minimum=1)
    rng = as_generator(rng)
    n_latent = max(1, math.floor(p * latent_ratio + 0.5)) if latent_ratio > 0 else 0
    if n_latent and p < CHILDREN[0]:
        raise OptionError(f"latents need p >= {CHILDREN[0]} observed variables, got p = {p}.")
    directed = _grow(p, max_degree, max_cycle, rng)
    children = np.zeros((n_latent, p), bool)
    for row in children:
        size = min(int(rng.integers(CHILDREN[0], CHILDREN[1] + 1)), p)
        row[rng.choice(p, size, replace=False)] = True
    return LatentGraph(directed, children)


def random_scm(graph: LatentGraph, rng: np.random.Generator | int) -> LinearSCM:
    """Random parameters of the paper's protocol for a given graph.

    Coefficients and loadings have uniform signs and magnitudes uniform on [0.2, 0.8], noise
    variances are uniform on [1, 3]. Coefficients are redrawn until the spectral radius of B is
    below 0.99 and the condition number of I − B at most 20.
    """
    if not isinstance(graph, LatentGraph):
        raise GraphError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
    if graph.bidirected.any():
        raise GraphError("the protocol has no bidirected edges; use latents with two children.")
    rng = as_generator(rng)
    B = _accepted_coefficients(graph, rng)
    Gamma = np.zeros(graph.children.shape)
    Gamma[graph.children] = _signed(int(graph.children.sum()), rng)
    return LinearSCM(graph, B, Gamma, rng.uniform(*NOISE_VARIANCE, graph.n_observed))


def _grow(p: int, max_degree: int, max_cycle: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Directed edges: each node in turn links to others in random order up to its cap."""
    directed = np.zeros((p, p), bool)
    cap = rng.integers(1, max_degree + 1, p).tolist()
    heads: list[set[int]] = [set() for _ in range(p)]
    tails: list[set[int]] = [set() for _ in range(p)]
    degree = [0] * p
    for node in range(p):
        for other in rng.permutation(p).tolist():
            if degree[node] >= cap[node]:
                break
            if other == node:
                continue
            tail, head = (node, other) if rng.random() < 0.5 else (other, node)
            if degree[other] >= cap[other] or head in heads[tail]:
                continue
            if _loop_exceeds(tail, head, heads, tails, max_cycle):
                continue
            heads[tail].add(head)
            tails[head].add(tail)
            degree[node] += 1
            degree[other] += 1
            directed[tail, head] = True
    return directed


def _loop_exceeds(
    tail: int, head: int, heads: list[set[int]], tails: list[set[int]], limit: int
) -> bool:
    """Whether tail → head would close a strong component of more than `limit` members."""
    below = _reachable(head, heads)
    return tail in below and len(below & _reachable(tail, tails)) > limit


def _reachable(node: int, neighbours: list[set[int]]) -> set[int]:
    seen, stack = {node}, [node]
    while stack:
        new = neighbours[stack.pop()] - seen
        seen |= new
        stack.extend(new)
    return seen


def _accepted_coefficients(graph: LatentGraph, rng: np.random.Generator) -> NDArray[np.float64]:
    """B from its product law given the event that both rules hold.

    The spectral radius of B is the largest over its strong components, which share no
    coefficient: given the radius rule the components stay independent, so each is redrawn
    alone. The condition number couples everything, so its failure redraws everything. That
    is the law of redrawing everything until both rules hold, at a fraction of the draws.

    In causal order I − B is block triangular, so its condition number is at least that of
    each loop's block. Asking every loop for it beforehand rejects nothing that the whole would
    accept: the same law again, needed where there are hundreds of dense loops.
    """
    tails, heads = np.nonzero(graph.directed)
    loops = _loops(graph, tails, heads)
    rule = ConditionRule.of(graph, CONDITION_NUMBER)
    draws = min(MAX_DRAWS, max(1, MAX_NODE_DRAWS // graph.n_observed))
    for attempt in range(draws):
        values = _signed(len(tails), rng)
        limit = math.inf if attempt < PATIENCE else CONDITION_NUMBER
        for edges, block in loops:
            _redraw_loop(values, edges, block, limit, rng)
        if rule.accepts(values):
            B = np.zeros(graph.directed.shape)
            B[tails, heads] = values
            return B
    raise ParameterError(
        f"no coefficients with cond(I - B) <= {CONDITION_NUMBER:g} in {draws} draws; the graph "
        "is too dense for the protocol's parameter law. Use a smaller max_degree."
    )


def _signed(count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Random magnitudes with random signs."""
    return rng.uniform(*MAGNITUDE, count) * rng.choice((-1.0, 1.0), count)


def _loops(
    graph: LatentGraph, tails: NDArray[np.intp], heads: NDArray[np.intp]
) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """For each strong component with a loop: its edges' numbers, and its adjacency."""
    components = graph.strongly_connected_components()
    label = np.empty(graph.n_observed, np.intp)
    for c, members in enumerate(components):
        label[list(members)] = c
    inside = np.where(label[tails] == label[heads], label[tails], -1)
    return [
        (np.flatnonzero(inside == c), graph.directed[np.ix_(members, members)])
        for c, members in enumerate(components)
        if len(members) > 1
    ]


def _redraw_loop(
    values: NDArray[np.float64],
    edges: NDArray[np.intp],
    block: NDArray[np.bool_],
    limit: float,
    rng: np.random.Generator,
) -> None:
    """Redraw one strong component's values, in place, until its radius is accepted.

    A finite `limit` bounds the condition number of its block of I − B as well.
    """
    B = np.zeros(block.shape)
    for _ in range(MAX_DRAWS):
        B[block] = values[edges]
        if np.abs(np.linalg.eigvals(B)).max() < SPECTRAL_RADIUS and (
            limit == math.inf or np.linalg.cond(np.eye(len(B)) - B) <= limit
        ):
            return
        values[edges] = _signed(len(edges), rng)
    raise ParameterError(
        f"no coefficients with spectral radius < {SPECTRAL_RADIUS} in {MAX_DRAWS} draws for a "
        f"loop of {len(block)} variables; the graph is too dense for the protocol. Use a "
        "smaller max_degree or max_cycle."
    )

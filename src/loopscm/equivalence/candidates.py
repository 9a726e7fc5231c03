"""The paper's candidate class for few variables, and the equivalence class by enumeration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_integer
from loopscm.equivalence.quasi import overlaps
from loopscm.equivalence.vanishing import zero_pairs
from loopscm.errors import OptionError
from loopscm.fitting import score
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension
from loopscm.likelihood.penalty import Penalty
from loopscm.stats import GaussianStats

# Graphs listed at most; more is a matter of minutes per question and of a smarter method.
LARGEST_CLASS = 500_000


def candidate_class(
    p: int,
    max_latents: int,
    *,
    max_complexity: int | None = None,
    zero: NDArray[np.bool_] | None = None,
    names: tuple[str, ...] | None = None,
) -> Iterator[LatentGraph]:
    """All graphs of the paper's class over p variables, one for each labelling of latents.

    `max_complexity` bounds edges + latents. `zero` restricts to graphs without edge or
    common latent between the marked pairs, which is necessary for their covariances to
    vanish throughout the family.
    """
    p = as_integer(p, "p", minimum=1)
    max_latents = as_integer(max_latents, "max_latents", minimum=0)
    allowed = ~np.eye(p, dtype=bool) if zero is None else ~zero & ~np.eye(p, dtype=bool)
    pairs = [tuple(pair) for pair in np.argwhere(allowed).tolist()]
    sets = [
        members
        for size in range(2, p + 1)
        for members in combinations(range(p), size)
        if all(allowed[i, j] for i, j in combinations(members, 2))
    ]
    count = 2 ** len(pairs) * comb(len(sets) + max_latents, max_latents)
    if count > LARGEST_CLASS:
        raise OptionError(
            f"the class has about {count:.3g} graphs, more than can be listed "
            f"({LARGEST_CLASS}); lower p or max_latents."
        )
    return _listed(p, pairs, sets, max_latents, max_complexity, names)


def equivalence_class(
    graph: LatentGraph, max_latents: int | None = None, *, starts: int = 5, seed: int = 0
) -> list[LatentGraph]:
    """All graphs quasi-equivalent to a small graph, simplest first, by enumeration.

    `max_latents` defaults to the graph's own number of latents. Dimension and vanishing
    covariances sort out most candidates; fits of random members decide the others.
    """
    graph = graph.pruned()
    members = [
        other
        for other in same_shape(graph, graph.n_latent if max_latents is None else max_latents)
        if overlaps(graph, other, starts=starts, seed=seed)
        or overlaps(other, graph, starts=starts, seed=seed)
    ]
    return sorted(members, key=lambda other: other.complexity)


def same_shape(
    graph: LatentGraph, max_latents: int, max_complexity: int | None = None
) -> Iterator[LatentGraph]:
    """Candidates with the graph's vanishing covariances and dimension."""
    zero, dimension = zero_pairs(graph), family_dimension(graph)
    p = graph.n_observed
    listed = candidate_class(
        p, max_latents, max_complexity=max_complexity, zero=zero, names=graph.names
    )
    for other in listed:
        if p + other.n_edges < dimension:
            continue
        if (zero_pairs(other) == zero).all() and family_dimension(other) == dimension:
            yield other


def minimisers(
    stats: GaussianStats,
    graphs: Iterable[LatentGraph],
    *,
    penalty: Penalty = "structural",
    tolerance: float = 1e-6,
) -> list[LatentGraph]:
    """The graphs of smallest penalised score among those listed: the exact estimator."""
    scored = [(score(stats, graph, penalty=penalty), graph) for graph in graphs]
    if not scored:
        raise OptionError("no graphs to choose from; list at least one candidate.")
    best = min(value for value, _ in scored)
    return [graph for value, graph in scored if value <= best + tolerance]


def _listed(
    p: int,
    pairs: list[tuple[int, ...]],
    sets: list[tuple[int, ...]],
    max_latents: int,
    max_complexity: int | None,
    names: tuple[str, ...] | None,
) -> Iterator[LatentGraph]:
    """The graphs, by number of observed edges, then of latents."""
    bound = np.inf if max_complexity is None else max_complexity
    latents = [
        chosen
        for count in range(max_latents + 1)
        for chosen in combinations_with_replacement(sets, count)
    ]
    latents = [c for c in latents if sum(map(len, c)) + len(c) <= bound]
    blocks = [(_children(p, c), sum(map(len, c)) + len(c)) for c in latents]
    for size in range(len(pairs) + 1):
        for edges in combinations(pairs, size):
            directed = np.zeros((p, p), bool)
            for i, j in edges:
                directed[i, j] = True
            for children, cost in blocks:
                if size + cost <= bound:
                    yield LatentGraph(directed, children, names)


def _children(p: int, sets: tuple[tuple[int, ...], ...]) -> NDArray[np.bool_]:
    rows = np.zeros((len(sets), p), bool)
    for row, members in zip(rows, sets, strict=True):
        row[list(members)] = True
    return rows

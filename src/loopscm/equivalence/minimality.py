"""The identification conditions of the paper, checked by enumeration for small graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import as_matrix
from loopscm.equivalence._family import family_of
from loopscm.equivalence._nearest import nearest
from loopscm.equivalence.candidates import candidate_class, same_shape
from loopscm.equivalence.quasi import MEMBER, overlaps, quasi_equivalent
from loopscm.errors import DataError
from loopscm.graph import LatentGraph
from loopscm.likelihood.dimension import family_dimension


@dataclass(frozen=True, eq=False)
class Minimality:
    """Whether structural minimality holds for a graph.

    `violators` lists candidates that are no more complex than c† but have a strictly larger
    family around that of the graph; one is enough, so the search stops at the first.
    """

    holds: bool
    c_dagger: int
    representative: LatentGraph
    violators: tuple[LatentGraph, ...]
    reason: str


def minimum_representative(
    graph: LatentGraph, max_latents: int | None = None, *, starts: int = 5, seed: int = 0
) -> LatentGraph:
    """G†: a simplest graph with the same family (Eq. minimum-representative).

    `max_latents` defaults to the graph's own number of latents.
    """
    graph = graph.pruned()
    bound = graph.n_latent if max_latents is None else max_latents
    floor = family_dimension(graph) - graph.n_observed  # complexity >= edges >= this
    if graph.complexity == floor:
        return graph
    found = same_shape(graph, bound, graph.complexity - 1)
    for other in sorted(found, key=lambda g: g.complexity):
        if quasi_equivalent(graph, other, draws=6, starts=starts, seed=seed).equivalent:
            return other
    return graph


def c_dagger(
    graph: LatentGraph, max_latents: int | None = None, *, starts: int = 5, seed: int = 0
) -> int:
    """c†, the least complexity of a graph with the same covariance family."""
    return minimum_representative(graph, max_latents, starts=starts, seed=seed).complexity


def structural_minimality(
    graph: LatentGraph, max_latents: int | None = None, *, starts: int = 5, seed: int = 0
) -> Minimality:
    """Assumption "structural minimality" for a graph against its whole candidate class.

    The dimension criterion (dim = p + c†) proves it without search; the complete acyclic
    graph refutes it without search where it is simple enough; else candidates are listed.
    """
    return _checked(graph, max_latents, starts, seed, lambda other: True)


def minimality_at(
    sigma: NDArray[np.float64],
    graph: LatentGraph,
    max_latents: int | None = None,
    *,
    starts: int = 5,
    seed: int = 0,
) -> Minimality:
    """The weaker condition at Σ*: only candidates whose closure contains Σ* may violate it."""

    def matters(other: LatentGraph) -> bool:
        return _contains(sigma, other, starts, seed)

    return _checked(graph, max_latents, starts, seed, matters)


def relevant_candidates(
    sigma: NDArray[np.float64],
    graphs: Iterable[LatentGraph],
    complexity: int,
    *,
    starts: int = 5,
    seed: int = 0,
) -> list[LatentGraph]:
    """G₀(Σ*): graphs up to a complexity whose closure contains Σ* (Eq. relevant-candidate-set)."""
    graphs = [graph for graph in graphs if graph.complexity <= complexity]
    return [graph for graph in graphs if _contains(sigma, graph, starts, seed)]


def _checked(
    graph: LatentGraph,
    max_latents: int | None,
    starts: int,
    seed: int,
    matters: Callable[[LatentGraph], bool],
) -> Minimality:
    """Search for a candidate that matters, is no more complex than c†, and has a larger family."""
    graph = graph.pruned()
    bound = graph.n_latent if max_latents is None else max_latents
    best = minimum_representative(graph, bound, starts=starts, seed=seed)
    limit, dimension, p = best.complexity, family_dimension(graph), graph.n_observed
    if dimension == p + limit:
        reason = "the family has dimension p + c†, and no candidate that simple has a larger one"
        return Minimality(True, limit, best, (), reason)
    if dimension == p * (p + 1) // 2:
        return Minimality(True, limit, best, (), "the family already has full dimension")
    if p * (p - 1) // 2 <= limit:
        saturated = LatentGraph(np.triu(np.ones((p, p), bool), 1), names=graph.names)
        reason = "the complete acyclic graph contains every family and is no more complex"
        return Minimality(False, limit, best, (saturated,), reason)
    for other in _larger(graph, candidate_class(p, bound, max_complexity=limit)):
        if matters(other) and overlaps(best, other, starts=starts, seed=seed):
            reason = "a candidate no more complex has a strictly larger family around this one"
            return Minimality(False, limit, best, (other,), reason)
    return Minimality(True, limit, best, (), "no candidate of complexity at most c† violates it")


def _larger(graph: LatentGraph, listed: Iterable[LatentGraph]) -> Iterator[LatentGraph]:
    """Candidates of strictly larger dimension."""
    dimension, p = family_dimension(graph), graph.n_observed
    for other in listed:
        if p + other.n_edges > dimension and family_dimension(other) > dimension:
            yield LatentGraph(other.directed, other.children, graph.names)


def _contains(sigma: NDArray[np.float64], graph: LatentGraph, starts: int, seed: int) -> bool:
    """Whether a covariance lies in the closure of a family, up to rounding."""
    p = graph.n_observed
    matrix = as_matrix(sigma, "sigma", (p, p), DataError)
    rng = np.random.default_rng(seed)
    return nearest(matrix, family_of(graph), starts=starts, rng=rng).value <= MEMBER

"""Harder worlds than the paper's: each generator strains one assumption or one routine."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm._checks import as_choice, as_generator, as_integer, as_matrix, as_real, as_vector
from loopscm.errors import DataError, OptionError, ParameterError
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM

Matrix = NDArray[np.float64]
Noise = Literal["gaussian", "laplace", "student", "uniform", "exponential"]
NOISES = ("gaussian", "laplace", "student", "uniform", "exponential")
STUDENT_DEGREES = 5


def dense_cycles(
    p: int,
    rng: np.random.Generator | int,
    *,
    loop_size: int = 4,
    share: float = 1 / 3,
    latents: int = 0,
    extra_edges: int | None = None,
) -> LatentGraph:
    """A graph in which a given share of the nodes lies on directed cycles.

    The published growth procedure yields few loops. Here the chosen nodes form rings of
    `loop_size` nodes (the last may be larger), and `extra_edges` (p by default) random edges
    run forward between rings and other nodes, so that no further loop appears.
    """
    p, loop_size = as_integer(p, "p", minimum=2), as_integer(loop_size, "loop_size", minimum=2)
    share = as_real(share, "share", minimum=0.0)
    extra = p if extra_edges is None else as_integer(extra_edges, "extra_edges", minimum=0)
    on_loops = round(share * p)
    if share > 1 or 0 < on_loops < loop_size:
        raise OptionError(f"share · p = {on_loops} nodes cannot form rings of {loop_size} in {p}.")
    rng = as_generator(rng)
    order = rng.permutation(p)
    block = np.concatenate([np.arange(on_loops) // loop_size, np.arange(p - on_loops) + p])
    if on_loops and on_loops % loop_size:
        block[:on_loops] = np.minimum(block[:on_loops], on_loops // loop_size - 1)
    directed = np.zeros((p, p), bool)
    for b in np.unique(block[:on_loops]):
        ring = order[np.flatnonzero(block == b)]
        directed[ring, np.roll(ring, -1)] = True
    rank = rng.permutation(2 * p)[block]
    tails, heads = np.nonzero(rank[:, None] < rank)
    chosen = rng.permutation(len(tails))[:extra]
    directed[order[tails[chosen]], order[heads[chosen]]] = True
    return LatentGraph(directed, _random_children(p, latents, 2, min(4, p), rng))


def hub_latents(
    p: int,
    rng: np.random.Generator | int,
    *,
    hubs: int = 2,
    share: float = 0.5,
    max_degree: int = 2,
) -> LatentGraph:
    """A protocol graph with a few latents that each act on a large share of the variables."""
    from loopscm.simulate.protocol import random_graph

    p, hubs = as_integer(p, "p", minimum=2), as_integer(hubs, "hubs", minimum=1)
    size = round(as_real(share, "share", minimum=0.0) * p)
    if not 2 <= size <= p:
        raise OptionError(f"share · p must lie between 2 and p = {p}, got {size}.")
    rng = as_generator(rng)
    graph = random_graph(p, max_degree, 0.0, rng)
    return LatentGraph(graph.directed, _random_children(p, hubs, size, size, rng))


def near_unit_radius(
    graph: LatentGraph, rng: np.random.Generator | int, *, radius: float = 0.999
) -> LinearSCM:
    """Protocol parameters with every loop scaled to a spectral radius just below one.

    Magnitudes inside loops leave the protocol's range, and I − B may be badly conditioned;
    that is the point. The graph must have a loop.
    """
    radius = as_real(radius, "radius", minimum=0.0, strict=True)
    rng = as_generator(rng)
    loops = [list(c) for c in graph.strongly_connected_components() if len(c) > 1]
    if not loops:
        raise ParameterError("the graph has no directed cycle whose radius could be set; add one.")
    B = _signed(graph.directed, rng)
    for members in loops:
        block = np.ix_(members, members)
        B[block] *= radius / np.abs(np.linalg.eigvals(B[block])).max()
    return LinearSCM(graph, B, _signed(graph.children, rng), rng.uniform(1.0, 3.0, len(B)))


def stressed_sample(
    model: LinearSCM,
    n: int,
    rng: np.random.Generator | int,
    *,
    noise: Noise = "gaussian",
    autocorrelation: float = 0.0,
) -> Matrix:
    """Observations with the model's covariance but other noise, or dependent in time.

    `noise` is the law of latents and noise terms, standardised to the model's variances.
    With `autocorrelation` r, latents and noise follow stationary first-order autoregressions,
    so that rows are no longer independent while their covariance stays the model's.
    """
    if model.graph.bidirected.any():
        raise ParameterError("stressed_sample needs a model without bidirected edges.")
    n = as_integer(n, "n", minimum=1)
    as_choice(noise, "noise", NOISES)
    r = as_real(autocorrelation, "autocorrelation", minimum=-1.0, strict=True)
    if r >= 1:
        raise OptionError(f"autocorrelation must lie strictly between -1 and 1, got {r:g}.")
    rng = as_generator(rng)
    graph = model.graph
    terms = _standardised(noise, (n, graph.n_latent + graph.n_observed), rng)
    if r:
        for t in range(1, n):
            terms[t] = r * terms[t - 1] + np.sqrt(1 - r * r) * terms[t]
    hidden, own = terms[:, : graph.n_latent], terms[:, graph.n_latent :]
    effects = model.total_effects()
    return (hidden @ model.loadings + own * np.sqrt(model.noise_variances)) @ effects


def unequal_scales(
    X: ArrayLike, rng: np.random.Generator | int, *, decades: float = 12.0
) -> tuple[Matrix, NDArray[np.float64]]:
    """The columns in random units spread over `decades` orders of magnitude, and the factors.

    The smallest and the largest unit are always among them (p ≥ 2).
    """
    values = as_matrix(X, "X", (None, None), DataError)
    decades = as_real(decades, "decades", minimum=0.0)
    rng = as_generator(rng)
    exponents = rng.uniform(-decades / 2, decades / 2, values.shape[1])
    if len(exponents) > 1:
        exponents[rng.choice(len(exponents), 2, replace=False)] = (-decades / 2, decades / 2)
    factors = 10.0**exponents
    return values * factors, factors


def rescaled(model: LinearSCM, factors: ArrayLike) -> LinearSCM:
    """The same model with each variable multiplied by its factor, as after a change of units."""
    if model.graph.bidirected.any():
        raise ParameterError("rescaled needs a model without bidirected edges.")
    s = as_vector(factors, "factors", model.graph.n_observed, ParameterError)
    if (s <= 0).any():
        raise ParameterError("factors must be positive.")
    return LinearSCM.trusted(
        model.graph,
        model.coefficients * s / s[:, None],
        model.loadings * s,
        model.noise_variances * s**2,
        np.zeros(model.coefficients.shape),
    )


def _standardised(noise: str, shape: tuple[int, int], rng: np.random.Generator) -> Matrix:
    """Draws with mean 0 and variance 1."""
    if noise == "laplace":
        return rng.laplace(0.0, np.sqrt(0.5), shape)
    if noise == "student":
        scale = np.sqrt((STUDENT_DEGREES - 2) / STUDENT_DEGREES)
        return rng.standard_t(STUDENT_DEGREES, shape) * scale
    if noise == "uniform":
        return rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape)
    if noise == "exponential":
        return rng.exponential(1.0, shape) - 1.0
    return rng.standard_normal(shape)


def _signed(mask: NDArray[np.bool_], rng: np.random.Generator) -> Matrix:
    values = np.zeros(mask.shape)
    count = int(mask.sum())
    values[mask] = rng.uniform(0.2, 0.8, count) * rng.choice((-1.0, 1.0), count)
    return values


def _random_children(
    p: int, count: int, smallest: int, largest: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    children = np.zeros((as_integer(count, "latents", minimum=0), p), bool)
    for row in children:
        row[rng.choice(p, int(rng.integers(smallest, largest + 1)), replace=False)] = True
    return children

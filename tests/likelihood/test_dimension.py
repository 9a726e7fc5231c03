"""The dimension of covariance families against theory and floating-point ranks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from loopscm import LatentGraph, family_dimension
from loopscm.likelihood.dimension import numerical_dimension
from loopscm.simulate import random_graph

SQUARE = LatentGraph(np.zeros((4, 4)), [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]])


def simple_digraph(p: int, rng: np.random.Generator, density: float) -> LatentGraph:
    """A random directed graph, mostly cyclic, without reciprocal edges."""
    pairs = np.triu(rng.random((p, p)) < density, 1)
    forward = rng.random((p, p)) < 0.5
    return LatentGraph((pairs & forward) | (pairs & ~forward).T)


def test_square_and_complete_graph():
    assert (family_dimension(SQUARE), SQUARE.complexity) == (8, 12)
    complete = LatentGraph(np.triu(np.ones((4, 4)), 1))
    assert (family_dimension(complete), complete.complexity) == (10, 6)


def test_four_cycle():
    cycle = LatentGraph(np.roll(np.eye(4), 1, axis=1))
    assert family_dimension(cycle) == 8


@pytest.mark.parametrize("seed", range(30))
def test_simple_directed_graphs_have_dimension_p_plus_edges(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 31))
    graph = simple_digraph(p, rng, float(rng.uniform(0.05, 0.9)))
    assert family_dimension(graph) == p + graph.n_edges


@pytest.mark.parametrize("seed", range(20))
def test_simple_mixed_graphs_have_dimension_p_plus_edges(seed):
    rng = np.random.default_rng([1, seed])
    p = int(rng.integers(2, 16))
    graph = simple_digraph(p, rng, 0.6)
    turned = graph.directed & (rng.random((p, p)) < 0.4)
    mixed = LatentGraph(graph.directed & ~turned, bidirected=turned | turned.T)
    assert family_dimension(mixed) == p + mixed.n_edges


def test_two_child_latent_counts_like_an_edge():
    edge, latent = LatentGraph([[0, 1], [0, 0]]), LatentGraph(np.zeros((2, 2)), [[1, 1]])
    assert family_dimension(edge) == family_dimension(latent) == 3


@pytest.mark.parametrize("children", range(3, 7))
def test_factor_with_k_children_has_k_loadings(children):
    graph = LatentGraph(np.zeros((children, children)), np.ones((1, children)))
    expected = min(2 * children, children * (children + 1) // 2)
    assert family_dimension(graph) == expected


@pytest.mark.parametrize("p, degree, ratio", list(product((5, 20, 60), (2, 4), (0.0, 0.2, 0.3))))
def test_exact_and_floating_point_ranks_agree(p, degree, ratio):
    graph = random_graph(p, degree, ratio, p + degree)
    exact = family_dimension(graph)
    assert numerical_dimension(graph) == exact
    assert exact <= min(p + graph.n_edges, p * (p + 1) // 2)


def test_dimension_is_bounded_by_all_covariances():
    full = LatentGraph(~np.eye(4, dtype=bool), np.ones((2, 4)))
    assert family_dimension(full) == 10
    assert numerical_dimension(full) == 10


@pytest.mark.parametrize("seed", range(10))
def test_dimension_ignores_the_order_of_variables_and_latents(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(12, 4, 0.3, rng)
    other = LatentGraph(graph.directed, graph.children[::-1]).permuted(rng.permutation(12))
    assert family_dimension(other) == family_dimension(graph)


def test_large_graph():
    graph = random_graph(200, 4, 0.2, 3)
    assert family_dimension(graph) == numerical_dimension(graph) <= 200 + graph.n_edges

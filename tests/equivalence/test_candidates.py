"""Enumeration, c†, structural minimality, and classes, on the paper's examples."""

from __future__ import annotations

from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from graphs import COMPLETE, CYCLE, EDGE, PAIR, REVERSED_EDGE, SQUARE, edges

from loopscm import GraphError, LatentGraph, OptionError, family_dimension
from loopscm.equivalence import (
    c_dagger,
    candidate_class,
    equivalence_class,
    minimality_at,
    minimum_representative,
    relevant_candidates,
    reversed_cycles,
    rotation_class,
    structural_minimality,
    zero_pairs,
)
from loopscm.simulate import random_graph, random_scm


def test_class_has_no_relabelled_latents():
    graphs = list(candidate_class(3, 2))
    assert len(graphs) == 2**6 * comb(4 + 2, 2)
    assert len({graph.canonical() for graph in graphs}) == len(graphs)
    assert all((graph.children.sum(axis=1) >= 2).all() for graph in graphs)
    simple = [graph for graph in graphs if graph.complexity <= 3]
    assert simple == list(candidate_class(3, 2, max_complexity=3))


def test_class_restricted_to_vanishing_pairs_loses_nothing():
    zero = zero_pairs(edges("0>1 2>1"))
    wanted = {g for g in candidate_class(3, 1) if (zero_pairs(g) == zero).all()}
    assert wanted == {g for g in candidate_class(3, 1, zero=zero) if (zero_pairs(g) == zero).all()}


def test_class_too_large_to_list():
    with pytest.raises(OptionError, match="lower p"):
        candidate_class(5, 2)


def test_square_violates_structural_minimality():
    result = structural_minimality(SQUARE)
    assert not result.holds
    assert result.c_dagger == SQUARE.complexity == 12
    assert result.violators[0].complexity == COMPLETE.complexity == 6
    assert family_dimension(result.violators[0]) == 10 > family_dimension(SQUARE) == 8


def test_square_violates_the_weaker_condition_at_its_covariances():
    """The complete graph contains every covariance, so the violation is at every Σ*."""
    sigma = random_scm(SQUARE, 1).covariance()
    assert not minimality_at(sigma, SQUARE).holds


@pytest.mark.slow
def test_conditions_found_by_listing():
    """Three common causes of pairs among four variables: dimension 7 = p + 3, one star of edges.

    The family is that of covariances with three vanishing pairs, so c† is not p + c† and
    only the list of candidates decides.
    """
    graph = LatentGraph(np.zeros((4, 4)), [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]])
    sigma = random_scm(graph, 1).covariance()
    strong = structural_minimality(graph, max_latents=1, starts=2)
    assert strong.c_dagger == 5  # 0>1 3>2 and a latent of 1 and 2
    assert minimality_at(sigma, graph, max_latents=1, starts=2).holds >= strong.holds


def test_four_cycle():
    result = structural_minimality(CYCLE, max_latents=1)
    assert result.holds and result.c_dagger == 4


def test_two_child_latent_has_an_edge_as_representative():
    assert c_dagger(PAIR) == 1
    assert minimum_representative(PAIR) in (EDGE, REVERSED_EDGE)
    assert structural_minimality(PAIR).holds


@pytest.mark.parametrize("directed", list(permutations(range(3)))[:3])
def test_class_with_a_latent_free_representative(directed):
    """dim = p + e and c† = e for graphs with a simple latent-free equivalent."""
    i, j, k = directed
    for text in (f"{i}>{j}", f"{i}>{j} {j}>{k}", f"{i}>{k} {j}>{k}", f"{i}>{j} {j}>{k} {k}>{i}"):
        graph = edges(text)
        assert family_dimension(graph) == 3 + graph.n_edges
        assert c_dagger(graph, max_latents=1) == graph.n_edges
        assert structural_minimality(graph, max_latents=1).holds


def test_collider_with_latents_in_place_of_edges():
    graph = LatentGraph(np.zeros((3, 3)), [[1, 1, 0], [0, 1, 1]])
    assert c_dagger(graph) == 2
    assert minimum_representative(graph) == edges("0>1 2>1")


def test_equivalence_class_of_two_variables_is_everything_adjacent():
    found = equivalence_class(EDGE, max_latents=1)
    assert set(found) == {g for g in candidate_class(2, 1) if g.n_edges}


def test_relevant_candidates_of_a_collider():
    graph = edges("0>1 2>1")
    sigma = random_scm(graph, 0).covariance()
    found = relevant_candidates(sigma, candidate_class(3, 1), c_dagger(graph, 1))
    assert found == [graph]


def test_relevant_candidates_of_a_chain_are_its_class():
    sigma = random_scm(edges("0>1 1>2"), 0).covariance()
    found = relevant_candidates(sigma, candidate_class(3, 0), 2)
    assert set(found) == {edges("0>1 1>2"), edges("2>1 1>0"), edges("1>0 1>2")}


# ---- rotations --------------------------------------------------------------------------


@pytest.mark.parametrize("graph", [g for k, g in enumerate(candidate_class(3, 0)) if k % 7 == 0])
def test_rotations_find_the_enumerated_class(graph):
    """All of it below full dimension; there equal closures do not mean equal families."""
    rotated, listed = set(rotation_class(graph).members), set(equivalence_class(graph, 0))
    assert rotated <= listed
    if family_dimension(graph) < 6:
        assert rotated == {other for other in listed if other.n_edges <= graph.n_edges}


def markov_class(graph: LatentGraph) -> set[LatentGraph]:
    """Acyclic graphs with the same skeleton and the same v-structures, by brute force."""

    def signature(directed):
        p = len(directed)
        skeleton = directed | directed.T
        colliders = {
            (min(i, k), j, max(i, k))
            for i, j, k in permutations(range(p), 3)
            if directed[i, j] and directed[k, j] and not skeleton[i, k]
        }
        return skeleton.tobytes(), frozenset(colliders)

    pairs = np.argwhere(np.triu(graph.directed | graph.directed.T)).tolist()
    found = set()
    for turns in product((False, True), repeat=len(pairs)):
        directed = np.zeros(graph.directed.shape, bool)
        for (i, j), turn in zip(pairs, turns, strict=True):
            directed[(j, i) if turn else (i, j)] = True
        other = LatentGraph(directed)
        if other.is_acyclic and signature(directed) == signature(graph.directed):
            found.add(other)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_acyclic_members_are_the_markov_equivalence_class(seed):
    rng = np.random.default_rng(seed)
    p = 5
    order = rng.permutation(p)
    upper = np.triu(rng.random((p, p)) < 0.5, 1)
    graph = LatentGraph(upper[np.ix_(order, order)])
    found = rotation_class(graph, limit=20_000)
    assert found.complete
    assert {g for g in found.members if g.is_acyclic} == markov_class(graph)


def test_reversed_cycles():
    cycle = LatentGraph(np.roll(np.eye(20), 1, axis=1))
    found = reversed_cycles(cycle)
    assert found.complete and set(found.members) == {cycle, LatentGraph(cycle.directed.T)}


@pytest.mark.parametrize("seed", range(15))
def test_reversals_are_all_orders_of_the_columns(seed):
    rng = np.random.default_rng(seed)
    p = 5
    graph = LatentGraph((rng.random((p, p)) < rng.uniform(0.2, 0.8)) & ~np.eye(p, dtype=bool))
    supports = graph.directed | np.eye(p, dtype=bool)
    arranged = (supports[:, list(order)] for order in permutations(range(p)))
    expected = {LatentGraph(m & ~np.eye(p, dtype=bool)) for m in arranged if m.diagonal().all()}
    assert set(reversed_cycles(graph).members) == expected


@pytest.mark.parametrize("p", [100, 200])
def test_large_classes_do_not_take_long(p):
    graph = random_graph(p, 4, 0.0, 1)
    found = rotation_class(graph, limit=40)
    assert len(found.members) == 40 and not found.complete
    sizes = {family_dimension(member) for member in found.members[::10]}
    assert sizes == {p + graph.n_edges}


def test_equal_columns_are_not_exchanged():
    """All columns of the complete digraph are equal: 20! orders, one graph."""
    full = LatentGraph(~np.eye(20, dtype=bool))
    assert reversed_cycles(full).members == (full,)


def test_rotation_class_stops_at_its_limit():
    dense = LatentGraph(np.triu(np.ones((6, 6)), 1))
    found = rotation_class(dense, limit=50)
    assert not found.complete and len(found.members) == 50
    with pytest.raises(GraphError, match="without latents"):
        rotation_class(PAIR)

"""The likelihood is the sum over components, and the layout carries every parameter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from loopscm import GaussianStats, LatentGraph, LinearSCM
from loopscm.likelihood import factorised, gaussian
from loopscm.likelihood.layout import layout_of
from loopscm.simulate import random_graph, random_scm


@given(st.integers(2, 40), st.sampled_from([2, 4]), st.sampled_from([0, 0.1, 0.3]),
       st.integers(0, 10**6))  # fmt: skip
def test_factorised_equals_monolithic(p, degree, ratio, seed):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(p, degree, ratio, rng), rng)
    S = GaussianStats.from_data(model.sample(4 * p + 10, rng), center=False).S
    whole = layout_of(model.graph, whole=True)
    monolithic = factorised.block_values(
        factorised.tables_of(whole), np.ascontiguousarray(S), np.zeros((0, 0)),
        gaussian.parameters(model, whole), gaussian.LIKELIHOOD,
    )  # fmt: skip
    shares = gaussian.likelihood_by_component(S, model)
    assert len(shares) == len(model.graph.components())
    assert shares.sum() == pytest.approx(monolithic[0], abs=1e-10)
    assert shares.sum() == pytest.approx(oracle.likelihood(S, *oracle.arrays(model)), abs=1e-10)


@given(st.integers(3, 12), st.integers(0, 10**6))
def test_a_component_depends_on_its_own_parameters_only(p, seed):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(p, 4, 0.2, rng), rng)
    S = model.covariance()
    before = gaussian.likelihood_by_component(S, model)
    members = list(model.graph.components()[0])
    variances = model.noise_variances.copy()
    variances[members] *= 1.5
    B = model.coefficients.copy()
    B[:, members] *= 0.9
    moved = LinearSCM(model.graph, B, model.loadings, variances)
    after = gaussian.likelihood_by_component(S, moved)
    assert after[0] != pytest.approx(before[0])
    np.testing.assert_array_equal(after[1:], before[1:])


def test_components_by_hand():
    # 0 ⇄ 1 is a loop, latent over {1, 2}; 3 → 4 alone; 5 ↔ 6 bidirected.
    edges = [("a", "b"), ("b", "a"), ("L", "b"), ("L", "c"), ("d", "e"), ("f", "g", "<->")]
    graph = LatentGraph.from_edges(edges, names=list("abcdefg"), latents=["L"])
    assert graph.components() == ((0, 1, 2), (3,), (4,), (5, 6))


def test_edges_between_sibling_groups_do_not_merge_them():
    """Two latents over {0, 1} and {2, 3} with 0 → 2 and 3 → 1: no loop, no shared Ψ."""
    directed = np.zeros((4, 4), bool)
    directed[0, 2] = directed[3, 1] = True
    graph = LatentGraph(directed, [[1, 1, 0, 0], [0, 0, 1, 1]])
    assert graph.components() == ((0, 1), (2, 3))
    rng = np.random.default_rng(0)
    model = random_scm(graph, rng)
    S = GaussianStats.from_data(model.sample(40, rng), center=False).S
    expected = oracle.likelihood(S, *oracle.arrays(model))
    assert gaussian.likelihood(S, model) == pytest.approx(expected, abs=1e-12)


@given(st.integers(2, 15), st.integers(0, 10**6), st.booleans())
def test_gather_and_scatter_are_inverse(p, seed, whole):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(p, 3, 0.3, rng), rng)
    layout = layout_of(model.graph, whole=whole)
    assert layout.size == p + model.graph.n_edges == len(layout.labels())
    assert len(set(layout.labels())) == layout.size
    back = layout.scatter(gaussian.parameters(model, layout))
    for found, expected in zip(back, oracle.arrays(model), strict=True):
        np.testing.assert_array_equal(found, expected)

"""Starts of loops on both sides of det A = 0."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import CYCLE, edges

from loopscm import LatentGraph
from loopscm.equivalence._family import family_of
from loopscm.equivalence._loops import fitted_columns
from loopscm.simulate import random_graph, random_scm


def correlation_of(graph: LatentGraph, rng: np.random.Generator) -> np.ndarray:
    sigma = random_scm(graph, rng).covariance()
    scale = np.sqrt(np.diagonal(sigma))
    return sigma / scale / scale[:, None]


def test_both_orientations_of_a_cycle_are_reached():
    """The product of coefficients around the cycle at one optimum inverts that at the other."""
    rng = np.random.default_rng(0)
    family, S = family_of(CYCLE), correlation_of(CYCLE, rng)
    products = []
    for _ in range(40):
        B = family.local.scatter(family.turned(family.random_parameters(rng, 0.5), S, rng))[0]
        products.append(abs(np.prod(B[CYCLE.directed])))
    assert min(products) < 0.99 and max(products) > 1.01


@pytest.mark.parametrize("seed", range(6))
def test_noise_matches_the_residuals_and_the_rest_is_kept(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(12, 4, 0.3, rng)
    family, S = family_of(graph), correlation_of(graph, rng)
    before = family.random_parameters(rng, 0.5)
    B, Gamma, variances, _ = family.local.scatter(family.turned(before, S, rng))
    A = np.eye(12) - B
    heads = family.loops.heads
    residuals = np.diagonal(A.T @ S @ A)
    totals = variances + (Gamma**2).sum(axis=0)
    np.testing.assert_allclose(totals[heads], residuals[heads], rtol=1e-8)
    rest = np.setdiff1d(np.arange(12), heads)
    old = family.local.scatter(before)
    np.testing.assert_array_equal(B[:, rest], old[0][:, rest])
    np.testing.assert_array_equal(variances[rest], old[2][rest])


def test_columns_solve_the_likelihood_equations_of_a_loop():
    """(S A)_Uj = (A⁻¹)_jU for every column j with support U, once the sweeps have settled."""
    rng = np.random.default_rng(3)
    graph = edges("0>1 1>2 2>0 3>1 3>0", 4)
    S, loops = correlation_of(graph, rng), family_of(graph).loops
    errors = []
    for _ in range(20):
        found = fitted_columns(loops, S, rng.standard_normal(len(loops.variable)))
        column = np.repeat([0, 1, 2], np.diff(loops.column_ptr))
        A = np.zeros((4, 3))
        A[loops.variable, column] = found
        np.testing.assert_allclose(np.diagonal(A.T @ S @ A), 1, rtol=1e-9)
        rows = np.append(np.linalg.inv(A[:3]), np.zeros((3, 1)), axis=1)
        difference = (S @ A)[loops.variable, column] - rows[column, loops.variable]
        errors.append(np.abs(difference).max())
    assert min(errors) < 1e-3


def test_starts_are_finite_where_a_column_loses_its_own_variable():
    """Two columns with equal supports can be rotated until one lacks its own variable."""
    rng = np.random.default_rng(0)
    graph = edges("0>1 1>0 2>3 3>2 0>3", 4)
    family, S = family_of(graph), correlation_of(graph, rng)
    with np.errstate(all="raise"):
        for _ in range(200):
            before = family.random_parameters(rng, 0.5)
            assert np.isfinite(family.turned(before, S, rng)).all()


def test_graphs_without_loops_are_left_alone():
    family = family_of(edges("0>1 1>2"))
    assert not family.has_loops

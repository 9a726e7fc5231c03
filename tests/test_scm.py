"""The model: implied distribution, interventions, effects."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from loopscm import GaussianStats, LatentGraph, LinearSCM, ParameterError
from loopscm.simulate import random_graph, random_scm


def loop():
    """a ⇄ b with a latent over b and c."""
    graph = LatentGraph.from_edges(
        [("a", "b"), ("b", "a"), ("L", "b"), ("L", "c")], names=list("abc"), latents=["L"]
    )
    B = np.zeros((3, 3))
    B[0, 1], B[1, 0] = 0.5, -0.4
    return LinearSCM(graph, B, [[0.0, 0.8, 0.6]], [1.0, 2.0, 0.5])


def test_covariance_is_the_papers_formula():
    model = loop()
    inverse = np.linalg.inv(np.eye(3) - model.coefficients)
    psi = np.diag([1.0, 2.0, 0.5]) + np.outer([0, 0.8, 0.6], [0, 0.8, 0.6])
    np.testing.assert_allclose(model.noise_covariance(), psi)
    np.testing.assert_allclose(model.covariance(), inverse.T @ psi @ inverse)


@given(st.integers(0, 1000))
def test_sample_has_the_implied_covariance(seed):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(6, 3, 0.3, rng), rng)
    X = model.sample(20_000, rng)
    sigma = model.covariance()
    error = X.T @ X / len(X) - sigma
    spread = np.sqrt((sigma**2 + np.outer(np.diagonal(sigma), np.diagonal(sigma))) / len(X))
    assert np.abs(error / spread).max() < 6


def test_sample_with_bidirected_edges():
    graph = LatentGraph.from_edges([("a", "b", "<->"), ("b", "c")])
    free = np.zeros((3, 3))
    free[0, 1] = free[1, 0] = 0.7
    model = LinearSCM(graph, np.diag([0, 0.5], 1), None, [1, 1, 1], free)
    X = model.sample(50_000, 0)
    np.testing.assert_allclose(X.T @ X / len(X), model.covariance(), atol=0.05)
    assert model.covariance()[0, 1] == pytest.approx(0.7)


def test_log_likelihood_agrees_with_scipy():
    model = loop()
    X = model.sample(200, 3)
    expected = multivariate_normal(np.zeros(3), model.covariance()).logpdf(X).sum()
    assert model.log_likelihood(X) == pytest.approx(expected, rel=1e-12)
    stats = GaussianStats.from_data(X, center=False)
    assert model.log_likelihood(stats) == pytest.approx(expected, rel=1e-12)


def test_log_likelihood_takes_any_table_of_its_variables():
    """Single rows and constant columns have a likelihood; columns go by name or by position."""
    model = loop()
    density = multivariate_normal(np.zeros(3), model.covariance())
    row = np.array([[0.3, -1.0, 2.0]])
    assert model.log_likelihood(row) == pytest.approx(density.logpdf(row))
    zeros = np.zeros((4, 3))
    assert model.log_likelihood(zeros) == pytest.approx(density.logpdf(zeros).sum())
    frame = pd.DataFrame(row, columns=list("abc"))
    assert model.log_likelihood(frame) == model.log_likelihood(row)


def test_total_effects_and_stability():
    model = loop()
    np.testing.assert_allclose(
        model.total_effects(), sum(np.linalg.matrix_power(model.coefficients, k) for k in range(60))
    )
    assert model.is_stable and model.stability.spectral_radius == pytest.approx(np.sqrt(0.2))
    assert str(model.stability).startswith("spectral radius 0.447, stable")
    B = np.array([[0, 2.0], [1.5, 0]])
    wild = LinearSCM(LatentGraph(B != 0), B, None, [1, 1])
    assert not wild.is_stable and "not stable" in str(wild.stability)
    np.testing.assert_allclose(wild.total_effects() @ (np.eye(2) - B), np.eye(2), atol=1e-14)


def test_radius_is_that_of_the_loops_alone():
    """Exactly zero without loops, and exact for two loops joined by a long chain."""
    p, order = 40, np.random.default_rng(0).permutation(40)
    B = np.diag(np.full(p - 1, 2.0), 1)
    chain = LinearSCM(LatentGraph(B != 0), B, None, np.ones(p))
    assert chain.stability.spectral_radius == 0.0 and chain.is_stable
    assert "no effect returns to its cause" in str(chain.stability)
    B[1, 0], B[p - 1, p - 2] = 0.02, 0.08
    B = B[np.ix_(order, order)]
    joined = LinearSCM(LatentGraph(B != 0), B, None, np.ones(p))
    assert joined.stability.spectral_radius == pytest.approx(0.4, abs=1e-12)


def test_do_cuts_incoming_edges():
    model = loop()
    cut = model.do({"b": 2.0})
    assert cut.graph.to_edges() == [("b", "a"), ("L1", "c")]
    np.testing.assert_allclose(cut.mean(), [-0.8, 2.0, 0.0])
    np.testing.assert_allclose(np.diagonal(cut.covariance()), [1.0, 0.0, 0.5 + 0.36])
    X = cut.sample(40_000, 0)
    assert (X[:, 1] == 2.0).all()
    np.testing.assert_allclose(X.mean(axis=0), cut.mean(), atol=0.03)
    np.testing.assert_allclose(np.cov(X.T), cut.covariance(), atol=0.03)
    np.testing.assert_allclose(model.do({1: 2.0}).mean(), cut.mean())


def test_do_is_the_limit_of_replacing_the_equation():
    """do(b) equals the model whose equation for b is b = value + tiny noise."""
    model = loop()
    graph = LatentGraph.from_edges([("b", "a"), ("L", "c")], names=list("abc"), latents=["L"])
    B = np.where(graph.directed, model.coefficients, 0)
    replaced = LinearSCM(graph, B, [[0, 0, 0.6]], [1.0, 1e-12, 0.5])
    np.testing.assert_allclose(model.do({"b": 0}).covariance(), replaced.covariance(), atol=1e-10)


def test_do_everything():
    model = loop()
    cut = model.do({"a": 1, "b": 2, "c": 3})
    np.testing.assert_allclose(cut.sample(3, 0), [[1, 2, 3]] * 3)
    assert cut.graph.n_edges == 0


def test_do_refuses_an_unsolvable_rest():
    """b ⇄ c alone has det 0, although the full system has a solution."""
    B = np.zeros((3, 3))
    B[1, 2], B[2, 1], B[2, 0], B[0, 1] = 2.0, 0.5, 1.0, 1.0
    model = LinearSCM(LatentGraph(B != 0), B, None, [1, 1, 1])
    with pytest.raises(ParameterError, match="'X0' are held fixed"):
        model.do({"X0": 1.0})


def test_pruned_keeps_the_distribution():
    graph = LatentGraph(np.zeros((3, 3)), [[0, 0, 0], [0, 1, 0], [1, 0, 1]])
    model = LinearSCM(graph, np.zeros((3, 3)), graph.children * 0.7, [1, 1, 1])
    small = model.pruned()
    assert small.graph == graph.pruned()
    np.testing.assert_allclose(small.covariance(), model.covariance())


def test_value_semantics():
    model = loop()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coefficients, model.coefficients)
    B = np.zeros((2, 2))
    B[0, 1] = 1
    kept = LinearSCM(LatentGraph(B != 0), B, None, [1, 1])
    B[0, 1] = 9
    assert kept.coefficients[0, 1] == 1 and not kept.coefficients.flags.writeable


def test_repr_shows_equations():
    lines = repr(loop()).splitlines()
    assert lines[0].startswith("LinearSCM(3 observed, 1 latent, 4 edges; spectral radius 0.447")
    assert lines[2] == "  b = +0.5 a +0.8 L1 + N(0, 2)"
    assert repr(LinearSCM(LatentGraph([[0]]), [[0]], None, [2])).endswith("  X0 = N(0, 2)")
    assert "more equations" in repr(random_scm(random_graph(30, 2, 0, 0), 0))

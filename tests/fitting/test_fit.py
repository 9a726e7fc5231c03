"""Fits against closed forms, other optimisers, and what must not change them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import oracle
from loopscm import GaussianStats, LatentGraph, LinearSCM, Status, fit
from loopscm.fitting.driver import minimise_blocks, starting_point
from loopscm.fitting.newton import Limits
from loopscm.likelihood import gaussian
from loopscm.likelihood.factorised import block_values, tables_of
from loopscm.likelihood.layout import layout_of
from loopscm.simulate import random_graph, random_scm

ACCURACY = 1e-3  # of n·f at the end of a successful fit, however flat the optimum


def world(p, degree=4, ratio=0.2, seed=0, n=5000):
    rng = np.random.default_rng(seed)
    model = random_scm(random_graph(p, degree, ratio, rng), rng)
    return model, GaussianStats.from_data(model.sample(n, rng), center=False)


@given(st.integers(2, 20), st.integers(0, 10**6))
def test_a_dag_without_latents_is_least_squares(p, seed):
    rng = np.random.default_rng(seed)
    directed = np.triu(rng.random((p, p)) < 0.4, 1)
    order = rng.permutation(p)
    graph = LatentGraph(directed[np.ix_(order, order)])
    X = rng.standard_normal((200, p)) @ rng.standard_normal((p, p))
    stats = GaussianStats.from_data(X)
    scm = fit(stats, graph).scm
    centred = X - X.mean(axis=0)
    for j in range(p):
        parents = np.flatnonzero(graph.directed[:, j])
        expected = np.linalg.lstsq(centred[:, parents], centred[:, j])[0]
        residual = centred[:, j] - centred[:, parents] @ expected
        scale = stats.scale[j] / stats.scale[parents]
        np.testing.assert_allclose(
            scm.coefficients[parents, j] / scale, expected / scale, atol=1e-9
        )
        variance = residual @ residual / len(X)
        assert scm.noise_variances[j] == pytest.approx(variance, rel=1e-9)


def test_warm_start_reaches_least_squares_too():
    """The iteration itself, not only its start, solves the regression."""
    graph = LatentGraph(np.triu(np.ones((6, 6)), 1))
    _, stats = world(6)
    far = LinearSCM(graph, np.triu(np.full((6, 6), 0.7), 1), None, np.full(6, 9.0))
    cold, warm = fit(stats, graph), fit(stats, graph, start=far)
    np.testing.assert_allclose(warm.scm.coefficients, cold.scm.coefficients, atol=1e-9)
    assert warm.n_iterations > cold.n_iterations


@pytest.mark.parametrize("seed", range(6))
def test_is_at_least_as_good_as_a_general_optimiser(seed):
    model, stats = world(8, ratio=0.3, seed=seed)
    layout = layout_of(model.graph)
    truth = gaussian.parameters(model, layout)
    variances = layout.kind == 3

    def objective(x):
        theta = np.where(variances, np.exp(x), x)
        return oracle.likelihood(stats.S, *layout.scatter(theta))

    start = np.where(variances, np.log(np.where(variances, truth, 1)), truth)
    other = minimize(
        objective, start, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10**6}
    )
    assert fit(stats, model.graph).nll - stats.n * other.fun < ACCURACY


@pytest.mark.parametrize("k", range(40))
def test_one_cold_start_reaches_the_best_known_optimum(k):
    """The committed benchmark `fit_quality` in small: 40 of its graphs, 5 random starts."""
    p, degree, ratio = [(4, 2, 0.3), (8, 4, 0.1), (16, 4, 0.3), (32, 2, 0.2)][k % 4]
    model, stats = world(p, degree, ratio, seed=[5, k], n=10_000)
    cold = fit(stats, model.graph)
    assert cold.status.is_success
    best = min(
        fit(stats, model.graph, start=model).nll, fit(stats, model.graph, starts=6, seed=k).nll
    )
    assert cold.nll - best < ACCURACY


@pytest.mark.parametrize("seed", [47, 84, 87, 100, 107, 114, 126, 230, 250])
def test_a_cold_start_leaves_the_noise_floor_for_a_better_optimum(seed):
    """Graphs whose first descent ends in a Heywood case although the best fit has none."""
    model, stats = world(4, ratio=0.3, seed=[1, seed], n=10_000)
    tables, S, empty = (
        tables_of(layout_of(model.graph)),
        np.array(stats.correlation),
        np.zeros((0, 0)),
    )
    start = starting_point(tables, S)[None]
    options = (gaussian.LIKELIHOOD, 1e-10, Limits(1e-11, 500), False)
    first, *_ = minimise_blocks(tables, S, empty, start, *options)
    value = block_values(tables, S, empty, first, gaussian.LIKELIHOOD).sum()
    cold, best = fit(stats, model.graph), fit(stats, model.graph, start=model)
    assert stats.n * (value + np.log(stats.scale).sum()) - cold.nll > 0.1
    assert cold.nll - best.nll < ACCURACY


@pytest.mark.parametrize("seed", range(8))
def test_gradient_vanishes_at_the_fit(seed):
    model, stats = world(12, ratio=0.3, seed=seed)
    result = fit(stats, model.graph)
    gradient = gaussian.likelihood_gradient(stats.S, result.scm)
    free = [name not in {f"var {v}" for v in result.at_floor}
            for name in layout_of(model.graph).labels()]  # fmt: skip
    assert np.abs(gradient[free]).max() < 1e-5
    assert result.nll == pytest.approx(stats.n * gaussian.likelihood(stats.S, result.scm))
    assert result.trace[-1] == result.value and (np.diff(result.trace) <= 1e-12).all()


# ---- invariances ------------------------------------------------------------------------


@given(st.integers(3, 12), st.integers(0, 10**5))
def test_permuting_variables_permutes_the_fit(p, seed):
    model, stats = world(p, ratio=0.2, seed=seed, n=2000)
    order = np.random.default_rng(seed).permutation(p)
    base, moved = fit(stats, model.graph), fit(stats.permuted(order), model.graph.permuted(order))
    if base.status.is_success and moved.status.is_success:
        assert moved.nll == pytest.approx(base.nll, abs=ACCURACY)
    if base.status is Status.CONVERGED and model.graph.n_latent == 0:
        np.testing.assert_allclose(
            moved.scm.coefficients, base.scm.coefficients[np.ix_(order, order)], atol=1e-6
        )


@given(st.integers(3, 12), st.integers(0, 10**5))
def test_rescaling_variables_rescales_the_fit(p, seed):
    """Twelve orders of magnitude between variables change nothing but the units."""
    model, stats = world(p, ratio=0.2, seed=seed, n=2000)
    scale = np.exp2(np.random.default_rng(seed).integers(-20, 21, p))
    S = stats.S * np.outer(scale, scale)
    moved = fit(GaussianStats.from_covariance(S, stats.n, centered=False), model.graph)
    base = fit(stats, model.graph)
    assert moved.nll - stats.n * np.log(scale).sum() == pytest.approx(base.nll, abs=1e-6)
    back = moved.scm.coefficients * scale[:, None] / scale
    np.testing.assert_allclose(back, base.scm.coefficients, atol=1e-8)
    np.testing.assert_allclose(moved.scm.loadings / scale, base.scm.loadings, atol=1e-8)
    np.testing.assert_allclose(
        moved.scm.noise_variances / scale**2, base.scm.noise_variances, rtol=1e-6, atol=1e-8
    )


@given(st.integers(4, 12), st.integers(0, 10**5), st.randoms(use_true_random=False))
def test_relabelling_latents_changes_nothing(p, seed, random):
    """Not one bit of a cold start; a warm one may tell apart latents with equal children."""
    model, stats = world(p, ratio=0.5, seed=seed, n=2000)
    order = list(range(model.graph.n_latent))
    random.shuffle(order)
    graph = LatentGraph(model.graph.directed, model.graph.children[order])
    cold, moved = fit(stats, model.graph), fit(stats, graph)
    assert moved.nll == cold.nll
    np.testing.assert_array_equal(moved.scm.coefficients, cold.scm.coefficients)
    start = LinearSCM(graph, model.coefficients, model.loadings[order], model.noise_variances)
    warm, other = fit(stats, model.graph, start=model), fit(stats, graph, start=start)
    if len({tuple(row) for row in graph.children.tolist()}) == graph.n_latent:
        assert other.nll == warm.nll
    elif warm.status.is_success and other.status.is_success:
        assert other.nll == pytest.approx(warm.nll, abs=ACCURACY)


@given(st.integers(4, 10), st.integers(0, 10**5))
def test_signs_of_latents_change_nothing(p, seed):
    model, stats = world(p, ratio=0.5, seed=seed, n=2000)
    signs = np.where(np.arange(model.graph.n_latent) % 2, 1.0, -1.0)[:, None]
    flipped = LinearSCM(
        model.graph, model.coefficients, model.loadings * signs, model.noise_variances
    )
    base, other = (fit(stats, model.graph, start=start) for start in (model, flipped))
    assert other.nll == pytest.approx(base.nll, abs=1e-4)
    np.testing.assert_allclose(other.scm.loadings * signs, base.scm.loadings, atol=1e-8)


def test_duplicated_data_doubles_the_likelihood_and_nothing_else():
    model, _ = world(8, seed=4)
    X = model.sample(500, 0)
    once = fit(GaussianStats.from_data(X, center=False), model.graph)
    twice = fit(GaussianStats.from_data(np.vstack([X, X]), center=False), model.graph)
    assert twice.nll == pytest.approx(2 * once.nll, rel=1e-12)
    np.testing.assert_allclose(twice.scm.coefficients, once.scm.coefficients, atol=1e-6)


def test_inputs_stay_unchanged():
    model, stats = world(8, ratio=0.3)
    S, B = stats.S.copy(), model.coefficients.copy()
    fit(stats, model.graph, start=model, starts=3, objective="divergence")
    np.testing.assert_array_equal(stats.S, S)
    np.testing.assert_array_equal(model.coefficients, B)


def test_same_input_same_bits():
    model, stats = world(20, ratio=0.3)
    first, second = (fit(stats, model.graph, starts=4, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.scm.coefficients, second.scm.coefficients)
    assert first.nll == second.nll


# ---- objectives, starts, hard graphs ------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_divergence_of_a_family_to_itself_is_zero(seed):
    model, _ = world(12, ratio=0.3, seed=seed)
    target = GaussianStats.from_covariance(model.covariance(), 1000, centered=False)
    result = fit(target, model.graph, objective="divergence")
    assert result.value < 1e-9 and result.objective == "divergence"


@pytest.mark.parametrize("seed", range(6))
def test_divergence_fit_is_stationary_and_no_worse_than_the_likelihood_fit(seed):
    _model, stats = world(10, ratio=0.2, seed=seed)
    other = random_graph(10, 3, 0.2, seed)
    result = fit(stats, other, objective="divergence")
    likeliest = fit(stats, other)
    assert result.value == pytest.approx(gaussian.divergence(stats.S, result.scm), abs=1e-9)
    assert result.value <= gaussian.divergence(stats.S, likeliest.scm) + 1e-12
    assert likeliest.nll <= result.nll + 1e-6


def test_more_starts_never_hurt():
    for seed in range(10):
        _, stats = world(10, seed=seed, n=300)
        graph = random_graph(10, 4, 0.3, 100 + seed)
        one, many = fit(stats, graph), fit(stats, graph, starts=8)
        assert many.nll <= one.nll + 1e-9


def test_mixed_graphs_fit_through_the_same_code():
    """A bidirected edge is the family of a latent with two children."""
    stats = GaussianStats.from_covariance([[2.0, 0.6, 0.3], [0.6, 1.0, 0.1], [0.3, 0.1, 1.0]], 100)
    names = ["X0", "X1", "X2"]
    arcs = LatentGraph.from_edges([("X0", "X1", "<->"), ("X1", "X2")], names=names)
    latent = LatentGraph.from_edges(
        [("L", "X0"), ("L", "X1"), ("X1", "X2")], names=names, latents=["L"]
    )
    assert fit(stats, arcs).nll == pytest.approx(fit(stats, latent).nll, abs=1e-8)
    full = LatentGraph(np.zeros((3, 3)), bidirected=~np.eye(3, dtype=bool))
    saturated = fit(stats, full)
    np.testing.assert_allclose(saturated.scm.covariance(), stats.S, atol=1e-6)


def test_both_signs_of_the_determinant_are_reachable():
    """x ⇄ y with instruments: the loop with product above one has det A < 0."""
    names = list("xyuv")
    graph = LatentGraph.from_edges([("x", "y"), ("y", "x"), ("u", "x"), ("v", "y")], names=names)
    B = np.zeros((4, 4))
    B[0, 1], B[1, 0], B[2, 0], B[3, 1] = 2.0, 1.5, 1.0, 1.0
    model = LinearSCM(graph, B, None, np.ones(4))
    assert np.linalg.det(np.eye(4) - B) < 0
    target = GaussianStats.from_covariance(model.covariance(), 1000, names)
    result = fit(target, graph, start=model)
    np.testing.assert_allclose(result.scm.coefficients, B, atol=1e-8)
    assert fit(target, graph, starts=10).nll == pytest.approx(result.nll, abs=1e-6)


def test_heywood_case_is_a_status_not_an_error():
    """Correlations (.8, .8, .5) have no proper one-factor solution."""
    S = np.array([[1, 0.8, 0.8], [0.8, 1, 0.5], [0.8, 0.5, 1]])
    stats = GaussianStats.from_covariance(S, 200, ["a", "b", "c"])
    graph = LatentGraph(np.zeros((3, 3)), [[1, 1, 1]], ["a", "b", "c"])
    result = fit(stats, graph)
    assert result.status is Status.AT_NOISE_FLOOR and result.at_floor == ("a",)
    assert "Heywood" in result.status.value and result.status.is_success
    # The best boundary solution regresses b and c on a.
    bound = LatentGraph.from_edges([("a", "b"), ("a", "c")], names=["a", "b", "c"])
    assert result.nll == pytest.approx(fit(stats, bound).nll, abs=1e-5)


def test_iteration_limit_is_a_status_and_can_be_continued():
    model, stats = world(12, ratio=0.3, seed=1)
    short = fit(stats, model.graph, max_iterations=1)
    assert short.status is Status.ITERATION_LIMIT and short.n_iterations == 1
    assert fit(stats, model.graph, start=short.scm).nll == pytest.approx(
        fit(stats, model.graph).nll, abs=1e-4
    )


def test_singular_start_is_survived():
    """Regressions of x on y and y on x of a perfect pair give det A ≈ 0."""
    S = np.array([[1.0, 1 - 1e-9], [1 - 1e-9, 1.0]])
    graph = LatentGraph([[0, 1], [1, 0]])
    result = fit(GaussianStats.from_covariance(S, 100), graph)
    assert np.isfinite(result.nll)
    assert result.nll == pytest.approx(50 * (np.linalg.slogdet(S)[1] + 2), abs=0.05)


@pytest.mark.parametrize("seed", range(30))
def test_no_graph_raises(seed):
    """Dense nonsense graphs on noise: a result and a status, whatever happens."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 9))
    directed = rng.random((p, p)) < 0.7
    np.fill_diagonal(directed, False)
    graph = LatentGraph(directed, rng.random((int(rng.integers(0, 4)), p)) < 0.7)
    stats = GaussianStats.from_data(rng.standard_normal((12, p)))
    result = fit(stats, graph)
    assert isinstance(result.status, Status) and np.isfinite(result.nll)


def test_names_travel_and_default_names_adopt_those_of_the_data():
    rng = np.random.default_rng(0)
    stats = GaussianStats.from_data(rng.standard_normal((50, 2)), names=["raf", "mek"])
    assert fit(stats, LatentGraph([[0, 1], [0, 0]])).scm.graph.names == ("raf", "mek")


def test_standard_errors_match_the_spread_of_estimates():
    model, _ = world(6, degree=3, ratio=0, seed=8)
    rng = np.random.default_rng(1)
    estimates, labels = [], layout_of(model.graph).labels()
    for _ in range(400):
        stats = GaussianStats.from_data(model.sample(1000, rng), center=False)
        estimates.append(gaussian.parameters(fit(stats, model.graph).scm, layout_of(model.graph)))
    errors = fit(stats, model.graph).standard_errors()
    assert list(errors) == labels
    ratio = np.std(estimates, axis=0) / np.array([errors[label] for label in labels])
    assert (np.abs(ratio - 1) < 0.2).all()


def test_unidentified_parameters_have_no_standard_error():
    graph = LatentGraph(np.zeros((3, 3)), [[1, 1, 0]])
    S = np.array([[1, 0.4, 0], [0.4, 1, 0], [0, 0, 1.0]])
    errors = fit(GaussianStats.from_covariance(S, 100), graph).standard_errors()
    assert np.isnan(errors["L1 -> X0"]) and np.isfinite(errors["var X2"])

"""Fewer observations than variables: bounded fits run, unbounded ones are refused."""

from __future__ import annotations

import numpy as np
import pytest

from loopscm import GaussianStats, LatentGraph, Status, UnboundedLikelihoodError, fit, score


def noise(n, p, seed=0, center=False):
    return GaussianStats.from_data(
        np.random.default_rng(seed).standard_normal((n, p)), center=center
    )


def test_sparse_graphs_fit_with_few_observations():
    graph = LatentGraph(np.eye(10, k=1))
    result = fit(noise(5, 10), graph)
    assert result.status is Status.CONVERGED and np.isfinite(result.nll)


def test_a_sparse_loop_fits_with_few_observations():
    """Feedback does not raise the threshold: one parent each needs two observations."""
    ring = LatentGraph(np.roll(np.eye(10), 1, axis=1))
    assert np.isfinite(fit(noise(5, 10), ring).nll)


def test_too_many_parents_are_refused_by_name():
    directed = np.zeros((8, 8), bool)
    directed[:5, 7] = True
    with pytest.raises(UnboundedLikelihoodError, match=r"5 parents of 'X7'"):
        fit(noise(5, 8), LatentGraph(directed))
    directed[4, 7] = False
    assert np.isfinite(fit(noise(5, 8), LatentGraph(directed)).nll)


def test_centring_costs_one_observation():
    directed = np.zeros((8, 8), bool)
    directed[:4, 7] = True
    with pytest.raises(UnboundedLikelihoodError):
        fit(noise(5, 8, center=True), LatentGraph(directed))


def test_a_latent_over_two_well_explained_children_is_refused():
    directed = np.zeros((8, 8), bool)
    directed[:2, 6] = directed[2:4, 7] = True
    children = np.zeros((1, 8), bool)
    children[0, [6, 7]] = True
    with pytest.raises(UnboundedLikelihoodError, match="common cause of 'X6' and 'X7'"):
        fit(noise(5, 8), LatentGraph(directed, children))
    assert np.isfinite(fit(noise(6, 8), LatentGraph(directed, children)).nll)


def test_refusal_is_right():
    """Along the refused direction the likelihood does grow without bound."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 6))
    S = X.T @ X / 4
    # x5 explained by x1..x4 exactly
    weights = np.linalg.lstsq(X[:, :4], X[:, 5])[0]
    residual = X[:, 5] - X[:, :4] @ weights
    assert residual @ residual < 1e-20
    directed = np.zeros((6, 6), bool)
    directed[:4, 5] = True
    with pytest.raises(UnboundedLikelihoodError):
        fit(GaussianStats.from_covariance(S, 4, centered=False), LatentGraph(directed))


def test_a_variance_that_runs_away_later_is_reported():
    """Three siblings of two latents on two observations: not refused, but not bounded."""
    graph = LatentGraph(np.zeros((6, 6)), [[1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0]])
    result = fit(noise(2, 6, seed=1), graph)
    assert result.status is Status.UNBOUNDED and result.at_floor
    assert not result.status.is_success


def test_score_counts_from_independence_when_s_is_singular():
    stats = noise(5, 10)
    assert score(stats, LatentGraph(np.zeros((10, 10)))) == pytest.approx(0, abs=1e-9)

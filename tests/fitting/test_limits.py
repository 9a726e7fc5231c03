"""When a descent ends."""

from __future__ import annotations

import numpy as np
import pytest

from loopscm import LatentGraph
from loopscm.fitting.driver import minimise_blocks, starting_point
from loopscm.fitting.newton import GIVEN_UP, Limits
from loopscm.likelihood.factorised import tables_of
from loopscm.likelihood.gaussian import LIKELIHOOD
from loopscm.likelihood.layout import layout_of
from loopscm.simulate import random_graph, random_scm

EMPTY = np.zeros((0, 0))


def descent(graph: LatentGraph, S: np.ndarray, theta: np.ndarray, limits: Limits):
    """(parameters, outcome, iterations, trace) in one block."""
    tables = tables_of(layout_of(graph, whole=True))
    theta, outcomes, iterations, trace = minimise_blocks(
        tables, S, EMPTY, theta[None], LIKELIHOOD, 1e-10, limits, False
    )
    return theta, int(outcomes[0]), int(iterations[0]), trace


def problem(seed: int) -> tuple[LatentGraph, np.ndarray, np.ndarray]:
    """A graph, correlations of a member of another, and a start."""
    rng = np.random.default_rng(seed)
    sigma = random_scm(random_graph(16, 4, 0.3, rng), rng).covariance()
    scale = np.sqrt(np.diagonal(sigma))
    S = sigma / scale / scale[:, None]
    graph = random_graph(16, 4, 0.3, rng)
    return graph, S, starting_point(tables_of(layout_of(graph, whole=True)), S)


@pytest.mark.parametrize("seed", range(5))
def test_a_descent_that_cannot_win_is_given_up(seed):
    graph, S, start = problem(seed)
    _, outcome, count, trace = descent(graph, S, start, Limits(1e-10, 200, 1e-9))
    _, beaten, fewer, short = descent(graph, S, start, Limits(1e-10, 200, 1e-9, trace[-1] - 0.5))
    assert beaten == GIVEN_UP and fewer < count
    np.testing.assert_array_equal(short, trace[: len(short)])
    _, winner, same, _ = descent(graph, S, start, Limits(1e-10, 200, 1e-9, trace[-1] + 0.5))
    assert winner == outcome and same == count


@pytest.mark.parametrize("seed", range(5))
def test_negligible_gains_end_a_descent(seed):
    graph, S, start = problem(seed)
    full = descent(graph, S, start, Limits(1e-12, 500))[3]
    coarse = descent(graph, S, start, Limits(1e-12, 500, negligible=1e-4))[3]
    assert len(coarse) <= len(full)
    gains = -np.diff(coarse)
    assert (np.maximum(gains[1:-1], gains[:-2]) >= 1e-4).all()


def test_a_dead_latent_does_not_slow_the_other_parameters():
    """Near zero the loadings are near a saddle point, whose damping is not for all parameters."""
    directed = np.zeros((7, 7))
    directed[0, 1] = directed[1, 2] = directed[2, 0] = directed[3, 0] = 1
    graph = LatentGraph(directed, [[0, 0, 0, 0, 1, 1, 1]])
    rng = np.random.default_rng(0)
    sigma = random_scm(graph, rng).covariance()
    scale = np.sqrt(np.diagonal(sigma))
    S = sigma / scale / scale[:, None]
    layout = layout_of(graph, whole=True)
    variances, zeros = np.ones(7), np.zeros((7, 7))
    start = layout.gather(zeros, np.array([[0, 0, 0, 0, 1e-9, 1e-9, 1e-9]]), variances, zeros)
    theta, _, count, _ = descent(graph, S, start, Limits(1e-10, 500))
    model = random_scm(graph, np.random.default_rng(0))
    B = layout.scatter(theta)[0]
    np.testing.assert_allclose(B, model.coefficients * scale[:, None] / scale, atol=1e-4)
    assert count <= 40

"""What graphs cost under both penalties."""

from __future__ import annotations

import math

import numpy as np
import pytest

from loopscm import GaussianStats, LatentGraph, OptionError, fit, score
from loopscm.likelihood.penalty import (
    dimension_cost,
    penalty_cost,
    penalty_weight,
    price,
    structural_cost,
)
from loopscm.simulate import random_graph, random_scm


def test_weight_is_half_log_n():
    assert penalty_weight(10_000) == pytest.approx(0.5 * math.log(10_000))


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_a_price_is_named_or_a_number(penalty):
    half = penalty_weight(10_000)
    assert price(penalty, 10_000, 16, "paper") == price(penalty, 10_000, 16, "bic") == half
    assert price(penalty, 10_000, 16, "ebic") == pytest.approx(half + math.log(16))
    assert price(penalty, 10_000, 16, 3) == 3.0


def test_each_penalty_has_its_own_price():
    assert price("structural", 10_000, 16) == price("structural", 10_000, 16, "paper")
    assert price("dimension", 10_000, 16) == price("dimension", 10_000, 16, "ebic")


@pytest.mark.parametrize("weight", ["aic", -1.0, float("nan"), True])
def test_unknown_prices_are_refused(weight):
    with pytest.raises(OptionError, match="weight"):
        price("dimension", 10_000, 16, weight)


def test_structural_cost_counts_edges_and_latents():
    graph = LatentGraph.from_edges(
        [("a", "b"), ("b", "a"), ("L", "a"), ("L", "b"), ("L", "c")], latents=["L"]
    )
    assert structural_cost(graph) == graph.complexity == 2 + 3 + 1


@pytest.mark.parametrize(("children", "cost"), [(2, 1), (3, 3), (4, 4), (5, 5)])
def test_dimension_cost_of_one_latent(children, cost):
    """Two children cost one, k ≥ 3 cost k."""
    graph = LatentGraph(np.zeros((6, 6)), [[j < children for j in range(6)]])
    assert dimension_cost(graph) == cost


def test_dimension_cost_of_edges_is_their_number():
    chain = LatentGraph.from_edges([("a", "b"), ("b", "c"), ("c", "a")])
    assert dimension_cost(chain) == 3


def test_dimension_cost_sees_redundancy():
    """An edge between the two children of a latent adds no dimension."""
    graph = LatentGraph.from_edges([("a", "b"), ("L", "a"), ("L", "b")], latents=["L"])
    assert dimension_cost(graph) == 1


@pytest.mark.parametrize("penalty", ["structural", "dimension"])
def test_score_is_zero_based(penalty):
    rng = np.random.default_rng(3)
    model = random_scm(random_graph(8, 3, 0.2, rng), rng)
    stats = GaussianStats.from_data(model.sample(2000, rng), center=False)
    expected = (
        fit(stats, model.graph).nll
        - 0.5 * stats.n * (np.linalg.slogdet(stats.S)[1] + 8)
        + price(penalty, stats.n, 8) * penalty_cost(model.graph, penalty)
    )
    assert score(stats, model.graph, penalty=penalty) == pytest.approx(expected, abs=1e-8)
    complete = LatentGraph(np.triu(np.ones((8, 8)), 1))
    lam = price(penalty, stats.n, 8)
    assert score(stats, complete, penalty=penalty) == pytest.approx(28 * lam, abs=1e-6)
    assert score(stats, complete, penalty=penalty, weight=7.0) == pytest.approx(196, abs=1e-6)


def test_score_prefers_the_saturated_graph_over_the_square():
    """The paper's example: structurally 12 against 6, by dimension 4 against 6."""
    square = LatentGraph(np.zeros((4, 4)), [[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 0, 0, 1]])
    complete = LatentGraph(np.triu(np.ones((4, 4)), 1))
    sigma = random_scm(square, 0).covariance()
    stats = GaussianStats.from_covariance(sigma, 10_000)
    assert score(stats, complete) < score(stats, square)
    assert score(stats, complete, penalty="dimension") > score(stats, square, penalty="dimension")


def test_unknown_penalty_is_refused():
    stats = GaussianStats.from_covariance(np.eye(2), 10)
    with pytest.raises(OptionError, match="'structural', 'dimension'"):
        score(stats, LatentGraph(np.zeros((2, 2))), penalty="bic")  # type: ignore[arg-type]

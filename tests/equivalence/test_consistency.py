"""The consistency theorem as a simulation with the exact minimiser over enumerated classes."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import COMPLETE, SQUARE, edges

from loopscm import GaussianStats, LatentGraph, score
from loopscm.equivalence import c_dagger, candidate_class, minimisers, relevant_candidates
from loopscm.simulate import random_scm


def frequency(graph: LatentGraph, seed: int, n: int, trials: int, max_latents: int) -> float:
    """How often all minimisers over the candidate class lie in G₀(Σ*)."""
    model = random_scm(graph, seed)
    # The complete acyclic graph fits perfectly with three edges: nothing above ever wins.
    listed = list(candidate_class(3, max_latents, max_complexity=3))
    limit = c_dagger(graph, max_latents)
    relevant = set(relevant_candidates(model.covariance(), listed, limit))
    hits = 0
    for trial in range(trials):
        data = model.sample(n, np.random.default_rng([seed, n, trial]))
        stats = GaussianStats.from_data(data, center=False)
        hits += set(minimisers(stats, listed)) <= relevant
    return hits / trials


@pytest.mark.parametrize("text", ["0>1 1>2", "0>1 2>1"])
def test_minimisers_enter_the_relevant_set_as_n_grows(text):
    small, large = (frequency(edges(text), 2, n, 15, 0) for n in (40, 100_000))
    assert large >= 0.9 and large >= small


@pytest.mark.slow
@pytest.mark.parametrize("text", ["0>1", "0>1 1>2", "0>1 2>1", "0>1 1>0 1>2"])
def test_minimisers_enter_the_relevant_set_with_latent_competitors(text):
    values = [frequency(edges(text), 5, n, 20, 1) for n in (50, 1000, 100_000)]
    assert values[-1] >= 0.9 and values[-1] >= values[0]


@pytest.mark.parametrize("n", [50, 1000, 100_000])
def test_square_is_never_recovered(n):
    """The complete graph beats the square, and with it its class, at every sample size."""
    data = random_scm(SQUARE, 0).sample(n, 1)
    stats = GaussianStats.from_data(data, center=False)
    assert score(stats, COMPLETE) < score(stats, SQUARE)
    assert score(stats, COMPLETE) == pytest.approx(6 * 0.5 * np.log(n), abs=1e-5)


def test_dimension_penalty_recovers_the_square():
    stats = GaussianStats.from_data(random_scm(SQUARE, 0).sample(100_000, 1), center=False)
    assert score(stats, SQUARE, penalty="dimension") < score(stats, COMPLETE, penalty="dimension")

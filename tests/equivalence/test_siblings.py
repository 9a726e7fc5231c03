"""Other optima of the noise, the coefficients held."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import altered

from loopscm import LatentGraph
from loopscm.equivalence._family import family_of
from loopscm.equivalence._search import Search
from loopscm.equivalence._siblings import alternatives, dominated
from loopscm.likelihood.gaussian import precision
from loopscm.likelihood.kinds import EDGE
from loopscm.simulate import random_graph, random_scm


def descended(seed: int) -> Search:
    """A search for a member of a changed graph, after one descent."""
    rng = np.random.default_rng([3, seed])
    graph = random_graph(20, 4, 0.3, rng)
    sigma = random_scm(graph, rng).covariance()
    scale = np.sqrt(np.diagonal(sigma))
    S = np.ascontiguousarray(sigma / scale / scale[:, None])
    S = (S + S.T) / 2
    family = family_of(altered(graph, rng, 10).pruned())
    search = Search(family, S, precision(S), 1000)
    search.descend(family.random_parameters(rng, 0.5))
    return search


@pytest.mark.parametrize("seed", range(6))
def test_rises_are_those_of_the_divergence(seed):
    search = descended(seed)
    family, best = search.family, search.best()
    rng = np.random.default_rng(seed)
    found = alternatives(family, search.S, search.inverse, best, rng)
    assert [other.rise for other in found] == sorted(other.rise for other in found)
    for other in found:
        theta = best.copy()
        theta[other.places] = other.values
        assert search.divergence(theta) - search.value == pytest.approx(
            other.rise, rel=1e-6, abs=1e-9
        )
        changed = np.flatnonzero(theta != best)
        assert (family.local.kind[changed] != EDGE).all()


def test_two_optima_of_one_latent_are_both_found():
    """A latent with four children whose pairs (0, 1) and (2, 3) share more than it can give both.

    Without edges the coefficients held are none, so the lower optimum is the closest member.
    """
    family = family_of(LatentGraph(np.zeros((4, 4)), [[1, 1, 1, 1]]))
    S = np.eye(4)
    S[0, 1] = S[1, 0] = 0.8
    S[2, 3] = S[3, 2] = 0.7
    S[0, 2] = S[2, 0] = 0.1
    values = []
    for turn in (0, 2):
        search = Search(family, S, precision(S), 1000)
        start = family.random_parameters(np.random.default_rng(0), 0.5)
        search.descend(dominated(family.local, start, turn))
        values.append(search.value)
        others = search.alternatives(np.random.default_rng(0))
        assert others
        rises = [search.value + other.rise for other in others]
    assert min(rises) == pytest.approx(values[0], abs=1e-4)
    assert values[0] < values[1] - 0.05


def test_dominated_latents_are_nearly_one_child_and_leave_its_covariances():
    graph = LatentGraph(np.zeros((4, 4)), [[1, 1, 1, 0]])
    family = family_of(graph)
    theta = family.local.gather(
        np.zeros((4, 4)), np.array([[0.5, 0.4, -0.3, 0.0]]), np.full(4, 0.6), np.zeros((4, 4))
    )
    _, Gamma, variances, _ = family.local.scatter(dominated(family.local, theta, 1))
    total = 0.6 + 0.4**2
    assert Gamma[0, 1] ** 2 == pytest.approx(0.9 * total)
    np.testing.assert_allclose(Gamma[0, 1] * Gamma[0, [0, 2]], 0.4 * np.array([0.5, -0.3]))
    np.testing.assert_allclose(variances[1] + Gamma[0, 1] ** 2, total)


def test_graphs_without_latents_have_no_alternatives():
    family = family_of(LatentGraph(np.zeros((3, 3))))
    S = np.eye(3)
    theta = family.random_parameters(np.random.default_rng(0), 0.5)
    assert alternatives(family, S, S, theta, np.random.default_rng(0)) == []

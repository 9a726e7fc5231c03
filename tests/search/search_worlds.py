"""Small worlds for the tests of the search."""

from __future__ import annotations

import numpy as np

from loopscm import GaussianStats, LatentGraph, LinearSCM
from loopscm.simulate import random_graph, random_scm


def world(p, degree, ratio, seed, n=10_000):
    """(stats, generating model) of the published protocol."""
    rng = np.random.default_rng([4, p, degree, round(100 * ratio), seed])
    model = random_scm(random_graph(p, degree, ratio, rng), rng)
    return GaussianStats.from_data(model.sample(n, rng), center=False), model


def chain():
    """Statistics of a collider X0 → X2 ← X1 → X3 without sampling noise."""
    graph = LatentGraph.from_edges([("X0", "X2"), ("X1", "X2"), ("X2", "X3")])
    graph = graph.permuted([graph.names.index(f"X{j}") for j in range(4)])
    model = LinearSCM(graph, 0.7 * graph.directed, np.zeros((0, 4)), np.ones(4))
    return GaussianStats.from_covariance(model.covariance(), 10_000), graph

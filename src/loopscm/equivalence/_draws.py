"""Random members of a covariance family under the published parameter law."""

from __future__ import annotations

import numpy as np

from loopscm.errors import ParameterError
from loopscm.graph import LatentGraph
from loopscm.scm import LinearSCM
from loopscm.simulate.protocol import MAGNITUDE, random_scm


def random_member(graph: LatentGraph, rng: np.random.Generator) -> LinearSCM:
    """Random parameters of the protocol, extended to bidirected edges.

    A bidirected edge draws what a latent with just its two ends as children would leave in
    their noise: the product of two random loadings as covariance, the squares added to the
    variances. The noise covariance is then positive definite, and a mixed graph gets the law
    of the latent graph it stands for.
    """
    plain = LatentGraph(graph.directed, graph.children, graph.names)
    model = random_scm(plain, rng)
    if not graph.bidirected.any():
        return model
    variances = model.noise_variances.copy()
    covariances = np.zeros(graph.bidirected.shape)
    for i, j in np.argwhere(np.triu(graph.bidirected)).tolist():
        a, b = rng.uniform(*MAGNITUDE, 2) * rng.choice((-1.0, 1.0), 2)
        covariances[i, j] = covariances[j, i] = a * b
        variances[i] += a * a
        variances[j] += b * b
    return LinearSCM(graph, model.coefficients, model.loadings, variances, covariances)


# Scales of the wide law, in turn: weak, moderate, and strong effects.
WIDE_SCALES = (0.5, 1.0, 2.0)
# Condition number of the implied correlations up to which a fit's J is accurate to 1e-10.
WIDE_CONDITION = 1e5
WIDE_TRIES = 1000


def wide_member(graph: LatentGraph, rng: np.random.Generator) -> LinearSCM:
    """Random parameters with positive density everywhere, for questions about whole families.

    The protocol's law sees one region of a family only. Here coefficients, loadings, and
    covariance factors are normal at a random scale, variances log-normal; draws whose
    correlations are too close to singular to be judged numerically are redrawn.
    """
    p = graph.n_observed
    for _ in range(WIDE_TRIES):
        size = rng.choice(WIDE_SCALES)
        B = np.where(graph.directed, size * rng.standard_normal((p, p)), 0.0)
        Gamma = np.where(graph.children, rng.standard_normal(graph.children.shape), 0.0)
        variances = np.exp(rng.normal(0.0, 0.7, p))
        factors = np.triu(graph.bidirected) * rng.standard_normal((p, p))
        shares = np.exp(rng.normal(0.0, 0.7, (p, p)))
        variances += (np.abs(factors) * shares).sum(1) + (np.abs(factors) / shares).sum(0)
        try:
            model = LinearSCM(graph, B, Gamma, variances, factors + factors.T)
        except ParameterError:
            continue
        sigma = model.covariance()
        scale = np.sqrt(np.diagonal(sigma))
        if np.linalg.cond(sigma / scale / scale[:, None]) <= WIDE_CONDITION:
            return model
    raise ParameterError(
        f"no well-conditioned member of the family in {WIDE_TRIES} draws; the graph is too large "
        "or too dense for this question. Compare with `compatibility` instead."
    )

"""The member of a covariance family closest to a covariance in the symmetric divergence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopscm.equivalence._family import Family, Matrix
from loopscm.equivalence._proposals import proposals
from loopscm.equivalence._search import Search
from loopscm.likelihood.gaussian import precision
from loopscm.scm import LinearSCM


@dataclass(frozen=True, eq=False)
class Nearest:
    """The best member found, its divergence, whether its descent converged, and the number of
    descents taken (none when a first guess already reaches zero)."""

    value: float
    scm: LinearSCM
    converged: bool
    starts: int


def nearest(
    sigma: Matrix,
    family: Family,
    *,
    starts: int,
    rng: np.random.Generator,
    max_iterations: int = 1000,
    hint: LinearSCM | None = None,
) -> Nearest:
    """The closest member of a family to `sigma`.

    `hint` is a model on another graph that implies `sigma`; what the graphs share of it
    serves as a start.
    """
    scale = np.sqrt(np.diagonal(sigma))
    S = sigma / scale / scale[:, None]
    S = np.ascontiguousarray((S + S.T) / 2)
    search = Search(family, S, precision(S), max_iterations)
    for theta in proposals(search, starts, rng, hint, scale):
        search.descend(theta)
        if search.done:
            break
    parts = family.local.scatter(search.best() * family.local.units(scale))
    scm = LinearSCM.trusted(family.graph, *parts)
    return Nearest(search.value, scm, search.converged, search.starts)

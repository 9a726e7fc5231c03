"""The data of a gate learner and the closed-form part of its objective."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from loopscm.gates.parameters import GateParameters, Shape, sigmoid
from loopscm.likelihood.penalty import penalty_weight
from loopscm.stats import GaussianStats

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Problem:
    """Second moments in the units of the search, and what the objective needs besides."""

    S: NDArray[np.float64]
    n: int
    floor: Vector  # ε of the noise variances
    scale: Vector  # one unit of the search in units of the data

    @classmethod
    def of(cls, stats: GaussianStats, *, standardised: bool, noise_floor: float) -> Problem:
        """The problem in raw or standardised units; the floor is a share of each variance."""
        scale = stats.scale if standardised else np.ones(stats.p)
        S = np.ascontiguousarray(stats.correlation if standardised else stats.S)
        return cls(S, stats.n, noise_floor * np.diagonal(S), np.asarray(scale))

    @property
    def digest(self) -> str:
        """A fingerprint of the data in the units of the search."""
        return sha256(self.S.tobytes() + str(self.n).encode()).hexdigest()

    @property
    def weight(self) -> float:
        """λ_n."""
        return penalty_weight(self.n)

    @property
    def independent(self) -> float:
        """f without any edge: a value near that of any mask, to take differences from."""
        return 0.5 * float(np.log(np.diagonal(self.S)).sum() + len(self.S))


def expected_complexity(shape: Shape, probabilities: Vector) -> float:
    """Σ q + Σ π_h (1 + Σ r_hj), the exact expectation (Eq. exact-bernoulli-objective)."""
    q, r, pi = shape.split(probabilities)
    return float(q.sum() + pi @ (1.0 + r.sum(axis=1)))


def complexity_gradient(shape: Shape, probabilities: Vector) -> Vector:
    """Derivatives of the expected complexity in the probabilities, in the gates' order."""
    _, r, pi = shape.split(probabilities)
    edges = np.ones(shape.p**2)
    loadings = np.broadcast_to(pi[:, None], r.shape).ravel()
    return np.concatenate([edges, loadings, 1.0 + r.sum(axis=1)])


def flat_gradient(problem: Problem, parameters: GateParameters, sums: Vector) -> Vector:
    """The gradient of the objective in the flat parameters from that of E[f].

    `sums` holds derivatives of E[f] in (W, Γ, ω) and in the logits; the penalty and the
    chain rule of the noise variances are added here.
    """
    shape, probabilities = parameters.shape, parameters.probabilities
    gradient = problem.n * sums
    first = shape.first_gate
    gradient[first - shape.p : first] *= sigmoid(parameters.noise)
    spread = probabilities * (1.0 - probabilities)
    gradient[first:] += problem.weight * spread * complexity_gradient(shape, probabilities)
    gradient[first:][~parameters.allowed] = 0.0
    gradient[: shape.p**2][~parameters.allowed[: shape.p**2]] = 0.0
    return gradient

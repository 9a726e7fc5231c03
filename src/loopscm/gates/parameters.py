"""What a gate learner optimises: logits of all gates and the coefficients they share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loopscm._checks import frozen
from loopscm.gates.kernels.draw import Inputs
from loopscm.gates.kernels.point import Noise

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

# Odds (1 − q)/q stand for logits in the kernels; beyond these a gate is as good as constant.
LARGEST_ODDS = 1e150


def sigmoid(t: Vector) -> Vector:
    """1/(1 + exp(−t)) without overflow."""
    small = np.exp(-np.abs(t))
    return np.where(t >= 0, 1.0, small) / (1.0 + small)


def logit(q: float) -> float:
    """log(q/(1 − q))."""
    return float(np.log(q) - np.log1p(-q))


def softplus(t: Vector) -> Vector:
    """log(1 + exp t) without overflow."""
    return np.logaddexp(0.0, t)


def inverse_softplus(x: Vector) -> Vector:
    """The t with softplus(t) = x > 0."""
    return x + np.log(-np.expm1(-x))


@dataclass(frozen=True)
class Shape:
    """Sizes, and where each block stands in the flat vector [W, Γ, d, α, β, γ].

    W and α are stored by head, as the kernels read them.
    """

    p: int
    slots: int

    @property
    def n_gates(self) -> int:
        """Gates, with the constant ones of the diagonal."""
        return self.p**2 + self.slots * self.p + self.slots

    @property
    def first_gate(self) -> int:
        """Where the logits begin."""
        return self.p**2 + self.slots * self.p + self.p

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return self.first_gate + self.n_gates

    def split(self, flat: Vector) -> tuple[Matrix, Matrix, Vector]:
        """Views (edges by head, loadings, latents) of a vector over the gates."""
        a, b = self.p**2, self.p**2 + self.slots * self.p
        return flat[:a].reshape(self.p, self.p), flat[a:b].reshape(self.slots, self.p), flat[b:]

    def edges_allowed(self) -> NDArray[np.bool_]:
        """All gates but those of self-loops."""
        allowed = np.ones(self.n_gates, bool)
        self.split(allowed)[0][np.diag_indices(self.p)] = False  # type: ignore[arg-type]
        return allowed


@dataclass(frozen=True, eq=False)
class GateParameters:
    """A flat parameter vector with its meaning; `allowed` marks the gates that may be on.

    The properties speak the library's convention: [i, j] is i → j.
    """

    shape: Shape
    theta: Vector
    allowed: NDArray[np.bool_]

    @property
    def W(self) -> Matrix:
        """(p, p) coefficients of all candidate edges."""
        return self.theta[: self.shape.p**2].reshape(self.shape.p, -1).T

    @property
    def Gamma(self) -> Matrix:
        """(L, p) loadings of all latent slots."""
        first = self.shape.p**2
        count = self.shape.slots * self.shape.p
        return self.theta[first : first + count].reshape(self.shape.slots, self.shape.p)

    @property
    def noise(self) -> Vector:
        """The d_j of ω_j = ε_j + softplus(d_j)."""
        return self.theta[self.shape.first_gate - self.shape.p : self.shape.first_gate]

    @property
    def logits(self) -> Vector:
        """Logits of all gates in the order of the kernels."""
        return self.theta[self.shape.first_gate :]

    @cached_property
    def probabilities(self) -> Vector:
        """Probabilities of all gates in the order of the kernels; zero where not allowed."""
        return frozen(np.where(self.allowed, sigmoid(self.logits), 0.0))

    @property
    def q(self) -> Matrix:
        """(p, p) probabilities of the observed edges."""
        return self.shape.split(self.probabilities)[0].T

    @property
    def r(self) -> Matrix:
        """(L, p) probabilities of the latent edges."""
        return self.shape.split(self.probabilities)[1]

    @property
    def pi(self) -> Vector:
        """(L,) probabilities of the latents."""
        return self.shape.split(self.probabilities)[2]

    def omega(self, floor: Vector) -> Vector:
        """Noise variances ε + softplus(d)."""
        return floor + softplus(self.noise)

    def inputs(self, S: Matrix, floor: Vector) -> Inputs:
        """The form that kernels take: writable arrays, because they are compiled once more for
        read-only ones, and two compilations need not round alike.
        """
        probabilities = np.array(self.probabilities)
        omega = self.omega(floor)
        odds = np.exp(np.clip(-self.logits, -345.0, 345.0))
        return Inputs(
            S,
            Noise(1.0 / omega, float(np.log(omega).sum())),
            np.ascontiguousarray(self.W.T),
            np.ascontiguousarray(self.Gamma),
            probabilities,
            np.where(self.allowed, odds, LARGEST_ODDS),
        )

    @classmethod
    def of(
        cls,
        W: Matrix,
        Gamma: Matrix,
        noise: Vector,
        logits: tuple[Matrix, Matrix, Vector],
        allowed: NDArray[np.bool_] | None = None,
    ) -> GateParameters:
        """Parameters from their parts, logits as (α, β, γ); [i, j] is i → j everywhere."""
        shape = Shape(W.shape[0], Gamma.shape[0])
        alpha, beta, gamma = logits
        parts = (W.T, Gamma, noise, alpha.T, beta, gamma)
        theta = np.concatenate([np.asarray(part, np.float64).ravel() for part in parts])
        return cls(shape, theta, shape.edges_allowed() if allowed is None else allowed)

"""Exact effects of single changes of a model on the likelihood, all at once.

From one inverse and a few products, the change of f by adding, removing, or re-weighting any
edge, loading, latent, or noise covariance is known in closed form. These are the
modification indices of structural equation modelling, exact instead of quadratic.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from loopscm.scm import LinearSCM

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]
EdgeChange = tuple[int, int, float]  # tail, head, change of the coefficient


class Flips:
    """Changes of f(S; θ) per sample for single changes of a model; infinite where singular.

    With A = I − B, Ψ = Ω + ΓᵀΓ, Π = Ψ⁻¹, R = AᵀSA, T = ΠRΠ:
    a = A⁻ᵀ, c = SAΠ, d_ij = S_ii Π_jj are the tables every edge formula reads.
    """

    def __init__(self, S: Matrix, scm: LinearSCM) -> None:
        A = np.eye(scm.graph.n_observed) - scm.coefficients
        self._S, self._scm = np.asarray(S, dtype=np.float64), scm
        self.Pi = np.linalg.inv(scm.noise_covariance())
        self.T = self.Pi @ A.T @ self._S @ A @ self.Pi
        self.a = np.linalg.inv(A).T
        self.c = self._S @ A @ self.Pi
        self.d = np.outer(np.diagonal(self._S), np.diagonal(self.Pi))

    # ---- edges ----------------------------------------------------------------------------

    def edges(self, t: ArrayLike) -> Matrix:
        """Δ_ij of changing B_ij by t_ij, each alone: −log|1 − t a| − t c + ½ t² d."""
        t = np.broadcast_to(np.asarray(t, dtype=np.float64), self.a.shape)
        with np.errstate(divide="ignore"):
            return -np.log(np.abs(1 - t * self.a)) - t * self.c + 0.5 * t**2 * self.d

    def removals(self) -> Matrix:
        """Δ_ij of setting B_ij to zero."""
        return self.edges(-self._scm.coefficients)

    @cached_property
    def best_changes(self) -> tuple[Matrix, Matrix]:
        """(t, Δ): the best change of every coefficient on its own, and its effect (≤ 0).

        Setting the derivative of Δ to zero gives a d t² − (a c + d) t + (c − a) = 0; both
        roots are local minima, one on each side of det A = 0.
        """
        a, c, d = self.a, self.c, self.d
        half = 0.5 * (a * c + d)
        root = np.sqrt(np.maximum(half**2 - a * d * (c - a), 0.0))
        large = half + np.where(half >= 0, root, -root)  # no cancellation
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = (c - a) / large, large / (a * d)
        far = np.where(np.isfinite(far), far, near)
        gain_near, gain_far = self.edges(near), self.edges(far)
        t = np.where(gain_far < gain_near, far, near)
        np.fill_diagonal(t, 0.0)
        return t, self.edges(t)

    def edge_pair(self, first: EdgeChange, second: EdgeChange) -> float:
        """Δ of two edges at once: a reversal, a parent swap, a two-cycle."""
        (i, j, s), (k, l, t) = first, second
        a, Pi = self.a, self.Pi
        det = (1 - s * a[i, j]) * (1 - t * a[k, l]) - s * t * a[i, l] * a[k, j]
        quadratic = s**2 * self.d[i, j] + t**2 * self.d[k, l] + 2 * s * t * self._S[i, k] * Pi[j, l]
        with np.errstate(divide="ignore"):
            cycle = float(np.log(np.abs(det)))
        return -cycle - s * self.c[i, j] - t * self.c[k, l] + 0.5 * float(quadratic)

    # ---- latents --------------------------------------------------------------------------

    def loadings(self, delta: ArrayLike) -> Matrix:
        """Δ_hj of changing Γ_hj by δ_hj, each alone."""
        delta = np.broadcast_to(np.asarray(delta, dtype=np.float64), self._scm.loadings.shape)
        G = self._scm.loadings
        b, tau = G @ self.Pi, G @ self.T
        v, kappa = np.sum(b * G, axis=1)[:, None], np.sum(tau * G, axis=1)[:, None]
        u, t = np.diagonal(self.Pi), np.diagonal(self.T)
        growth = 1 + 2 * delta * b + delta**2 * (u + b**2 - u * v)
        # Both fraction terms of the published form times δ², so that δ = 0 is no exception.
        top = delta**2 * ((v - 1) * t + u * kappa) - 2 * delta * (delta * b + 1) * tau
        bottom = delta**2 * u * (v - 1) - (delta * b + 1) ** 2
        return _log_change(growth) - 0.5 * top / bottom

    def latent_on(self, loadings: ArrayLike) -> float:
        """Δ of adding a latent with the given row of loadings."""
        g = np.asarray(loadings, dtype=np.float64)
        growth = 1 + g @ self.Pi @ g
        return float(_log_change(growth) - 0.5 * (g @ self.T @ g) / growth)

    def latents_off(self) -> Vector:
        """Δ_h of removing latent h."""
        G = self._scm.loadings
        growth = 1 - np.sum(G @ self.Pi * G, axis=1)
        return _log_change(growth) + 0.5 * np.sum(G @ self.T * G, axis=1) / growth

    # ---- noise ----------------------------------------------------------------------------

    def covariances(self, t: ArrayLike) -> Matrix:
        """Δ_ij of changing the noise covariance ψ_ij (and ψ_ji) by t_ij; infinite if not
        positive definite.

        On the diagonal, of changing the variance ω_j by t_jj.
        """
        Pi, T = self.Pi, self.T
        t = np.broadcast_to(np.asarray(t, dtype=np.float64), Pi.shape)
        u, s = np.diagonal(Pi), np.diagonal(T)
        growth = (1 + t * Pi) ** 2 - t**2 * np.outer(u, u)
        slope = 2 * T * (1 + t * Pi) - t * (np.outer(u, s) + np.outer(s, u))
        with np.errstate(divide="ignore", invalid="ignore"):
            change = _log_change(growth) - 0.5 * t * slope / growth
        change = np.where(t * Pi > -1, change, np.inf)
        alone = 1 + np.diagonal(t) * u
        with np.errstate(divide="ignore", invalid="ignore"):
            own = _log_change(alone) - 0.5 * np.diagonal(t) * s / alone
        np.fill_diagonal(change, own)
        return change


def _log_change(growth: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """½ log of the factor by which det Ψ grows; infinite when Ψ is no longer definite."""
    positive = np.asarray(growth) > 0
    return np.where(positive, 0.5 * np.log(np.where(positive, growth, 1.0)), np.inf)

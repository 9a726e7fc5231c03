"""The Gaussian likelihood and its divergences as functions of a covariance and a model.

All values are per sample. `likelihood` is f = −log|det A| + ½ log det Ψ + ½ tr(ΠR); adding
the constant ½ p log 2π and multiplying by n gives the negative log-likelihood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import DataError
from loopscm.likelihood import factorised
from loopscm.likelihood.layout import Layout, layout_of
from loopscm.scm import LinearSCM

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]

LIKELIHOOD = (1.0, 0.0)  # weights of the forward and the reverse part, see `block`
SYMMETRIC = (0.5, 0.5)


def likelihood(S: Matrix, scm: LinearSCM) -> float:
    """f(S; θ), summed over the components of the graph."""
    return float(likelihood_by_component(S, scm).sum())


def likelihood_by_component(S: Matrix, scm: LinearSCM) -> Vector:
    """The share of every component in f, in the order of `graph.components()`."""
    return _forward(factorised.block_values, S, scm)


def likelihood_gradient(S: Matrix, scm: LinearSCM) -> Vector:
    """∂f/∂θ in the order of `layout_of(scm.graph)`."""
    return _forward(factorised.full_gradient, S, scm)


def likelihood_hessian(S: Matrix, scm: LinearSCM) -> Matrix:
    """∂²f/∂θ², exact, block diagonal over components."""
    return _forward(factorised.full_hessian, S, scm)


def fisher_information(scm: LinearSCM) -> Matrix:
    """Expected information of one observation in the natural parameters.

    With the directions w_a of every parameter (Ψ·column i of A⁻¹ for an edge i → j, γ_h for
    a loading, ½e_j for a variance, e_k for a covariance) it has the rank-two form

        I_ab = (Πw_a)_{j_b} (Πw_b)_{j_a} + Π_{j_a j_b} · w_aᵀ Π w_b.

    Being linear in S, the exact Hessian at S = Σ is this matrix, which is how it is computed.
    """
    return likelihood_hessian(scm.covariance(), scm)


def divergence(S: Matrix, scm: LinearSCM) -> float:
    """J(S, Σ) = ½{D(S‖Σ) + D(Σ‖S)}, the measure of compatibility."""
    return float(_symmetric(factorised.block_values, S, scm).sum()) - 0.5 * len(S)


def divergence_gradient(S: Matrix, scm: LinearSCM) -> Vector:
    """∂J/∂θ in the order of `layout_of(scm.graph, whole=True)`."""
    return _symmetric(factorised.full_gradient, S, scm)


def kl_divergence(S: Matrix, sigma: Matrix) -> float:
    """D(S‖Σ) between zero-mean Gaussians (Eq. gaussian-kl)."""
    ratio = np.linalg.solve(sigma, S)
    return 0.5 * float(np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(S))


def symmetric_divergence(S: Matrix, sigma: Matrix) -> float:
    """J(S, Σ) between two covariance matrices."""
    forward, backward = np.linalg.solve(sigma, S), np.linalg.solve(S, sigma)
    return 0.25 * float(np.trace(forward) + np.trace(backward) - 2 * len(S))


def precision(S: Matrix) -> Matrix:
    """S⁻¹, which the symmetric divergence needs."""
    try:
        lower = np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        raise DataError(
            "the symmetric divergence needs a positive definite covariance; this one is "
            "singular. Fit the likelihood instead, or give a target of full rank."
        ) from None
    half = np.linalg.inv(lower)
    return half.T @ half


def parameters(scm: LinearSCM, layout: Layout) -> Vector:
    """The parameter vector of a model in a layout of its graph."""
    return layout.gather(scm.coefficients, scm.loadings, scm.noise_variances, scm.noise_covariances)


def _forward(kernel: Callable[..., Any], S: Matrix, scm: LinearSCM) -> Any:
    """A factorised kernel at a model, for the likelihood."""
    layout = layout_of(scm.graph)
    S = _second_moments(S, layout)
    theta = parameters(scm, layout)
    return kernel(factorised.tables_of(layout), S, np.zeros((0, 0)), theta, LIKELIHOOD)


def _symmetric(kernel: Callable[..., Any], S: Matrix, scm: LinearSCM) -> Any:
    """The same for the symmetric divergence, which takes all variables as one block."""
    layout = layout_of(scm.graph, whole=True)
    S = _second_moments(S, layout)
    theta = parameters(scm, layout)
    return kernel(factorised.tables_of(layout), S, precision(S), theta, SYMMETRIC)


def _second_moments(S: Matrix, layout: Layout) -> Matrix:
    # A writable copy: kernels are compiled once more for read-only arrays.
    array = np.array(S, dtype=np.float64, order="C")
    p = layout.graph.n_observed
    if array.shape != (p, p):
        raise DataError(f"S must have shape ({p}, {p}) for this graph, got {array.shape}.")
    return array

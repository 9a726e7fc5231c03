"""Slow, obvious references that the library's results are compared with."""

from __future__ import annotations

import numpy as np

from loopscm import LatentGraph, LinearSCM


def likelihood(S, B, Gamma, variances, covariances=None):
    """f from the precision matrix A Ψ⁻¹ Aᵀ and two determinants, without any structure."""
    A = np.eye(len(B)) - B
    psi = np.diag(variances) + Gamma.T @ Gamma + (0 if covariances is None else covariances)
    if np.linalg.eigvalsh(psi)[0] <= 0:
        return np.inf
    log_det = np.linalg.slogdet(psi)[1] - 2 * np.linalg.slogdet(A)[1]
    return 0.5 * (log_det + np.trace(A @ np.linalg.solve(psi, A.T) @ S))


def divergence(S, B, Gamma, variances, covariances=None):
    """J = ½{D(S‖Σ) + D(Σ‖S)} from the two traces."""
    p = len(B)
    psi = np.diag(variances) + Gamma.T @ Gamma + (0 if covariances is None else covariances)
    inverse = np.linalg.inv(np.eye(p) - B)
    sigma = inverse.T @ psi @ inverse
    return 0.25 * (
        np.trace(np.linalg.solve(sigma, S)) + np.trace(np.linalg.solve(S, sigma)) - 2 * p
    )


def arrays(model):
    return model.coefficients, model.loadings, model.noise_variances, model.noise_covariances


def model_with_sign(rng, p=6, latents=2, bidirected=False, sign=1):
    """A dense-ish random model with the wanted sign of det(I − B), and a sample covariance."""
    while True:
        directed = rng.random((p, p)) < 0.3
        np.fill_diagonal(directed, False)
        children = np.zeros((latents, p), bool)
        for row in children:
            row[rng.choice(p, min(3, p), replace=False)] = True
        arcs = np.zeros((p, p), bool)
        if bidirected:
            arcs = np.triu(rng.random((p, p)) < 0.3, 1)
            arcs = arcs | arcs.T
        B = np.where(directed, rng.normal(0, 1.0, (p, p)), 0.0)
        determinant = np.linalg.det(np.eye(p) - B)
        if determinant * sign > 0.1 and len(LatentGraph(directed).components()) < p:
            break
    Gamma = np.where(children, rng.normal(0, 0.8, children.shape), 0.0)
    free = np.triu(np.where(arcs, rng.uniform(-0.15, 0.15, (p, p)), 0.0), 1)
    graph = LatentGraph(directed, children, bidirected=arcs)
    model = LinearSCM(graph, B, Gamma, rng.uniform(1.0, 2.0, p), free + free.T)
    X = rng.standard_normal((50, p)) @ np.linalg.cholesky(model.covariance()).T
    X = X + 0.5 * rng.standard_normal(X.shape)
    return model, X.T @ X / len(X)

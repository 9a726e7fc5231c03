"""Maximum likelihood of the columns of a few heads, all other columns fixed; compiled.

Let U be the heads that are fitted anew and F all others. The columns of A for F, and with them
the errors ε_F, stay. Then, up to a constant,

    f = −log|det D| + ½ log det P + ½ tr(P⁻¹R),        D = E(I_U − B_U),  P = Ω_U + GᵀVG

with E the rows U of A⁻¹ before the change, G the loadings on U, V = I − Γ_F Ψ_FF⁻¹ Γ_Fᵀ the
covariance of the latents given ε_F, and R that of the residuals x_j − Σ B_ij x_i − Σ G_hj z_h,
where z = Γ_F Ψ_FF⁻¹ ε_F estimates the latents from ε_F. So a loading acts twice: as the
coefficient of z_h and as a loading. With F empty, V = I and z = 0, and this is the likelihood.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import (
    cholesky_loops,
    cholesky_solve,
    general_inverse,
    small_spd_inverse,
)
from loopscm.likelihood.kinds import EDGE, LOADING

FIRST_DAMPING, SMALLEST_DAMPING, LARGEST_DAMPING = 1e-4, 1e-9, 1e6
OPTIMISM = 4.0  # a fit that would have to gain this many times its predicted gain is given up


class Local(NamedTuple):
    """The problem; parameters are edges, then loadings, then one variance for every head."""

    moments: np.ndarray  # (t + l, t + l) of the tails, which begin with the heads, and of z
    effects: np.ndarray  # (m, t) E
    scatter: np.ndarray  # (l, l) V
    kind: np.ndarray
    row: np.ndarray  # tail or latent of a parameter
    head: np.ndarray


class Point(NamedTuple):
    """The matrices at one parameter value."""

    feasible: bool
    value: float
    sign: float  # of det D
    W: np.ndarray  # (m, t) D⁻¹E
    P: np.ndarray
    Pi: np.ndarray  # P⁻¹
    Qt: np.ndarray  # (m, t + l) Qᵀ, Q = Cov(regressors, residuals) P⁻¹
    T: np.ndarray  # P⁻¹RP⁻¹
    GV: np.ndarray  # (l, m) VG: row h is the direction in which a loading of h moves P


@kernel
def product(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """XY, faster than a library call for these sizes."""
    result = np.zeros((X.shape[0], Y.shape[1]))
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            scale = X[i, k]
            if scale != 0.0:
                for j in range(Y.shape[1]):
                    result[i, j] += scale * Y[k, j]
    return result


@kernel
def evaluate(local: Local, theta: np.ndarray) -> Point:
    """Value and matrices at a parameter vector."""
    m, t, l = local.effects.shape[0], local.effects.shape[1], local.scatter.shape[0]
    M, E = local.moments, local.effects
    first = theta.shape[0] - m
    C = M[:m].copy()  # Cov(residuals, regressors)
    D = E[:, :m].copy()
    G = np.zeros((l, m))
    for a in range(first):
        j, value = local.head[a], theta[a]
        i = local.row[a]
        if local.kind[a] == EDGE:
            for u in range(m):
                D[u, j] -= value * E[u, i]
        else:
            G[i, j] = value
            i += t
        for k in range(t + l):
            C[j, k] -= value * M[i, k]
    R = C[:, :m].copy()
    for a in range(first):
        i = local.row[a] if local.kind[a] == EDGE else t + local.row[a]
        for j in range(m):
            R[j, local.head[a]] -= theta[a] * C[j, i]
    GV = product(local.scatter, G)
    P = product(G.T, GV)
    for j in range(m):
        P[j, j] += theta[first + j]
    regular, log_det, sign, V = general_inverse(D)
    positive, log_det_p, Pi = small_spd_inverse(P)
    PR = product(Pi, R)
    value = -log_det + 0.5 * log_det_p
    for j in range(m):
        value += 0.5 * PR[j, j]
    feasible = regular and positive and np.isfinite(value)
    return Point(feasible, value, sign, product(V, E), P, Pi, product(Pi, C), product(PR, Pi), GV)


@merged
def derivatives(local: Local, point: Point, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(gradient, lower triangle of the Hessian, expected in Ψ and exact elsewhere)."""
    m, t, M = local.effects.shape[0], local.effects.shape[1], local.moments
    W, Pi, Qt, T = point.W, point.Pi, point.Qt, point.T
    kind, row, head = local.kind, local.row, local.head
    PG = product(Pi, point.GV.T)  # Πw of every latent
    TG = product(T, point.GV.T)
    GQ = product(point.GV, Qt)  # (Qw)ᵀ
    GPG = product(point.GV, PG)
    g = np.empty(count)
    H = np.zeros((count, count))
    first = count - m
    for a in range(first):
        j, loading = head[a], kind[a] == LOADING
        h = row[a]
        i = t + h if loading else h
        g[a] = -Qt[j, i] + (PG[j, h] - TG[j, h] if loading else W[j, i])
        for b in range(a + 1):
            l, k = head[b], row[b]
            if kind[b] == EDGE:
                total = M[i, k] * Pi[j, l]
                if loading:
                    total += Qt[j, k] * PG[l, h] + GQ[h, k] * Pi[j, l]
                else:
                    total += W[j, k] * W[l, i]
            else:
                total = (M[i, t + k] + GPG[h, k]) * Pi[j, l] + PG[j, k] * PG[l, h]
                total += Qt[j, t + k] * PG[l, h] + GQ[h, t + k] * Pi[j, l]
                total += Qt[l, i] * PG[j, k] + GQ[k, i] * Pi[j, l]
            H[a, b] = total
    for j in range(m):
        a = first + j
        g[a] = 0.5 * (Pi[j, j] - T[j, j])
        for b in range(first):
            l, k = head[b], row[b]
            if kind[b] == EDGE:
                H[a, b] = Qt[j, k] * Pi[j, l]
            else:
                H[a, b] = Pi[j, l] * (Qt[j, t + k] + PG[j, k])
        for l in range(j + 1):
            H[a, first + l] = 0.5 * Pi[j, l] * Pi[j, l]
    return g, H


@merged
def _moved(
    local: Local, point: Point, theta: np.ndarray, step: np.ndarray, floor: float
) -> np.ndarray:
    """The parameters after a step, totals P_jj changed by a factor and shares kept positive."""
    m, l = local.effects.shape[0], local.scatter.shape[0]
    first = theta.shape[0] - m
    result = theta + step
    change = step[first:].copy()  # of P_jj to first order
    G = np.zeros((l, m))
    for a in range(first):
        if local.kind[a] == LOADING:
            change[local.head[a]] += 2.0 * point.GV[local.row[a], local.head[a]] * step[a]
            G[local.row[a], local.head[a]] = result[a]
    for j in range(m):
        total = point.P[j, j]
        share = 0.0
        for h in range(l):
            if G[h, j] != 0.0:
                for k in range(l):
                    share += G[h, j] * local.scatter[h, k] * G[k, j]
        grown = total * np.exp(min(max(change[j] / total, -3.0), 3.0))
        result[first + j] = max(grown - share, 0.02 * theta[first + j], floor)
    return result


@merged
def _newton_step(H: np.ndarray, g: np.ndarray, damping: float) -> tuple[bool, np.ndarray, float]:
    """(success, step, predicted decrease) with the diagonal raised by a share of itself."""
    size = g.shape[0]
    factor = H.copy()
    for a in range(size):
        factor[a, a] += damping * abs(H[a, a])
    if not cholesky_loops(factor, 0, factor.shape[0]):
        return False, g, 0.0
    step = cholesky_solve(factor, g)
    predicted = 0.0
    for a in range(size):
        predicted += 0.5 * step[a] * g[a] + 0.5 * damping * step[a] * step[a] * abs(H[a, a])
        step[a] = -step[a]
    return True, step, predicted


@merged
def minimise(
    local: Local,
    theta: np.ndarray,
    floor: float,
    tolerance: float,
    max_iterations: int,
    aim: float,
) -> tuple[np.ndarray, float]:
    """(parameters, value); an infinite value if the aim is out of reach, or nothing fits.

    The sign of det D stays that of the start.
    """
    point = evaluate(local, theta)
    if not point.feasible:
        return theta, np.inf
    damping = FIRST_DAMPING
    for _ in range(max_iterations):
        g, H = derivatives(local, point, theta.shape[0])
        moved, last = False, False
        while damping < LARGEST_DAMPING:
            solvable, step, predicted = _newton_step(H, g, damping)
            if solvable:
                if predicted < tolerance:
                    last = True
                if point.value - OPTIMISM * predicted > aim:
                    return theta, np.inf
                trial = _moved(local, point, theta, step, floor)
                candidate = evaluate(local, trial)
                gain = point.value - candidate.value
                if candidate.feasible and candidate.sign == point.sign and gain > 0.0:
                    moved = True
                    if gain > 0.75 * predicted:
                        damping = max(0.1 * damping, SMALLEST_DAMPING)
                    theta, point = trial, candidate
                    break
                if last:
                    break
            damping *= 10.0
        if last or not moved:
            break
    return theta, point.value

"""The Gaussian likelihood of one block: value, gradient, Hessian, compiled.

A block is a set of heads C with the columns of A = I − B that belong to them; only the rows
U = C ∪ parents(C) of those columns are non-zero, so everything is computed from S_UU. The
likelihood of a graph is the sum over its components, each a block; a block of all variables
is the monolithic likelihood.

Two divergences are built from the same pieces. With V = A⁻¹, Ψ = Ω + ΓᵀΓ, Π = Ψ⁻¹,
R = AᵀSA, T = ΠRΠ, Q = SAΠ and, for the reverse one, K = V S⁻¹ Vᵀ and Y = KΨV:

    forward  f = −log|det A| + ½ log det Ψ + ½ tr(ΠR)      (the likelihood)
    reverse  h = +log|det A| − ½ log det Ψ + ½ tr(ΨK)

so that D(S‖Σ) = f − f_S, D(Σ‖S) = h + f_S − p, and the symmetric divergence is
J = ½(f + h − p). The weights of f and h select the objective. The Hessian is linear in S,
hence the Fisher information is the forward Hessian at S = Σ.

A parameter of Ψ acts as dΨ = e_j wᵀ + w e_jᵀ with head j and direction w: γ_h for a loading,
½e_j for a variance, e_k for a free covariance: a column of D = [Γᵀ, I], scaled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import general_inverse, inner, spd_inverse
from loopscm.likelihood.kinds import COVARIANCE, EDGE, LOADING, VARIANCE


class Block(NamedTuple):
    """One block of the likelihood; nodes are numbered heads first, then outside parents."""

    S: np.ndarray  # (u, u) second moments of heads and outside parents
    inverse: np.ndarray  # S⁻¹ for the reverse divergence (u = heads), else (0, 0)
    heads: int
    latents: int
    kind: np.ndarray  # of each parameter, edges first
    row: np.ndarray  # tail, latent, partner, or the variable itself
    head: np.ndarray


class Point(NamedTuple):
    """The matrices of a block at one parameter value."""

    feasible: bool
    value: float  # weighted objective without constants
    sign: float  # of det A
    theta: np.ndarray
    V: np.ndarray  # (m, m) A⁻¹ of the heads
    Psi: np.ndarray
    Pi: np.ndarray
    Qt: np.ndarray  # (m, u) Qᵀ = ΠAᵀS
    T: np.ndarray
    K: np.ndarray  # reverse: V S⁻¹ Vᵀ
    Y: np.ndarray  # reverse: K Ψ V


@kernel
def evaluate(block: Block, theta: np.ndarray, forward: float, reverse: float) -> Point:
    """All matrices of a block, and forward·f + reverse·h."""
    m, row, head = block.heads, block.row, block.head
    A, AtS, Psi = _assemble(block, theta)
    regular, log_det, sign, V = general_inverse(A)
    positive, log_det_psi, Pi = spd_inverse(Psi)
    Qt = np.dot(Pi, AtS)
    PR = np.empty((m, m))  # ΠR = Qᵀ A, by the sparse columns of A
    edges = _count_edges(block.kind)
    trace = 0.0
    for l in range(m):
        for j in range(m):
            PR[l, j] = Qt[l, j]
        for a in range(edges):
            PR[l, head[a]] -= theta[a] * Qt[l, row[a]]
        trace += PR[l, l]
    T = np.dot(PR, Pi)
    value = forward * (-log_det + 0.5 * log_det_psi + 0.5 * trace)
    K = np.zeros((0, 0))
    Y = np.zeros((0, 0))
    if reverse != 0.0:
        K = np.dot(np.dot(V, block.inverse), V.T)
        Y = np.dot(np.dot(K, Psi), V)
        value += reverse * (log_det - 0.5 * log_det_psi + 0.5 * inner(Psi, K))
    feasible = regular and positive and np.isfinite(value)
    return Point(feasible, value, sign, theta, V, Psi, Pi, Qt, T, K, Y)


@merged
def _assemble(block: Block, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(A of the heads, AᵀS, Ψ) of a parameter vector."""
    S, kind, row, head = block.S, block.kind, block.row, block.head
    m, u = block.heads, S.shape[0]
    Psi = np.zeros((m, m))
    A = np.zeros((m, m))
    AtS = np.empty((m, u))
    for j in range(m):
        A[j, j] = 1.0
        for k in range(u):
            AtS[j, k] = S[j, k]
    for a in range(theta.shape[0]):
        i, j, value = row[a], head[a], theta[a]
        if kind[a] == EDGE:
            if i < m:
                A[i, j] = -value
            for k in range(u):
                AtS[j, k] -= value * S[i, k]
        elif kind[a] == LOADING:
            b = a  # the loadings of one latent follow one another
            while b >= 0 and kind[b] == LOADING and row[b] == i:
                Psi[j, head[b]] += value * theta[b]
                if b != a:
                    Psi[head[b], j] += value * theta[b]
                b -= 1
        elif kind[a] == COVARIANCE:
            Psi[i, j] += value
            Psi[j, i] += value
        else:
            Psi[j, j] += value
    return A, AtS, Psi


@kernel
def _count_edges(kind: np.ndarray) -> int:
    """Number of edges, which are the first parameters."""
    count = 0
    while count < kind.shape[0] and kind[count] == EDGE:
        count += 1
    return count


@kernel
def _on_directions(block: Block, theta: np.ndarray, M: np.ndarray) -> np.ndarray:
    """M·[Γᵀ, I] for a matrix with a column for every head."""
    kind, row, head = block.kind, block.row, block.head
    heads, latents, rows = block.heads, block.latents, M.shape[0]
    result = np.zeros((rows, latents + heads))
    first = _count_edges(kind)
    for i in range(rows):
        for a in range(first, theta.shape[0]):
            if kind[a] != LOADING:
                break
            result[i, row[a]] += theta[a] * M[i, head[a]]
        for j in range(heads):
            result[i, latents + j] = M[i, j]
    return result


@kernel
def _between_directions(block: Block, theta: np.ndarray, M: np.ndarray) -> np.ndarray:
    """[Γᵀ, I]ᵀ·M for a matrix with a row for every head."""
    kind, row, head = block.kind, block.row, block.head
    heads, latents, columns = block.heads, block.latents, M.shape[1]
    result = np.zeros((latents + heads, columns))
    for a in range(_count_edges(kind), theta.shape[0]):
        if kind[a] != LOADING:
            break
        for k in range(columns):
            result[row[a], k] += theta[a] * M[head[a], k]
    for j in range(heads):
        for k in range(columns):
            result[latents + j, k] = M[j, k]
    return result


@kernel
def _directions(block: Block) -> tuple[np.ndarray, np.ndarray]:
    """For every parameter of Ψ the column of [Γᵀ, I] and the scale that make its w."""
    kind, row, latents = block.kind, block.row, block.latents
    count = kind.shape[0]
    column = np.zeros(count, np.int64)
    scale = np.ones(count)
    for a in range(count):
        column[a] = row[a] if kind[a] == LOADING else latents + row[a]
        if kind[a] == VARIANCE:
            scale[a] = 0.5
    return column, scale


@kernel
def gradient(block: Block, point: Point, forward: float, reverse: float) -> np.ndarray:
    """Gradient of the weighted objective in the natural parameters."""
    kind, row, head, m = block.kind, block.row, block.head, block.heads
    Pi, T, K, V, Qt, Y = point.Pi, point.T, point.K, point.V, point.Qt, point.Y
    count = kind.shape[0]
    result = np.empty(count)
    slope = np.empty((m, m))  # twice the derivative in Ψ
    for i in range(m):
        for j in range(m):
            slope[i, j] = forward * (Pi[i, j] - T[i, j])
            if reverse != 0.0:
                slope[i, j] += reverse * (K[i, j] - Pi[i, j])
    slopes = _on_directions(block, point.theta, slope)
    column, scale = _directions(block)
    for a in range(count):
        i, j = row[a], head[a]
        if kind[a] == EDGE:
            cycle = V[j, i] if i < m else 0.0
            result[a] = forward * (cycle - Qt[j, i])
            if reverse != 0.0:
                result[a] += reverse * (Y[j, i] - cycle)
        else:
            result[a] = scale[a] * slopes[j, column[a]]
    return result


@kernel
def hessian(block: Block, point: Point, forward: float, reverse: float) -> np.ndarray:
    """Exact Hessian of the weighted objective in the natural parameters."""
    count = block.kind.shape[0]
    H = np.zeros((count, count))
    if forward != 0.0:
        _add_forward(H, block, point, forward)
    if reverse != 0.0:
        _add_reverse(H, block, point, reverse)
    for a in range(count):
        for b in range(a):
            H[b, a] = H[a, b]
    return H


@merged
def _add_forward(H: np.ndarray, block: Block, point: Point, weight: float) -> None:
    """Lower triangle of the Hessian of f."""
    S, V, Pi, T, Qt = block.S, point.V, point.Pi, point.T, point.Qt
    row, head, latents = block.row, block.head, block.latents
    count, m, edges = H.shape[0], block.heads, _count_edges(block.kind)
    for a in range(edges):
        i, j = row[a], head[a]
        for b in range(a + 1):
            k, l = row[b], head[b]
            total = S[i, k] * Pi[j, l]
            if i < m and k < m:
                total += V[j, k] * V[l, i]
            H[a, b] += weight * total
    column, scale = _directions(block)
    PD = _on_directions(block, point.theta, Pi)
    TD = _on_directions(block, point.theta, T)
    DP = _between_directions(block, point.theta, PD)  # Dᵀ Π D
    DT = _between_directions(block, point.theta, TD)
    DQ = _between_directions(block, point.theta, Qt)  # (QD)ᵀ
    for a in range(edges, count):
        j, v = head[a], column[a]
        factor = weight * scale[a]
        for b in range(edges):
            k, l = row[b], head[b]
            H[a, b] += factor * (Qt[j, k] * PD[l, v] + DQ[v, k] * Pi[j, l])
        for b in range(edges, a + 1):
            l, w = head[b], column[b]
            total = PD[j, w] * (TD[l, v] - PD[l, v]) + TD[j, w] * PD[l, v]
            total += (T[j, l] - Pi[j, l]) * DP[v, w] + Pi[j, l] * DT[v, w]
            if v == w and v < latents:
                total += Pi[j, l] - T[j, l]
            H[a, b] += factor * scale[b] * total


@merged
def _add_reverse(H: np.ndarray, block: Block, point: Point, weight: float) -> None:
    """Lower triangle of the Hessian of h."""
    V, Pi, K, Y = point.V, point.Pi, point.K, point.Y
    row, head, latents = block.row, block.head, block.latents
    count, edges = H.shape[0], _count_edges(block.kind)
    sigma = np.dot(np.dot(V.T, point.Psi), V)
    for a in range(edges):
        i, j = row[a], head[a]
        for b in range(a + 1):
            k, l = row[b], head[b]
            total = sigma[i, k] * K[j, l] + V[j, k] * Y[l, i] + (Y[j, k] - V[j, k]) * V[l, i]
            H[a, b] += weight * total
    column, scale = _directions(block)
    PD = _on_directions(block, point.theta, Pi)
    KD = _on_directions(block, point.theta, K)
    DP = _between_directions(block, point.theta, PD)  # Dᵀ Π D
    DV = _between_directions(block, point.theta, V)  # (VᵀD)ᵀ
    for a in range(edges, count):
        j, v = head[a], column[a]
        factor = weight * scale[a]
        for b in range(edges):
            k, l = row[b], head[b]
            H[a, b] += factor * (K[l, j] * DV[v, k] + KD[l, v] * V[j, k])
        for b in range(edges, a + 1):
            l, w = head[b], column[b]
            total = PD[j, w] * PD[l, v] + Pi[j, l] * DP[v, w]
            if v == w and v < latents:
                total += K[j, l] - Pi[j, l]
            H[a, b] += factor * scale[b] * total

"""Update of a large district after a change of few heads, compiled.

With U the heads that changed or joined and F the others, Q = Ψ_FF⁻¹ and Q R_FF Q, padded by
zeros, follow from Π and T = ΠRΠ before the change. Afterwards Π = Q + LΣ⁻¹Lᵀ, with Σ the Schur
complement of Ψ_FF in Ψ, and L = (−QΨ_FU, I). So all is products with as many columns as there
are changed heads.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import small_spd_inverse
from loopscm.search.state import State


@kernel
def _weighted(weights: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sums of rows."""
    result = np.zeros((weights.shape[0], rows.shape[1]))
    for a in range(weights.shape[0]):
        for x in range(rows.shape[0]):
            if weights[a, x] != 0.0:
                for i in range(rows.shape[1]):
                    result[a, i] += weights[a, x] * rows[x, i]
    return result


@kernel
def _inner(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """XYᵀ."""
    result = np.zeros((X.shape[0], Y.shape[0]))
    for a in range(X.shape[0]):
        for b in range(Y.shape[0]):
            for x in range(X.shape[1]):
                result[a, b] += X[a, x] * Y[b, x]
    return result


@kernel
def _add_outer(M: np.ndarray, X: np.ndarray, Y: np.ndarray, sign: float) -> None:
    """Add ±XᵀY to M."""
    for a in range(X.shape[0]):
        for i in range(M.shape[0]):
            scale = sign * X[a, i]
            if scale != 0.0:
                for j in range(M.shape[1]):
                    M[i, j] += scale * Y[a, j]


@merged
def _without(
    Pi: np.ndarray, T: np.ndarray, heads: np.ndarray, old_heads: np.ndarray
) -> tuple[bool, float]:
    """Overwrite Π and T by Q and QR_FFQ; (success, −2 × the part of f that old heads had)."""
    rows, images = Pi[old_heads], T[old_heads]
    positive, change, old = small_spd_inverse(np.ascontiguousarray(rows[:, old_heads]))
    if not positive:
        return False, 0.0
    L, corner = _weighted(old, rows), np.ascontiguousarray(images[:, old_heads])
    change -= (old * corner).sum()
    images -= 0.5 * _weighted(corner, L)
    _add_outer(Pi, rows, L, -1.0)
    _add_outer(T, L, images, -1.0)
    _add_outer(T, images, L, -1.0)
    for x in heads:
        Pi[x, :], Pi[:, x], T[x, :], T[:, x] = 0.0, 0.0, 0.0, 0.0
    return True, change


@merged
def _error_rows(state: State, nodes: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Rows U of Ψ."""
    place = np.full(state.noise.shape[0], -1, np.int64)
    rank = np.full(nodes.shape[0], -1, np.int64)
    for x in range(nodes.shape[0]):
        place[nodes[x]] = x
    Psi = np.zeros((heads.shape[0], nodes.shape[0]))
    for a in range(heads.shape[0]):
        rank[heads[a]] = a
        Psi[a, heads[a]] = state.noise[nodes[heads[a]]]
    for h in range(state.n_children.shape[0]):
        for k in range(state.n_children[h]):
            x = place[state.children[h, k]]
            if x >= 0 and rank[x] >= 0:
                for l in range(state.n_children[h]):
                    y = place[state.children[h, l]]
                    Psi[rank[x], y] += state.loadings[h, k] * state.loadings[h, l]
    return Psi


@merged
def _residual_images(
    state: State, moments: np.ndarray, nodes: np.ndarray, L: np.ndarray
) -> np.ndarray:
    """RL by rows, R = AᵀSA."""
    wide = np.zeros((L.shape[0], state.noise.shape[0]))
    for a in range(L.shape[0]):
        for x in range(nodes.shape[0]):
            if L[a, x] != 0.0:
                for i in range(wide.shape[1]):
                    wide[a, i] += L[a, x] * moments[nodes[x], i]
    result = np.empty(L.shape)
    for a in range(L.shape[0]):
        for x in range(nodes.shape[0]):
            j = nodes[x]
            result[a, x] = wide[a, j]
            for k in range(state.n_tails[j]):
                result[a, x] -= state.weights[j, k] * wide[a, state.tails[j, k]]
    return result


@kernel
def update_district(
    state: State,
    moments: np.ndarray,
    nodes: np.ndarray,
    heads: np.ndarray,
    old: np.ndarray,
    Pi: np.ndarray,
    T: np.ndarray,
) -> tuple[bool, float]:
    """Overwrite Π and T of some nodes by those after a change; (success, change of f).

    The nodes are those of a district before the change, and others that may have joined it.
    `heads` are the places of U among the nodes, all that joined included, and `old` says which
    of the heads were in the district before; f is that of the district before, and of all nodes
    after. On failure Π and T are of no use.
    """
    possible, change = _without(Pi, T, heads, heads[old])
    if not possible:
        return False, 0.0
    Psi = _error_rows(state, nodes, heads)
    L = -_weighted(Psi, Pi)
    schur = _inner(Psi, L) + np.ascontiguousarray(Psi[:, heads])
    for a in range(heads.shape[0]):
        L[a, heads[a]] = 1.0
    positive, log_det, inverse = small_spd_inverse(schur)
    if not positive:
        return False, 0.0
    R = _residual_images(state, moments, nodes, L)
    corner = _inner(L, R)
    change += log_det + (inverse * corner).sum()
    N = _weighted(inverse, L)
    M = _weighted(R, Pi) + 0.5 * _weighted(corner, N)
    _add_outer(Pi, L, N, 1.0)
    _add_outer(T, N, M, 1.0)
    _add_outer(T, M, N, 1.0)
    return True, 0.5 * change

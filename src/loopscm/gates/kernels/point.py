"""The Gaussian likelihood of one mask and everything its derivatives and flips need.

Edges are stored by head: index [j, i] is i → j throughout the kernels, because columns of A
belong to heads. With V = A⁻¹, Ψ = Ω + ΓᵀΓ, Π = Ψ⁻¹, R = AᵀSA, T = ΠRΠ:

    ∂f/∂B_ij = V_ji − (SAΠ)_ij,   ∂f/∂Γ = Γ(Π − T),   ∂f/∂ω_j = ½(Π − T)_jj.

Π is never formed: with G = ΓΩ⁻¹ and K = I + GΓᵀ (one row per active latent), Woodbury's
identity gives H := ΓΠ = K⁻¹G and Π = Ω⁻¹ − GᵀH, so that nothing costs more than p²·(latents).
Sparse masks are cheap: all products run over selected entries only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel
from loopscm.gates.kernels.effects import Scratch, add_rows, total_effects
from loopscm.likelihood.dense import spd_inverse

DENSE = 10  # beyond p²/10 edges whole rows are faster than entries (measured, p = 32 to 100)


class Noise(NamedTuple):
    """The noise variances of all masks, as they are needed."""

    precision: np.ndarray  # (p,) 1/ω
    log_det: float  # Σ log ω


class Mask(NamedTuple):
    """The selected edges, ordered by head, and the latent rows with their activations."""

    ptr: np.ndarray  # edges into head j are ptr[j]:ptr[j+1]
    tail: np.ndarray
    minus: np.ndarray  # −B of each edge, the entries of A
    rows: np.ndarray  # (L, p) H∘Γ, whether active or not
    active: np.ndarray  # (L,) Z in [0, 1]


class Point(NamedTuple):
    """Likelihood of one mask; b, tau, v, kappa refer to the rows γ_h = H_h∘Γ_h."""

    finite: bool
    value: float  # f; infinite for a singular A
    V: np.ndarray  # (p, p) A⁻¹, [j, i] is a_ij
    slope: np.ndarray  # ∂f/∂B of each edge
    Q: np.ndarray  # (p, p) ΠAᵀS, [j, i] is c_ij; empty unless asked for
    pi: np.ndarray  # diagonal of Π
    t: np.ndarray  # diagonal of T
    b: np.ndarray  # (L, p) Πγ_h
    tau: np.ndarray  # (L, p) Tγ_h, of active rows
    v: np.ndarray  # (L,) γ_hᵀΠγ_h
    rest: np.ndarray  # (L,) 1 − v of rows with Z = 1, without cancellation
    kappa: np.ndarray  # (L,) γ_hᵀTγ_h


class Latent(NamedTuple):
    """Woodbury's pieces over the active rows."""

    slot: np.ndarray  # latent of each active row
    G: np.ndarray
    H: np.ndarray
    N: np.ndarray  # H AᵀS
    U: np.ndarray  # HR
    tau: np.ndarray  # ΓT
    rest: np.ndarray  # diagonal of K⁻¹
    log_det: float  # of K


@kernel
def _product(X: np.ndarray, Y: np.ndarray, out: np.ndarray) -> None:
    """out = X Y for row-major matrices, in blocks of two rows of X and four of Y."""
    count, inner, width = X.shape[0], X.shape[1], Y.shape[1]
    pairs, whole = count - count % 2, inner - inner % 4
    out[:] = 0.0
    for r in range(0, pairs, 2):
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = X[r, k], X[r, k + 1], X[r, k + 2], X[r, k + 3]
            z0, z1, z2, z3 = X[r + 1, k], X[r + 1, k + 1], X[r + 1, k + 2], X[r + 1, k + 3]
            for j in range(width):
                y0, y1, y2, y3 = Y[k, j], Y[k + 1, j], Y[k + 2, j], Y[k + 3, j]
                out[r, j] += x0 * y0 + x1 * y1 + (x2 * y2 + x3 * y3)
                out[r + 1, j] += z0 * y0 + z1 * y1 + (z2 * y2 + z3 * y3)
    for r in range(count):
        for k in range(whole if r < pairs else 0, inner):
            x0 = X[r, k]
            for j in range(width):
                out[r, j] += x0 * Y[k, j]


@kernel
def _symmetric_dots(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """X Yᵀ, known to be symmetric, four dot products at a time."""
    count, width = X.shape
    out = np.empty((count, count))
    for r in range(count):
        k = 0
        while k + 4 <= r + 1:
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for j in range(width):
                x = X[r, j]
                t0 += x * Y[k, j]
                t1 += x * Y[k + 1, j]
                t2 += x * Y[k + 2, j]
                t3 += x * Y[k + 3, j]
            out[r, k], out[r, k + 1], out[r, k + 2], out[r, k + 3] = t0, t1, t2, t3
            k += 4
        while k <= r:
            total = 0.0
            for j in range(width):
                total += X[r, j] * Y[k, j]
            out[r, k] = total
            k += 1
        for k in range(r):
            out[k, r] = out[r, k]
    return out


@kernel
def _residual_moments(S: np.ndarray, mask: Mask, scratch: Scratch) -> tuple[np.ndarray, np.ndarray]:
    """Y = AᵀS and the diagonal of R = YA."""
    p = S.shape[0]
    Y = np.empty((p, p))
    r = np.empty(p)
    weight, index = scratch
    for j in range(p):
        first, last = mask.ptr[j], mask.ptr[j + 1]
        for i in range(p):
            Y[j, i] = S[j, i]
        for e in range(first, last):
            weight[e - first] = mask.minus[e]
            index[e - first] = mask.tail[e]
        add_rows(Y, j, weight, index, last - first, S)
        r[j] = Y[j, j]
        for e in range(first, last):
            r[j] += mask.minus[e] * Y[j, mask.tail[e]]
    return Y, r


@kernel
def _edge_moments(S: np.ndarray, mask: Mask) -> tuple[np.ndarray, np.ndarray]:
    """Y_ji of each edge i → j and the diagonal of R, at the cost of Σ (parents)² only."""
    p = S.shape[0]
    moment, r = np.empty(mask.tail.shape[0]), np.empty(p)
    for j in range(p):
        first, last = mask.ptr[j], mask.ptr[j + 1]
        r[j] = S[j, j]
        for e in range(first, last):
            i = mask.tail[e]
            total = S[j, i]
            for other in range(first, last):
                total += mask.minus[other] * S[mask.tail[other], i]
            moment[e] = total
            r[j] += mask.minus[e] * (S[j, i] + total)
    return moment, r


@kernel
def _active_slots(active: np.ndarray) -> np.ndarray:
    """The latents that are on, in order."""
    count = 0
    slot = np.empty(active.shape[0], np.int64)
    for h in range(active.shape[0]):
        if active[h] > 0.0:
            slot[count] = h
            count += 1
    return slot[:count]


@kernel
def _latent_part(Y: np.ndarray, precision: np.ndarray, mask: Mask, scratch: Scratch) -> Latent:
    """Everything that the active latents contribute; relaxed rows are scaled by √Z."""
    p, slot = precision.shape[0], _active_slots(mask.active)
    count = slot.shape[0]
    if count == 0:
        none = np.empty((0, p))
        return Latent(slot, none, none, none, none, none, np.empty(0), 0.0)
    block = np.zeros((7, count, p))  # one allocation: these blocks are small and many
    rows, G, M, H, N, U, tau = (
        block[0], block[1], block[2], block[3], block[4], block[5], block[6],
    )  # fmt: skip
    weight, children = scratch
    for a in range(count):
        root = np.sqrt(mask.active[slot[a]])
        n = 0
        for j in range(p):
            rows[a, j] = root * mask.rows[slot[a], j]
            G[a, j] = rows[a, j] * precision[j]
        for j in range(p):  # without a branch: which gates are on cannot be predicted
            weight[n] = G[a, j]
            children[n] = j
            n += int(G[a, j] != 0.0)
        add_rows(M, a, weight, children, n, Y)  # GAᵀS
    K = _symmetric_dots(G, rows)
    for a in range(count):
        K[a, a] += 1.0
    _, log_det, inverse = spd_inverse(K)
    _product(inverse, G, H)
    _product(inverse, M, N)
    U[:] = N
    for j in range(p):
        for e in range(mask.ptr[j], mask.ptr[j + 1]):
            i, change = mask.tail[e], mask.minus[e]
            for a in range(count):
                U[a, j] += change * N[a, i]
    _product(_symmetric_dots(U, H), G, tau)  # HRHᵀG
    for a in range(count):
        for j in range(p):
            tau[a, j] = U[a, j] * precision[j] - tau[a, j]
    rest = np.empty(count)
    for a in range(count):
        rest[a] = inverse[a, a]
    return Latent(slot, G, H, N, U, tau, rest, log_det)


@kernel
def _scaled_residuals(
    Y: np.ndarray, precision: np.ndarray, latent: Latent, scratch: Scratch
) -> np.ndarray:
    """Q = ΠAᵀS = Ω⁻¹Y − GᵀN."""
    p, count = precision.shape[0], latent.slot.shape[0]
    Q = np.empty((p, p))
    weight, index = scratch
    for j in range(p):
        scale = precision[j]
        for i in range(p):
            Q[j, i] = Y[j, i] * scale
        n = 0
        for a in range(count):
            weight[n] = -latent.G[a, j]
            index[n] = a
            n += int(weight[n] != 0.0)
        add_rows(Q, j, weight, index, n, latent.N)
    return Q


@kernel
def _idle_rows(
    S: np.ndarray,
    precision: np.ndarray,
    mask: Mask,
    latent: Latent,
    b: np.ndarray,
    v: np.ndarray,
    kappa: np.ndarray,
) -> None:
    """b, v and κ of the rows that are switched off: κ = (Ab)ᵀS(Ab)."""
    p = precision.shape[0]
    image = np.empty(p)
    for h in range(mask.active.shape[0]):
        if mask.active[h] > 0.0:
            continue
        for j in range(p):
            b[h, j] = mask.rows[h, j] * precision[j]
        for a in range(latent.slot.shape[0]):
            overlap = 0.0
            for j in range(p):
                overlap += latent.G[a, j] * mask.rows[h, j]
            if overlap != 0.0:
                for j in range(p):
                    b[h, j] -= overlap * latent.H[a, j]
        for j in range(p):
            image[j] = b[h, j]
            v[h] += mask.rows[h, j] * b[h, j]
        for j in range(p):
            for e in range(mask.ptr[j], mask.ptr[j + 1]):
                image[mask.tail[e]] += mask.minus[e] * b[h, j]
        for i in range(p):
            if image[i] != 0.0:
                total = 0.0
                for j in range(p):
                    total += S[i, j] * image[j]
                kappa[h] += image[i] * total


@kernel
def _edge_slopes(
    moment: np.ndarray,
    precision: np.ndarray,
    mask: Mask,
    latent: Latent,
    V: np.ndarray,
    Q: np.ndarray,
) -> np.ndarray:
    """∂f/∂B of the selected edges, from Q or, if that is empty, from its pieces."""
    slope = np.empty(mask.tail.shape[0])
    for j in range(precision.shape[0]):
        for e in range(mask.ptr[j], mask.ptr[j + 1]):
            i = mask.tail[e]
            if Q.shape[0] > 0:
                slope[e] = V[j, i] - Q[j, i]
                continue
            scaled = moment[e] * precision[j]
            for a in range(latent.slot.shape[0]):
                scaled -= latent.G[a, j] * latent.N[a, i]
            slope[e] = V[j, i] - scaled
    return slope


@kernel
def _moments(
    S: np.ndarray, mask: Mask, whole: bool, scratch: Scratch
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(Y or nothing, Y of each edge, diagonal of R); all of Y if `whole` or if that is faster."""
    p, count = S.shape[0], mask.tail.shape[0]
    if not whole and DENSE * count < p * p:
        moment, r = _edge_moments(S, mask)
        return np.empty((0, 0)), moment, r
    Y, r = _residual_moments(S, mask, scratch)
    moment = np.empty(count)
    for j in range(p):
        for e in range(mask.ptr[j], mask.ptr[j + 1]):
            moment[e] = Y[j, mask.tail[e]]
    return Y, moment, r


@kernel
def evaluate(S: np.ndarray, noise: Noise, mask: Mask, full: bool, spread: bool) -> Point:
    """The likelihood at a mask.

    `full` adds Q and the rows of inactive latents; unless `spread`, V is zero outside the
    strong components, which no selected edge looks at.
    """
    precision = noise.precision
    p, slots = precision.shape[0], mask.active.shape[0]
    size = max(p, slots)
    scratch = Scratch(np.empty(size), np.empty(size, np.int64))
    regular, log_det, V = total_effects(mask.ptr, mask.tail, mask.minus, spread, scratch)
    Y, moment, r = _moments(S, mask, full or slots > 0, scratch)
    latent = _latent_part(Y, precision, mask, scratch)
    block, sums, diagonals = np.zeros((2, slots, p)), np.zeros((3, slots)), np.empty((2, p))
    b, tau, v, rest, kappa = block[0], block[1], sums[0], sums[1], sums[2]
    pi, t = diagonals[0], diagonals[1]
    rest[:] = 1.0
    value = 0.5 * (noise.log_det + latent.log_det) - log_det
    for j in range(p):
        pi[j] = precision[j]
        t[j] = r[j] * pi[j] * pi[j]
        value += 0.5 * r[j] * pi[j]
    for a in range(latent.slot.shape[0]):
        h = latent.slot[a]
        root = 1.0 / np.sqrt(mask.active[h])
        total = 0.0
        for j in range(p):
            pi[j] -= latent.G[a, j] * latent.H[a, j]
            t[j] -= latent.G[a, j] * (latent.U[a, j] * precision[j] + latent.tau[a, j])
            total += latent.G[a, j] * latent.U[a, j]
            b[h, j] = latent.H[a, j] * root
            tau[h, j] = latent.tau[a, j] * root
            v[h] += mask.rows[h, j] * b[h, j]
            kappa[h] += mask.rows[h, j] * tau[h, j]
        rest[h] = latent.rest[a]
        value -= 0.5 * total
    Q = np.empty((0, 0))
    if full:
        Q = _scaled_residuals(Y, precision, latent, scratch)
        _idle_rows(S, precision, mask, latent, b, v, kappa)
    slope = _edge_slopes(moment, precision, mask, latent, V, Q)
    finite = regular and np.isfinite(value)
    value = value if finite else np.inf
    return Point(finite, value, V, slope, Q, pi, t, b, tau, v, rest, kappa)

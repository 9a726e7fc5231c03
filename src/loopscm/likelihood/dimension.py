"""Dimension of a graph's covariance family, exactly.

The dimension is the generic rank of the Jacobian of θ ↦ Σ, hence of the Fisher information
in its rank-two form

    I_ab = (Πw_a)_{j_b} (Πw_b)_{j_a} + Π_{j_a j_b} · w_aᵀ Π w_b,

a matrix of rational functions of θ that is block diagonal over components. Its generic rank
is found with probability one by exact arithmetic: evaluate at random integers modulo a large
prime and eliminate. A random point can only lose rank, with probability about size / prime.
The same rank in floating point, from singular values of the information, is a cross-check.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopscm.errors import GraphError
from loopscm.graph import LatentGraph
from loopscm.likelihood.gaussian import likelihood_hessian
from loopscm.likelihood.kinds import COVARIANCE, EDGE, LOADING
from loopscm.likelihood.layout import Layout, layout_of
from loopscm.scm import LinearSCM

PRIME = 2**31 - 1  # products of two residues fit an int64
SEED = 20260919  # any fixed number: it only picks the evaluation point
REPEATS = 2
# Share of the largest eigenvalue of the information, scaled to unit diagonal, below which an
# eigenvalue counts as zero; its rounding errors are near 1e-15.
NULL_SHARE = 1e-10

IntMatrix = NDArray[np.int64]


def family_dimension(graph: LatentGraph) -> int:
    """Dimension of the set of covariance matrices of a graph (Eq. model-dimensions).

    At most p + edges, the number of parameters once latent variances are absorbed.
    """
    if not isinstance(graph, LatentGraph):
        raise GraphError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
    layout = layout_of(graph)
    rng = np.random.default_rng(SEED)
    return max(_rank_at_random_point(layout, rng) for _ in range(REPEATS))


def numerical_dimension(graph: LatentGraph, *, repeats: int = REPEATS, seed: int = SEED) -> int:
    """The same dimension by floating-point ranks at random parameters, a cross-check.

    Never above the exact one, but below it where nearly dependent parameters look dependent.
    """
    rng = np.random.default_rng(seed)
    layout = layout_of(graph)
    best = 0
    for _ in range(repeats):
        model = _moderate_model(graph, rng)
        information = likelihood_hessian(model.covariance(), model)
        scale = np.sqrt(np.diagonal(information))
        information = information / scale / scale[:, None]
        total = 0
        for first, last in zip(layout.par_ptr[:-1], layout.par_ptr[1:], strict=True):
            values = np.linalg.eigvalsh(information[first:last, first:last])
            total += int((values > NULL_SHARE * values[-1]).sum())
        best = max(best, total)
    return best


def _moderate_model(graph: LatentGraph, rng: np.random.Generator) -> LinearSCM:
    """Random parameters that keep I − B and Ψ far from singular."""
    p = graph.n_observed

    def moderate(mask: NDArray[np.bool_], largest: float) -> NDArray[np.float64]:
        sizes = rng.uniform(0.3, 1.0, mask.shape) * rng.choice((-1.0, 1.0), mask.shape)
        return np.where(mask, largest * sizes, 0.0)

    degree = max(1, int(graph.directed.sum(axis=0).max()))
    arcs = np.triu(moderate(graph.bidirected, 1 / max(1, int(graph.bidirected.sum(axis=0).max()))))
    B = moderate(graph.directed, 0.9 / np.sqrt(degree))
    Gamma = moderate(graph.children, 1.0)
    return LinearSCM.trusted(graph, B, Gamma, rng.uniform(1.0, 3.0, p), arcs + arcs.T)


def _rank_at_random_point(layout: Layout, rng: np.random.Generator) -> int:
    theta = rng.integers(1, PRIME, layout.size)
    B, Gamma, variances, covariances = (part.astype(np.int64) for part in _scatter(layout, theta))
    p = layout.graph.n_observed
    V = _inverse((np.eye(p, dtype=np.int64) - B) % PRIME)
    Psi = (np.diag(variances) + covariances + _dot(Gamma.T, Gamma)) % PRIME
    Pi = _inverse(Psi)
    if V is None or Pi is None:  # a point on a set of measure zero: take another
        return _rank_at_random_point(layout, rng)
    columns = _dot(Psi, V)  # Ψ A⁻¹, the directions of edges by tail
    total = 0
    for b in range(layout.n_blocks):
        part = slice(layout.par_ptr[b], layout.par_ptr[b + 1])
        W = _directions(layout, part, columns, Gamma)
        heads = layout.head[part]
        PW = _dot(Pi, W)
        cross = PW[heads]
        information = (cross * cross.T % PRIME + Pi[np.ix_(heads, heads)] * _dot(W.T, PW)) % PRIME
        total += _rank(information)
    return total


def _scatter(layout: Layout, theta: IntMatrix) -> tuple[IntMatrix, ...]:
    """`Layout.scatter` without leaving the integers."""
    p, n_latent = layout.graph.n_observed, layout.graph.n_latent
    B, Gamma = np.zeros((p, p), np.int64), np.zeros((n_latent, p), np.int64)
    covariances, variances = np.zeros((p, p), np.int64), np.zeros(p, np.int64)
    for kind, row, head, value in zip(layout.kind, layout.row, layout.head, theta, strict=True):
        if kind == EDGE:
            B[row, head] = value
        elif kind == LOADING:
            Gamma[row, head] = value
        elif kind == COVARIANCE:
            covariances[row, head] = covariances[head, row] = value
        else:
            variances[head] = value
    return B, Gamma, variances, covariances


def _directions(layout: Layout, part: slice, columns: IntMatrix, Gamma: IntMatrix) -> IntMatrix:
    """The directions w_a of a block's parameters, one a column (twice w for a variance)."""
    W = np.zeros((layout.graph.n_observed, part.stop - part.start), np.int64)
    for a, (kind, row) in enumerate(zip(layout.kind[part], layout.row[part], strict=True)):
        if kind == EDGE:
            W[:, a] = columns[:, row]
        elif kind == LOADING:
            W[:, a] = Gamma[row]
        else:
            W[row, a] = 1
    return W


def _dot(X: IntMatrix, Y: IntMatrix) -> IntMatrix:
    """X Y modulo the prime, by halves of 16 bits so that nothing overflows an int64.

    Each partial product of a 16-bit half and a residue is below 2⁴⁷, so 2¹⁵ of them may be
    summed.
    """
    low, high = X & 0xFFFF, X >> 16
    return ((high @ Y) % PRIME * (1 << 16) + (low @ Y) % PRIME) % PRIME


def _inverse(M: IntMatrix) -> IntMatrix | None:
    """Inverse modulo the prime by Gauss-Jordan, None if singular."""
    size = len(M)
    work = np.concatenate([M, np.eye(size, dtype=np.int64)], axis=1)
    for k in range(size):
        candidates = np.flatnonzero(work[k:, k])
        if not candidates.size:
            return None
        pivot = k + int(candidates[0])
        work[[k, pivot]] = work[[pivot, k]]
        work[k] = work[k] * pow(int(work[k, k]), -1, PRIME) % PRIME
        rows = np.flatnonzero(work[:, k])
        rows = rows[rows != k]
        work[rows] = (work[rows] - work[rows, k][:, None] * work[k] % PRIME) % PRIME
    return work[:, size:]


def _rank(M: IntMatrix) -> int:
    """Rank modulo the prime by elimination."""
    work = M.copy()
    rank = 0
    for column in range(work.shape[1]):
        candidates = np.flatnonzero(work[rank:, column])
        if not candidates.size:
            continue
        pivot = rank + int(candidates[0])
        work[[rank, pivot]] = work[[pivot, rank]]
        row = work[rank, column:] * pow(int(work[rank, column]), -1, PRIME) % PRIME
        below = rank + 1 + np.flatnonzero(work[rank + 1 :, column])
        work[below, column:] = (work[below, column:] - work[below, column][:, None] * row) % PRIME
        rank += 1
    return rank

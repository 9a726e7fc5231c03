"""The cold start of a block, compiled: regressions, then factors of their residuals."""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.block import Block
from loopscm.likelihood.dense import cholesky, cholesky_solve
from loopscm.likelihood.kinds import EDGE, LOADING, VARIANCE

# In standardised units. Loadings away from zero, because zero is a stationary point; noise
# variances away from the floor, because the first steps should be free.
SMALLEST_LOADING, LARGEST_LOADING = 0.1, 0.8
SMALLEST_NOISE_SHARE = 0.2
POWER_ITERATIONS = 12


@merged
def cold_start(block: Block) -> np.ndarray:
    """Starting parameters of a block from S alone."""
    theta = np.zeros(block.kind.shape[0])
    residual = _regress(block, theta)
    variance = np.empty(block.heads)
    explained = np.zeros(block.heads)
    for j in range(block.heads):
        variance[j] = residual[j, j]
    _factorise(block, theta, residual)
    for a in range(theta.shape[0]):
        if block.kind[a] == LOADING:
            explained[block.head[a]] += theta[a] ** 2
    for a in range(theta.shape[0]):
        if block.kind[a] == VARIANCE:
            j = block.head[a]
            theta[a] = max(variance[j] - explained[j], SMALLEST_NOISE_SHARE * variance[j])
    return theta


@merged
def _regress(block: Block, theta: np.ndarray) -> np.ndarray:
    """Least-squares coefficients of every head on its parents, into theta.

    Returns the second moments of the residuals, R = AᵀSA.
    """
    S, m, u = block.S, block.heads, block.S.shape[0]
    A = np.zeros((u, m))
    edges = np.empty(theta.shape[0], np.int64)
    for j in range(m):
        A[j, j] = 1.0
        count = 0
        for a in range(theta.shape[0]):
            if block.kind[a] == EDGE and block.head[a] == j:
                edges[count] = a
                count += 1
        normal = np.empty((count, count))
        right = np.empty(count)
        for x in range(count):
            right[x] = S[block.row[edges[x]], j]
            for y in range(count):
                normal[x, y] = S[block.row[edges[x]], block.row[edges[y]]]
        if not cholesky(normal):  # linearly dependent parents: leave these edges at zero
            continue
        solution = cholesky_solve(normal, right)
        for x in range(count):
            theta[edges[x]] = solution[x]
            A[block.row[edges[x]], j] = -solution[x]
    return np.dot(A.T, np.dot(S, A))


@merged
def _factorise(block: Block, theta: np.ndarray, residual: np.ndarray) -> None:
    """Loadings of one latent after the other, each from what the others left unexplained."""
    members = np.empty(theta.shape[0], np.int64)
    for h in range(block.latents):
        count = 0
        for a in range(theta.shape[0]):
            if block.kind[a] == LOADING and block.row[a] == h:
                members[count] = a
                count += 1
        C = np.zeros((count, count))
        for x in range(count):
            i = block.head[members[x]]
            for y in range(count):
                j = block.head[members[y]]
                if x != y:
                    C[x, y] = residual[i, j] / np.sqrt(residual[i, i] * residual[j, j])
        vector = leading_vector(C)
        for x in range(count):
            i = block.head[members[x]]
            size = min(max(abs(vector[x]), SMALLEST_LOADING), LARGEST_LOADING)
            theta[members[x]] = np.copysign(size, vector[x]) * np.sqrt(residual[i, i])
        for x in range(count):
            for y in range(count):
                if x != y:
                    i, j = block.head[members[x]], block.head[members[y]]
                    residual[i, j] -= theta[members[x]] * theta[members[y]]


@kernel
def leading_vector(C: np.ndarray) -> np.ndarray:
    """√λ v of the largest eigenpair of a zero-diagonal correlation matrix, by power steps."""
    size = C.shape[0]
    vector = np.zeros(size)
    product = np.zeros(size)
    best, norm = 0, -1.0
    for x in range(size):
        total = 0.0
        for y in range(size):
            total += C[x, y] ** 2
        if total > norm:
            best, norm = x, total
    value = 0.0
    for x in range(size):
        vector[x] = C[best, x] + (1.0 if x == best else 0.0)
    for _ in range(POWER_ITERATIONS):
        norm, value = 0.0, 0.0
        for x in range(size):
            norm += vector[x] ** 2
        norm = np.sqrt(norm)
        for x in range(size):
            vector[x] /= norm
        for x in range(size):
            product[x] = 0.0
            for y in range(size):
                product[x] += C[x, y] * vector[y]
            value += vector[x] * product[x]
        for x in range(size):  # shifted by one: negative eigenvalues fall behind
            vector[x] += product[x]
    for x in range(size):
        vector[x] = np.sqrt(max(value, 0.0)) * vector[x] / (1.0 + value)
    return vector

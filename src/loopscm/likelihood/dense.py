"""Small dense factorisations for the compiled kernels.

They report failure instead of raising, which compiled code needs, and are faster than calls
into LAPACK for the block sizes of this problem (mostly below 40). Large matrices go through
matrix products. Plain loops instead of array expressions keep compilation short.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel

PANEL = 32  # columns factorised by plain loops before a matrix product updates the rest


@kernel
def cholesky_loops(M: np.ndarray, start: int, stop: int) -> bool:
    """Factorise M[start:stop, start:stop] in place, lower triangle, row by row."""
    for i in range(start, stop):
        for j in range(start, i):
            total = M[i, j]
            for k in range(start, j):
                total -= M[i, k] * M[j, k]
            M[i, j] = total / M[j, j]
        total = M[i, i]
        for k in range(start, i):
            total -= M[i, k] * M[i, k]
        if not total > 0.0:
            return False
        M[i, i] = np.sqrt(total)
    return True


@kernel
def cholesky(M: np.ndarray) -> bool:
    """Overwrite the lower triangle of M with its Cholesky factor; False if not definite.

    Left-looking by panels: what is already factorised is subtracted from a panel by one
    matrix product, and the part below its square is solved by another.
    """
    size = M.shape[0]
    for start in range(0, size, PANEL):
        stop = min(start + PANEL, size)
        if start > 0:
            done = _copy(M, start, size, 0, start)
            update = np.dot(done, done[: stop - start].T)
            for i in range(start, size):
                for j in range(start, min(i + 1, stop)):
                    M[i, j] -= update[i - start, j - start]
        if not cholesky_loops(M, start, stop):
            return False
        if stop < size:
            inverse = _lower_inverse(M, start, stop)
            panel = np.dot(_copy(M, stop, size, start, stop), inverse.T)
            for i in range(stop, size):
                for j in range(start, stop):
                    M[i, j] = panel[i - stop, j - start]
    return True


@kernel
def _copy(M: np.ndarray, first: int, last: int, left: int, right: int) -> np.ndarray:
    """M[first:last, left:right] as a contiguous array."""
    result = np.empty((last - first, right - left))
    for i in range(last - first):
        for j in range(right - left):
            result[i, j] = M[first + i, left + j]
    return result


@kernel
def _lower_inverse(M: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Inverse of the lower triangle of M[start:stop, start:stop]."""
    size = stop - start
    inverse = np.zeros((size, size))
    for i in range(size):
        for k in range(i):
            scale = M[start + i, start + k]
            if scale != 0.0:
                for j in range(k + 1):
                    inverse[i, j] -= scale * inverse[k, j]
        scale = 1.0 / M[start + i, start + i]
        for j in range(i):
            inverse[i, j] *= scale
        inverse[i, i] = scale
    return inverse


@kernel
def inner(X: np.ndarray, Y: np.ndarray) -> float:
    """Σ X_ij Y_ij."""
    total = 0.0
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            total += X[i, j] * Y[i, j]
    return total


@kernel
def cholesky_solve(factor: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve L Lᵀ x = b."""
    size = b.shape[0]
    x = b.copy()
    for i in range(size):
        total = x[i]
        for k in range(i):
            total -= factor[i, k] * x[k]
        x[i] = total / factor[i, i]
    for i in range(size - 1, -1, -1):
        x[i] /= factor[i, i]
        for k in range(i):
            x[k] -= factor[i, k] * x[i]
    return x


@kernel
def _factor_inverse(factor: np.ndarray) -> tuple[float, np.ndarray]:
    """(log det, inverse) of the matrix with this Cholesky factor."""
    size = factor.shape[0]
    inverse = np.zeros((size, size))
    log_det = 0.0
    for i in range(size):
        log_det += 2.0 * np.log(factor[i, i])
    lower = _lower_inverse(factor, 0, size)
    for k in range(size):  # L⁻ᵀ L⁻¹, a sum of outer products of rows
        for i in range(k + 1):
            scale = lower[k, i]
            if scale != 0.0:
                for j in range(i + 1):
                    inverse[i, j] += scale * lower[k, j]
    for i in range(size):
        for j in range(i):
            inverse[j, i] = inverse[i, j]
    return log_det, inverse


@kernel
def spd_inverse(M: np.ndarray) -> tuple[bool, float, np.ndarray]:
    """(success, log det, inverse) of a symmetric positive definite matrix."""
    factor = M.copy()
    if not cholesky(factor):
        return False, 0.0, np.zeros(M.shape)
    log_det, inverse = _factor_inverse(factor)
    return True, log_det, inverse


@kernel
def small_spd_inverse(M: np.ndarray) -> tuple[bool, float, np.ndarray]:
    """The same for small matrices, by loops alone: less to compile into a caller."""
    factor = M.copy()
    if not cholesky_loops(factor, 0, M.shape[0]):
        return False, 0.0, np.zeros(M.shape)
    log_det, inverse = _factor_inverse(factor)
    return True, log_det, inverse


@kernel
def general_inverse(M: np.ndarray) -> tuple[bool, float, float, np.ndarray]:
    """(success, log|det|, sign of det, inverse) by Gauss-Jordan with row pivoting."""
    size = M.shape[0]
    work = M.copy()
    inverse = np.zeros((size, size))
    for i in range(size):
        inverse[i, i] = 1.0
    log_det = 0.0
    sign = 1.0
    for k in range(size):
        pivot = k
        for i in range(k + 1, size):
            if abs(work[i, k]) > abs(work[pivot, k]):
                pivot = i
        value = work[pivot, k]
        if not abs(value) > 1e-300:
            return False, -np.inf, 0.0, inverse
        if pivot != k:
            sign = -sign
            for j in range(size):
                work[k, j], work[pivot, j] = work[pivot, j], work[k, j]
                inverse[k, j], inverse[pivot, j] = inverse[pivot, j], inverse[k, j]
        if value < 0.0:
            sign = -sign
        log_det += np.log(abs(value))
        scale = 1.0 / value
        for j in range(size):
            work[k, j] *= scale
            inverse[k, j] *= scale
        for i in range(size):
            factor = work[i, k]
            if i != k and factor != 0.0:
                for j in range(k, size):
                    work[i, j] -= factor * work[k, j]
                for j in range(size):
                    inverse[i, j] -= factor * inverse[k, j]
    return True, log_det, sign, inverse

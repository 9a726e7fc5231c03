"""A⁻¹ and log|det A| of a sparse mask, strong component by strong component.

Row i of V = A⁻¹ satisfies V_i = e_i + Σ_j B_ij V_j, so the rows of a component follow from
those of its children by one small dense inverse; a dense mask is one large component.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel

_TINY = 1e-300  # a smaller pivot means a singular A
_VECTOR = 16  # numbers that an unrolled vector loop takes at a time


class Scratch(NamedTuple):
    """Room for the terms of a sparse row; allocations would cost more than the sums."""

    weight: np.ndarray
    place: np.ndarray


@kernel
def add_rows(
    out: np.ndarray, r: int, weight: np.ndarray, index: np.ndarray, n: int, X: np.ndarray
) -> None:
    """out[r] += Σ_k weight[k]·X[index[k]] over the first n entries, four rows at a time."""
    width = out.shape[1]
    k = 0
    while k + 4 <= n:
        w0, w1, w2, w3 = weight[k], weight[k + 1], weight[k + 2], weight[k + 3]
        i0, i1, i2, i3 = index[k], index[k + 1], index[k + 2], index[k + 3]
        for j in range(width):
            out[r, j] += w0 * X[i0, j] + w1 * X[i1, j] + (w2 * X[i2, j] + w3 * X[i3, j])
        k += 4
    while k < n:
        w0, i0 = weight[k], index[k]
        for j in range(width):
            out[r, j] += w0 * X[i0, j]
        k += 1


@kernel
def _by_tail(
    ptr: np.ndarray, tail: np.ndarray, minus: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same edges ordered by tail: (ptr, head, B)."""
    p, count = ptr.shape[0] - 1, tail.shape[0]
    start = np.zeros(p + 1, np.int64)
    for e in range(count):
        start[tail[e] + 1] += 1
    for i in range(p):
        start[i + 1] += start[i]
    place = start.copy()
    head, value = np.empty(count, np.int64), np.empty(count)
    for j in range(p):
        for e in range(ptr[j], ptr[j + 1]):
            at = place[tail[e]]
            head[at] = j
            value[at] = -minus[e]
            place[tail[e]] += 1
    return start, head, value


@kernel
def _strong_components(ptr: np.ndarray, head: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nodes, ends): components one after the other, children first (Tarjan's algorithm)."""
    p = ptr.shape[0] - 1
    work = np.empty((7, p), np.int64)  # one allocation: these blocks are small and many
    number, low, done, stack = work[0], work[1], work[2], work[3]
    path, at, nodes = work[4], work[5], work[6]
    ends = np.empty(p, np.int64)
    for i in range(p):
        number[i], done[i], at[i] = -1, 0, ptr[i]
    visited, on_stack, found, n_found = 0, 0, 0, 0
    for root in range(p):
        if number[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            i = path[depth]
            if number[i] < 0:
                number[i] = low[i] = visited
                visited += 1
                stack[on_stack] = i
                on_stack += 1
            if at[i] < ptr[i + 1]:
                j = head[at[i]]
                at[i] += 1
                if number[j] < 0:
                    depth += 1
                    path[depth] = j
                elif done[j] == 0:
                    low[i] = min(low[i], number[j])
                continue
            depth -= 1
            if depth >= 0:
                low[path[depth]] = min(low[path[depth]], low[i])
            if low[i] == number[i]:
                j = -1
                while j != i:
                    on_stack -= 1
                    j = stack[on_stack]
                    done[j] = 1
                    nodes[found] = j
                    found += 1
                ends[n_found] = found
                n_found += 1
    return nodes, ends[:n_found]


@kernel
def _pivot(A: np.ndarray, k: int, chosen: np.ndarray) -> float:
    """Bring the largest entry of column k on or below the diagonal to row k; its value."""
    best = k
    for i in range(k + 1, A.shape[0]):
        if abs(A[i, k]) > abs(A[best, k]):
            best = i
    chosen[k] = best
    if best != k:
        for j in range(A.shape[1]):
            keep = A[k, j]
            A[k, j] = A[best, j]
            A[best, j] = keep
    return float(A[k, k])


@kernel
def _invert(A: np.ndarray) -> tuple[bool, float]:
    """Overwrite the leading square of A by its inverse; (success, log|det|).

    Gauss-Jordan in place with row exchanges, two pivots at a time, which halves the traffic to
    memory. The number of rows is even, and their length rounded up by zeros so that the inner
    loops run in whole vectors.
    """
    size, width = A.shape
    chosen, rows = np.empty(size, np.int64), np.empty((2, width))
    one, two = rows[0], rows[1]
    log_det = 0.0
    for k in range(0, size, 2):
        n = k + 1
        value = _pivot(A, k, chosen)
        if not abs(value) > _TINY:
            return False, -np.inf
        log_det += np.log(abs(value))
        scale = 1.0 / value
        for j in range(width):
            one[j] = A[k, j] * scale
        one[k], cross = scale, one[n]
        for i in range(size):  # only column n need know of the first pivot to find the second
            if i != k:
                A[i, n] -= A[i, k] * cross
        value = _pivot(A, n, chosen)
        if not abs(value) > _TINY:
            return False, -np.inf
        log_det += np.log(abs(value))
        scale, factor = 1.0 / value, A[n, k]
        A[n, k], one[n] = 0.0, 0.0
        for j in range(width):
            two[j] = (A[n, j] - factor * one[j]) * scale
        two[n] = scale
        for j in range(width):
            one[j] -= cross * two[j]
        for i in range(size):
            first, second = A[i, k], A[i, n] + A[i, k] * cross
            if i != k and i != n and (first != 0.0 or second != 0.0):
                A[i, k] = A[i, n] = 0.0
                for j in range(width):
                    A[i, j] -= first * one[j] + second * two[j]
        for j in range(width):
            A[k, j], A[n, j] = one[j], two[j]
    _exchange_columns(A, chosen)
    return True, log_det


@kernel
def _exchange_columns(A: np.ndarray, chosen: np.ndarray) -> None:
    """Undo the row exchanges of Gauss-Jordan on the inverse, last first."""
    for k in range(A.shape[0] - 1, -1, -1):
        if chosen[k] != k:
            for i in range(A.shape[0]):
                A[i, k], A[i, chosen[k]] = A[i, chosen[k]], A[i, k]


@kernel
def _solve_component(
    V: np.ndarray,
    nodes: np.ndarray,
    first: int,
    last: int,
    place: np.ndarray,
    edges: tuple,
    spread: bool,
    scratch: Scratch,
) -> tuple[bool, float]:
    """Rows of V of the component nodes[first:last], from the finished rows of its children.

    Their descendants outside the component are among nodes[:first], and left out unless
    `spread`.
    """
    ptr, head, value = edges
    m = last - first
    A = np.zeros((m + m % 2, _VECTOR * (-(-m // _VECTOR))))
    A[-1, A.shape[0] - 1] = 1.0
    right, reached = np.zeros((m, first if spread else 0)), False
    for x in range(m):
        i = nodes[first + x]
        A[x, x] = 1.0
        for e in range(ptr[i], ptr[i + 1]):
            j = head[e]
            if place[j] >= 0:
                A[x, place[j]] = -value[e]
                continue
            reached = spread
            for y in range(right.shape[1]):
                right[x, y] += value[e] * V[j, nodes[y]]
    regular, log_det = _invert(A)
    if reached:
        rows, (weight, index) = np.zeros((m, first)), scratch
        for y in range(m):
            index[y] = y
        for x in range(m):
            for y in range(m):
                weight[y] = A[x, y]
            add_rows(rows, x, weight, index, m, right)
            for y in range(first):
                V[nodes[first + x], nodes[y]] = rows[x, y]
    for x in range(m):
        for y in range(m):
            V[nodes[first + x], nodes[first + y]] = A[x, y]
    return regular, log_det


@kernel
def total_effects(
    ptr: np.ndarray, tail: np.ndarray, minus: np.ndarray, spread: bool, scratch: Scratch
) -> tuple[bool, float, np.ndarray]:
    """(success, log|det A|, A⁻¹) of a mask whose entries −B are listed by head.

    Unless `spread`, the inverse is zero outside the diagonal blocks of the strong components,
    which is all that log|det A| and its derivatives need.
    """
    p = ptr.shape[0] - 1
    edges = _by_tail(ptr, tail, minus)
    nodes, ends = _strong_components(edges[0], edges[1])
    V = np.zeros((p, p))
    place = np.full(p, -1)
    weight, index = scratch
    log_det, first = 0.0, 0
    for c in range(ends.shape[0]):
        last = ends[c]
        if last - first == 1:
            i, n = nodes[first], 0
            V[i, i] = 1.0
            if spread:
                for e in range(edges[0][i], edges[0][i + 1]):
                    weight[n] = edges[2][e]
                    index[n] = edges[1][e]
                    n += 1
            add_rows(V, i, weight, index, n, V)
        else:
            for x in range(first, last):
                place[nodes[x]] = x - first
            regular, part = _solve_component(V, nodes, first, last, place, edges, spread, scratch)
            if not regular:
                return False, -np.inf, V
            log_det += part
            for x in range(first, last):
                place[nodes[x]] = -1
        first = last
    return True, log_det, V

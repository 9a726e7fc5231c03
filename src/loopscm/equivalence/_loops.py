"""Likelihood starts on every side of det A = 0 for the loops of a graph, compiled.

A descent never crosses det A = 0, and each loop has optima on both sides: a graph with a loop
turned around generates the same covariances with coefficients whose product around the loop
is the inverse. So loops are started from random columns of A of free scale, fitted in turn.
Where the noise of a loop is independent, its likelihood is −log|det A| + ½ Σ log a_jᵀSa_j;
with the others fixed, column j is best at a_j = (S_UU)⁻¹ v_U, where U is its support and v the
row of A⁻¹ that belongs to it. Both sides are reached alike, as the sign of a_jj is free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import entry, kernel, merged
from loopscm.likelihood.dense import general_inverse, spd_inverse
from loopscm.likelihood.kinds import EDGE
from loopscm.likelihood.layout import Layout

SWEEPS = 10  # over the columns of a loop; the descent that follows does the rest
SMALLEST_OWN = 1e-6  # element a_jj of a column with a_jᵀSa_j = 1, in standardised units


class Loops(NamedTuple):
    """The columns of A that belong to loops.

    Loop c has the columns `loop_ptr[c]:loop_ptr[c+1]`; column x has the entries
    `column_ptr[x]:column_ptr[x+1]`, its own variable first, then the parents. Of each entry
    there is the variable, its number within the loop (-1 outside), and the parameter of the
    edge (-1 for the variable itself).
    """

    loop_ptr: np.ndarray
    column_ptr: np.ndarray
    variable: np.ndarray
    inner: np.ndarray
    parameter: np.ndarray

    @property
    def heads(self) -> np.ndarray:
        """The variables that are on loops."""
        return self.variable[self.column_ptr[:-1]]


def loops_of(layout: Layout) -> Loops:
    """The loops of a graph, with edges numbered as in a layout."""
    edges = np.flatnonzero(layout.kind == EDGE)
    number = {(int(layout.row[a]), int(layout.head[a])): int(a) for a in edges}
    loops = [c for c in layout.graph.strongly_connected_components() if len(c) > 1]
    entries: list[tuple[int, int, int]] = []
    ends = [0]
    for members in loops:
        place = {variable: k for k, variable in enumerate(members)}
        for j in members:
            entries.append((j, place[j], -1))
            tails = np.flatnonzero(layout.graph.directed[:, j]).tolist()
            entries += [(i, place.get(i, -1), number[i, j]) for i in tails]
            ends.append(len(entries))
    table = np.array(entries, np.int64).reshape(-1, 3)
    columns = (np.ascontiguousarray(column) for column in table.T)
    return Loops(
        np.cumsum([0, *map(len, loops)], dtype=np.int64), np.array(ends, np.int64), *columns
    )


def turned(
    loops: Loops, layout: Layout, S: np.ndarray, theta: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Parameters whose loops are fitted to S from random columns, the noise scaled to match.

    Loops with a column that lost its own variable, as those of other graphs do, stay as given.
    """
    found = fitted_columns(loops, S, rng.standard_normal(len(loops.variable)))
    own = loops.parameter < 0
    loop = np.repeat(np.arange(len(loops.loop_ptr) - 1), np.diff(loops.loop_ptr))
    lost = np.isin(loop, loop[~(np.abs(found[own]) > SMALLEST_OWN)])
    scale = np.where(lost, 1.0, found[own])
    change = np.repeat(~lost, np.diff(loops.column_ptr)) & ~own
    result = theta.copy()
    result[loops.parameter[change]] = (-found / np.repeat(scale, np.diff(loops.column_ptr)))[change]
    _, Gamma, variances, _ = layout.scatter(theta)
    total = (variances + (Gamma**2).sum(axis=0))[loops.heads]
    ratio = np.ones(len(S))
    ratio[loops.heads] = np.where(lost, 1.0, 1 / (np.abs(scale) * np.sqrt(total)))
    noise = layout.kind != EDGE
    result[noise] *= layout.units(ratio)[noise]
    return result


@entry
def fitted_columns(loops: Loops, S: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """The entries of the columns of all loops, with a_jᵀSa_j = 1.

    `directions` holds the first v of every column.
    """
    columns = directions.copy()
    for c in range(loops.loop_ptr.shape[0] - 1):
        _fit_loop(loops, loops.loop_ptr[c], loops.loop_ptr[c + 1], S, columns)
    return columns


@merged
def _fit_loop(loops: Loops, first: int, last: int, S: np.ndarray, columns: np.ndarray) -> None:
    """Fit the columns first:last in turn, in place."""
    ptr, size = loops.column_ptr, last - first
    inverses = [_inverse_on(S, loops.variable[ptr[x] : ptr[x + 1]]) for x in range(first, last)]
    A = np.zeros((size, size))
    for x in range(size):
        column = columns[ptr[first + x] : ptr[first + x + 1]]
        _fit_column(inverses[x], column)
        _write(A, x, loops.inner[ptr[first + x] : ptr[first + x + 1]], column)
    for _ in range(SWEEPS):
        _, _, _, V = general_inverse(A)
        for x in range(size):
            column = columns[ptr[first + x] : ptr[first + x + 1]]
            inner = loops.inner[ptr[first + x] : ptr[first + x + 1]]
            for k in range(column.shape[0]):
                column[k] = V[x, inner[k]] if inner[k] >= 0 else 0.0
            norm = _fit_column(inverses[x], column)
            _write(A, x, inner, column)
            _update_inverse(V, x, np.dot(V, A[:, x].copy()), norm)


@kernel
def _inverse_on(S: np.ndarray, support: np.ndarray) -> np.ndarray:
    """(S_UU)⁻¹."""
    size = support.shape[0]
    part = np.empty((size, size))
    for k in range(size):
        for l in range(size):
            part[k, l] = S[support[k], support[l]]
    _, _, inverse = spd_inverse(part)
    return inverse


@kernel
def _fit_column(inverse: np.ndarray, v: np.ndarray) -> float:
    """Replace v by a = (S_UU)⁻¹v / √(vᵀ(S_UU)⁻¹v); returns the root, which is v·a."""
    a = np.dot(inverse, v)
    norm = np.sqrt(np.dot(a, v))
    for k in range(v.shape[0]):
        v[k] = a[k] / norm
    return norm


@kernel
def _write(A: np.ndarray, x: int, inner: np.ndarray, column: np.ndarray) -> None:
    for k in range(column.shape[0]):
        if inner[k] >= 0:
            A[inner[k], x] = column[k]


@kernel
def _update_inverse(V: np.ndarray, x: int, product: np.ndarray, norm: float) -> None:
    """A⁻¹ after column x of A has changed to a; `product` is V·a, and `norm` its element x."""
    for l in range(V.shape[0]):
        V[x, l] /= norm
    for k in range(V.shape[0]):
        if k != x:
            for l in range(V.shape[0]):
                V[k, l] -= product[k] * V[x, l]

"""The matrices that every predicted gain and every local fit reads, by rows of heads; compiled.

With A = I − B, Π = Ψ⁻¹ and R = AᵀSA: column j of SA depends on head j alone, Π and ΠRΠ within a
district on its members, A⁻¹ within a strong component on its nodes. So an accepted change
refreshes the districts and components that it touched, before and after, and nothing else.
Their values sum to f.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import general_inverse, small_spd_inverse
from loopscm.search.components import relabel
from loopscm.search.local_fit import product
from loopscm.search.problem import Problem
from loopscm.search.state import State


class Tables(NamedTuple):
    """Row j of each belongs to head j."""

    moments: np.ndarray  # (p, p) column j of S A
    precision: np.ndarray  # (p, p) Π, zero between districts
    spread: np.ndarray  # (p, p) Π R Π within districts, zero elsewhere
    slopes: np.ndarray  # (p, p) column j of c = S A Π
    local_effects: np.ndarray  # (p, p) A⁻¹ within strong components, zero elsewhere
    district_value: np.ndarray  # (p,) ½ log det Ψ + ½ tr ΠR of a district, at its label
    loop_value: np.ndarray  # (p,) −log|det A| of a strong component, at its label


def empty_tables(p: int) -> Tables:
    """Tables to be filled by `refresh`."""
    return Tables(
        moments=np.zeros((p, p)),
        precision=np.zeros((p, p)),
        spread=np.zeros((p, p)),
        slopes=np.zeros((p, p)),
        local_effects=np.zeros((p, p)),
        district_value=np.zeros(p),
        loop_value=np.zeros(p),
    )


@kernel
def _mark(state: State, touched: np.ndarray, tied: np.ndarray, looped: np.ndarray) -> None:
    """Mark all nodes that share a district or a strong component with a touched one."""
    p = state.noise.shape[0]
    district, loop = np.zeros(p, np.bool_), np.zeros(p, np.bool_)
    for j in range(p):
        if touched[j]:
            district[state.district[j]] = True
            loop[state.loop[j]] = True
    for j in range(p):
        tied[j] = tied[j] or district[state.district[j]]
        looped[j] = looped[j] or loop[state.loop[j]]


@kernel
def refresh(problem: Problem, state: State, tables: Tables, touched: np.ndarray) -> float:
    """Bring labels and tables up to date after a change of the touched heads; returns f."""
    p = state.noise.shape[0]
    tied, looped = np.zeros(p, np.bool_), np.zeros(p, np.bool_)
    _mark(state, touched, tied, looped)
    relabel(state)
    _mark(state, touched, tied, looped)
    for j in range(p):
        if touched[j]:
            _fill_moments(problem, state, tables, j)
        if tied[j]:
            for k in range(p):
                tables.precision[j, k] = 0.0
                tables.spread[j, k] = 0.0
        if looped[j]:
            for k in range(p):
                tables.local_effects[j, k] = 0.0
            tables.local_effects[j, j] = 1.0
            tables.loop_value[j] = 0.0
    for label in range(p):
        if tied[label] and state.district[label] == label:
            _fill_district(state, tables, label)
    begin = 0
    while begin < p:
        root, end = state.loop[state.order[begin]], begin
        while end < p and state.loop[state.order[end]] == root:
            end += 1
        if end - begin > 1 and looped[root]:
            _fill_loop(state, tables, root, state.order[begin:end])
        begin = end
    total = 0.0
    for j in range(p):
        if state.district[j] == j:
            total += tables.district_value[j]
        total += tables.loop_value[j]
    return total


@merged
def _fill_moments(problem: Problem, state: State, tables: Tables, j: int) -> None:
    p = state.noise.shape[0]
    for i in range(p):
        tables.moments[j, i] = problem.S[j, i]
    for k in range(state.n_tails[j]):
        tail, weight = state.tails[j, k], state.weights[j, k]
        for i in range(p):
            tables.moments[j, i] -= weight * problem.S[tail, i]


@kernel
def residual(state: State, tables: Tables, j: int, k: int) -> float:
    """R_jk = (AᵀSA)_jk."""
    total = tables.moments[k, j]
    for x in range(state.n_tails[j]):
        total -= state.weights[j, x] * tables.moments[k, state.tails[j, x]]
    return total


@merged
def _fill_district(state: State, tables: Tables, label: int) -> None:
    """Π, ΠRΠ, and the value of a district, and the slopes of its heads."""
    p, m, begin = state.noise.shape[0], state.size[label], state.first[label]
    if m == 1:
        precision = 1.0 / state.noise[label]
        share = precision * residual(state, tables, label, label)
        tables.precision[label, label] = precision
        tables.spread[label, label] = precision * share
        tables.district_value[label] = 0.5 * share - 0.5 * np.log(precision)
        for i in range(p):
            tables.slopes[label, i] = tables.moments[label, i] * precision
        return
    members = state.members[begin : begin + m]
    position = np.empty(p, np.int64)
    Psi = np.zeros((m, m))
    R = np.empty((m, m))
    for x in range(m):
        position[members[x]] = x
        Psi[x, x] = state.noise[members[x]]
        for y in range(x + 1):
            R[x, y] = residual(state, tables, members[x], members[y])
            R[y, x] = R[x, y]
    for h in range(state.n_children.shape[0]):
        count = state.n_children[h]
        if count > 0 and state.district[state.children[h, 0]] == label:
            for a in range(count):
                x = position[state.children[h, a]]
                for b in range(count):
                    y = position[state.children[h, b]]
                    Psi[x, y] += state.loadings[h, a] * state.loadings[h, b]
    positive, log_det, Pi = small_spd_inverse(Psi)
    share = product(Pi, R)
    T = product(share, Pi)
    value = 0.5 * log_det if positive else np.inf
    for x in range(m):
        j = members[x]
        value += 0.5 * share[x, x]
        for i in range(p):
            tables.slopes[j, i] = 0.0
        for y in range(m):
            tables.precision[j, members[y]] = Pi[x, y]
            tables.spread[j, members[y]] = T[x, y]
            if Pi[x, y] != 0.0:
                for i in range(p):
                    tables.slopes[j, i] += Pi[x, y] * tables.moments[members[y], i]
    tables.district_value[label] = value


@merged
def _fill_loop(state: State, tables: Tables, root: int, nodes: np.ndarray) -> None:
    """A⁻¹ and −log|det A| of a strong component."""
    m = nodes.shape[0]
    A = np.zeros((m, m))
    for y in range(m):
        A[y, y] = 1.0
        j = nodes[y]
        for k in range(state.n_tails[j]):
            for x in range(m):
                if nodes[x] == state.tails[j, k]:
                    A[x, y] = -state.weights[j, k]
    regular, log_det, _sign, V = general_inverse(A)
    tables.loop_value[root] = -log_det if regular else np.inf
    for x in range(m):
        for y in range(m):
            tables.local_effects[nodes[x], nodes[y]] = V[x, y]


@kernel
def effects_from(state: State, tables: Tables, source: int, result: np.ndarray) -> None:
    """Row of A⁻¹: total effect of one node on every node, ancestors before descendants."""
    p = state.noise.shape[0]
    for i in range(p):
        result[i] = 0.0
    inflow = np.empty(p)
    first = 0
    while first < p and state.loop[state.order[first]] != state.loop[source]:
        first += 1
    while first < p:
        root, last = state.loop[state.order[first]], first
        while last < p and state.loop[state.order[last]] == root:
            node = state.order[last]
            inflow[last] = 1.0 if node == source else 0.0
            for k in range(state.n_tails[node]):
                tail = state.tails[node, k]
                if state.loop[tail] != root:
                    inflow[last] += result[tail] * state.weights[node, k]
            last += 1
        for x in range(first, last):
            if inflow[x] != 0.0:
                for y in range(first, last):
                    effect = tables.local_effects[state.order[x], state.order[y]]
                    result[state.order[y]] += inflow[x] * effect
        first = last

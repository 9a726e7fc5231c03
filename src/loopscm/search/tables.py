"""The matrices that every predicted gain and every local fit reads, by rows of heads; compiled.

With A = I − B, Π = Ψ⁻¹ and R = AᵀSA: column j of SA depends on head j alone, Π and ΠRΠ within a
district on its members, A⁻¹ within a strong component on its nodes. So an accepted change
refreshes the districts and components that it touched, before and after, and nothing else.
Their values sum to f. Rows of A⁻¹ are filled when first asked for after a change.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import general_inverse, small_spd_inverse
from loopscm.search.components import relabel_districts, relabel_loops
from loopscm.search.district_update import update_district
from loopscm.search.local_fit import product
from loopscm.search.problem import Problem
from loopscm.search.state import State

LARGE = 24  # nodes of a district that is updated rather than filled anew
MOST_UPDATES = 40  # of a large district in a row; rounding errors grow with them


class Tables(NamedTuple):
    """Row j of each belongs to head j."""

    moments: np.ndarray  # (p, p) column j of S A
    precision: np.ndarray  # (p, p) Π, zero between districts
    diagonal: np.ndarray  # (p,) that of Π
    spread: np.ndarray  # (p, p) Π R Π within districts, zero elsewhere
    local_effects: np.ndarray  # (p, p) A⁻¹ within strong components of several nodes
    effects: np.ndarray  # (p, p) A⁻¹, in the rows that are known
    known: np.ndarray  # (p,)
    district_value: np.ndarray  # (p,) ½ log det Ψ + ½ tr ΠR of a district, at its label, else zero
    updates: np.ndarray  # (p,) of a district since it was filled anew, at its label
    loop_value: np.ndarray  # (p,) −log|det A| of a strong component, at its label


def empty_tables(p: int) -> Tables:
    """Tables to be filled by `refresh`."""
    return Tables(
        moments=np.zeros((p, p)),
        precision=np.zeros((p, p)),
        diagonal=np.zeros(p),
        spread=np.zeros((p, p)),
        local_effects=np.zeros((p, p)),
        effects=np.zeros((p, p)),
        known=np.zeros(p, np.bool_),
        district_value=np.zeros(p),
        updates=np.zeros(p, np.int64),
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
def forget_effects(tables: Tables, before: State, after: State) -> None:
    """Drop the total effects that a change of the heads touched in `after` alters.

    They are those of the ancestors of parents that these heads have, before or after.
    """
    p = before.noise.shape[0]
    altered = np.zeros(p, np.bool_)
    for j in range(p):
        if after.touched[j]:
            for k in range(before.n_tails[j]):
                altered[before.tails[j, k]] = True
            for k in range(after.n_tails[j]):
                altered[after.tails[j, k]] = True
    tails = np.flatnonzero(altered)
    for i in range(p):
        if tables.known[i]:
            for x in range(tails.shape[0]):
                if tables.effects[i, tails[x]] != 0.0:
                    tables.known[i] = False
                    break


@kernel
def refresh(problem: Problem, state: State, tables: Tables, marks: State) -> float:
    """Bring labels and tables up to date after a change of the marked heads; returns f.

    Total effects that changed must have been forgotten before.
    """
    p, touched = state.noise.shape[0], marks.touched
    tied, looped = np.zeros(p, np.bool_), np.zeros(p, np.bool_)
    _mark(state, touched, tied, looped)
    for j in range(p):
        if touched[j]:
            _fill_moments(problem, state, tables, j)
    before = state.district.copy()
    relabel_loops(state, touched)
    if marks.stirred.any():
        relabel_districts(state)
    _mark(state, touched, tied, looped)
    _refresh_districts(state, tables, touched, before, np.flatnonzero(tied))
    begin = 0
    while begin < p:
        root, end = state.loop[state.order[begin]], begin
        while end < p and state.loop[state.order[end]] == root:
            if looped[root]:
                tables.loop_value[state.order[end]] = 0.0
            end += 1
        if end - begin > 1 and looped[root]:
            _fill_loop(state, tables, root, state.order[begin:end])
        begin = end
    return tables.district_value.sum() + tables.loop_value.sum()


@merged
def _refresh_districts(
    state: State, tables: Tables, touched: np.ndarray, before: np.ndarray, nodes: np.ndarray
) -> None:
    """Bring all districts of some nodes up to date: one large one is updated, others filled.

    The nodes are those of all districts with a touched head, before and after the change.
    """
    m, large = nodes.shape[0], -1
    for x in range(m):
        if state.size[state.district[nodes[x]]] > max(LARGE, m // 2):
            large = int(state.district[nodes[x]])
    main = _most_frequent(before, nodes) if large >= 0 else 0
    value, updates = tables.district_value[main], tables.updates[main]
    changed = np.empty(m, np.bool_)
    for x in range(m):
        changed[x] = touched[nodes[x]] or before[nodes[x]] != main
        tables.district_value[nodes[x]] = 0.0
        tables.updates[nodes[x]] = 0
    heads = np.flatnonzero(changed)
    updated = large >= 0 and 4 * heads.shape[0] < m and updates < MOST_UPDATES
    Pi, T = np.empty((0, 0)), np.empty((0, 0))
    if updated:
        Pi, T = _block(tables.precision, nodes), _block(tables.spread, nodes)
        old = np.flatnonzero(before[nodes[heads]] == main)
        updated, change = update_district(state, tables.moments, nodes, heads, old, Pi, T)
        value += change
    for x in range(m):
        for y in range(m):
            tables.precision[nodes[x], nodes[y]] = 0.0
            tables.spread[nodes[x], nodes[y]] = 0.0
    for x in range(m):
        label = nodes[x]
        if state.district[label] == label and not (updated and label == large):
            _fill_district(state, tables, label)
            value -= tables.district_value[label]
    if updated:
        tables.district_value[large] = value
        tables.updates[large] = updates + 1
        for x in range(m):
            if state.district[nodes[x]] == large:
                tables.diagonal[nodes[x]] = Pi[x, x]
                for y in range(m):
                    if state.district[nodes[y]] == large:
                        tables.precision[nodes[x], nodes[y]] = Pi[x, y]
                        tables.spread[nodes[x], nodes[y]] = T[x, y]


@kernel
def _most_frequent(labels: np.ndarray, nodes: np.ndarray) -> int:
    """The label that most of some nodes have."""
    counts = np.zeros(labels.shape[0], np.int64)
    for x in range(nodes.shape[0]):
        counts[labels[nodes[x]]] += 1
    return int(np.argmax(counts))


@kernel
def _block(matrix: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The rows and columns of some nodes."""
    m = nodes.shape[0]
    result = np.empty((m, m))
    for x in range(m):
        for y in range(m):
            result[x, y] = matrix[nodes[x], nodes[y]]
    return result


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
    """Π, ΠRΠ, and the value of a district."""
    p, m, begin = state.noise.shape[0], state.size[label], state.first[label]
    if m == 1:
        precision = 1.0 / state.noise[label]
        share = precision * residual(state, tables, label, label)
        tables.precision[label, label] = precision
        tables.diagonal[label] = precision
        tables.spread[label, label] = precision * share
        tables.district_value[label] = 0.5 * share - 0.5 * np.log(precision)
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
        tables.diagonal[j] = Pi[x, x]
        for y in range(m):
            tables.precision[j, members[y]] = Pi[x, y]
            tables.spread[j, members[y]] = T[x, y]
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
def effects_of(state: State, tables: Tables, source: int) -> np.ndarray:
    """Row of A⁻¹: total effect of one node on every node."""
    result = tables.effects[source]
    if not tables.known[source]:
        _fill_effects(state, tables, source, result)
        tables.known[source] = True
    return result


@merged
def _fill_effects(state: State, tables: Tables, source: int, result: np.ndarray) -> None:
    """Follow the edges from a node, ancestors before descendants."""
    p, order = state.noise.shape[0], state.order
    first = state.place[source]
    while first > 0 and state.loop[order[first - 1]] == state.loop[source]:
        first -= 1
    for i in range(p):
        result[i] = 0.0
    inflow = np.empty(p)
    while first < p:
        root, last = state.loop[order[first]], first
        while last < p and state.loop[order[last]] == root:
            node = order[last]
            inflow[last] = 1.0 if node == source else 0.0
            for k in range(state.n_tails[node]):  # effects within the component are still zero
                inflow[last] += result[state.tails[node, k]] * state.weights[node, k]
            last += 1
        if last == first + 1:
            result[order[first]] = inflow[first]
        else:
            for x in range(first, last):
                if inflow[x] != 0.0:
                    for y in range(first, last):
                        effect = tables.local_effects[order[x], order[y]]
                        result[order[y]] += inflow[x] * effect
        first = last


@kernel
def slope_at(state: State, tables: Tables, j: int, i: int) -> float:
    """c_ij, c = S A Π."""
    begin, total = state.first[state.district[j]], 0.0
    for q in range(begin, begin + state.size[state.district[j]]):
        total += tables.precision[j, state.members[q]] * tables.moments[state.members[q], i]
    return total


@kernel
def slopes_into(state: State, tables: Tables, j: int, result: np.ndarray) -> None:
    """Column j of c = S A Π."""
    begin = state.first[state.district[j]]
    for i in range(result.shape[0]):
        result[i] = 0.0
    for q in range(begin, begin + state.size[state.district[j]]):
        share = tables.precision[j, state.members[q]]
        if share != 0.0:
            for i in range(result.shape[0]):
                result[i] += share * tables.moments[state.members[q], i]


@kernel
def information_of(state: State, tables: Tables, slopes: np.ndarray, result: np.ndarray) -> None:
    """Row of T = Π AᵀSA Π from a column of c = S A Π."""
    p = state.noise.shape[0]
    image = np.empty(p)  # the column of AᵀSAΠ
    for k in range(p):
        image[k] = slopes[k]
        for x in range(state.n_tails[k]):
            image[k] -= state.weights[k, x] * slopes[state.tails[k, x]]
    for k in range(p):
        label = state.district[k]
        if state.size[label] == 1:
            result[k] = tables.diagonal[k] * image[k]
            continue
        result[k] = 0.0
        for q in range(state.first[label], state.first[label] + state.size[label]):
            result[k] += tables.precision[k, state.members[q]] * image[state.members[q]]

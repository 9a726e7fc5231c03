"""Which heads a change refits, and the local problem of their columns; compiled."""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.likelihood.dense import small_spd_inverse
from loopscm.likelihood.kinds import EDGE, LOADING, VARIANCE
from loopscm.search.local_fit import Local, minimise
from loopscm.search.problem import Problem
from loopscm.search.state import State, child_place
from loopscm.search.tables import Tables, effects_of

LEAST_SCATTER = 1e-6  # variance of a latent given the other errors, below which it is one of them


@merged
def heads_to_fit(before: State, state: State, most: int, hardest: int) -> np.ndarray:
    """The touched heads of a state, with siblings and neighbours on loops up to `most`.

    Empty if more than `hardest` heads were touched. Loops are those before the change.
    """
    p = state.noise.shape[0]
    heads = np.empty(hardest, np.int64)
    count = 0
    for j in range(p):
        if state.touched[j]:
            if count == hardest:
                return heads[:0]
            heads[count] = j
            count += 1
    done = 0
    while done < count and count < most:
        j = heads[done]
        done += 1
        for h in range(state.n_children.shape[0]):
            if child_place(state, h, j) >= 0:
                for k in range(state.n_children[h]):
                    count = _join(heads, count, most, state.children[h, k])
        for k in range(state.n_tails[j]):
            if before.loop[state.tails[j, k]] == before.loop[j]:
                count = _join(heads, count, most, state.tails[j, k])
    return heads[:count]


@kernel
def _join(heads: np.ndarray, count: int, most: int, node: int) -> int:
    """Append a node if it is new and there is room; the new count."""
    if count >= most:
        return count
    for x in range(count):
        if heads[x] == node:
            return count
    heads[count] = node
    return count + 1


@merged
def _regressors(state: State, heads: np.ndarray, position: np.ndarray) -> np.ndarray:
    """The heads, then their other parents; `position` is filled for them and −1 elsewhere."""
    p = state.noise.shape[0]
    nodes = np.empty(p, np.int64)
    for j in range(p):
        position[j] = -1
    count = heads.shape[0]
    for x in range(count):
        nodes[x] = heads[x]
        position[heads[x]] = x
    for x in range(heads.shape[0]):
        j = heads[x]
        for k in range(state.n_tails[j]):
            tail = state.tails[j, k]
            if position[tail] < 0:
                position[tail] = count
                nodes[count] = tail
                count += 1
    return nodes[:count]


@merged
def _latents(state: State, position: np.ndarray, size: int) -> np.ndarray:
    """Latents with a child among the heads."""
    found = np.empty(state.n_children.shape[0], np.int64)
    count = 0
    for h in range(state.n_children.shape[0]):
        for k in range(state.n_children[h]):
            place = position[state.children[h, k]]
            if 0 <= place < size:
                found[count] = h
                count += 1
                break
    return found[:count]


@kernel
def _is_outside(position: np.ndarray, size: int, node: int) -> bool:
    return position[node] < 0 or position[node] >= size


@merged
def _estimator(
    before: State,
    state: State,
    tables: Tables,
    heads: np.ndarray,
    position: np.ndarray,
    h: int,
    K: np.ndarray,
) -> int:
    """Fill row h of Γ_F Ψ_FF⁻¹; the district it lives on, −1 if the latent has no child in F.

    Ψ_FF⁻¹ = Π_FF − Π_FU Π_UU⁻¹ Π_UF, from the precision before the change.
    """
    m = heads.shape[0]
    label = -1
    for k in range(state.n_children[h]):
        if _is_outside(position, m, state.children[h, k]):
            label = int(before.district[state.children[h, k]])
    if label < 0:
        return -1
    members = before.members[before.first[label] : before.first[label] + before.size[label]]
    for x in range(members.shape[0]):
        K[members[x]] = 0.0
    for k in range(state.n_children[h]):
        child = state.children[h, k]
        if _is_outside(position, m, child):
            for x in range(members.shape[0]):
                K[members[x]] += state.loadings[h, k] * tables.precision[child, members[x]]
    inside = np.empty(m, np.int64)
    count = 0
    for x in range(m):
        if before.district[heads[x]] == label:
            inside[count] = heads[x]
            count += 1
    Pi = np.empty((count, count))
    for x in range(count):
        for y in range(count):
            Pi[x, y] = tables.precision[inside[x], inside[y]]
    _positive, _log_det, inverse = small_spd_inverse(Pi)
    weights = np.zeros(count)
    for x in range(count):
        for y in range(count):
            weights[x] += inverse[x, y] * K[inside[y]]
    for y in range(count):
        for x in range(members.shape[0]):
            K[members[x]] -= weights[y] * tables.precision[inside[y], members[x]]
    for y in range(count):
        K[inside[y]] = 0.0
    return label


@merged
def _fill_latents(
    before: State,
    state: State,
    tables: Tables,
    heads: np.ndarray,
    nodes: np.ndarray,
    latents: np.ndarray,
    position: np.ndarray,
    M: np.ndarray,
    V: np.ndarray,
) -> None:
    """The moments of z and V."""
    p, t, l = state.noise.shape[0], nodes.shape[0], latents.shape[0]
    K = np.zeros((l, p))
    s = np.zeros((l, p))  # Cov(X, z)
    labels = np.empty(l, np.int64)
    for x in range(l):
        labels[x] = _estimator(before, state, tables, heads, position, latents[x], K[x])
        if labels[x] < 0:
            continue
        begin = before.first[labels[x]]
        for q in range(begin, begin + before.size[labels[x]]):
            node = before.members[q]
            if K[x, node] != 0.0:
                for i in range(p):
                    s[x, i] += K[x, node] * tables.moments[node, i]
        for i in range(t):
            M[t + x, i] = s[x, nodes[i]]
            M[i, t + x] = M[t + x, i]
    for x in range(l):
        V[x, x] += 1.0
        for y in range(x + 1):
            if labels[x] < 0 or labels[y] < 0:
                continue
            g = latents[y]
            for k in range(state.n_children[g]):
                child = state.children[g, k]
                if _is_outside(position, heads.shape[0], child):
                    V[x, y] -= K[x, child] * state.loadings[g, k]
            total = 0.0
            begin = before.first[labels[x]]
            for q in range(begin, begin + before.size[labels[x]]):
                node = before.members[q]
                if K[x, node] != 0.0:
                    part = s[y, node]
                    for k in range(state.n_tails[node]):
                        part -= state.weights[node, k] * s[y, state.tails[node, k]]
                    total += K[x, node] * part
            M[t + x, t + y] = total
            M[t + y, t + x] = total
            V[y, x] = V[x, y]


@merged
def gather(
    problem: Problem, before: State, state: State, tables: Tables, heads: np.ndarray
) -> tuple[Local, np.ndarray, np.ndarray, np.ndarray]:
    """(problem, its parameters, its latents, position of every node among the regressors).

    `before` is the graph that the tables describe, `state` the one after a change to columns
    of the heads.
    """
    position = np.empty(state.noise.shape[0], np.int64)
    nodes = _regressors(state, heads, position)
    latents = _latents(state, position, heads.shape[0])
    m, t, l = heads.shape[0], nodes.shape[0], latents.shape[0]
    M = np.zeros((t + l, t + l))
    for x in range(t):
        for y in range(t):
            M[x, y] = problem.S[nodes[x], nodes[y]]
    V = np.zeros((l, l))
    if l > 0:
        _fill_latents(before, state, tables, heads, nodes, latents, position, M, V)
    E = np.zeros((m, t))
    for x in range(m):
        effects = effects_of(before, tables, heads[x])
        for y in range(t):
            E[x, y] = effects[nodes[y]]
    total = m
    for x in range(m):
        total += state.n_tails[heads[x]]
    for x in range(l):
        total += state.n_children[latents[x]]
    kind = np.empty(total, np.int64)
    row = np.empty(total, np.int64)
    head = np.empty(total, np.int64)
    theta = np.empty(total)
    a = 0
    for x in range(m):
        j = heads[x]
        for k in range(state.n_tails[j]):
            kind[a], row[a], head[a] = EDGE, position[state.tails[j, k]], x
            theta[a] = state.weights[j, k]
            a += 1
    for x in range(l):
        for k in range(state.n_children[latents[x]]):
            place = position[state.children[latents[x], k]]
            if 0 <= place < m:
                kind[a], row[a], head[a] = LOADING, x, place
                theta[a] = state.loadings[latents[x], k]
                a += 1
    for x in range(m):
        kind[a], row[a], head[a] = VARIANCE, x, x
        theta[a] = state.noise[heads[x]]
        a += 1
    return Local(M, E, V, kind[:a], row[:a], head[:a]), theta[:a], latents, position


@merged
def scatter(
    state: State,
    heads: np.ndarray,
    latents: np.ndarray,
    position: np.ndarray,
    theta: np.ndarray,
) -> None:
    """The inverse of `gather` for the parameters; marks what it writes."""
    a = 0
    for x in range(heads.shape[0]):
        j = heads[x]
        state.touched[j] = True
        for k in range(state.n_tails[j]):
            state.weights[j, k] = theta[a]
            a += 1
    for x in range(latents.shape[0]):
        h = latents[x]
        state.stirred[h] = True
        for k in range(state.n_children[h]):
            place = position[state.children[h, k]]
            if 0 <= place < heads.shape[0]:
                state.loadings[h, k] = theta[a]
                a += 1
    for x in range(heads.shape[0]):
        state.noise[heads[x]] = theta[a]
        a += 1


@merged
def _value_before(tables: Tables, heads: np.ndarray) -> float:
    """The part of f that the heads had: det D = 1, P⁻¹ = Π_UU, P⁻¹RP⁻¹ = (ΠRΠ)_UU."""
    m = heads.shape[0]
    Pi = np.empty((m, m))
    for x in range(m):
        for y in range(m):
            Pi[x, y] = tables.precision[heads[x], heads[y]]
    _positive, log_det, P = small_spd_inverse(Pi)
    total = -0.5 * log_det
    for x in range(m):
        for y in range(m):
            total += 0.5 * P[x, y] * tables.spread[heads[x], heads[y]]
    return total


@kernel
def refit(
    problem: Problem, before: State, state: State, tables: Tables, aim: float, most: int
) -> float:
    """Fit the touched heads and their company; the change of f, infinite if above `aim`.

    `before` is the graph that the tables describe.
    """
    heads = heads_to_fit(before, state, 0 if aim < np.inf else most, problem.most_heads)
    if heads.shape[0] == 0:
        return np.inf
    while True:
        local, theta, latents, position = gather(problem, before, state, tables, heads)
        for x in range(latents.shape[0]):
            if local.scatter[x, x] < LEAST_SCATTER:
                return np.inf
        old = _value_before(tables, heads)
        company = heads_to_fit(before, state, most, problem.most_heads)
        alone = heads.shape[0] < company.shape[0]
        goal = old + aim + (problem.slack if alone else 0.0)
        theta, value = minimise(
            local, theta, problem.floor, problem.tolerance, problem.max_iterations, goal
        )
        if value == np.inf:
            return np.inf
        scatter(state, heads, latents, position, theta)
        if not alone or value > goal:
            return value - old
        heads = company

"""Districts and strong components of a state, compiled.

Both are recomputed for the whole graph after an edit that may change them.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.state import State


@kernel
def strong_components(state: State) -> None:
    """Fill `loop`, `order`, and `place` by Tarjan's algorithm along parent lists."""
    p = state.noise.shape[0]
    number = np.full(p, -1, np.int64)
    low = np.zeros(p, np.int64)
    place = np.zeros(p, np.int64)  # next parent to look at
    open_ = np.zeros(p, np.bool_)
    stack = np.empty(p, np.int64)
    path = np.empty(p, np.int64)
    count, height, done = 0, 0, 0
    for root in range(p):
        if number[root] >= 0:
            continue
        depth = 1
        path[0] = root
        while depth > 0:
            node = path[depth - 1]
            if number[node] < 0:
                number[node] = count
                low[node] = count
                count += 1
                stack[height] = node
                height += 1
                open_[node] = True
            if place[node] < state.n_tails[node]:
                tail = state.tails[node, place[node]]
                place[node] += 1
                if number[tail] < 0:
                    path[depth] = tail
                    depth += 1
                elif open_[tail]:
                    low[node] = min(low[node], number[tail])
                continue
            depth -= 1
            if depth > 0:
                low[path[depth - 1]] = min(low[path[depth - 1]], low[node])
            if low[node] == number[node]:
                member = -1
                while member != node:
                    height -= 1
                    member = stack[height]
                    open_[member] = False
                    state.loop[member] = node
                    state.order[done] = member
                    state.place[member] = done
                    done += 1


@kernel
def stands_alone(state: State, j: int) -> bool:
    """Whether a node is its own strong component."""
    k, p = state.place[j], state.order.shape[0]
    if k > 0 and state.loop[state.order[k - 1]] == state.loop[j]:
        return False
    return k == p - 1 or state.loop[state.order[k + 1]] != state.loop[j]


@kernel
def closes_no_loop(before: State, state: State, touched: np.ndarray) -> bool:
    """Whether the parents of all touched heads come first in the order before the change.

    Then no strong component grew; parents on the same loop as their head count as first.
    """
    for j in range(touched.shape[0]):
        if touched[j]:
            for k in range(state.n_tails[j]):
                tail = state.tails[j, k]
                if before.place[tail] > before.place[j] and before.loop[tail] != before.loop[j]:
                    return False
    return True


@kernel
def largest_loop(state: State) -> int:
    """Size of the largest strong component; fills `loop`, `order`, and `place`."""
    strong_components(state)
    sizes = np.zeros(state.loop.shape[0], np.int64)
    for j in range(state.loop.shape[0]):
        sizes[state.loop[j]] += 1
    return sizes.max()


@kernel
def _root(parent: np.ndarray, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@kernel
def _join(parent: np.ndarray, a: int, b: int) -> None:
    """Merge two sets, keeping the smaller root."""
    x, y = _root(parent, a), _root(parent, b)
    if x < y:
        parent[y] = x
    elif y < x:
        parent[x] = y


@merged
def relabel_loops(state: State, touched: np.ndarray) -> None:
    """Recompute strong components after a change of the touched heads, if they may differ."""
    alone = closes_no_loop(state, state, touched)
    for j in range(touched.shape[0]):
        alone = alone and (not touched[j] or stands_alone(state, j))
    if not alone:
        strong_components(state)


@merged
def relabel_districts(state: State) -> None:
    """Recompute districts, the sets tied by common latents."""
    p = state.noise.shape[0]
    parent = np.arange(p)
    for h in range(state.n_children.shape[0]):
        for k in range(1, state.n_children[h]):
            _join(parent, state.children[h, 0], state.children[h, k])
    for j in range(p):
        state.size[j] = 0
    for j in range(p):
        state.district[j] = _root(parent, j)
        state.size[state.district[j]] += 1
    begin = 0
    for j in range(p):
        if state.district[j] == j:
            state.first[j] = begin
            begin += state.size[j]
            state.size[j] = 0
    for j in range(p):
        root = state.district[j]
        state.members[state.first[root] + state.size[root]] = j
        state.size[root] += 1

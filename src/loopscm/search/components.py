"""Districts and strong components of a state, compiled.

Both are recomputed for the whole graph after every edit: a few microseconds, against tens for
the smallest fit, and there is nothing to keep in step.
"""

from __future__ import annotations

import numpy as np

from loopscm._compile import kernel, merged
from loopscm.search.state import State


@kernel
def strong_components(state: State) -> None:
    """Fill `loop` and `order` by Tarjan's algorithm along parent lists: ancestors come first."""
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
                    done += 1


@kernel
def largest_loop(state: State) -> int:
    """Size of the largest strong component; fills `loop` and `order`."""
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
def relabel(state: State) -> None:
    """Recompute strong components and districts, the sets tied by common latents."""
    strong_components(state)
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

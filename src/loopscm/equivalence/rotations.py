"""The equivalence class of an observed-only graph without fits: support rotations.

The precision matrix is QQᵀ with Q = (I − B)Ω^(−1/2), so Q is determined up to a rotation of
its columns. Column j has the support {j} ∪ parents(j). Rotating two columns whose supports
are U and U without one element moves the missing element anywhere in U, in either column;
two columns with equal supports lose an element, and regain it. These are the covered edge
reversals of acyclic graphs and their cyclic counterparts (Ghassami et al., 2020). Any
assignment of columns to variables that puts a variable in its own column reads off a graph;
different assignments of the same columns are reversals of cycles.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import (
    breadth_first_order,
    connected_components,
    maximum_bipartite_matching,
)

from loopscm._checks import as_integer
from loopscm.errors import GraphError
from loopscm.graph import LatentGraph

Columns = tuple[int, ...]  # sorted bit sets, an unordered collection
CLASS_LIMIT = 2000


@dataclass(frozen=True, eq=False)
class RotationClass:
    """Members of an equivalence class; `complete` is False when the limit cut the search."""

    members: tuple[LatentGraph, ...]
    complete: bool


def rotation_class(graph: LatentGraph, *, limit: int = CLASS_LIMIT) -> RotationClass:
    """Graphs reached by support rotations and cycle reversals that keep the family.

    Members have at most as many edges as the graph, which is the first of them. Graphs that
    share only part of the family (quasi-equivalent, not equivalent) are not found this way.
    """
    _refuse_latents(graph)
    limit = as_integer(limit, "limit", minimum=1)
    first = _columns(graph)
    members: dict[LatentGraph, None] = {graph: None}
    seen, queue, complete = {first}, deque([first]), True
    while queue and complete:
        columns = queue.popleft()
        for directed in _readings(columns, graph.n_observed):
            members.setdefault(LatentGraph(directed, names=graph.names))
            if len(members) > limit:
                complete = False
                break
        if len(seen) > limit:  # each gives at least one more member
            continue
        for other in _rotated(columns, _total(first)):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return RotationClass(tuple(members)[:limit], complete)


def reversed_cycles(graph: LatentGraph, *, limit: int = CLASS_LIMIT) -> RotationClass:
    """Graphs with the same columns: every way to reverse cycles."""
    _refuse_latents(graph)
    limit = as_integer(limit, "limit", minimum=1)
    members: dict[LatentGraph, None] = {graph: None}
    for directed in _readings(_columns(graph), graph.n_observed):
        members.setdefault(LatentGraph(directed, names=graph.names))
        if len(members) > limit:
            return RotationClass(tuple(members)[:limit], False)
    return RotationClass(tuple(members), True)


def _refuse_latents(graph: LatentGraph) -> None:
    if not isinstance(graph, LatentGraph):
        raise GraphError(f"graph must be a LatentGraph, got {type(graph).__name__}.")
    if graph.n_latent or graph.bidirected.any():
        raise GraphError(
            "support rotations describe graphs without latents and bidirected edges; use "
            "equivalence_class for small graphs that have them."
        )


def _columns(graph: LatentGraph) -> Columns:
    """The supports of I − B by column, in a fixed order."""
    supports = graph.directed | np.eye(graph.n_observed, dtype=bool)
    return tuple(sorted(sum(1 << i for i in np.flatnonzero(c).tolist()) for c in supports.T))


def _rotated(columns: Columns, largest: int) -> Iterator[Columns]:
    """Collections of at most `largest` elements, one rotation away, that have the same family."""
    grows = _total(columns) < largest
    for j, small in enumerate(columns):
        for k, large in enumerate(columns):
            if j == k or small & ~large or large.bit_count() - small.bit_count() > 1:
                continue
            rest = [column for m, column in enumerate(columns) if m not in (j, k)]
            for element in _elements(large):
                yield tuple(sorted([*rest, large ^ (1 << element), large]))
            if grows and small != large:
                yield tuple(sorted([*rest, large, large]))


def _total(columns: Columns) -> int:
    return sum(column.bit_count() for column in columns)


def _elements(column: int) -> list[int]:
    return [i for i in range(column.bit_length()) if column >> i & 1]


def _readings(columns: Columns, p: int) -> Iterator[np.ndarray]:
    """Graphs whose columns these are: assignments of a column to every variable in it.

    Every state on the stack leads to a graph, and to others than the rest of the stack, so
    the wait for the next one is short however many columns there are.
    """
    supports = np.zeros((p, p), bool)
    for c, column in enumerate(columns):
        supports[_elements(column), c] = True
    first = maximum_bipartite_matching(csr_array(supports), perm_type="column")
    if (first < 0).any():
        return
    stack = [(first, np.ones(p, bool))]
    while stack:
        order, free = stack.pop()
        arranged = supports[:, order]
        choices = _choices(arranged, free)
        if not choices:
            yield arranged & ~np.eye(p, dtype=bool)
        stack += [(order[turn], still_free) for turn, still_free in choices]


def _choices(
    supports: np.ndarray, free: np.ndarray
) -> list[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
    """Ways to decide on the column of the first free variable that has a choice.

    Column j of `supports` contains variable j. Columns can only change places along cycles
    of free variables. A way is (new order of the columns, variables still free); columns with
    the same elements count once. No ways if nothing is left to decide.
    """
    open_edges = supports & free & free[:, None]
    loops = connected_components(csr_array(open_edges), connection="strong")[1]
    inner = open_edges & (loops == loops[:, None])
    undecided = np.flatnonzero(inner.sum(axis=1) > 1)
    if not undecided.size:
        return []
    j = int(undecided[0])
    still_free = free.copy()
    still_free[j] = False
    contents = {supports[:, c].tobytes(): int(c) for c in np.flatnonzero(inner[j])[::-1]}
    return [(_turn(inner, c, j), still_free) for c in contents.values()]


def _turn(edges: np.ndarray, start: int, end: int) -> NDArray[np.intp]:
    """The order that gives column `start` to variable `end`, and others along a path between."""
    order = np.arange(len(edges))
    before = breadth_first_order(csr_array(edges), start)[1]
    node = end
    while node != start:
        order[before[node]] = node
        node = before[node]
    order[end] = start
    return order
